// veloce-bench make-model: a GGUF model of random weights in any shape and type, so that shapes can
// be timed and tested without a download. Other engines load it too.
#pragma once

#include <cstdint>
#include <string>

#include "veloce/core/status.hpp"
#include "veloce/gguf/synthetic.hpp"

namespace CLI {
class App;
}

namespace veloce::bench {

struct MakeModelOptions {
  gguf::synthetic::Shape shape;
  std::string type = "Q4_K";  // a GGUF type for all matrices, or a mix such as Q4_K_M
  std::uint64_t seed = 1;
  std::string output;
};

struct MadeModel {
  std::uint64_t parameters = 0, bytes = 0;  // weights, and the bytes of their tensors
};

// Writes the model. The same options give the same file. Errors name the option and its value, or
// the file.
Result<MadeModel> make_model(const MakeModelOptions& options);

// Adds the subcommand "make-model"; its callback writes the model and prints one line about it, or
// throws CLI::RuntimeError after printing why not.
void add_make_model(CLI::App& app);

}  // namespace veloce::bench

// The flags that all apps with a model share, with one spelling and one help text, and the start of
// their main().
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "veloce/model/engine.hpp"

namespace CLI {
class App;
}

namespace veloce::apps {

// --cache-type-k, --cache-type-v, --activations, --check-tensors, --memory-limit. They set
// `options` while parsing.
void add_engine_flags(CLI::App& app, model::EngineOptions& options);

// --without and --list-optimizations.
void add_switch_flags(CLI::App& app);

// Parses the command line and returns -1 if the program is to go on, else its exit status. Short
// names of several letters, which users of other tools have in their fingers and CLI11 cannot
// spell, are replaced first
// ("-ctk" -> "--cache-type-k" and what `more` adds). Unknown names in VELOCE_WITHOUT end the
// program.
int parse(CLI::App& app, int argc, const char* const* argv,
          const std::map<std::string, std::string>& more = {});

// The spelling of the flag for a cache type ("f16") or activations ("q8").
const char* name_of(model::CacheType type);
const char* name_of(model::Activations activations);

// "error: " and the message on stderr; returns 1, the exit status.
int fail(const std::string& message);

}  // namespace veloce::apps

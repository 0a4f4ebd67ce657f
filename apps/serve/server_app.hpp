// The life of the server: listens, loads the model, serves, and leaves in good order.
#pragma once

#include <functional>
#include <memory>

#include "options.hpp"
#include "veloce/model/engine.hpp"

namespace veloce::serve {

// Where engines come from; the tests bring their own.
struct EngineSource {
  std::function<Result<std::unique_ptr<model::Engine>>(const model::EngineOptions&)> load;
  std::function<Result<model::MemoryPlan>(const model::EngineOptions&)> plan;
};

// Runs until SIGTERM or SIGINT; the process's exit status.
int run_server(const Options& options, const EngineSource& source);

}  // namespace veloce::serve

// The architectures this build knows, by GGUF `general.architecture`.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "veloce/model/engine.hpp"

namespace veloce::models {

// Opens the file, checks it, plans memory, loads the weights. Errors name file, field and value.
Result<std::unique_ptr<model::Engine>> load_engine(const model::EngineOptions& options);

// The memory that load_engine would take, without taking it.
Result<model::MemoryPlan> plan_memory(const model::EngineOptions& options);

// Names accepted in `general.architecture`.
std::vector<std::string_view> known_architectures();

}  // namespace veloce::models

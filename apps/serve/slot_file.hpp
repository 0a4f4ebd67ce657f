// A slot's state as a file: the tokens, and the engine's bytes for them, bound to the model and to
// the user they belong to.
#pragma once

#include <cstddef>
#include <string>

#include "scheduler/scheduler.hpp"
#include "veloce/core/status.hpp"
#include "veloce/model/engine.hpp"

namespace veloce::serve {

// A plain file name of 1 to 255 bytes that cannot leave its folder, on any system.
bool is_plain_file_name(const std::string& name);

// Writes beside the place and renames, so that a broken write leaves no broken file. Returns the
// bytes written. Another owner's file is not written over.
Result<std::size_t> write_slot_file(const std::string& path, const model::ModelInfo& info,
                                    const std::string& owner, const SlotState& state);

struct ReadSlot {
  SlotState state;
  std::size_t bytes = 0;
};
// Refuses with the field that is wrong: another owner, another model, tokens outside the
// vocabulary, more than `context` of them, a damaged file.
Result<ReadSlot> read_slot_file(const std::string& path, const model::ModelInfo& info,
                                const std::string& owner, int context);

}  // namespace veloce::serve

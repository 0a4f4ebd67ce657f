// A request on its way through the scheduler, and the slots (sequences of the engine) that work on
// such.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/channel.hpp"
#include "scheduler/generation.hpp"
#include "scheduler/request.hpp"

namespace veloce::serve {

using Clock = std::chrono::steady_clock;

// Shared by the choices of one request. Only the engine thread looks at it.
struct TaskGroup {
  std::vector<bool> prompt_done;  // by choice
};

struct Task {
  GenerationRequest request;
  std::shared_ptr<Channel> channel;
  std::shared_ptr<TaskGroup> group;
  Clock::time_point arrived;
  std::uint64_t number = 0;  // in order of arrival

  // Since it runs:
  std::unique_ptr<Generation> generation;
  Clock::time_point started, prompt_end;
  int prompt = 0;  // its tokens; request.prompt is another after a shift
  bool shifted = false;
  int cached = 0;     // prompt tokens taken over from the cache
  int processed = 0;  // prompt tokens done, cached ones included
  bool generating = false;
  std::int32_t next = -1;     // sampled, not yet read by the engine
  std::vector<float> pooled;  // kEmbed: sum so far
  std::vector<std::vector<float>> token_embeddings;

  int remaining() const { return static_cast<int>(request.prompt.size()) - processed; }
};

struct Slot {
  int id = 0;
  std::vector<std::int32_t> tokens;  // what the engine's sequence holds
  std::string owner;                 // whose text that is
  std::unique_ptr<Task> task;        // null: idle
  SlotWork last;                     // the task before
  std::uint64_t last_used = 0;
  bool used = false;
  bool busy() const { return task != nullptr; }
};

}  // namespace veloce::serve

// One choice of a request as the scheduler works on it: tokens in, and how to go on from there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/generation_params.hpp"

namespace veloce::sample {
class Sampler;
}

namespace veloce::serve {

enum class Priority { kInteractive, kBackground };

enum class TaskKind { kGenerate, kEmbed };

enum class Pooling { kNone, kMean, kFirst, kLast };

struct GenerationRequest {
  std::string id;      // the HTTP request's, for the log
  std::string client;  // for fair queueing
  std::string owner;   // only slots of the same owner's text are reused
  Priority priority = Priority::kInteractive;
  TaskKind kind = TaskKind::kGenerate;
  Pooling pooling = Pooling::kMean;  // kEmbed
  int index = 0;                     // of the choice; its events carry it
  int leader =
      -1;  // index of a choice with the same prompt, whose evaluation this one waits for; -1: none
  std::vector<std::int32_t> prompt;
  GenerationParams params;
  std::shared_ptr<sample::Sampler>
      sampler;  // kGenerate: made for `params`, has seen the prompt; this choice's own
};

}  // namespace veloce::serve

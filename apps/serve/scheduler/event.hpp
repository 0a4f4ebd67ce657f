// What the scheduler reports of a request while it works on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "veloce/core/status.hpp"

namespace veloce::serve {

struct TokenProbability {
  std::int32_t id = 0;
  float value = 0;    // log-probability, or probability where those after sampling were asked for
  std::string bytes;  // the token's text
};

struct TokenProbabilities {
  TokenProbability chosen;
  std::vector<TokenProbability> top;  // most probable first
};

// Counts and times of one choice so far. The first generated token belongs to the prompt's pass.
struct Progress {
  int prompt = 0;     // tokens of the prompt
  int cached = 0;     // of those, taken over from the cache
  int processed = 0;  // of those, done (cached ones included)
  int generated = 0;
  int reasoning = 0;  // of those, tokens of thoughts
  double prompt_ms = 0;
  double generation_ms = 0;
};

// A request in a slot, as /slots tells of it.
struct SlotWork {
  std::uint64_t task = 0;  // its number
  bool generating = false;
  Progress progress;
  int max_tokens = -1;
  bool has_newline = false;
};

enum class StopReason { kNone, kEndOfText, kStopString, kLimit };

struct Event {
  enum class Kind {
    kStarted,   // a slot works on it
    kProgress,  // part of the prompt was read
    kText,      // text or tokens came
    kFinished,  // this choice is complete
    kFailed,    // this choice ended with an error
  };
  Kind kind = Kind::kText;
  int index = 0;  // the choice
  int slot = -1;
  Progress progress;

  std::string text;  // kText; kFinished: what was held back until then
  std::vector<std::int32_t> tokens;
  std::vector<TokenProbabilities> probabilities;

  StopReason reason = StopReason::kNone;  // kFinished
  std::string stop_string;
  bool truncated = false;  // the context was full
  bool has_newline = false;
  int tokens_cached = 0;  // tokens that the slot holds now
  std::uint32_t seed = 0;
  std::vector<float> embedding;
  std::vector<std::vector<float>> token_embeddings;

  Status error;  // kFailed
};

}  // namespace veloce::serve

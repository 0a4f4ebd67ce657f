// Perplexity of a text under a model, computed as the usual tool does.
//
// The tokens are cut into chunks of `context`; what is left over is dropped. Each chunk is read
// from an empty state, with its first token replaced by BOS where the model adds one. Positions
// context/2 .. context-2 are scored by the negative log likelihood v of the token after them (so a
// token is predicted from at least half a context), and
//   perplexity  = exp(mean v)
//   uncertainty = perplexity * sqrt((mean v^2 - (mean v)^2) / (count - 1))    the standard error of
//   the mean, carried
//                                                                             through exp to first
//                                                                             order
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "veloce/model/engine.hpp"

namespace veloce::perplexity {

struct Options {
  int context = 512;
  int chunks = 0;         // at most so many; 0: all
  std::int32_t bos = -1;  // replaces each chunk's first token; -1: none
  // Called after each chunk; returning false stops with kCancelled. May be empty.
  std::function<bool(int chunk, int chunks, double perplexity)> progress;
};

struct Score {
  double perplexity = 0, uncertainty = 0;
  std::vector<double> running;  // perplexity after each chunk
  std::int64_t scored = 0;      // predictions counted
};

// How many chunks the engine should hold side by side (EngineOptions::sequences) and how large its
// step must be (EngineOptions::max_batch) for steps of about `batch` tokens.
struct Shape {
  int sequences = 1, max_batch = 1;
};
Shape shape_for(int context, int batch);

// Smallest chunk that has something to score after a half.
inline constexpr int kMinContext = 4;

// Uses all of the engine's sequences from 0 on and leaves them empty. Errors: kInvalidArgument
// (context, fewer tokens than one chunk), the engine's, kInternal for logits that are not finite.
Result<Score> measure(model::Engine& engine, std::span<const std::int32_t> tokens,
                      const Options& options);

}  // namespace veloce::perplexity

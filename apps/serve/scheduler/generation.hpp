// One answer being generated: chooses tokens from logits and turns them into the text that may be
// sent, until a rule says that it is over (specs/server.md 3.4).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduler/event.hpp"
#include "scheduler/generation_params.hpp"
#include "scheduler/stop_matcher.hpp"
#include "scheduler/token_chooser.hpp"
#include "veloce/text/tokenizer.hpp"

namespace veloce::serve {

class Generation {
 public:
  // Parameters and tokenizer must outlive it. The sampler has seen the prompt.
  Generation(const text::Tokenizer& tokenizer, const GenerationParams& params,
             sample::Sampler sampler);

  // The next token, from the model's logits. An error ends this answer alone.
  Result<std::int32_t> sample(std::span<const float> logits);

  // Takes the sampled token into the text. `held`: tokens in the engine's sequence, this one not
  // included; `ms`: since the prompt was read. The event's `reason` says whether and why it is
  // over.
  Event take(std::int32_t token, int held, int context, double ms);

  void end_reasoning() { chooser_.end_reasoning(); }
  int count() const { return count_; }
  int reasoning_tokens() const { return chooser_.reasoning_tokens(); }
  std::uint32_t seed() const { return chooser_.seed(); }
  bool has_newline() const { return newline_ != std::string::npos; }

 private:
  struct PendingToken {
    std::int32_t id;
    std::size_t begin, end;  // of its text
  };
  struct PendingProbabilities {
    TokenProbabilities value;
    std::size_t begin, end;
  };
  std::string bytes_of(std::int32_t token) const;
  bool indented_less();
  void flush_pending(Event& event);
  void note_probabilities(std::span<const float> logits, std::int32_t token);

  const text::Tokenizer& tokenizer_;
  const GenerationParams& params_;
  TokenChooser chooser_;
  StopMatcher matcher_;
  int count_ = 0;
  std::size_t newline_ = std::string::npos;    // place of the last newline in the text
  std::vector<PendingProbabilities> pending_;  // of tokens whose text is still held back
  std::vector<PendingToken> pending_tokens_;
};

}  // namespace veloce::serve

// Chooses tokens: the sampler chain, under a grammar and a limit to thinking.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "scheduler/generation_params.hpp"
#include "scheduler/reasoning_budget.hpp"
#include "veloce/core/status.hpp"
#include "veloce/sample/sampler.hpp"
#include "veloce/text/grammar.hpp"
#include "veloce/text/tokenizer.hpp"

namespace veloce::serve {

class TokenChooser {
 public:
  // The sampler has seen the prompt.
  TokenChooser(const text::Tokenizer& tokenizer, const GenerationParams& params,
               sample::Sampler sampler);

  // Draws a token. Errors: no token may come, or a grammar beyond its limits.
  Result<std::int32_t> choose(std::span<const float> logits);
  // That token is taken; `text` is the answer's, this token included.
  void took(std::int32_t token, std::string_view text);

  // What the last token was drawn from.
  std::span<const sample::Candidate> candidates() const { return sampler_.candidates(); }
  std::uint32_t seed() const { return sampler_.seed(); }
  void end_reasoning() { budget_.end_now(); }
  int reasoning_tokens() const { return budget_.tokens(); }

 private:
  class Filter;
  bool grammar_active() const {
    return grammar_.has_value() && !waiting_for_trigger_ && !budget_.inside();
  }
  void look_for_trigger(std::string_view text);
  void resume_grammar(std::string_view text);

  const text::Tokenizer& tokenizer_;
  const GenerationParams& params_;
  sample::Sampler sampler_;
  ReasoningBudget budget_;
  std::optional<text::GrammarState> grammar_;
  Status
      grammar_lost_;  // the model wrote on in the token that ended its thinking, what it must not
  bool waiting_for_trigger_ = false;
  std::size_t search_from_ = 0;  // where a lazy grammar looks for its trigger: behind the thinking
};

}  // namespace veloce::serve

// Follows the thinking block of an answer: counts its tokens and, when its budget is used up,
// dictates the tokens that end it. A state machine over the answer's text, as the reader of the
// answer sees it: models without tokens of their own for the tags spell them in many ways
// (specs/server.md 4.7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "scheduler/generation_params.hpp"

namespace veloce::serve {

class ReasoningBudget {
 public:
  explicit ReasoningBudget(const ReasoningSettings& settings) : settings_(settings) {
    if (active() && settings.begins_inside) enter();
  }

  bool active() const { return !settings_.end.empty(); }
  bool inside() const { return state_ != State::kOutside; }

  // The only token that may come next, if there is but one.
  std::optional<std::int32_t> forced() const {
    if (state_ != State::kForcing) return std::nullopt;
    return settings_.forced[forced_];
  }

  // Moves on by a token. `text`: the answer so far, this token included. `bound`: a grammar holds
  // outside of thoughts; then a block only begins where nothing but blanks was said since the last,
  // so that quoted tags don't lift it.
  void accept(std::string_view text, bool bound);

  // Ends the block as if the budget were used up; nothing happens outside of one.
  void end_now() {
    if (state_ == State::kCounting) force();
  }

  int tokens() const { return tokens_; }              // of thoughts, tags included
  std::size_t outside_from() const { return from_; }  // where in the text the last block ended

 private:
  enum class State { kOutside, kCounting, kForcing };
  void enter();
  void force();
  void leave(std::size_t at);
  bool look_for_start(std::string_view text, bool bound);
  bool look_for_end(std::string_view text);

  ReasoningSettings settings_;
  State state_ = State::kOutside;
  int left_ = 0, tokens_ = 0;
  bool limited_ = false;
  std::size_t forced_ = 0;
  std::size_t searched_ = 0;  // no tag begins before that in the text
  std::size_t from_ = 0;
};

}  // namespace veloce::serve

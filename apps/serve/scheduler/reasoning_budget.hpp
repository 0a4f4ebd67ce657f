// Counts the tokens of a thinking block and, when its budget is used up, dictates the tokens that end it. A state
// machine over the sampled tokens (specs/server.md 4.7).
#pragma once

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
  bool inside() const { return state_ == State::kCounting || state_ == State::kForcing; }

  // The only token that may come next, if there is but one.
  std::optional<std::int32_t> forced() const {
    if (state_ != State::kForcing) return std::nullopt;
    return settings_.forced[forced_];
  }

  // Moves on by a token. `text`: the answer so far, this token included.
  void accept(std::int32_t token, std::string_view text);

  // Ends the block as if the budget were used up; nothing happens outside of one.
  void end_now() {
    if (state_ == State::kCounting) force();
  }

 private:
  enum class State { kIdle, kCounting, kForcing };
  void enter();
  void force();
  static bool matches(const std::vector<std::int32_t>& tag, std::size_t& matched, std::int32_t token);

  ReasoningSettings settings_;
  State state_ = State::kIdle;
  int left_ = 0;
  bool limited_ = false;
  std::size_t start_matched_ = 0, end_matched_ = 0, forced_ = 0;
};

}  // namespace veloce::serve

#include "scheduler/reasoning_budget.hpp"

#include "base/json.hpp"

namespace veloce::serve {

void ReasoningBudget::enter() {
  start_matched_ = end_matched_ = 0;
  limited_ = settings_.budget >= 0;
  left_ = settings_.budget;
  state_ = State::kCounting;
  if (limited_ && left_ == 0) force();
}

void ReasoningBudget::force() {
  if (settings_.forced.empty()) return;
  forced_ = 0;
  state_ = State::kForcing;
}

// True when the token completes the tag. Tags are short; a mismatch only looks at the tag's first token again.
bool ReasoningBudget::matches(const std::vector<std::int32_t>& tag, std::size_t& matched, std::int32_t token) {
  if (tag.empty()) return false;
  if (token == tag[matched]) {
    ++matched;
  } else {
    matched = token == tag[0] ? 1 : 0;
  }
  if (matched < tag.size()) return false;
  matched = 0;
  return true;
}

void ReasoningBudget::accept(std::int32_t token, std::string_view text) {
  if (!active()) return;
  switch (state_) {
    case State::kIdle:
      if (matches(settings_.start, start_matched_, token)) enter();
      break;
    case State::kCounting:
      if (matches(settings_.end, end_matched_, token)) {
        state_ = State::kIdle;
        break;
      }
      if (limited_ && left_ > 0 && end_matched_ == 0) --left_;
      // Not in the middle of a character.
      if (limited_ && left_ == 0 && complete_utf8_prefix(text) == text.size()) force();
      break;
    case State::kForcing:
      if (++forced_ == settings_.forced.size()) state_ = State::kIdle;
      break;
  }
}

}  // namespace veloce::serve

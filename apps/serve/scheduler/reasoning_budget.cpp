#include "scheduler/reasoning_budget.hpp"

#include <algorithm>

#include "base/json.hpp"

namespace veloce::serve {
namespace {

// Length of the longest end of the text that begins the tag.
std::size_t begun(std::string_view text, std::string_view tag) {
  for (std::size_t n = std::min(text.size(), tag.size() - 1); n > 0; --n)
    if (text.ends_with(tag.substr(0, n))) return n;
  return 0;
}

}  // namespace

void ReasoningBudget::enter() {
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

void ReasoningBudget::leave(std::size_t at) {
  state_ = State::kOutside;
  searched_ = from_ = at;
}

bool ReasoningBudget::look_for_start(std::string_view text, bool bound) {
  if (settings_.start.empty()) return false;
  const std::size_t at = text.find(settings_.start, searched_);
  if (at == std::string_view::npos) {
    searched_ = text.size() - begun(text.substr(searched_), settings_.start);
    return false;
  }
  searched_ = at + settings_.start.size();
  const std::string_view before = text.substr(from_, at - from_);
  if (bound && before.find_first_not_of(" \t\r\n") != std::string_view::npos)
    return true;  // a quotation
  enter();
  return true;
}

bool ReasoningBudget::look_for_end(std::string_view text) {
  const std::size_t at = text.find(settings_.end, searched_);
  if (at == std::string_view::npos) {
    searched_ = text.size() - begun(text.substr(searched_), settings_.end);
    return false;
  }
  leave(at + settings_.end.size());
  return true;
}

void ReasoningBudget::accept(std::string_view text, bool bound) {
  if (!active()) return;
  searched_ = std::min(searched_, text.size());
  if (state_ == State::kForcing) {
    ++tokens_;
    if (++forced_ == settings_.forced.size()) leave(text.size());
    return;
  }
  const bool was_inside = inside();
  bool thought = was_inside;
  // A piece of text may hold several tags.
  while (state_ != State::kForcing && (inside() ? look_for_end(text) : look_for_start(text, bound)))
    thought = thought || inside();
  tokens_ += thought;
  if (!was_inside || state_ != State::kCounting) return;
  if (limited_ && left_ > 0) --left_;
  // Not in the middle of a character or of the tag.
  if (limited_ && left_ == 0 && searched_ == text.size() &&
      complete_utf8_prefix(text) == text.size())
    force();
}

}  // namespace veloce::serve

#include "scheduler/stop_matcher.hpp"

#include <algorithm>

#include "base/json.hpp"

namespace veloce::serve {
namespace {

std::size_t advance(const std::string& pattern, const std::vector<std::size_t>& fallback,
                    std::size_t state, char c) {
  while (state > 0 && (state == pattern.size() || pattern[state] != c)) state = fallback[state - 1];
  return pattern[state] == c ? state + 1 : 0;
}

}  // namespace

StopMatcher::StopMatcher(const std::vector<std::string>& stops) {
  for (const std::string& stop : stops) {
    if (stop.empty()) continue;
    Pattern pattern{stop, std::vector<std::size_t>(stop.size(), 0)};
    for (std::size_t i = 1; i < stop.size(); ++i) {
      pattern.fallback[i] = advance(stop, pattern.fallback, pattern.fallback[i - 1], stop[i]);
    }
    patterns_.push_back(std::move(pattern));
  }
}

std::string StopMatcher::feed(std::string_view piece) {
  if (matched_) return {};
  const std::size_t before = text_.size();
  text_ += piece;
  std::size_t cut = std::string::npos;
  for (Pattern& pattern : patterns_) {
    for (std::size_t i = before; i < text_.size(); ++i) {
      pattern.state = advance(pattern.text, pattern.fallback, pattern.state, text_[i]);
      if (pattern.state < pattern.text.size()) continue;
      // The earliest start wins; of two with the same start, the one named first.
      if (const std::size_t start = i + 1 - pattern.text.size(); start < cut) {
        cut = start;
        matched_ = pattern.text;
      }
      break;
    }
  }
  if (matched_) {
    text_.resize(cut);
    return send_up_to(cut);
  }
  std::size_t held = 0;
  for (const Pattern& pattern : patterns_) held = std::max(held, pattern.state);
  const std::size_t whole = sent_ + complete_utf8_prefix(std::string_view(text_).substr(sent_));
  return send_up_to(std::min(whole, text_.size() - held));
}

std::string StopMatcher::finish() {
  return send_up_to(text_.size());
}

std::string StopMatcher::send_up_to(std::size_t end) {
  if (end <= sent_) return {};
  std::string out = text_.substr(sent_, end - sent_);
  sent_ = end;
  return out;
}

}  // namespace veloce::serve

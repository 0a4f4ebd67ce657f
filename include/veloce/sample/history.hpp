// The tokens accepted so far, and what the penalties and DRY make of them. Source:
// specs/tokenizers.md section 9.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "veloce/sample/candidates.hpp"
#include "veloce/sample/dry_breakers.hpp"
#include "veloce/sample/params.hpp"

namespace veloce::sample {

class History {
 public:
  // window: tokens whose counts are kept; -1: all.
  explicit History(int window = 0) : window_(window) {}

  void push(std::int32_t id) {
    tokens_.push_back(id);
    if (window_ == 0) return;
    ++counts_[id];
    if (window_ > 0 && tokens_.size() > std::size_t(window_)) {
      const auto it = counts_.find(tokens_[tokens_.size() - 1 - std::size_t(window_)]);
      if (--it->second == 0) counts_.erase(it);
    }
  }
  void clear() {
    tokens_.clear();
    counts_.clear();
  }

  std::span<const std::int32_t> tokens() const { return tokens_; }
  // The newest n tokens; n < 0: all.
  std::span<const std::int32_t> last(int n) const {
    const std::size_t count = n < 0 ? tokens_.size() : std::min(tokens_.size(), std::size_t(n));
    return std::span(tokens_).last(count);
  }
  // How often each token occurs in the window.
  const std::unordered_map<std::int32_t, int>& counts() const { return counts_; }

 private:
  int window_;
  std::vector<std::int32_t> tokens_;
  std::unordered_map<std::int32_t, int> counts_;
};

// For each token that occurs c > 0 times: l <= 0 ? l * repeat : l / repeat, then l -= c * frequency
// + presence.
inline void penalties(Candidates& list, const std::unordered_map<std::int32_t, int>& counts,
                      double repeat, double frequency, double presence) {
  if (repeat == 1 && frequency == 0 && presence == 0) return;
  list.change_listed(counts, [&](const Candidate& c, int count) {
    const float r = float(repeat);
    const float scaled = c.logit <= 0 ? c.logit * r : c.logit / r;
    return scaled - (float(count) * float(frequency) + float(presence));
  });
}

// Tokens that would go on with a repetition, and the length of what they would repeat: for each
// earlier place, the longest end of the text that also stands there (n at least `allowed`), the
// token after that place gets the largest n. A breaker sequence limits how far back a repetition is
// seen.
inline std::unordered_map<std::int32_t, int> dry_repetitions(std::span<const std::int32_t> text,
                                                             int allowed,
                                                             const DryBreakers* breakers) {
  std::unordered_map<std::int32_t, int> found;
  const std::size_t n = text.size();
  if (n <= std::size_t(allowed)) return found;
  const auto back = [&](std::size_t i) { return text[n - 1 - i]; };  // 0: the newest

  std::size_t limit = n;
  if (breakers != nullptr) {
    for (std::size_t i = 0; i < n; ++i) {
      const int tail = breakers->longest_tail(text.subspan(n - 1 - i));
      if (tail < 0) continue;
      limit = i - std::size_t(tail);
      break;
    }
  }
  if (limit < std::size_t(allowed)) return found;

  // z[i]: how long the text read backwards from i agrees with the text read backwards from the end.
  std::vector<std::size_t> z(n, 0);
  for (std::size_t i = 1, left = 0, right = 0; i < n; ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < n && back(z[i]) == back(i + z[i])) ++z[i];
    if (i + z[i] > right) {
      left = i;
      right = i + z[i];
    }
    const std::size_t length = std::min(z[i], limit);
    if (length < std::size_t(allowed)) continue;
    int& longest = found[back(i - 1)];
    longest = std::max(longest, int(length));
  }
  return found;
}

// l -= multiplier * base^(n - allowed) for each repetition's token, unless the token is a breaker
// by itself.
inline void dry(Candidates& list, std::span<const std::int32_t> text, const SamplingParams& params,
                const DryBreakers* breakers) {
  const auto found = dry_repetitions(text, params.dry_allowed_length, breakers);
  // The largest exponent whose power is still a float.
  const double most =
      params.dry_base > 1.000001 ? std::floor(88.7228391 / std::log(params.dry_base)) : 1e9;
  list.change_listed(found, [&](const Candidate& c, int length) {
    if (breakers != nullptr && breakers->is_single(c.id)) return c.logit;
    const double exponent = std::min(double(length - params.dry_allowed_length), most);
    return c.logit - float(params.dry_multiplier * std::pow(params.dry_base, exponent));
  });
}

}  // namespace veloce::sample

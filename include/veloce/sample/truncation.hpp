// The stages of the chain without a memory: each cuts or reshapes the candidates. Source of all
// formulas: specs/tokenizers.md section 9.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "veloce/sample/candidates.hpp"

namespace veloce::sample {

// Keeps the k highest logits, sorted. k <= 0: off.
inline void top_k(Candidates& list, int k) {
  if (k <= 0 || std::size_t(k) >= list.size()) return;
  list.sort_top(std::size_t(k));
  list.truncate(std::size_t(k));
}

// Minus infinity for logits below max - n sigma; mean and deviation over the finite ones. n <= 0:
// off.
inline void top_n_sigma(Candidates& list, double n) {
  if (n <= 0 || list.size() <= 1) return;
  double sum = 0, count = 0;
  for (const Candidate& c : list.items) {
    if (c.logit == kMinusInfinity) continue;
    sum += double(c.logit);
    ++count;
  }
  if (count == 0) return;
  const double mean = sum / count;
  double squares = 0;
  for (const Candidate& c : list.items)
    if (c.logit != kMinusInfinity) squares += (double(c.logit) - mean) * (double(c.logit) - mean);
  const double lowest = double(list.max_logit()) - n * std::sqrt(squares / count);
  for (Candidate& c : list.items)
    if (double(c.logit) < lowest) c.logit = kMinusInfinity;
}

// Keeps the most probable tokens up to and including the one with which they reach p. p >= 1: off.
inline void top_p(Candidates& list, double p, int min_keep) {
  if (p >= 1 || list.size() == 0) return;
  list.softmax();
  double sum = 0;
  std::size_t i = 0;
  for (std::size_t known = 64; i < list.size(); known *= 4) {
    list.sort_top(known);
    for (; i < std::min(known, list.size()); ++i) {
      sum += double(list.items[i].p);
      if (sum >= p && i + 1 >= std::size_t(min_keep)) return list.truncate(i + 1);
    }
  }
}

// Keeps tokens at least p times as probable as the most probable. p <= 0: off.
inline void min_p(Candidates& list, double p, int min_keep) {
  if (p <= 0 || list.size() == 0) return;
  const float lowest = float(double(list.max_logit()) + std::log(p));
  std::size_t count = 0;
  for (const Candidate& c : list.items) count += c.logit >= lowest;
  if (count >= std::size_t(min_keep))
    return list.filter([&](const Candidate& c) { return c.logit >= lowest; });
  list.sort_top(std::size_t(min_keep));
  list.truncate(std::size_t(min_keep));
}

// Locally typical sampling: keeps the tokens whose surprise is nearest to the entropy, until they
// exceed p together. p >= 1: off.
inline void typical(Candidates& list, double p, int min_keep) {
  if (p >= 1 || list.size() == 0) return;
  list.softmax();
  double entropy = 0;
  for (const Candidate& c : list.items)
    if (c.p > 0) entropy -= double(c.p) * std::log(double(c.p));
  struct Scored {
    double distance;
    Candidate item;
  };
  std::vector<Scored> scored;
  scored.reserve(list.size());
  for (const Candidate& c : list.items)
    scored.push_back({std::abs(-std::log(double(c.p)) - entropy), c});
  const auto nearer = [](const Scored& a, const Scored& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    return a.item.p != b.item.p ? a.item.p > b.item.p : a.item.id < b.item.id;
  };
  // Sorted only as far as the sum needs.
  double sum = 0;
  std::size_t keep = 0, sorted = 0;
  bool enough = false;
  while (!enough && keep < scored.size()) {
    if (keep == sorted) {
      const std::size_t end = std::min(std::max<std::size_t>(64, sorted * 4), scored.size());
      std::partial_sort(scored.begin() + std::ptrdiff_t(sorted),
                        scored.begin() + std::ptrdiff_t(end), scored.end(), nearer);
      sorted = end;
    }
    sum += double(scored[keep++].item.p);
    enough = sum > p && keep >= std::size_t(min_keep);
  }
  list.items.resize(keep);
  for (std::size_t k = 0; k < keep; ++k) list.items[k] = scored[k].item;
  list.reordered();
}

// Exclude top choices: drops all tokens with at least the threshold's probability but the least
// probable of them. `draw` is uniform in [0, 1); nothing happens if it is above the probability.
inline void xtc(Candidates& list, double probability, double threshold, int min_keep, float draw) {
  if (probability <= 0 || threshold > 0.5 || list.size() < 2 || double(draw) > probability) return;
  list.softmax();
  std::size_t above = 0;
  for (const Candidate& c : list.items) above += double(c.p) >= threshold;
  if (above < 2) return;
  list.sort_top(above);
  const std::size_t drop = above - 1;
  if (list.size() - drop < std::size_t(min_keep)) return;
  list.items.erase(list.items.begin(), list.items.begin() + std::ptrdiff_t(drop));
  list.reordered();
}

// Divides the logits by t; t <= 0 leaves only the highest.
inline void temperature(Candidates& list, double t) {
  if (list.size() == 0) return;
  if (t <= 0) {
    const std::size_t best = list.argmax();
    for (std::size_t i = 0; i < list.size(); ++i)
      if (i != best) list.items[i].logit = kMinusInfinity;
    list.unsorted();
    return;
  }
  // Taken from the highest, so that a very low temperature overflows for the others only.
  const double most = double(list.max_logit());
  for (Candidate& c : list.items) {
    if (c.logit == kMinusInfinity) continue;
    c.logit =
        float(std::max((double(c.logit) - most) / t, -double(std::numeric_limits<float>::max())));
  }
}

// Temperature between t - range and t + range by the entropy of the candidates.
inline void dynamic_temperature(Candidates& list, double t, double range, double exponent) {
  if (range <= 0 || list.size() <= 1) return temperature(list, t);
  list.softmax();
  double entropy = 0;
  for (const Candidate& c : list.items)
    if (c.p > 0) entropy -= double(c.p) * std::log(double(c.p));
  const double low = std::max(0.0, t - range), high = t + range;
  const double share = std::clamp(entropy / std::log(double(list.size())), 0.0, 1.0);
  temperature(list, low + (high - low) * std::pow(share, exponent));
}

}  // namespace veloce::sample

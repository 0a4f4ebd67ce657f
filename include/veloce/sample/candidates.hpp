// The tokens still in question while a chain samples, with logits and probabilities.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace veloce::sample {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// A logit that softmax can take: NaN counts as minus infinity, plus infinity as the largest float.
inline float usable_logit(float l) {
  constexpr float kMost = std::numeric_limits<float>::max();
  if (l <= kMost) return l;
  return std::isnan(l) ? kMinusInfinity : kMost;
}

struct Candidate {
  std::int32_t id;
  float logit;
  float p;  // as of the last softmax()
};

class Candidates {
 public:
  std::vector<Candidate> items;

  // All tokens in the order of their ids.
  void assign(std::span<const float> logits) {
    items.resize(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i)
      items[i] = {std::int32_t(i), usable_logit(logits[i]), 0.0f};
    sorted_ = 0;
    all_ = true;
  }

  std::size_t size() const { return items.size(); }

  // Sorting only as far as needed: afterwards the first `count` items are the highest, in
  // descending order (of equal ones the lower id first), and the others follow in no order. Linear
  // in the list for small counts.
  void sort_top(std::size_t count) {
    count = std::min(count, items.size());
    if (count <= sorted_) return;
    const auto higher = [](const Candidate& a, const Candidate& b) {
      return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    };
    const auto begin = items.begin() + std::ptrdiff_t(sorted_),
               middle = items.begin() + std::ptrdiff_t(count);
    if (count - sorted_ <= 512) {
      std::partial_sort(begin, middle, items.end(), higher);
    } else {
      if (middle != items.end()) std::nth_element(begin, middle, items.end(), higher);
      std::sort(begin, middle, higher);
    }
    sorted_ = count;
    all_ = false;
  }
  // Items that are known to be the highest, in order.
  std::size_t sorted() const { return sorted_; }
  // To be told when items were reordered, or logits changed not monotonously.
  void unsorted() { sorted_ = 0; }
  void reordered() {
    sorted_ = 0;
    all_ = false;
  }
  void truncate(std::size_t count) {
    if (count >= items.size()) return;
    items.resize(count);
    sorted_ = std::min(sorted_, count);
    all_ = false;
  }
  // Keeps the items for which keep(item) holds, in their order. What is kept of the sorted part
  // must be its front.
  template <class Keep>
  void filter(Keep keep) {
    std::size_t out = 0, sorted_kept = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!keep(items[i])) continue;
      if (i < sorted_) ++sorted_kept;
      items[out++] = items[i];
    }
    if (out == items.size()) return;
    items.resize(out);
    sorted_ = sorted_kept;
    all_ = false;
  }

  // Gives each item whose id is a key of the map the logit change(item, value).
  template <class Map, class Change>
  void change_listed(const Map& map, Change change) {
    if (map.empty()) return;
    if (all_) {
      for (const auto& [id, value] : map)
        if (id >= 0 && std::size_t(id) < items.size()) {
          Candidate& item = items[std::size_t(id)];
          item.logit = usable_logit(change(item, value));
        }
    } else {
      for (Candidate& item : items)
        if (const auto it = map.find(item.id); it != map.end())
          item.logit = usable_logit(change(item, it->second));
    }
    sorted_ = 0;
  }

  float max_logit() const {
    float m = kMinusInfinity;
    if (sorted_ > 0) return items[0].logit;
    for (const Candidate& c : items) m = std::max(m, c.logit);
    return m;
  }
  // Position of the highest logit, the first of equal ones.
  std::size_t argmax() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < items.size(); ++i)
      if (items[i].logit > items[best].logit) best = i;
    return best;
  }

  // Probabilities, in no particular order of items. All minus infinity: all 0.
  void softmax() {
    const float m = max_logit();
    if (m == kMinusInfinity) {
      for (Candidate& c : items) c.p = 0;
      return;
    }
    double sum = 0;
    for (Candidate& c : items) {
      c.p = c.logit == kMinusInfinity ? 0.0f : std::exp(c.logit - m);
      sum += double(c.p);
    }
    const float scale = float(1.0 / sum);
    for (Candidate& c : items) c.p *= scale;
  }

 private:
  std::size_t sorted_ = 0;
  bool all_ = false;  // item i is token i
};

}  // namespace veloce::sample

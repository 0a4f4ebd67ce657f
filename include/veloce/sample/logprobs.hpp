// Log probabilities of tokens as the model gave them, before any sampling: log softmax of the raw
// logits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "veloce/sample/candidates.hpp"

namespace veloce::sample {

struct TokenLogprob {
  std::int32_t id = 0;
  float logprob = 0;  // natural logarithm; minus infinity for a probability of 0
};
struct Logprobs {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // the most probable first, of equal ones the lower id
};

// ln of the sum of exp(logit), NaN left out; minus infinity if there is nothing to sum.
inline double log_sum_exp(std::span<const float> logits) {
  float most = kMinusInfinity;
  for (float l : logits)
    if (l > most) most = l;
  if (!std::isfinite(most)) return double(most);
  double sum = 0;
  for (float l : logits)
    if (!std::isnan(l)) sum += double(std::exp(l - most));
  return double(most) + std::log(sum);
}

// The chosen token's and the `count` highest. An id outside the logits has minus infinity.
inline Logprobs logprobs(std::span<const float> logits, std::int32_t chosen, std::size_t count) {
  const double norm = log_sum_exp(logits);
  const auto logprob = [&](float l) {
    return std::isnan(l) || !std::isfinite(norm) ? kMinusInfinity
                                                 : float(std::min(double(l) - norm, 0.0));
  };
  Logprobs out;
  out.chosen = {chosen, chosen >= 0 && std::size_t(chosen) < logits.size()
                            ? logprob(logits[std::size_t(chosen)])
                            : kMinusInfinity};
  count = std::min(count, logits.size());
  if (count == 0) return out;
  Candidates list;
  list.assign(logits);
  list.sort_top(count);
  out.top.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    out.top.push_back({list.items[i].id, logprob(list.items[i].logit)});
  return out;
}

}  // namespace veloce::sample

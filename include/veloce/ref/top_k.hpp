// Oracle of ops/top_k.hpp: sort everything.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "veloce/ops/top_k.hpp"

namespace veloce::ref {

inline Status top_k(const TopKArgs& a) {
  if (Status s = check(a); !s) return s;
  std::vector<std::int32_t> order(std::size_t(a.n));
  for (int i = 0; i < a.n; ++i) order[std::size_t(i)] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t i, std::int32_t j) {
    if (std::isnan(a.x[i]) || std::isnan(a.x[j])) return !std::isnan(a.x[i]) && std::isnan(a.x[j]);
    return a.x[i] > a.x[j];
  });
  for (int i = 0; i < a.k; ++i) {
    a.indices[i] = order[std::size_t(i)];
    if (a.values) a.values[i] = a.x[order[std::size_t(i)]];
  }
  return {};
}

}  // namespace veloce::ref

// The k largest of n numbers, largest first; of equal ones the lower index first. NaN counts as
// less than all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "veloce/ops/check.hpp"
#include "veloce/ops/cost.hpp"

namespace veloce {

struct TopKArgs {
  int n = 0, k = 0;
  const float* x = nullptr;
  std::int32_t* indices = nullptr;  // k of them
  float* values = nullptr;          // x[indices[i]], k of them, or null
};

inline Status check(const TopKArgs& a) {
  return detail::ArgChecker("top_k")
      .at_least("n", a.n, 1)
      .at_least("k", a.k, 1)
      .at_most("k", a.k, a.n, "n")
      .not_null("x", a.x)
      .not_null("indices", a.indices)
      .status();
}

inline Cost cost(const TopKArgs& a) {
  return {4 * std::uint64_t(a.n) + 8 * std::uint64_t(a.k), std::uint64_t(a.n)};
}

}  // namespace veloce

// Element-wise ops on n floats: sum, product, and the gate of the feed-forward block.
//
//   add     y = a + b
//   mul     y = a * b
//   swiglu  y = silu(a) * b,  silu(a) = a / (1 + exp(-a))
#pragma once

#include <cstddef>

#include "veloce/ops/check.hpp"
#include "veloce/ops/cost.hpp"

namespace veloce {

struct ElementwiseArgs {
  std::size_t n = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;  // may be a or b
};

inline Status check(const ElementwiseArgs& a) {
  return detail::ArgChecker("elementwise")
      .not_null("a", a.a)
      .not_null("b", a.b)
      .not_null("y", a.y)
      .status();
}

inline Cost cost(const ElementwiseArgs& a) {
  return {12 * std::uint64_t(a.n), std::uint64_t(a.n)};
}

}  // namespace veloce

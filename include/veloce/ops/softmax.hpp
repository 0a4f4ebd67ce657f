// Softmax of rows: y = exp(scale * (x - max x)) / sum of the same.
#pragma once

#include <cstddef>

#include "veloce/ops/check.hpp"
#include "veloce/ops/cost.hpp"

namespace veloce {

struct SoftmaxArgs {
  int rows = 0, n = 0;
  float scale = 1;           // not negative: an inverse temperature
  const float* x = nullptr;  // [rows][n]; -infinity gives 0, but not in every place of a row
  float* y = nullptr;        // [rows][n]; may be x
};

inline Status check(const SoftmaxArgs& a) {
  return detail::ArgChecker("softmax")
      .at_least("rows", a.rows, 1)
      .at_least("n", a.n, 1)
      .finite("scale", a.scale)
      .rule(a.scale >= 0, "scale", std::to_string(a.scale), "must not be negative")
      .not_null("x", a.x)
      .not_null("y", a.y)
      .status();
}

inline Cost cost(const SoftmaxArgs& a) {
  const std::uint64_t n = std::uint64_t(a.rows) * std::uint64_t(a.n);
  return {8 * n, 5 * n};
}

}  // namespace veloce

// RMS norm of rows: y = x / sqrt(mean(x^2) + epsilon) * weight.
#pragma once

#include <cstddef>

#include "veloce/ops/check.hpp"
#include "veloce/ops/cost.hpp"

namespace veloce {

struct RmsNormArgs {
  int rows = 0, k = 0;
  const float* x = nullptr;       // [rows][k]
  const float* weight = nullptr;  // k floats
  float epsilon = 0;
  float* y = nullptr;  // [rows][k]; may be x
};

inline Status check(const RmsNormArgs& a) {
  return detail::ArgChecker("rms_norm")
      .at_least("rows", a.rows, 1)
      .at_least("k", a.k, 1)
      .not_null("x", a.x)
      .not_null("weight", a.weight)
      .not_null("y", a.y)
      .finite("epsilon", a.epsilon)
      .rule(a.epsilon >= 0, "epsilon", std::to_string(a.epsilon), "must not be negative")
      .status();
}

inline Cost cost(const RmsNormArgs& a) {
  const std::uint64_t n = std::uint64_t(a.rows) * std::uint64_t(a.k);
  return {4 * (2 * n + std::uint64_t(a.k)), 4 * n};
}

}  // namespace veloce

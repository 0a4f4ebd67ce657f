// Rotary position embedding: turns pairs of a head's first `rotated` dimensions by the angles of
// the position.
//
//   (a, b) -> (a cos - b sin, a sin + b cos)    pairs (2i, 2i + 1), or (i, i + rotated / 2) with
//   neox
// The angles come as a table, so that every scaling of frequencies (linear, YaRN, factors) is the
// table's business.
#pragma once

#include <cstddef>

#include "veloce/ops/check.hpp"
#include "veloce/ops/cost.hpp"

namespace veloce {

struct RopeArgs {
  int columns = 0, heads = 0, dim = 0;
  int rotated = 0;  // even, at most dim; the other dimensions stay
  bool neox = false;
  const float* cos_sin = nullptr;  // [columns][rotated / 2] pairs {cos, sin}
  float* x = nullptr;              // [columns][heads][dim], in place
};

inline Status check(const RopeArgs& a) {
  return detail::ArgChecker("rope")
      .at_least("columns", a.columns, 1)
      .at_least("heads", a.heads, 1)
      .at_least("dim", a.dim, 1)
      .at_least("rotated", a.rotated, 0)
      .at_most("rotated", a.rotated, a.dim, "dim")
      .multiple("rotated", a.rotated, 2, "dimensions turn in pairs")
      .not_null("cos_sin", a.cos_sin)
      .not_null("x", a.x)
      .status();
}

inline Cost cost(const RopeArgs& a) {
  const std::uint64_t turned =
      std::uint64_t(a.columns) * std::uint64_t(a.heads) * std::uint64_t(a.rotated);
  return {4 * (2 * turned + std::uint64_t(a.columns) * std::uint64_t(a.rotated)), 3 * turned};
}

}  // namespace veloce

// Oracle of ops/rope.hpp.
#pragma once

#include "veloce/ops/rope.hpp"

namespace veloce::ref {

inline Status rope(const RopeArgs& a) {
  if (Status s = check(a); !s) return s;
  for (int c = 0; c < a.columns; ++c)
    for (int h = 0; h < a.heads; ++h) {
      float* x =
          a.x + (std::size_t(c) * std::size_t(a.heads) + std::size_t(h)) * std::size_t(a.dim);
      for (int i = 0; i < a.rotated / 2; ++i) {
        const float* angle =
            a.cos_sin + std::size_t(c) * std::size_t(a.rotated) + 2 * std::size_t(i);
        float& first = x[a.neox ? i : 2 * i];
        float& second = x[a.neox ? i + a.rotated / 2 : 2 * i + 1];
        const double p = first, q = second, cos = angle[0], sin = angle[1];
        first = float(p * cos - q * sin);
        second = float(p * sin + q * cos);
      }
    }
  return {};
}

}  // namespace veloce::ref

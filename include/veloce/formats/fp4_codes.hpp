// The 4-bit floats (E2M1) of MXFP4 and NVFP4, doubled so that all are integers; the scales are
// halved to match (specs/quants.md section 2).
#pragma once

#include <cmath>

#include "veloce/formats/block_bits.hpp"

namespace veloce {

inline constexpr std::int8_t kFp4Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                               0, -1, -2, -3, -4, -6, -8, -12};

namespace detail {

// The code whose value with this scale is nearest to x; the lowest of several, so never the
// negative zero.
inline int nearest_fp4(float x, float scale) {
  int best = 0;
  float distance = std::fabs(float(kFp4Values[0]) * scale - x);
  for (int c = 1; c < 16; ++c) {
    const float d = std::fabs(float(kFp4Values[c]) * scale - x);
    if (d < distance) {
      distance = d;
      best = c;
    }
  }
  return best;
}

}  // namespace detail
}  // namespace veloce

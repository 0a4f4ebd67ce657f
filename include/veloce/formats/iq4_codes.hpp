// The non-uniform 4-bit code table of IQ4_NL and IQ4_XS (specs/quants.md section 2) and the search
// that quantizes to it (section 9.3).
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

// Codes of one half of a 32-value group: low nibbles (high = 0) or high ones.
VELOCE_HD inline I8x16 iq4_codes16(const std::uint8_t* qs, int high) {
  I8x16 codes;
  for (int l = 0; l < 16; ++l) codes.v[l] = table_at<kIq4Values>((qs[l] >> (4 * high)) & 15);
  return codes;
}

namespace detail {

// Index of the table value nearest to x; the upper one on a tie; a NaN gives 0.
inline int nearest_iq4(float x) {
  int index = 0;
  while (index < 15 && x - float(kIq4Values[index]) >= float(kIq4Values[index + 1]) - x) ++index;
  return index;
}

// The scale for 32 values whose codes reach the best (sum w q x)^2 / (sum w q^2), w = x^2. 0 for a
// group of zeros.
inline float fit_iq4_scale(const float* x) {
  const float largest = largest_signed(x, 32);
  if (std::fabs(largest) < kGroupEpsilon) return 0.0f;
  float scale = 0.0f, best = 0.0f;
  const auto attempt = [&](float inverse, bool first) {
    float sqx = 0.0f, sq2 = 0.0f;
    for (int i = 0; i < 32; ++i) {
      const float q = float(kIq4Values[nearest_iq4(inverse * x[i])]), w = x[i] * x[i];
      sqx += w * q * x[i];
      sq2 += w * q * q;
    }
    if (!(sq2 > 0.0f && (first || sqx * sqx > best * sq2))) return;
    scale = sqx / sq2;
    best = scale * sqx;
  };
  attempt(1.0f / (-largest / float(kIq4Values[0])), true);
  for (int step = -7; step <= 7; ++step) {
    attempt((float(step) + float(kIq4Values[0])) / largest, false);
  }
  return scale;
}

}  // namespace detail
}  // namespace veloce

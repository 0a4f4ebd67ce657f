// The twelve bytes of scales and mins that Q4_K and Q5_K share: eight pairs of 6 bits
// (specs/quants.md section 4), and the quantization of the fitted floats into them.
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct KScaleMin {
  int scale;
  int min;
};

// The pair of sub-block s (0..7): the low four bits of pairs 4..7 share a byte, their high bits sit
// above pairs 0..3.
VELOCE_HD inline KScaleMin k_scale_min(const std::uint8_t* scales, int s) {
  if (s < 4) return {scales[s] & 63, scales[s + 4] & 63};
  return {(scales[s + 4] & 15) | (scales[s - 4] >> 6) << 4, (scales[s + 4] >> 4) | (scales[s] >> 6)
                                                                                       << 4};
}

inline void store_k_scale_min(std::uint8_t* scales, const KScaleMin (&pairs)[8]) {
  for (int s = 0; s < 4; ++s) {
    const KScaleMin low = pairs[s], high = pairs[s + 4];
    scales[s] = std::uint8_t(low.scale | (high.scale >> 4) << 6);
    scales[s + 4] = std::uint8_t(low.min | (high.min >> 4) << 6);
    scales[s + 8] = std::uint8_t((high.scale & 15) | (high.min & 15) << 4);
  }
}

namespace detail {

// A super-block of Groups sub-blocks as the fits see it: codes, integer scales and mins, and the
// two binary16 numbers that go with them.
template <int Groups, int Size>
struct MinSuperBlock {
  std::uint8_t code[Groups * Size];
  KScaleMin pairs[Groups];
  std::uint16_t d, dmin;
};

// Turns fitted floats into integers 0..max_scale, and requantizes every code with the numbers as
// stored.
template <int Groups, int Size>
void finish_min_super_block(const float* x, const ScaleMin* fit, int max_scale, int max_code,
                            MinSuperBlock<Groups, Size>* out) {
  float largest_scale = 0.0f, largest_min = 0.0f;
  for (int s = 0; s < Groups; ++s) {
    if (fit[s].scale > largest_scale) largest_scale = fit[s].scale;
    if (fit[s].min > largest_min) largest_min = fit[s].min;
  }
  const float limit = float(max_scale);
  const float to_scale = largest_scale > 0.0f ? limit / largest_scale : 0.0f;
  const float to_min = largest_min > 0.0f ? limit / largest_min : 0.0f;
  out->d = float_to_half(largest_scale / limit);
  out->dmin = float_to_half(largest_min / limit);
  const float d = half_to_float(out->d), dmin = half_to_float(out->dmin);
  for (int s = 0; s < Groups; ++s) {
    out->pairs[s] = {round_even_clamped(to_scale * fit[s].scale, 0, max_scale),
                     round_even_clamped(to_min * fit[s].min, 0, max_scale)};
    const float scale = d * float(out->pairs[s].scale), min = dmin * float(out->pairs[s].min);
    if (scale == 0.0f) continue;
    for (int i = s * Size; i < (s + 1) * Size; ++i) {
      out->code[i] = std::uint8_t(round_even_clamped((x[i] + min) / scale, 0, max_code));
    }
  }
}

// Q4_K and Q5_K: eight sub-blocks of 32, weights sqrt(mean square) + |x|.
inline void quantize_k_super_block(const float* x, int max_code, FitSteps steps,
                                   MinSuperBlock<8, 32>* out) {
  ScaleMin fit[8];
  float weight[32];
  for (int s = 0; s < 8; ++s) {
    const float* group = x + 32 * s;
    float squares = 0.0f;
    for (int i = 0; i < 32; ++i) squares += group[i] * group[i];
    const float rms = std::sqrt(squares / 32.0f);
    for (int i = 0; i < 32; ++i) weight[i] = rms + std::fabs(group[i]);
    fit[s] = fit_scale_min<32>(group, weight, max_code, steps, out->code + 32 * s);
  }
  finish_min_super_block(x, fit, 63, max_code, out);
}

}  // namespace detail
}  // namespace veloce

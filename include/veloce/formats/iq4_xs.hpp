// IQ4_XS: 256 values of 4 bits into the table of IQ4_NL, in 8 sub-blocks of 32 with a 6-bit scale
// each (specs/quants.md section 5).
//   value i = (d * (scale - 32)) * table[nibble i]
// Codes are table values.
#pragma once

#include "veloce/formats/iq4_codes.hpp"

namespace veloce {

struct IQ4_XS {
  static constexpr std::string_view kName = "IQ4_XS";
  static constexpr std::uint32_t kGgufType = 23;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 136;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -127, kMaxCode = 113;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t scales_h[2];
    std::uint8_t scales_l[4];
    std::uint8_t qs[128];
  };

  // The scale of sub-block s without its offset of 32: 0..63.
  VELOCE_HD static int scale6(const Block& b, int s) {
    return bits(b.scales_l[s >> 1], 4 * (s & 1), 4) |
           bits(load_le<std::uint16_t>(b.scales_h), 2 * s, 2) << 4;
  }

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int s = 0; s < 8; ++s) {
      const float scale = d * float(scale6(b, s) - 32);
      for (int t = 0; t < 16; ++t) {
        const std::uint8_t pair = b.qs[16 * s + t];
        out[32 * s + t] = scale * float(table_at<kIq4Values>(pair & 15));
        out[32 * s + t + 16] = scale * float(table_at<kIq4Values>(pair >> 4));
      }
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    return iq4_codes16(b.qs + 16 * (chunk >> 1), chunk & 1);
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    return {load_half(b.d) * float(scale6(b, chunk >> 1) - 32), 0.0f};
  }

  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }

  // Section 9.3; codes are requantized with the scales before d is rounded to binary16.
  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) quantize_block(in + k * kValues, out + k);
  }

 private:
  static void quantize_block(const float* x, Block* out) {
    float fitted[8];
    for (int s = 0; s < 8; ++s) fitted[s] = detail::fit_iq4_scale(x + 32 * s);
    *out = Block{};
    const float d = -detail::largest_signed(fitted, 8) / 32.0f;
    const float inverse = detail::inverse_or_zero(d);
    store_half(out->d, d);
    std::uint32_t high = 0;
    for (int s = 0; s < 8; ++s) {
      const int scale = detail::round_even_clamped(inverse * fitted[s], -32, 31);
      const float group_inverse = detail::inverse_or_zero(d * float(scale));
      const int stored = scale + 32;
      out->scales_l[s >> 1] = std::uint8_t(out->scales_l[s >> 1] | (stored & 15) << (4 * (s & 1)));
      high |= std::uint32_t(stored >> 4) << (2 * s);
      for (int t = 0; t < 16; ++t) {
        const float* group = x + 32 * s;
        out->qs[16 * s + t] = std::uint8_t(detail::nearest_iq4(group[t] * group_inverse) |
                                           detail::nearest_iq4(group[t + 16] * group_inverse) << 4);
      }
    }
    store_le(out->scales_h, std::uint16_t(high));
  }
};

}  // namespace veloce

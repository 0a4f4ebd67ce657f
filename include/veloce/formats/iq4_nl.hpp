// IQ4_NL: 32 values of 4 bits into a fixed table, one scale (specs/quants.md section 3).
// value i = d * table[nibble i]; nibbles 0..15 are the low halves of qs, 16..31 the high ones.
// Codes are table values.
#pragma once

#include "veloce/formats/iq4_codes.hpp"

namespace veloce {

struct IQ4_NL {
  static constexpr std::string_view kName = "IQ4_NL";
  static constexpr std::uint32_t kGgufType = 20;
  static constexpr int kValues = 32;
  static constexpr std::size_t kBytes = 18;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -127, kMaxCode = 113;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t qs[16];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int i = 0; i < 16; ++i) {
      out[i] = d * float(table_at<kIq4Values>(b.qs[i] & 15));
      out[i + 16] = d * float(table_at<kIq4Values>(b.qs[i] >> 4));
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) { return iq4_codes16(b.qs, chunk); }
  VELOCE_HD static Affine affine(const Block& b, int) { return {load_half(b.d), 0.0f}; }
  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }

  // Section 9.3; the codes are those nearest with the scale before it is rounded to binary16.
  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      const float* x = in + k * kValues;
      const float d = detail::fit_iq4_scale(x);
      const float inverse = detail::inverse_or_zero(d);
      store_half(out[k].d, d);
      for (int i = 0; i < 16; ++i) {
        out[k].qs[i] = std::uint8_t(detail::nearest_iq4(x[i] * inverse) |
                                    detail::nearest_iq4(x[i + 16] * inverse) << 4);
      }
    }
  }
};

}  // namespace veloce

// MXFP4: 32 four-bit floats and a power-of-two scale (specs/quants.md section 3).
// value i = table[nibble i] * 2^(e - 128); nibbles 0..15 are the low halves of qs, 16..31 the high
// ones. Codes are the doubled table values.
#pragma once

#include "veloce/formats/fp4_codes.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct MXFP4 {
  static constexpr std::string_view kName = "MXFP4";
  static constexpr std::uint32_t kGgufType = 39;
  static constexpr int kValues = 32;
  static constexpr std::size_t kBytes = 17;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -12, kMaxCode = 12;

  struct Block {
    std::uint8_t e;
    std::uint8_t qs[16];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = e8m0_half_to_float(b.e);
    for (int i = 0; i < 16; ++i) {
      out[i] = float(table_at<kFp4Values>(b.qs[i] & 15)) * d;
      out[i + 16] = float(table_at<kFp4Values>(b.qs[i] >> 4)) * d;
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    I8x16 codes;
    for (int l = 0; l < 16; ++l) codes.v[l] = table_at<kFp4Values>((b.qs[l] >> (4 * chunk)) & 15);
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int) { return {e8m0_half_to_float(b.e), 0.0f}; }

  // The scale 255 is a NaN in the standard of the format.
  VELOCE_HD static bool valid(const Block& b) { return b.e != 255; }

  // Section 9.1. The scale is kept within 0..254, so that a block below 2^-125 becomes (nearly)
  // zero where the wrapped exponent of the formula would make it huge.
  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      const float* x = in + k * kValues;
      const float largest = detail::largest_magnitude(x, kValues);
      const float exponent = std::floor(std::log2(largest)) - 2.0f + 127.0f;
      out[k].e = std::uint8_t(largest > 0.0f ? detail::trunc_clamped(exponent, 0, 254) : 0);
      const float d = e8m0_half_to_float(out[k].e);
      for (int i = 0; i < 16; ++i) {
        out[k].qs[i] =
            std::uint8_t(detail::nearest_fp4(x[i], d) | detail::nearest_fp4(x[i + 16], d) << 4);
      }
    }
  }
};

}  // namespace veloce

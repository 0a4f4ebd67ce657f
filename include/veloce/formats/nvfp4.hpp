// NVFP4: 64 four-bit floats in 4 sub-blocks of 16, each with an 8-bit float scale
// (specs/quants.md section 3).
//   value = table[code] * (scale / 2)
// Sub-block s has its codes in qs[8 s .. 8 s + 7], low nibbles first. Codes are the doubled table
// values. The factors <name>.scale and <name>.input_scale that a model may carry apply to the
// product, not to the block, and are the model's business.
#pragma once

#include "veloce/formats/fp4_codes.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct NVFP4 {
  static constexpr std::string_view kName = "NVFP4";
  static constexpr std::uint32_t kGgufType = 40;
  static constexpr int kValues = 64;
  static constexpr std::size_t kBytes = 36;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 16, kMinCode = -12, kMaxCode = 12;

  struct Block {
    std::uint8_t d[4];
    std::uint8_t qs[32];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    for (int s = 0; s < 4; ++s) {
      const float d = ue4m3_half_to_float(b.d[s]);
      for (int j = 0; j < 8; ++j) {
        out[16 * s + j] = float(table_at<kFp4Values>(b.qs[8 * s + j] & 15)) * d;
        out[16 * s + j + 8] = float(table_at<kFp4Values>(b.qs[8 * s + j] >> 4)) * d;
      }
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    I8x16 codes;
    for (int j = 0; j < 8; ++j) {
      codes.v[j] = table_at<kFp4Values>(b.qs[8 * chunk + j] & 15);
      codes.v[j + 8] = table_at<kFp4Values>(b.qs[8 * chunk + j] >> 4);
    }
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    return {ue4m3_half_to_float(b.d[chunk]), 0.0f};
  }

  // Every byte of a block has a meaning.
  VELOCE_HD static bool valid(const Block&) { return true; }

  // The 8-bit float nearest to x; 0 for a NaN or x <= 0, the largest (448) from 256 on and near it.
  static std::uint8_t float_to_ue4m3(float x) {
    if (!(x > 0.0f)) return 0;
    const std::uint32_t u = std::bit_cast<std::uint32_t>(x > 448.0f ? 448.0f : x);
    int exponent = int(u >> 23) - 127 + 7;
    if (exponent <= 0) return std::uint8_t(detail::trunc_clamped(x * 512.0f + 0.5f, 0, 7));
    int mantissa = bits(u, 20, 3) + bits(u, 19, 1);
    if (mantissa > 7) {
      mantissa = 0;
      ++exponent;
    }
    return std::uint8_t(exponent >= 15 ? 0x7E : exponent << 3 | mantissa);
  }

  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      for (int s = 0; s < 4; ++s) {
        const float* x = in + k * kValues + 16 * s;
        out[k].d[s] = float_to_ue4m3(detail::largest_magnitude(x, 16) / 6.0f);
        const float d = ue4m3_half_to_float(out[k].d[s]);
        for (int j = 0; j < 8; ++j) {
          out[k].qs[8 * s + j] =
              std::uint8_t(detail::nearest_fp4(x[j], d) | detail::nearest_fp4(x[j + 8], d) << 4);
        }
      }
    }
  }
};

}  // namespace veloce

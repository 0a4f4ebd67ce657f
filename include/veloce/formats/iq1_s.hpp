// IQ1_S: 256 values in sub-groups of 8, each an 11-bit codebook index (8 bits in qs, 3 in qh); for
// every 32 values a 3-bit scale and the sign of the shift (specs/quants.md section 5).
//   value = (d * (2 * scale + 1)) * (t +- 0.125)
// Codes are 8 t +- 1 with the scale divided by 8, which is exact (iq1_codes.hpp).
#pragma once

#include "veloce/formats/iq1_codes.hpp"

namespace veloce {

struct IQ1_S {
  static constexpr std::string_view kName = "IQ1_S";
  static constexpr std::uint32_t kGgufType = 19;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 50;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -9, kMaxCode = 9;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t qs[32];
    std::uint8_t qh[8]
                   [2];  // bits 3l..3l+2: index bits of sub-group l; 12..14: scale; 15: shift is -
  };

  VELOCE_HD static float group_scale(const Block& b, int group) {
    return load_half(b.d) * float(2 * bits(load_le<std::uint16_t>(b.qh[group]), 12, 3) + 1);
  }

  VELOCE_HD static void decode(const Block& b, float* out) {
    for (int sub = 0; sub < 32; ++sub) {
      const std::uint32_t h = load_le<std::uint16_t>(b.qh[sub / 4]);
      const std::uint32_t entry = table_at<kIq1Grid>(b.qs[sub] | bits(h, 3 * (sub % 4), 3) << 8);
      const float scale = group_scale(b, sub / 4), delta = (h >> 15) ? -0.125f : 0.125f;
      for (int j = 0; j < 8; ++j) {
        out[8 * sub + j] = scale * (float(iq1_digit(entry, j) - 1) + delta);
      }
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const std::uint32_t h = load_le<std::uint16_t>(b.qh[chunk >> 1]);
    I8x16 codes;
    for (int k = 0; k < 2; ++k) {
      const int sub = 2 * chunk + k;
      const int index = b.qs[sub] | bits(h, 3 * (sub & 3), 3) << 8;
      iq1_codes(table_at<kIq1Grid>(index), int(h >> 15), codes.v + 8 * k);
    }
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    return {group_scale(b, chunk >> 1) * 0.125f, 0.0f};
  }

  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }
};

}  // namespace veloce

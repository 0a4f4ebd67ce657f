// IQ1_M: 256 values in sub-groups of 8, each an 11-bit codebook index (8 bits in qs, 3 in a nibble
// of qh) and the sign of its shift; a 3-bit scale for every 16 values. The block's binary16 scale
// is spread over the top nibbles of the four scale words (specs/quants.md section 5).
//   value = (d * (2 * scale + 1)) * (t +- 0.125)
// Codes are 8 t +- 1 with the scale divided by 8, which is exact (iq1_codes.hpp).
#pragma once

#include "veloce/formats/iq1_codes.hpp"

namespace veloce {

struct IQ1_M {
  static constexpr std::string_view kName = "IQ1_M";
  static constexpr std::uint32_t kGgufType = 29;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 56;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 16, kMinCode = -9, kMaxCode = 9;

  struct Block {
    std::uint8_t qs[32];
    std::uint8_t qh[16];        // a nibble per sub-group: 3 index bits, then 1 if the shift is -
    std::uint8_t scales[4][2];  // four 3-bit scales, then a nibble of d
  };

  VELOCE_HD static std::uint16_t d_bits(const Block& b) {
    std::uint32_t d = 0;
    for (int k = 0; k < 4; ++k) d |= std::uint32_t(b.scales[k][1] >> 4) << (4 * k);
    return std::uint16_t(d);
  }

  // The scale of 16 values.
  VELOCE_HD static float group_scale(const Block& b, int group) {
    const std::uint32_t word = load_le<std::uint16_t>(b.scales[group >> 2]);
    return half_to_float(d_bits(b)) * float(2 * bits(word, 3 * (group & 3), 3) + 1);
  }

  VELOCE_HD static void decode(const Block& b, float* out) {
    for (int sub = 0; sub < 32; ++sub) {
      const int nibble = bits(b.qh[sub / 2], 4 * (sub % 2), 4);
      const std::uint32_t entry = table_at<kIq1Grid>(b.qs[sub] | (nibble & 7) << 8);
      const float scale = group_scale(b, sub / 2), delta = (nibble & 8) ? -0.125f : 0.125f;
      for (int j = 0; j < 8; ++j) {
        out[8 * sub + j] = scale * (float(iq1_digit(entry, j) - 1) + delta);
      }
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    I8x16 codes;
    for (int k = 0; k < 2; ++k) {
      const int nibble = (b.qh[chunk] >> (4 * k)) & 15;
      const int index = b.qs[2 * chunk + k] | (nibble & 7) << 8;
      iq1_codes(table_at<kIq1Grid>(index), nibble >> 3, codes.v + 8 * k);
    }
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    return {group_scale(b, chunk) * 0.125f, 0.0f};
  }

  VELOCE_HD static bool valid(const Block& b) { return finite_half(d_bits(b)); }
};

}  // namespace veloce

// IQ2_XS: 256 values in sub-groups of 8, each a 16-bit word of a 9-bit codebook index and a 7-bit
// sign index; a 4-bit scale for every 16 values (specs/quants.md section 5).
//   value = (d * (0.5 + scale)) * 0.25 * (+-magnitude)
// Codes are the signed magnitudes: +-8, +-25, +-43.
#pragma once

#include "veloce/formats/iq_codes.hpp"
#include "veloce/formats/tables/iq2xs_grid.hpp"

namespace veloce {

struct IQ2_XS {
  static constexpr std::string_view kName = "IQ2_XS";
  static constexpr std::uint32_t kGgufType = 17;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 74;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 16, kMinCode = -43, kMaxCode = 43;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t qs[32][2];
    std::uint8_t scales[8];  // low nibble: first 16 of 32 values
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int sub = 0; sub < 32; ++sub) {
      const std::uint32_t word = load_le<std::uint16_t>(b.qs[sub]);
      const float scale = float(bits(b.scales[sub / 4], sub % 4 < 2 ? 0 : 4, 4));
      signed_values<8>((d * (0.5f + scale)) * 0.25f, table_at<kIq2XsGrid>(word & 511),
                       sign_mask(word >> 9), out + 8 * sub);
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    I8x16 codes;
    for (int k = 0; k < 2; ++k) {
      const std::uint32_t word = load_le<std::uint16_t>(b.qs[2 * chunk + k]);
      signed_codes<8>(table_at<kIq2XsGrid>(word & 511), sign_mask(word >> 9), codes.v + 8 * k);
    }
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    const int scale = (b.scales[chunk >> 1] >> (4 * (chunk & 1))) & 15;
    return {(load_half(b.d) * (0.5f + float(scale))) * 0.25f, 0.0f};
  }

  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }
};

}  // namespace veloce

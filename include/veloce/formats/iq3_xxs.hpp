// IQ3_XXS: 256 values in quadruples, each a byte of codebook index; a word for every 32 values with
// four sign indices and a 4-bit scale (specs/quants.md section 5).
//   value = (d * (0.5 + scale)) * 0.5 * (+-magnitude)
// Codes are the signed magnitudes, up to 62.
#pragma once

#include "veloce/formats/iq_codes.hpp"
#include "veloce/formats/tables/iq3xxs_grid.hpp"

namespace veloce {

struct IQ3_XXS {
  static constexpr std::string_view kName = "IQ3_XXS";
  static constexpr std::uint32_t kGgufType = 18;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 98;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -62, kMaxCode = 62;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t qs[64];
    std::uint8_t signs_scale[8][4];  // bits 7l..7l+6: sign index of 8 values; bits 28..31: scale
  };

  VELOCE_HD static float group_scale(const Block& b, int group) {
    const std::uint32_t word = load_le<std::uint32_t>(b.signs_scale[group]);
    return (load_half(b.d) * (0.5f + float(word >> 28))) * 0.5f;
  }

  VELOCE_HD static void decode(const Block& b, float* out) {
    for (int quad = 0; quad < 64; ++quad) {
      const int group = quad / 8;
      const std::uint32_t word = load_le<std::uint32_t>(b.signs_scale[group]);
      const std::uint32_t mask = sign_mask_of(word, quad % 8 / 2) >> (quad % 2 * 4);
      signed_values<4>(group_scale(b, group), table_at<kIq3XxsGrid>(b.qs[quad]), mask,
                       out + 4 * quad);
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const std::uint32_t word = load_le<std::uint32_t>(b.signs_scale[chunk >> 1]);
    I8x16 codes;
    for (int k = 0; k < 4; ++k) {
      const std::uint32_t mask = sign_mask_of(word, 2 * (chunk & 1) + (k >> 1)) >> (4 * (k & 1));
      signed_codes<4>(table_at<kIq3XxsGrid>(b.qs[4 * chunk + k]), mask, codes.v + 4 * k);
    }
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    return {group_scale(b, chunk >> 1), 0.0f};
  }

  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }
};

}  // namespace veloce

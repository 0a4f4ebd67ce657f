// IQ3_XXS: 256 values in quadruples, each a byte of codebook index; a word for every 32 values with
// four sign indices and a 4-bit scale (specs/quants.md section 5). value = (d * (0.5 + scale)) *
// 0.5 * (+-magnitude). Codes are the signed magnitudes, up to 62.
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
    for (int i = 0; i < 256; ++i) {
      const std::uint32_t word = load_le<std::uint32_t>(b.signs_scale[i / 32]);
      out[i] = signed_value(group_scale(b, i / 32), table_at<kIq3XxsGrid>(b.qs[i / 4]),
                            sign_mask_of(word, i % 32 / 8), i % 4, i % 8);
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

// IQ2_XXS: 256 values in 8 groups of 32; a group is four bytes of codebook indices and a word with
// four sign indices and a 4-bit scale (specs/quants.md section 5).
//   value = (d * (0.5 + scale)) * 0.25 * (+-magnitude)
// Codes are the signed magnitudes: +-8, +-25, +-43.
#pragma once

#include "veloce/formats/iq_codes.hpp"
#include "veloce/formats/tables/iq2xxs_grid.hpp"

namespace veloce {

struct IQ2_XXS {
  static constexpr std::string_view kName = "IQ2_XXS";
  static constexpr std::uint32_t kGgufType = 16;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 66;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -43, kMaxCode = 43;

  struct Group {
    std::uint8_t index[4];
    std::uint8_t signs_scale[4];  // bits 7l..7l+6: sign index of sub-group l; bits 28..31: scale
  };
  struct Block {
    std::uint8_t d[2];
    Group groups[8];
  };

  VELOCE_HD static float group_scale(const Block& b, int group) {
    const std::uint32_t word = load_le<std::uint32_t>(b.groups[group].signs_scale);
    return (load_half(b.d) * (0.5f + float(word >> 28))) * 0.25f;
  }

  VELOCE_HD static void decode(const Block& b, float* out) {
    for (int sub = 0; sub < 32; ++sub) {
      const Group& group = b.groups[sub / 4];
      const std::uint32_t mask = sign_mask_of(load_le<std::uint32_t>(group.signs_scale), sub % 4);
      signed_values<8>(group_scale(b, sub / 4), table_at<kIq2XxsGrid>(group.index[sub % 4]), mask,
                       out + 8 * sub);
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const Group& group = b.groups[chunk >> 1];
    const std::uint32_t word = load_le<std::uint32_t>(group.signs_scale);
    I8x16 codes;
    for (int k = 0; k < 2; ++k) {
      const int l = 2 * (chunk & 1) + k;
      signed_codes<8>(table_at<kIq2XxsGrid>(group.index[l]), sign_mask_of(word, l),
                      codes.v + 8 * k);
    }
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    return {group_scale(b, chunk >> 1), 0.0f};
  }

  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }
};

}  // namespace veloce

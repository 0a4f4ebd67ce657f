// IQ3_S: 256 values in quadruples, each a 9-bit codebook index (8 bits in qs, 1 in qh); a sign bit
// for every value, a 4-bit scale for every 32 (specs/quants.md section 5).
//   value = (d * (1 + 2 * scale)) * (+-magnitude)
// Codes are the signed magnitudes: odd, up to 15.
#pragma once

#include "veloce/formats/iq_codes.hpp"
#include "veloce/formats/tables/iq3s_grid.hpp"

namespace veloce {

struct IQ3_S {
  static constexpr std::string_view kName = "IQ3_S";
  static constexpr std::uint32_t kGgufType = 21;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 110;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -15, kMaxCode = 15;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t qs[64];
    std::uint8_t qh[8];
    std::uint8_t signs[32];
    std::uint8_t scales[4];
  };

  VELOCE_HD static float group_scale(const Block& b, int group) {
    const int scale = (b.scales[group >> 1] >> (4 * (group & 1))) & 15;
    return load_half(b.d) * float(1 + 2 * scale);
  }

  VELOCE_HD static void decode(const Block& b, float* out) {
    for (int quad = 0; quad < 64; ++quad) {
      const int index = b.qs[quad] | bits(b.qh[quad / 8], quad % 8, 1) << 8;
      const std::uint32_t mask = std::uint32_t(b.signs[quad / 2]) >> (quad % 2 * 4);
      signed_values<4>(group_scale(b, quad / 8), table_at<kIq3SGrid>(index), mask, out + 4 * quad);
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const int high = b.qh[chunk >> 1] >> (4 * (chunk & 1));
    I8x16 codes;
    for (int k = 0; k < 4; ++k) {
      const int index = b.qs[4 * chunk + k] | ((high >> k) & 1) << 8;
      const std::uint32_t mask = std::uint32_t(b.signs[2 * chunk + (k >> 1)]) >> (4 * (k & 1));
      signed_codes<4>(table_at<kIq3SGrid>(index), mask, codes.v + 4 * k);
    }
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    return {group_scale(b, chunk >> 1), 0.0f};
  }

  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }
};

}  // namespace veloce

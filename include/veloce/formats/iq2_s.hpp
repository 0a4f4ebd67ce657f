// IQ2_S: 256 values in sub-groups of 8, each a 10-bit codebook index (8 bits in qs, 2 in qh) and a
// full byte of signs; a 4-bit scale for every 16 values (specs/quants.md section 5).
//   value = (d * (0.5 + scale)) * 0.25 * (+-magnitude)
// Codes are the signed magnitudes: +-8, +-25, +-43.
#pragma once

#include "veloce/formats/iq_codes.hpp"
#include "veloce/formats/tables/iq2s_grid.hpp"

namespace veloce {

struct IQ2_S {
  static constexpr std::string_view kName = "IQ2_S";
  static constexpr std::uint32_t kGgufType = 22;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 82;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 16, kMinCode = -43, kMaxCode = 43;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t qs[32];
    std::uint8_t signs[32];
    std::uint8_t qh[8];
    std::uint8_t scales[8];  // low nibble: first 16 of 32 values
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int sub = 0; sub < 32; ++sub) {
      const int index = b.qs[sub] | bits(b.qh[sub / 4], 2 * (sub % 4), 2) << 8;
      const float scale = float(bits(b.scales[sub / 4], sub % 4 < 2 ? 0 : 4, 4));
      signed_values<8>((d * (0.5f + scale)) * 0.25f, table_at<kIq2SGrid>(index), b.signs[sub],
                       out + 8 * sub);
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    I8x16 codes;
    for (int k = 0; k < 2; ++k) {
      const int sub = 2 * chunk + k;
      const int index = b.qs[sub] | ((b.qh[sub >> 2] >> (2 * (sub & 3))) & 3) << 8;
      signed_codes<8>(table_at<kIq2SGrid>(index), b.signs[sub], codes.v + 8 * k);
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

// Q4_K: 256 values of 4 bits in 8 sub-blocks of 32, each with a 6-bit scale and a 6-bit min
// (specs/quants.md section 4).
//   value i = (d * scale) * q - dmin * min
// Of every 64 values the first 32 are low nibbles, the rest the high ones of the same 32 bytes.
#pragma once

#include "veloce/formats/k_scales.hpp"

namespace veloce {

struct Q4_K {
  static constexpr std::string_view kName = "Q4_K";
  static constexpr std::uint32_t kGgufType = 12;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 144;
  static constexpr bool kHasMin = true, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = 0, kMaxCode = 15;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t dmin[2];
    std::uint8_t scales[12];  // see k_scale_min
    std::uint8_t qs[128];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d), dmin = load_half(b.dmin);
    for (int s = 0; s < 8; ++s) {
      const KScaleMin pair = k_scale_min(b.scales, s);
      const float scale = d * float(pair.scale), min = dmin * float(pair.min);
      const std::uint8_t* qs = b.qs + 32 * (s / 2);
      for (int l = 0; l < 32; ++l) {
        out[32 * s + l] = scale * float((qs[l] >> (4 * (s & 1))) & 15) - min;
      }
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    return nibbles16(b.qs + 32 * (chunk >> 2) + 16 * (chunk & 1), (chunk >> 1) & 1);
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    const KScaleMin pair = k_scale_min(b.scales, chunk >> 1);
    return {load_half(b.d) * float(pair.scale), load_half(b.dmin) * float(pair.min)};
  }

  VELOCE_HD static bool valid(const Block& b) {
    return finite_half_at(b.d) && finite_half_at(b.dmin);
  }

  // Section 9.2, without an importance matrix.
  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      detail::MinSuperBlock<8, 32> sb;
      detail::quantize_k_super_block(in + k * kValues, 15, {-1.0f, 0.1f, 20, false}, &sb);
      store_le(out[k].d, sb.d);
      store_le(out[k].dmin, sb.dmin);
      store_k_scale_min(out[k].scales, sb.pairs);
      for (int i = 0; i < 128; ++i) {
        const int low = 64 * (i / 32) + i % 32;
        out[k].qs[i] = std::uint8_t(sb.code[low] | sb.code[low + 32] << 4);
      }
    }
  }
};

}  // namespace veloce

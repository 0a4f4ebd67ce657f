// Q5_K: Q4_K with a fifth bit (specs/quants.md section 4).
//   value i = (d * scale) * q - dmin * min
// Bit i / 32 of qh[i % 32] is bit 4 of code i.
#pragma once

#include "veloce/formats/k_scales.hpp"

namespace veloce {

struct Q5_K {
  static constexpr std::string_view kName = "Q5_K";
  static constexpr std::uint32_t kGgufType = 13;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 176;
  static constexpr bool kHasMin = true, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = 0, kMaxCode = 31;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t dmin[2];
    std::uint8_t scales[12];  // see k_scale_min
    std::uint8_t qh[32];
    std::uint8_t qs[128];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d), dmin = load_half(b.dmin);
    for (int s = 0; s < 8; ++s) {
      const KScaleMin pair = k_scale_min(b.scales, s);
      const float scale = d * float(pair.scale), min = dmin * float(pair.min);
      const std::uint8_t* qs = b.qs + 32 * (s / 2);
      for (int l = 0; l < 32; ++l) {
        const int q = ((qs[l] >> (4 * (s & 1))) & 15) + 16 * ((b.qh[l] >> s) & 1);
        out[32 * s + l] = scale * float(q) - min;
      }
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const int half = 16 * (chunk & 1), s = chunk >> 1;
    I8x16 codes = nibbles16(b.qs + 32 * (s >> 1) + half, s & 1);
    for (int l = 0; l < 16; ++l) {
      codes.v[l] = std::int8_t(codes.v[l] | ((b.qh[half + l] >> s) & 1) << 4);
    }
    return codes;
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
      detail::quantize_k_super_block(in + k * kValues, 31, {-0.5f, 0.1f, 15, false}, &sb);
      out[k] = Block{};
      store_le(out[k].d, sb.d);
      store_le(out[k].dmin, sb.dmin);
      store_k_scale_min(out[k].scales, sb.pairs);
      for (int i = 0; i < 256; ++i) {
        std::uint8_t& low = out[k].qs[32 * (i / 64) + i % 32];
        std::uint8_t& high = out[k].qh[i % 32];
        low = std::uint8_t(low | (sb.code[i] & 15) << (4 * (i / 32 % 2)));
        high = std::uint8_t(high | (sb.code[i] >> 4) << (i / 32));
      }
    }
  }
};

}  // namespace veloce

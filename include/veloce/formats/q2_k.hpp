// Q2_K: 256 values of 2 bits in 16 sub-blocks of 16, each with a 4-bit scale and a 4-bit min
// (specs/quants.md section 4).
//   value i = (d * scale) * q - dmin * min
// Code i lies in byte 32 * (i / 128) + i % 32 at bit 2 * (i % 128 / 32).
#pragma once

#include "veloce/formats/k_scales.hpp"

namespace veloce {

struct Q2_K {
  static constexpr std::string_view kName = "Q2_K";
  static constexpr std::uint32_t kGgufType = 10;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 84;
  static constexpr bool kHasMin = true, kExactAffine = true;
  static constexpr int kScaleGroup = 16, kMinCode = 0, kMaxCode = 3;

  struct Block {
    std::uint8_t scales[16];  // scale in the low nibble, min in the high one
    std::uint8_t qs[64];
    std::uint8_t d[2];
    std::uint8_t dmin[2];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d), dmin = load_half(b.dmin);
    for (int s = 0; s < 16; ++s) {
      const float scale = d * float(b.scales[s] & 15), min = dmin * float(b.scales[s] >> 4);
      for (int i = 16 * s; i < 16 * s + 16; ++i) {
        const int q = bits(b.qs[32 * (i / 128) + i % 32], 2 * (i % 128 / 32), 2);
        out[i] = scale * float(q) - min;
      }
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const std::uint8_t* qs = b.qs + 32 * (chunk >> 3) + 16 * (chunk & 1);
    const int shift = 2 * ((chunk >> 1) & 3);
    I8x16 codes;
    for (int l = 0; l < 16; ++l) codes.v[l] = std::int8_t((qs[l] >> shift) & 3);
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    return {load_half(b.d) * float(b.scales[chunk] & 15),
            load_half(b.dmin) * float(b.scales[chunk] >> 4)};
  }

  VELOCE_HD static bool valid(const Block& b) {
    return finite_half_at(b.d) && finite_half_at(b.dmin);
  }

  // Section 9.2, without an importance matrix: weights |x|, absolute error.
  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      const float* x = in + k * kValues;
      detail::MinSuperBlock<16, 16> sb;
      detail::ScaleMin fit[16];
      float weight[16];
      for (int s = 0; s < 16; ++s) {
        for (int i = 0; i < 16; ++i) weight[i] = std::fabs(x[16 * s + i]);
        fit[s] = detail::fit_scale_min<16>(x + 16 * s, weight, 3, {-0.5f, 0.1f, 15, true},
                                           sb.code + 16 * s);
      }
      detail::finish_min_super_block(x, fit, 15, 3, &sb);
      pack(sb, out + k);
    }
  }

 private:
  static void pack(const detail::MinSuperBlock<16, 16>& sb, Block* out) {
    *out = Block{};
    store_le(out->d, sb.d);
    store_le(out->dmin, sb.dmin);
    for (int s = 0; s < 16; ++s) {
      out->scales[s] = std::uint8_t(sb.pairs[s].scale | sb.pairs[s].min << 4);
    }
    for (int i = 0; i < 256; ++i) {
      std::uint8_t& byte = out->qs[32 * (i / 128) + i % 32];
      byte = std::uint8_t(byte | sb.code[i] << (2 * (i % 128 / 32)));
    }
  }
};

}  // namespace veloce

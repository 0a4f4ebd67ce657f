// Q3_K: 256 values of 3 bits in 16 sub-blocks of 16, each with a 6-bit scale
// (specs/quants.md section 4).
//   value i = (d * (scale - 32)) * q
// q is the two low bits (order of Q2_K), minus 4 unless bit i / 32 of hmask[i % 32] is set.
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct Q3_K {
  static constexpr std::string_view kName = "Q3_K";
  static constexpr std::uint32_t kGgufType = 11;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 110;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 16, kMinCode = -4, kMaxCode = 3;

  struct Block {
    std::uint8_t hmask[32];
    std::uint8_t qs[64];
    std::uint8_t scales[12];
    std::uint8_t d[2];
  };

  // The scale of sub-block s without its offset of 32: 0..63.
  VELOCE_HD static int scale6(const Block& b, int s) {
    const int low = (b.scales[s & 7] >> (4 * (s >> 3))) & 15;
    return low | bits(b.scales[8 + (s & 3)], 2 * (s >> 2), 2) << 4;
  }

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int s = 0; s < 16; ++s) {
      const float scale = d * float(scale6(b, s) - 32);
      for (int i = 16 * s; i < 16 * s + 16; ++i) {
        const int low = bits(b.qs[32 * (i / 128) + i % 32], 2 * (i % 128 / 32), 2);
        out[i] = scale * float(low - (bits(b.hmask[i % 32], i / 32, 1) ? 0 : 4));
      }
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const std::uint8_t* qs = b.qs + 32 * (chunk >> 3) + 16 * (chunk & 1);
    const std::uint8_t* high = b.hmask + 16 * (chunk & 1);
    const int shift = 2 * ((chunk >> 1) & 3), high_shift = chunk >> 1;
    I8x16 codes;
    for (int l = 0; l < 16; ++l) {
      const int q = ((qs[l] >> shift) & 3) | ((high[l] >> high_shift) & 1) << 2;
      codes.v[l] = std::int8_t(q - 4);
    }
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    return {load_half(b.d) * float(scale6(b, chunk) - 32), 0.0f};
  }

  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }

  // Section 9.2, without an importance matrix.
  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) quantize_block(in + k * kValues, out + k);
  }

 private:
  // The scale of one sub-block and its codes 0..7, by coordinate descent from the rounded start:
  // each code in turn takes its optimum for the others as they are, if that raises (sum w x l)^2 /
  // (sum w l^2) with w = x^2.
  static float fit(const float* x, std::uint8_t* code) {
    const float largest = detail::largest_signed(x, 16);
    if (std::fabs(largest) < detail::kGroupEpsilon) {
      for (int i = 0; i < 16; ++i) code[i] = 0;
      return 0.0f;
    }
    const float inverse = -4.0f / largest;
    int l[16];
    float sxl = 0.0f, sl2 = 0.0f;
    for (int i = 0; i < 16; ++i) {
      l[i] = detail::round_even_clamped(inverse * x[i], -4, 3);
      const float w = x[i] * x[i];
      sxl += w * x[i] * float(l[i]);
      sl2 += w * float(l[i]) * float(l[i]);
    }
    for (int pass = 0; pass < 5; ++pass) {
      bool changed = false;
      for (int i = 0; i < 16; ++i) {
        const float w = x[i] * x[i];
        float rest_xl = sxl - w * x[i] * float(l[i]);
        if (!(rest_xl > 0.0f)) continue;
        float rest_l2 = sl2 - w * float(l[i]) * float(l[i]);
        const int trial = detail::round_even_clamped(x[i] * rest_l2 / rest_xl, -4, 3);
        if (trial == l[i]) continue;
        rest_xl += w * x[i] * float(trial);
        rest_l2 += w * float(trial) * float(trial);
        if (rest_l2 > 0.0f && rest_xl * rest_xl * sl2 > sxl * sxl * rest_l2) {
          l[i] = trial;
          sxl = rest_xl;
          sl2 = rest_l2;
          changed = true;
        }
      }
      if (!changed) break;
    }
    for (int i = 0; i < 16; ++i) code[i] = std::uint8_t(l[i] + 4);
    return sl2 > 0.0f ? sxl / sl2 : 0.0f;
  }

  static void quantize_block(const float* x, Block* out) {
    std::uint8_t code[256];
    float scale[16];
    for (int s = 0; s < 16; ++s) scale[s] = fit(x + 16 * s, code + 16 * s);
    *out = Block{};
    const float largest = detail::largest_signed(scale, 16);
    if (largest != 0.0f) {
      const float inverse = -32.0f / largest;
      store_half(out->d, 1.0f / inverse);
      for (int s = 0; s < 16; ++s) {
        const int v = detail::round_even_clamped(inverse * scale[s], -32, 31) + 32;
        std::uint8_t& low = out->scales[s & 7];
        std::uint8_t& high = out->scales[8 + (s & 3)];
        low = std::uint8_t(low | (v & 15) << (4 * (s >> 3)));
        high = std::uint8_t(high | (v >> 4) << (2 * (s >> 2)));
      }
    }
    for (int s = 0; s < 16; ++s) {
      const float group_scale = affine(*out, s).scale;
      if (group_scale == 0.0f) continue;
      for (int i = 16 * s; i < 16 * s + 16; ++i) {
        code[i] = std::uint8_t(detail::round_even_clamped(x[i] / group_scale, -4, 3) + 4);
      }
    }
    for (int i = 0; i < 256; ++i) {
      std::uint8_t& low = out->qs[32 * (i / 128) + i % 32];
      std::uint8_t& high = out->hmask[i % 32];
      low = std::uint8_t(low | (code[i] & 3) << (2 * (i % 128 / 32)));
      high = std::uint8_t(high | (code[i] >> 2) << (i / 32));
    }
  }
};

}  // namespace veloce

// Q6_K: 256 values of 6 bits in 16 sub-blocks of 16, each with a signed 8-bit scale
// (specs/quants.md section 4).
//   value i = (d * scale) * (q - 32)
// With half h = i / 128 and quarter g = i % 128 / 32 the low four bits are a nibble of
// ql[64 h + 32 (g & 1) + i % 32], the low one for g < 2; the high two are bits 2 g and 2 g + 1 of
// qh[32 h + i % 32].
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct Q6_K {
  static constexpr std::string_view kName = "Q6_K";
  static constexpr std::uint32_t kGgufType = 14;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 210;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 16, kMinCode = -32, kMaxCode = 31;

  struct Block {
    std::uint8_t ql[128];
    std::uint8_t qh[64];
    std::int8_t scales[16];
    std::uint8_t d[2];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int s = 0; s < 16; ++s) {
      const float scale = d * float(b.scales[s]);
      const int h = s / 8, g = s % 8 / 2;
      for (int i = 16 * s; i < 16 * s + 16; ++i) {
        const int low = bits(b.ql[64 * h + 32 * (g & 1) + i % 32], 4 * (g / 2), 4);
        const int q = (low | bits(b.qh[32 * h + i % 32], 2 * g, 2) << 4) - 32;
        out[i] = scale * float(q);
      }
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const int h = chunk >> 3, g = (chunk >> 1) & 3, half = 16 * (chunk & 1);
    const std::uint8_t* high = b.qh + 32 * h + half;
    I8x16 codes = nibbles16(b.ql + 64 * h + 32 * (g & 1) + half, g >> 1, -32);
    for (int l = 0; l < 16; ++l) {
      codes.v[l] = std::int8_t(codes.v[l] + (((high[l] >> (2 * g)) & 3) << 4));
    }
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int chunk) {
    return {load_half(b.d) * float(b.scales[chunk]), 0.0f};
  }

  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }

  // Section 9.2, without an importance matrix.
  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) quantize_block(in + k * kValues, out + k);
  }

 private:
  // The best of 19 starting scales for one sub-block, by (sum w x l)^2 / (sum w l^2) with w = x^2;
  // codes 0..63.
  static float fit(const float* x, std::uint8_t* code) {
    const float largest = detail::largest_signed(x, 16);
    if (std::fabs(largest) < detail::kGroupEpsilon) {
      for (int i = 0; i < 16; ++i) code[i] = 0;
      return 0.0f;
    }
    float scale = 0.0f, best = 0.0f;
    const auto attempt = [&](float inverse) {
      int l[16];
      float sxl = 0.0f, sl2 = 0.0f;
      for (int i = 0; i < 16; ++i) {
        l[i] = detail::round_even_clamped(inverse * x[i], -32, 31);
        const float w = x[i] * x[i];
        sxl += w * x[i] * float(l[i]);
        sl2 += w * float(l[i]) * float(l[i]);
      }
      if (!(sl2 > 0.0f && sxl * sxl > best * sl2)) return;
      scale = sxl / sl2;
      best = scale * sxl;
      for (int i = 0; i < 16; ++i) code[i] = std::uint8_t(l[i] + 32);
    };
    for (int i = 0; i < 16; ++i) code[i] = 32;
    attempt(-32.0f / largest);
    for (int step = -9; step <= 9; ++step) {
      if (step != 0) attempt(-(32.0f + 0.1f * float(step)) / largest);
    }
    return scale;
  }

  static void quantize_block(const float* x, Block* out) {
    std::uint8_t code[256];
    float scale[16];
    for (int s = 0; s < 16; ++s) scale[s] = fit(x + 16 * s, code + 16 * s);
    *out = Block{};
    const float largest = detail::largest_signed(scale, 16);
    if (std::fabs(largest) < detail::kGroupEpsilon) return;
    const float inverse = -128.0f / largest;
    store_half(out->d, 1.0f / inverse);
    for (int s = 0; s < 16; ++s) {
      out->scales[s] = std::int8_t(detail::round_even_clamped(inverse * scale[s], -128, 127));
      const float group_scale = affine(*out, s).scale;
      if (group_scale == 0.0f) continue;
      for (int i = 16 * s; i < 16 * s + 16; ++i) {
        code[i] = std::uint8_t(detail::round_even_clamped(x[i] / group_scale, -32, 31) + 32);
      }
    }
    for (int i = 0; i < 256; ++i) {
      const int h = i / 128, g = i % 128 / 32, l = i % 32;
      std::uint8_t& low = out->ql[64 * h + 32 * (g & 1) + l];
      std::uint8_t& high = out->qh[32 * h + l];
      low = std::uint8_t(low | (code[i] & 15) << (4 * (g >> 1)));
      high = std::uint8_t(high | (code[i] >> 4) << (2 * g));
    }
  }
};

}  // namespace veloce

// TQ1_0: 256 ternary values, five to a byte, and one scale (specs/quants.md section 6).
// A byte is a fraction in 256ths whose base-3 digits are the values, most significant first:
//   digit n of byte x = ((x * 3^n mod 256) * 3) >> 8,  value = (digit - 1) * d.
// Bytes 0..31 hold values 0..159 (digit n: value 32 n + byte), bytes 32..47 values 160..239
// likewise by 16, qh the last 16 with four digits a byte.
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct TQ1_0 {
  static constexpr std::string_view kName = "TQ1_0";
  static constexpr std::uint32_t kGgufType = 34;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 54;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -1, kMaxCode = 1;

  struct Block {
    std::uint8_t qs[48];
    std::uint8_t qh[4];
    std::uint8_t d[2];
  };

  // 3^n for n in 0..4, without a table.
  VELOCE_HD static constexpr std::uint32_t power3(int n) {
    return n == 0 ? 1 : n == 1 ? 3 : n == 2 ? 9 : n == 3 ? 27 : 81;
  }

  // The digit (0..2) of byte x that the power of 3 brings to the front.
  VELOCE_HD static constexpr int digit(std::uint32_t x, std::uint32_t power) {
    return int((((x * power) & 255u) * 3u) >> 8);
  }

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int i = 0; i < 160; ++i) out[i] = float(digit(b.qs[i % 32], power3(i / 32)) - 1) * d;
    for (int i = 0; i < 80; ++i) {
      out[160 + i] = float(digit(b.qs[32 + i % 16], power3(i / 16)) - 1) * d;
    }
    for (int i = 0; i < 16; ++i) out[240 + i] = float(digit(b.qh[i % 4], power3(i / 4)) - 1) * d;
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    I8x16 codes;
    if (chunk == 15) {
      for (int l = 0; l < 16; ++l) {
        codes.v[l] = std::int8_t(digit(b.qh[l & 3], power3(l >> 2)) - 1);
      }
      return codes;
    }
    const std::uint8_t* qs = chunk < 10 ? b.qs + 16 * (chunk & 1) : b.qs + 32;
    const std::uint32_t power = power3(chunk < 10 ? chunk >> 1 : chunk - 10);
    for (int l = 0; l < 16; ++l) codes.v[l] = std::int8_t(digit(qs[l], power) - 1);
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int) { return {load_half(b.d), 0.0f}; }
  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }

  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      const float* x = in + k * kValues;
      const float d = detail::largest_magnitude(x, kValues), inverse = detail::inverse_or_zero(d);
      // `digits` values from x[first] on, `stride` apart, as one byte; missing digits are 0.
      const auto pack = [&](int first, int stride, int digits) {
        int q = 0;
        for (int i = 0; i < 5; ++i) {
          const int t = i < digits
                            ? detail::round_away_clamped(x[first + i * stride] * inverse, -1, 1) + 1
                            : 0;
          q = 3 * q + t;
        }
        return std::uint8_t((q * 256 + 242) / 243);  // rounded up, so that the digits come back
      };
      for (int i = 0; i < 32; ++i) out[k].qs[i] = pack(i, 32, 5);
      for (int i = 0; i < 16; ++i) out[k].qs[32 + i] = pack(160 + i, 16, 5);
      for (int i = 0; i < 4; ++i) out[k].qh[i] = pack(240 + i, 4, 4);
      store_half(out[k].d, d);
    }
  }
};

}  // namespace veloce

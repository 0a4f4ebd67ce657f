// Q2_0: 64 values of 2 bits and one scale (specs/quants.md section 3).
// value i = (q - 1) * d, q = bits 2 (i % 4) of byte i / 4: -d, 0, d or 2 d.
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct Q2_0 {
  static constexpr std::string_view kName = "Q2_0";
  static constexpr std::uint32_t kGgufType = 42;
  static constexpr int kValues = 64;
  static constexpr std::size_t kBytes = 18;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -1, kMaxCode = 2;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t qs[16];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int i = 0; i < 64; ++i) out[i] = float(bits(b.qs[i / 4], 2 * (i % 4), 2) - 1) * d;
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const std::uint32_t word = load_le<std::uint32_t>(b.qs + 4 * chunk);
    I8x16 codes;
    for (int l = 0; l < 16; ++l) codes.v[l] = std::int8_t(bits(word, 2 * l, 2) - 1);
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int) { return {load_half(b.d), 0.0f}; }
  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }

  // The scale is the largest magnitude, so the code for 2 d is never written.
  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      const float* x = in + k * kValues;
      const float d = detail::largest_magnitude(x, kValues), inverse = detail::inverse_or_zero(d);
      out[k] = Block{};
      store_half(out[k].d, d);
      for (int i = 0; i < 64; ++i) {
        const int code = detail::round_away_clamped(x[i] * inverse, -1, 2) + 1;
        out[k].qs[i / 4] = std::uint8_t(out[k].qs[i / 4] | code << (2 * (i % 4)));
      }
    }
  }
};

}  // namespace veloce

// Q4_1: 32 values of 4 bits, a scale and an offset (specs/quants.md section 3).
// value i = nibble i * d + m; nibbles 0..15 are the low halves of qs, 16..31 the high ones.
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct Q4_1 {
  static constexpr std::string_view kName = "Q4_1";
  static constexpr std::uint32_t kGgufType = 3;
  static constexpr int kValues = 32;
  static constexpr std::size_t kBytes = 20;
  static constexpr bool kHasMin = true, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = 0, kMaxCode = 15;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t m[2];
    std::uint8_t qs[16];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d), m = load_half(b.m);
    for (int i = 0; i < 16; ++i) {
      out[i] = float(b.qs[i] & 15) * d + m;
      out[i + 16] = float(b.qs[i] >> 4) * d + m;
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) { return nibbles16(b.qs, chunk); }
  VELOCE_HD static Affine affine(const Block& b, int) { return {load_half(b.d), -load_half(b.m)}; }
  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d) && finite_half_at(b.m); }

  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      const float* x = in + k * kValues;
      const detail::Range r = detail::value_range(x, kValues);
      const float d = (r.max - r.min) / 15.0f, inverse = detail::inverse_or_zero(d);
      const auto code = [&](int i) {
        return detail::trunc_clamped((x[i] - r.min) * inverse + 0.5f, 0, 15);
      };
      store_half(out[k].d, d);
      store_half(out[k].m, r.min);
      for (int i = 0; i < 16; ++i) out[k].qs[i] = std::uint8_t(code(i) | code(i + 16) << 4);
    }
  }
};

}  // namespace veloce

// Q4_0: 32 values of 4 bits and one scale (specs/quants.md section 3).
// value i = (nibble i - 8) * d; nibbles 0..15 are the low halves of qs, 16..31 the high ones.
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct Q4_0 {
  static constexpr std::string_view kName = "Q4_0";
  static constexpr std::uint32_t kGgufType = 2;
  static constexpr int kValues = 32;
  static constexpr std::size_t kBytes = 18;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -8, kMaxCode = 7;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t qs[16];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int i = 0; i < 16; ++i) {
      out[i] = float((b.qs[i] & 15) - 8) * d;
      out[i + 16] = float((b.qs[i] >> 4) - 8) * d;
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) { return nibbles16(b.qs, chunk, -8); }
  VELOCE_HD static Affine affine(const Block& b, int) { return {load_half(b.d), 0.0f}; }
  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }

  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      const float* x = in + k * kValues;
      const float d = detail::largest_signed(x, kValues) / -8.0f;
      const float inverse = detail::inverse_or_zero(d);
      const auto code = [&](int i) { return detail::trunc_clamped(x[i] * inverse + 8.5f, 0, 15); };
      store_half(out[k].d, d);
      for (int i = 0; i < 16; ++i) out[k].qs[i] = std::uint8_t(code(i) | code(i + 16) << 4);
    }
  }
};

}  // namespace veloce

// Q8_0: 32 signed bytes and one scale (specs/quants.md section 3). value i = qs[i] * d.
// A file may hold the code -128; the quantizer never writes it.
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct Q8_0 {
  static constexpr std::string_view kName = "Q8_0";
  static constexpr std::uint32_t kGgufType = 8;
  static constexpr int kValues = 32;
  static constexpr std::size_t kBytes = 34;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -128, kMaxCode = 127;

  struct Block {
    std::uint8_t d[2];
    std::int8_t qs[32];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int i = 0; i < 32; ++i) out[i] = float(b.qs[i]) * d;
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    I8x16 codes;
    __builtin_memcpy(codes.v, b.qs + 16 * chunk, 16);
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int) { return {load_half(b.d), 0.0f}; }
  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }

  // Codes are rounded with the scale before it is rounded to binary16; half away from zero.
  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      const float* x = in + k * kValues;
      const float d = detail::largest_magnitude(x, kValues) / 127.0f;
      const float inverse = detail::inverse_or_zero(d);
      store_half(out[k].d, d);
      for (int i = 0; i < kValues; ++i) {
        out[k].qs[i] = std::int8_t(detail::round_away_clamped(x[i] * inverse, -127, 127));
      }
    }
  }
};

}  // namespace veloce

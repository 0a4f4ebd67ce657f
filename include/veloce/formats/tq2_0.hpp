// TQ2_0: 256 ternary values of 2 bits and one scale (specs/quants.md section 6).
// value i = (t - 1) * d; t lies in byte 32 * (i / 128) + i % 32 at bit 2 * (i % 128 / 32). A file
// may hold t = 3.
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct TQ2_0 {
  static constexpr std::string_view kName = "TQ2_0";
  static constexpr std::uint32_t kGgufType = 35;
  static constexpr int kValues = 256;
  static constexpr std::size_t kBytes = 66;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -1, kMaxCode = 2;

  struct Block {
    std::uint8_t qs[64];
    std::uint8_t d[2];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int i = 0; i < 256; ++i) {
      out[i] = float(bits(b.qs[32 * (i / 128) + i % 32], 2 * (i % 128 / 32), 2) - 1) * d;
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const std::uint8_t* qs = b.qs + 32 * (chunk >> 3) + 16 * (chunk & 1);
    const int shift = 2 * ((chunk >> 1) & 3);
    I8x16 codes;
    for (int l = 0; l < 16; ++l) codes.v[l] = std::int8_t(((qs[l] >> shift) & 3) - 1);
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int) { return {load_half(b.d), 0.0f}; }
  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }

  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      const float* x = in + k * kValues;
      const float d = detail::largest_magnitude(x, kValues), inverse = detail::inverse_or_zero(d);
      out[k] = Block{};
      store_half(out[k].d, d);
      for (int i = 0; i < 256; ++i) {
        const int t = detail::round_away_clamped(x[i] * inverse, -1, 1) + 1;
        std::uint8_t& byte = out[k].qs[32 * (i / 128) + i % 32];
        byte = std::uint8_t(byte | t << (2 * (i % 128 / 32)));
      }
    }
  }
};

}  // namespace veloce

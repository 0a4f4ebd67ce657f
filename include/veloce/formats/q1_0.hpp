// Q1_0: 128 signs and one scale (specs/quants.md section 3). value i = d if bit i is set, else -d.
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct Q1_0 {
  static constexpr std::string_view kName = "Q1_0";
  static constexpr std::uint32_t kGgufType = 41;
  static constexpr int kValues = 128;
  static constexpr std::size_t kBytes = 18;
  static constexpr bool kHasMin = false, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = -1, kMaxCode = 1;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t qs[16];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d);
    for (int i = 0; i < 128; ++i) out[i] = float(2 * bits(b.qs[i / 8], i % 8, 1) - 1) * d;
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const std::uint32_t word = load_le<std::uint16_t>(b.qs + 2 * chunk);
    I8x16 codes;
    for (int l = 0; l < 16; ++l) codes.v[l] = std::int8_t(2 * bits(word, l, 1) - 1);
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int) { return {load_half(b.d), 0.0f}; }
  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d); }

  // The scale is the mean magnitude.
  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      const float* x = in + k * kValues;
      float sum = 0.0f;
      out[k] = Block{};
      for (int i = 0; i < 128; ++i) {
        sum += std::fabs(x[i]);
        std::uint8_t& byte = out[k].qs[i / 8];
        byte = std::uint8_t(byte | int(x[i] >= 0.0f) << (i % 8));
      }
      store_half(out[k].d, sum / 128.0f);
    }
  }
};

}  // namespace veloce

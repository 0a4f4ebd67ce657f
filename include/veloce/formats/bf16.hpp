// BF16: the upper half of a binary32.
// Not a block type proper: one value a "block", so that code written for BlockFormat takes it too.
// Quantization is the conversion of core/numeric.hpp.
#pragma once

#include "veloce/formats/block_bits.hpp"

namespace veloce {

struct BF16 {
  static constexpr std::string_view kName = "BF16";
  static constexpr std::uint32_t kGgufType = 30;
  static constexpr int kValues = 1;
  static constexpr std::size_t kBytes = 2;

  struct Block {
    std::uint8_t bytes[2];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    *out = bf16_to_float(load_le<std::uint16_t>(b.bytes));
  }

  // Neither infinite nor NaN.
  VELOCE_HD static bool valid(const Block& b) {
    return (load_le<std::uint16_t>(b.bytes) & 0x7F80u) != 0x7F80u;
  }

  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) store_le(out[i].bytes, float_to_bf16(in[i]));
  }
};

}  // namespace veloce

// F32: IEEE binary32.
// Not a block type proper: one value a "block", so that code written for BlockFormat takes it too.
// Quantization is the conversion of core/numeric.hpp.
#pragma once

#include "veloce/formats/block_bits.hpp"

namespace veloce {

struct F32 {
  static constexpr std::string_view kName = "F32";
  static constexpr std::uint32_t kGgufType = 0;
  static constexpr int kValues = 1;
  static constexpr std::size_t kBytes = 4;

  struct Block {
    std::uint8_t bytes[4];
  };

  VELOCE_HD static void decode(const Block& b, float* out) { *out = load_le<float>(b.bytes); }

  // Neither infinite nor NaN.
  VELOCE_HD static bool valid(const Block& b) {
    return (load_le<std::uint32_t>(b.bytes) & 0x7F800000u) != 0x7F800000u;
  }

  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) store_le(out[i].bytes, in[i]);
  }
};

}  // namespace veloce

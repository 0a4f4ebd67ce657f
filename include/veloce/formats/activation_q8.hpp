// The 8-bit activations that Veloce's CPU and GPU paths multiply with quantized weights.
//
// A row of n floats becomes ceil(n / 32) blocks of 32 signed bytes with a binary32 scale and the
// exact integer sums of each half, which the min of a weight format needs. A short last block is
// filled up with zeros.
//
// The rule, the same bits on every backend:
//   amax = max |x|;  d = amax / 127;  q = x * (1 / d) rounded to the nearest integer, ties to even.
//
// |q| <= 127. Every product and quotient is one binary32 operation, so a vector unit gives the same
// bytes.
//
// amax < 2^-118: d = 0 and q = 0. Below that d would leave the normal binary32 range, where 1 / d
// overflows and machines that flush subnormals would differ. The loss is at most 2^-118 a value.
//
// An infinity or a NaN in the block: d = NaN and q = 0, so that every dot product with the block is
// NaN, as (nearly always) in floats: a broken activation shows up in the result and does not turn
// into a number.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "veloce/config.hpp"

namespace veloce {

struct ActivationQ8 {
  static constexpr int kValues = 32;

  float scale;           // d
  std::int16_t sums[2];  // of q[0..15] and q[16..31], exact
  std::int8_t q[kValues];
};
static_assert(sizeof(ActivationQ8) == 40);

// Blocks that a row of n values takes.
constexpr std::size_t activation_blocks(std::size_t n) {
  return (n + ActivationQ8::kValues - 1) / ActivationQ8::kValues;
}

// Bits of the magnitude below which a block is zero (2^-118), and from which it is not finite.
inline constexpr std::uint32_t kActivationZeroBits = (127u - 118u) << 23;
inline constexpr std::uint32_t kActivationInfinityBits = 0x7F800000u;

// The scale and its inverse for the largest |x| of a block, given as its bits without the sign: {d,
// 1 / d}. The inverse is 0 where all codes are 0.
struct ActivationScale {
  float scale, inverse;
};
VELOCE_HD inline ActivationScale activation_scale(std::uint32_t magnitude_bits) {
  if (magnitude_bits >= kActivationInfinityBits) {
    return {std::numeric_limits<float>::quiet_NaN(), 0.0f};
  }
  if (magnitude_bits < kActivationZeroBits) return {0.0f, 0.0f};
  const float d = std::bit_cast<float>(magnitude_bits) / 127.0f;
  return {d, 1.0f / d};
}

// The reference quantizer of one block: count (1..32) values of x, the rest counts as 0.
inline ActivationQ8 quantize_activation_block(const float* x, int count) {
  std::uint32_t magnitude = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t m = std::bit_cast<std::uint32_t>(x[i]) & 0x7FFFFFFFu;
    if (m > magnitude) magnitude = m;
  }
  const ActivationScale s = activation_scale(magnitude);
  ActivationQ8 block{s.scale, {0, 0}, {}};
  if (s.inverse == 0.0f) return block;
  for (int i = 0; i < count; ++i) {
    // In the sum with 1.5 * 2^23 one unit is the last bit, so binary32 addition itself rounds, ties
    // to even.
    const float shifted = x[i] * s.inverse + 12582912.0f;
    const int q = int(std::bit_cast<std::uint32_t>(shifted) & 0x7FFFFFu) - 0x400000;
    block.q[i] = std::int8_t(q);
    block.sums[i / 16] = std::int16_t(block.sums[i / 16] + q);
  }
  return block;
}

// The reference quantizer of a row: n values into activation_blocks(n) blocks.
inline void quantize_activation_row(const float* x, std::size_t n, ActivationQ8* out) {
  for (std::size_t i = 0; i < n; i += ActivationQ8::kValues) {
    const std::size_t left = n - i;
    out[i / ActivationQ8::kValues] = quantize_activation_block(
        x + i, left < ActivationQ8::kValues ? int(left) : ActivationQ8::kValues);
  }
}

}  // namespace veloce

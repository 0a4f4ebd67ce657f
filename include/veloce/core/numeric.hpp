// Storage number types and their exact conversions: IEEE binary16, bfloat16, and the small scale
// formats of the block-quantized types. Source: specs/quants.md section 2. All are plain bit
// operations, so a constant expression, a CPU and a GPU give the same bits.
#pragma once

#include <bit>
#include <cstdint>

#include "veloce/config.hpp"

namespace veloce {

// binary16 bits to binary32, exact, subnormals included.
VELOCE_HD constexpr float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t(h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1Fu;
  const std::uint32_t mantissa = h & 0x3FFu;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero and subnormals: mantissa * 2^-24, exact in binary32.
  const float magnitude = float(mantissa) * 5.9604644775390625e-8f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

// binary32 to binary16 bits, round to nearest even; overflow gives infinity, NaN gives 0x7E00 with
// the sign.
VELOCE_HD constexpr std::uint16_t float_to_half(float f) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(f);
  const std::uint16_t sign = std::uint16_t((u >> 16) & 0x8000u);
  const std::uint32_t a = u & 0x7FFFFFFFu;
  if (a > 0x7F800000u) return std::uint16_t(sign | 0x7E00u);
  if (a >= 0x477FF000u) return std::uint16_t(sign | 0x7C00u);  // 65520 and above round to infinity
  if (a < 0x38800000u) {                                       // below 2^-14: subnormal or zero
    if (a < 0x33000000u) return sign;  // below 2^-25 (2^-25 itself ties to even zero)
    const std::uint32_t shift = 126 - (a >> 23);
    const std::uint32_t m = (a & 0x7FFFFFu) | 0x800000u;
    const std::uint32_t q = m >> shift, rest = m & ((1u << shift) - 1), tie = 1u << (shift - 1);
    return std::uint16_t(sign | (q + (rest > tie || (rest == tie && (q & 1u)))));
  }
  const std::uint32_t rounded = a + 0xFFFu + ((a >> 13) & 1u);
  return std::uint16_t(sign | ((rounded - 0x38000000u) >> 13));
}

// bfloat16 bits to binary32, exact.
VELOCE_HD constexpr float bf16_to_float(std::uint16_t h) {
  return std::bit_cast<float>(std::uint32_t(h) << 16);
}

// binary32 to bfloat16 bits, round to nearest even; NaN stays NaN (quiet).
VELOCE_HD constexpr std::uint16_t float_to_bf16(float f) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(f);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return std::uint16_t((u >> 16) | 64u);
  return std::uint16_t((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
}

// E8M0 scale, halved: 2^(e - 128), because the E2M1 code table holds doubled values.
VELOCE_HD constexpr float e8m0_half_to_float(std::uint8_t e) {
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : std::uint32_t(e - 1) << 23);
}

// UE4M3 scale, halved, for the same reason. 0 and 0x7F give 0; bit 7 is ignored otherwise.
VELOCE_HD constexpr float ue4m3_half_to_float(std::uint8_t x) {
  if (x == 0 || x == 0x7F) return 0.0f;
  const int e = (x >> 3) & 15, m = x & 7;
  if (e == 0) return 0.5f * (float(m) * 0.001953125f);
  return 0.5f * ((1.0f + float(m) / 8.0f) * std::bit_cast<float>(std::uint32_t(e - 7 + 127) << 23));
}

}  // namespace veloce

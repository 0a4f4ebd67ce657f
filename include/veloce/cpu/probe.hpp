// What the machine gives this level's instructions at best: the ceilings that veloce-bench divides
// its times by.
//
// Each probe is the innermost instruction of a kernel with everything else taken away: independent
// sums in registers for the arithmetic, one pass of loads for reading. Returned values only keep
// the compiler from dropping the work.
#pragma once

#include <cstddef>
#include <cstdint>

#include "veloce/cpu/simd.hpp"

namespace veloce::cpu::VELOCE_ISA_NS {

// Sums side by side: enough to cover the latency of two pipes, few enough to stay in registers.
#if defined(VELOCE_ISA_AVX512)
inline constexpr int kProbeSums = 12;
#else
inline constexpr int kProbeSums = 6;  // two registers each on AVX2
#endif

// Rounds of byte dots; kProbeSums * 16 * 4 multiply-adds each.
inline std::int64_t probe_int8_dots(int rounds) {
  I32 sum[kProbeSums];
  for (I32& s : sum) s = zero_i32();
  std::uint8_t codes[64];
  for (int i = 0; i < 64; ++i) codes[i] = std::uint8_t(i % 16);
  const U8 w = load_u8(codes);
  std::int32_t a = 0x01FF02FE;
  for (int r = 0; r < rounds; ++r) {
    asm volatile("" : "+r"(a));  // the compiler may not know that it is always the same
    VELOCE_UNROLL(12)
    for (int i = 0; i < kProbeSums; ++i) sum[i] = dot_narrow(sum[i], w, a);
  }
  std::int64_t total = 0;
  for (const I32& s : sum) {
    alignas(64) std::int32_t v[16];
    store_i32(v, s);
    for (const std::int32_t x : v) total += x;
  }
  return total;
}
inline constexpr std::int64_t kProbeInt8Operations =
    std::int64_t(2) * kProbeSums * 64;  // of a round

// Rounds of fused multiply-adds; kProbeSums * 16 each.
inline std::int64_t probe_float_fmas(int rounds) {
  F32 sum[kProbeSums];
  for (F32& s : sum) s = set1(1.0f);
  float scale = 0.999999f;
  for (int r = 0; r < rounds; ++r) {
    asm volatile("" : "+x"(scale));
    const F32 x = set1(scale);
    VELOCE_UNROLL(12)
    for (int i = 0; i < kProbeSums; ++i) sum[i] = fma(sum[i], x, x);
  }
  float total = 0;
  for (const F32& s : sum) total += sum_lanes(s);
  return std::int64_t(total);
}
inline constexpr std::int64_t kProbeFloatOperations = std::int64_t(2) * kProbeSums * 16;

// Reads `bytes` (a multiple of 256) once, in order.
inline std::int64_t probe_read(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const std::uint8_t*>(data);
  U8 sum[4] = {load_u8(p), load_u8(p), load_u8(p), load_u8(p)};
  for (std::size_t at = 0; at + 256 <= bytes; at += 256) {
    VELOCE_UNROLL(4)
    for (int i = 0; i < 4; ++i) sum[i] = xor_u8(sum[i], load_u8(p + at + 64 * i));
  }
  std::uint8_t v[64];
  store_u8(v, xor_u8(xor_u8(sum[0], sum[1]), xor_u8(sum[2], sum[3])));
  std::int64_t total = 0;
  for (const std::uint8_t x : v) total += x;
  return total;
}

}  // namespace veloce::cpu::VELOCE_ISA_NS

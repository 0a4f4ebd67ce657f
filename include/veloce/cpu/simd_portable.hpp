// The sixteen-lane operations of cpu/simd.hpp in plain C++: for machines without AVX2, and to check
// the others against.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "veloce/config.hpp"
#include "veloce/core/numeric.hpp"

namespace veloce::cpu::portable {

struct F32 {
  float v[16];
};
struct I32 {
  std::int32_t v[16];
};
struct U8 {
  std::uint8_t v[64];
};

template <class R, class Fn>
VELOCE_INLINE R each(Fn fn) {
  R r;
  for (unsigned i = 0; i < sizeof r.v / sizeof r.v[0]; ++i) r.v[i] = fn(i);
  return r;
}

// --- floats
VELOCE_INLINE F32 zero_f32() {
  return F32{};
}
VELOCE_INLINE F32 set1(float x) {
  return each<F32>([=](int) { return x; });
}
VELOCE_INLINE F32 load(const float* p) {
  F32 r;
  std::memcpy(r.v, p, sizeof r.v);
  return r;
}
VELOCE_INLINE void store(float* p, F32 x) {
  std::memcpy(p, x.v, sizeof x.v);
}
VELOCE_INLINE F32 add(F32 x, F32 y) {
  return each<F32>([&](int i) { return x.v[i] + y.v[i]; });
}
VELOCE_INLINE F32 sub(F32 x, F32 y) {
  return each<F32>([&](int i) { return x.v[i] - y.v[i]; });
}
VELOCE_INLINE F32 mul(F32 x, F32 y) {
  return each<F32>([&](int i) { return x.v[i] * y.v[i]; });
}
VELOCE_INLINE F32 div(F32 x, F32 y) {
  return each<F32>([&](int i) { return x.v[i] / y.v[i]; });
}
VELOCE_INLINE F32 fma(F32 x, F32 y, F32 z) {
  return each<F32>([&](int i) { return __builtin_fmaf(x.v[i], y.v[i], z.v[i]); });
}
// As x86 does it: the second operand where the two are unordered.
VELOCE_INLINE F32 max(F32 x, F32 y) {
  return each<F32>([&](int i) { return x.v[i] > y.v[i] ? x.v[i] : y.v[i]; });
}
VELOCE_INLINE F32 min(F32 x, F32 y) {
  return each<F32>([&](int i) { return x.v[i] < y.v[i] ? x.v[i] : y.v[i]; });
}
VELOCE_INLINE F32 abs(F32 x) {
  return each<F32>([&](int i) { return __builtin_fabsf(x.v[i]); });
}
VELOCE_INLINE F32 neg(F32 x) {
  return each<F32>([&](int i) { return -x.v[i]; });
}
VELOCE_INLINE F32 zero_where_less(F32 v, F32 x, F32 y) {
  return each<F32>([&](int i) { return x.v[i] < y.v[i] ? 0.0f : v.v[i]; });
}
VELOCE_INLINE F32 from_half(const std::uint16_t* p) {
  return each<F32>([&](int i) { return half_to_float(p[i]); });
}
VELOCE_INLINE F32 from_bf16(const std::uint16_t* p) {
  return each<F32>([&](int i) { return bf16_to_float(p[i]); });
}

// --- ints
VELOCE_INLINE I32 zero_i32() {
  return I32{};
}
VELOCE_INLINE I32 set1_i32(std::int32_t x) {
  return each<I32>([=](int) { return x; });
}
VELOCE_INLINE I32 add_i32(I32 x, I32 y) {
  return each<I32>([&](int i) { return x.v[i] + y.v[i]; });
}
VELOCE_INLINE I32 sub_i32(I32 x, I32 y) {
  return each<I32>([&](int i) { return x.v[i] - y.v[i]; });
}
VELOCE_INLINE I32 and_i32(I32 x, I32 y) {
  return each<I32>([&](int i) { return x.v[i] & y.v[i]; });
}
VELOCE_INLINE I32 or_i32(I32 x, I32 y) {
  return each<I32>([&](int i) { return x.v[i] | y.v[i]; });
}
VELOCE_INLINE I32 max_i32(I32 x, I32 y) {
  return each<I32>([&](int i) { return x.v[i] > y.v[i] ? x.v[i] : y.v[i]; });
}
VELOCE_INLINE void store_i32(void* p, I32 x) {
  std::memcpy(p, x.v, sizeof x.v);
}
VELOCE_INLINE I32 float_bits(F32 x) {
  return each<I32>([&](int i) { return std::bit_cast<std::int32_t>(x.v[i]); });
}
template <int N>
VELOCE_INLINE I32 shl_i32(I32 x) {
  return each<I32>([&](int i) { return std::int32_t(std::uint32_t(x.v[i]) << N); });
}
template <int N>
VELOCE_INLINE I32 shr_i32(I32 x) {
  return each<I32>([&](int i) { return std::int32_t(std::uint32_t(x.v[i]) >> N); });
}
VELOCE_INLINE I32 load_u8_i32(const void* p) {
  return each<I32>([&](int i) { return std::int32_t(static_cast<const std::uint8_t*>(p)[i]); });
}
VELOCE_INLINE I32 load_i8_i32(const void* p) {
  return each<I32>([&](int i) { return std::int32_t(static_cast<const std::int8_t*>(p)[i]); });
}
VELOCE_INLINE I32 load_i32(const void* p) {
  I32 r;
  std::memcpy(r.v, p, sizeof r.v);
  return r;
}
VELOCE_INLINE F32 to_float(I32 x) {
  return each<F32>([&](int i) { return float(x.v[i]); });
}
// Nearest, ties to even; what does not fit is the most negative int, as x86 gives.
VELOCE_INLINE I32 round_to_int(F32 x) {
  return each<I32>([&](int i) {
    const float r = __builtin_nearbyintf(x.v[i]);
    return r >= -2147483648.0f && r < 2147483648.0f ? std::int32_t(r) : INT32_MIN;
  });
}
VELOCE_INLINE F32 bits_to_float(I32 x) {
  return each<F32>([&](int i) { return std::bit_cast<float>(x.v[i]); });
}
VELOCE_INLINE F32 exp2_int(I32 n) {
  return bits_to_float(shl_i32<23>(add_i32(n, set1_i32(127))));
}
VELOCE_INLINE void store_i8(std::int8_t* p, I32 x) {
  for (int i = 0; i < 16; ++i) p[i] = std::int8_t(x.v[i]);
}
VELOCE_INLINE void store_half(std::uint16_t* p, F32 x) {
  for (int i = 0; i < 16; ++i) p[i] = float_to_half(x.v[i]);
}

// --- bytes
VELOCE_INLINE U8 load_u8(const void* p) {
  U8 r;
  std::memcpy(r.v, p, sizeof r.v);
  return r;
}
VELOCE_INLINE void store_u8(void* p, U8 x) {
  std::memcpy(p, x.v, sizeof x.v);
}
VELOCE_INLINE U8 set1_u8(std::uint8_t x) {
  return each<U8>([=](int) { return x; });
}
VELOCE_INLINE U8 and_u8(U8 x, U8 y) {
  return each<U8>([&](int i) { return std::uint8_t(x.v[i] & y.v[i]); });
}
VELOCE_INLINE U8 or_u8(U8 x, U8 y) {
  return each<U8>([&](int i) { return std::uint8_t(x.v[i] | y.v[i]); });
}
VELOCE_INLINE U8 xor_u8(U8 x, U8 y) {
  return each<U8>([&](int i) { return std::uint8_t(x.v[i] ^ y.v[i]); });
}
VELOCE_INLINE U8 add_u8(U8 x, U8 y) {
  return each<U8>([&](int i) { return std::uint8_t(x.v[i] + y.v[i]); });
}
VELOCE_INLINE U8 sub_u8(U8 x, U8 y) {
  return each<U8>([&](int i) { return std::uint8_t(x.v[i] - y.v[i]); });
}
template <int N>
VELOCE_INLINE U8 shr_and(U8 x, U8 m) {
  return each<U8>([&](int i) { return std::uint8_t((x.v[i] >> N) & m.v[i]); });
}
template <int N>
VELOCE_INLINE U8 shl_and(U8 x, U8 m) {
  return each<U8>([&](int i) { return std::uint8_t((x.v[i] << N) & m.v[i]); });
}
VELOCE_INLINE U8 lut16(const std::uint8_t* table, U8 x) {
  return each<U8>([&](int i) { return table[x.v[i] & 15]; });
}
VELOCE_INLINE U8 add_signed(U8 base, U8 x, std::uint64_t negative) {
  return each<U8>([&](int i) {
    return std::uint8_t((negative >> i) & 1 ? base.v[i] - x.v[i] : base.v[i] + x.v[i]);
  });
}
VELOCE_INLINE U8 min_u8(U8 x, U8 y) {
  return each<U8>([&](int i) { return x.v[i] < y.v[i] ? x.v[i] : y.v[i]; });
}
VELOCE_INLINE U8 subtract_to_zero(U8 x, U8 y) {
  return each<U8>([&](int i) { return std::uint8_t(x.v[i] > y.v[i] ? x.v[i] - y.v[i] : 0); });
}
VELOCE_INLINE I32 add_where(I32 x, std::uint16_t lanes, std::int32_t y) {
  return each<I32>([&](int i) { return (lanes >> i) & 1 ? x.v[i] + y : x.v[i]; });
}
VELOCE_INLINE U8 add_where_u8(U8 x, std::uint16_t lanes, std::uint8_t y) {
  return each<U8>(
      [&](int i) { return std::uint8_t((lanes >> (i / 4)) & 1 ? x.v[i] + y : x.v[i]); });
}
VELOCE_INLINE I32 dot_narrow(I32 acc, U8 w, std::int32_t a) {
  std::int8_t x[4];
  std::memcpy(x, &a, 4);
  return each<I32>([&](int i) {
    const std::uint8_t* p = w.v + 4 * i;
    return acc.v[i] + p[0] * x[0] + p[1] * x[1] + p[2] * x[2] + p[3] * x[3];
  });
}
inline constexpr bool kWideIsBiased = true;
VELOCE_INLINE I32 dot_wide(I32 acc, U8 w, std::int32_t a) {
  return dot_narrow(acc, w, a);
}

}  // namespace veloce::cpu::portable

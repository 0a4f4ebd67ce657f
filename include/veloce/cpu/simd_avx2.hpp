// The sixteen-lane operations of cpu/simd.hpp on AVX2 with FMA and F16C: two registers each.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "veloce/config.hpp"

namespace veloce::cpu::avx2 {

struct F32 {
  __m256 a, b;
};
struct I32 {
  __m256i a, b;
};
struct U8 {
  __m256i a, b;
};

// --- floats
VELOCE_INLINE F32 zero_f32() {
  return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}
VELOCE_INLINE F32 set1(float v) {
  return {_mm256_set1_ps(v), _mm256_set1_ps(v)};
}
VELOCE_INLINE F32 load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
VELOCE_INLINE void store(float* p, F32 v) {
  _mm256_storeu_ps(p, v.a);
  _mm256_storeu_ps(p + 8, v.b);
}
VELOCE_INLINE F32 add(F32 x, F32 y) {
  return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
}
VELOCE_INLINE F32 sub(F32 x, F32 y) {
  return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
}
VELOCE_INLINE F32 mul(F32 x, F32 y) {
  return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}
VELOCE_INLINE F32 div(F32 x, F32 y) {
  return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
}
VELOCE_INLINE F32 fma(F32 x, F32 y, F32 z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
VELOCE_INLINE F32 max(F32 x, F32 y) {
  return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
}
VELOCE_INLINE F32 min(F32 x, F32 y) {
  return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)};
}
VELOCE_INLINE F32 abs(F32 x) {
  const __m256 m = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(m, x.a), _mm256_andnot_ps(m, x.b)};
}
VELOCE_INLINE F32 neg(F32 x) {
  const __m256 m = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(m, x.a), _mm256_xor_ps(m, x.b)};
}
VELOCE_INLINE F32 zero_where_less(F32 v, F32 x, F32 y) {
  return {_mm256_and_ps(_mm256_cmp_ps(x.a, y.a, _CMP_NLT_UQ), v.a),
          _mm256_and_ps(_mm256_cmp_ps(x.b, y.b, _CMP_NLT_UQ), v.b)};
}
VELOCE_INLINE F32 from_half(const std::uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}
VELOCE_INLINE F32 from_bf16(const std::uint16_t* p) {
  const auto half = [](const std::uint16_t* q) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(q))), 16));
  };
  return {half(p), half(p + 8)};
}

// --- ints
VELOCE_INLINE I32 zero_i32() {
  return {_mm256_setzero_si256(), _mm256_setzero_si256()};
}
VELOCE_INLINE I32 set1_i32(std::int32_t v) {
  return {_mm256_set1_epi32(v), _mm256_set1_epi32(v)};
}
VELOCE_INLINE I32 add_i32(I32 x, I32 y) {
  return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)};
}
VELOCE_INLINE I32 sub_i32(I32 x, I32 y) {
  return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)};
}
VELOCE_INLINE I32 and_i32(I32 x, I32 y) {
  return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)};
}
VELOCE_INLINE I32 or_i32(I32 x, I32 y) {
  return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)};
}
VELOCE_INLINE I32 max_i32(I32 x, I32 y) {
  return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)};
}
VELOCE_INLINE void store_i32(void* p, I32 v) {
  auto* q = static_cast<__m256i*>(p);
  _mm256_storeu_si256(q, v.a);
  _mm256_storeu_si256(q + 1, v.b);
}
VELOCE_INLINE I32 float_bits(F32 x) {
  return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)};
}
template <int N>
VELOCE_INLINE I32 shl_i32(I32 x) {
  return {_mm256_slli_epi32(x.a, N), _mm256_slli_epi32(x.b, N)};
}
template <int N>
VELOCE_INLINE I32 shr_i32(I32 x) {
  return {_mm256_srli_epi32(x.a, N), _mm256_srli_epi32(x.b, N)};
}
VELOCE_INLINE I32 load_u8_i32(const void* p) {
  const __m128i v = _mm_loadu_si128(static_cast<const __m128i*>(p));
  return {_mm256_cvtepu8_epi32(v), _mm256_cvtepu8_epi32(_mm_srli_si128(v, 8))};
}
VELOCE_INLINE I32 load_i8_i32(const void* p) {
  const __m128i v = _mm_loadu_si128(static_cast<const __m128i*>(p));
  return {_mm256_cvtepi8_epi32(v), _mm256_cvtepi8_epi32(_mm_srli_si128(v, 8))};
}
VELOCE_INLINE I32 load_i32(const void* p) {
  const auto* q = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
VELOCE_INLINE F32 to_float(I32 x) {
  return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)};
}
VELOCE_INLINE I32 round_to_int(F32 x) {
  return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)};
}
VELOCE_INLINE F32 bits_to_float(I32 x) {
  return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)};
}
VELOCE_INLINE F32 exp2_int(I32 n) {
  return bits_to_float(shl_i32<23>(add_i32(n, set1_i32(127))));
}
VELOCE_INLINE void store_i8(std::int8_t* p, I32 x) {
  const __m256i w = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xD8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packs_epi16(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1)));
}
VELOCE_INLINE void store_half(std::uint16_t* p, F32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8),
                   _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
}

// --- bytes
VELOCE_INLINE U8 load_u8(const void* p) {
  const auto* q = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
VELOCE_INLINE void store_u8(void* p, U8 v) {
  auto* q = static_cast<__m256i*>(p);
  _mm256_storeu_si256(q, v.a);
  _mm256_storeu_si256(q + 1, v.b);
}
VELOCE_INLINE U8 set1_u8(std::uint8_t v) {
  const __m256i x = _mm256_set1_epi8(static_cast<char>(v));
  return {x, x};
}
VELOCE_INLINE U8 and_u8(U8 x, U8 y) {
  return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)};
}
VELOCE_INLINE U8 or_u8(U8 x, U8 y) {
  return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)};
}
VELOCE_INLINE U8 xor_u8(U8 x, U8 y) {
  return {_mm256_xor_si256(x.a, y.a), _mm256_xor_si256(x.b, y.b)};
}
VELOCE_INLINE U8 add_u8(U8 x, U8 y) {
  return {_mm256_add_epi8(x.a, y.a), _mm256_add_epi8(x.b, y.b)};
}
VELOCE_INLINE U8 sub_u8(U8 x, U8 y) {
  return {_mm256_sub_epi8(x.a, y.a), _mm256_sub_epi8(x.b, y.b)};
}
template <int N>
VELOCE_INLINE U8 shr_and(U8 x, U8 mask) {
  return {_mm256_and_si256(_mm256_srli_epi16(x.a, N), mask.a),
          _mm256_and_si256(_mm256_srli_epi16(x.b, N), mask.b)};
}
template <int N>
VELOCE_INLINE U8 shl_and(U8 x, U8 mask) {
  return {_mm256_and_si256(_mm256_slli_epi16(x.a, N), mask.a),
          _mm256_and_si256(_mm256_slli_epi16(x.b, N), mask.b)};
}
VELOCE_INLINE U8 lut16(const std::uint8_t* table, U8 index) {
  const __m256i t =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  return {_mm256_shuffle_epi8(t, index.a), _mm256_shuffle_epi8(t, index.b)};
}
VELOCE_INLINE __m256i expand_mask(std::uint32_t bits) {
  const __m256i spread =
      _mm256_shuffle_epi8(_mm256_set1_epi32(int(bits)),
                          _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                           2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
  const __m256i bit = _mm256_set1_epi64x(std::int64_t(0x8040201008040201ull));
  return _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
}
VELOCE_INLINE U8 add_signed(U8 base, U8 v, std::uint64_t negative) {
  const auto half = [](__m256i b, __m256i x, std::uint32_t bits) {
    const __m256i m = expand_mask(bits);
    return _mm256_add_epi8(b, _mm256_sub_epi8(_mm256_xor_si256(x, m), m));
  };
  return {half(base.a, v.a, std::uint32_t(negative)),
          half(base.b, v.b, std::uint32_t(negative >> 32))};
}

VELOCE_INLINE U8 min_u8(U8 x, U8 y) {
  return {_mm256_min_epu8(x.a, y.a), _mm256_min_epu8(x.b, y.b)};
}
VELOCE_INLINE U8 subtract_to_zero(U8 x, U8 y) {
  return {_mm256_subs_epu8(x.a, y.a), _mm256_subs_epu8(x.b, y.b)};
}
// `value` in the eight lanes whose bit is set, else 0.
VELOCE_INLINE __m256i in_lanes(std::uint32_t lanes, __m256i value) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i here = _mm256_and_si256(_mm256_set1_epi32(int(lanes)), bit);
  return _mm256_and_si256(_mm256_cmpeq_epi32(here, bit), value);
}
VELOCE_INLINE I32 add_where(I32 x, std::uint16_t lanes, std::int32_t y) {
  const __m256i v = _mm256_set1_epi32(y);
  return {_mm256_add_epi32(x.a, in_lanes(lanes, v)),
          _mm256_add_epi32(x.b, in_lanes(lanes >> 8, v))};
}
VELOCE_INLINE U8 add_where_u8(U8 x, std::uint16_t lanes, std::uint8_t y) {
  const __m256i v = _mm256_set1_epi8(static_cast<char>(y));
  return {_mm256_add_epi8(x.a, in_lanes(lanes, v)), _mm256_add_epi8(x.b, in_lanes(lanes >> 8, v))};
}

// maddubs saturates at 16 bits: two products of up to 127 * 128 stay below it, so codes must be
// below 128.
VELOCE_INLINE I32 dot_narrow(I32 acc, U8 w, std::int32_t a) {
  const __m256i x = _mm256_set1_epi32(a), ones = _mm256_set1_epi16(1);
  return {_mm256_add_epi32(acc.a, _mm256_madd_epi16(_mm256_maddubs_epi16(w.a, x), ones)),
          _mm256_add_epi32(acc.b, _mm256_madd_epi16(_mm256_maddubs_epi16(w.b, x), ones))};
}
// Codes of all 256 values stand in the byte with 128 added; here they are made signed again, |w| *
// (sign(w) a).
inline constexpr bool kWideIsBiased = false;
VELOCE_INLINE I32 dot_wide(I32 acc, U8 w, std::int32_t a) {
  const __m256i x = _mm256_set1_epi32(a), ones = _mm256_set1_epi16(1),
                bias = _mm256_set1_epi8(char(-128));
  const auto half = [&](__m256i c, __m256i v) {
    const __m256i s = _mm256_xor_si256(v, bias);
    return _mm256_add_epi32(
        c,
        _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(s), _mm256_sign_epi8(x, s)), ones));
  };
  return {half(acc.a, w.a), half(acc.b, w.b)};
}

}  // namespace veloce::cpu::avx2

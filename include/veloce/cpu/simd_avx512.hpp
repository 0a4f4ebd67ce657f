// The sixteen-lane operations of cpu/simd.hpp on AVX-512 (F, BW, VL, DQ, VNNI, VBMI): one register
// each.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "veloce/config.hpp"

namespace veloce::cpu::avx512 {

using F32 = __m512;
using I32 = __m512i;
using U8 = __m512i;

// --- floats
VELOCE_INLINE F32 zero_f32() {
  return _mm512_setzero_ps();
}
VELOCE_INLINE F32 set1(float v) {
  return _mm512_set1_ps(v);
}
VELOCE_INLINE F32 load(const float* p) {
  return _mm512_loadu_ps(p);
}
VELOCE_INLINE void store(float* p, F32 v) {
  _mm512_storeu_ps(p, v);
}
VELOCE_INLINE F32 add(F32 a, F32 b) {
  return _mm512_add_ps(a, b);
}
VELOCE_INLINE F32 sub(F32 a, F32 b) {
  return _mm512_sub_ps(a, b);
}
VELOCE_INLINE F32 mul(F32 a, F32 b) {
  return _mm512_mul_ps(a, b);
}
VELOCE_INLINE F32 div(F32 a, F32 b) {
  return _mm512_div_ps(a, b);
}
VELOCE_INLINE F32 fma(F32 a, F32 b, F32 c) {
  return _mm512_fmadd_ps(a, b, c);
}
VELOCE_INLINE F32 max(F32 a, F32 b) {
  return _mm512_max_ps(a, b);
}
VELOCE_INLINE F32 min(F32 a, F32 b) {
  return _mm512_min_ps(a, b);
}
VELOCE_INLINE F32 abs(F32 a) {
  return _mm512_abs_ps(a);
}
VELOCE_INLINE F32 neg(F32 a) {
  return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f));
}
VELOCE_INLINE F32 zero_where_less(F32 v, F32 a, F32 b) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ), v);
}
VELOCE_INLINE F32 from_half(const std::uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
VELOCE_INLINE F32 from_bf16(const std::uint16_t* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
}

// --- ints
VELOCE_INLINE I32 zero_i32() {
  return _mm512_setzero_si512();
}
VELOCE_INLINE I32 set1_i32(std::int32_t v) {
  return _mm512_set1_epi32(v);
}
VELOCE_INLINE I32 add_i32(I32 a, I32 b) {
  return _mm512_add_epi32(a, b);
}
VELOCE_INLINE I32 sub_i32(I32 a, I32 b) {
  return _mm512_sub_epi32(a, b);
}
VELOCE_INLINE I32 and_i32(I32 a, I32 b) {
  return _mm512_and_si512(a, b);
}
VELOCE_INLINE I32 or_i32(I32 a, I32 b) {
  return _mm512_or_si512(a, b);
}
VELOCE_INLINE I32 max_i32(I32 a, I32 b) {
  return _mm512_max_epi32(a, b);
}
VELOCE_INLINE void store_i32(void* p, I32 v) {
  _mm512_storeu_si512(p, v);
}
VELOCE_INLINE I32 float_bits(F32 a) {
  return _mm512_castps_si512(a);
}
template <int N>
VELOCE_INLINE I32 shl_i32(I32 a) {
  return _mm512_slli_epi32(a, N);
}
template <int N>
VELOCE_INLINE I32 shr_i32(I32 a) {
  return _mm512_srli_epi32(a, N);
}
VELOCE_INLINE I32 load_u8_i32(const void* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
VELOCE_INLINE I32 load_i8_i32(const void* p) {
  return _mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
VELOCE_INLINE I32 load_i32(const void* p) {
  return _mm512_loadu_si512(p);
}
VELOCE_INLINE F32 to_float(I32 a) {
  return _mm512_cvtepi32_ps(a);
}
VELOCE_INLINE I32 round_to_int(F32 a) {
  return _mm512_cvt_roundps_epi32(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
VELOCE_INLINE F32 bits_to_float(I32 a) {
  return _mm512_castsi512_ps(a);
}
VELOCE_INLINE F32 exp2_int(I32 n) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23));
}
// Stores the low byte of each lane (values must fit int8).
VELOCE_INLINE void store_i8(std::int8_t* p, I32 a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
}
VELOCE_INLINE void store_half(std::uint16_t* p, F32 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

// --- bytes
VELOCE_INLINE U8 load_u8(const void* p) {
  return _mm512_loadu_si512(p);
}
VELOCE_INLINE void store_u8(void* p, U8 v) {
  _mm512_storeu_si512(p, v);
}
VELOCE_INLINE U8 set1_u8(std::uint8_t v) {
  return _mm512_set1_epi8(static_cast<char>(v));
}
VELOCE_INLINE U8 and_u8(U8 a, U8 b) {
  return _mm512_and_si512(a, b);
}
VELOCE_INLINE U8 or_u8(U8 a, U8 b) {
  return _mm512_or_si512(a, b);
}
VELOCE_INLINE U8 xor_u8(U8 a, U8 b) {
  return _mm512_xor_si512(a, b);
}
VELOCE_INLINE U8 add_u8(U8 a, U8 b) {
  return _mm512_add_epi8(a, b);
}
VELOCE_INLINE U8 sub_u8(U8 a, U8 b) {
  return _mm512_sub_epi8(a, b);
}
// (a >> N) & mask and (a << N) & mask, bytewise as long as mask drops the neighbour's bits.
template <int N>
VELOCE_INLINE U8 shr_and(U8 a, U8 mask) {
  return _mm512_and_si512(_mm512_srli_epi16(a, N), mask);
}
template <int N>
VELOCE_INLINE U8 shl_and(U8 a, U8 mask) {
  return _mm512_and_si512(_mm512_slli_epi16(a, N), mask);
}
// table[index] for bytes with values below 16. table: 16 bytes.
VELOCE_INLINE U8 lut16(const std::uint8_t* table, U8 index) {
  return _mm512_shuffle_epi8(
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))), index);
}
// base + v, or base - v where the mask has a bit for the byte.
VELOCE_INLINE U8 add_signed(U8 base, U8 v, std::uint64_t negative) {
  return _mm512_mask_sub_epi8(_mm512_add_epi8(base, v), negative, base, v);
}

VELOCE_INLINE U8 min_u8(U8 a, U8 b) {
  return _mm512_min_epu8(a, b);
}
// a - b, or 0 where b is larger.
VELOCE_INLINE U8 subtract_to_zero(U8 a, U8 b) {
  return _mm512_subs_epu8(a, b);
}
// a + b in the lanes whose bit is set, else a; of bytes: in all four of the lane.
VELOCE_INLINE I32 add_where(I32 a, std::uint16_t lanes, std::int32_t b) {
  return _mm512_mask_add_epi32(a, lanes, a, _mm512_set1_epi32(b));
}
VELOCE_INLINE U8 add_where_u8(U8 a, std::uint16_t lanes, std::uint8_t b) {
  return _mm512_add_epi8(a, _mm512_maskz_set1_epi32(lanes, int(b * 0x01010101u)));
}

// acc + the dot of each lane's four bytes w (0..255) with the four signed bytes packed in a.
VELOCE_INLINE I32 dot_narrow(I32 acc, U8 w, std::int32_t a) {
  return _mm512_dpbusd_epi32(acc, w, _mm512_set1_epi32(a));
}
// The same for codes that need all 256 values. They stand in the byte with 128 added, and the
// caller starts acc at -128 * sum(a) where kWideIsBiased.
inline constexpr bool kWideIsBiased = true;
VELOCE_INLINE I32 dot_wide(I32 acc, U8 w, std::int32_t a) {
  return dot_narrow(acc, w, a);
}

// Of Count vectors leaf(First), leaf(First + 1), ... the one that an element's index names: bit n
// of the index, as a mask over the elements, is bits[n].
template <int First, int Count, class Leaf, class Mask, class Blend>
VELOCE_INLINE __m512i choose(Leaf leaf, const Mask* bits, Blend blend) {
  if constexpr (Count == 1) {
    return leaf(First);
  } else {
    constexpr int kHalf = Count / 2;
    const __m512i lower = choose<First, kHalf>(leaf, bits, blend);
    const __m512i upper = choose<First + kHalf, kHalf>(leaf, bits, blend);
    return blend(bits[__builtin_ctz(kHalf)], lower, upper);
  }
}

// table[index[i]] for 32 indices below Size. table: Size entries of 16 bits, 64-byte aligned, Size
// a power of two from 64 to 1024. A permute reads 64 entries.
template <int Size>
VELOCE_INLINE __m512i lookup32(const std::uint16_t* table, __m512i index) {
  const __mmask32 bits[4] = {_mm512_test_epi16_mask(index, _mm512_set1_epi16(64)),
                             _mm512_test_epi16_mask(index, _mm512_set1_epi16(128)),
                             _mm512_test_epi16_mask(index, _mm512_set1_epi16(256)),
                             _mm512_test_epi16_mask(index, _mm512_set1_epi16(512))};
  return choose<0, Size / 64>(
      [&](int i) {
        return _mm512_permutex2var_epi16(_mm512_load_si512(table + 64 * i), index,
                                         _mm512_load_si512(table + 64 * i + 32));
      },
      bits, [](__mmask32 m, __m512i a, __m512i b) { return _mm512_mask_mov_epi16(a, m, b); });
}

// The same for 64 indices into bytes: bits 0 to 6 of each are those of `low`, bit 7 + n is
// bits[n]. Size from 128 to 2048. A permute reads 128 entries.
template <int Size>
VELOCE_INLINE __m512i lookup64(const std::uint8_t* table, __m512i low, const __mmask64 (&bits)[4]) {
  return choose<0, Size / 128>(
      [&](int i) {
        return _mm512_permutex2var_epi8(_mm512_load_si512(table + 128 * i), low,
                                        _mm512_load_si512(table + 128 * i + 64));
      },
      bits, [](__mmask64 m, __m512i a, __m512i b) { return _mm512_mask_mov_epi8(a, m, b); });
}

}  // namespace veloce::cpu::avx512

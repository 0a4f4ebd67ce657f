// Runs of halves in memory as vectors of floats, converted by the host. Only for MODE's default
// rounding and denormals; results that are NaN are left to the caller, who knows their rules.
#pragma once

#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {

#if defined(__AVX512F__)

// All lanes: masked forms are used because g++ 12 warns of the plain ones' undefined start values.
constexpr __mmask16 kAll = 0xffff;

struct WideHalves {
  static constexpr int kCount = 16;
  __m512 v;
  LANE_INLINE static WideHalves load(const u16* p) {
    return {_mm512_maskz_cvtph_ps(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
  }
  LANE_INLINE void store(u16* p) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_maskz_cvtps_ph(kAll, v, _MM_FROUND_TO_NEAREST_INT));
  }
  LANE_INLINE bool any_nan() const { return _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q) != 0; }
};
LANE_INLINE WideHalves operator+(WideHalves a, WideHalves b) {
  return {_mm512_add_ps(a.v, b.v)};
}
LANE_INLINE WideHalves operator*(WideHalves a, WideHalves b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
// The sum rounded to odd: of the two floats around an inexact sum the one whose last bit is set.
LANE_INLINE WideHalves add_odd(WideHalves a, WideHalves b) {
  const __m512 down =
      _mm512_maskz_add_round_ps(kAll, a.v, b.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  const __m512 up =
      _mm512_maskz_add_round_ps(kAll, a.v, b.v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  const __mmask16 inexact = _mm512_cmp_ps_mask(down, up, _CMP_NEQ_OQ);
  const __mmask16 odd = _mm512_test_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1));
  const __m512 s = _mm512_mask_mov_ps(_mm512_add_ps(a.v, b.v), inexact, up);
  return {_mm512_mask_mov_ps(s, inexact & odd, down)};
}
// The halves of 64 lanes as floats: the low ones, or the high ones (shift 16). NaNs become quiet.
LANE_INLINE void widen_halves(u32* t, const u32* src, u32 shift) {
  const __m128i by = _mm_cvtsi32_si128(static_cast<int>(shift));
  for (int l = 0; l < 64; l += 16) {
    const __m512i pairs = _mm512_loadu_si512(src + l);
    const __m256i h = _mm512_maskz_cvtepi32_epi16(kAll, _mm512_maskz_srl_epi32(kAll, pairs, by));
    _mm512_storeu_ps(t + l, _mm512_maskz_cvtph_ps(kAll, h));
  }
}

#else

struct WideHalves {
  static constexpr int kCount = 8;
  __m256 v;
  LANE_INLINE static WideHalves load(const u16* p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
  }
  LANE_INLINE void store(u16* p) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  LANE_INLINE bool any_nan() const {
    return _mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)) != 0;
  }
};
LANE_INLINE WideHalves operator+(WideHalves a, WideHalves b) {
  return {_mm256_add_ps(a.v, b.v)};
}
LANE_INLINE WideHalves operator*(WideHalves a, WideHalves b) {
  return {_mm256_mul_ps(a.v, b.v)};
}
// The sum rounded to odd: an inexact one with an even last bit moves a step towards what it misses.
LANE_INLINE WideHalves add_odd(WideHalves a, WideHalves b) {
  const __m256 s = _mm256_add_ps(a.v, b.v), t = _mm256_sub_ps(s, a.v);
  const __m256 missed =
      _mm256_add_ps(_mm256_sub_ps(a.v, _mm256_sub_ps(s, t)), _mm256_sub_ps(b.v, t));
  const __m256i bits = _mm256_castps_si256(s), one = _mm256_set1_epi32(1);
  const __m256i inexact =
      _mm256_castps_si256(_mm256_cmp_ps(missed, _mm256_setzero_ps(), _CMP_NEQ_OQ));
  const __m256i even = _mm256_cmpeq_epi32(_mm256_and_si256(bits, one), _mm256_setzero_si256());
  const __m256i apart = _mm256_srai_epi32(_mm256_castps_si256(_mm256_xor_ps(missed, s)), 31);
  const __m256i step =
      _mm256_and_si256(_mm256_or_si256(apart, one), _mm256_and_si256(inexact, even));
  return {_mm256_castsi256_ps(_mm256_add_epi32(bits, step))};
}
LANE_INLINE void widen_halves(u32* t, const u32* src, u32 shift) {
  const __m128i by = _mm_cvtsi32_si128(static_cast<int>(shift));
  for (int l = 0; l < 64; l += 8) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + l));
    const __m256i low = _mm256_and_si256(_mm256_srl_epi32(pairs, by), _mm256_set1_epi32(0xffff));
    const __m128i h =
        _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm256_storeu_ps(reinterpret_cast<float*>(t + l), _mm256_cvtph_ps(h));
  }
}

#endif

}  // namespace gfx906::GFX906_LANES_NS

// Sixteen logical lanes, whatever the machine: F32 (16 floats), I32 (16 ints), U8 (64 bytes: 16
// lanes of 4).
//
// The CPU kernels are written over these few operations. A lane is one output element, each
// operation rounds once, and nothing reduces across lanes but the functions named
// sum_lanes/max_lanes, whose order is fixed; hence every level (portable, AVX2, AVX-512) computes
// the same bits.
#pragma once

#include "veloce/cpu/isa.hpp"

#if defined(VELOCE_ISA_AVX512)
#include "veloce/cpu/simd_avx512.hpp"
#elif defined(VELOCE_ISA_AVX2)
#include "veloce/cpu/simd_avx2.hpp"
#else
#include "veloce/cpu/simd_portable.hpp"
#endif

namespace veloce::cpu::VELOCE_ISA_NS {

// Sum over the lanes by halves: lanes i and i+8, then i+4, i+2, i+1.
VELOCE_INLINE float sum_lanes(F32 a) {
  alignas(64) float v[16];
  store(v, a);
  for (int step = 8; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) v[i] += v[i + step];
  return v[0];
}

VELOCE_INLINE float max_lanes(F32 a) {
  alignas(64) float v[16];
  store(v, a);
  for (int step = 8; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) v[i] = v[i] > v[i + step] ? v[i] : v[i + step];
  return v[0];
}

// e^x within 1 ulp (tests/ops: 0.84) for x in [-87.3, 88.3], clamped outside: below, exactly 0;
// above, e^88.3. Range reduction x = n ln 2 + r with ln 2 in two parts, then 1 + r + r^2 q(r), q
// the polynomial of degree 4 with the least largest relative error for |r| <= 0.3475 (3e-9; the
// Taylor polynomial of that degree is off by 1.7e-7).
VELOCE_INLINE F32 exp(F32 x) {
  const F32 clamped = min(max(x, set1(-87.3f)), set1(88.3f));
  const I32 n = round_to_int(mul(clamped, set1(1.44269504088896341f)));
  const F32 nf = to_float(n);
  F32 r = fma(nf, set1(-0.693145751953125f), clamped);
  r = fma(nf, set1(-1.428606820309417e-6f), r);
  F32 p = set1(0.0013814222f);
  p = fma(p, r, set1(0.0083688991f));
  p = fma(p, r, set1(0.041668404f));
  p = fma(p, r, set1(0.1666651964f));
  p = fma(p, r, set1(0.49999994f));
  p = fma(p, r, set1(1.0f));
  p = fma(p, r, set1(1.0f));
  return zero_where_less(mul(p, exp2_int(n)), x, set1(-87.3f));
}

// x * sigmoid(x).
VELOCE_INLINE F32 silu(F32 x) {
  return div(x, add(set1(1.0f), exp(sub(zero_f32(), x))));
}

}  // namespace veloce::cpu::VELOCE_ISA_NS

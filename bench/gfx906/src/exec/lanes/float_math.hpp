// Elementary functions for whole rows of lanes, in double precision: accurate to far below an f32
// or f16 ulp, and free of branches and calls so that the loops over lanes are vectorised.
#pragma once

#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {

// Nearest integer, ties to even, in whatever rounding mode the host is.
#if defined(__clang__)
LANE_INLINE float round_even(float x) {
  const __m128 v = _mm_set_ss(x);
  return _mm_cvtss_f32(_mm_round_ss(v, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
LANE_INLINE double round_even(double x) {
  const __m128d v = _mm_set_sd(x);
  return _mm_cvtsd_f64(_mm_round_sd(v, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#else
LANE_INLINE float round_even(float x) {
  return __builtin_roundevenf(x);
}
LANE_INLINE double round_even(double x) {
  return __builtin_roundeven(x);
}
#endif

// 2^x, for |x| up to 2^20; beyond it the result is 0 or infinite all the same.
LANE_INLINE double exp2_of(double x) {
  x = x < -1000.0 ? -1000.0 : x > 1000.0 ? 1000.0 : x;  // NaN stays
  const double n = round_even(x), f = (x - n) * 0.69314718055994530942;
  // Taylor series of e^f on |f| <= 0.347: the first term left out is below 1e-13.
  double p = 1.0 / 3628800;
  p = p * f + 1.0 / 362880;
  p = p * f + 1.0 / 40320;
  p = p * f + 1.0 / 5040;
  p = p * f + 1.0 / 720;
  p = p * f + 1.0 / 120;
  p = p * f + 1.0 / 24;
  p = p * f + 1.0 / 6;
  p = p * f + 0.5;
  p = p * f + 1.0;
  p = p * f + 1.0;
  // n as the low bits of n + 1.5 * 2^52, moved to the exponent.
  const u64 bits = std::bit_cast<u64>(n + 0x1.8p52);
  const double scale = std::bit_cast<double>((bits + 1023) << 52);
  const double r = p * scale;
  return x != x ? x : r;
}

// log2 x of a finite positive x that is normal in double; -inf for zero, NaN for negatives, inf for
// inf.
LANE_INLINE double log2_of(double x) {
  const u64 u = std::bit_cast<u64>(x);
  // The exponent is taken so that the mantissa lies in [sqrt(1/2), sqrt(2)).
  const u64 shifted = u - 0x3fe6a09e667f3bcdull;
  const u64 e = shifted & 0xfff0000000000000ull;
  const double m = std::bit_cast<double>(u - e);
  // Exponent as a double without a 64-bit integer conversion.
  const double exponent = static_cast<double>(static_cast<i32>(static_cast<u32>(e >> 32)) >> 20);
  const double s = (m - 1.0) / (m + 1.0), q = s * s;
  double p = 1.0 / 17;
  p = p * q + 1.0 / 15;
  p = p * q + 1.0 / 13;
  p = p * q + 1.0 / 11;
  p = p * q + 1.0 / 9;
  p = p * q + 1.0 / 7;
  p = p * q + 1.0 / 5;
  p = p * q + 1.0 / 3;
  p = p * q + 1.0;
  double r = exponent + 2.0 * 1.44269504088896340736 * s * p;
  r = x == 0 ? -__builtin_inf() : r;
  r = x < 0 ? __builtin_nan("") : r;
  return x != x || x == __builtin_inf() ? x : r;
}

// sin(2 pi t) for |t| <= 1/4.
LANE_INLINE double sin_quarter(double t) {
  const double y = t * 6.28318530717958647693, q = y * y;
  double p = 1.0 / 355687428096000.0;
  p = p * q - 1.0 / 1307674368000.0;
  p = p * q + 1.0 / 6227020800.0;
  p = p * q - 1.0 / 39916800.0;
  p = p * q + 1.0 / 362880.0;
  p = p * q - 1.0 / 5040.0;
  p = p * q + 1.0 / 120.0;
  p = p * q - 1.0 / 6.0;
  return y + y * q * p;
}
// sin and cos of x turns.
LANE_INLINE double sin_turns(double x) {
  const double r = x - round_even(x);  // [-1/2, 1/2]
  const double t = r > 0.25 ? 0.5 - r : r < -0.25 ? -0.5 - r : r;
  return sin_quarter(t);
}
LANE_INLINE double cos_turns(double x) {
  const double r = __builtin_fabs(x - round_even(x));
  return sin_quarter(0.25 - r);
}

}  // namespace gfx906::GFX906_LANES_NS

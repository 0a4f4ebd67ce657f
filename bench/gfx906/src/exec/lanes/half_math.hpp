// Arithmetic on f16 held as bits: sums, products and fused multiply-adds rounded once.
#pragma once

#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {

// a * b + c rounded once to f16, round to nearest even. The product is exact in f32; the sum is
// rounded to odd.
LANE_INLINE u32 half_fma(u32 ha, u32 hb, u32 hc) {
  const float a = half_to_float(ha), b = half_to_float(hb), c = half_to_float(hc);
  const float p = a * b, s = p + c, t = s - p, err = (p - (s - t)) + (c - t);
  return float_to_half(settle(to_odd(s, err), a, b, c));
}

// Any rounding mode; the value is given exactly: as a double, with a sign of what it misses of the
// true value.
inline u32 double_to_half(double v, double err, u32 mode, bool overflow_to_max) {
  u64 u = std::bit_cast<u64>(v);
  if (nan64(u)) return static_cast<u32>(u >> 63) << 15 | 0x7e00 | (u >> 42 & 0x3ff);
  if (err != 0 && !(u & 1) && v - v == 0) u = (err > 0) == (v > 0) ? u + 1 : u - 1;  // round to odd
  const u32 sign = static_cast<u32>(u >> 63), exp = static_cast<u32>(u >> 52 & 2047);
  if (exp == 2047) return sign << 15 | 0x7c00;
  if (exp == 0) return sign << 15;
  // mantissa with its hidden bit; shift so that the last bit kept is f16's
  const u64 m = (u & 0xfffffffffffffull) | 1ull << 52;
  const int e = static_cast<int>(exp) - 1023;
  int shift = e < -14 ? 42 + (-14 - e) : 42;
  if (shift > 63) shift = 63;
  const u64 kept = m >> shift, rest = m & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  const u32 round = mode & 3;
  bool up = false;
  if (round == 0) up = rest > half || (rest == half && kept & 1);
  if (round == 1) up = rest && !sign;
  if (round == 2) up = rest && sign;
  u64 r = kept + (up ? 1 : 0);
  r = e < -14
          ? r
          : r + (static_cast<u64>(e + 14) << 10);  // the hidden bit adds one to the exponent field
  if (r >= 0x7c00) {
    const bool to_inf =
        !overflow_to_max && (round == 0 || (round == 1 && !sign) || (round == 2 && sign));
    r = to_inf ? 0x7c00 : 0x7bff;
  }
  return sign << 15 | static_cast<u32>(r);
}

// What MODE says for f16 outside the fast loops.
struct HalfMode {
  u32 mode;
  LANE_INLINE u32 in(u32 h) const { return mode & kDenormIn16_64 ? h : flush16(h & 0xffff); }
  LANE_INLINE u32 out(double v, double err) const {
    const u32 h = double_to_half(v, err, mode >> 2, mode & kFp16Ovfl && v - v == 0);
    return mode & kDenormOut16_64 ? h : flush16(h);
  }
};

// The IEEE rules of v_min_f16 and v_max_f16, as for f32.
template <bool kMax>
LANE_INLINE u32 half_select(u32 a, u32 b, bool ieee) {
  a &= 0xffff, b &= 0xffff;
  const float x = half_to_float(a), y = half_to_float(b);
  u32 r = x == y ? (kMax ? a & b : a | b) : (kMax ? x > y : x < y) ? a : b;
  r = nan16(b) ? a : r;
  r = nan16(a) ? b : r;
  r = ieee && snan16(b) ? b | 0x200 : r;
  r = ieee && snan16(a) ? a | 0x200 : r;
  return r;
}

}  // namespace gfx906::GFX906_LANES_NS

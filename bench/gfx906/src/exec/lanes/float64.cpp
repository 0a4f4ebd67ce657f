// 64-bit floating point.
#include "exec/lanes/float_math.hpp"
#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {
namespace {

// 2 / pi, 1216 bits behind the point.
constexpr u32 kTwoOverPi[38] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

template <class F, int N, bool kFlush>
LANE_INLINE double apply(const u32* a, const u32* b, const u32* c, int l) {
  double x = get<double>(a, l), y = N > 1 ? get<double>(b, l) : 0,
         z = N > 2 ? get<double>(c, l) : 0;
  if (kFlush) {
    x = flush(x);
    y = flush(y);
    z = flush(z);
  }
  if constexpr (N == 1) return F{}(x);
  if constexpr (N == 2) return F{}(x, y);
  if constexpr (N == 3) return F{}(x, y, z);
}
template <class F, int N>
__attribute__((noinline)) void general(u32* d, const u32* a, const u32* b, const u32* c, u32 mode) {
  const bool in = !(mode & kDenormIn16_64), out = !(mode & kDenormOut16_64);
  for (int l = 0; l < 64; ++l) {
    const double r = in ? apply<F, N, true>(a, b, c, l) : apply<F, N, false>(a, b, c, l);
    put(d, l, out ? flush(r) : r);
  }
}
template <class F, int N>
void loop64(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  if (!x.fp_default) {
    const Rounding rounding(x.mode >> 2 & 3);
    general<F, N>(d, a, b, c, x.mode);
    return;
  }
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) put(d, l, apply<F, N, false>(a, b, c, l));
}
template <class F>
Handler d1(F) {
  return value(loop64<F, 1>, NumType::kF64, NumType::kF64);
}
template <class F>
Handler d2(F) {
  return value(loop64<F, 2>, NumType::kF64, NumType::kF64);
}
template <class F>
Handler d3(F) {
  return value(loop64<F, 3>, NumType::kF64, NumType::kF64);
}

constexpr u64 kSign = 1ull << 63;
constexpr u64 bits(double x) {
  return std::bit_cast<u64>(x);
}
constexpr double real(u64 u) {
  return std::bit_cast<double>(u);
}
constexpr int exponent(double x) {
  return static_cast<int>(bits(x) >> 52 & 2047);
}
LANE_INLINE double quiet(double x) {
  return real(nan64(bits(x)) ? bits(x) | 1ull << 51 : bits(x));
}

template <bool kMax>
void min_max(u32* d, const u32* a, const u32* b, const u32*, LaneContext& x) {
  const bool ieee = x.mode & kIeee, in = !x.fp_default && !(x.mode & kDenormIn16_64);
  for (int l = 0; l < 64; ++l) {
    double p = get<double>(a, l), q = get<double>(b, l);
    if (in) p = flush(p), q = flush(q);
    const u64 same = kMax ? bits(p) & bits(q) : bits(p) | bits(q);
    u64 r = p == q ? same : (kMax ? p > q : p < q) ? bits(p) : bits(q);
    if (q != q) r = bits(p);
    if (p != p) r = bits(q);
    if (ieee && snan64(bits(q))) r = bits(quiet(q));
    if (ieee && snan64(bits(p))) r = bits(quiet(p));
    put(d, l, r);
  }
}

// x * 2^e with one rounding, in the host's rounding mode.
double scale(double x, i32 e) {
  e = e < -2200 ? -2200 : e > 2200 ? 2200 : e;
  // Only the last step may round, and it must not round twice: bring the mantissa down in one
  // product.
  const auto pow2 = [](int n) { return real(static_cast<u64>(1023 + n) << 52); };
  while (e > 1000) x *= pow2(1000), e -= 1000;
  if (e >= -1000) {
    const int own = exponent(x);
    if (own && own != 2047 && own + e > 0)
      return own + e >= 2047 ? x * pow2(e > 0 ? e : 0)
                             : real(bits(x) + (static_cast<u64>(static_cast<i64>(e)) << 52));
    return x * (e >= -1022 ? pow2(e) : 0);
  }
  // Below: move the exponent as far as it stays normal, then one rounding step.
  int own = exponent(x);
  if (own == 0) return x * pow2(-1000);  // a denormal shrinks to nothing but its rounding
  if (own == 2047) return x;
  const int down = own - 1 < -e ? own - 1 : -e;
  x = real(bits(x) - (static_cast<u64>(down) << 52));
  const int rest = -e - down;
  return rest ? x * pow2(rest > 1000 ? -1000 : -rest) : x;
}
void ldexp(u32* d, const u32* a, const u32* b, const u32*, LaneContext& x) {
  const Rounding rounding(x.mode >> 2 & 3);
  const bool in = !(x.mode & kDenormIn16_64), out = !(x.mode & kDenormOut16_64);
  for (int l = 0; l < 64; ++l) {
    const double v = get<double>(a, l), r = quiet(scale(in ? flush(v) : v, static_cast<i32>(b[l])));
    put(d, l, out ? flush(r) : r);
  }
}

double div_fixup(double q, double den, double num) {
  const u64 s = (bits(den) ^ bits(num)) & kSign;
  const double aden = __builtin_fabs(den), anum = __builtin_fabs(num), inf = __builtin_inf();
  if (num != num) return quiet(num);
  if (den != den) return quiet(den);
  if ((den == 0 && num == 0) || (aden == inf && anum == inf)) return real(0xfff8000000000000ull);
  if (den == 0 || anum == inf) return real(s | 0x7ff0000000000000ull);
  if (aden == inf || num == 0) return real(s);
  if (exponent(num) - exponent(den) < -1075) return real(s);
  if (exponent(den) == 2047 || q != q) return real(s | 0x7ff0000000000000ull);
  return real(s | (bits(q) & ~kSign));
}

void div_scale(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  u64 vcc = 0;
  for (int l = 0; l < 64; ++l) {
    const double v = get<double>(a, l), den = get<double>(b, l), num = get<double>(c, l);
    const auto tiny = [](double t) { return t != 0 && __builtin_fabs(t) < 0x1p-1022; };
    const bool is_den = bits(v) == bits(den), is_num = bits(v) == bits(num);
    double r = v;
    bool flag = false;
    if (num == 0 || den == 0) {
      r = real(0x7ff8000000000000ull);
    } else if (exponent(num) - exponent(den) >= 768) {
      flag = true;
      if (is_den) r = v * 0x1p128;
    } else if (exponent(den) == 0) {
      r = v * 0x1p128;
    } else if (tiny(1.0 / den) && tiny(num / den)) {
      flag = true;
      if (is_den) r = v * 0x1p-128;
    } else if (tiny(1.0 / den)) {
      r = v * 0x1p-128;
    } else if (tiny(num / den)) {
      flag = true;
      if (is_num) r = v * 0x1p128;
    } else if (exponent(num) <= 53) {
      r = v * 0x1p128;
    }
    put(d, l, r);
    vcc |= static_cast<u64>(flag) << l;
  }
  x.mask_out = vcc;
}

// Takes back the scaling of v_div_scale, as for f32; rounded once, by way of 113 bits.
double fma_scaled(double a, double b, double c) {
  using Wide = __float128;
  const Wide power = exponent(c) > 1023 ? static_cast<Wide>(0x1p128) : static_cast<Wide>(0x1p-128);
  const Wide sum = static_cast<Wide>(a) * static_cast<Wide>(b) + static_cast<Wide>(c);
  return settle(static_cast<double>(sum * power), a, b, c);
}
void div_fmas(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  for (int l = 0; l < 64; ++l) {
    const double p = get<double>(a, l), q = get<double>(b, l), r = get<double>(c, l);
    put(d, l, x.mask_in >> l & 1 ? fma_scaled(p, q, r) : settle(__builtin_fma(p, q, r), p, q, r));
  }
}

void frexp_exp(u32* d, const u32* a, const u32*, const u32*, LaneContext&) {
  for (int l = 0; l < 64; ++l) {
    const u64 u = get<u64>(a, l), m = u & 0xfffffffffffffull;
    const int e = static_cast<int>(u >> 52 & 2047);
    d[l] = static_cast<u32>(e == 2047 ? 0 : e ? e - 1022 : m ? 64 - __builtin_clzll(m) - 1074 : 0);
  }
}
double frexp_mant(double v) {
  const int e = exponent(v);
  if (e == 2047) return quiet(v);
  if (!e && v == 0) return v;
  const u64 u = e ? bits(v) : bits(v * 0x1p64);
  return real((u & ~0x7ff0000000000000ull) | 1022ull << 52);
}

// 53 bits of 2/pi from where segment b starts for an argument as large as a.
void trig_preop(u32* d, const u32* a, const u32* b, const u32*, LaneContext&) {
  for (int l = 0; l < 64; ++l) {
    const int e = exponent(get<double>(a, l));
    int shift = static_cast<int>(b[l] & 31) * 53;
    if (e > 1077) shift += e - 1077;
    u64 chunk = 0;
    for (int k = 0; k < 53; ++k) {
      const int at = shift + k;
      const u64 bit = at < 1201 ? kTwoOverPi[at / 32] >> (31 - at % 32) & 1 : 0;
      chunk = chunk << 1 | bit;
    }
    int power = -53 - shift;
    if (e >= 1968) power += 128;
    put(d, l, scale(static_cast<double>(chunk), power));
  }
}

}  // namespace

void add_float64(Table& t) {
  t[Op::v_add_f64] = d2([](double a, double b) { return settle(a + b, a, b); });
  t[Op::v_mul_f64] = d2([](double a, double b) { return settle(a * b, a, b); });
  t[Op::v_fma_f64] =
      d3([](double a, double b, double c) { return settle(__builtin_fma(a, b, c), a, b, c); });
  t[Op::v_min_f64] = value(min_max<false>, NumType::kF64, NumType::kF64);
  t[Op::v_max_f64] = value(min_max<true>, NumType::kF64, NumType::kF64);
  t[Op::v_ldexp_f64] = value(ldexp, NumType::kF64, NumType::kF64);
  t[Op::v_div_fixup_f64] = d3([](double a, double b, double c) { return div_fixup(a, b, c); });
  t[Op::v_div_scale_f64] = value(div_scale, NumType::kF64, NumType::kF64);
  t[Op::v_div_fmas_f64] = value(div_fmas, NumType::kF64, NumType::kF64);
  t[Op::v_trunc_f64] = d1([](double a) { return quiet(__builtin_trunc(a)); });
  t[Op::v_ceil_f64] = d1([](double a) { return quiet(__builtin_ceil(a)); });
  t[Op::v_floor_f64] = d1([](double a) { return quiet(__builtin_floor(a)); });
  t[Op::v_rndne_f64] = d1([](double a) { return quiet(round_even(a)); });
  t[Op::v_fract_f64] = d1([](double a) {
    const double r = settle(a - __builtin_floor(a), a, a);
    return r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
  });
  t[Op::v_frexp_mant_f64] = d1([](double a) { return frexp_mant(a); });
  t[Op::v_frexp_exp_i32_f64] = value(frexp_exp, NumType::kF64);
  t[Op::v_rcp_f64] = d1([](double a) { return settle(1.0 / a, a, a); });
  t[Op::v_rsq_f64] = d1([](double a) { return settle(1.0 / __builtin_sqrt(a), a, a); });
  t[Op::v_sqrt_f64] = d1([](double a) { return settle(__builtin_sqrt(a), a, a); });
  t[Op::v_trig_preop_f64] = value(trig_preop, NumType::kF64, NumType::kF64);
}

}  // namespace gfx906::GFX906_LANES_NS

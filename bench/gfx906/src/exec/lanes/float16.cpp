// 16-bit floating point in the low half of a lane; the high half of the result is zero.
#include "exec/lanes/float_math.hpp"
#include "exec/lanes/half_math.hpp"
#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {
namespace {

Handler half_value(CoreFn f, bool keep = false) {
  Handler h = value(f, NumType::kF16, NumType::kF16);
  h.keep_high = keep;
  return h;
}

// An operation whose exact value rounds innocently through f32 (sums, products, approximations): F
// on floats, G on doubles for the general path, where it must be exact or close.
template <class F, class G, int N>
void loop16(u32* d, const u32* a, const u32* b, const u32*, LaneContext& x) {
  if (x.fp_default) {
    LANES_IVDEP
    for (int l = 0; l < 64; ++l) {
      const float p = half_to_float(a[l] & 0xffff), q = N > 1 ? half_to_float(b[l] & 0xffff) : 0;
      float r;
      if constexpr (N == 1) r = settle(F{}(p), p, p);
      if constexpr (N == 2) r = settle(F{}(p, q), p, q);
      d[l] = float_to_half(r);
    }
    return;
  }
  const HalfMode m{x.mode};
  for (int l = 0; l < 64; ++l) {
    const double p = half_to_float(m.in(a[l]) & 0xffff),
                 q = N > 1 ? half_to_float(m.in(b[l]) & 0xffff) : 0;
    double r;
    if constexpr (N == 1) r = settle(G{}(p), p, p);
    if constexpr (N == 2) r = settle(G{}(p, q), p, q);
    d[l] = m.out(r, 0);
  }
}
template <class F, class G>
Handler h1(F, G) {
  return half_value(loop16<F, G, 1>);
}
template <class F, class G>
Handler h2(F, G) {
  return half_value(loop16<F, G, 2>);
}

void fma16(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  if (x.fp_default) {
    LANES_IVDEP
    for (int l = 0; l < 64; ++l) d[l] = half_fma(a[l] & 0xffff, b[l] & 0xffff, c[l] & 0xffff);
    return;
  }
  const HalfMode m{x.mode};
  for (int l = 0; l < 64; ++l) {
    const double p = half_to_float(m.in(a[l]) & 0xffff), q = half_to_float(m.in(b[l]) & 0xffff),
                 r = half_to_float(m.in(c[l]) & 0xffff);
    const double product = p * q, s = product + r, t = s - product,
                 err = (product - (s - t)) + (r - t);
    d[l] = m.out(settle(s, p, q, r), err);
  }
}

// v_mad_f16 flushes denormals and rounds the product first.
void mad16(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  const HalfMode m{x.mode & ~static_cast<u32>(kDenormIn16_64 | kDenormOut16_64)};
  for (int l = 0; l < 64; ++l) {
    const double p = half_to_float(m.in(a[l]) & 0xffff), q = half_to_float(m.in(b[l]) & 0xffff),
                 r = half_to_float(m.in(c[l]) & 0xffff);
    const double product = half_to_float(m.out(settle(p * q, p, q), 0));
    d[l] = m.out(settle(product + r, product, r), 0);
  }
}

template <int kPick>  // 0 min, 1 max, 2 min3, 3 max3, 4 med3
void pick16(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  const bool ieee = x.mode & kIeee;
  const HalfMode m{x.fp_default ? static_cast<u32>(kDenormIn16_64) : x.mode};
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const u32 p = m.in(a[l] & 0xffff), q = m.in(b[l] & 0xffff);
    if constexpr (kPick == 0) {
      d[l] = half_select<false>(p, q, ieee);
    } else if constexpr (kPick == 1) {
      d[l] = half_select<true>(p, q, ieee);
    } else {
      const u32 r = m.in(c[l] & 0xffff);
      const u32 low = half_select<false>(half_select<false>(p, q, ieee), r, ieee);
      const u32 high = half_select<true>(half_select<true>(p, q, ieee), r, ieee);
      const float h = half_to_float(high);
      const u32 mid = h == half_to_float(p)   ? half_select<true>(q, r, ieee)
                      : h == half_to_float(q) ? half_select<true>(p, r, ieee)
                                              : half_select<true>(p, q, ieee);
      const bool any_nan = nan16(p) || nan16(q) || nan16(r);
      d[l] = kPick == 2 ? low : kPick == 3 ? high : any_nan ? low : mid;
    }
  }
}

void ldexp16(u32* d, const u32* a, const u32* b, const u32*, LaneContext& x) {
  const HalfMode m{x.mode};
  for (int l = 0; l < 64; ++l) {
    const double v = half_to_float(m.in(a[l]) & 0xffff);
    int e = static_cast<i16>(b[l]);
    e = e < -100 ? -100 : e > 100 ? 100 : e;
    d[l] = m.out(settle(v * std::bit_cast<double>(static_cast<u64>(1023 + e) << 52), v, v), 0);
  }
}

void div_fixup16(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  const HalfMode m{x.mode};
  for (int l = 0; l < 64; ++l) {
    const u32 q = a[l] & 0xffff, den = m.in(b[l] & 0xffff), num = m.in(c[l] & 0xffff),
              s = (den ^ num) & 0x8000;
    const u32 ad = den & 0x7fff, an = num & 0x7fff;
    u32 r = s | (q & 0x7fff);
    if (nan16(num)) {
      r = num | 0x200;
    } else if (nan16(den)) {
      r = den | 0x200;
    } else if ((!ad && !an) || (ad == 0x7c00 && an == 0x7c00)) {
      r = 0xfe00;
    } else if (!ad || an == 0x7c00 || (nan16(q) && an && ad != 0x7c00)) {
      r = s | 0x7c00;
    } else if (ad == 0x7c00 || !an) {
      r = s;
    }
    d[l] = r;
  }
}

void frexp_mant16(u32* d, const u32* a, const u32*, const u32*, LaneContext&) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const u32 h = a[l] & 0xffff, e = h >> 10 & 31;
    const u32 f = std::bit_cast<u32>(half_to_float(h));  // normal in f32 unless zero
    const u32 m = float_to_half(std::bit_cast<float>((f & 0x807fffffu) | 126u << 23));
    d[l] = e == 31 ? (nan16(h) ? h | 0x200 : h) : (h & 0x7fff) ? m : h;
  }
}
void frexp_exp16(u32* d, const u32* a, const u32*, const u32*, LaneContext&) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const u32 h = a[l] & 0xffff, f = std::bit_cast<u32>(half_to_float(h));
    d[l] = (h & 0x7c00) == 0x7c00 || !(h & 0x7fff) ? 0 : ((f >> 23 & 255) - 126u) & 0xffff;
  }
}

void add_arithmetic(Table& t) {
  t[Op::v_add_f16] =
      h2([](float a, float b) { return a + b; }, [](double a, double b) { return a + b; });
  t[Op::v_sub_f16] =
      h2([](float a, float b) { return a - b; }, [](double a, double b) { return a - b; });
  t[Op::v_subrev_f16] =
      h2([](float a, float b) { return b - a; }, [](double a, double b) { return b - a; });
  t[Op::v_mul_f16] =
      h2([](float a, float b) { return a * b; }, [](double a, double b) { return a * b; });
  t[Op::v_min_f16] = half_value(pick16<0>);
  t[Op::v_max_f16] = half_value(pick16<1>);
  t[Op::v_min3_f16] = half_value(pick16<2>, true);
  t[Op::v_max3_f16] = half_value(pick16<3>, true);
  t[Op::v_med3_f16] = half_value(pick16<4>, true);
  t[Op::v_ldexp_f16] = half_value(ldexp16);
  t[Op::v_fma_f16] = half_value(fma16, true);
  t[Op::v_fma_legacy_f16] = half_value(fma16);
  t[Op::v_mad_f16] = half_value(mad16, true);
  t[Op::v_mad_legacy_f16] = t[Op::v_madmk_f16] = t[Op::v_madak_f16] = half_value(mad16);
  t[Op::v_mac_f16] = half_value(mad16);
  t[Op::v_mac_f16].accumulate = true;
  t[Op::v_div_fixup_f16] = half_value(div_fixup16, true);
  t[Op::v_div_fixup_legacy_f16] = half_value(div_fixup16);
}

}  // namespace

void add_float16(Table& t) {
  add_arithmetic(t);
  t[Op::v_rcp_f16] = h1([](float a) { return 1.0f / a; }, [](double a) { return 1.0 / a; });
  t[Op::v_sqrt_f16] =
      h1([](float a) { return __builtin_sqrtf(a); }, [](double a) { return __builtin_sqrt(a); });
  t[Op::v_rsq_f16] =
      h1([](float a) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a))); },
         [](double a) { return 1.0 / __builtin_sqrt(a); });
  t[Op::v_log_f16] = h1([](float a) { return static_cast<float>(log2_of(a)); },
                        [](double a) { return log2_of(a); });
  t[Op::v_exp_f16] = h1([](float a) { return static_cast<float>(exp2_of(a)); },
                        [](double a) { return exp2_of(a); });
  t[Op::v_sin_f16] = h1(
      [](float a) {
        return __builtin_fabsf(a) <= 256.0f ? static_cast<float>(sin_turns(a)) : a - a;
      },
      [](double a) { return __builtin_fabs(a) <= 256.0 ? sin_turns(a) : a - a; });
  t[Op::v_cos_f16] = h1(
      [](float a) {
        return __builtin_fabsf(a) <= 256.0f ? static_cast<float>(cos_turns(a)) : 1.0f + (a - a);
      },
      [](double a) { return __builtin_fabs(a) <= 256.0 ? cos_turns(a) : 1.0 + (a - a); });
  t[Op::v_floor_f16] =
      h1([](float a) { return __builtin_floorf(a); }, [](double a) { return __builtin_floor(a); });
  t[Op::v_ceil_f16] =
      h1([](float a) { return __builtin_ceilf(a); }, [](double a) { return __builtin_ceil(a); });
  t[Op::v_trunc_f16] =
      h1([](float a) { return __builtin_truncf(a); }, [](double a) { return __builtin_trunc(a); });
  t[Op::v_rndne_f16] =
      h1([](float a) { return round_even(a); }, [](double a) { return round_even(a); });
  t[Op::v_fract_f16] = h1(
      [](float a) {
        const float r = a - __builtin_floorf(a);
        return r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r;
      },
      [](double a) {
        const double r = a - __builtin_floor(a);
        return r > 0x1.ffcp-1 ? 0x1.ffcp-1 : r;
      });
  t[Op::v_frexp_mant_f16] = half_value(frexp_mant16);
  t[Op::v_frexp_exp_i16_f16] = value(frexp_exp16, NumType::kF16);
}

}  // namespace gfx906::GFX906_LANES_NS

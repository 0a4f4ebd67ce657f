// 32-bit floating point. The plain loops hold for the usual MODE (round to nearest even, denormals
// kept); any other MODE goes through the second loop, which flushes and rounds as MODE says.
#include "exec/lanes/float_math.hpp"
#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {
namespace {

template <class F, int N, bool kFlush>
LANE_INLINE float apply(const u32* a, const u32* b, const u32* c, int l) {
  float x = get<float>(a, l), y = N > 1 ? get<float>(b, l) : 0, z = N > 2 ? get<float>(c, l) : 0;
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
  const bool in = !(mode & kDenormIn32), out = !(mode & kDenormOut32);
  for (int l = 0; l < 64; ++l) {
    const float r = in ? apply<F, N, true>(a, b, c, l) : apply<F, N, false>(a, b, c, l);
    put(d, l, out ? flush(r) : r);
  }
}

template <class F, int N>
void loop32(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  if (!x.fp_default) {
    const Rounding rounding(x.mode & kRound32);
    general<F, N>(d, a, b, c, x.mode);
    return;
  }
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) put(d, l, apply<F, N, false>(a, b, c, l));
}
template <class F>
Handler f1(F) {
  return value(loop32<F, 1>, NumType::kF32, NumType::kF32);
}
template <class F>
Handler f2(F) {
  return value(loop32<F, 2>, NumType::kF32, NumType::kF32);
}
template <class F>
Handler f3(F) {
  return value(loop32<F, 3>, NumType::kF32, NumType::kF32);
}
Handler accumulating(Handler h) {
  h.accumulate = true;
  return h;
}

LANE_INLINE float quiet(float x) {
  const u32 u = std::bit_cast<u32>(x);
  return std::bit_cast<float>(nan32(u) ? u | 0x400000u : u);
}

// v_min and v_max: a number beats a NaN; with the IEEE bit a signalling NaN is passed on quiet. -0
// is less than +0.
template <bool kMax, bool kIeeeBit>
LANE_INLINE float select2(float a, float b) {
  const u32 ua = std::bit_cast<u32>(a), ub = std::bit_cast<u32>(b);
  const bool equal = a == b;  // differing zeros: minimum has the sign bit, maximum has not
  const u32 same = kMax ? ua & ub : ua | ub;
  u32 r = equal ? same : (kMax ? a > b : a < b) ? ua : ub;
  r = nan32(ub) ? ua : r;
  r = nan32(ua) ? ub : r;
  if (kIeeeBit) {
    r = snan32(ub) ? ub | 0x400000u : r;
    r = snan32(ua) ? ua | 0x400000u : r;
  }
  return std::bit_cast<float>(r);
}
template <bool kI>
LANE_INLINE float med3(float a, float b, float c) {
  const float low = select2<false, kI>(select2<false, kI>(a, b), c);
  const float high = select2<true, kI>(select2<true, kI>(a, b), c);
  const float m = high == a   ? select2<true, kI>(b, c)
                  : high == b ? select2<true, kI>(a, c)
                              : select2<true, kI>(a, b);
  return a != a || b != b || c != c ? low : m;
}

enum class Pick { kMin, kMax, kMin3, kMax3, kMed3 };
template <Pick P, bool kI>
LANE_INLINE float pick(float a, float b, float c) {
  switch (P) {
    case Pick::kMin:
      return select2<false, kI>(a, b);
    case Pick::kMax:
      return select2<true, kI>(a, b);
    case Pick::kMin3:
      return select2<false, kI>(select2<false, kI>(a, b), c);
    case Pick::kMax3:
      return select2<true, kI>(select2<true, kI>(a, b), c);
    default:
      return med3<kI>(a, b, c);
  }
}
template <Pick P>
void pick_loop(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  constexpr bool two = P == Pick::kMin || P == Pick::kMax;
  if (two) c = b;
  const bool keep = x.fp_default || (x.mode & kDenormIn32 && x.mode & kDenormOut32);
  if (x.mode & kIeee) {
    LANES_IVDEP
    for (int l = 0; l < 64; ++l) {
      const float p = get<float>(a, l), q = get<float>(b, l), r = get<float>(c, l);
      put(d, l, keep ? pick<P, true>(p, q, r) : pick<P, true>(flush(p), flush(q), flush(r)));
    }
  } else {
    LANES_IVDEP
    for (int l = 0; l < 64; ++l) {
      const float p = get<float>(a, l), q = get<float>(b, l), r = get<float>(c, l);
      put(d, l, keep ? pick<P, false>(p, q, r) : pick<P, false>(flush(p), flush(q), flush(r)));
    }
  }
}
template <Pick P>
Handler picker() {
  return value(pick_loop<P>, NumType::kF32, NumType::kF32);
}

// v_mad flushes denormals whatever MODE says, and rounds the product before the sum.
LANE_INLINE float mad(float a, float b, float c) {
  a = flush(a), b = flush(b), c = flush(c);
  const float p = flush(settle(a * b, a, b));
  return flush(settle(p + c, a != a || b != b ? p : a, c, p));
}

constexpr u32 exponent(float x) {
  return std::bit_cast<u32>(x) >> 23 & 255;
}
constexpr u32 sign(float x) {
  return std::bit_cast<u32>(x) & 0x80000000u;
}
constexpr float as_float(u32 u) {
  return std::bit_cast<float>(u);
}

float div_fixup(float q, float den, float num) {
  const u32 s = sign(den) ^ sign(num);
  const float aden = __builtin_fabsf(den), anum = __builtin_fabsf(num), inf = __builtin_inff();
  if (num != num) return quiet(num);
  if (den != den) return quiet(den);
  if ((den == 0 && num == 0) || (aden == inf && anum == inf)) return as_float(0xffc00000u);
  if (den == 0 || anum == inf) return as_float(s | 0x7f800000u);
  if (aden == inf || num == 0) return as_float(s);
  if (static_cast<int>(exponent(num)) - static_cast<int>(exponent(den)) < -150) return as_float(s);
  // A NaN quotient of two numbers is one whose steps overflowed.
  if (exponent(den) == 255 || q != q) return as_float(s | 0x7f800000u);
  return as_float(s | (std::bit_cast<u32>(q) & 0x7fffffffu));
}

void div_scale(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  u64 vcc = 0;
  for (int l = 0; l < 64; ++l) {
    const float v = get<float>(a, l), den = get<float>(b, l), num = get<float>(c, l);
    const auto tiny = [](double q) { return q != 0 && __builtin_fabs(q) < 0x1p-126; };
    const double quotient = static_cast<double>(num) / den;
    const bool is_den = std::bit_cast<u32>(v) == std::bit_cast<u32>(den),
               is_num = std::bit_cast<u32>(v) == std::bit_cast<u32>(num);
    float r = v;
    bool flag = false;
    if (num == 0 || den == 0) {
      r = as_float(0x7fc00000u);
    } else if (static_cast<int>(exponent(num)) - static_cast<int>(exponent(den)) >= 96) {
      flag = true;
      if (is_den) r = v * 0x1p64f;
    } else if (exponent(den) == 0) {
      r = v * 0x1p64f;
    } else if (tiny(1.0 / den) && tiny(quotient)) {
      flag = true;
      if (is_den) r = v * 0x1p-64f;
    } else if (tiny(1.0 / den)) {
      r = v * 0x1p-64f;
    } else if (tiny(quotient)) {
      flag = true;
      if (is_num) r = v * 0x1p64f;
    } else if (exponent(num) <= 23) {
      r = v * 0x1p64f;
    }
    put(d, l, r);
    vcc |= static_cast<u64>(flag) << l;
  }
  x.mask_out = vcc;
}

// Takes back the scaling of v_div_scale in lanes that VCC marks: the quotient estimate c says which
// way it went. The scaled sum is rounded once.
float fma_scaled(float a, float b, float c) {
  const double p = static_cast<double>(a) * b, s = p + c, t = s - p, err = (p - (s - t)) + (c - t);
  u64 u = std::bit_cast<u64>(s);
  if (err != 0 && !(u & 1) && s - s == 0) u = (err > 0) == (s > 0) ? u + 1 : u - 1;  // round to odd
  const double scaled = std::bit_cast<double>(u) * (exponent(c) > 127 ? 0x1p64 : 0x1p-64);
  return settle(static_cast<float>(scaled), a, b, c);
}
void div_fmas(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  const Rounding rounding(x.mode & kRound32);
  for (int l = 0; l < 64; ++l) {
    const float p = get<float>(a, l), q = get<float>(b, l), r = get<float>(c, l);
    put(d, l, x.mask_in >> l & 1 ? fma_scaled(p, q, r) : settle(__builtin_fmaf(p, q, r), p, q, r));
  }
}

// x * 2^e with one rounding; e is clamped to where the result has long been zero or infinite.
LANE_INLINE float scale(float x, i32 e) {
  e = e < -400 ? -400 : e > 400 ? 400 : e;
  const double p = std::bit_cast<double>(static_cast<u64>(1023 + e) << 52);
  return quiet(static_cast<float>(static_cast<double>(x) * p));
}
__attribute__((noinline)) void ldexp_loop(u32* d, const u32* a, const u32* b, bool in, bool out) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const float v = get<float>(a, l), r = scale(in ? flush(v) : v, static_cast<i32>(b[l]));
    put(d, l, out ? flush(r) : r);
  }
}
void ldexp(u32* d, const u32* a, const u32* b, const u32*, LaneContext& x) {
  const Rounding rounding(x.mode & kRound32);
  ldexp_loop(d, a, b, !(x.mode & kDenormIn32), !(x.mode & kDenormOut32));
}

void add_arithmetic(Table& t) {
  t[Op::v_add_f32] = f2([](float a, float b) { return settle(a + b, a, b); });
  t[Op::v_sub_f32] = f2([](float a, float b) { return settle(a - b, a, b); });
  t[Op::v_subrev_f32] = f2([](float a, float b) { return settle(b - a, a, b); });
  t[Op::v_mul_f32] = f2([](float a, float b) { return settle(a * b, a, b); });
  t[Op::v_mul_legacy_f32] =
      f2([](float a, float b) { return a == 0 || b == 0 ? 0.0f : settle(a * b, a, b); });
  const auto fma =
      f3([](float a, float b, float c) { return settle(__builtin_fmaf(a, b, c), a, b, c); });
  t[Op::v_fma_f32] = fma;
  t[Op::v_fmac_f32] = accumulating(fma);
  const auto unfused = f3([](float a, float b, float c) { return mad(a, b, c); });
  t[Op::v_mad_f32] = t[Op::v_madmk_f32] = t[Op::v_madak_f32] = unfused;
  t[Op::v_mac_f32] = accumulating(unfused);
  t[Op::v_mad_legacy_f32] = f3([](float a, float b, float c) {
    a = flush(a), b = flush(b), c = flush(c);
    return a == 0 || b == 0 ? quiet(c) : mad(a, b, c);
  });
  t[Op::v_min_f32] = picker<Pick::kMin>();
  t[Op::v_max_f32] = picker<Pick::kMax>();
  t[Op::v_min3_f32] = picker<Pick::kMin3>();
  t[Op::v_max3_f32] = picker<Pick::kMax3>();
  t[Op::v_med3_f32] = picker<Pick::kMed3>();
  t[Op::v_ldexp_f32] = value(ldexp, NumType::kF32, NumType::kF32);
  t[Op::v_div_fixup_f32] = f3([](float a, float b, float c) { return div_fixup(a, b, c); });
  t[Op::v_div_scale_f32] = value(div_scale, NumType::kF32, NumType::kF32);
  t[Op::v_div_fmas_f32] = value(div_fmas, NumType::kF32, NumType::kF32);
}

void add_rounding(Table& t) {
  t[Op::v_trunc_f32] = f1([](float a) { return quiet(__builtin_truncf(a)); });
  t[Op::v_ceil_f32] = f1([](float a) { return quiet(__builtin_ceilf(a)); });
  t[Op::v_floor_f32] = f1([](float a) { return quiet(__builtin_floorf(a)); });
  t[Op::v_rndne_f32] = f1([](float a) { return quiet(round_even(a)); });
  t[Op::v_fract_f32] = f1([](float a) {
    const float r = settle(a - __builtin_floorf(a), a, a);
    return r >= 1.0f ? 0x1.fffffep-1f : r;
  });
  t[Op::v_frexp_mant_f32] = f1([](float a) {
    const u32 u = std::bit_cast<u32>(a), e = u >> 23 & 255;
    const u32 normal = (u & 0x807fffffu) | 126u << 23;
    const u32 scaled = std::bit_cast<u32>(a * 0x1p64f);
    return e == 255 ? quiet(a)
           : e      ? as_float(normal)
           : u << 1 ? as_float((scaled & 0x807fffffu) | 126u << 23)
                    : a;
  });
  t[Op::v_frexp_exp_i32_f32] =
      value(lanes1<decltype([](u32 u) {
                     const u32 e = u >> 23 & 255, m = u & 0x7fffff;
                     const u32 tiny = 32u - static_cast<u32>(__builtin_clz(m | 1)) - 149u;
                     return e == 255 ? 0u : e ? e - 126u : m ? tiny : 0u;
                   }),
                   u32, u32>,
            NumType::kF32);
}

void add_transcendental(Table& t) {
  // These neither take nor make denormals.
  t[Op::v_rcp_f32] = t[Op::v_rcp_iflag_f32] = f1([](float a) {
    a = flush(a);
    return settle(flush(static_cast<float>(1.0 / static_cast<double>(a))), a, a);
  });
  t[Op::v_rsq_f32] = f1([](float a) {
    a = flush(a);
    return settle(static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a))), a, a);
  });
  t[Op::v_sqrt_f32] = f1([](float a) {
    a = flush(a);
    return settle(__builtin_sqrtf(a), a, a);
  });
  const auto exp2 =
      f1([](float a) { return settle(flush(static_cast<float>(exp2_of(flush(a)))), a, a); });
  const auto log2 = f1([](float a) {
    a = flush(a);
    return settle(static_cast<float>(log2_of(a)), a, a);
  });
  t[Op::v_exp_f32] = t[Op::v_exp_legacy_f32] = exp2;
  t[Op::v_log_f32] = t[Op::v_log_legacy_f32] = log2;
  t[Op::v_sin_f32] = f1([](float a) {
    a = flush(a);
    return settle(__builtin_fabsf(a) <= 256.0f ? static_cast<float>(sin_turns(a)) : a - a, a, a);
  });
  t[Op::v_cos_f32] = f1([](float a) {
    a = flush(a);
    return settle(__builtin_fabsf(a) <= 256.0f ? static_cast<float>(cos_turns(a)) : 1.0f + (a - a),
                  a, a);
  });
}

void add_cube(Table& t) {
  const auto major = [](float x, float y, float z) {
    const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
    return az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
  };
  using M = decltype(major);
  t[Op::v_cubeid_f32] = f3([](float x, float y, float z) {
    const int m = M{}(x, y, z);
    return m == 2 ? (z < 0 ? 5.0f : 4.0f) : m == 1 ? (y < 0 ? 3.0f : 2.0f) : (x < 0 ? 1.0f : 0.0f);
  });
  t[Op::v_cubesc_f32] = f3([](float x, float y, float z) {
    const int m = M{}(x, y, z);
    return m == 2 ? (z < 0 ? -x : x) : m == 1 ? x : (x < 0 ? z : -z);
  });
  t[Op::v_cubetc_f32] = f3([](float x, float y, float z) {
    const int m = M{}(x, y, z);
    return m == 1 ? (y < 0 ? -z : z) : -y;
  });
  t[Op::v_cubema_f32] = f3([](float x, float y, float z) {
    const int m = M{}(x, y, z);
    return 2.0f * (m == 2 ? z : m == 1 ? y : x);
  });
}

}  // namespace

void add_float32(Table& t) {
  add_arithmetic(t);
  add_rounding(t);
  add_transcendental(t);
  add_cube(t);
}

}  // namespace gfx906::GFX906_LANES_NS

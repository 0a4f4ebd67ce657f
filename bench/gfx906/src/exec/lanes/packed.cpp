// Packed 16-bit operations, mixed-precision FMA and the f16 dot product. Their half selects and
// signs are resolved before the lane loop: it sees plain pairs of halves, or plain floats for the
// mixed forms.
#include "exec/lanes/half_math.hpp"
#include "exec/lanes/half_wide.hpp"
#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {
namespace {

template <class F, int N>
void halves(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  const bool clamp = x.inst->clamp;
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const u32 z = N > 2 ? c[l] : 0;
    const u32 lo = F{}(a[l] & 0xffff, b[l] & 0xffff, z & 0xffff, clamp);
    const u32 hi = F{}(a[l] >> 16, b[l] >> 16, z >> 16, clamp);
    d[l] = (lo & 0xffff) | hi << 16;
  }
}
template <class F>
Handler p2(F) {
  return value(halves<F, 2>, NumType::kPacked);
}
template <class F>
Handler p3(F) {
  return value(halves<F, 3>, NumType::kPacked);
}
LANE_INLINE i32 s16(u32 v) {
  return static_cast<i16>(v);
}
LANE_INLINE u32 fit_i16(i32 v, bool clamp) {
  const i32 s = v < -32768 ? -32768 : v > 32767 ? 32767 : v;
  return static_cast<u32>(clamp ? s : v) & 0xffff;
}
LANE_INLINE u32 fit_u16(i64 v, bool clamp) {
  const i64 s = v < 0 ? 0 : v > 65535 ? 65535 : v;
  return static_cast<u32>(clamp ? s : v) & 0xffff;
}

void add_integers(Table& t) {
  t[Op::v_pk_mad_i16] = p3([](u32 a, u32 b, u32 c, bool k) {
    const i64 r = static_cast<i64>(s16(a)) * s16(b) + s16(c);
    const i64 s = r < -32768 ? -32768 : r > 32767 ? 32767 : r;
    return static_cast<u32>(k ? s : r) & 0xffff;
  });
  t[Op::v_pk_mad_u16] = p3([](u32 a, u32 b, u32 c, bool k) {
    return fit_u16(static_cast<i64>(static_cast<u64>(a) * b + c), k);
  });
  t[Op::v_pk_mul_lo_u16] = p2([](u32 a, u32 b, u32, bool) { return a * b & 0xffff; });
  t[Op::v_pk_add_i16] = p2([](u32 a, u32 b, u32, bool k) { return fit_i16(s16(a) + s16(b), k); });
  t[Op::v_pk_sub_i16] = p2([](u32 a, u32 b, u32, bool k) { return fit_i16(s16(a) - s16(b), k); });
  t[Op::v_pk_add_u16] =
      p2([](u32 a, u32 b, u32, bool k) { return fit_u16(static_cast<i64>(a) + b, k); });
  t[Op::v_pk_sub_u16] =
      p2([](u32 a, u32 b, u32, bool k) { return fit_u16(static_cast<i64>(a) - b, k); });
  t[Op::v_pk_lshlrev_b16] = p2([](u32 a, u32 b, u32, bool) { return b << (a & 15) & 0xffff; });
  t[Op::v_pk_lshrrev_b16] = p2([](u32 a, u32 b, u32, bool) { return b >> (a & 15); });
  t[Op::v_pk_ashrrev_i16] =
      p2([](u32 a, u32 b, u32, bool) { return static_cast<u32>(s16(b) >> (a & 15)) & 0xffff; });
  t[Op::v_pk_max_i16] = p2([](u32 a, u32 b, u32, bool) { return s16(a) > s16(b) ? a : b; });
  t[Op::v_pk_min_i16] = p2([](u32 a, u32 b, u32, bool) { return s16(a) < s16(b) ? a : b; });
  t[Op::v_pk_max_u16] = p2([](u32 a, u32 b, u32, bool) { return a > b ? a : b; });
  t[Op::v_pk_min_u16] = p2([](u32 a, u32 b, u32, bool) { return a < b ? a : b; });
}

enum class Pk { kAdd, kMul, kFma, kMin, kMax };
template <Pk P>
LANE_INLINE u32 fast_half(u32 a, u32 b, u32 c) {
  if constexpr (P == Pk::kFma) return half_fma(a, b, c);
  const float x = half_to_float(a), y = half_to_float(b);
  return float_to_half(settle(P == Pk::kAdd ? x + y : x * y, x, y));
}
template <Pk P>
u32 general_half(u32 a, u32 b, u32 c, const HalfMode& m) {
  a = m.in(a), b = m.in(b), c = m.in(c);
  if (P == Pk::kMin) return half_select<false>(a, b, m.mode & kIeee);
  if (P == Pk::kMax) return half_select<true>(a, b, m.mode & kIeee);
  const double x = half_to_float(a), y = half_to_float(b), z = half_to_float(c);
  if (P == Pk::kAdd) return m.out(settle(x + y, x, y), 0);
  if (P == Pk::kMul) return m.out(settle(x * y, x, y), 0);
  const double p = x * y, s = p + z, t = s - p, err = (p - (s - t)) + (z - t);
  return m.out(settle(s, x, y, z), err);
}
// A register's 64 pairs are 128 halves in a row.
template <Pk P>
void pk_default(u32* d, const u32* a, const u32* b, const u32* c) {
  for (int l = 0; l < 64; l += WideHalves::kCount / 2) {
    const auto at = [l](const u32* row) {
      return WideHalves::load(reinterpret_cast<const u16*>(row + l));
    };
    const WideHalves x = at(a), y = at(b);
    const WideHalves r = P == Pk::kAdd ? x + y : P == Pk::kMul ? x * y : add_odd(x * y, at(c));
    if (!r.any_nan()) {
      r.store(reinterpret_cast<u16*>(d + l));
      continue;
    }
    for (int k = l; k < l + WideHalves::kCount / 2; ++k) {
      const u32 lo = fast_half<P>(a[k] & 0xffff, b[k] & 0xffff, c[k] & 0xffff);
      const u32 hi = fast_half<P>(a[k] >> 16, b[k] >> 16, c[k] >> 16);
      d[k] = lo | hi << 16;
    }
  }
}
template <Pk P>
void pk_half(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  if (P != Pk::kFma) c = a;
  if (x.fp_default && P != Pk::kMin && P != Pk::kMax) {
    pk_default<P>(d, a, b, c);
    return;
  }
  const HalfMode m{x.mode};
  for (int l = 0; l < 64; ++l) {
    const u32 lo = general_half<P>(a[l] & 0xffff, b[l] & 0xffff, c[l] & 0xffff, m);
    const u32 hi = general_half<P>(a[l] >> 16, b[l] >> 16, c[l] >> 16, m);
    d[l] = lo | hi << 16;
  }
}

// The products are exact in f32; they are added to each other first, then to c.
__attribute__((noinline)) void dot2_general(u32* d, const u32* a, const u32* b, const u32* c,
                                            u32 mode) {
  const HalfMode m{mode};
  for (int l = 0; l < 64; ++l) {
    const float p0 = half_to_float(m.in(a[l] & 0xffff)), q0 = half_to_float(m.in(b[l] & 0xffff));
    const float p1 = half_to_float(m.in(a[l] >> 16)), q1 = half_to_float(m.in(b[l] >> 16));
    float z = get<float>(c, l);
    if (!(mode & kDenormIn32)) z = flush(z);
    const float r = settle((p0 * q0 + p1 * q1) + z, p0 * q0, p1 * q1, z);
    put(d, l, mode & kDenormOut32 ? r : flush(r));
  }
}
void dot2(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  if (!x.fp_default) {
    const Rounding rounding(x.mode & kRound32);
    dot2_general(d, a, b, c, x.mode);
    return;
  }
  alignas(64) u32 half[4][64];
  for (u32 k = 0; k < 4; ++k) widen_halves(half[k], k & 1 ? b : a, k & 2 ? 16 : 0);
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const float x0 = get<float>(half[0], l) * get<float>(half[1], l);
    const float x1 = get<float>(half[2], l) * get<float>(half[3], l);
    const float z = get<float>(c, l);
    put(d, l, settle((x0 + x1) + z, x0, x1, z));
  }
}

__attribute__((noinline)) void mix_general(u32* d, const u32* a, const u32* b, const u32* c,
                                           u32 mode) {
  const bool in = !(mode & kDenormIn32), out = !(mode & kDenormOut32);
  for (int l = 0; l < 64; ++l) {
    float p = get<float>(a, l), q = get<float>(b, l), r = get<float>(c, l);
    if (in) p = flush(p), q = flush(q), r = flush(r);
    const float v = settle(__builtin_fmaf(p, q, r), p, q, r);
    put(d, l, out ? flush(v) : v);
  }
}
// The sources are f32 by now. kHalf: the result is rounded on to f16, in the low half of the row.
template <bool kHalf>
void mix(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  if (x.fp_default) {
    LANES_IVDEP
    for (int l = 0; l < 64; ++l) {
      const float p = get<float>(a, l), q = get<float>(b, l), r = get<float>(c, l);
      const float v = settle(__builtin_fmaf(p, q, r), p, q, r);
      d[l] = kHalf ? float_to_half(v) : std::bit_cast<u32>(v);
    }
    return;
  }
  {
    const Rounding rounding(x.mode & kRound32);
    mix_general(d, a, b, c, x.mode);
  }
  const HalfMode m{x.mode};
  for (int l = 0; kHalf && l < 64; ++l) d[l] = m.out(get<float>(d, l), 0);
}

void pack_halves(u32* d, const u32* a, const u32* b, const u32*, LaneContext& x) {
  const HalfMode m{x.mode};
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) d[l] = (m.in(a[l] & 0xffff) & 0xffff) | m.in(b[l] & 0xffff) << 16;
}

}  // namespace

void add_packed(Table& t) {
  add_integers(t);
  t[Op::v_pk_add_f16] = value(pk_half<Pk::kAdd>, NumType::kPacked, NumType::kPacked);
  t[Op::v_pk_mul_f16] = value(pk_half<Pk::kMul>, NumType::kPacked, NumType::kPacked);
  t[Op::v_pk_fma_f16] = value(pk_half<Pk::kFma>, NumType::kPacked, NumType::kPacked);
  t[Op::v_pk_min_f16] = value(pk_half<Pk::kMin>, NumType::kPacked, NumType::kPacked);
  t[Op::v_pk_max_f16] = value(pk_half<Pk::kMax>, NumType::kPacked, NumType::kPacked);
  t[Op::v_dot2_f32_f16] = value(dot2, NumType::kPacked, NumType::kF32);
  t[Op::v_fma_mix_f32] = value(mix<false>, NumType::kMix, NumType::kF32);
  t[Op::v_fma_mixlo_f16] = value(mix<true>, NumType::kMix, NumType::kF16);
  t[Op::v_fma_mixhi_f16] = value(mix<true>, NumType::kMix, NumType::kF16);
  t[Op::v_fma_mixlo_f16].keep_high = t[Op::v_fma_mixhi_f16].keep_high = true;
  t[Op::v_pack_b32_f16] = value(pack_halves, NumType::kF16);
}

}  // namespace gfx906::GFX906_LANES_NS

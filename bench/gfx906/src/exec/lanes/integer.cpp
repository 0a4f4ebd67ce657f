// Integer and logic operations with one or two operands.
#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {
namespace {

template <class F>
Handler u2(F) {
  return value(lanes2<F, u32, u32, u32>);
}
template <class F>
Handler i2(F) {
  return value(lanes2<F, i32, i32, i32>);
}
template <class F>
Handler u1(F) {
  return value(lanes1<F, u32, u32>);
}

constexpr i32 sext24(u32 v) {
  return static_cast<i32>(v << 8) >> 8;
}
constexpr i64 sext24_64(u32 v) {
  return sext24(v);
}

// Sums and differences with clamp: unsigned results saturate to 0 or all ones, signed ones to their
// ends.
enum class Sat { kU32, kI32, kU16, kI16 };
template <Sat S, bool kSub, bool kSwap>
void add_sub(u32* d, const u32* a, const u32* b, const u32*, LaneContext& x) {
  const bool clamp = x.inst->clamp;
  if (kSwap) {
    const u32* t = a;
    a = b;
    b = t;
  }
  if (!clamp) {
    LANES_IVDEP
    for (int l = 0; l < 64; ++l) {
      const u32 r = kSub ? a[l] - b[l] : a[l] + b[l];
      d[l] = S == Sat::kU16 || S == Sat::kI16 ? r & 0xffff : r;
    }
    return;
  }
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    i64 p, q, lo, hi;
    if (S == Sat::kU32) {
      p = a[l], q = b[l], lo = 0, hi = 0xffffffffll;
    } else if (S == Sat::kI32) {
      p = static_cast<i32>(a[l]), q = static_cast<i32>(b[l]), lo = -0x80000000ll, hi = 0x7fffffff;
    } else if (S == Sat::kU16) {
      p = a[l] & 0xffff, q = b[l] & 0xffff, lo = 0, hi = 0xffff;
    } else {
      p = static_cast<i16>(a[l]), q = static_cast<i16>(b[l]), lo = -0x8000, hi = 0x7fff;
    }
    i64 r = kSub ? p - q : p + q;
    r = r < lo ? lo : r > hi ? hi : r;
    d[l] = static_cast<u32>(r) & (S == Sat::kU16 || S == Sat::kI16 ? 0xffffu : ~0u);
  }
}

// With carry or borrow out; kIn: and in.
template <bool kSub, bool kSwap, bool kIn>
void add_sub_carry(u32* d, const u32* a, const u32* b, const u32*, LaneContext& x) {
  alignas(64) u32 in[64], out[64];
  if (kIn) expand(x.mask_in, in);
  if (kSwap) {
    const u32* t = a;
    a = b;
    b = t;
  }
  const bool clamp = x.inst->clamp;
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const u32 c = kIn ? in[l] & 1 : 0;
    u32 r, o;
    if (kSub) {
      r = a[l] - b[l] - c;
      o = a[l] < b[l] || (a[l] == b[l] && c) ? ~0u : 0;
      r = clamp && o ? 0 : r;
    } else {
      r = a[l] + b[l] + c;
      o = r < a[l] || (r == a[l] && c && b[l] == ~0u) ? ~0u : 0;
      r = clamp && o ? ~0u : r;
    }
    d[l] = r;
    out[l] = o;
  }
  x.mask_out = pack(out);
}

void cndmask(u32* d, const u32* a, const u32* b, const u32*, LaneContext& x) {
  alignas(64) u32 m[64];
  expand(x.mask_in, m);
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) d[l] = m[l] ? b[l] : a[l];
}

void mul_hi_u32(u32* d, const u32* a, const u32* b, const u32*, LaneContext&) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) d[l] = static_cast<u32>((static_cast<u64>(a[l]) * b[l]) >> 32);
}

// Bits of the mask of lower lanes that are set, added to b; the mask is the low or high 32 lanes'
// operand.
template <bool kHigh>
void mbcnt(u32* d, const u32* a, const u32* b, const u32*, LaneContext&) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const u32 below = kHigh ? (l <= 32 ? 0u : ~0u >> (64 - l)) : (l >= 32 ? ~0u : (1u << l) - 1);
    d[l] = static_cast<u32>(__builtin_popcount(a[l] & below)) + b[l];
  }
}

constexpr u32 bit_reverse(u32 v) {
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(v);
}

constexpr u32 saturate_u8(i32 v) {
  return static_cast<u32>(v < 0 ? 0 : v > 255 ? 255 : v);
}

void add_one_operand(Table& t) {
  t[Op::v_mov_b32] = value(lanes1<decltype([](u32 a) { return a; }), u32, u32>,
                           NumType::kF32);  // sign modifiers are those of floats
  t[Op::v_not_b32] = u1([](u32 a) { return ~a; });
  t[Op::v_bfrev_b32] = u1([](u32 a) { return bit_reverse(a); });
  t[Op::v_ffbh_u32] = u1([](u32 a) { return a ? static_cast<u32>(__builtin_clz(a)) : ~0u; });
  t[Op::v_ffbl_b32] = u1([](u32 a) { return a ? static_cast<u32>(__builtin_ctz(a)) : ~0u; });
  t[Op::v_ffbh_i32] = u1([](u32 a) {
    const u32 v = static_cast<i32>(a) < 0 ? ~a : a;  // first bit that differs from the sign
    return v ? static_cast<u32>(__builtin_clz(v)) : ~0u;
  });
  t[Op::v_sat_pk_u8_i16] = u1([](u32 a) {
    return saturate_u8(static_cast<i16>(a)) | saturate_u8(static_cast<i16>(a >> 16)) << 8;
  });
}

void add_two_operands(Table& t) {
  t[Op::v_and_b32] = u2([](u32 a, u32 b) { return a & b; });
  t[Op::v_or_b32] = u2([](u32 a, u32 b) { return a | b; });
  t[Op::v_xor_b32] = u2([](u32 a, u32 b) { return a ^ b; });
  t[Op::v_xnor_b32] = u2([](u32 a, u32 b) { return ~(a ^ b); });
  t[Op::v_lshrrev_b32] = u2([](u32 a, u32 b) { return b >> (a & 31); });
  t[Op::v_lshlrev_b32] = u2([](u32 a, u32 b) { return b << (a & 31); });
  t[Op::v_ashrrev_i32] = i2([](i32 a, i32 b) { return b >> (a & 31); });
  t[Op::v_min_i32] = i2([](i32 a, i32 b) { return a < b ? a : b; });
  t[Op::v_max_i32] = i2([](i32 a, i32 b) { return a > b ? a : b; });
  t[Op::v_min_u32] = u2([](u32 a, u32 b) { return a < b ? a : b; });
  t[Op::v_max_u32] = u2([](u32 a, u32 b) { return a > b ? a : b; });
  t[Op::v_mul_i32_i24] =
      u2([](u32 a, u32 b) { return static_cast<u32>(sext24(a)) * static_cast<u32>(sext24(b)); });
  t[Op::v_mul_hi_i32_i24] =
      u2([](u32 a, u32 b) { return static_cast<u32>((sext24_64(a) * sext24_64(b)) >> 32); });
  t[Op::v_mul_u32_u24] = u2([](u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); });
  t[Op::v_mul_hi_u32_u24] = u2([](u32 a, u32 b) {
    return static_cast<u32>((static_cast<u64>(a & 0xffffff) * (b & 0xffffff)) >> 32);
  });
  t[Op::v_mul_lo_u32] = u2([](u32 a, u32 b) { return a * b; });
  t[Op::v_mul_hi_u32] = value(mul_hi_u32);
  t[Op::v_mul_hi_i32] = u2([](u32 a, u32 b) {
    return static_cast<u32>((static_cast<i64>(static_cast<i32>(a)) * static_cast<i32>(b)) >> 32);
  });
  t[Op::v_bcnt_u32_b32] =
      u2([](u32 a, u32 b) { return static_cast<u32>(__builtin_popcount(a)) + b; });
  t[Op::v_bfm_b32] = u2([](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); });
  t[Op::v_mbcnt_lo_u32_b32] = value(mbcnt<false>);
  t[Op::v_mbcnt_hi_u32_b32] = value(mbcnt<true>);
  t[Op::v_cndmask_b32] = value(cndmask, NumType::kF32);
  t[Op::v_lshlrev_b64] = of2<u64, u32, u64>([](u32 a, u64 b) { return b << (a & 63); });
  t[Op::v_lshrrev_b64] = of2<u64, u32, u64>([](u32 a, u64 b) { return b >> (a & 63); });
  t[Op::v_ashrrev_i64] = of2<i64, u32, i64>([](u32 a, i64 b) { return b >> (a & 63); });
  t[Op::v_cvt_pk_u16_u32] = u2(
      [](u32 a, u32 b) { return (a > 0xffff ? 0xffffu : a) | (b > 0xffff ? 0xffffu : b) << 16; });
  t[Op::v_cvt_pk_i16_i32] = i2([](i32 a, i32 b) {
    const i32 p = a < -32768  ? -32768
                  : a > 32767 ? 32767
                              : a,
              q = b < -32768  ? -32768
                  : b > 32767 ? 32767
                              : b;
    return static_cast<i32>((static_cast<u32>(p) & 0xffff) | static_cast<u32>(q) << 16);
  });
}

void add_sums(Table& t) {
  t[Op::v_add_u32] = value(add_sub<Sat::kU32, false, false>);
  t[Op::v_sub_u32] = value(add_sub<Sat::kU32, true, false>);
  t[Op::v_subrev_u32] = value(add_sub<Sat::kU32, true, true>);
  t[Op::v_add_i32] = value(add_sub<Sat::kI32, false, false>);
  t[Op::v_sub_i32] = value(add_sub<Sat::kI32, true, false>);
  t[Op::v_add_u16] = value(add_sub<Sat::kU16, false, false>);
  t[Op::v_sub_u16] = value(add_sub<Sat::kU16, true, false>);
  t[Op::v_subrev_u16] = value(add_sub<Sat::kU16, true, true>);
  t[Op::v_add_i16] = value(add_sub<Sat::kI16, false, false>);
  t[Op::v_sub_i16] = value(add_sub<Sat::kI16, true, false>);
  t[Op::v_add_i16].keep_high = t[Op::v_sub_i16].keep_high = true;
  t[Op::v_add_co_u32] = value(add_sub_carry<false, false, false>);
  t[Op::v_sub_co_u32] = value(add_sub_carry<true, false, false>);
  t[Op::v_subrev_co_u32] = value(add_sub_carry<true, true, false>);
  t[Op::v_addc_co_u32] = value(add_sub_carry<false, false, true>);
  t[Op::v_subb_co_u32] = value(add_sub_carry<true, false, true>);
  t[Op::v_subbrev_co_u32] = value(add_sub_carry<true, true, true>);
}

void add_16bit(Table& t) {
  t[Op::v_mul_lo_u16] = u2([](u32 a, u32 b) { return (a & 0xffff) * (b & 0xffff) & 0xffff; });
  t[Op::v_lshlrev_b16] = u2([](u32 a, u32 b) { return (b & 0xffff) << (a & 15) & 0xffff; });
  t[Op::v_lshrrev_b16] = u2([](u32 a, u32 b) { return (b & 0xffff) >> (a & 15); });
  t[Op::v_ashrrev_i16] = u2([](u32 a, u32 b) {
    return static_cast<u32>(static_cast<i32>(b << 16) >> 16 >> (a & 15)) & 0xffff;
  });
  t[Op::v_max_u16] =
      u2([](u32 a, u32 b) { return (a & 0xffff) > (b & 0xffff) ? a & 0xffff : b & 0xffff; });
  t[Op::v_min_u16] =
      u2([](u32 a, u32 b) { return (a & 0xffff) < (b & 0xffff) ? a & 0xffff : b & 0xffff; });
  t[Op::v_max_i16] =
      u2([](u32 a, u32 b) { return (static_cast<i16>(a) > static_cast<i16>(b) ? a : b) & 0xffff; });
  t[Op::v_min_i16] =
      u2([](u32 a, u32 b) { return (static_cast<i16>(a) < static_cast<i16>(b) ? a : b) & 0xffff; });
}

}  // namespace

void add_integer(Table& t) {
  add_one_operand(t);
  add_two_operands(t);
  add_sums(t);
  add_16bit(t);
}

}  // namespace gfx906::GFX906_LANES_NS

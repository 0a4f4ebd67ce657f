// Integer operations with three operands: multiply-add, bit fields, byte permutes, sums of
// differences, dot products.
#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {
namespace {

template <class F>
Handler u3(F f) {
  return of3<u32, u32, u32, u32>(f);
}
// 16-bit results of the gfx9 forms leave the other half of the register alone.
Handler kept(Handler h) {
  h.keep_high = true;
  return h;
}

constexpr i64 sext24(u32 v) {
  return static_cast<i32>(v << 8) >> 8;
}

template <class T>
constexpr T med3(T a, T b, T c) {
  const T lo = a < b ? a : b, hi = a < b ? b : a;
  return c < lo ? lo : c > hi ? hi : c;
}

// D = A * B + C over the given widths; clamp saturates.
enum class Mad { kI24, kU24, kU16, kI16, kU32U16, kI32I16 };
template <Mad M>
void mad(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  const bool clamp = x.inst->clamp;
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    if constexpr (M == Mad::kI24 || M == Mad::kI32I16) {
      const i64 p = M == Mad::kI24 ? sext24(a[l]) : static_cast<i16>(a[l]),
                q = M == Mad::kI24 ? sext24(b[l]) : static_cast<i16>(b[l]);
      const i64 product = M == Mad::kI24 ? static_cast<i32>(p * q) : p * q;
      const i64 r = product + static_cast<i32>(c[l]);
      const i64 s = r < -0x80000000ll ? -0x80000000ll : r > 0x7fffffff ? 0x7fffffff : r;
      d[l] = static_cast<u32>(clamp ? s : r);
    } else if constexpr (M == Mad::kU24 || M == Mad::kU32U16) {
      const u32 m = M == Mad::kU24 ? 0xffffff : 0xffff;
      const u64 r = static_cast<u64>((a[l] & m) * (b[l] & m)) + c[l];
      d[l] = clamp && r > 0xffffffffu ? ~0u : static_cast<u32>(r);
    } else if constexpr (M == Mad::kU16) {
      const u64 r = static_cast<u64>(a[l] & 0xffff) * (b[l] & 0xffff) + (c[l] & 0xffff);
      d[l] = (clamp && r > 0xffff ? 0xffff : static_cast<u32>(r)) & 0xffff;
    } else {
      const i64 r = static_cast<i64>(static_cast<i16>(a[l])) * static_cast<i16>(b[l]) +
                    static_cast<i16>(c[l]);
      const i64 s = r < -32768 ? -32768 : r > 32767 ? 32767 : r;
      d[l] = static_cast<u32>(clamp ? s : r) & 0xffff;
    }
  }
}

// 32 x 32 + 64, with carry out of the 64-bit sum.
template <bool kSigned>
void mad64(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  alignas(64) u32 out[64];
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const u64 add = get<u64>(c, l);
    u64 r;
    bool over;
    if (kSigned) {
      const i64 p = static_cast<i64>(static_cast<i32>(a[l])) * static_cast<i32>(b[l]);
      r = static_cast<u64>(p) + add;
      over = ((static_cast<u64>(p) ^ r) & (add ^ r)) >> 63;
    } else {
      r = static_cast<u64>(a[l]) * b[l] + add;
      over = r < add;
    }
    put(d, l, r);
    out[l] = over ? ~0u : 0;
  }
  x.mask_out = pack(out);
}

constexpr u32 byte(u32 v, int k) {
  return v >> (8 * k) & 255;
}
constexpr u32 absdiff(u32 a, u32 b) {
  return a > b ? a - b : b - a;
}
constexpr u32 sad8(u32 a, u32 b) {
  return absdiff(byte(a, 0), byte(b, 0)) + absdiff(byte(a, 1), byte(b, 1)) +
         absdiff(byte(a, 2), byte(b, 2)) + absdiff(byte(a, 3), byte(b, 3));
}
// Bytes whose reference (b) is zero do not count.
constexpr u32 msad8(u32 a, u32 b) {
  u32 s = 0;
  for (int k = 0; k < 4; ++k) s += byte(b, k) ? absdiff(byte(a, k), byte(b, k)) : 0;
  return s;
}

// Selector values 0-3: bytes of b, 4-7: bytes of a, 8-11: sign fills, 12: 0, above: 0xff.
constexpr u32 perm_byte(u32 a, u32 b, u32 sel) {
  const u64 both = static_cast<u64>(a) << 32 | b;
  const u32 plain = static_cast<u32>(both >> (8 * (sel & 7))) & 255;
  const u32 sign_of = sel == 8 ? b >> 15 : sel == 9 ? b >> 31 : sel == 10 ? a >> 15 : a >> 31;
  const u32 sign = sign_of & 1 ? 255u : 0u;
  return sel < 8 ? plain : sel < 12 ? sign : sel == 12 ? 0u : 255u;
}
void perm(u32* d, const u32* a, const u32* b, const u32* c, LaneContext&) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const u32 s = c[l];
    d[l] = perm_byte(a[l], b[l], s & 255) | perm_byte(a[l], b[l], s >> 8 & 255) << 8 |
           perm_byte(a[l], b[l], s >> 16 & 255) << 16 | perm_byte(a[l], b[l], s >> 24) << 24;
  }
}

// Four sums over a sliding window of the 64-bit a, packed as 16-bit or spread over four dwords.
template <bool kMasked, bool kWide>
void quad_sad(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  for (int l = 0; l < 64; ++l) {
    const u64 wide = get<u64>(a, l);
    u32 out[4];
    for (int k = 0; k < 4; ++k) {
      const u32 window = static_cast<u32>(wide >> (8 * k));
      const u32 sum = kMasked ? msad8(window, b[l]) : sad8(window, b[l]);
      if (kWide) {
        const u64 r = static_cast<u64>(c[64 * k + l]) + sum;
        out[k] = x.inst->clamp && r > 0xffffffffu ? ~0u : static_cast<u32>(r);
      } else {
        const u32 r = (c[64 * (k / 2) + l] >> (16 * (k & 1)) & 0xffff) + sum;
        out[k] = x.inst->clamp && r > 0xffff ? 0xffff : r & 0xffff;
      }
    }
    if (kWide) {
      for (int k = 0; k < 4; ++k) d[64 * k + l] = out[k];
    } else {
      d[l] = out[0] | out[1] << 16;
      d[64 + l] = out[2] | out[3] << 16;
    }
  }
}

template <bool kSigned>
void dot4(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  if (!x.inst->clamp) {
    LANES_IVDEP
    for (int l = 0; l < 64; ++l) {
      if (kSigned) {
        // Even and odd bytes as pairs of 16-bit numbers.
        const i32 p = static_cast<i32>(a[l]), q = static_cast<i32>(b[l]);
        const i32 s0 = (p << 24 >> 24) * (q << 24 >> 24) + (p << 16 >> 24) * (q << 16 >> 24);
        const i32 s1 = (p << 8 >> 24) * (q << 8 >> 24) + (p >> 24) * (q >> 24);
        d[l] = static_cast<u32>(s0 + s1) + c[l];
      } else {
        d[l] = (a[l] & 255) * (b[l] & 255) + (a[l] >> 8 & 255) * (b[l] >> 8 & 255) +
               (a[l] >> 16 & 255) * (b[l] >> 16 & 255) + (a[l] >> 24) * (b[l] >> 24) + c[l];
      }
    }
    return;
  }
  for (int l = 0; l < 64; ++l) {
    i64 s = kSigned ? static_cast<i64>(static_cast<i32>(c[l])) : static_cast<i64>(c[l]);
    for (int k = 0; k < 4; ++k) {
      s += kSigned ? static_cast<int8_t>(byte(a[l], k)) * static_cast<int8_t>(byte(b[l], k))
                   : static_cast<i32>(byte(a[l], k) * byte(b[l], k));
    }
    const i64 lo = kSigned ? -0x80000000ll : 0, hi = kSigned ? 0x7fffffffll : 0xffffffffll;
    d[l] = static_cast<u32>(s < lo ? lo : s > hi ? hi : s);
  }
}

template <bool kSigned>
void dot8(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  const bool clamp = x.inst->clamp;
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    i32 dot = 0;
    for (int k = 0; k < 8; ++k) {
      const u32 p = a[l] << (28 - 4 * k), q = b[l] << (28 - 4 * k);
      dot += kSigned ? (static_cast<i32>(p) >> 28) * (static_cast<i32>(q) >> 28)
                     : static_cast<i32>((p >> 28) * (q >> 28));
    }
    const i64 s =
        dot + (kSigned ? static_cast<i64>(static_cast<i32>(c[l])) : static_cast<i64>(c[l]));
    const i64 lo = kSigned ? -0x80000000ll : 0, hi = kSigned ? 0x7fffffffll : 0xffffffffll;
    d[l] = static_cast<u32>(!clamp ? s : s < lo ? lo : s > hi ? hi : s);
  }
}

template <bool kSigned>
void dot2(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  const bool clamp = x.inst->clamp;
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    i64 s;
    if (kSigned) {
      s = static_cast<i64>(static_cast<i16>(a[l])) * static_cast<i16>(b[l]) +
          static_cast<i64>(static_cast<i16>(a[l] >> 16)) * static_cast<i16>(b[l] >> 16) +
          static_cast<i32>(c[l]);
    } else {
      s = static_cast<i64>(static_cast<u64>(a[l] & 0xffff) * (b[l] & 0xffff) +
                           static_cast<u64>(a[l] >> 16) * (b[l] >> 16) + c[l]);
    }
    const i64 lo = kSigned ? -0x80000000ll : 0, hi = kSigned ? 0x7fffffffll : 0xffffffffll;
    d[l] = static_cast<u32>(!clamp ? s : s < lo ? lo : s > hi ? hi : s);
  }
}

void add_fields(Table& t) {
  t[Op::v_bfe_u32] = u3([](u32 a, u32 b, u32 c) { return a >> (b & 31) & ((1u << (c & 31)) - 1); });
  t[Op::v_bfe_i32] = u3([](u32 a, u32 b, u32 c) {
    // A field that passes bit 31 is filled with the sign of a.
    const u32 off = b & 31, width = c & 31;
    const u32 shifted = static_cast<u32>(static_cast<i32>(a) >> off);
    return width ? static_cast<u32>(static_cast<i32>(shifted << (32 - width)) >> (32 - width)) : 0u;
  });
  t[Op::v_bfi_b32] = u3([](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); });
  t[Op::v_alignbit_b32] = u3([](u32 a, u32 b, u32 c) {
    return static_cast<u32>((static_cast<u64>(a) << 32 | b) >> (c & 31));
  });
  t[Op::v_alignbyte_b32] = u3([](u32 a, u32 b, u32 c) {
    return static_cast<u32>((static_cast<u64>(a) << 32 | b) >> (8 * (c & 3)));
  });
  t[Op::v_lerp_u8] = u3([](u32 a, u32 b, u32 c) {
    u32 r = 0;
    for (int k = 0; k < 4; ++k) r |= ((byte(a, k) + byte(b, k) + (byte(c, k) & 1)) >> 1) << (8 * k);
    return r;
  });
  t[Op::v_perm_b32] = value(perm);
  t[Op::v_xad_u32] = u3([](u32 a, u32 b, u32 c) { return (a ^ b) + c; });
  t[Op::v_lshl_add_u32] = u3([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; });
  t[Op::v_add_lshl_u32] = u3([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); });
  t[Op::v_add3_u32] = u3([](u32 a, u32 b, u32 c) { return a + b + c; });
  t[Op::v_lshl_or_b32] = u3([](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; });
  t[Op::v_and_or_b32] = u3([](u32 a, u32 b, u32 c) { return (a & b) | c; });
  t[Op::v_or3_b32] = u3([](u32 a, u32 b, u32 c) { return a | b | c; });
}

template <class T>
void add_min_max(Table& t, Op min3, Op max3, Op mid) {
  constexpr auto low = [](T a, T b, T c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); };
  constexpr auto high = [](T a, T b, T c) { return a > b ? (a > c ? a : c) : (b > c ? b : c); };
  constexpr auto middle = [](T a, T b, T c) { return med3(a, b, c); };
  t[min3] = of3<T, T, T, T>(low);
  t[max3] = of3<T, T, T, T>(high);
  t[mid] = of3<T, T, T, T>(middle);
}

template <class T>
void add_min_max16(Table& t, Op min3, Op max3, Op mid) {
  constexpr auto low = [](u32 a, u32 b, u32 c) {
    const T x = static_cast<T>(a), y = static_cast<T>(b), z = static_cast<T>(c);
    return static_cast<u32>(static_cast<u16>(x < y ? (x < z ? x : z) : (y < z ? y : z)));
  };
  constexpr auto high = [](u32 a, u32 b, u32 c) {
    const T x = static_cast<T>(a), y = static_cast<T>(b), z = static_cast<T>(c);
    return static_cast<u32>(static_cast<u16>(x > y ? (x > z ? x : z) : (y > z ? y : z)));
  };
  constexpr auto middle = [](u32 a, u32 b, u32 c) {
    return static_cast<u32>(
        static_cast<u16>(med3(static_cast<T>(a), static_cast<T>(b), static_cast<T>(c))));
  };
  t[min3] = kept(of3<u32, u32, u32, u32>(low));
  t[max3] = kept(of3<u32, u32, u32, u32>(high));
  t[mid] = kept(of3<u32, u32, u32, u32>(middle));
}

}  // namespace

void add_integer3(Table& t) {
  add_fields(t);
  add_min_max<u32>(t, Op::v_min3_u32, Op::v_max3_u32, Op::v_med3_u32);
  add_min_max<i32>(t, Op::v_min3_i32, Op::v_max3_i32, Op::v_med3_i32);
  add_min_max16<u16>(t, Op::v_min3_u16, Op::v_max3_u16, Op::v_med3_u16);
  add_min_max16<i16>(t, Op::v_min3_i16, Op::v_max3_i16, Op::v_med3_i16);
  t[Op::v_mad_i32_i24] = value(mad<Mad::kI24>);
  t[Op::v_mad_u32_u24] = value(mad<Mad::kU24>);
  t[Op::v_mad_u16] = kept(value(mad<Mad::kU16>));
  t[Op::v_mad_i16] = kept(value(mad<Mad::kI16>));
  t[Op::v_mad_legacy_u16] = value(mad<Mad::kU16>);
  t[Op::v_mad_legacy_i16] = value(mad<Mad::kI16>);
  t[Op::v_mad_u32_u16] = value(mad<Mad::kU32U16>);
  t[Op::v_mad_i32_i16] = value(mad<Mad::kI32I16>);
  t[Op::v_mad_u64_u32] = value(mad64<false>);
  t[Op::v_mad_i64_i32] = value(mad64<true>);
  t[Op::v_sad_u8] = u3([](u32 a, u32 b, u32 c) { return sad8(a, b) + c; });
  t[Op::v_sad_hi_u8] = u3([](u32 a, u32 b, u32 c) { return (sad8(a, b) << 16) + c; });
  t[Op::v_sad_u16] = u3([](u32 a, u32 b, u32 c) {
    return absdiff(a & 0xffff, b & 0xffff) + absdiff(a >> 16, b >> 16) + c;
  });
  t[Op::v_sad_u32] = u3([](u32 a, u32 b, u32 c) { return absdiff(a, b) + c; });
  t[Op::v_msad_u8] = u3([](u32 a, u32 b, u32 c) { return msad8(a, b) + c; });
  t[Op::v_qsad_pk_u16_u8] = value(quad_sad<false, false>);
  t[Op::v_mqsad_pk_u16_u8] = value(quad_sad<true, false>);
  t[Op::v_mqsad_u32_u8] = value(quad_sad<true, true>);
  t[Op::v_dot4_i32_i8] = value(dot4<true>);
  t[Op::v_dot4_u32_u8] = value(dot4<false>);
  t[Op::v_dot8_i32_i4] = value(dot8<true>);
  t[Op::v_dot8_u32_u4] = value(dot8<false>);
  t[Op::v_dot2_i32_i16] = value(dot2<true>, NumType::kPacked);
  t[Op::v_dot2_u32_u16] = value(dot2<false>, NumType::kPacked);
}

}  // namespace gfx906::GFX906_LANES_NS

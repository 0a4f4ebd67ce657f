// The integer half of valu_reference.cpp.
#include <algorithm>
#include <cstdlib>

#include "valu_reference.hpp"

namespace gfx906_test {
namespace {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using i128 = __int128;
using Table = std::map<std::string, Reference>;

Want bits(u64 v) {
  return {v, false, 0};
}
i64 saturate(i128 v, i64 lo, i64 hi) {
  return static_cast<i64>(v < lo ? lo : v > hi ? hi : v);
}
u64 fit(i128 v, const Lane& l, i64 lo, i64 hi, u64 mask) {
  return static_cast<u64>(l.clamp ? static_cast<i128>(saturate(v, lo, hi)) : v) & mask;
}
constexpr i64 kMinI32 = -2147483648ll, kMaxI32 = 2147483647ll, kMaxU32 = 4294967295ll;
i64 i24(u64 v) {
  return static_cast<i32>(static_cast<u32>(v) << 8) >> 8;
}

void add_integer(Table& t) {
  const auto simple = [&](const char* name, auto f) {
    t[name] = [f](const Lane& l) {
      return bits(
          static_cast<u32>(f(static_cast<u32>(l.a), static_cast<u32>(l.b), static_cast<u32>(l.c))));
    };
  };
  simple("v_and_b32", [](u32 a, u32 b, u32) { return a & b; });
  simple("v_or_b32", [](u32 a, u32 b, u32) { return a | b; });
  simple("v_xor_b32", [](u32 a, u32 b, u32) { return a ^ b; });
  simple("v_xnor_b32", [](u32 a, u32 b, u32) { return ~(a ^ b); });
  simple("v_mov_b32", [](u32 a, u32, u32) { return a; });
  simple("v_not_b32", [](u32 a, u32, u32) { return ~a; });
  simple("v_lshrrev_b32", [](u32 a, u32 b, u32) { return static_cast<u64>(b) >> (a % 32); });
  simple("v_lshlrev_b32", [](u32 a, u32 b, u32) { return static_cast<u64>(b) << (a % 32); });
  simple("v_ashrrev_i32",
         [](u32 a, u32 b, u32) { return static_cast<i64>(static_cast<i32>(b)) >> (a % 32); });
  simple("v_min_i32",
         [](u32 a, u32 b, u32) { return std::min<i32>(static_cast<i32>(a), static_cast<i32>(b)); });
  simple("v_max_i32",
         [](u32 a, u32 b, u32) { return std::max<i32>(static_cast<i32>(a), static_cast<i32>(b)); });
  simple("v_min_u32", [](u32 a, u32 b, u32) { return std::min(a, b); });
  simple("v_max_u32", [](u32 a, u32 b, u32) { return std::max(a, b); });
  simple("v_mul_i32_i24", [](u32 a, u32 b, u32) { return i24(a) * i24(b); });
  simple("v_mul_hi_i32_i24", [](u32 a, u32 b, u32) { return (i24(a) * i24(b)) >> 32; });
  simple("v_mul_u32_u24",
         [](u32 a, u32 b, u32) { return static_cast<u64>(a % (1u << 24)) * (b % (1u << 24)); });
  simple("v_mul_hi_u32_u24", [](u32 a, u32 b, u32) {
    return (static_cast<u64>(a % (1u << 24)) * (b % (1u << 24))) >> 32;
  });
  simple("v_mul_lo_u32", [](u32 a, u32 b, u32) { return static_cast<u64>(a) * b; });
  simple("v_mul_hi_u32", [](u32 a, u32 b, u32) { return (static_cast<u64>(a) * b) >> 32; });
  simple("v_mul_hi_i32", [](u32 a, u32 b, u32) {
    return (static_cast<i64>(static_cast<i32>(a)) * static_cast<i32>(b)) >> 32;
  });
  simple("v_bcnt_u32_b32", [](u32 a, u32 b, u32) {
    u32 n = b;
    for (; a; a &= a - 1) ++n;
    return n;
  });
  simple("v_bfm_b32", [](u32 a, u32 b, u32) {
    u32 r = 0;
    for (u32 k = 0; k < a % 32; ++k)
      if (k + b % 32 < 32) r |= 1u << (k + b % 32);
    return r;
  });
  simple("v_bfrev_b32", [](u32 a, u32, u32) {
    u32 r = 0;
    for (int k = 0; k < 32; ++k) r |= (a >> k & 1) << (31 - k);
    return r;
  });
  simple("v_ffbh_u32", [](u32 a, u32, u32) {
    for (u32 k = 0; k < 32; ++k)
      if (a >> (31 - k) & 1) return k;
    return ~0u;
  });
  simple("v_ffbl_b32", [](u32 a, u32, u32) {
    for (u32 k = 0; k < 32; ++k)
      if (a >> k & 1) return k;
    return ~0u;
  });
  simple("v_ffbh_i32", [](u32 a, u32, u32) {
    for (u32 k = 1; k < 32; ++k)
      if ((a >> (31 - k) & 1) != a >> 31) return k;
    return ~0u;
  });
  simple("v_bfe_u32", [](u32 a, u32 b, u32 c) {
    u32 r = 0;
    for (u32 k = 0; k < c % 32; ++k)
      if (k + b % 32 < 32) r |= (a >> (k + b % 32) & 1) << k;
    return r;
  });
  simple("v_bfe_i32", [](u32 a, u32 b, u32 c) {
    u32 r = 0;
    for (u32 k = 0; k < 32; ++k) {  // bits past the field repeat its top bit, bits past 31 the sign
      const u32 in = c % 32 == 0 ? 99 : std::min(k, c % 32 - 1);
      if (in != 99) r |= (a >> std::min(in + b % 32, 31u) & 1) << k;
    }
    return r;
  });
  simple("v_bfi_b32", [](u32 a, u32 b, u32 c) {
    u32 r = 0;
    for (int k = 0; k < 32; ++k) r |= ((a >> k & 1 ? b : c) >> k & 1) << k;
    return r;
  });
  simple("v_alignbit_b32", [](u32 a, u32 b, u32 c) {
    u64 w = (static_cast<u64>(a) << 32) + b;
    for (u32 k = 0; k < c % 32; ++k) w /= 2;
    return w;
  });
  simple("v_alignbyte_b32", [](u32 a, u32 b, u32 c) {
    u64 w = (static_cast<u64>(a) << 32) + b;
    for (u32 k = 0; k < c % 4; ++k) w /= 256;
    return w;
  });
  simple("v_xad_u32", [](u32 a, u32 b, u32 c) { return static_cast<u64>(a ^ b) + c; });
  simple("v_lshl_add_u32",
         [](u32 a, u32 b, u32 c) { return (static_cast<u64>(a) << (b % 32)) + c; });
  simple("v_add_lshl_u32", [](u32 a, u32 b, u32 c) { return static_cast<u64>(a + b) << (c % 32); });
  simple("v_add3_u32", [](u32 a, u32 b, u32 c) { return static_cast<u64>(a) + b + c; });
  simple("v_lshl_or_b32",
         [](u32 a, u32 b, u32 c) { return static_cast<u32>(static_cast<u64>(a) << (b % 32)) | c; });
  simple("v_and_or_b32", [](u32 a, u32 b, u32 c) { return (a & b) | c; });
  simple("v_or3_b32", [](u32 a, u32 b, u32 c) { return a | b | c; });
  simple("v_min3_u32", [](u32 a, u32 b, u32 c) { return std::min({a, b, c}); });
  simple("v_max3_u32", [](u32 a, u32 b, u32 c) { return std::max({a, b, c}); });
  simple("v_med3_u32", [](u32 a, u32 b, u32 c) {
    return static_cast<u64>(a) + b + c - std::min({a, b, c}) - std::max({a, b, c});
  });
  simple("v_min3_i32", [](i32 a, i32 b, i32 c) { return std::min({a, b, c}); });
  simple("v_max3_i32", [](i32 a, i32 b, i32 c) { return std::max({a, b, c}); });
  simple("v_med3_i32", [](i32 a, i32 b, i32 c) {
    return static_cast<i64>(a) + b + c - std::min({a, b, c}) - std::max({a, b, c});
  });
  simple("v_sad_u32", [](u32 a, u32 b, u32 c) {
    return std::abs(static_cast<i64>(a) - static_cast<i64>(b)) + c;
  });
  simple("v_sad_u16", [](u32 a, u32 b, u32 c) {
    return std::abs(static_cast<i32>(a % 65536) - static_cast<i32>(b % 65536)) +
           std::abs(static_cast<i32>(a / 65536) - static_cast<i32>(b / 65536)) +
           static_cast<i64>(c);
  });
  const auto sad = [](u32 a, u32 b, bool masked) {
    u32 s = 0;
    for (int k = 0; k < 4; ++k) {
      const int p = static_cast<int>(a >> (8 * k) & 255), q = static_cast<int>(b >> (8 * k) & 255);
      if (!masked || q) s += static_cast<u32>(std::abs(p - q));
    }
    return s;
  };
  simple("v_sad_u8", [sad](u32 a, u32 b, u32 c) { return sad(a, b, false) + c; });
  simple("v_sad_hi_u8", [sad](u32 a, u32 b, u32 c) { return sad(a, b, false) * 65536u + c; });
  simple("v_msad_u8", [sad](u32 a, u32 b, u32 c) { return sad(a, b, true) + c; });
  for (const bool masked : {false, true}) {
    t[masked ? "v_mqsad_pk_u16_u8" : "v_qsad_pk_u16_u8"] = [sad, masked](const Lane& l) {
      u64 r = 0;
      for (int k = 0; k < 4; ++k) {
        u64 v = (l.c >> (16 * k) & 0xffff) +
                sad(static_cast<u32>(l.a >> (8 * k)), static_cast<u32>(l.b), masked);
        if (l.clamp && v > 0xffff) v = 0xffff;
        r |= (v & 0xffff) << (16 * k);
      }
      return bits(r);
    };
  }
  simple("v_lerp_u8", [](u32 a, u32 b, u32 c) {
    u32 r = 0;
    for (int k = 0; k < 32; k += 8)
      r |= (((a >> k & 255) + (b >> k & 255) + (c >> k & 1)) / 2) << k;
    return r;
  });
  simple("v_perm_b32", [](u32 a, u32 b, u32 c) {
    u32 r = 0;
    const u8 bytes[8] = {static_cast<u8>(b),       static_cast<u8>(b >> 8),
                         static_cast<u8>(b >> 16), static_cast<u8>(b >> 24),
                         static_cast<u8>(a),       static_cast<u8>(a >> 8),
                         static_cast<u8>(a >> 16), static_cast<u8>(a >> 24)};
    for (int k = 0; k < 4; ++k) {
      const u32 s = c >> (8 * k) & 255;
      const u32 v = s < 8     ? bytes[s]
                    : s < 12  ? (bytes[(s - 8) * 2 + 1] & 128 ? 255u : 0u)
                    : s == 12 ? 0u
                              : 255u;
      r |= v << (8 * k);
    }
    return r;
  });
  simple("v_sat_pk_u8_i16", [](u32 a, u32, u32) {
    return saturate(static_cast<i16>(a), 0, 255) +
           256 * saturate(static_cast<i16>(a >> 16), 0, 255);
  });
  simple("v_cvt_pk_u16_u32",
         [](u32 a, u32 b, u32) { return std::min(a, 65535u) + 65536u * std::min(b, 65535u); });
  simple("v_cvt_pk_i16_i32", [](i32 a, i32 b, u32) {
    return static_cast<u16>(saturate(a, -32768, 32767)) +
           65536u * static_cast<u16>(saturate(b, -32768, 32767));
  });
  t["v_lshlrev_b64"] = [](const Lane& l) {
    return bits(static_cast<u64>(static_cast<unsigned __int128>(l.b) << (l.a % 64)));
  };
  t["v_lshrrev_b64"] = [](const Lane& l) {
    return bits(static_cast<u64>(static_cast<unsigned __int128>(l.b) >> (l.a % 64)));
  };
  t["v_ashrrev_i64"] = [](const Lane& l) {
    return bits(static_cast<u64>(static_cast<i128>(static_cast<i64>(l.b)) >> (l.a % 64)));
  };
  t["v_cndmask_b32"] = [](const Lane& l) { return bits(l.in ? l.b : l.a); };
}

void add_sums(Table& t) {
  const auto carry = [&](const char* name, int sign, bool swap, bool in) {
    t[name] = [=](const Lane& l) -> Want {
      const i128 a = static_cast<u32>(swap ? l.b : l.a), b = static_cast<u32>(swap ? l.a : l.b),
                 c = in && l.in ? 1 : 0;
      const i128 r = sign > 0 ? a + b + c : a - b - c;
      return {fit(r, l, 0, kMaxU32, 0xffffffff), r < 0 || r > kMaxU32, 0};
    };
  };
  carry("v_add_co_u32", 1, false, false);
  carry("v_sub_co_u32", -1, false, false);
  carry("v_subrev_co_u32", -1, true, false);
  carry("v_addc_co_u32", 1, false, true);
  carry("v_subb_co_u32", -1, false, true);
  carry("v_subbrev_co_u32", -1, true, true);
  const auto sum = [&](const char* name, int sign, bool swap, int size, bool is_signed) {
    t[name] = [=](const Lane& l) -> Want {
      const auto read = [&](u64 v) -> i128 {
        if (size == 2)
          return is_signed ? static_cast<i128>(static_cast<i16>(v))
                           : static_cast<i128>(static_cast<u16>(v));
        return is_signed ? static_cast<i128>(static_cast<i32>(v))
                         : static_cast<i128>(static_cast<u32>(v));
      };
      const i128 a = read(swap ? l.b : l.a), b = read(swap ? l.a : l.b);
      const i64 half = size == 2 ? 32768 : 2147483648ll;
      const u64 v = fit(sign > 0 ? a + b : a - b, l, is_signed ? -half : 0,
                        is_signed ? half - 1 : 2 * half - 1, size == 2 ? 0xffff : 0xffffffff);
      return bits(v);
    };
  };
  sum("v_add_u32", 1, false, 4, false);
  sum("v_sub_u32", -1, false, 4, false);
  sum("v_subrev_u32", -1, true, 4, false);
  sum("v_add_i32", 1, false, 4, true);
  sum("v_sub_i32", -1, false, 4, true);
  sum("v_add_u16", 1, false, 2, false);
  sum("v_sub_u16", -1, false, 2, false);
  sum("v_subrev_u16", -1, true, 2, false);
  sum("v_add_i16", 1, false, 2, true);
  sum("v_sub_i16", -1, false, 2, true);
  t["v_mad_i32_i24"] = [](const Lane& l) {
    return bits(
        fit(static_cast<i128>(static_cast<i32>(i24(l.a) * i24(l.b))) + static_cast<i32>(l.c), l,
            kMinI32, kMaxI32, 0xffffffff));
  };
  t["v_mad_u32_u24"] = [](const Lane& l) {
    return bits(fit(static_cast<i128>(static_cast<u32>((l.a & 0xffffff) * (l.b & 0xffffff))) +
                        static_cast<u32>(l.c),
                    l, 0, kMaxU32, 0xffffffff));
  };
  t["v_mad_u32_u16"] = [](const Lane& l) {
    return bits(fit(
        static_cast<i128>(static_cast<u16>(l.a)) * static_cast<u16>(l.b) + static_cast<u32>(l.c), l,
        0, kMaxU32, 0xffffffff));
  };
  t["v_mad_i32_i16"] = [](const Lane& l) {
    return bits(fit(
        static_cast<i128>(static_cast<i16>(l.a)) * static_cast<i16>(l.b) + static_cast<i32>(l.c), l,
        kMinI32, kMaxI32, 0xffffffff));
  };
  t["v_mad_u16"] = t["v_mad_legacy_u16"] = [](const Lane& l) {
    return bits(fit(
        static_cast<i128>(static_cast<u16>(l.a)) * static_cast<u16>(l.b) + static_cast<u16>(l.c), l,
        0, 65535, 0xffff));
  };
  t["v_mad_i16"] = t["v_mad_legacy_i16"] = [](const Lane& l) {
    return bits(fit(
        static_cast<i128>(static_cast<i16>(l.a)) * static_cast<i16>(l.b) + static_cast<i16>(l.c), l,
        -32768, 32767, 0xffff));
  };
  t["v_mad_u64_u32"] = [](const Lane& l) -> Want {
    const unsigned __int128 r =
        static_cast<unsigned __int128>(static_cast<u32>(l.a)) * static_cast<u32>(l.b) + l.c;
    return {static_cast<u64>(r), (r >> 64) != 0, 0};
  };
  t["v_mad_i64_i32"] = [](const Lane& l) -> Want {
    const i128 r =
        static_cast<i128>(static_cast<i32>(l.a)) * static_cast<i32>(l.b) + static_cast<i64>(l.c);
    return {static_cast<u64>(r), r != static_cast<i64>(r), 0};
  };
  const auto dot = [&](const char* name, int count, int width, bool is_signed) {
    t[name] = [=](const Lane& l) {
      i128 s = is_signed ? static_cast<i128>(static_cast<i32>(l.c))
                         : static_cast<i128>(static_cast<u32>(l.c));
      for (int k = 0; k < count; ++k) {
        i64 p = static_cast<i64>(l.a >> (k * width) & ((1u << width) - 1)),
            q = static_cast<i64>(l.b >> (k * width) & ((1u << width) - 1));
        if (is_signed && p >> (width - 1)) p -= 1ll << width;
        if (is_signed && q >> (width - 1)) q -= 1ll << width;
        s += static_cast<i128>(p) * q;
      }
      return bits(fit(s, l, is_signed ? kMinI32 : 0, is_signed ? kMaxI32 : kMaxU32, 0xffffffff));
    };
  };
  dot("v_dot4_i32_i8", 4, 8, true);
  dot("v_dot4_u32_u8", 4, 8, false);
  dot("v_dot8_i32_i4", 8, 4, true);
  dot("v_dot8_u32_u4", 8, 4, false);
  dot("v_dot2_i32_i16", 2, 16, true);
  dot("v_dot2_u32_u16", 2, 16, false);
}

void add_16bit(Table& t) {
  const auto simple = [&](const char* name, auto f) {
    t[name] = [f](const Lane& l) {
      return bits(
          static_cast<u16>(f(static_cast<u16>(l.a), static_cast<u16>(l.b), static_cast<u16>(l.c))));
    };
  };
  const auto s = [](u32 v) { return static_cast<int>(static_cast<i16>(v)); };
  simple("v_mul_lo_u16", [](u32 a, u32 b, u32) { return static_cast<u64>(a) * b; });
  simple("v_lshlrev_b16", [](u32 a, u32 b, u32) { return b << (a % 16); });
  simple("v_lshrrev_b16", [](u32 a, u32 b, u32) { return b >> (a % 16); });
  simple("v_ashrrev_i16", [s](u32 a, u32 b, u32) { return s(b) >> (a % 16); });
  simple("v_max_u16", [](u32 a, u32 b, u32) { return std::max(a, b); });
  simple("v_min_u16", [](u32 a, u32 b, u32) { return std::min(a, b); });
  simple("v_max_i16", [s](u32 a, u32 b, u32) { return std::max(s(a), s(b)); });
  simple("v_min_i16", [s](u32 a, u32 b, u32) { return std::min(s(a), s(b)); });
  simple("v_min3_u16", [](u32 a, u32 b, u32 c) { return std::min({a, b, c}); });
  simple("v_max3_u16", [](u32 a, u32 b, u32 c) { return std::max({a, b, c}); });
  simple("v_med3_u16", [](u32 a, u32 b, u32 c) {
    return a + b + c - std::min({a, b, c}) - std::max({a, b, c});
  });
  simple("v_min3_i16", [s](u32 a, u32 b, u32 c) { return std::min({s(a), s(b), s(c)}); });
  simple("v_max3_i16", [s](u32 a, u32 b, u32 c) { return std::max({s(a), s(b), s(c)}); });
  simple("v_med3_i16", [s](u32 a, u32 b, u32 c) {
    return s(a) + s(b) + s(c) - std::min({s(a), s(b), s(c)}) - std::max({s(a), s(b), s(c)});
  });
  // Packed forms: the 16-bit operation on each half.
  const auto pack = [&](const char* name, const char* half) {
    const Reference one = t[half];
    t[name] = [one](const Lane& l) {
      Lane lo = l, hi = l;
      lo.a = l.a & 0xffff, lo.b = l.b & 0xffff, lo.c = l.c & 0xffff;
      hi.a = l.a >> 16 & 0xffff, hi.b = l.b >> 16 & 0xffff, hi.c = l.c >> 16 & 0xffff;
      return bits((one(lo).value & 0xffff) | (one(hi).value & 0xffff) << 16);
    };
  };
  pack("v_pk_mul_lo_u16", "v_mul_lo_u16");
  pack("v_pk_lshlrev_b16", "v_lshlrev_b16");
  pack("v_pk_lshrrev_b16", "v_lshrrev_b16");
  pack("v_pk_ashrrev_i16", "v_ashrrev_i16");
  pack("v_pk_max_i16", "v_max_i16");
  pack("v_pk_min_i16", "v_min_i16");
  pack("v_pk_max_u16", "v_max_u16");
  pack("v_pk_min_u16", "v_min_u16");
  pack("v_pk_add_u16", "v_add_u16");
  pack("v_pk_sub_u16", "v_sub_u16");
  pack("v_pk_add_i16", "v_add_i16");
  pack("v_pk_sub_i16", "v_sub_i16");
  pack("v_pk_mad_u16", "v_mad_u16");
  pack("v_pk_mad_i16", "v_mad_i16");
  pack("v_pk_add_f16", "v_add_f16");
  pack("v_pk_mul_f16", "v_mul_f16");
  pack("v_pk_fma_f16", "v_fma_f16");
  pack("v_pk_min_f16", "v_min_f16");
  pack("v_pk_max_f16", "v_max_f16");
  t["v_pack_b32_f16"] = [](const Lane& l) { return bits((l.a & 0xffff) | (l.b & 0xffff) << 16); };
}

}  // namespace

void add_integer_references(Table& t) {
  add_integer(t);
  add_sums(t);
  add_16bit(t);
}

}  // namespace gfx906_test

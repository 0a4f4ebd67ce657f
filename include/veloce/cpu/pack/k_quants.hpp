// CPU layouts of the K-quants and IQ4_XS: super-blocks of 256 values, eight times 32. Group block:
// 16-bit factors of the sixteen rows, the sub-block scales (one byte vector of sixteen rows per
// field), then the codes of each 32 values. Field offsets and scale packing of the file's blocks:
// specs/quants.md sections 4 and 5.
#pragma once

#include "veloce/cpu/pack/simple.hpp"
#include "veloce/formats/iq4_xs.hpp"
#include "veloce/formats/q2_k.hpp"
#include "veloce/formats/q3_k.hpp"
#include "veloce/formats/q4_k.hpp"
#include "veloce/formats/q5_k.hpp"
#include "veloce/formats/q6_k.hpp"

namespace veloce::cpu {
namespace detail {

// Q4_K and Q5_K: twelve bytes hold eight 6-bit scales and eight 6-bit mins.
struct ScaleMin {
  std::uint8_t scale, min;
};
inline ScaleMin k4_scale_min(const std::uint8_t* s, int sub) {
  if (sub < 4) return {std::uint8_t(s[sub] & 63), std::uint8_t(s[sub + 4] & 63)};
  return {std::uint8_t((s[sub + 4] & 15) | (s[sub - 4] >> 6) << 4),
          std::uint8_t((s[sub + 4] >> 4) | (s[sub] >> 6) << 4)};
}

// Our form of them: per sub-block a byte scale | (min & 3) << 6, then per pair of sub-blocks the
// nibbles min >> 2.
template <class Block>
std::byte* put_k4_scales(const Block* const rows[kGroupRows], std::byte* out) {
  ScaleMin sm[8][kGroupRows];
  for (int s = 0; s < 8; ++s)
    for (int r = 0; r < kGroupRows; ++r) sm[s][r] = k4_scale_min(bytes_of(rows[r]) + 4, s);
  for (int s = 0; s < 8; ++s)
    for (int r = 0; r < kGroupRows; ++r)
      *out++ = std::byte(sm[s][r].scale | (sm[s][r].min & 3) << 6);
  for (int s = 0; s < 8; s += 2)
    for (int r = 0; r < kGroupRows; ++r)
      *out++ = std::byte((sm[s][r].min >> 2) | (sm[s + 1][r].min >> 2) << 4);
  return out;
}

// Nibbles of sub-block s: low or high halves of 32 bytes.
template <class Block>
Codes32 k4_codes(const Block* const rows[kGroupRows], std::size_t offset, int s) {
  Codes32 c;
  for (int r = 0; r < kGroupRows; ++r)
    for (int i = 0; i < 32; ++i) {
      const std::uint8_t b = bytes_of(rows[r])[offset + 32 * (s / 2) + i];
      c.v[r][i] = s % 2 == 0 ? b & 15 : b >> 4;
    }
  return c;
}

// The 2-bit codes of Q2_K and Q3_K.
template <class Block>
Codes32 k2_codes(const Block* const rows[kGroupRows], std::size_t offset, int s) {
  Codes32 c;
  for (int r = 0; r < kGroupRows; ++r)
    for (int i = 0; i < 32; ++i)
      c.v[r][i] = (bytes_of(rows[r])[offset + 32 * (s / 4) + i] >> (2 * (s % 4))) & 3;
  return c;
}

}  // namespace detail

template <>
struct Layout<Q4_K> {
  static constexpr bool kInterleaved = true;
  static void pack(const Q4_K::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 0, 2, out);
    out = put_field(rows, 2, 2, out);
    out = detail::put_k4_scales(rows, out);
    for (int s = 0; s < 8; ++s) out = put_nibbles(detail::k4_codes(rows, 16, s), out);
  }
};

template <>
struct Layout<Q5_K> {
  static constexpr bool kInterleaved = true;
  static void pack(const Q5_K::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 0, 2, out);
    out = put_field(rows, 2, 2, out);
    out = detail::put_k4_scales(rows, out);
    for (int s = 0; s < 8; ++s) {
      Codes32 c = detail::k4_codes(rows, 48, s);
      for (int r = 0; r < kGroupRows; ++r)
        for (int i = 0; i < 32; ++i)
          c.v[r][i] |= ((detail::bytes_of(rows[r])[16 + i] >> s) & 1) << 4;
      out = put_bits(c, 4, put_nibbles(c, out));
    }
  }
};

template <>
struct Layout<Q6_K> {
  static constexpr bool kInterleaved = true;
  static void pack(const Q6_K::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 208, 2, out);
    for (int s = 0; s < 16; ++s) out = put_field(rows, 192 + s, 1, out);
    for (int s = 0; s < 8; ++s) {
      Codes32 c;
      const int h = s / 4, g = s % 4;
      for (int r = 0; r < kGroupRows; ++r)
        for (int l = 0; l < 32; ++l) {
          const std::uint8_t* b = detail::bytes_of(rows[r]);
          const std::uint8_t x = b[64 * h + 32 * (g & 1) + l];
          c.v[r][l] =
              std::uint8_t((g < 2 ? x & 15 : x >> 4) | ((b[128 + 32 * h + l] >> (2 * g)) & 3) << 4);
        }
      out = put_crumbs(c, 4, put_nibbles(c, out));
    }
  }
};

template <>
struct Layout<Q2_K> {
  static constexpr bool kInterleaved = true;
  static void pack(const Q2_K::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 80, 2, out);
    out = put_field(rows, 82, 2, out);
    for (int s = 0; s < 16; ++s) out = put_field(rows, s, 1, out);
    for (int s = 0; s < 8; ++s) out = put_crumbs(detail::k2_codes(rows, 16, s), 0, out);
  }
};

template <>
struct Layout<Q3_K> {
  static constexpr bool kInterleaved = true;
  static void pack(const Q3_K::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 108, 2, out);
    for (int s = 0; s < 12; ++s)
      out = put_field(rows, 96 + s, 1, out);  // the file's own scale bytes
    for (int s = 0; s < 8; ++s) {
      Codes32 c = detail::k2_codes(rows, 32, s);
      for (int r = 0; r < kGroupRows; ++r)
        for (int i = 0; i < 32; ++i) c.v[r][i] |= ((detail::bytes_of(rows[r])[i] >> s) & 1) << 2;
      out = put_bits(c, 2, put_crumbs(c, 0, out));
    }
  }
};

template <>
struct Layout<IQ4_XS> {
  static constexpr bool kInterleaved = true;
  static void pack(const IQ4_XS::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 0, 2, out);
    for (int s = 0; s < 6; ++s)
      out = put_field(rows, 2 + s, 1, out);  // scales_h (2 bytes), scales_l (4 bytes)
    for (int s = 0; s < 8; ++s) out = put_nibbles(detail::split_nibbles(rows, 8 + 16 * s), out);
  }
};

namespace VELOCE_ISA_NS {

VELOCE_INLINE void unpack_k4_scales(const std::byte* p, int sub, Unpacked& u) {
  const I32 a = load_u8_i32(p + 64 + 16 * sub);
  const I32 b = load_u8_i32(p + 192 + 16 * (sub / 2));
  const I32 scale = and_i32(a, set1_i32(63));
  const I32 high = sub % 2 == 0 ? and_i32(b, set1_i32(15)) : shr_i32<4>(b);
  const I32 min = or_i32(shr_i32<6>(a), shl_i32<2>(high));
  u.scale[0] = mul(load_half16(p), to_float(scale));
  u.minus_min[0] = neg(mul(load_half16(p + 32), to_float(min)));
}

template <>
struct Unpack<Q4_K> {
  static constexpr int kBias = 0;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    unpack_k4_scales(p, sub, u);
    unpack_nibbles(p + 256 + 256 * sub, u.q);
  }
};

template <>
struct Unpack<Q5_K> {
  static constexpr int kBias = 0;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    unpack_k4_scales(p, sub, u);
    unpack_nibbles(p + 256 + 320 * sub, u.q);
    or_bits_at<4>(p + 512 + 320 * sub, u.q);
  }
};

template <>
struct Unpack<Q6_K> {
  static constexpr int kBias = 32;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    const F32 d = load_half16(p);
    for (int h = 0; h < 2; ++h)
      u.scale[h] = mul(d, to_float(load_i8_i32(p + 32 + 32 * sub + 16 * h)));
    unpack_nibbles(p + 288 + 384 * sub, u.q);
    or_crumbs_at_4(p + 544 + 384 * sub, u.q);
  }
};

template <>
struct Unpack<Q2_K> {
  static constexpr int kBias = 0;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    const F32 d = load_half16(p), dmin = load_half16(p + 32);
    for (int h = 0; h < 2; ++h) {
      const I32 sm = load_u8_i32(p + 64 + 32 * sub + 16 * h);
      u.scale[h] = mul(d, to_float(and_i32(sm, set1_i32(15))));
      u.minus_min[h] = neg(mul(dmin, to_float(shr_i32<4>(sm))));
    }
    unpack_crumbs(p + 320 + 128 * sub, u.q);
  }
};

// Bits 2 * pair and 2 * pair + 1 of each number below 256.
VELOCE_INLINE I32 two_bits(I32 x, int pair) {
  const I32 shifted = pair == 0   ? x
                      : pair == 1 ? shr_i32<2>(x)
                      : pair == 2 ? shr_i32<4>(x)
                                  : shr_i32<6>(x);
  return and_i32(shifted, set1_i32(3));
}

template <>
struct Unpack<Q3_K> {
  static constexpr int kBias = 4;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    const F32 d = load_half16(p);
    for (int h = 0; h < 2; ++h) {
      const int s = 2 * sub + h;
      const I32 low_byte = load_u8_i32(p + 32 + 16 * (s % 8)),
                high_byte = load_u8_i32(p + 160 + 16 * (s % 4));
      const I32 low = s < 8 ? and_i32(low_byte, set1_i32(15)) : shr_i32<4>(low_byte);
      const I32 scale = or_i32(low, shl_i32<4>(two_bits(high_byte, s / 4)));
      u.scale[h] = mul(d, to_float(sub_i32(scale, set1_i32(32))));
    }
    unpack_crumbs(p + 224 + 192 * sub, u.q);
    or_bits_at<2>(p + 352 + 192 * sub, u.q);
  }
};

template <>
struct Unpack<IQ4_XS> {
  static constexpr int kBias = 128;
  static constexpr bool kWide = true;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    const I32 low_byte = load_u8_i32(p + 64 + 16 * (sub / 2)),
              high_byte = load_u8_i32(p + 32 + 16 * (sub / 4));
    const I32 low = sub % 2 == 0 ? and_i32(low_byte, set1_i32(15)) : shr_i32<4>(low_byte);
    const I32 scale = or_i32(low, shl_i32<4>(two_bits(high_byte, sub % 4)));
    u.scale[0] = mul(load_half16(p), to_float(sub_i32(scale, set1_i32(32))));
    unpack_nibbles(p + 128 + 256 * sub, u.q);
    for (int j = 0; j < 8; ++j) u.q[j] = lut16(kIq4Biased, u.q[j]);
  }
};

}  // namespace VELOCE_ISA_NS
}  // namespace veloce::cpu

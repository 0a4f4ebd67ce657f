// CPU layouts of the formats with one scale for a whole block: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0,
// IQ4_NL, MXFP4, NVFP4, Q1_0, Q2_0, TQ2_0. Group block: the scales of the sixteen rows, then the
// codes (cpu/pack/layout.hpp), 32 values after
// 32. Field offsets: specs/quants.md sections 3 and 6.
#pragma once

#include "veloce/cpu/pack/layout.hpp"
#include "veloce/formats/iq4_nl.hpp"
#include "veloce/formats/mxfp4.hpp"
#include "veloce/formats/nvfp4.hpp"
#include "veloce/formats/q1_0.hpp"
#include "veloce/formats/q2_0.hpp"
#include "veloce/formats/q4_0.hpp"
#include "veloce/formats/q4_1.hpp"
#include "veloce/formats/q5_0.hpp"
#include "veloce/formats/q5_1.hpp"
#include "veloce/formats/q8_0.hpp"
#include "veloce/formats/tq2_0.hpp"

namespace veloce::cpu {
namespace detail {

inline const std::uint8_t* bytes_of(const void* block) {
  return static_cast<const std::uint8_t*>(block);
}

// Nibble codes in GGUF's order: value i < 16 low nibble of byte i, else high nibble of byte i - 16.
template <class Block>
Codes32 split_nibbles(const Block* const rows[kGroupRows], std::size_t offset) {
  Codes32 c;
  for (int r = 0; r < kGroupRows; ++r)
    for (int i = 0; i < 16; ++i) {
      const std::uint8_t b = bytes_of(rows[r])[offset + i];
      c.v[r][i] = b & 15;
      c.v[r][i + 16] = b >> 4;
    }
  return c;
}

// The fifth bits of Q5_0 and Q5_1: bit i of a 32-bit word.
template <class Block>
void add_fifth_bits(Codes32& c, const Block* const rows[kGroupRows], std::size_t offset) {
  for (int r = 0; r < kGroupRows; ++r) {
    const auto word = load_le<std::uint32_t>(bytes_of(rows[r]) + offset);
    for (int i = 0; i < 32; ++i) c.v[r][i] |= ((word >> i) & 1) << 4;
  }
}

// Q4_0, Q4_1, IQ4_NL, MXFP4: `head` bytes of scales, then nibbles.
template <BlockFormat F, std::size_t Head>
struct NibbleLayout {
  static constexpr bool kInterleaved = true;
  static void pack(const typename F::Block* const rows[kGroupRows], std::byte* out) {
    for (std::size_t at = 0; at < Head; at += 2)
      out = put_field(rows, at, Head - at < 2 ? 1 : 2, out);
    put_nibbles(split_nibbles(rows, Head), out);
  }
};

// Q5_0, Q5_1: scales, nibbles, fifth bits.
template <BlockFormat F, std::size_t Head>
struct FiveBitLayout {
  static constexpr bool kInterleaved = true;
  static void pack(const typename F::Block* const rows[kGroupRows], std::byte* out) {
    for (std::size_t at = 0; at < Head; at += 2) out = put_field(rows, at, 2, out);
    Codes32 c = split_nibbles(rows, Head + 4);
    add_fifth_bits(c, rows, Head);
    put_bits(c, 4, put_nibbles(c, out));
  }
};

}  // namespace detail

template <>
struct Layout<Q4_0> : detail::NibbleLayout<Q4_0, 2> {};
template <>
struct Layout<Q4_1> : detail::NibbleLayout<Q4_1, 4> {};
template <>
struct Layout<IQ4_NL> : detail::NibbleLayout<IQ4_NL, 2> {};
template <>
struct Layout<MXFP4> : detail::NibbleLayout<MXFP4, 1> {};
template <>
struct Layout<Q5_0> : detail::FiveBitLayout<Q5_0, 2> {};
template <>
struct Layout<Q5_1> : detail::FiveBitLayout<Q5_1, 4> {};

template <>
struct Layout<Q8_0> {
  static constexpr bool kInterleaved = true;
  static void pack(const Q8_0::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 0, 2, out);
    Codes32 c;
    for (int r = 0; r < kGroupRows; ++r)
      for (int i = 0; i < 32; ++i)
        c.v[r][i] = std::uint8_t(detail::bytes_of(rows[r])[2 + i] ^ 0x80);
    put_bytes(c, out);
  }
};

// Codes are stored as they are (0 and 1, 0..3), two or one bit each.
template <>
struct Layout<Q1_0> {
  static constexpr bool kInterleaved = true;
  static void pack(const Q1_0::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 0, 2, out);
    for (int s = 0; s < 4; ++s) {
      Codes32 c;
      for (int r = 0; r < kGroupRows; ++r)
        for (int i = 0; i < 32; ++i)
          c.v[r][i] = (detail::bytes_of(rows[r])[2 + 4 * s + i / 8] >> (i % 8)) & 1;
      out = put_bits(c, 0, out);
    }
  }
};

template <>
struct Layout<Q2_0> {
  static constexpr bool kInterleaved = true;
  static void pack(const Q2_0::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 0, 2, out);
    for (int s = 0; s < 2; ++s) {
      Codes32 c;
      for (int r = 0; r < kGroupRows; ++r)
        for (int i = 0; i < 32; ++i)
          c.v[r][i] = (detail::bytes_of(rows[r])[2 + 8 * s + i / 4] >> (2 * (i % 4))) & 3;
      out = put_crumbs(c, 0, out);
    }
  }
};

template <>
struct Layout<TQ2_0> {
  static constexpr bool kInterleaved = true;
  static void pack(const TQ2_0::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 64, 2, out);
    for (int s = 0; s < 8; ++s) {
      Codes32 c;
      for (int r = 0; r < kGroupRows; ++r)
        for (int i = 0; i < 32; ++i)
          c.v[r][i] = (detail::bytes_of(rows[r])[32 * (s / 4) + i] >> (2 * (s % 4))) & 3;
      out = put_crumbs(c, 0, out);
    }
  }
};

// NVFP4: four UE4M3 scales (16 values each; the code that is no number is stored as the 0 that it
// stands for), nibbles in sub-blocks of 16.
template <>
struct Layout<NVFP4> {
  static constexpr bool kInterleaved = true;
  static void pack(const NVFP4::Block* const rows[kGroupRows], std::byte* out) {
    for (int s = 0; s < 4; ++s)
      for (int r = 0; r < kGroupRows; ++r)
        *out++ = std::byte(rows[r]->d[s] == 0x7F ? 0 : rows[r]->d[s]);
    for (int s = 0; s < 2; ++s) {
      Codes32 c;
      for (int r = 0; r < kGroupRows; ++r)
        for (int i = 0; i < 32; ++i) {
          const std::uint8_t b = detail::bytes_of(rows[r])[4 + 16 * s + 8 * (i / 16) + i % 8];
          c.v[r][i] = i % 16 < 8 ? b & 15 : b >> 4;
        }
      out = put_nibbles(c, out);
    }
  }
};

namespace VELOCE_ISA_NS {

template <>
struct Unpack<Q4_0> {
  static constexpr int kBias = 8;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int, Unpacked& u) {
    u.scale[0] = load_half16(p);
    unpack_nibbles(p + 32, u.q);
  }
};

template <>
struct Unpack<Q4_1> {
  static constexpr int kBias = 0;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int, Unpacked& u) {
    u.scale[0] = load_half16(p);
    u.minus_min[0] = load_half16(p + 32);
    unpack_nibbles(p + 64, u.q);
  }
};

template <>
struct Unpack<Q5_0> {
  static constexpr int kBias = 16;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int, Unpacked& u) {
    u.scale[0] = load_half16(p);
    unpack_nibbles(p + 32, u.q);
    or_bits_at<4>(p + 288, u.q);
  }
};

template <>
struct Unpack<Q5_1> {
  static constexpr int kBias = 0;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int, Unpacked& u) {
    u.scale[0] = load_half16(p);
    u.minus_min[0] = load_half16(p + 32);
    unpack_nibbles(p + 64, u.q);
    or_bits_at<4>(p + 320, u.q);
  }
};

template <>
struct Unpack<Q8_0> {
  static constexpr int kBias = 128;
  static constexpr bool kWide = true;
  VELOCE_INLINE static void run(const std::byte* p, int, Unpacked& u) {
    u.scale[0] = load_half16(p);
    for (int j = 0; j < 8; ++j) u.q[j] = load_u8(p + 32 + 64 * j);
  }
};

// The IQ4 code table with 128 added.
alignas(16) inline constexpr std::uint8_t kIq4Biased[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                            129, 141, 153, 166, 181, 197, 217, 241};

template <>
struct Unpack<IQ4_NL> {
  static constexpr int kBias = 128;
  static constexpr bool kWide = true;
  VELOCE_INLINE static void run(const std::byte* p, int, Unpacked& u) {
    u.scale[0] = load_half16(p);
    unpack_nibbles(p + 32, u.q);
    for (int j = 0; j < 8; ++j) u.q[j] = lut16(kIq4Biased, u.q[j]);
  }
};

// The doubled E2M1 codes with 12 added.
alignas(16) inline constexpr std::uint8_t kFp4Biased[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                                            12, 11, 10, 9,  8,  6,  4,  0};

// e8m0_half_to_float(): bits (e - 1) << 23, or the subnormal powers 0x200000 and 0x400000 where e
// is 0 and 1, which are below all others.
VELOCE_INLINE F32 e8m0_half(I32 e) {
  const I32 one = set1_i32(1);
  const I32 normal = shl_i32<23>(max_i32(sub_i32(e, one), zero_i32()));
  const I32 is_zero = max_i32(sub_i32(one, e), zero_i32());
  return bits_to_float(max_i32(normal, sub_i32(set1_i32(0x400000), shl_i32<21>(is_zero))));
}

// ue4m3_half_to_float() but for 0x7F. With the exponent's bias moved to that of binary32 a number
// is right where its exponent is not 0; there it is y = (1 + m / 8) / 256 instead of m / 8 / 128,
// which is 2 y - 1 / 128, and smaller; elsewhere that is not.
VELOCE_INLINE F32 ue4m3_half(I32 x) {
  const I32 bits = shl_i32<20>(and_i32(x, set1_i32(0x7F)));
  const F32 y = bits_to_float(add_i32(bits, set1_i32(119 << 23)));
  return min(y, fma(y, set1(2.0f), set1(-0.0078125f)));
}

template <>
struct Unpack<MXFP4> {
  static constexpr int kBias = 12;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int, Unpacked& u) {
    u.scale[0] = e8m0_half(load_u8_i32(p));
    unpack_nibbles(p + 16, u.q);
    for (int j = 0; j < 8; ++j) u.q[j] = lut16(kFp4Biased, u.q[j]);
  }
};

template <>
struct Unpack<NVFP4> {
  static constexpr int kBias = 12;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    u.scale[0] = ue4m3_half(load_u8_i32(p + 32 * sub));
    u.scale[1] = ue4m3_half(load_u8_i32(p + 32 * sub + 16));
    unpack_nibbles(p + 64 + 256 * sub, u.q);
    for (int j = 0; j < 8; ++j) u.q[j] = lut16(kFp4Biased, u.q[j]);
  }
};

template <>
struct Unpack<Q1_0> {
  static constexpr int kBias = 1;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    u.scale[0] = load_half16(p);
    for (int j = 0; j < 8; ++j) u.q[j] = set1_u8(0);
    or_bits_at<1>(p + 32 + 64 * sub, u.q);
  }
};

template <>
struct Unpack<Q2_0> {
  static constexpr int kBias = 1;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    u.scale[0] = load_half16(p);
    unpack_crumbs(p + 32 + 128 * sub, u.q);
  }
};

template <>
struct Unpack<TQ2_0> {
  static constexpr int kBias = 1;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    u.scale[0] = load_half16(p);
    unpack_crumbs(p + 32 + 128 * sub, u.q);
  }
};

}  // namespace VELOCE_ISA_NS
}  // namespace veloce::cpu

// CPU layouts of the formats whose values are -1, 0 and 1: IQ1_S and IQ1_M (a codebook of eight
// values an entry, shifted by an eighth) and TQ1_0 (five to a byte, in base 3). Field offsets:
// specs/quants.md sections 5 and 6.
//
// IQ1 group block: factors of the sixteen rows, then for each 32 values the low index bytes (four
// sub-groups of sixteen rows), three planes of the higher index bits, and 16-bit row masks: of the
// scales' bits and of the shifts that are positive (IQ1_S: one for the 32 values; IQ1_M: one a
// sub-group). TQ1_0 group block: factors, then the bytes of the file's blocks, four of each row
// side by side.
#pragma once

#include "veloce/cpu/pack/i_quants.hpp"
#include "veloce/formats/iq1_m.hpp"
#include "veloce/formats/iq1_s.hpp"
#include "veloce/formats/tq1_0.hpp"

namespace veloce::cpu {
namespace detail {

// The codebook in the form that look_up() reads: t as 8 (t + 1).
constexpr Grid<2048, 8, 2> make_iq1_grid() {
  Grid<2048, 8, 2> g{};
  for (int i = 0; i < 16; ++i) g.magnitude[i] = std::uint8_t(8 * (i % 4));
  for (int e = 0; e < 2048; ++e)
    for (int j = 0; j < 8; ++j) {
      const int digit = iq1_digit(kIq1Grid[e], j);
      g.fields[j / 4][e] = std::uint8_t(g.fields[j / 4][e] | digit << (2 * (j % 4)));
      g.bytes[e][j / 4] |= std::uint32_t(8 * digit) << (8 * (j % 4));
    }
  return g;
}
// A 16-bit mask over the rows: bit(r).
template <class Bit>
std::byte* put_rows(Bit bit, std::byte* out) {
  std::uint32_t mask = 0;
  for (int r = 0; r < kGroupRows; ++r) mask |= std::uint32_t(bit(r) & 1) << r;
  *out++ = std::byte(mask & 255);
  *out++ = std::byte(mask >> 8);
  return out;
}

}  // namespace detail

inline constexpr auto kGrid1 = detail::make_iq1_grid();

template <>
struct Layout<IQ1_S> {
  static constexpr bool kInterleaved = true;
  static void pack(const IQ1_S::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 0, 2, out);
    for (int ib = 0; ib < 8; ++ib) {
      const auto word = [&](int r) { return load_le<std::uint16_t>(rows[r]->qh[ib]); };
      for (int l = 0; l < 4; ++l)
        for (int r = 0; r < kGroupRows; ++r) *out++ = std::byte(rows[r]->qs[4 * ib + l]);
      for (int p = 0; p < 3; ++p)
        out = detail::put_plane<4>([&](int l, int r) { return word(r) >> (3 * l + p); }, out);
      for (int p = 12; p < 15; ++p)
        out = detail::put_rows([&](int r) { return word(r) >> p; }, out);
      out = detail::put_rows([&](int r) { return ~word(r) >> 15; }, out);
    }
  }
};

template <>
struct Layout<IQ1_M> {
  static constexpr bool kInterleaved = true;
  static void pack(const IQ1_M::Block* const rows[kGroupRows], std::byte* out) {
    for (int r = 0; r < kGroupRows; ++r) {
      const std::uint16_t d = IQ1_M::d_bits(*rows[r]);
      *out++ = std::byte(d & 255);
      *out++ = std::byte(d >> 8);
    }
    for (int ib = 0; ib < 8; ++ib) {
      const auto nibble = [&](int l, int r) {
        return rows[r]->qh[2 * ib + l / 2] >> (4 * (l % 2));
      };
      for (int l = 0; l < 4; ++l)
        for (int r = 0; r < kGroupRows; ++r) *out++ = std::byte(rows[r]->qs[4 * ib + l]);
      for (int p = 0; p < 3; ++p)
        out = detail::put_plane<4>([&](int l, int r) { return nibble(l, r) >> p; }, out);
      out = detail::put_plane<4>([&](int l, int r) { return ~nibble(l, r) >> 3; }, out);
      for (int p = 0; p < 6; ++p)  // two scales of three bits, which lie side by side
        out = detail::put_rows(
            [&](int r) {
              return load_le<std::uint16_t>(rows[r]->scales[ib / 2]) >> (6 * (ib % 2) + p);
            },
            out);
    }
  }
};

template <>
struct Layout<TQ1_0> {
  static constexpr bool kInterleaved = true;
  static void pack(const TQ1_0::Block* const rows[kGroupRows], std::byte* out) {
    out = put_field(rows, 52, 2, out);
    for (int i = 0; i < 52; i += 4) out = put_field(rows, std::size_t(i), 4, out);  // qs, then qh
  }
};

namespace VELOCE_ISA_NS {

// d * (2 scale + 1) / 8, the scale's three bits in the row masks at p.
VELOCE_INLINE F32 iq1_scale(F32 d, const std::byte* p) {
  I32 s = set1_i32(1);
  s = add_where(s, load_u16(p), 2);
  s = add_where(s, load_u16(p + 2), 4);
  s = add_where(s, load_u16(p + 4), 8);
  return mul(mul(d, to_float(s)), set1(0.125f));
}

// 32 codes of the codebook, 8 t + 8.
VELOCE_INLINE void iq1_look_up(const std::byte* p, U8 q[8]) {
  look_up<3>(kGrid1, {p, {load_u64(p + 64), load_u64(p + 72), load_u64(p + 80)}}, q);
}

// The stored code of a value is 8 t + 8 + (1 or -1) + 1.
template <>
struct Unpack<IQ1_S> {
  static constexpr int kBias = 9;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    const F32 d = load_half16(p);
    p += 32 + 96 * sub;
    u.scale[0] = iq1_scale(d, p + 88);
    iq1_look_up(p, u.q);
    const std::uint16_t positive = load_u16(p + 94);
    VELOCE_UNROLL(8)
    for (int j = 0; j < 8; ++j) u.q[j] = add_where_u8(u.q[j], positive, 2);
  }
};

template <>
struct Unpack<IQ1_M> {
  static constexpr int kBias = 9;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    const F32 d = load_half16(p);
    p += 32 + 108 * sub;
    u.scale[0] = iq1_scale(d, p + 96);
    u.scale[1] = iq1_scale(d, p + 102);
    iq1_look_up(p, u.q);
    VELOCE_UNROLL(8)
    for (int j = 0; j < 8; ++j) u.q[j] = add_where_u8(u.q[j], load_u16(p + 88 + 2 * (j / 2)), 2);
  }
};

// The base-3 digit that `n` threefolds bring to the front of each byte, as TQ1_0::digit().
VELOCE_INLINE U8 ternary_digit(U8 x, int n) {
  for (int i = 0; i < n; ++i) x = add_u8(x, add_u8(x, x));
  // 3 x reaches 256 at 86 and 512 at 171.
  return add_u8(min_u8(subtract_to_zero(x, set1_u8(85)), set1_u8(1)),
                min_u8(subtract_to_zero(x, set1_u8(170)), set1_u8(1)));
}

template <>
struct Unpack<TQ1_0> {
  static constexpr int kBias = 1;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    u.scale[0] = load_half16(p);
    p += 32;
    const auto bytes = [&](int step) { return load_u8(p + 64 * step); };
    if (sub < 5) {
      for (int j = 0; j < 8; ++j) u.q[j] = ternary_digit(bytes(j), sub);
      return;
    }
    const int first = 2 * (sub - 5);
    for (int j = 0; j < 4; ++j) {
      u.q[j] = ternary_digit(bytes(8 + j), first);
      u.q[j + 4] = sub < 7 ? ternary_digit(bytes(8 + j), first + 1) : ternary_digit(bytes(12), j);
    }
  }
};

}  // namespace VELOCE_ISA_NS
}  // namespace veloce::cpu

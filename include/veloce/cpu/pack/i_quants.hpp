// CPU layouts of the codebook formats IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS and IQ3_S. Group block:
// factors of the sixteen rows, sub-block scales (a byte vector of sixteen rows per byte of the
// file's block), then for each 32 values the low index bytes (sub-group or step after sub-group,
// sixteen rows each), the higher index bits as bit planes in the same order, and the signs. Field
// offsets: specs/quants.md section 5.
//
// Signs: per step a 64-bit mask, bit 4 * row + i for value i of the step. Formats whose eighth sign
// is the parity of the other seven store four masks for the even steps and three planes for the odd
// ones: nibble `row` of plane i has in bit l the sign of value 4 + i of sub-group l.
#pragma once

#include "veloce/cpu/pack/grids.hpp"
#include "veloce/cpu/pack/simple.hpp"
#include "veloce/formats/iq2_s.hpp"
#include "veloce/formats/iq2_xs.hpp"
#include "veloce/formats/iq2_xxs.hpp"
#include "veloce/formats/iq3_s.hpp"
#include "veloce/formats/iq3_xxs.hpp"

namespace veloce::cpu {
namespace detail {

inline std::byte* put_u64(std::uint64_t v, std::byte* out) {
  std::memcpy(out, &v, 8);
  return out + 8;
}

// Bit plane over 16 * Count numbers: value(i, row) for i < Count.
template <int Count, class Value>
std::byte* put_plane(Value value, std::byte* out) {
  for (int i = 0; i < Count; i += 4) {
    std::uint64_t plane = 0;
    for (int j = 0; j < 4; ++j)
      for (int r = 0; r < kGroupRows; ++r)
        plane |= std::uint64_t(value(i + j, r) & 1) << (16 * j + r);
    out = put_u64(plane, out);
  }
  return out;
}

// Four 7-bit sign indices of each row; index(row, l).
template <class Index>
std::byte* put_parity_signs(Index index, std::byte* out) {
  for (int l = 0; l < 4; ++l) {
    std::uint64_t even = 0;
    for (int r = 0; r < kGroupRows; ++r) even |= std::uint64_t(index(r, l) & 15) << (4 * r);
    out = put_u64(even, out);
  }
  for (int i = 0; i < 3; ++i) {
    std::uint64_t plane = 0;
    for (int r = 0; r < kGroupRows; ++r)
      for (int l = 0; l < 4; ++l)
        plane |= std::uint64_t((index(r, l) >> (4 + i)) & 1) << (4 * r + l);
    out = put_u64(plane, out);
  }
  return out;
}

// Four 8-bit sign masks of each row; mask(row, l).
template <class Mask>
std::byte* put_full_signs(Mask mask, std::byte* out) {
  for (int step = 0; step < 8; ++step) {
    std::uint64_t m = 0;
    for (int r = 0; r < kGroupRows; ++r)
      m |= std::uint64_t((mask(r, step / 2) >> (4 * (step % 2))) & 15) << (4 * r);
    out = put_u64(m, out);
  }
  return out;
}

// The 4-bit scales in the top bits of eight 32-bit words: bytes of two.
template <class Word>
std::byte* put_word_scales(Word word, std::byte* out) {
  for (int ib = 0; ib < 8; ib += 2)
    for (int r = 0; r < kGroupRows; ++r)
      *out++ = std::byte((word(r, ib) >> 28) | (word(r, ib + 1) >> 28) << 4);
  return out;
}

}  // namespace detail

template <>
struct Layout<IQ2_XXS> {
  static constexpr bool kInterleaved = true;
  static void pack(const IQ2_XXS::Block* const rows[kGroupRows], std::byte* out) {
    const auto group = [&](int r, int ib) { return detail::bytes_of(rows[r]) + 2 + 8 * ib; };
    const auto word = [&](int r, int ib) { return load_le<std::uint32_t>(group(r, ib) + 4); };
    out = put_field(rows, 0, 2, out);
    out = detail::put_word_scales(word, out);
    for (int ib = 0; ib < 8; ++ib) {
      for (int l = 0; l < 4; ++l)
        for (int r = 0; r < kGroupRows; ++r) *out++ = std::byte(group(r, ib)[l]);
      out = detail::put_parity_signs([&](int r, int l) { return (word(r, ib) >> (7 * l)) & 127; },
                                     out);
    }
  }
};

template <>
struct Layout<IQ3_XXS> {
  static constexpr bool kInterleaved = true;
  static void pack(const IQ3_XXS::Block* const rows[kGroupRows], std::byte* out) {
    const auto word = [&](int r, int ib) {
      return load_le<std::uint32_t>(detail::bytes_of(rows[r]) + 66 + 4 * ib);
    };
    out = put_field(rows, 0, 2, out);
    out = detail::put_word_scales(word, out);
    for (int ib = 0; ib < 8; ++ib) {
      for (int step = 0; step < 8; ++step)
        for (int r = 0; r < kGroupRows; ++r)
          *out++ = std::byte(detail::bytes_of(rows[r])[2 + 8 * ib + step]);
      out = detail::put_parity_signs([&](int r, int l) { return (word(r, ib) >> (7 * l)) & 127; },
                                     out);
    }
  }
};

template <>
struct Layout<IQ2_XS> {
  static constexpr bool kInterleaved = true;
  static void pack(const IQ2_XS::Block* const rows[kGroupRows], std::byte* out) {
    const auto word = [&](int r, int n) {
      return load_le<std::uint16_t>(detail::bytes_of(rows[r]) + 2 + 2 * n);
    };
    out = put_field(rows, 0, 2, out);
    for (int ib = 0; ib < 8; ++ib) out = put_field(rows, 66 + ib, 1, out);
    for (int ib = 0; ib < 8; ++ib) {
      for (int l = 0; l < 4; ++l)
        for (int r = 0; r < kGroupRows; ++r) *out++ = std::byte(word(r, 4 * ib + l) & 255);
      out = detail::put_plane<4>([&](int l, int r) { return word(r, 4 * ib + l) >> 8; }, out);
      out = detail::put_parity_signs([&](int r, int l) { return word(r, 4 * ib + l) >> 9; }, out);
    }
  }
};

template <>
struct Layout<IQ2_S> {
  static constexpr bool kInterleaved = true;
  static void pack(const IQ2_S::Block* const rows[kGroupRows], std::byte* out) {
    const auto byte = [&](int r, int at) { return detail::bytes_of(rows[r])[at]; };
    out = put_field(rows, 0, 2, out);
    for (int ib = 0; ib < 8; ++ib) out = put_field(rows, 74 + ib, 1, out);
    for (int ib = 0; ib < 8; ++ib) {
      for (int l = 0; l < 4; ++l)
        for (int r = 0; r < kGroupRows; ++r) *out++ = std::byte(byte(r, 2 + 4 * ib + l));
      for (int p = 0; p < 2; ++p)
        out = detail::put_plane<4>([&](int l, int r) { return byte(r, 66 + ib) >> (2 * l + p); },
                                   out);
      out = detail::put_full_signs([&](int r, int l) { return byte(r, 34 + 4 * ib + l); }, out);
    }
  }
};

template <>
struct Layout<IQ3_S> {
  static constexpr bool kInterleaved = true;
  static void pack(const IQ3_S::Block* const rows[kGroupRows], std::byte* out) {
    const auto byte = [&](int r, int at) { return detail::bytes_of(rows[r])[at]; };
    out = put_field(rows, 0, 2, out);
    for (int s = 0; s < 4; ++s) out = put_field(rows, 106 + s, 1, out);
    for (int ib = 0; ib < 8; ++ib) {
      for (int step = 0; step < 8; ++step)
        for (int r = 0; r < kGroupRows; ++r) *out++ = std::byte(byte(r, 2 + 8 * ib + step));
      out = detail::put_plane<8>([&](int step, int r) { return byte(r, 66 + ib) >> step; }, out);
      out = detail::put_full_signs([&](int r, int l) { return byte(r, 74 + 4 * ib + l); }, out);
    }
  }
};

namespace VELOCE_ISA_NS {

VELOCE_INLINE std::uint16_t load_u16(const std::byte* p) {
  return veloce::load_le<std::uint16_t>(p);
}
VELOCE_INLINE std::uint32_t load_u32(const std::byte* p) {
  return veloce::load_le<std::uint32_t>(p);
}
VELOCE_INLINE std::uint64_t load_u64(const std::byte* p) {
  return veloce::load_le<std::uint64_t>(p);
}

// q[step] = base +- magnitude, signs stored with parity.
VELOCE_INLINE void apply_parity_signs(const std::byte* p, U8 base, U8 q[8]) {
  constexpr std::uint64_t kOnes = 0x1111111111111111ull;
  const std::uint64_t a = load_u64(p + 32), b = load_u64(p + 40), c = load_u64(p + 48);
  VELOCE_UNROLL(4)
  for (int l = 0; l < 4; ++l) {
    const std::uint64_t even = load_u64(p + 8 * l);
    std::uint64_t odd = ((a >> l) & kOnes) | ((b >> l) & kOnes) << 1 | ((c >> l) & kOnes) << 2;
    std::uint64_t parity = even ^ odd;
    parity ^= (parity >> 2) & 0x3333333333333333ull;
    parity ^= (parity >> 1) & kOnes;
    odd |= (parity & kOnes) << 3;
    q[2 * l] = add_signed(base, q[2 * l], even);
    q[2 * l + 1] = add_signed(base, q[2 * l + 1], odd);
  }
}

VELOCE_INLINE void apply_full_signs(const std::byte* p, U8 base, U8 q[8]) {
  VELOCE_UNROLL(8)
  for (int j = 0; j < 8; ++j) q[j] = add_signed(base, q[j], load_u64(p + 8 * j));
}

// (d * (0.5 + scale)) * Factor, the scale in the low or high nibbles at p.
VELOCE_INLINE F32 half_step_scale(F32 d, const std::byte* p, bool high, float factor) {
  const I32 byte = load_u8_i32(p);
  const I32 scale = high ? shr_i32<4>(byte) : and_i32(byte, set1_i32(15));
  return mul(mul(d, add(set1(0.5f), to_float(scale))), set1(factor));
}

template <>
struct Unpack<IQ2_XXS> {
  static constexpr int kBias = 64;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    u.scale[0] = half_step_scale(load_half16(p), p + 32 + 16 * (sub / 2), sub % 2 != 0, 0.25f);
    p += 96 + 120 * sub;
    look_up<0>(kGrid2Xxs, {p, {}}, u.q);
    apply_parity_signs(p + 64, set1_u8(kBias), u.q);
  }
};

template <>
struct Unpack<IQ3_XXS> {
  static constexpr int kBias = 64;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    u.scale[0] = half_step_scale(load_half16(p), p + 32 + 16 * (sub / 2), sub % 2 != 0, 0.5f);
    p += 96 + 184 * sub;
    VELOCE_UNROLL(4)
    for (int i = 0; i < 4; ++i) look_up<0>(kGrid3Xxs, {p + 32 * i, 0}, u.q + 2 * i);
    apply_parity_signs(p + 128, set1_u8(kBias), u.q);
  }
};

template <>
struct Unpack<IQ2_XS> {
  static constexpr int kBias = 64;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    const F32 d = load_half16(p);
    u.scale[0] = half_step_scale(d, p + 32 + 16 * sub, false, 0.25f);
    u.scale[1] = half_step_scale(d, p + 32 + 16 * sub, true, 0.25f);
    p += 160 + 128 * sub;
    look_up<1>(kGrid2Xs, {p, {load_u64(p + 64)}}, u.q);
    apply_parity_signs(p + 72, set1_u8(kBias), u.q);
  }
};

template <>
struct Unpack<IQ2_S> {
  static constexpr int kBias = 64;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    const F32 d = load_half16(p);
    u.scale[0] = half_step_scale(d, p + 32 + 16 * sub, false, 0.25f);
    u.scale[1] = half_step_scale(d, p + 32 + 16 * sub, true, 0.25f);
    p += 160 + 144 * sub;
    look_up<2>(kGrid2S, {p, {load_u64(p + 64), load_u64(p + 72)}}, u.q);
    apply_full_signs(p + 80, set1_u8(kBias), u.q);
  }
};

template <>
struct Unpack<IQ3_S> {
  static constexpr int kBias = 16;
  static constexpr bool kWide = false;
  VELOCE_INLINE static void run(const std::byte* p, int sub, Unpacked& u) {
    const I32 byte = load_u8_i32(p + 32 + 16 * (sub / 2));
    const I32 scale = sub % 2 != 0 ? shr_i32<4>(byte) : and_i32(byte, set1_i32(15));
    u.scale[0] = mul(load_half16(p), to_float(add_i32(set1_i32(1), add_i32(scale, scale))));
    p += 96 + 208 * sub;
    VELOCE_UNROLL(4)
    for (int i = 0; i < 4; ++i)
      look_up<1>(kGrid3S, {p + 32 * i, load_u32(p + 128 + 4 * i)}, u.q + 2 * i);
    apply_full_signs(p + 144, set1_u8(kBias), u.q);
  }
};

}  // namespace VELOCE_ISA_NS
}  // namespace veloce::cpu

// How the CPU backend lays out a weight matrix: sixteen rows side by side.
//
// Rows are taken in groups of 16 (the last group is padded with zero blocks), and within a group
// the blocks of the sixteen rows are stored together, K-block after K-block, so that a matvec
// streams memory in order. Lane r of every vector belongs to row r, so an output element is one
// lane's running sum: nothing is ever added across lanes, and the result does not depend on how
// many columns or threads share the work. A packed matrix takes as many bytes as the GGUF rows
// (plus padding): fields are permuted, never widened.
//
// Layout<F> says how one group block is written; Unpack<F> (per instruction set) reads 32 values of
// all sixteen rows at a time. A "step" is 4 consecutive values: the unit of the byte dot. Codes of
// 32 values are 8 steps x 16 rows x 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "veloce/cpu/simd.hpp"
#include "veloce/formats/format.hpp"

namespace veloce::cpu {

inline constexpr int kGroupRows = 16;

// Codes of one row's 32 values, for the packers.
struct Codes32 {
  std::uint8_t v[kGroupRows][32];
};

// 32 values x 16 rows of nibbles: 256 bytes. Low nibble: step j, high nibble: step j + 4.
inline std::byte* put_nibbles(const Codes32& c, std::byte* out) {
  for (int j = 0; j < 4; ++j)
    for (int r = 0; r < kGroupRows; ++r)
      for (int i = 0; i < 4; ++i)
        *out++ = std::byte((c.v[r][4 * j + i] & 15) | (c.v[r][4 * j + 16 + i] & 15) << 4);
  return out;
}

// Two bits of each code (from bit `shift`): 128 bytes. Byte vector u, field t: step 4u + t.
inline std::byte* put_crumbs(const Codes32& c, int shift, std::byte* out) {
  for (int u = 0; u < 2; ++u)
    for (int r = 0; r < kGroupRows; ++r)
      for (int i = 0; i < 4; ++i) {
        int b = 0;
        for (int t = 0; t < 4; ++t) b |= ((c.v[r][16 * u + 4 * t + i] >> shift) & 3) << (2 * t);
        *out++ = std::byte(b);
      }
  return out;
}

// One bit of each code: 64 bytes. Bit t: step t.
inline std::byte* put_bits(const Codes32& c, int shift, std::byte* out) {
  for (int r = 0; r < kGroupRows; ++r)
    for (int i = 0; i < 4; ++i) {
      int b = 0;
      for (int t = 0; t < 8; ++t) b |= ((c.v[r][4 * t + i] >> shift) & 1) << t;
      *out++ = std::byte(b);
    }
  return out;
}

// Whole bytes: 512 bytes.
inline std::byte* put_bytes(const Codes32& c, std::byte* out) {
  for (int j = 0; j < 8; ++j)
    for (int r = 0; r < kGroupRows; ++r)
      for (int i = 0; i < 4; ++i) *out++ = std::byte(c.v[r][4 * j + i]);
  return out;
}

// The same `size`-byte field of sixteen blocks, row after row.
template <class Block>
std::byte* put_field(const Block* const rows[kGroupRows], std::size_t offset, std::size_t size,
                     std::byte* out) {
  for (int r = 0; r < kGroupRows; ++r, out += size)
    std::memcpy(out, reinterpret_cast<const std::byte*>(rows[r]) + offset, size);
  return out;
}

// Default layout: the sixteen blocks one after the other, unchanged. Specialised where reading it
// that way is slow.
template <BlockFormat F>
struct Layout {
  static constexpr bool kInterleaved = false;
  static void pack(const typename F::Block* const rows[kGroupRows], std::byte* out) {
    put_field(rows, 0, F::kBytes, out);
  }
};

template <BlockFormat F>
inline constexpr std::size_t kGroupBlockBytes = kGroupRows* F::kBytes;

namespace VELOCE_ISA_NS {

// 32 values of sixteen rows: stored code = code + kBias, value = scale * code + minus_min.
// Formats with scales for 16 values use [0] for the first half and [1] for the second.
struct Unpacked {
  U8 q[8];
  F32 scale[2];
  F32 minus_min[2];
};

VELOCE_INLINE void unpack_nibbles(const std::byte* p, U8 q[8]) {
  const U8 mask = set1_u8(15);
  for (int j = 0; j < 4; ++j) {
    const U8 v = load_u8(p + 64 * j);
    q[j] = and_u8(v, mask);
    q[j + 4] = shr_and<4>(v, mask);
  }
}

// q[step] = the 2-bit field of the step.
VELOCE_INLINE void unpack_crumbs(const std::byte* p, U8 q[8]) {
  const U8 mask = set1_u8(3);
  for (int u = 0; u < 2; ++u) {
    const U8 v = load_u8(p + 64 * u);
    q[4 * u] = and_u8(v, mask);
    q[4 * u + 1] = shr_and<2>(v, mask);
    q[4 * u + 2] = shr_and<4>(v, mask);
    q[4 * u + 3] = shr_and<6>(v, mask);
  }
}

// q[step] |= the 2-bit field of the step, shifted to bits 4 and 5.
VELOCE_INLINE void or_crumbs_at_4(const std::byte* p, U8 q[8]) {
  const U8 mask = set1_u8(0x30);
  for (int u = 0; u < 2; ++u) {
    const U8 v = load_u8(p + 64 * u);
    q[4 * u] = or_u8(q[4 * u], shl_and<4>(v, mask));
    q[4 * u + 1] = or_u8(q[4 * u + 1], shl_and<2>(v, mask));
    q[4 * u + 2] = or_u8(q[4 * u + 2], and_u8(v, mask));
    q[4 * u + 3] = or_u8(q[4 * u + 3], shr_and<2>(v, mask));
  }
}

// q[step] |= the bit of the step, shifted to bit Bit (2 or 4).
template <int Bit>
VELOCE_INLINE void or_bits_at(const std::byte* p, U8 q[8]) {
  const U8 v = load_u8(p);
  const U8 mask = set1_u8(1u << Bit);
  const auto at = [&]<int T>() {
    if constexpr (T < Bit)
      q[T] = or_u8(q[T], shl_and<Bit - T>(v, mask));
    else if constexpr (T == Bit)
      q[T] = or_u8(q[T], and_u8(v, mask));
    else
      q[T] = or_u8(q[T], shr_and<T - Bit>(v, mask));
  };
  at.template operator()<0>();
  at.template operator()<1>();
  at.template operator()<2>();
  at.template operator()<3>();
  at.template operator()<4>();
  at.template operator()<5>();
  at.template operator()<6>();
  at.template operator()<7>();
}

VELOCE_INLINE F32 load_half16(const std::byte* p) {
  return from_half(reinterpret_cast<const std::uint16_t*>(p));
}

// Reads the default layout through the format's own scalar code: right for every format, fast for
// none.
template <IntDotFormat F>
struct Unpack {
  static constexpr bool kWide = F::kMaxCode - F::kMinCode > 127;
  static constexpr int kBias = kWide ? 128 : -F::kMinCode;

  VELOCE_NOINLINE static void run(const std::byte* group, int sub, Unpacked& u) {
    alignas(64) std::uint8_t codes[8][kGroupRows][4];
    alignas(64) float scale[2][kGroupRows], min[2][kGroupRows];
    for (int r = 0; r < kGroupRows; ++r) {
      const auto& block = *reinterpret_cast<const typename F::Block*>(group + r * F::kBytes);
      for (int h = 0; h < 2; ++h) {
        const I8x16 c = F::unpack16(block, 2 * sub + h);
        for (int i = 0; i < 16; ++i) codes[4 * h + i / 4][r][i % 4] = std::uint8_t(c.v[i] + kBias);
        const Affine a = F::affine(block, 2 * sub + h);
        scale[h][r] = a.scale;
        min[h][r] = -a.min;
      }
    }
    for (int j = 0; j < 8; ++j) u.q[j] = load_u8(codes[j]);
    for (int h = 0; h < 2; ++h) {
      u.scale[h] = load(scale[h]);
      u.minus_min[h] = load(min[h]);
    }
  }
};

}  // namespace VELOCE_ISA_NS
}  // namespace veloce::cpu

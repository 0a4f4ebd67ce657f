// The inner loops of the CPU matmul: one group of sixteen rows times a tile of one to eight
// columns.
//
//   8-bit:  for each 32 values (or 16, if the format has a scale for 16):
//             acc = fma(float(sum of code * q), scale * activation_scale, acc)
//             acc = fma(-min, activation_scale * sum of q, acc)              where the format has
//             mins
//   float:  for each value k: acc = fma(w[k], x[k], acc), w as the format's decode gives it
// in order of k, each operation rounded once. That is the whole reduction order: every path below
// (direct, through an unpacked panel, any tile width, any instruction set) computes exactly this.
//
// Floor: a matvec reads the weights once, bytes / bandwidth; a GEMM does rows * k * n byte
// products, 64 a VNNI instruction of which two start a cycle on the best cores. The 4-bit formats
// spend 10 vector instructions on 512 products in the direct path besides the 8 dots of a column.
#pragma once

#include "veloce/cpu/matmul_types.hpp"
#include "veloce/cpu/pack/layout.hpp"

namespace veloce::cpu::VELOCE_ISA_NS {

// One tile of ActivationsQ8.
struct TileQ8 {
  const std::int8_t* q;
  const float* scale;
  const std::int32_t* sum16;
  const std::int32_t* sum32;
  const float* scaled_sum16;
  const float* scaled_sum32;
  std::size_t read_ahead;  // bytes, see Matmul
};

VELOCE_INLINE TileQ8 tile_of(const ActivationsQ8& a, int tile, std::size_t read_ahead = 0) {
  const std::size_t column = std::size_t(tile) * kTileColumns,
                    blocks = column * (std::size_t(a.k) / 32);
  return {a.q + column * std::size_t(a.k),
          a.scale + blocks,
          a.sum16 + 2 * blocks,
          a.sum32 + blocks,
          a.scaled_sum16 + 2 * blocks,
          a.scaled_sum32 + blocks,
          read_ahead};
}

// Asks for the cache lines of Bytes bytes at p, which are needed soon.
template <std::size_t Bytes>
VELOCE_INLINE void prefetch(const std::byte* p) {
  VELOCE_UNROLL(16)
  for (std::size_t i = 0; i < Bytes; i += 64) __builtin_prefetch(p + i);
}

VELOCE_INLINE std::int32_t load_step(const std::int8_t* p) {
  std::int32_t v;
  std::memcpy(&v, p, 4);
  return v;
}

// How a format's codes enter the dot.
template <int Bias, bool Wide, int ScaleGroup, bool HasMin>
struct DotTraits {
  static constexpr int kBias = Bias;
  static constexpr bool kWide = Wide;
  static constexpr int kScaleGroup = ScaleGroup;
  static constexpr bool kHasMin = HasMin;
  // What the dot of the stored codes exceeds the true one by, per unit of the activations' sum.
  static constexpr int kStart = Wide && !kWideIsBiased ? 0 : Bias;
};

template <class T>
VELOCE_INLINE I32 dot(I32 acc, U8 w, std::int32_t a) {
  if constexpr (T::kWide)
    return dot_wide(acc, w, a);
  else
    return dot_narrow(acc, w, a);
}

// One block of 32 values (number `block` of the row) for W columns.
template <class T, int W>
VELOCE_INLINE void accumulate(const Unpacked& u, const TileQ8& a, std::size_t block,
                              F32 (&acc)[W]) {
  const std::int8_t* q = a.q + block * 32 * W;
  if constexpr (T::kScaleGroup == 32) {
    I32 even[W], odd[W];
    for (int c = 0; c < W; ++c) {
      even[c] = T::kStart ? set1_i32(-T::kStart * a.sum32[block * W + c]) : zero_i32();
      odd[c] = zero_i32();
    }
    if constexpr (W == 1) {  // two chains, or the dots would wait for each other
      for (int j = 0; j < 8; j += 2) {
        even[0] = dot<T>(even[0], u.q[j], load_step(q + 4 * j));
        odd[0] = dot<T>(odd[0], u.q[j + 1], load_step(q + 4 * j + 4));
      }
      even[0] = add_i32(even[0], odd[0]);
    } else {
      VELOCE_UNROLL(8)
      for (int j = 0; j < 8; ++j) VELOCE_UNROLL(8)
      for (int c = 0; c < W; ++c) even[c] = dot<T>(even[c], u.q[j], load_step(q + 4 * (j * W + c)));
    }
    for (int c = 0; c < W; ++c) {
      acc[c] = fma(to_float(even[c]), mul(u.scale[0], set1(a.scale[block * W + c])), acc[c]);
      if constexpr (T::kHasMin)
        acc[c] = fma(u.minus_min[0], set1(a.scaled_sum32[block * W + c]), acc[c]);
    }
  } else {
    VELOCE_UNROLL(2)
    for (int h = 0; h < 2; ++h) {
      I32 sum[W];
      for (int c = 0; c < W; ++c)
        sum[c] = T::kStart ? set1_i32(-T::kStart * a.sum16[(2 * block + h) * W + c]) : zero_i32();
      VELOCE_UNROLL(4)
      for (int j = 0; j < 4; ++j) VELOCE_UNROLL(8)
      for (int c = 0; c < W; ++c)
        sum[c] = dot<T>(sum[c], u.q[4 * h + j], load_step(q + 4 * ((4 * h + j) * W + c)));
      for (int c = 0; c < W; ++c) {
        acc[c] = fma(to_float(sum[c]), mul(u.scale[h], set1(a.scale[block * W + c])), acc[c]);
        if constexpr (T::kHasMin)
          acc[c] = fma(u.minus_min[h], set1(a.scaled_sum16[(2 * block + h) * W + c]), acc[c]);
      }
    }
  }
}

template <IntDotFormat F>
using TraitsOf = DotTraits<Unpack<F>::kBias, Unpack<F>::kWide, F::kScaleGroup, F::kHasMin>;

// Straight from the packed group: unpack, use for W columns, forget. acc: [W][16].
template <IntDotFormat F, int W>
void direct_tile(const std::byte* group, int k, const TileQ8& a, float* out) {
  F32 acc[W];
  for (int c = 0; c < W; ++c) acc[c] = zero_f32();
  constexpr int kSubs = F::kValues / 32;
  std::size_t block = 0;
  for (int left = k / F::kValues; left > 0; --left, group += kGroupBlockBytes<F>) {
    VELOCE_UNROLL(8)
    for (int s = 0; s < kSubs; ++s) {
      // The hardware's prefetcher stops at page ends and falls behind the unpacking: Q6_K 19 to 38
      // GB/s, Q4_K 23 to 36 (one thread of a Zen 5 core, matrices beyond the caches; how far:
      // best_read_ahead()).
      prefetch<kGroupBlockBytes<F> / kSubs>(group + std::size_t(s) * (kGroupBlockBytes<F> / kSubs) +
                                            a.read_ahead);
      Unpacked u;
      Unpack<F>::run(group, s, u);
      accumulate<TraitsOf<F>, W>(u, a, block++, acc);
    }
  }
  for (int c = 0; c < W; ++c) store(out + 16 * c, acc[c]);
}

// A group unpacked once, to be used for many tiles. q: [k/32][8][64], scale and minus_min:
// [k/ScaleGroup][16].
struct Panel {
  std::uint8_t* q;
  float* scale;
  float* minus_min;
};

VELOCE_INLINE Panel panel_in(std::byte* scratch, int k) {
  Panel p;
  p.q = reinterpret_cast<std::uint8_t*>(scratch);
  p.scale = reinterpret_cast<float*>(p.q + std::size_t(k) * 16);
  p.minus_min = p.scale + std::size_t(k) / 16 * 16;
  return p;
}

template <IntDotFormat F>
void unpack_panel(const std::byte* group, int k, const Panel& p) {
  constexpr int kHalves = 32 / F::kScaleGroup, kSubs = F::kValues / 32;
  std::size_t block = 0;
  for (int left = k / F::kValues; left > 0; --left, group += kGroupBlockBytes<F>) {
    VELOCE_UNROLL(8)
    for (int s = 0; s < kSubs; ++s, ++block) {
      Unpacked u;
      Unpack<F>::run(group, s, u);
      for (int j = 0; j < 8; ++j) store_u8(p.q + (block * 8 + j) * 64, u.q[j]);
      for (int h = 0; h < kHalves; ++h) {
        store(p.scale + (block * kHalves + h) * 16, u.scale[h]);
        if constexpr (F::kHasMin) store(p.minus_min + (block * kHalves + h) * 16, u.minus_min[h]);
      }
    }
  }
}

template <class T, int W>
void panel_tile(const Panel& p, int k, const TileQ8& a, float* out) {
  constexpr int kHalves = 32 / T::kScaleGroup;
  F32 acc[W];
  for (int c = 0; c < W; ++c) acc[c] = zero_f32();
  for (std::size_t block = 0; block < std::size_t(k) / 32; ++block) {
    Unpacked u;
    for (int j = 0; j < 8; ++j) u.q[j] = load_u8(p.q + (block * 8 + j) * 64);
    for (int h = 0; h < kHalves; ++h) {
      u.scale[h] = load(p.scale + (block * kHalves + h) * 16);
      if constexpr (T::kHasMin) u.minus_min[h] = load(p.minus_min + (block * kHalves + h) * 16);
    }
    accumulate<T, W>(u, a, block, acc);
  }
  for (int c = 0; c < W; ++c) store(out + 16 * c, acc[c]);
}

// Float weights [k][16] times W columns of float activations [k][W]. LoadRow(i): the sixteen
// weights of value i.
template <int W, class LoadRow>
VELOCE_INLINE void float_tile(LoadRow row, int k, const float* x, float* out) {
  F32 acc[W];
  for (int c = 0; c < W; ++c) acc[c] = zero_f32();
  for (int i = 0; i < k; ++i) {
    const F32 w = row(i);
    VELOCE_UNROLL(8)
    for (int c = 0; c < W; ++c) acc[c] = fma(w, set1(x[std::size_t(i) * W + c]), acc[c]);
  }
  for (int c = 0; c < W; ++c) store(out + 16 * c, acc[c]);
}

// The values of a whole group as floats, [k][16], bit for bit what decode gives.
template <IntDotFormat F>
void expand_group(const std::byte* group, int k, float* out) {
  if constexpr (!F::kExactAffine || !Layout<F>::kInterleaved) {
    alignas(64) float row[F::kValues];
    for (int left = k / F::kValues; left > 0;
         --left, group += kGroupBlockBytes<F>, out += 16 * F::kValues)
      for (int r = 0; r < 16; ++r) {
        F::decode(*reinterpret_cast<const typename F::Block*>(group + r * F::kBytes), row);
        for (int i = 0; i < F::kValues; ++i) out[16 * i + r] = row[i];
      }
  } else {
    for (int left = k / F::kValues; left > 0; --left, group += kGroupBlockBytes<F>)
      for (int s = 0; s < F::kValues / 32; ++s) {
        Unpacked u;
        Unpack<F>::run(group, s, u);
        alignas(64) std::uint8_t codes[8][16][4];
        alignas(64) float scale[2][16], minus_min[2][16];
        constexpr int kHalves = 32 / F::kScaleGroup;
        for (int j = 0; j < 8; ++j) store_u8(codes[j], u.q[j]);
        for (int h = 0; h < kHalves; ++h) {
          store(scale[h], u.scale[h]);
          if constexpr (F::kHasMin) store(minus_min[h], u.minus_min[h]);
        }
        for (int i = 0; i < 32; ++i, out += 16) {
          const int h = i / F::kScaleGroup;
          for (int r = 0; r < 16; ++r) {
            const float v = scale[h][r] * float(int(codes[i / 4][r][i % 4]) - Unpack<F>::kBias);
            out[r] = F::kHasMin ? v + minus_min[h][r] : v;
          }
        }
      }
  }
}

}  // namespace veloce::cpu::VELOCE_ISA_NS

// From float rows to the tiles that the matmul reads: RMS norm, rounding to 8 bits, scattering.
//
// A column is prepared by one worker from its own row alone, so that it does not depend on its
// neighbours.
#pragma once

#include "veloce/cpu/matmul_types.hpp"
#include "veloce/cpu/simd.hpp"
#include "veloce/formats/activation_q8.hpp"

namespace veloce::cpu::VELOCE_ISA_NS {

// 1 / sqrt(mean(x^2) + epsilon). Squares are summed in sixteen running sums (lane i takes elements
// i, i + 16, ...), then across by sum_lanes; k need not be a multiple of 16.
inline float inverse_rms(const float* x, int k, float epsilon) {
  F32 sum = zero_f32();
  int i = 0;
  for (; i + 16 <= k; i += 16) {
    const F32 v = load(x + i);
    sum = fma(v, v, sum);
  }
  if (i < k) {
    alignas(64) float tail[16] = {};
    for (int j = i; j < k; ++j) tail[j - i] = x[j];
    const F32 v = load(tail);
    sum = fma(v, v, sum);
  }
  return 1.0f / __builtin_sqrtf(sum_lanes(sum) / float(k) + epsilon);
}

// out = x * inverse_rms * weight, in that order. x and out may be the same.
inline void rms_norm_row(const float* x, const float* weight, int k, float epsilon, float* out) {
  const float scale = inverse_rms(x, k, epsilon);
  int i = 0;
  for (; i + 16 <= k; i += 16) store(out + i, mul(mul(load(x + i), set1(scale)), load(weight + i)));
  for (; i < k; ++i) out[i] = x[i] * scale * weight[i];
}

// Rounds one row (k a multiple of 32) to 8 bits and places it as column c of the tiles.
inline void quantize_column(const float* x, const ActivationsQ8& a, int c) {
  const std::size_t k = std::size_t(a.k), first = std::size_t(c) / kTileColumns * kTileColumns;
  const std::size_t left = std::size_t(a.n) - first, w = left < kTileColumns ? left : kTileColumns;
  const std::size_t lane = std::size_t(c) - first, base = first * (k / 32);
  for (std::size_t b = 0; b < k / 32; ++b, x += 32) {
    const F32 lo = load(x), hi = load(x + 16);
    alignas(64) std::int32_t bits[16];
    store_i32(bits, and_i32(max_i32(and_i32(float_bits(lo), set1_i32(0x7FFFFFFF)),
                                    and_i32(float_bits(hi), set1_i32(0x7FFFFFFF))),
                            set1_i32(0x7FFFFFFF)));
    std::int32_t magnitude = 0;
    for (int i = 0; i < 16; ++i) magnitude = bits[i] > magnitude ? bits[i] : magnitude;
    const ActivationScale s = activation_scale(std::uint32_t(magnitude));
    alignas(64) std::int8_t q[32] = {};
    std::int32_t sum[2] = {0, 0};
    if (s.inverse != 0.0f) {
      store_i8(q, round_to_int(mul(lo, set1(s.inverse))));
      store_i8(q + 16, round_to_int(mul(hi, set1(s.inverse))));
      for (int h = 0; h < 2; ++h)
        for (int i = 0; i < 16; ++i) sum[h] += q[16 * h + i];
    }
    std::int8_t* out = a.q + first * k + b * 32 * w + lane * 4;
    for (int j = 0; j < 8; ++j) std::memcpy(out + std::size_t(j) * 4 * w, q + 4 * j, 4);
    const std::size_t at = base + b * w + lane, at16 = 2 * base + 2 * b * w + lane;
    a.scale[at] = s.scale;
    a.sum32[at] = sum[0] + sum[1];
    a.scaled_sum32[at] = s.scale * float(sum[0] + sum[1]);
    for (std::size_t h = 0; h < 2; ++h) {
      a.sum16[at16 + h * w] = sum[h];
      a.scaled_sum16[at16 + h * w] = s.scale * float(sum[h]);
    }
  }
}

// Places one row as column c of float tiles.
inline void place_column(const float* x, const ActivationsF32& a, int c) {
  const std::size_t k = std::size_t(a.k), first = std::size_t(c) / kTileColumns * kTileColumns;
  const std::size_t left = std::size_t(a.n) - first, w = left < kTileColumns ? left : kTileColumns;
  float* out = a.x + first * k + (std::size_t(c) - first);
  for (std::size_t i = 0; i < k; ++i) out[i * w] = x[i];
}

}  // namespace veloce::cpu::VELOCE_ISA_NS

// Writing keys and values into the cache and reading chunks of it back as floats (layout: cpu/kv_types.hpp).
#pragma once

#include "veloce/core/numeric.hpp"
#include "veloce/cpu/kv_types.hpp"
#include "veloce/cpu/simd.hpp"

namespace veloce::cpu::VELOCE_ISA_NS {

// Q8_0 of 32 floats: d = amax / 127 rounded to binary16 for storage, codes with the unrounded 1 / d, nearest even.
inline std::uint16_t quantize_q8_0(const float* x, std::int8_t* q) {
  float amax = 0;
  for (int i = 0; i < 32; ++i) {
    const float a = __builtin_fabsf(x[i]);
    amax = a > amax ? a : amax;
  }
  const float d = amax / 127.0f, inverse = d > 0 ? 1.0f / d : 0.0f;
  for (int h = 0; h < 32; h += 16) store_i8(q + h, round_to_int(mul(load(x + h), set1(inverse))));
  return float_to_half(d);
}

inline void store_key(const KvView& kv, int head, int position, const float* x, int dim) {
  const std::size_t lane = std::size_t(position % kKeyTile);
  std::byte* tile = kv.k + std::size_t(head) * kv.k_head + std::size_t(position / kKeyTile) * kKeyTile * kv_bytes(kv.k_type, dim);
  switch (kv.k_type) {
    case KvType::kF32:
      for (int d = 0; d < dim; ++d) reinterpret_cast<float*>(tile)[std::size_t(d) * 16 + lane] = x[d];
      break;
    case KvType::kF16:
      for (int d = 0; d < dim; ++d) reinterpret_cast<std::uint16_t*>(tile)[std::size_t(d) * 16 + lane] = float_to_half(x[d]);
      break;
    case KvType::kBF16:
      for (int d = 0; d < dim; ++d) reinterpret_cast<std::uint16_t*>(tile)[std::size_t(d) * 16 + lane] = float_to_bf16(x[d]);
      break;
    case KvType::kQ8_0: {
      auto* codes = reinterpret_cast<std::int8_t*>(tile);
      auto* scales = reinterpret_cast<std::uint16_t*>(tile + std::size_t(dim) * 16);
      for (int b = 0; b < dim / 32; ++b) {
        std::int8_t q[32];
        scales[std::size_t(b) * 16 + lane] = quantize_q8_0(x + 32 * b, q);
        for (int i = 0; i < 32; ++i) codes[std::size_t(32 * b + i) * 16 + lane] = q[i];
      }
      break;
    }
  }
}

inline void store_value(const KvView& kv, int head, int position, const float* x, int dim) {
  std::byte* row = kv.v + std::size_t(head) * kv.v_head + std::size_t(position) * kv_bytes(kv.v_type, dim);
  switch (kv.v_type) {
    case KvType::kF32: std::memcpy(row, x, std::size_t(dim) * 4); break;
    case KvType::kF16:
      for (int d = 0; d < dim; ++d) reinterpret_cast<std::uint16_t*>(row)[d] = float_to_half(x[d]);
      break;
    case KvType::kBF16:
      for (int d = 0; d < dim; ++d) reinterpret_cast<std::uint16_t*>(row)[d] = float_to_bf16(x[d]);
      break;
    case KvType::kQ8_0: {
      auto* scales = reinterpret_cast<std::uint16_t*>(row + dim);
      for (int b = 0; b < dim / 32; ++b)
        scales[b] = quantize_q8_0(x + 32 * b, reinterpret_cast<std::int8_t*>(row) + 32 * b);
      break;
    }
  }
}

// Keys of positions begin .. (a multiple of 16), `tiles` tiles, as floats [tile][dim][16]. Returns where they are: in
// the cache itself if it is F32, else in `buffer`.
inline const float* read_keys(const KvView& kv, int head, int begin, int tiles, int dim, float* buffer) {
  const std::size_t tile_bytes = kKeyTile * kv_bytes(kv.k_type, dim);
  const std::byte* p = kv.k + std::size_t(head) * kv.k_head + std::size_t(begin / kKeyTile) * tile_bytes;
  if (kv.k_type == KvType::kF32) return reinterpret_cast<const float*>(p);
  float* out = buffer;
  for (int t = 0; t < tiles; ++t, p += tile_bytes)
    for (int d = 0; d < dim; ++d, out += 16) {
      if (kv.k_type == KvType::kF16) store(out, from_half(reinterpret_cast<const std::uint16_t*>(p) + std::size_t(d) * 16));
      else if (kv.k_type == KvType::kBF16) store(out, from_bf16(reinterpret_cast<const std::uint16_t*>(p) + std::size_t(d) * 16));
      else
        store(out, mul(from_half(reinterpret_cast<const std::uint16_t*>(p + std::size_t(dim) * 16) + std::size_t(d / 32) * 16),
                       to_float(load_i8_i32(p + std::size_t(d) * 16))));
    }
  return buffer;
}

// Values of `count` positions from `begin`, as floats [position][dim].
inline const float* read_values(const KvView& kv, int head, int begin, int count, int dim, float* buffer) {
  const std::size_t row_bytes = kv_bytes(kv.v_type, dim);
  const std::byte* p = kv.v + std::size_t(head) * kv.v_head + std::size_t(begin) * row_bytes;
  if (kv.v_type == KvType::kF32) return reinterpret_cast<const float*>(p);
  float* out = buffer;
  for (int i = 0; i < count; ++i, p += row_bytes)
    for (int d = 0; d < dim; d += 16, out += 16) {
      if (kv.v_type == KvType::kF16) store(out, from_half(reinterpret_cast<const std::uint16_t*>(p) + d));
      else if (kv.v_type == KvType::kBF16) store(out, from_bf16(reinterpret_cast<const std::uint16_t*>(p) + d));
      else
        store(out, mul(set1(half_to_float(reinterpret_cast<const std::uint16_t*>(p + dim)[d / 32])), to_float(load_i8_i32(p + d))));
    }
  return buffer;
}

}  // namespace veloce::cpu::VELOCE_ISA_NS

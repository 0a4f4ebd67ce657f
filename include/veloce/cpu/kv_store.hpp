// Writing keys and values into the cache and reading chunks of it back as floats (layout:
// cpu/kv_types.hpp).
#pragma once

#include "veloce/core/numeric.hpp"
#include "veloce/cpu/kv_types.hpp"
#include "veloce/cpu/simd.hpp"

namespace veloce::cpu::VELOCE_ISA_NS {

// A number that binary16 cannot hold is kept as the largest one that it can. Infinity in the cache
// would reach queries that do not see its position: a weight of zero times infinity is NaN.
inline std::uint16_t stored_half(float x) {
  constexpr std::uint16_t kInfinity = 0x7C00, kSign = 0x8000;
  const std::uint16_t h = float_to_half(x);
  return std::uint16_t(h - ((h & ~kSign) == kInfinity));
}

// Q8_0 of 32 floats: d = amax / 127 rounded to binary16 for storage, codes with the unrounded 1 /
// d, halves away from zero, as the format's own quantizer does it.
inline std::uint16_t quantize_q8_0(const float* x, std::int8_t* q) {
  float amax = 0;
  for (int i = 0; i < 32; ++i) {
    const float a = __builtin_fabsf(x[i]);
    amax = a > amax ? a : amax;
  }
  const float d = amax / 127.0f, inverse = d > 0 ? 1.0f / d : 0.0f;
  for (int i = 0; i < 32; ++i) {
    const float r = __builtin_roundf(x[i] * inverse);
    q[i] = std::int8_t(r >= -127.0f ? (r <= 127.0f ? r : 127.0f) : -127.0f);  // NaN included
  }
  return stored_half(d);
}

inline void store_key(const KvView& kv, int head, int position, const float* x, int dim) {
  const std::size_t lane = std::size_t(position % kKeyTile);
  std::byte* tile = kv.k + std::size_t(head) * kv.k_head +
                    std::size_t(position / kKeyTile) * kKeyTile * kv_bytes(kv.k_type, dim);
  switch (kv.k_type) {
    case KvType::kF32:
      for (int d = 0; d < dim; ++d)
        reinterpret_cast<float*>(tile)[std::size_t(d) * 16 + lane] = x[d];
      break;
    case KvType::kF16:
      for (int d = 0; d < dim; ++d)
        reinterpret_cast<std::uint16_t*>(tile)[std::size_t(d) * 16 + lane] = stored_half(x[d]);
      break;
    case KvType::kBF16:
      for (int d = 0; d < dim; ++d)
        reinterpret_cast<std::uint16_t*>(tile)[std::size_t(d) * 16 + lane] = float_to_bf16(x[d]);
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
  const std::size_t bytes = kv_bytes(kv.v_type, dim);
  std::byte* row = kv.v + std::size_t(head) * kv.v_head + std::size_t(position) * bytes;
  if (dim % 16 != 0) std::memset(row, 0, bytes);
  switch (kv.v_type) {
    case KvType::kF32:
      std::memcpy(row, x, std::size_t(dim) * 4);
      break;
    case KvType::kF16:
      for (int d = 0; d < dim; ++d) reinterpret_cast<std::uint16_t*>(row)[d] = stored_half(x[d]);
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

// Keys of one head from a tile on, and values from a position on, read sixteen numbers at a time as
// floats: from the cache (Keys<type>, Values<type>) or from a copy of it in floats, which has the
// layout of an F32 cache.
template <KvType Type>
struct Keys {
  const std::byte* base;
  int dim;
  // Dimension d of the sixteen positions of a tile.
  VELOCE_INLINE F32 at(int tile, int d) const {
    const std::byte* p = base + std::size_t(tile) * kKeyTile * kv_bytes(Type, dim);
    if constexpr (Type == KvType::kF32)
      return load(reinterpret_cast<const float*>(p) + std::size_t(d) * 16);
    else if constexpr (Type == KvType::kF16)
      return from_half(reinterpret_cast<const std::uint16_t*>(p) + std::size_t(d) * 16);
    else if constexpr (Type == KvType::kBF16)
      return from_bf16(reinterpret_cast<const std::uint16_t*>(p) + std::size_t(d) * 16);
    else
      return mul(from_half(reinterpret_cast<const std::uint16_t*>(p + std::size_t(dim) * 16) +
                           std::size_t(d / 32) * 16),
                 to_float(load_i8_i32(p + std::size_t(d) * 16)));
  }
};

template <KvType Type>
struct Values {
  const std::byte* base;
  int dim;
  // Dimensions d .. d + 15 of a position.
  VELOCE_INLINE F32 at(int position, int d) const {
    const std::byte* p = base + std::size_t(position) * kv_bytes(Type, dim);
    if constexpr (Type == KvType::kF32)
      return load(reinterpret_cast<const float*>(p) + d);
    else if constexpr (Type == KvType::kF16)
      return from_half(reinterpret_cast<const std::uint16_t*>(p) + d);
    else if constexpr (Type == KvType::kBF16)
      return from_bf16(reinterpret_cast<const std::uint16_t*>(p) + d);
    else
      return mul(set1(half_to_float(reinterpret_cast<const std::uint16_t*>(p + dim)[d / 32])),
                 to_float(load_i8_i32(p + d)));
  }
};

VELOCE_INLINE const std::byte* keys_from(const KvView& kv, int head, int position, int dim) {
  return kv.k + std::size_t(head) * kv.k_head +
         std::size_t(position / kKeyTile) * kKeyTile * kv_bytes(kv.k_type, dim);
}
VELOCE_INLINE const std::byte* values_from(const KvView& kv, int head, int position, int dim) {
  return kv.v + std::size_t(head) * kv.v_head + std::size_t(position) * kv_bytes(kv.v_type, dim);
}

// Copies as floats, for passes that read the same keys and values many times.
template <KvType Type>
void copy_keys(const Keys<Type>& keys, int tiles, float* out) {
  for (int t = 0; t < tiles; ++t)
    for (int d = 0; d < keys.dim; ++d)
      store(out + (std::size_t(t) * std::size_t(padded_head(keys.dim)) + std::size_t(d)) * 16,
            keys.at(t, d));
}
template <KvType Type>
void copy_values(const Values<Type>& values, int count, float* out) {
  for (int i = 0; i < count; ++i)
    for (int d = 0; d < values.dim; d += 16, out += 16) store(out, values.at(i, d));
}

// Calls fn.operator()<Type>() for the run-time type.
template <class Fn>
VELOCE_INLINE auto with_kv_type(KvType type, Fn fn) {
  switch (type) {
    case KvType::kF32:
      return fn.template operator()<KvType::kF32>();
    case KvType::kF16:
      return fn.template operator()<KvType::kF16>();
    case KvType::kBF16:
      return fn.template operator()<KvType::kBF16>();
    default:
      return fn.template operator()<KvType::kQ8_0>();
  }
}

}  // namespace veloce::cpu::VELOCE_ISA_NS

// What the format headers share: fields of a packed block at any alignment, and the checks of
// specs/quants.md section 10. Nothing here knows a format.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "veloce/config.hpp"
#include "veloce/core/numeric.hpp"
#include "veloce/formats/format.hpp"

namespace veloce {

// Writes a little-endian value at any alignment.
template <class T>
VELOCE_HD inline void store_le(void* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

// The binary16 number at p.
VELOCE_HD inline float load_half(const std::uint8_t* p) {
  return half_to_float(load_le<std::uint16_t>(p));
}

VELOCE_HD inline void store_half(std::uint8_t* p, float v) {
  store_le(p, float_to_half(v));
}

// Whether the binary16 bits are neither an infinity nor a NaN.
VELOCE_HD constexpr bool finite_half(std::uint16_t h) {
  return (h & 0x7C00u) != 0x7C00u;
}

VELOCE_HD inline bool finite_half_at(const std::uint8_t* p) {
  return finite_half(load_le<std::uint16_t>(p));
}

// n bits of x from bit p on.
VELOCE_HD constexpr int bits(std::uint32_t x, int p, int n) {
  return int((x >> p) & ((1u << n) - 1u));
}

// Entry i of a constant table at namespace scope. nvcc gives device code no address for such a
// table, so the entry comes from a copy that belongs to the function.
template <const auto& kTable>
VELOCE_HD inline auto table_at(std::uint32_t i) {
  static constexpr auto kCopy = std::to_array(kTable);
  return kCopy[i];
}

// The order of most 32-value blocks: low nibbles are values 0..15 (chunk 0), high nibbles 16..31
// (chunk 1). Returns code + offset.
VELOCE_HD inline I8x16 nibbles16(const std::uint8_t* qs, int high, int offset = 0) {
  I8x16 codes;
  for (int l = 0; l < 16; ++l) {
    codes.v[l] = std::int8_t(((qs[l] >> (4 * high)) & 15) + offset);
  }
  return codes;
}

}  // namespace veloce

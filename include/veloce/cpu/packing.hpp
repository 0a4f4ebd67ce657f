// From GGUF rows to packed groups (cpu/pack/layout.hpp), and the checks that belong to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "veloce/core/status.hpp"
#include "veloce/cpu/matmul_types.hpp"
#include "veloce/cpu/pack/i_quants.hpp"
#include "veloce/cpu/pack/k_quants.hpp"
#include "veloce/cpu/pack/ternary.hpp"
#include "veloce/cpu/pack/simple.hpp"
#include "veloce/formats/all.hpp"

namespace veloce::cpu {

// Bytes of one packed group of 16 rows of k values.
template <BlockFormat F>
constexpr std::size_t packed_group_bytes(int k) {
  return kGroupRows * row_bytes<F>(std::size_t(k));
}

// Packs group g of a matrix of `rows` rows of k values in GGUF's layout. Rows past the end are
// written as zero bytes.
template <BlockFormat F>
void pack_group(const std::byte* data, int rows, int k, int g, std::byte* out) {
  const std::size_t bytes = row_bytes<F>(std::size_t(k));
  static constexpr typename F::Block kZero{};
  const typename F::Block* row[kGroupRows];
  const int blocks = k / F::kValues;
  if constexpr (F::kValues == 1) {
    for (int r = 0; r < kGroupRows; ++r) {
      const bool real = kGroupRows * g + r < rows;
      const std::byte* from = real ? data + std::size_t(kGroupRows * g + r) * bytes : nullptr;
      for (int i = 0; i < k; ++i) {
        std::byte* to = out + (std::size_t(i) * kGroupRows + std::size_t(r)) * F::kBytes;
        if (real)
          std::memcpy(to, from + std::size_t(i) * F::kBytes, F::kBytes);
        else
          std::memset(to, 0, F::kBytes);
      }
    }
    return;
  }
  for (int b = 0; b < blocks; ++b, out += kGroupRows * F::kBytes) {
    for (int r = 0; r < kGroupRows; ++r) {
      const int index = kGroupRows * g + r;
      row[r] =
          index < rows
              ? reinterpret_cast<const typename F::Block*>(data + std::size_t(index) * bytes) + b
              : &kZero;
    }
    Layout<F>::pack(row, out);
  }
}

// The row and block of the first bad value (infinite or NaN scale or float) among rows [begin,
// end), or none.
struct BadBlock {
  bool found = false;
  std::size_t row = 0, block = 0;
};
template <BlockFormat F>
BadBlock find_bad_block(const std::byte* data, int k, std::size_t begin, std::size_t end) {
  const std::size_t bytes = row_bytes<F>(std::size_t(k)), blocks = std::size_t(k) / F::kValues;
  for (std::size_t r = begin; r < end; ++r) {
    const std::size_t bad = first_invalid_block<F>(data + r * bytes, blocks);
    if (bad < blocks) return {true, r, bad};
  }
  return {};
}

// One row as floats: bit for bit what the format's decode gives. k must be a multiple of the block
// size.
inline Status dequantize_row(std::uint32_t type, const std::byte* row, int k, float* out) {
  return dispatch_format(type, AllFormats{}, [&]<BlockFormat F>() -> Status {
    const auto* block = reinterpret_cast<const typename F::Block*>(row);
    for (int i = 0; i < k; i += F::kValues) F::decode(*block++, out + i);
    return {};
  });
}

}  // namespace veloce::cpu

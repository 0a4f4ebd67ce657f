// What an op may know of a weight format: two concepts and the types they need.
//
// A format is one traits class in one header (formats/q4_k.hpp holds Q4_K). It knows only bits: the
// packed block, the exact expansion, and the integer codes with their scales. How a backend lays
// rows out in memory is the backend's business (cpu/packed.hpp, gpu/...). Formulas and table
// sources: specs/quants.md, restated at each format.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "veloce/config.hpp"

namespace veloce {

// Sixteen signed integer codes: one chunk of a block.
struct I8x16 {
  std::int8_t v[16];
};

// The float meaning of a chunk's codes: value = scale * code - min, each operation rounded once, in
// that order.
struct Affine {
  float scale;
  float min;
};

// A block type of GGUF. Names keep the GGUF spelling.
template <class F>
concept BlockFormat = requires(const typename F::Block& b, float* out) {
  { F::kName } -> std::convertible_to<std::string_view>;
  { F::kGgufType } -> std::convertible_to<std::uint32_t>;
  { F::kValues } -> std::convertible_to<int>;         // values in a block
  { F::kBytes } -> std::convertible_to<std::size_t>;  // bytes of a block in the file
  F::decode(b, out);                                  // normative expansion, bit-exact
}
&&std::is_trivially_copyable_v<typename F::Block> && sizeof(typename F::Block) == F::kBytes &&
    alignof(typename F::Block) == 1;

// A block type with an exact integer form, for dots with 8-bit activations.
// Law (tests/formats): decode == scale * unpack16 - min for every chunk and code, bit for bit,
// unless kExactAffine is false, when the header says by how much it may differ.
template <class F>
concept IntDotFormat = BlockFormat<F> && requires(const typename F::Block& b, int chunk) {
  { F::unpack16(b, chunk) } -> std::same_as<I8x16>;  // codes of values 16*chunk .. 16*chunk+15
  { F::affine(b, chunk) } -> std::same_as<Affine>;   // their scale and min
  { F::kHasMin } -> std::convertible_to<bool>;       // false: min is always 0
  { F::kScaleGroup } -> std::convertible_to<int>;    // values that share one Affine: 16 or 32
  { F::kMinCode } -> std::convertible_to<int>;       // the codes' range, inclusive
  { F::kMaxCode } -> std::convertible_to<int>;
  { F::kExactAffine } -> std::convertible_to<bool>;
};

// A format that Veloce can produce. quantize_row takes n values (a multiple of kValues) and writes
// n / kValues blocks.
template <class F>
concept QuantizableFormat = BlockFormat<F> &&
    requires(const float* in, typename F::Block* out, std::size_t n) {
  F::quantize_row(in, out, n);
};

// Bytes of a row of n values. n must be a multiple of F::kValues.
template <BlockFormat F>
constexpr std::size_t row_bytes(std::size_t n) {
  return n / F::kValues * F::kBytes;
}

// Reads a little-endian value at any alignment.
template <class T>
VELOCE_HD inline T load_le(const void* p) {
  T v;
  __builtin_memcpy(&v, p, sizeof v);  // also in device code
  return v;
}

}  // namespace veloce

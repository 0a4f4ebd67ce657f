// What the i-quants share: sign masks and codebook entries turned into signed codes
// (specs/quants.md section 2).
#pragma once

#include "veloce/formats/block_bits.hpp"

namespace veloce {

// The sign mask of a 7-bit sign index: the index, and its parity as bit 7, so that an even number
// of signs is set.
VELOCE_HD constexpr std::uint32_t sign_mask(std::uint32_t index) {
  std::uint32_t parity = index ^ (index >> 4);
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return index | (parity & 1u) << 7;
}

// The sign mask of sub-group l of a word with four 7-bit sign indices.
VELOCE_HD constexpr std::uint32_t sign_mask_of(std::uint32_t word, int l) {
  return sign_mask((word >> (7 * l)) & 127u);
}

// The first `count` bytes of a codebook entry, negated where the mask has a 1.
template <int count, class Entry>
VELOCE_HD inline void signed_codes(Entry entry, std::uint32_t mask, std::int8_t* out) {
  for (int j = 0; j < count; ++j) {
    const int magnitude = int((entry >> (8 * j)) & 0xFFu), negative = -int((mask >> j) & 1u);
    out[j] = std::int8_t((magnitude ^ negative) - negative);
  }
}

// The values of the first `count` bytes of a codebook entry: scale * magnitude, negated where the
// mask has a 1.
template <int count, class Entry>
VELOCE_HD inline void signed_values(float scale, Entry entry, std::uint32_t mask, float* out) {
  for (int j = 0; j < count; ++j) {
    const float magnitude = scale * float(int((entry >> (8 * j)) & 0xFFu));
    out[j] = magnitude * float(1 - 2 * int((mask >> j) & 1u));
  }
}

}  // namespace veloce

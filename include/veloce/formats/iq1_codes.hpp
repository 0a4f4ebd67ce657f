// What IQ1_S and IQ1_M share: entries of the ternary codebook with their shift of one eighth, as
// integer codes (specs/quants.md section 5).
//
// The value of an element is scale * (t + delta), t in -1, 0, 1 and delta = +-1/8. The code is 8 t
// +- 1, which the element's scale divided by 8 multiplies: both divisions by 8 are exact, because a
// product with the smallest binary16 scale is far above the subnormal range of binary32. So the
// integer form is exact and needs no sums.
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/tables/iq1s_grid.hpp"

namespace veloce {

// t + 1 of element j (0..7) of an entry.
VELOCE_HD constexpr int iq1_digit(std::uint32_t entry, int j) {
  return int((entry >> (8 * (j & 3) + 4 * (j >> 2))) & 15u);
}

// The codes of the eight elements of an entry; negative: delta is -1/8.
VELOCE_HD inline void iq1_codes(std::uint32_t entry, int negative, std::int8_t* out) {
  const int offset = -8 + 1 - 2 * negative;
  for (int j = 0; j < 8; ++j) out[j] = std::int8_t(8 * iq1_digit(entry, j) + offset);
}

}  // namespace veloce

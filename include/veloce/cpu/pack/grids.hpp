// Codebooks of the i-quants as the CPU kernels look them up, 32 entries at a time.
//
// An entry's magnitudes take few values (3 or 8), so it packs into 16 bits: eight 2-bit or four
// 3-bit fields. A table of 256 to 1024 such entries is read by register permutes (AVX-512), two to
// four times faster than by gathers, and its fields are spread to bytes by one multi-shift and one
// byte shuffle. Other levels read plain 32-bit entries.
#pragma once

#include <array>
#include <cstdint>

#include "veloce/cpu/pack/layout.hpp"
#include "veloce/formats/tables/iq2s_grid.hpp"
#include "veloce/formats/tables/iq2xs_grid.hpp"
#include "veloce/formats/tables/iq2xxs_grid.hpp"
#include "veloce/formats/tables/iq3s_grid.hpp"
#include "veloce/formats/tables/iq3xxs_grid.hpp"

namespace veloce::cpu {

// A codebook: Values numbers an entry, Bits bits a field; magnitude[field] is the byte.
template <int Size, int Values, int Bits>
struct Grid {
  static constexpr int kSize = Size, kValues = Values, kBits = Bits;
  alignas(64) std::uint16_t fields[Size];
  alignas(64) std::uint32_t bytes[Size][Values / 4];
  alignas(16) std::uint8_t magnitude[16];
};

template <int Size, int Values, int Bits, class Entry>
constexpr Grid<Size, Values, Bits> make_grid(const Entry (&entries)[Size],
                                             const std::uint8_t (&magnitudes)[1 << Bits]) {
  Grid<Size, Values, Bits> g{};
  for (int i = 0; i < 16; ++i) g.magnitude[i] = magnitudes[i % (1 << Bits)];
  for (int e = 0; e < Size; ++e)
    for (int j = 0; j < Values; ++j) {
      const std::uint8_t byte = std::uint8_t(entries[e] >> (8 * j));
      g.bytes[e][j / 4] |= std::uint32_t(byte) << (8 * (j % 4));
      for (int f = 0; f < (1 << Bits); ++f)
        if (magnitudes[f] == byte) {
          g.fields[e] = std::uint16_t(g.fields[e] | f << (Bits * j));
          break;
        }
    }
  return g;
}

inline constexpr std::uint8_t kMagnitudes2[4] = {8, 25, 43, 43};
inline constexpr std::uint8_t kMagnitudes3Xxs[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr std::uint8_t kMagnitudes3S[8] = {1, 3, 5, 7, 9, 11, 13, 15};
inline constexpr auto kGrid2Xxs = make_grid<256, 8, 2>(kIq2XxsGrid, kMagnitudes2);
inline constexpr auto kGrid2Xs = make_grid<512, 8, 2>(kIq2XsGrid, kMagnitudes2);
inline constexpr auto kGrid2S = make_grid<1024, 8, 2>(kIq2SGrid, kMagnitudes2);
inline constexpr auto kGrid3Xxs = make_grid<256, 4, 3>(kIq3XxsGrid, kMagnitudes3Xxs);
inline constexpr auto kGrid3S = make_grid<512, 4, 3>(kIq3SGrid, kMagnitudes3S);

namespace VELOCE_ISA_NS {

// 32 indices: low bytes at `low`, bit 8 + p of index i is bit i of high[p].
struct Indices32 {
  const std::byte* low;
  std::uint32_t high[2];
};

#if defined(VELOCE_ISA_AVX512)

template <int HighBits>
VELOCE_INLINE __m512i index_vector(const Indices32& i) {
  __m512i v = _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(i.low)));
  if constexpr (HighBits > 0) v = _mm512_mask_add_epi16(v, i.high[0], v, _mm512_set1_epi16(256));
  if constexpr (HighBits > 1) v = _mm512_mask_add_epi16(v, i.high[1], v, _mm512_set1_epi16(512));
  return v;
}

// Bytes of the four fields from bit First of each 32-bit lane, as magnitudes.
template <int First, class G>
VELOCE_INLINE U8 spread(const G& grid, __m512i lanes) {
  constexpr int b = G::kBits;
  const __m512i shifts = _mm512_set1_epi64(std::int64_t(
      std::uint64_t(First) | std::uint64_t(First + b) << 8 | std::uint64_t(First + 2 * b) << 16 |
      std::uint64_t(First + 3 * b) << 24 | std::uint64_t(First + 32) << 32 |
      std::uint64_t(First + b + 32) << 40 | std::uint64_t(First + 2 * b + 32) << 48 |
      std::uint64_t(First + 3 * b + 32) << 56));
  const __m512i fields =
      _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, lanes), _mm512_set1_epi8((1 << b) - 1));
  return lut16(grid.magnitude, fields);
}

// 8-value entries: indices of two sub-groups (16 rows each) -> steps 0, 1 of the first and 0, 1 of
// the second. 4-value entries: indices of two steps -> the two steps.
template <int HighBits, class G>
VELOCE_INLINE void look_up(const G& grid, const Indices32& i, U8* q) {
  const __m512i codes = lookup32<G::kSize>(grid.fields, index_vector<HighBits>(i)).v;
  const __m512i first = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(codes));
  const __m512i second = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(codes, 1));
  if constexpr (G::kValues == 8) {
    q[0] = spread<0>(grid, first);
    q[1] = spread<8>(grid, first);
    q[2] = spread<0>(grid, second);
    q[3] = spread<8>(grid, second);
  } else {
    q[0] = spread<0>(grid, first);
    q[1] = spread<0>(grid, second);
  }
}

#else

template <int HighBits, class G>
VELOCE_INLINE void look_up(const G& grid, const Indices32& i, U8* q) {
  constexpr int kSteps = G::kValues / 4;
  alignas(64) std::uint32_t bytes[2 * kSteps][16];
  for (int n = 0; n < 32; ++n) {
    std::uint32_t index = std::uint32_t(i.low[n]);
    if constexpr (HighBits > 0) index |= ((i.high[0] >> n) & 1u) << 8;
    if constexpr (HighBits > 1) index |= ((i.high[1] >> n) & 1u) << 9;
    for (int s = 0; s < kSteps; ++s) bytes[n / 16 * kSteps + s][n % 16] = grid.bytes[index][s];
  }
  for (int s = 0; s < 2 * kSteps; ++s) q[s] = load_u8(bytes[s]);
}

#endif

}  // namespace VELOCE_ISA_NS
}  // namespace veloce::cpu

// Codebooks of the i-quants as the CPU kernels look them up, many entries at a time.
//
// An entry's magnitudes take few values (3 or 8), so four of them pack into a byte of 2-bit fields
// or 12 bits of 3-bit fields. Tables of 256 to 2048 such numbers are read by register permutes
// (AVX-512), several times faster than by gathers, and the fields are spread to bytes by one
// multi-shift and one byte shuffle. Other levels read plain 32-bit entries.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "veloce/cpu/pack/layout.hpp"
#include "veloce/formats/tables/iq2s_grid.hpp"
#include "veloce/formats/tables/iq2xs_grid.hpp"
#include "veloce/formats/tables/iq2xxs_grid.hpp"
#include "veloce/formats/tables/iq3s_grid.hpp"
#include "veloce/formats/tables/iq3xxs_grid.hpp"

namespace veloce::cpu {

// A codebook: Values numbers (4 or 8) an entry, Bits bits a field; magnitude[field] is the byte.
// fields and bytes hold an entry in steps of four numbers.
template <int Size, int Values, int Bits>
struct Grid {
  static constexpr int kSize = Size, kValues = Values, kBits = Bits;
  using Fields = std::conditional_t<Bits == 2, std::uint8_t, std::uint16_t>;
  alignas(64) Fields fields[Values / 4][Size];
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
          auto& fields = g.fields[j / 4][e];
          fields = typename Grid<Size, Values, Bits>::Fields(fields | f << (Bits * (j % 4)));
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

// Indices of the 32 values of sixteen rows into a codebook of eight values an entry: 64, of four
// sub-groups. Low bytes at `low`, bit 8 + p of index i is bit i of high[p].
struct Indices64 {
  const std::byte* low;
  std::uint64_t high[3];
};

// Indices of eight values of sixteen rows into a codebook of four values an entry: 32, of two
// steps.
struct Indices32 {
  const std::byte* low;
  std::uint32_t high;
};

#if defined(VELOCE_ISA_AVX512)

// Bytes of the four fields from the lowest bit of each 32-bit lane, as magnitudes.
template <class G>
VELOCE_INLINE U8 spread(const G& grid, __m512i lanes) {
  constexpr int b = G::kBits;
  constexpr std::uint64_t kLane =
      std::uint64_t(b) << 8 | std::uint64_t(2 * b) << 16 | std::uint64_t(3 * b) << 24;
  const __m512i shifts = _mm512_set1_epi64(std::int64_t(kLane | (kLane + 0x20202020u) << 32));
  const __m512i fields =
      _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, lanes), _mm512_set1_epi8((1 << b) - 1));
  return lut16(grid.magnitude, fields);
}

// q: the eight steps.
template <int HighBits, int Size>
VELOCE_INLINE void look_up(const Grid<Size, 8, 2>& grid, const Indices64& i, U8* q) {
  static_assert(Size == 256 << HighBits);
  const __m512i low = _mm512_loadu_si512(i.low);
  const __mmask64 bits[4] = {_mm512_movepi8_mask(low), i.high[0], i.high[1], i.high[2]};
  VELOCE_UNROLL(2)
  for (int s = 0; s < 2; ++s) {
    const __m512i fields = lookup64<Size>(grid.fields[s], low, bits);
    q[s] = spread(grid, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(fields)));
    q[2 + s] = spread(grid, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(fields, 1)));
    q[4 + s] = spread(grid, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(fields, 2)));
    q[6 + s] = spread(grid, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(fields, 3)));
  }
}

// q: the two steps.
template <int HighBits, int Size>
VELOCE_INLINE void look_up(const Grid<Size, 4, 3>& grid, const Indices32& i, U8* q) {
  static_assert(Size == 256 << HighBits);
  __m512i index = _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(i.low)));
  if constexpr (HighBits > 0)
    index = _mm512_mask_add_epi16(index, i.high, index, _mm512_set1_epi16(256));
  const __m512i fields = lookup32<Size>(grid.fields[0], index);
  q[0] = spread(grid, _mm512_cvtepu16_epi32(_mm512_castsi512_si256(fields)));
  q[1] = spread(grid, _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(fields, 1)));
}

#else

template <int HighBits, int Size>
VELOCE_INLINE void look_up(const Grid<Size, 8, 2>& grid, const Indices64& i, U8* q) {
  static_assert(Size == 256 << HighBits);
  alignas(64) std::uint32_t bytes[8][16];
  for (int n = 0; n < 64; ++n) {
    std::uint32_t index = std::uint32_t(i.low[n]);
    for (int p = 0; p < HighBits; ++p) index |= std::uint32_t((i.high[p] >> n) & 1u) << (8 + p);
    for (int s = 0; s < 2; ++s) bytes[n / 16 * 2 + s][n % 16] = grid.bytes[index][s];
  }
  for (int j = 0; j < 8; ++j) q[j] = load_u8(bytes[j]);
}

template <int HighBits, int Size>
VELOCE_INLINE void look_up(const Grid<Size, 4, 3>& grid, const Indices32& i, U8* q) {
  static_assert(Size == 256 << HighBits);
  alignas(64) std::uint32_t bytes[2][16];
  for (int n = 0; n < 32; ++n) {
    std::uint32_t index = std::uint32_t(i.low[n]);
    if constexpr (HighBits > 0) index |= ((i.high >> n) & 1u) << 8;
    bytes[n / 16][n % 16] = grid.bytes[index][0];
  }
  for (int j = 0; j < 2; ++j) q[j] = load_u8(bytes[j]);
}

#endif

}  // namespace VELOCE_ISA_NS
}  // namespace veloce::cpu

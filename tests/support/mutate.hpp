// Damage to files, for tests that read thousands of broken ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

namespace veloce::test {

using Bytes = std::vector<std::byte>;

// One of the ways files go wrong; most of the damage is where the structure is, in the first bytes.
inline void mutate(Bytes& bytes, std::mt19937_64& rng) {
  if (bytes.empty()) bytes.resize(24);
  const std::size_t reach = rng() % 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), 600);
  const std::size_t at = rng() % reach;
  constexpr std::uint64_t kOdd[] = {0,          1,          2,          8,          9,
                                    13,         31,         43,         255,        65535,
                                    65536,      0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1ull << 32,
                                    1ull << 62, 1ull << 63, ~0ull,      ~0ull - 31};
  switch (rng() % 7) {
    case 0:
      bytes[at] ^= std::byte(1u << (rng() % 8));
      break;
    case 1:
      bytes[at] = std::byte(rng());
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.insert(bytes.begin() + std::ptrdiff_t(at), rng() % 40, std::byte(rng()));
      break;
    case 4:
      bytes.erase(bytes.begin() + std::ptrdiff_t(at),
                  bytes.begin() + std::ptrdiff_t(std::min(bytes.size(), at + rng() % 40)));
      break;
    case 5: {
      const std::uint64_t odd = kOdd[rng() % std::size(kOdd)];
      std::memcpy(&bytes[at], &odd, std::min<std::size_t>(rng() % 2 ? 8 : 4, bytes.size() - at));
      break;
    }
    default: {  // a piece of the file over another
      const std::size_t from = rng() % bytes.size();
      std::memmove(&bytes[at], &bytes[from],
                   std::min<std::size_t>(rng() % 64, bytes.size() - std::max(at, from)));
    }
  }
}

}  // namespace veloce::test

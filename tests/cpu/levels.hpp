// The instruction-set levels that this machine can test, and bit comparison.
#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "veloce/cpu/kernels.hpp"

namespace veloce::test {

inline std::vector<const cpu::Kernels*> levels() {
  std::vector<const cpu::Kernels*> all;
  for (const cpu::Isa isa : {cpu::Isa::kPortable, cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
    const cpu::Kernels* k = cpu::kernels_for(isa);
    if (k != nullptr) {
      REQUIRE(k->isa == isa);
      all.push_back(k);
    }
  }
  static const bool said = [&] {
    std::printf("levels:");
    for (const cpu::Kernels* k : all) std::printf(" %s", cpu::isa_name(k->isa));
    std::printf("\n");
    if (all.size() < 3) std::printf("SKIP: %zu levels that this processor lacks\n", 3 - all.size());
    return true;
  }();
  (void)said;
  return all;
}

// Equal bits; any NaN equals any NaN.
inline bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
}

// Index of the first difference, or -1.
template <class A, class B>
long first_difference(const A& a, const B& b) {
  if (std::size(a) != std::size(b)) return 0;
  const auto* p = std::data(a);
  const auto* q = std::data(b);
  for (std::size_t i = 0; i < std::size(a); ++i)
    if (!same_bits(p[i], q[i])) return long(i);
  return -1;
}

}  // namespace veloce::test

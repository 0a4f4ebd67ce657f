// half and bfloat16 conversions against the compiler's own _Float16 and against the definition.
#include "veloce/core/numeric.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>

using namespace veloce;

TEST_CASE("every half converts to float and back") {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const float f = half_to_float(std::uint16_t(h));
    CHECK(std::isnan(f) == ((h & 0x7FFF) > 0x7C00));
    if (!std::isnan(f)) REQUIRE(float_to_half(f) == h);
  }
}

#ifdef __FLT16_MANT_DIG__
TEST_CASE("float to half rounds as the compiler's _Float16 does") {
  std::mt19937 rng(7);
  for (int i = 0; i < 2'000'000; ++i) {
    std::uint32_t u = rng();
    if (i % 2) u = (u & 0x807FFFFF) | ((100 + rng() % 50) << 23);
    const float f = std::bit_cast<float>(u);
    if (std::isnan(f)) continue;
    const std::uint16_t want = std::bit_cast<std::uint16_t>(static_cast<_Float16>(f));
    REQUIRE(float_to_half(f) == want);
  }
}
#endif

TEST_CASE("bfloat16") {
  CHECK(float_to_bf16(1.0f) == 0x3F80);
  CHECK(float_to_bf16(std::bit_cast<float>(0x3F808000u)) == 0x3F80);  // tie to even, down
  CHECK(float_to_bf16(std::bit_cast<float>(0x3F818000u)) == 0x3F82);  // tie to even, up
  CHECK(std::isnan(bf16_to_float(float_to_bf16(std::nanf("")))));
}

TEST_CASE("scale formats") {
  CHECK(e8m0_half_to_float(127) == 0.5f);
  CHECK(std::bit_cast<std::uint32_t>(e8m0_half_to_float(0)) == 0x00200000u);
  CHECK(std::bit_cast<std::uint32_t>(e8m0_half_to_float(1)) == 0x00400000u);
  CHECK(ue4m3_half_to_float(0x80) == 0.0f);
  CHECK(ue4m3_half_to_float(0xFF) == 240.0f);
  CHECK(ue4m3_half_to_float(0x38) == 0.5f);
}

// The level chosen at run time asks for every instruction set that its units may use.
#include <doctest/doctest.h>

#include <vector>

#include "veloce/cpu/isa.hpp"

using namespace veloce::cpu;

TEST_CASE("a processor that lacks one feature of a level does not run it") {
  using Feature = bool CpuFeatures::*;
  const std::vector<Feature> narrow = {&CpuFeatures::avx2, &CpuFeatures::fma,
                                       &CpuFeatures::f16c, &CpuFeatures::bmi,
                                       &CpuFeatures::bmi2, &CpuFeatures::popcnt};
  const std::vector<Feature> wide = {&CpuFeatures::avx512f,    &CpuFeatures::avx512bw,
                                     &CpuFeatures::avx512vl,   &CpuFeatures::avx512dq,
                                     &CpuFeatures::avx512vnni, &CpuFeatures::avx512vbmi};
  CHECK(best_isa({}) == Isa::kPortable);
  CpuFeatures some;
  for (const Feature f : narrow) some.*f = true;
  CHECK(best_isa(some) == Isa::kAvx2);
  CpuFeatures all = some;
  for (const Feature f : wide) all.*f = true;
  CHECK(best_isa(all) == Isa::kAvx512);
  for (const Feature f : narrow) {
    CpuFeatures without = all;
    without.*f = false;
    CHECK(best_isa(without) == Isa::kPortable);
  }
  for (const Feature f : wide) {
    CpuFeatures without = all;
    without.*f = false;
    CHECK(best_isa(without) == Isa::kAvx2);
  }
}

TEST_CASE("a unit built for this machine finds its own level") {
  // What the compiler was told of must be found: this program runs.
  const CpuFeatures has = detect_features();
#if defined(__F16C__)
  CHECK(has.f16c);
#endif
#if defined(__BMI2__)
  CHECK(has.bmi2);
#endif
  CHECK(detect_isa() == best_isa(has));
}

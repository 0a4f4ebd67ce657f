// Uniform numbers that are the same with every standard library: std::mt19937 is specified to the
// bit, the standard's distributions are not.
#pragma once

#include <cstdint>
#include <random>

namespace veloce::sample {

class Random {
 public:
  explicit Random(std::uint32_t seed = 0) : engine_(seed) {}

  // In [0, 1), from two draws (the first is the lower half).
  double uniform() {
    const double low = double(engine_()), high = double(engine_());
    const double r = (low + high * 4294967296.0) / 18446744073709551616.0;
    return r < 1.0 ? r : 0x1.fffffffffffffp-1;
  }
  // In [0, 1), from one draw.
  float uniform_float() {
    const float r = float(engine_()) / 4294967296.0f;
    return r < 1.0f ? r : 0x1.fffffep-1f;
  }

 private:
  std::mt19937 engine_;
};

inline std::uint32_t random_seed() {
  std::random_device device;
  return device();
}

}  // namespace veloce::sample

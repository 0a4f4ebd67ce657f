// Fresh random inputs for tests of kernels. The seed is drawn anew on every run and printed;
// VELOCE_SEED=N repeats one.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "veloce/formats/format.hpp"

namespace veloce::test {

inline std::uint64_t fresh_seed() {
  static const std::uint64_t seed = [] {
    const char* text = std::getenv("VELOCE_SEED");
    const std::uint64_t s = text ? std::strtoull(text, nullptr, 10) : std::random_device{}();
    std::printf("seed: VELOCE_SEED=%llu\n", static_cast<unsigned long long>(s));
    std::fflush(stdout);
    return s;
  }();
  return seed;
}

class Random {
 public:
  // `stream` keeps test cases apart that share a seed.
  explicit Random(std::uint64_t stream = 0)
      : engine_(fresh_seed() * 0x9E3779B97F4A7C15ull + stream) {}

  int from(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  bool chance(double p) { return std::bernoulli_distribution(p)(engine_); }
  float normal(float scale = 1) { return scale * normal_(engine_); }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[from(0, int(list.size()) - 1)];
  }
  // Activations: normal, with a few outliers as real ones have, and now and then a block of zeros.
  void fill_activations(float* x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) x[i] = normal(chance(0.01) ? 20.0f : 1.0f);
    if (n >= 64 && chance(0.2))
      for (std::size_t i = 32; i < 64; ++i) x[i] = 0;
  }
  void fill_normal(float* x, std::size_t n, float scale = 1) {
    for (std::size_t i = 0; i < n; ++i) x[i] = normal(scale);
  }
  std::mt19937_64& engine() { return engine_; }

  // Random bytes, drawn again until the block's values are finite and of ordinary size, so that
  // every bit pattern of codes and scales turns up and no block drowns the others.
  template <BlockFormat F>
  typename F::Block block() {
    typename F::Block b;
    std::vector<float> values(F::kValues);
    for (;;) {
      auto* bytes = reinterpret_cast<unsigned char*>(&b);
      for (std::size_t i = 0; i < F::kBytes; ++i)
        bytes[i] = static_cast<unsigned char>(engine_() >> 24);
      if (!F::valid(b)) continue;
      F::decode(b, values.data());
      float top = 0;
      bool finite = true;
      for (const float v : values) {
        finite &= std::isfinite(v);
        top = std::fmax(top, std::fabs(v));
      }
      if (finite && top >= 0.25f && top <= 64.0f) return b;
    }
  }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<float> normal_;
};

}  // namespace veloce::test

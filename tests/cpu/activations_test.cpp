// Preparing activations (RMS norm, rounding to 8 bits, tiles) at every level: the rounding bit for
// bit as formats/activation_q8.hpp has it, also for NaN, infinities and denormals; the norm within
// its bound.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "levels.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random_data.hpp"
#include "veloce/formats/activation_q8.hpp"
#include "veloce/ref/rms_norm.hpp"

using namespace veloce;
using namespace veloce::test;

namespace {

constexpr double kUnit = 0x1p-24;

struct Prepared {
  GuardedBytes memory;
  Guarded<float> floats;
  cpu::ActivationsQ8 q8;
  cpu::ActivationsF32 f32;

  Prepared(const cpu::Kernels& kernels, const float* x, std::size_t stride, int k, int n,
           const float* weight, float epsilon)
      : memory(cpu::ActivationsQ8::bytes(std::size_t(k), std::size_t(n)), 4),
        floats(std::size_t(k) * std::size_t(n)) {
    q8 = cpu::ActivationsQ8::place(memory.data(), k, n);
    f32 = {k, n, floats.data()};
    Guarded<float> row(static_cast<std::size_t>(k));
    kernels.prepare(x, stride, weight, epsilon, 0, n, &q8, &f32, row.data());
  }
  std::size_t first(int c) const { return std::size_t(c) / 8 * 8; }
  std::size_t width(int c) const { return std::min<std::size_t>(8, std::size_t(q8.n) - first(c)); }
  float value(int i, int c) const {
    return f32
        .x[first(c) * std::size_t(q8.k) + std::size_t(i) * width(c) + (std::size_t(c) - first(c))];
  }
  int code(int i, int c) const {
    const std::size_t w = width(c), lane = std::size_t(c) - first(c);
    return q8.q[first(c) * std::size_t(q8.k) + std::size_t(i) / 4 * 4 * w + lane * 4 +
                std::size_t(i) % 4];
  }
  // Element of an array with `per` rows to 32 values.
  template <class T>
  T per_block(const T* array, int row, int per, int c) const {
    return array[first(c) * std::size_t(q8.k) / 32 * std::size_t(per) +
                 std::size_t(row) * width(c) + (std::size_t(c) - first(c))];
  }
};

void check_rounding(const Prepared& p, const float* x, std::size_t stride) {
  const int k = p.q8.k;
  std::vector<ActivationQ8> want(activation_blocks(std::size_t(k)));
  int wrong = 0;
  for (int c = 0; c < p.q8.n; ++c) {
    quantize_activation_row(x + std::size_t(c) * stride, std::size_t(k), want.data());
    for (int b = 0; b < k / 32; ++b) {
      const ActivationQ8& w = want[std::size_t(b)];
      for (int i = 0; i < 32; ++i) {
        wrong += p.code(32 * b + i, c) != w.q[i];
        wrong += !same_bits(p.value(32 * b + i, c),
                            x[std::size_t(c) * stride + std::size_t(32 * b + i)]);
      }
      const int sum = w.sums[0] + w.sums[1];
      wrong += !same_bits(p.per_block(p.q8.scale, b, 1, c), w.scale);
      wrong += p.per_block(p.q8.sum32, b, 1, c) != sum;
      wrong += !same_bits(p.per_block(p.q8.scaled_sum32, b, 1, c), w.scale * float(sum));
      for (int h = 0; h < 2; ++h) {
        wrong += p.per_block(p.q8.sum16, 2 * b + h, 2, c) != w.sums[h];
        wrong +=
            !same_bits(p.per_block(p.q8.scaled_sum16, 2 * b + h, 2, c), w.scale * float(w.sums[h]));
      }
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("rounding to 8 bits is that of formats/activation_q8.hpp, for any number of columns") {
  Random random(10);
  for (const int n : {1, 2, 3, 7, 8, 9, 16, 19}) {
    const int k = 32 * random.from(1, 9);
    const std::size_t stride = std::size_t(k) + std::size_t(random.from(0, 5));
    Guarded<float> x((std::size_t(n) - 1) * stride + std::size_t(k));
    random.fill_activations(x.data(), x.size());
    for (const cpu::Kernels* kernels : levels()) {
      INFO(cpu::isa_name(kernels->isa), " columns ", n, " k ", k);
      check_rounding(Prepared(*kernels, x.data(), stride, k, n, nullptr, 0), x.data(), stride);
    }
  }
}

TEST_CASE("odd values: ties, NaN, infinities, denormals, the largest numbers, any bits") {
  Random random(11);
  const int k = 32 * 64;
  using Limits = std::numeric_limits<float>;
  const float odd[] = {0.0f,
                       -0.0f,
                       Limits::quiet_NaN(),
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::denorm_min(),
                       Limits::min(),
                       Limits::max(),
                       -Limits::max(),
                       0x1p-118f,
                       0x1.fffffep-119f,
                       0x1p-140f,
                       1.0f,
                       -1.0f};
  for (int round = 0; round < 20; ++round) {
    Guarded<float> x(std::size_t{k});
    for (int b = 0; b < k / 32; ++b)
      for (int i = 0; i < 32; ++i) {
        float& v = x[std::size_t(32 * b + i)];
        switch (b % 4) {
          case 0:  // exact halves: amax 127 makes d = 1
            v = i == 0 ? 127.0f : float(random.from(-253, 253)) / 2;
            break;
          case 1:
            v = random.chance(0.1) ? odd[random.from(0, 13)] : random.normal();
            break;
          case 2:
            v = std::bit_cast<float>(std::uint32_t(random.engine()()));
            break;
          default:
            v = std::ldexp(random.normal(), random.from(-149, -100));
            break;
        }
      }
    for (const cpu::Kernels* kernels : levels())
      check_rounding(Prepared(*kernels, x.data(), std::size_t(k), k, 1, nullptr, 0), x.data(),
                     std::size_t(k));
  }
}

TEST_CASE(
    "RMS norm: within its bound, any length, the same bits at every level, and as part of "
    "preparing") {
  Random random(12);
  for (const int k : {1, 2, 15, 16, 17, 31, 32, 64, 100, 576, 1024}) {
    Guarded<float> x(static_cast<std::size_t>(k)), weight(static_cast<std::size_t>(k)),
        y(static_cast<std::size_t>(k));
    random.fill_activations(x.data(), x.size());
    for (float& w : weight) w = 1 + random.normal(0.2f);
    std::vector<float> want(static_cast<std::size_t>(k)), first;
    REQUIRE(ref::rms_norm({1, k, x.data(), weight.data(), 1e-5f, want.data()}).ok());
    for (const cpu::Kernels* kernels : levels()) {
      INFO(cpu::isa_name(kernels->isa), " k ", k);
      kernels->rms_norm(x.data(), weight.data(), k, 1e-5f, y.data());
      for (int i = 0; i < k; ++i) {
        const double error = std::fabs(double(y[std::size_t(i)]) - double(want[std::size_t(i)]));
        // The sum of squares: k / 16 + 4 steps of relative error, halved by the root; then five
        // roundings.
        REQUIRE(error <= kUnit * (k / 32.0 + 8) * std::fabs(double(want[std::size_t(i)])));
      }
      if (first.empty()) first.assign(y.begin(), y.end());
      CHECK(first_difference(first, std::vector<float>(y.begin(), y.end())) == -1);
      if (k % 32 == 0)
        check_rounding(Prepared(*kernels, x.data(), std::size_t(k), k, 1, weight.data(), 1e-5f),
                       y.data(), std::size_t(k));
      // In place.
      Guarded<float> copy = Guarded<float>::of(x);
      kernels->rms_norm(copy.data(), weight.data(), k, 1e-5f, copy.data());
      CHECK(first_difference(y, copy) == -1);
    }
  }
}

TEST_CASE("adding rows") {
  Random random(13);
  for (const std::size_t n : {0, 1, 15, 16, 33, 1000}) {
    Guarded<float> x(n), y(n);
    random.fill_normal(x.data(), n);
    random.fill_normal(y.data(), n);
    for (const cpu::Kernels* kernels : levels()) {
      Guarded<float> sum = Guarded<float>::of(y);
      kernels->add(sum.data(), x.data(), n);
      for (std::size_t i = 0; i < n; ++i) REQUIRE(same_bits(sum[i], y[i] + x[i]));
    }
  }
}

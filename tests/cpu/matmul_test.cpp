// The CPU matmul at every instruction-set level, for every weight format, against ref::matvec; and
// its promise that an output's bits do not depend on level, number of columns, path, threads or
// activation neighbours.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "levels.hpp"
#include "support/guarded_buffer.hpp"
#include "support/matvec_oracle.hpp"
#include "support/random_data.hpp"
#include "veloce/cpu/packing.hpp"

using namespace veloce;
using namespace veloce::test;

namespace {

constexpr double kUnit = 0x1p-24;

// A random matrix, as GGUF rows and packed; both end at an unreadable page.
template <BlockFormat F>
struct Matrix {
  GuardedBytes rows_data, packed_data;
  cpu::PackedMatrix packed;
  int rows, k;

  Matrix(Random& random, int rows_, int k_) : rows(rows_), k(k_) {
    const std::size_t row = row_bytes<F>(std::size_t(k));
    rows_data = GuardedBytes(row * std::size_t(rows));
    for (std::size_t at = 0; at < rows_data.size(); at += F::kBytes) {
      const auto b = random.block<F>();
      std::memcpy(rows_data.data() + at, &b, F::kBytes);
    }
    packed = {F::kGgufType, rows, k, cpu::packed_group_bytes<F>(k), nullptr};
    packed_data = GuardedBytes(packed.bytes());
    for (int g = 0; g < packed.groups(); ++g)
      cpu::pack_group<F>(rows_data.data(), rows, k, g,
                         packed_data.data() + std::size_t(g) * packed.group_bytes);
    packed.data = packed_data.data();
  }
  GgufMatrix<F> gguf() const { return {rows_data.data(), rows, Dim<>(k)}; }
};

// Columns of activations, tiled for a level's matmul.
struct Tiles {
  GuardedBytes q8_data;
  Guarded<float> f32_data, row;
  cpu::ActivationsQ8 q8;
  cpu::ActivationsF32 f32;

  Tiles(const cpu::Kernels& kernels, const float* x, std::size_t stride, int k, int n, bool want_q8)
      : row(std::size_t(k)) {
    if (want_q8) {
      q8_data = GuardedBytes(cpu::ActivationsQ8::bytes(std::size_t(k), std::size_t(n)), 4);
      q8 = cpu::ActivationsQ8::place(q8_data.data(), k, n);
    } else {
      f32_data = Guarded<float>(std::size_t(k) * std::size_t(n));
      f32 = {k, n, f32_data.data()};
    }
    kernels.prepare(x, stride, nullptr, 0, 0, n, want_q8 ? &q8 : nullptr, want_q8 ? nullptr : &f32,
                    row.data());
  }
};

struct Finishing {
  cpu::Finish finish = cpu::Finish::kStore;
  const cpu::PackedMatrix* second = nullptr;
  const float *bias = nullptr, *second_bias = nullptr;
  float initial = 0;  // what stands in the output before
};

std::vector<float> run(const cpu::Kernels& kernels, const cpu::PackedMatrix& w, const float* x,
                       int n, bool q8, int threads, const Finishing& f = {}) {
  const Tiles tiles(kernels, x, std::size_t(w.k), w.k, n, q8);
  Guarded<float> out(std::size_t(n) * std::size_t(w.rows));
  for (float& v : out) v = f.initial;
  std::vector<GuardedBytes> scratch;
  for (int t = 0; t < threads; ++t)
    scratch.emplace_back(cpu::matmul_scratch_bytes(std::size_t(w.k), std::size_t(n)), 64);
  cpu::Pool pool(threads);
  pool.run([&](cpu::Worker& worker) {
    cpu::Matmul op;
    op.weights = &w;
    op.second = f.second;
    op.q8 = q8 ? &tiles.q8 : nullptr;
    op.f32 = q8 ? nullptr : &tiles.f32;
    op.finish = f.finish;
    op.bias = f.bias;
    op.second_bias = f.second_bias;
    op.out = out.data();
    op.stride = std::size_t(w.rows);
    op.scratch = scratch[std::size_t(worker.index())].data();
    kernels.matmul(worker, op);
  });
  return {out.begin(), out.end()};
}

template <BlockFormat F>
int pick_k(Random& random) {
  const int unit = F::kValues;
  if (unit == 1) return random.pick({16, 32, 33, 64, 100, 256, 333});
  return unit * random.from(1, unit >= 256 ? 3 : 512 / unit);
}

// Columns to test with: all counts of 1 .. 20 and 33 turn up over the formats.
int next_columns() {
  static int at = 0;
  const int n = at++ % 21 + 1;
  return n == 21 ? 33 : n;
}

template <BlockFormat F>
void check_format(bool q8) {
  Random random(F::kGgufType * 2 + q8);
  static const int kRows[] = {1, 15, 16, 17, 33};
  for (int round = 0; round < 5; ++round) {
    const int rows = kRows[round], k = pick_k<F>(random), n = next_columns();
    INFO(std::string(F::kName), q8 ? " with 8-bit activations" : " with float activations",
         ": rows ", rows, ", k ", k, ", columns ", n);
    const Matrix<F> m(random, rows, k);
    Guarded<float> x(std::size_t(k) * std::size_t(n));
    random.fill_activations(x.data(), x.size());
    const Bounded want = oracle(m.gguf(), x.data(), n, q8);
    std::vector<float> first;
    for (const cpu::Kernels* kernels : levels()) {
      INFO(cpu::isa_name(kernels->isa));
      REQUIRE(kernels->takes_q8(F::kGgufType) == IntDotFormat<F>);
      const std::vector<float> got = run(*kernels, m.packed, x.data(), n, q8, 1);
      check_within(got, want);
      if (first.empty()) first = got;
      CHECK(first_difference(first, got) == -1);  // the same bits at every level
      CHECK(first_difference(got, run(*kernels, m.packed, x.data(), n, q8, 3)) == -1);
      for (int c = 0; c<n; c += n> 4 ? random.from(1, 3) : 1) {
        const auto alone =
            run(*kernels, m.packed, x.data() + std::size_t(c) * std::size_t(k), 1, q8, 1);
        const std::vector<float> column(got.begin() + std::ptrdiff_t(c) * rows,
                                        got.begin() + std::ptrdiff_t(c + 1) * rows);
        CHECK_MESSAGE(first_difference(column, alone) == -1, "column ", c,
                      " alone differs from it in the batch");
      }
    }
  }
}

}  // namespace

TEST_CASE(
    "every format with float activations: within the bound, the same bits at all levels and batch "
    "sizes") {
  for_each_format(AllFormats{}, []<BlockFormat F>() { check_format<F>(false); });
}

TEST_CASE(
    "every integer format with 8-bit activations: within the bound, the same bits at all levels "
    "and batch sizes") {
  for_each_format(IntDotFormats{}, []<BlockFormat F>() { check_format<F>(true); });
}

TEST_CASE("8-bit activations stay within their rounding of the float product") {
  for_each_format(IntDotFormats{}, []<IntDotFormat F>() {
    if constexpr (F::kExactAffine) {
      Random random(500 + F::kGgufType);
      const int k = F::kValues * 2, rows = 16;
      const Matrix<F> m(random, rows, k);
      Guarded<float> x(static_cast<std::size_t>(k));
      random.fill_activations(x.data(), x.size());
      const Bounded exact = oracle(m.gguf(), x.data(), 1, false);
      const auto got = run(*levels().back(), m.packed, x.data(), 1, true, 1);
      std::vector<float> w(F::kValues);
      for (int r = 0; r < rows; ++r) {
        double allowed = 0;
        for (int i = 0; i < k; ++i) {
          if (i % F::kValues == 0) F::decode(m.gguf().row(r)[i / F::kValues], w.data());
          float top = 0;
          for (int j = i / 32 * 32; j < i / 32 * 32 + 32; ++j)
            top = std::fmax(top, std::fabs(x[std::size_t(j)]));
          allowed += std::fabs(w[std::size_t(i % F::kValues)]) * double(top) / 127 * 0.5001;
        }
        CHECK(std::fabs(got[std::size_t(r)] - exact.value[std::size_t(r)]) <=
              allowed * 1.001 + 1e-6);
      }
    }
  });
}

namespace {

double silu(double x) {
  return x / (1 + std::exp(-x));
}

template <BlockFormat F, BlockFormat G>
void check_finishes(int n) {
  Random random(1000 + F::kGgufType * 64 + G::kGgufType + std::uint64_t(n));
  const int k = F::kValues > 1 || G::kValues > 1 ? std::max<int>(F::kValues, G::kValues) : 48;
  const int rows = random.pick({5, 16, 31, 40});
  const bool q8 = IntDotFormat<F> && IntDotFormat<G>;
  INFO(std::string(F::kName), " and ", std::string(G::kName), ", rows ", rows, ", columns ", n);
  Matrix<F> gate(random, rows, k);
  Matrix<G> up(random, rows, k);
  // Powers of two, so that the bounds of the products scale exactly.
  gate.packed.scale = random.pick({1.0f, 0.5f, -2.0f});
  up.packed.scale = random.pick({1.0f, 4.0f, -0.25f});
  Guarded<float> x(std::size_t(k) * std::size_t(n));
  random.fill_normal(x.data(), x.size(), 0.1f);
  const std::size_t padded = (std::size_t(rows) + 15) / 16 * 16;
  Guarded<float> b1(padded), b2(padded);
  random.fill_normal(b1.data(), padded);
  random.fill_normal(b2.data(), padded);
  Bounded y1 = oracle(gate.gguf(), x.data(), n, q8), y2 = oracle(up.gguf(), x.data(), n, q8);
  for (std::size_t i = 0; i < y1.value.size(); ++i) {
    y1.value[i] *= gate.packed.scale;
    y1.bound[i] *= std::fabs(gate.packed.scale);
    y2.value[i] *= up.packed.scale;
    y2.bound[i] *= std::fabs(up.packed.scale);
  }
  Bounded added = y1, gated = y1;
  for (std::size_t i = 0; i < y1.value.size(); ++i) {
    const double bias1 = b1[i % std::size_t(rows)], bias2 = b2[i % std::size_t(rows)];
    const double g = double(y1.value[i]) + bias1, u = double(y2.value[i]) + bias2;
    added.value[i] = float(g + 3.0);
    added.bound[i] = y1.bound[i] + 3 * kUnit * (std::fabs(g) + 3.0);
    gated.value[i] = float(silu(g) * u);
    const double eg = y1.bound[i] + 2 * kUnit * std::fabs(g),
                 eu = y2.bound[i] + 2 * kUnit * std::fabs(u);
    // |silu'| <= 1.1; exp and the quotient cost a few more roundings.
    gated.bound[i] = 1.1 * eg * (std::fabs(u) + eu) + std::fabs(silu(g)) * eu +
                     12 * kUnit * std::fabs(silu(g) * u) + 1e-37;
  }
  std::vector<float> first_added, first_gated;
  for (const cpu::Kernels* kernels : levels()) {
    INFO(cpu::isa_name(kernels->isa));
    const auto sum = run(*kernels, gate.packed, x.data(), n, q8, 2,
                         {cpu::Finish::kAdd, nullptr, b1.data(), nullptr, 3.0f});
    check_within(sum, added);
    const auto product = run(*kernels, gate.packed, x.data(), n, q8, 2,
                             {cpu::Finish::kSwiGlu, &up.packed, b1.data(), b2.data(), 0});
    check_within(product, gated);
    if (first_added.empty()) {
      first_added = sum;
      first_gated = product;
    }
    CHECK(first_difference(first_added, sum) == -1);
    CHECK(first_difference(first_gated, product) == -1);
  }
}

}  // namespace

TEST_CASE(
    "what is done with the product: scaled, added to the output, gated, with biases, matrices of "
    "different formats") {
  for (const int n : {1, 2, 4, 5, 8, 9, 19}) {
    check_finishes<Q4_K, Q4_K>(n);
    check_finishes<Q4_K, Q6_K>(n);
    check_finishes<IQ2_XXS, Q8_0>(n);
    check_finishes<F32, F32>(n);
    check_finishes<F16, BF16>(n);
    check_finishes<NVFP4, MXFP4>(n);
  }
}

TEST_CASE("the packed layout takes no more bytes than the padded rows") {
  for_each_format(AllFormats{}, []<BlockFormat F>() {
    const int k = 2 * F::kValues;
    CHECK(cpu::packed_group_bytes<F>(k) == 16 * row_bytes<F>(std::size_t(k)));
  });
}

// A broken activation must show in its own column and nowhere else.
TEST_CASE("NaN and infinity in one column stay there") {
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY})
    for (const int n : {1, 3, 8, 11}) {
      Random random(77 + std::uint64_t(n));
      const int k = 512, rows = 20, broken = n / 2;
      const Matrix<Q4_K> m(random, rows, k);
      Guarded<float> x(std::size_t(k) * std::size_t(n));
      random.fill_activations(x.data(), x.size());
      const auto clean = run(*levels().front(), m.packed, x.data(), n, true, 1);
      x[std::size_t(broken) * std::size_t(k) + 100] = bad;
      for (const cpu::Kernels* kernels : levels()) {
        const auto got = run(*kernels, m.packed, x.data(), n, true, 1);
        for (int c = 0; c < n; ++c)
          for (int r = 0; r < rows; ++r) {
            const std::size_t at = std::size_t(c) * rows + std::size_t(r);
            if (c == broken)
              CHECK(std::isnan(got[at]));
            else
              CHECK(same_bits(got[at], clean[at]));
          }
      }
    }
}

// The header-only CPU ops (cpu/matvec.hpp, cpu/elementwise.hpp) against ref/, at every level this
// machine runs; levels give the same bits, a static K gives the bits of a dynamic one, wrong calls
// name field and value.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "level_ops.hpp"
#include "support/guarded_buffer.hpp"
#include "support/matvec_oracle.hpp"
#include "support/random_data.hpp"
#include "veloce/cpu/elementwise.hpp"
#include "veloce/cpu/matvec.hpp"
#include "veloce/ref/attention.hpp"
#include "veloce/ref/elementwise.hpp"
#include "veloce/ref/embed.hpp"
#include "veloce/ref/rms_norm.hpp"
#include "veloce/ref/rope.hpp"
#include "veloce/ref/softmax.hpp"
#include "veloce/ref/top_k.hpp"

using namespace veloce;
using namespace veloce::test;

namespace {

constexpr double kUnit = 0x1p-24;

std::vector<const LevelOps*> levels() {
  std::vector<const LevelOps*> all = {&portable_ops()};
#if defined(__x86_64__)
  if (int(cpu::detect_isa()) >= int(cpu::Isa::kAvx2)) all.push_back(&avx2_ops());
  if (int(cpu::detect_isa()) >= int(cpu::Isa::kAvx512)) all.push_back(&avx512_ops());
#endif
  return all;
}

bool same(const float* a, const float* b, std::size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("matvec: strides, bias, teams, static and dynamic K") {
  for_each_format(TestedFormats{}, []<BlockFormat F>() {
    Random random(F::kGgufType);
    for (const int columns : {1, 3, 4, 5, 17})
      for (const ActivationType type : {ActivationType::kQ8, ActivationType::kF32}) {
        const int k = kStaticK, rows = random.pick({1, 7, 16, 33});
        INFO(std::string(F::kName), " rows ", rows, " columns ", columns, " 8-bit ",
             type == ActivationType::kQ8);
        Guarded<typename F::Block> data(std::size_t(rows) * std::size_t(k) / F::kValues);
        for (auto& b : data) b = random.block<F>();
        const std::size_t x_stride = std::size_t(k) + 3, y_stride = std::size_t(rows) + 2;
        Guarded<float> x((std::size_t(columns) - 1) * x_stride + std::size_t(k)),
            y((std::size_t(columns) - 1) * y_stride + std::size_t(rows)),
            bias(static_cast<std::size_t>(rows));
        random.fill_activations(x.data(), x.size());
        random.fill_normal(bias.data(), bias.size());
        std::vector<float> dense(std::size_t(columns) * std::size_t(k));
        for (int c = 0; c < columns; ++c)
          std::copy_n(&x[std::size_t(c) * x_stride], k, &dense[std::size_t(c) * std::size_t(k)]);
        const bool q8 = IntDotFormat<F> && type == ActivationType::kQ8;
        const Bounded want =
            oracle(GgufMatrix<F>(data.data(), rows, Dim<>(k)), dense.data(), columns, q8);
        cpu::Pool pool(3);
        std::vector<float> first;
        for (const LevelOps* ops : levels())
          for (const bool static_k : {false, true})
            for (cpu::Pool* team : {static_cast<cpu::Pool*>(nullptr), &pool}) {
              INFO(cpu::isa_name(ops->isa));
              for (float& v : y) v = 77;
              const MatvecCase c{F::kGgufType, std::as_bytes(std::span(data.data(), data.size())),
                                 rows,         k,
                                 static_k,     x.data(),
                                 y.data(),     columns,
                                 x_stride,     y_stride,
                                 bias.data(),  type,
                                 team};
              const Status s = ops->matvec(c);
              REQUIRE_MESSAGE(s.ok(), s.message());
              for (int column = 0; column < columns; ++column)
                for (std::size_t r = 0;
                     r < y_stride && std::size_t(column) * y_stride + r < y.size(); ++r) {
                  const float got = y[std::size_t(column) * y_stride + r];
                  if (r >= std::size_t(rows)) {
                    REQUIRE(got == 77);  // between the columns
                    continue;
                  }
                  const std::size_t at = std::size_t(column) * std::size_t(rows) + r;
                  const double expected = double(want.value[at]) + double(bias[r]);
                  REQUIRE(std::fabs(got - expected) <=
                          want.bound[at] + 2 * kUnit * std::fabs(expected));
                }
              if (first.empty()) first.assign(y.begin(), y.end());
              REQUIRE(same(first.data(), y.data(), y.size()));
            }
      }
  });
}

TEST_CASE("matvec: the short form") {
  Random random(3);
  std::vector<Q8_0::Block> data(8 * 2);
  for (auto& b : data) b = random.block<Q8_0>();
  const auto w = cpu::PackedWeights<Q8_0, Dim<64>>::pack(std::as_bytes(std::span(data)), 8);
  REQUIRE_MESSAGE(w.ok(), w.status().message());
  std::vector<float> x(64), y(8), want(8);
  random.fill_activations(x.data(), 64);
  REQUIRE(cpu::matvec(*w, x.data(), y.data()).ok());
  const Bounded bounded = oracle(GgufMatrix<Q8_0>(data.data(), 8, Dim<>(64)), x.data(), 1, true);
  check_within(y, bounded);
  CHECK(w->bytes() == 16 * 68);
}

// A format of a user's own: no Layout and no Unpack are written for it, so the defaults serve it.
struct OwnFormat : Q5_1 {
  static constexpr std::string_view kName = "OwnFormat";
};

TEST_CASE("a format without a layout of its own is stored block by block and right") {
  Random random(9);
  constexpr int kRows = 21, kK = 96;
  std::vector<OwnFormat::Block> data(std::size_t(kRows) * kK / 32);
  for (auto& b : data) b = random.block<OwnFormat>();
  const auto w =
      cpu::PackedWeights<OwnFormat>::pack(std::as_bytes(std::span(data)), kRows, Dim<>(kK));
  REQUIRE_MESSAGE(w.ok(), w.status().message());
  std::vector<float> x(kK), y(kRows);
  random.fill_activations(x.data(), kK);
  for (const bool q8 : {true, false}) {
    MatvecArgs<cpu::PackedView<OwnFormat>> a{.weights = *w, .x = x.data(), .y = y.data()};
    a.activations = q8 ? ActivationType::kQ8 : ActivationType::kF32;
    cpu::MatvecWorkspace workspace;
    REQUIRE(cpu::matvec(a, workspace, nullptr).ok());
    check_within(y, oracle(GgufMatrix<OwnFormat>(data.data(), kRows, Dim<>(kK)), x.data(), 1, q8));
  }
}

TEST_CASE("element-wise ops") {
  Random random(4);
  for (const std::size_t n : {1, 15, 16, 17, 100, 1000}) {
    Guarded<float> a(n), b(n), y(n);
    random.fill_normal(a.data(), n, 8);
    random.fill_normal(b.data(), n);
    std::vector<float> want(n), first;
    for (const LevelOps* ops : levels()) {
      REQUIRE(ref::add({n, a.data(), b.data(), want.data()}).ok());
      REQUIRE(ops->add({n, a.data(), b.data(), y.data()}).ok());
      CHECK(same(want.data(), y.data(), n));
      REQUIRE(ref::mul({n, a.data(), b.data(), want.data()}).ok());
      REQUIRE(ops->mul({n, a.data(), b.data(), y.data()}).ok());
      CHECK(same(want.data(), y.data(), n));
      REQUIRE(ref::swiglu({n, a.data(), b.data(), want.data()}).ok());
      REQUIRE(ops->swiglu({n, a.data(), b.data(), y.data()}).ok());
      for (std::size_t i = 0; i < n; ++i)  // exp 2, sum, quotient, product: 6 roundings
        REQUIRE(std::fabs(double(y[i]) - double(want[i])) <=
                8 * kUnit * std::fabs(double(want[i])) + 1e-37);
      if (first.empty()) first.assign(y.begin(), y.end());
      CHECK(same(first.data(), y.data(), n));
    }
  }
}

TEST_CASE("softmax") {
  Random random(5);
  for (const int n : {1, 2, 15, 16, 17, 300, 4001}) {
    const int rows = 3;
    const std::size_t size = std::size_t(rows) * std::size_t(n);
    Guarded<float> x(size), y(size);
    random.fill_normal(x.data(), size, 10);
    if (n > 2) x[1] = -INFINITY;
    std::vector<float> want(size), first;
    REQUIRE(ref::softmax({rows, n, 0.7f, x.data(), want.data()}).ok());
    for (const LevelOps* ops : levels()) {
      REQUIRE(ops->softmax({rows, n, 0.7f, x.data(), y.data()}).ok());
      for (std::size_t i = 0; i < size; ++i) {
        // The exponent, rounded twice, is at most 70 here; below e^-87.3 the answer is 0.
        REQUIRE(std::fabs(double(y[i]) - double(want[i])) <=
                (2 * 70 + n / 16 + 12) * kUnit * double(want[i]) + 1.3e-38);
      }
      if (n > 2) CHECK(y[1] == 0);
      if (first.empty()) first.assign(y.begin(), y.end());
      CHECK(same(first.data(), y.data(), size));
      std::memcpy(y.data(), x.data(), size * 4);
      REQUIRE(ops->softmax({rows, n, 0.7f, y.data(), y.data()}).ok());  // in place
      CHECK(same(first.data(), y.data(), size));
    }
  }
}

TEST_CASE("norm and rotation") {
  Random random(6);
  for (const int k : {2, 16, 30, 64, 100}) {
    const int rows = 4;
    const std::size_t size = std::size_t(rows) * std::size_t(k);
    Guarded<float> x(size), weight(static_cast<std::size_t>(k)), y(size),
        angles(std::size_t(rows) * std::size_t(k));
    random.fill_normal(x.data(), size);
    random.fill_normal(weight.data(), weight.size());
    for (std::size_t i = 0; i + 1 < angles.size(); i += 2) {
      const double angle = random.normal(5);
      angles[i] = float(std::cos(angle));
      angles[i + 1] = float(std::sin(angle));
    }
    std::vector<float> want(size), first;
    for (const LevelOps* ops : levels()) {
      REQUIRE(ref::rms_norm({rows, k, x.data(), weight.data(), 1e-5f, want.data()}).ok());
      REQUIRE(ops->rms_norm({rows, k, x.data(), weight.data(), 1e-5f, y.data()}).ok());
      for (std::size_t i = 0; i < size; ++i)
        REQUIRE(std::fabs(double(y[i]) - double(want[i])) <=
                (k / 32.0 + 8) * kUnit * std::fabs(double(want[i])));
      for (const bool neox : {false, true})
        for (const int rotated : {0, 2, k}) {
          std::vector<float> turned(x.begin(), x.end());
          std::memcpy(y.data(), x.data(), size * 4);
          REQUIRE(ref::rope({rows, 1, k, rotated, neox, angles.data(), turned.data()}).ok());
          REQUIRE(ops->rope({rows, 1, k, rotated, neox, angles.data(), y.data()}).ok());
          for (std::size_t i = 0; i < size; ++i)
            REQUIRE(std::fabs(double(y[i]) - double(turned[i])) <= 2e-6);
        }
      if (first.empty()) first.assign(y.begin(), y.end());
      CHECK(same(first.data(), y.data(), size));
    }
  }
}

TEST_CASE("top-k: order, ties, NaN") {
  Random random(7);
  for (const int n : {1, 2, 50, 1000}) {
    Guarded<float> x(static_cast<std::size_t>(n));
    for (float& v : x) v = random.chance(0.05) ? NAN : float(random.from(-20, 20));
    if (n > 10) {
      x[3] = INFINITY;
      x[4] = -INFINITY;
      x[5] = -0.0f;
    }
    for (const int k : {1, (n + 1) / 2, n}) {
      Guarded<std::int32_t> indices(static_cast<std::size_t>(k)), want(static_cast<std::size_t>(k));
      Guarded<float> values(static_cast<std::size_t>(k));
      REQUIRE(ref::top_k({n, k, x.data(), want.data(), nullptr}).ok());
      for (const LevelOps* ops : levels()) {
        REQUIRE(ops->top_k({n, k, x.data(), indices.data(), values.data()}).ok());
        for (std::size_t i = 0; i < std::size_t(k); ++i) {
          REQUIRE(indices[i] == want[i]);
          REQUIRE(std::memcmp(&values[i], &x[std::size_t(want[i])], 4) == 0);
        }
      }
    }
  }
}

TEST_CASE("embedding rows are what decode gives") {
  for_each_format(TestedFormats{}, []<BlockFormat F>() {
    Random random(100 + F::kGgufType);
    const int rows = 5, k = 512;
    Guarded<typename F::Block> data(std::size_t(rows) * k / F::kValues);
    for (auto& b : data) b = random.block<F>();
    const GgufMatrix<F> table(data.data(), rows, Dim<>(k));
    const std::int32_t ids[] = {4, 0, 4};
    Guarded<float> y(3 * k), want(3 * k);
    REQUIRE(ref::embed(EmbedArgs<GgufMatrix<F>>{table, ids, 3, want.data()}).ok());
    REQUIRE(cpu::embed(EmbedArgs<GgufMatrix<F>>{table, ids, 3, y.data()}).ok());
    CHECK(same(y.data(), want.data(), y.size()));
    const std::int32_t wrong[] = {0, 5};
    const Status s = cpu::embed(EmbedArgs<GgufMatrix<F>>{table, wrong, 2, y.data()});
    REQUIRE_FALSE(s.ok());
    CHECK(s.message().find("ids[1] = 5") != std::string::npos);
  });
}

TEST_CASE(
    "exp over its whole range: at most 1 ulp, 0 below, finite above, the same bits at every "
    "level") {
  const auto ops = levels();
  double worst = 0;
  std::vector<float> inputs;
  for (float x = -87.29f; x < 88.29f; x += 0.00731f) inputs.push_back(x);
  for (int e = -40; e < 6; ++e)
    for (const float m : {1.0f, -1.0f, 1.7f, -1.3f}) inputs.push_back(std::ldexp(m, e));
  while (inputs.size() % 16 != 0) inputs.push_back(0);
  for (std::size_t i = 0; i < inputs.size(); i += 16) {
    float first[16], y[16];
    ops[0]->exp16(&inputs[i], first);
    for (const LevelOps* level : ops) {
      level->exp16(&inputs[i], y);
      REQUIRE(same(first, y, 16));
    }
    for (int j = 0; j < 16; ++j) {
      const double want = std::exp(double(inputs[i + std::size_t(j)]));
      const double ulp = std::ldexp(1.0, std::ilogb(want) - 23);
      worst = std::max(worst, std::fabs(double(y[j]) - want) / ulp);
    }
  }
  MESSAGE("exp: at most ", worst, " ulp");
  CHECK(worst <= 1.0);
  const float odd[16] = {0,      -0.0f, -88, -1000, -INFINITY, 89,      1000,  INFINITY,
                         -87.4f, 88.3f, 1,   -1,    1e-30f,    -1e-30f, 88.2f, -87.2f};
  float y[16];
  for (const LevelOps* level : ops) {
    level->exp16(odd, y);
    CHECK(y[0] == 1);
    CHECK(y[1] == 1);
    for (const int zero : {2, 3, 4, 8}) CHECK(y[zero] == 0);
    for (const int big : {5, 6, 7, 9}) CHECK((std::isfinite(y[big]) && y[big] > 2.1e38f));
  }
}

TEST_CASE("wrong calls name the op, the field and the value") {
  float f[64] = {};
  std::int32_t ids[4] = {};
  const auto says = [](const Status& s, const std::string& what) {
    REQUIRE_FALSE(s.ok());
    CHECK(s.code() == Code::kInvalidArgument);
    CHECK_MESSAGE(s.message().find(what) != std::string::npos, s.message());
  };
  says(cpu::add({4, nullptr, f, f}), "a = null");
  says(cpu::softmax({0, 4, 1, f, f}), "softmax: rows = 0");
  says(cpu::softmax({1, 4, -1, f, f}), "scale = -1");
  says(cpu::softmax({1, 4, NAN, f, f}), "scale = nan");
  says(cpu::rms_norm({1, 4, f, nullptr, 0, f}), "weight = null");
  says(cpu::rms_norm({1, 4, f, f, -1e-5f, f}), "epsilon");
  says(cpu::rope({1, 1, 4, 6, false, f, f}), "rotated = 6: must be at most 4 (dim)");
  says(cpu::rope({1, 1, 4, 3, false, f, f}), "rotated = 3: must be a multiple of 2");
  says(cpu::top_k({4, 5, f, ids, nullptr}), "k = 5: must be at most 4 (n)");
  says(check(AttentionArgs{5, 2, 16, 1, 1, 1, f, f, f, f}),
       "kv_heads = 2: must divide the 5 heads");
  says(check(AttentionArgs{4, 2, 16, 3, 2, 1, f, f, f, f}), "keys = 2: must include the 3 queries");
  std::vector<Q4_K::Block> blocks(2);
  const auto bytes = std::as_bytes(std::span(blocks));
  says(cpu::PackedWeights<Q4_K>::pack(bytes, 2, Dim<>(255)).status(),
       "k = 255: must be a positive multiple of 256");
  says(cpu::PackedWeights<Q4_K>::pack(bytes, 3, Dim<>(256)).status(),
       "288 bytes given, 3 rows of 256 values in Q4_K take 432");
  says(cpu::PackedWeights<Q4_K>::pack(bytes, 0, Dim<>(256)).status(), "rows = 0");
  blocks[1].d[0] = blocks[1].d[1] = 0xFF;
  const Status nan = cpu::PackedWeights<Q4_K>::pack(bytes, 2, Dim<>(256)).status();
  CHECK(nan.message().find("row 1 block 0") != std::string::npos);
  blocks[1].d[0] = blocks[1].d[1] = 0;
  const auto w = cpu::PackedWeights<Q4_K>::pack(bytes, 2, Dim<>(256));
  REQUIRE(w.ok());
  MatvecArgs<cpu::PackedView<Q4_K>> a{.weights = *w, .x = f, .y = f, .columns = 0};
  says(check(a), "matvec: columns = 0");
  a.columns = 2;
  a.x_stride = 100;
  says(check(a), "x_stride = 100: must be 0 or at least a row's 256");
  CHECK(check(MatvecArgs<cpu::PackedView<Q4_K>>{.weights = *w, .x = nullptr, .y = f})
            .message()
            .find("x = null") != std::string::npos);
}

TEST_CASE("costs") {
  std::vector<Q4_K::Block> blocks(32);
  const MatvecArgs<GgufMatrix<Q4_K>> a{
      .weights = {blocks.data(), 16, Dim<>(512)}, .x = nullptr, .y = nullptr, .columns = 2};
  CHECK(cost(a).bytes == 16 * 2 * 144 + 4 * 2 * (512 + 16));
  CHECK(cost(a).operations == 2u * 16 * 512 * 2);
  AttentionArgs t{.heads = 4, .kv_heads = 2, .dim = 16, .queries = 3, .keys = 10};
  CHECK(cost(t).operations == (3u * 7 + 6) * 4 * (4 * 16 + 3));
  CHECK((Cost{1, 2} + Cost{3, 4}).operations == 6);
}

// Whole kernels, compiled by hipcc, against the same sums on the host.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "kernels.hpp"

using gfx906::Dispatch;
using gfx906::Executor;
using gfx906_test::Args;

namespace {

// The code objects of the toolchains; a missing one is skipped.
std::vector<std::string> files() {
  return {"kernels.co", "kernels-hip5.co"};
}

struct Kernels {
  std::shared_ptr<gfx906::CodeObject> object;
  Dispatch dispatch(const char* name, std::array<uint32_t, 3> grid,
                    std::array<uint32_t, 3> block) const {
    Dispatch d;
    d.kernel = object->find_kernel(name);
    REQUIRE_MESSAGE(d.kernel, name);
    d.grid = grid;
    d.block = block;
    return d;
  }
};

template <class F>
void for_each_toolchain(F&& f) {
  for (const std::string& file : files()) {
    const Kernels k{gfx906_test::load_kernels(file)};
    if (!k.object) {
      MESSAGE("SKIP: no " << file);
      continue;
    }
    CAPTURE(file);
    f(k);
  }
}

void run_ok(const Dispatch& d) {
  const gfx906::Status s = Executor::shared().run(d);
  REQUIRE_MESSAGE(s.ok(), s.message());
}

}  // namespace

TEST_CASE("axpy: bounds, division") {
  for_each_toolchain([](const Kernels& k) {
    const int n = 1000;
    std::vector<float> a(n), b(n), c(1024, -1.0f);
    for (int i = 0; i < n; ++i)
      a[i] = 0.37f * static_cast<float>(i) - 100, b[i] = 1e3f / static_cast<float>(i + 1);
    Dispatch d = k.dispatch("axpy", {1024, 1, 1}, {256, 1, 1});
    Args args;
    args.add(a.data()).add(b.data()).add(c.data()).add(n);
    d.kernarg = args.bytes;
    run_ok(d);
    for (int i = 0; i < n; ++i) {
      const float contracted = std::fmaf(a[i], 2.0f, b[i] / 3.0f);
      REQUIRE(c[i] == contracted);
    }
    for (int i = n; i < 1024; ++i) REQUIRE(c[i] == -1.0f);
  });
}

TEST_CASE("integer dot products: wave shuffles, LDS tiles, barriers") {
  for_each_toolchain([](const Kernels& k) {
    const int rows = 256, k16 = 128;
    std::vector<int8_t> w(static_cast<size_t>(rows) * k16 * 16),
        x(static_cast<size_t>(8) * k16 * 16);
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<int8_t>(i * 7 + i / 13);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int8_t>(i * 5 + i / 3);
    std::vector<int> y(rows), y8(static_cast<size_t>(rows) * 8);
    Args a1, a8;
    a1.add(w.data()).add(x.data()).add(y.data()).add(k16);
    a8.add(w.data()).add(x.data()).add(y8.data()).add(k16);
    Dispatch d = k.dispatch("matvec_i8", {rows * 64, 1, 1}, {256, 1, 1});
    d.kernarg = a1.bytes;
    run_ok(d);
    Dispatch e = k.dispatch("matvec_i8x8", {rows, 1, 1}, {256, 1, 1});
    e.kernarg = a8.bytes;
    run_ok(e);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < 8; ++c) {
        int s = 0;
        for (int i = 0; i < k16 * 16; ++i)
          s += w[static_cast<size_t>(r) * k16 * 16 + i] * x[static_cast<size_t>(c) * k16 * 16 + i];
        if (c == 0) REQUIRE(y[r] == s);
        REQUIRE(y8[static_cast<size_t>(r) * 8 + c] == s);
      }
    }
  });
}

TEST_CASE("reduction through LDS") {
  for_each_toolchain([](const Kernels& k) {
    std::vector<float> a(5000);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 97);
    float out = 0;
    double want = 0;
    for (const float v : a) want += v;
    Dispatch d = k.dispatch("reduce", {256, 1, 1}, {256, 1, 1});
    Args args;
    args.add(a.data()).add(&out).add(static_cast<int>(a.size()));
    d.kernarg = args.bytes;
    run_ok(d);
    CHECK(out == static_cast<float>(want));
  });
}

TEST_CASE("groups that wait for each other without sleeping all progress") {
  for_each_toolchain([](const Kernels& k) {
    for (const bool cooperative : {true, false}) {
      const int groups = 60;
      int count = 0;
      std::vector<int> out(groups);
      Dispatch d = k.dispatch("grid_wait", {groups * 64, 1, 1}, {64, 1, 1});
      d.cooperative = cooperative;
      Args args;
      args.add(&count).add(groups).add(out.data());
      d.kernarg = args.bytes;
      run_ok(d);
      for (const int v : out) REQUIRE(v == groups);
    }
  });
}

TEST_CASE("two cards wait for each other through memory") {
  for_each_toolchain([](const Kernels& k) {
    Executor one({.threads = 1});  // even with a single host thread
    for (Executor* e : {&one, &Executor::shared()}) {
      int box[2] = {0, 0};
      const int rounds = 50;
      gfx906::Status status[2];
      std::thread cards[2];
      for (int c = 0; c < 2; ++c) {
        cards[c] = std::thread([&, c] {
          Dispatch d;
          d.kernel = k.object->find_kernel("ping_pong");
          d.grid = d.block = {64, 1, 1};
          d.card = c;
          Args args;
          args.add(&box[c]).add(&box[1 - c]).add(rounds).add(c == 0 ? 1 : 0);
          d.kernarg = args.bytes;
          status[c] = e->run(d);
        });
      }
      for (std::thread& t : cards) t.join();
      CHECK_MESSAGE(status[0].ok(), status[0].message());
      CHECK_MESSAGE(status[1].ok(), status[1].message());
      CHECK(box[0] == 2 * rounds);
      CHECK(box[1] == 2 * rounds - 1);
    }
  });
}

TEST_CASE("private arrays, calls through pointers, globals and constants") {
  for_each_toolchain([](const Kernels& k) {
    const int n = 3;
    std::vector<int> index(128), out(128);
    for (int i = 0; i < 128; ++i) index[static_cast<size_t>(i)] = i * 5 % 41;
    const auto* value = k.object->find_symbol("table_value");
    const auto* constants = k.object->find_symbol("coefficients");
    REQUIRE(value);
    REQUIRE(constants);
    *reinterpret_cast<int*>(value->address) = 1000;
    reinterpret_cast<int*>(constants->address)[2] = -50;  // hipMemcpyToSymbol writes constants
    Dispatch d = k.dispatch("private_memory", {128, 1, 1}, {128, 1, 1});
    Args args;
    args.add(index.data()).add(out.data()).add(n);
    d.kernarg = args.bytes;
    run_ok(d);
    const int coefficients[4] = {3, 5, -50, 11};
    for (int i = 0; i < 128; ++i) {
      int a[40];
      for (int j = 0; j < 40; ++j) a[j] = j * j + i;
      const int x = index[static_cast<size_t>(i)];
      for (int j = 0; j < n; ++j) a[(x + j) % 40] += j;
      const int v = a[x % 40], f = x & 1 ? v * 2 + 1000 : v * 3 + coefficients[v & 3];
      REQUIRE(out[static_cast<size_t>(i)] == f + a[39 - x % 40]);
    }
  });
}

TEST_CASE("grid and block sizes, dynamic LDS") {
  for_each_toolchain([](const Kernels& k) {
    std::vector<unsigned> out(4 * 2 * 3 * 4);
    Dispatch d = k.dispatch("sizes", {32 * 2, 2 * 3, 4}, {32, 2, 1});
    d.dynamic_lds = 32 * 4;
    Args args;
    args.add(out.data());
    d.kernarg = args.bytes;
    run_ok(d);
    for (unsigned z = 0; z < 4; ++z) {
      for (unsigned y = 0; y < 3; ++y) {
        for (unsigned x = 0; x < 2; ++x) {
          const unsigned* o = out.data() + 4 * ((z * 3 + y) * 2 + x);
          REQUIRE(o[0] == 20304);
          REQUIRE(o[1] == 320201);
          REQUIRE(o[2] == x * 10000 + y * 100 + z);
          REQUIRE(o[3] == 32);
        }
      }
    }
  });
}

TEST_CASE("library math: f64 division, square root, sine, exponential; f32 likewise") {
  for_each_toolchain([](const Kernels& k) {
    std::vector<double> a(64), b(64), c(64);
    std::vector<float> fa(64), fb(64), fc(64);
    for (size_t i = 0; i < 64; ++i) {
      a[i] = 0.1 + static_cast<double>(i) * 0.37;
      b[i] = 0.5 + static_cast<double>(i) * 1.7;
      fa[i] = static_cast<float>(a[i]);
      fb[i] = static_cast<float>(b[i]) * 0.1f;
    }
    Dispatch d = k.dispatch("double_math", {64, 1, 1}, {64, 1, 1});
    Args args;
    args.add(a.data()).add(b.data()).add(c.data()).add(64);
    d.kernarg = args.bytes;
    run_ok(d);
    Dispatch e = k.dispatch("float_math", {64, 1, 1}, {64, 1, 1});
    Args fargs;
    fargs.add(fa.data()).add(fb.data()).add(fc.data()).add(64);
    e.kernarg = fargs.bytes;
    run_ok(e);
    for (size_t i = 0; i < 64; ++i) {
      const double want =
          a[i] / b[i] + std::sqrt(a[i]) + std::sin(b[i]) + std::exp(-a[i]) + std::fmod(a[i], b[i]);
      CHECK(c[i] == doctest::Approx(want).epsilon(1e-14));
      const double x = fa[i], y = fb[i];
      const double fwant = x / y + std::sqrt(x) + std::sin(y) + std::exp(-x) + std::log(x) +
                           std::pow(x, y) + std::tanh(y);
      CHECK(fc[i] == doctest::Approx(fwant).epsilon(2e-6));
    }
  });
}

TEST_CASE("faults are errors that name kernel, instruction and line") {
  for_each_toolchain([](const Kernels& k) {
    Dispatch d = k.dispatch("crash", {64, 1, 1}, {64, 1, 1});
    Args args;
    args.add(static_cast<int*>(nullptr));
    d.kernarg = args.bytes;
    const gfx906::Status s = Executor::shared().run(d);
    CHECK(s.code() == gfx906::Code::kFault);
    CHECK(s.message().find("crash") != std::string::npos);
    CHECK(s.message().find("global_store_dword") != std::string::npos);
    CHECK(s.message().find("kernels.hip:") != std::string::npos);
    const gfx906::Status t = Executor::shared().run(k.dispatch("stop", {64, 1, 1}, {64, 1, 1}));
    CHECK(t.code() == gfx906::Code::kFault);
    CHECK(t.message().find("s_trap") != std::string::npos);
    Dispatch big = k.dispatch("stop", {2048, 1, 1}, {2048, 1, 1});
    CHECK(Executor::shared().run(big).code() == gfx906::Code::kInvalidArgument);
  });
}

namespace {
struct Counting : gfx906::Observer {
  uint64_t instructions = 0, groups = 0, loads = 0, stores = 0, barriers = 0, ends = 0, lds = 0;
  void on_group_begin(const Dispatch&, const gfx906::GroupId&, uint32_t,
                      std::span<uint8_t>) override {
    ++groups;
  }
  void on_instruction(const gfx906::InstEvent&) override { ++instructions; }
  uint64_t on_memory(const gfx906::InstEvent&, gfx906::MemAccess& m) override {
    loads += m.load;
    stores += m.store;
    lds += m.space == gfx906::Space::kLds;
    return m.lanes;
  }
  void on_barrier(const gfx906::InstEvent&) override { ++barriers; }
  void on_wave_end(const gfx906::InstEvent&) override { ++ends; }
};
}  // namespace

TEST_CASE("an observer sees what runs, and the result is the same") {
  for_each_toolchain([](const Kernels& k) {
    Executor one({.threads = 1});
    std::vector<float> a(5000, 1.0f);
    float out = 0;
    Dispatch d = k.dispatch("reduce", {256, 1, 1}, {256, 1, 1});
    Args args;
    args.add(a.data()).add(&out).add(static_cast<int>(a.size()));
    d.kernarg = args.bytes;
    Counting seen;
    gfx906::RunStats stats;
    REQUIRE(one.run(d, &seen, &stats).ok());
    CHECK(out == 5000.0f);
    CHECK(seen.groups == 1);
    CHECK(seen.ends == 4);
    CHECK(seen.instructions == stats.wave_instructions);
    CHECK(seen.lds > 0);
    CHECK(seen.barriers > 4);
    CHECK(seen.barriers % 4 == 0);
    CHECK(seen.loads > 20);
  });
}

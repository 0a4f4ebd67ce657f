// veloce-bench kernel: every op agrees with the oracle in every format and odd shape, and the row's
// figures follow from the time.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "bench/kernel_bench.hpp"
#include "support/program.hpp"
#include "veloce/formats/all.hpp"

using namespace veloce;
using namespace veloce::bench;
using nlohmann::json;

namespace {

using Make = MakeCase;
void check_case(Make make, const KernelShape& shape, int threads) {
  cpu::Pool pool(threads);
  auto c = make(shape, cpu::best_kernels(), pool, std::size_t(1) << 20);
  REQUIRE_MESSAGE(c, c.status().message());
  CAPTURE(shape.format);
  CAPTURE((*c)->shape());
  const Status s = (*c)->check(pool);
  CHECK_MESSAGE(s.ok(), s.message());
  CHECK((*c)->cost().bytes > 0);
  CHECK((*c)->cost().operations > 0);
  CHECK((*c)->copies() >= 1);
  // Another copy gives the same, or at least no fault.
  pool.run([&](cpu::Worker& w) { (*c)->run(w, (*c)->copies() - 1); });
}

// Takes a known time, on one worker.
class Sleeper final : public KernelCase {
 public:
  std::string shape() const override { return "sleep"; }
  Cost cost() const override { return {3'000'000, 1'000}; }
  Arithmetic arithmetic() const override { return Arithmetic::kFloat; }
  Status check(cpu::Pool&) override { return {}; }
  int copies() const override { return 3; }
  void run(cpu::Worker&, int copy) override {
    CHECK(copy >= 0);
    CHECK(copy < 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

}  // namespace

TEST_CASE(
    "matmul agrees with the oracle: every format, one column and many, odd row counts, threads") {
  for_each_format(AllFormats{}, [&]<BlockFormat F>() {
    for (const int n : {1, 5, 13})
      for (const int m : {1, 33}) {
        KernelShape s;
        s.format = F::kName;
        s.m = m;
        s.k = 512;
        s.n = n;
        check_case(make_matmul_case, s, n == 5 ? 2 : 1);
        s.float_activations = true;
        check_case(make_matmul_case, s, 1);
      }
  });
}

TEST_CASE("attention, rms_norm, quantize and embed agree with their oracles") {
  for (const char* format : {"F32", "F16", "BF16", "Q8_0"})
    for (const int n : {1, 7, 100}) {
      KernelShape s;
      s.format = format;
      s.heads = 6;
      s.kv_heads = 2;
      s.dim = 64;
      s.keys = 333;
      s.n = n;
      check_case(make_attention_case, s, 2);
    }
  for (const int n : {1, 9})
    for (const int k : {32, 416}) {
      KernelShape s;
      s.k = k;
      s.n = n;
      check_case(make_rms_norm_case, s, 1);
      check_case(make_quantize_case, s, 2);
    }
  for_each_format(AllFormats{}, [&]<BlockFormat F>() {
    KernelShape s;
    s.format = F::kName;
    s.m = 100;
    s.k = 256;
    s.n = 9;
    check_case(make_embed_case, s, 1);
  });
}

TEST_CASE("a wrong result is found") {
  CHECK(compare("op", 1, 2, 1.0, 1.0, 0).ok());
  CHECK(compare("op", 1, 2, 1.0, 1.1, 0.2).ok());
  CHECK(compare("op", 1, 2, 1.0, 1.3, 0.2).message().find("row 1, column 2") != std::string::npos);
  CHECK_FALSE(compare("op", 1, 2, NAN, 1.0, 1e9).ok());
  CHECK_FALSE(compare("op", 1, 2, INFINITY, 1.0, 1e9).ok());
}

TEST_CASE("median, spread, limit and ratio follow from the time and the ceilings") {
  Sleeper sleeper;
  cpu::Pool pool(1);
  Ceilings ceilings;
  ceilings.read = 6e9;  // 0.5 ms for the bytes
  ceilings.copy = 3e9;
  ceilings.float_fmas = 1e9;
  ceilings.int8_dots = 1;
  const KernelRow row = time_case(sleeper, pool, 31, ceilings);
  CHECK(row.samples == 31);
  CHECK(row.fastest >= 1e-3);
  CHECK(row.fastest <= row.median);
  CHECK(row.median <= row.slowest);
  CHECK(row.limit == "memory");
  CHECK(row.ratio == doctest::Approx(0.5e-3 / row.median));
  CHECK(row.gigabytes() == doctest::Approx(3e-3 / row.median));
  ceilings.float_fmas = 1e3;
  CHECK(time_case(sleeper, pool, 31, ceilings).limit == "fma");
}

TEST_CASE("the program's JSON has ceilings and rows; what cannot be timed is refused by name") {
  const test::Output out = test::run_program(
      "veloce-bench", "kernel matvec --format Q4_K,Q6_K --m 64 --k 512 --n 1,9 -t 1 -o json");
  REQUIRE(out.status == 0);
  const json j = json::parse(out.text);
  for (const char* name : {"copy_gb_per_s", "read_gb_per_s", "int8_gop_per_s", "float_gop_per_s"})
    CHECK(j.at("ceilings").at(name).get<double>() > 0);
  REQUIRE(j.at("rows").size() == 4);
  CHECK(j.at("rows").at(3).at("format") == "Q6_K");
  CHECK(j.at("rows").at(3).at("samples").get<int>() >= 30);
  for (const json& r : j.at("rows"))
    CHECK(r.at("gb_per_s").get<double>() ==
          doctest::Approx(r.at("bytes").get<double>() / r.at("median_us").get<double>() * 1e-3));

  const auto message = [](const std::string& arguments) {
    const test::Output o = test::run_program("veloce-bench", "kernel " + arguments + " -t 1 2>&1");
    CHECK(o.status != 0);
    return o.text;
  };
  CHECK(message("matvec --format Q9_K").find("Q9_K") != std::string::npos);
  CHECK(message("matvec --k 100").find("--k 100") != std::string::npos);
  CHECK(message("attention --format Q4_K").find("Q4_K") != std::string::npos);
  CHECK(message("attention --format F16 --heads 6 --kv-heads 4").find("--kv-heads 4") !=
        std::string::npos);
  CHECK(message("conv").find("conv") != std::string::npos);
  CHECK(message("matvec --m 4194304 --k 1048576").find("bytes") != std::string::npos);
}

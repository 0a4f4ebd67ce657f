// veloce-bench model: the rows that users' scripts read, and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/model_bench.hpp"
#include "support/golden.hpp"
#include "support/program.hpp"

using namespace veloce;
using nlohmann::json;

namespace {

std::string small_model() {
  for (const auto& dir : test::golden_dirs())
    if (std::filesystem::exists(dir / "llama-f32/model.gguf"))
      return (dir / "llama-f32/model.gguf").string();
  return {};
}

}  // namespace

TEST_CASE("one row for each test and number of threads, with consistent numbers") {
  const std::string model = small_model();
  if (model.empty()) {
    MESSAGE("SKIP: no golden llama model found");
    return;
  }
  const test::Output out = test::run_program(
      "veloce-bench",
      "model -m " + model + " -p 7,16 -n 3 -pg 5,2 -d 0,4 -t 1,2 -r 3 -b 4 -o json");
  REQUIRE(out.status == 0);
  const json rows = json::parse(out.text);
  struct Wanted {
    int prompt, gen;
  };
  const Wanted wanted[] = {{7, 0}, {16, 0}, {0, 3}, {5, 2}};
  REQUIRE(rows.size() == 2 * 2 * 4);
  std::size_t at = 0;
  for (const int threads : {1, 2})
    for (const int depth : {0, 4})
      for (const Wanted& w : wanted) {
        const json& r = rows[at++];
        CHECK(r.at("n_threads") == threads);
        CHECK(r.at("n_depth") == depth);
        CHECK(r.at("n_prompt") == w.prompt);
        CHECK(r.at("n_gen") == w.gen);
        CHECK(r.at("n_batch") == 4);
        REQUIRE(r.at("samples_ts").size() == 3);
        const auto ts = r.at("samples_ts").get<std::vector<double>>();
        const auto ns = r.at("samples_ns").get<std::vector<double>>();
        for (int i = 0; i < 3; ++i)
          CHECK(ts[std::size_t(i)] ==
                doctest::Approx((w.prompt + w.gen) / ns[std::size_t(i)] * 1e9));
        const bench::Spread spread = bench::spread_of(ts);
        CHECK(r.at("avg_ts").get<double>() == doctest::Approx(spread.mean));
        CHECK(r.at("stddev_ts").get<double>() == doctest::Approx(spread.deviation));
        CHECK(r.at("model_n_params").get<double>() > 0);
        for (const char* name : {"build_commit", "cpu_info", "backends", "isa", "model_filename",
                                 "model_type", "test_time"})
          CHECK_FALSE(r.at(name).get<std::string>().empty());
      }
}

TEST_CASE("the other outputs hold the same rows") {
  const std::string model = small_model();
  if (model.empty()) return;
  const std::string arguments = "model -m " + model + " -p 4 -n 2 -t 1 -r 1 -o ";
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const test::Output table = test::run_program("veloce-bench", arguments + "table");
  CHECK(table.text.find("pp4") != std::string::npos);
  CHECK(table.text.find("tg2") != std::string::npos);
  CHECK(lines(test::run_program("veloce-bench", arguments + "csv").text) == 3);
  const std::string rows = test::run_program("veloce-bench", arguments + "jsonl").text;
  CHECK(lines(rows) == 2);
  CHECK(json::parse(rows.substr(0, rows.find('\n'))).at("n_prompt") == 4);
}

TEST_CASE("switches: the level of the kernels that the row names") {
  const std::string model = small_model();
  if (model.empty()) return;
  const std::string arguments = "model -m " + model + " -p 4 -n 0 -t 1 -r 1 -o json";
  const auto isa = [](const test::Output& o) {
    return json::parse(o.text).at(0).at("isa").get<std::string>();
  };
  CHECK(isa(test::run_program("veloce-bench", arguments + " --without avx2,avx512")) == "portable");
  CHECK(isa(test::run_program("veloce-bench", arguments, "VELOCE_WITHOUT=avx512,avx2")) ==
        "portable");
  CHECK(isa(test::run_program("veloce-bench", arguments + " --without avx512")) != "AVX-512 VNNI");
  const test::Output list = test::run_program("veloce-bench", "--list-optimizations");
  CHECK(list.status == 0);
  CHECK(list.text.find("avx512 ") != std::string::npos);
  for (const auto& [extra, environment] :
       {std::pair<std::string, std::string>{" --without avx", ""},
        {"", "VELOCE_WITHOUT=avx512,fast"}}) {
    const test::Output refused =
        test::run_program("veloce-bench", arguments + extra + " 2>&1", environment);
    CHECK(refused.status == 2);
    CHECK(refused.text.find("no optimization is named") != std::string::npos);
  }
}

TEST_CASE("spread") {
  CHECK(bench::spread_of({}).mean == 0);
  CHECK(bench::spread_of({3}).mean == 3);
  CHECK(bench::spread_of({3}).deviation == 0);
  CHECK(bench::spread_of({1, 2, 3, 4}).mean == doctest::Approx(2.5));
  CHECK(bench::spread_of({1, 2, 3, 4}).deviation == doctest::Approx(std::sqrt(5.0 / 3)));
}

TEST_CASE("what cannot be timed is refused") {
  const std::string model = small_model();
  if (model.empty()) return;
  const auto status = [](const std::string& arguments) {
    return test::run_program("veloce-bench", arguments + " >/dev/null 2>&1").status;
  };
  CHECK(status("model -m " + model + " -p 0 -n 0") == 1);
  CHECK(status("model -m " + model + " -pg 5") == 1);
  CHECK(status("model -m " + model + " -pg 5,2x") == 1);
  CHECK(status("model -m /nonexistent.gguf") == 1);
  CHECK(status("model -m " + model + " -o xml") == 2);
  CHECK(status("model -m " + model + " -p -1") == 2);
  CHECK(status("model") == 2);
  CHECK(status("") == 2);
}

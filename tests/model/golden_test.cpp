// The golden models: logits of an independent engine, for every folder whose architecture this
// build knows.
//
// F32 activations and cache: every logit within 1e-3. 8-bit activations: squared error relative to
// the logits' power at most 1.5 times the engine's own 8-bit path's, and the same argmax wherever
// the golden's lead is more than twice the largest difference. And what the engine promises beyond
// that: the same bits whole, token by token, in odd chunks, on any number of threads, beside other
// sequences.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/registry.hpp"
#include "support/golden.hpp"
#include "veloce/gguf/file.hpp"

using namespace veloce;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct Golden {
  fs::path dir;
  std::vector<int> tokens, positions;
  int prefill = 0;
  std::vector<float> logits;  // [positions][vocabulary]
  double native_nmse = -1;
};

std::vector<fs::path> golden_models() {
  std::vector<fs::path> found;
  const auto known = models::known_architectures();
  for (const fs::path& dir : test::golden_dirs())
    for (const auto& entry : fs::directory_iterator(dir)) {
      if (!fs::exists(entry.path() / "model.gguf") || !fs::exists(entry.path() / "tokens.json"))
        continue;
      auto file = gguf::File::open((entry.path() / "model.gguf").string());
      REQUIRE_MESSAGE(file, file.status().message());
      if (std::find(known.begin(), known.end(), file->architecture()) != known.end())
        found.push_back(entry.path());
    }
  std::sort(found.begin(), found.end());
  return found;
}

Golden read_golden(const fs::path& dir) {
  Golden g;
  g.dir = dir;
  const json j = json::parse(test::read_text(dir / "tokens.json"));
  g.tokens = j.at("tokens").get<std::vector<int>>();
  g.positions = j.at("positions").get<std::vector<int>>();
  g.prefill = j.at("prefill").get<int>();
  g.logits = test::read_floats(dir / "logits.bin");
  if (j.contains("native")) g.native_nmse = j["native"]["against_logits"]["nmse"].get<double>();
  return g;
}

std::unique_ptr<model::Engine> load(const Golden& g, model::Activations a, model::CacheType cache,
                                    int threads, int sequences = 1) {
  model::EngineOptions o;
  o.path = (g.dir / "model.gguf").string();
  o.threads = threads;
  o.context = int(g.tokens.size());
  o.sequences = sequences;
  o.activations = a;
  o.cache_k = o.cache_v = cache;
  auto e = models::load_engine(o);
  REQUIRE_MESSAGE(e, e.status().message());
  return std::move(*e);
}

// Feeds the tokens in chunks and gathers the logits of every position.
std::vector<float> run(model::Engine& e, const std::vector<int>& tokens,
                       const std::vector<int>& chunks, int sequence = 0) {
  std::vector<float> all;
  REQUIRE(e.truncate(sequence, 0).ok());
  std::size_t at = 0, c = 0;
  while (at < tokens.size()) {
    const std::size_t n = std::min<std::size_t>(
        std::size_t(chunks[std::min(c++, chunks.size() - 1)]), tokens.size() - at);
    std::vector<model::Token> batch;
    for (std::size_t i = 0; i < n; ++i)
      batch.push_back({tokens[at + i], sequence, int(at + i), true});
    const Status s = e.step(batch);
    REQUIRE_MESSAGE(s.ok(), s.message());
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = e.logits(int(i));
      all.insert(all.end(), row.begin(), row.end());
    }
    at += n;
  }
  return all;
}

struct Difference {
  double worst = 0, nmse = 0;
  int wrong_argmax = 0;
};
Difference compare(const Golden& g, const std::vector<float>& ours) {
  const std::size_t vocabulary = g.logits.size() / g.positions.size();
  Difference d;
  double error = 0, power = 0;
  for (std::size_t r = 0; r < g.positions.size(); ++r) {
    const float* want = g.logits.data() + r * vocabulary;
    const float* got = ours.data() + std::size_t(g.positions[r]) * vocabulary;
    double worst = 0;
    std::size_t best = 0, ours_best = 0;
    for (std::size_t i = 0; i < vocabulary; ++i) {
      const double e = double(got[i]) - want[i];
      worst = std::max(worst, std::isfinite(e) ? std::fabs(e) : INFINITY);
      error += e * e;
      power += double(want[i]) * want[i];
      if (want[i] > want[best]) best = i;
      if (got[i] > got[ours_best]) ours_best = i;
    }
    float second = -INFINITY;
    for (std::size_t i = 0; i < vocabulary; ++i)
      if (i != best) second = std::max(second, want[i]);
    if (want[best] - second > 2 * worst && ours_best != best) ++d.wrong_argmax;
    d.worst = std::max(d.worst, worst);
  }
  d.nmse = error / power;
  return d;
}

}  // namespace

TEST_CASE("golden models") {
  int checked = 0;
  for (const fs::path& dir : golden_models()) {
    const Golden g = read_golden(dir);
    CAPTURE(dir.string());
    const std::vector<int> whole = {g.prefill, 1};
    {
      auto e = load(g, model::Activations::kF32, model::CacheType::kF32, 2);
      const auto prefill = run(*e, g.tokens, whole);
      const Difference d = compare(g, prefill);
      MESSAGE(dir.filename().string() << " F32: worst " << d.worst);
      CHECK(d.worst <= 1e-3);
      CHECK(run(*e, g.tokens, {1}) == prefill);
    }
    {
      auto e = load(g, model::Activations::kQ8, model::CacheType::kF32, 2);
      const auto prefill = run(*e, g.tokens, whole);
      const Difference d = compare(g, prefill);
      MESSAGE(dir.filename().string() << " Q8: relative squared error " << d.nmse << " (native "
                                      << g.native_nmse << "), worst " << d.worst);
      if (g.native_nmse > 0)
        CHECK(d.nmse <= 1.5 * g.native_nmse);
      else
        CHECK(d.worst <= 1e-3);
      CHECK(d.wrong_argmax == 0);
      CHECK(run(*e, g.tokens, {1}) == prefill);
      CHECK(run(*e, g.tokens, {7, 1, 2, 30, 5, 64, 3}) == prefill);
    }
    ++checked;
  }
  if (checked == 0) MESSAGE("SKIP: no golden models found");
  std::printf("golden models: %d checked\n", checked);
}

TEST_CASE("the same bits on any number of threads, for every cache type, beside other sequences") {
  std::string last;
  for (const fs::path& dir : golden_models()) {
    const std::string arch = dir.filename().string().substr(0, dir.filename().string().find('-'));
    if (arch == last) continue;  // one folder an architecture is enough here
    last = arch;
    const Golden g = read_golden(dir);
    CAPTURE(dir.string());
    for (const auto cache : {model::CacheType::kF32, model::CacheType::kF16,
                             model::CacheType::kBF16, model::CacheType::kQ8_0}) {
      auto one = load(g, model::Activations::kQ8, cache, 1);
      const auto expected = run(*one, g.tokens, {100, 1, 50});
      for (const int threads : {2, 5}) {
        auto many = load(g, model::Activations::kQ8, cache, threads, 3);
        CHECK(run(*many, g.tokens, {1}, 2) == expected);
        // All three sequences at once, each with its own chunk sizes; sequence 1 must not notice.
        for (int s = 0; s < 3; ++s) REQUIRE(many->truncate(s, 0).ok());
        std::vector<float> got;
        std::vector<std::size_t> at(3, 0);
        while (at[1] < g.tokens.size()) {
          std::vector<model::Token> batch;
          std::size_t first = 0;
          const std::size_t want[3] = {1, 1 + at[1] % 9, 11};
          for (int s = 0; s < 3; ++s) {
            if (s == 1) first = batch.size();
            for (std::size_t i = 0; i < want[s] && at[std::size_t(s)] < g.tokens.size(); ++i) {
              const int token =
                  g.tokens[s == 1 ? at[1]
                                  : (at[std::size_t(s)] * 7 + std::size_t(s)) % g.tokens.size()];
              batch.push_back({token, s, int(at[std::size_t(s)]++), true});
            }
          }
          REQUIRE(many->step(batch).ok());
          for (std::size_t i = first; i < batch.size() && batch[i].sequence == 1; ++i) {
            const auto row = many->logits(int(i));
            got.insert(got.end(), row.begin(), row.end());
          }
        }
        CHECK(got == expected);
      }
    }
  }
}

TEST_CASE("truncate, copy, serialize, restore") {
  const auto dirs = golden_models();
  if (dirs.empty()) return;
  const Golden g = read_golden(dirs.front());
  for (const auto cache : {model::CacheType::kF32, model::CacheType::kF16, model::CacheType::kBF16,
                           model::CacheType::kQ8_0}) {
    auto e = load(g, model::Activations::kQ8, cache, 2, 3);
    const auto expected = run(*e, g.tokens, {100});
    const std::size_t vocabulary = expected.size() / g.tokens.size();
    const auto rest = [&](int sequence, int from) {
      std::vector<float> out;
      for (int p = from; p < int(g.tokens.size()); ++p) {
        const model::Token t{g.tokens[std::size_t(p)], sequence, p, true};
        REQUIRE(e->step({&t, 1}).ok());
        const auto row = e->logits(0);
        out.insert(out.end(), row.begin(), row.end());
      }
      return out;
    };
    const auto tail = [&](int from) {
      return std::vector<float>(expected.begin() + std::ptrdiff_t(std::size_t(from) * vocabulary),
                                expected.end());
    };
    REQUIRE(e->truncate(0, 77).ok());
    CHECK(e->length(0) == 77);
    CHECK(rest(0, 77) == tail(77));
    REQUIRE(e->copy(0, 1, 50).ok());
    CHECK(rest(1, 50) == tail(50));
    REQUIRE(e->truncate(0, 83).ok());
    auto bytes = e->serialize(0);
    REQUIRE(bytes);
    REQUIRE(e->restore(2, *bytes).ok());
    CHECK(e->length(2) == 83);
    auto again = e->serialize(2);
    REQUIRE(again);
    CHECK(*again == *bytes);
    CHECK(rest(2, 83) == tail(83));
    // Damage of any kind is refused and changes nothing.
    for (std::size_t i = 0; i < bytes->size(); i += 97) {
      auto broken = *bytes;
      broken[i] ^= std::byte(1);
      CHECK_FALSE(e->restore(1, broken).ok());
    }
    CHECK_FALSE(e->restore(1, std::span(*bytes).first(20)).ok());
    CHECK_FALSE(e->restore(1, std::span(*bytes).first(bytes->size() - 1)).ok());
    CHECK(e->length(1) == int(g.tokens.size()));
    CHECK_FALSE(e->truncate(0, 10'000).ok());
    CHECK_FALSE(e->copy(0, 3, 1).ok());
    CHECK_FALSE(e->restore(-1, *bytes).ok());
  }
}

TEST_CASE("bad batches are refused and change nothing") {
  const auto dirs = golden_models();
  if (dirs.empty()) return;
  const Golden g = read_golden(dirs.front());
  auto e = load(g, model::Activations::kQ8, model::CacheType::kF16, 1, 2);
  const auto refused = [&](std::vector<model::Token> batch) {
    const Status s = e->step(batch);
    CHECK_FALSE(s.ok());
    CHECK(e->length(0) == 0);
    CHECK(e->length(1) == 0);
  };
  refused({{-1, 0, 0, true}});
  refused({{e->info().vocabulary, 0, 0, true}});
  refused({{1, 2, 0, true}});
  refused({{1, -1, 0, true}});
  refused({{1, 0, 1, true}});
  refused({{1, 0, 0, true}, {1, 0, 2, true}});
  refused({{1, 0, 0, true}, {1, 1, 0, true}, {1, 0, 1, true}});
  refused(std::vector<model::Token>(std::size_t(e->max_batch()) + 1, {1, 0, 0, false}));
  CHECK(e->step({}).ok());
  const model::Token quiet{1, 0, 0, false};
  CHECK(e->step({&quiet, 1}).ok());
  CHECK(e->logits(0).empty());
  CHECK(e->logits(-1).empty());
  CHECK(e->logits(5).empty());
}

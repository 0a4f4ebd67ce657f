// Penalties and DRY against straightforward versions of their definitions.
#include "veloce/sample/history.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace veloce;
using namespace veloce::sample;

namespace {

// A small vocabulary of single letters and some texts with breakers in them.
text::Tokenizer tokenizer() {
  text::VocabularyData data;
  data.model = "gpt2";
  data.pre = "gpt-2";
  static const std::vector<std::string> texts = {"a", "b", "c",  "d", ":",   "a:", ":b",
                                                 "<", "e", "<e", ">", "xx<", "f"};
  static const std::vector<std::string> merges = {"a :"};
  for (const std::string& t : texts) data.tokens.push_back(t);
  for (const std::string& m : merges) data.merges.push_back(m);
  auto made = text::Tokenizer::create(data);
  REQUIRE_MESSAGE(made, made.status().message());
  return *std::move(made);
}

// The definition, cubic: for each earlier end e (tokens before it: e + 1), how long is the common
// end?
std::map<std::int32_t, int> slow_repetitions(const std::vector<std::int32_t>& t, int allowed,
                                             std::size_t limit) {
  std::map<std::int32_t, int> found;
  if (t.size() <= std::size_t(allowed) || limit < std::size_t(allowed)) return found;
  for (std::size_t e = 0; e + 1 < t.size(); ++e) {
    std::size_t n = 0;
    while (n <= e && t[e - n] == t[t.size() - 1 - n]) ++n;
    n = std::min(n, limit);
    if (n >= std::size_t(allowed)) found[t[e + 1]] = std::max(found[t[e + 1]], int(n));
  }
  return found;
}

}  // namespace

TEST_CASE("penalties count within the window") {
  std::mt19937 engine(5);
  for (int window : {0, 1, 5, 64, -1}) {
    History history(window);
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < 200; ++i) {
      tokens.push_back(std::int32_t(engine() % 20));
      history.push(tokens.back());
    }
    std::map<std::int32_t, int> counts;
    const std::size_t n = window < 0 ? tokens.size() : std::size_t(window);
    for (std::size_t i = tokens.size() - n; i < tokens.size(); ++i) ++counts[tokens[i]];
    CHECK(std::map<std::int32_t, int>(history.counts().begin(), history.counts().end()) == counts);

    std::vector<float> logits(30);
    for (std::size_t i = 0; i < 30; ++i) logits[i] = float(int(i) - 8) / 2;
    for (bool shortened : {false, true}) {
      Candidates list;
      list.assign(logits);
      if (shortened) {  // ids no longer tell the place
        list.sort_top(20);
        list.truncate(20);
      }
      penalties(list, history.counts(), 1.5, 0.25, 0.5);
      for (const Candidate& c : list.items) {
        float want = logits[std::size_t(c.id)];
        if (const auto it = counts.find(c.id); it != counts.end()) {
          want = want <= 0 ? want * 1.5f : want / 1.5f;
          want -= float(it->second) * 0.25f + 0.5f;
        }
        CHECK(c.logit == doctest::Approx(want));
      }
    }
  }
}

TEST_CASE("a penalty that overflows stays a usable logit") {
  Candidates list;
  list.assign(std::vector<float>{3e38f, -3e38f, 1.0f});
  penalties(list, {{0, 1}, {1, 1}}, 1e-20, 0, 0);
  list.softmax();
  CHECK(list.items[0].p == 1.0f);
  penalties(list, {{0, 1}, {1, 1}}, 1e20, 1e38, 1e38);
  list.softmax();
  CHECK(list.items[2].p == 1.0f);
}

TEST_CASE("dry finds the repetitions that the definition finds") {
  std::mt19937 engine(11);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = engine() % 40;
    const std::uint32_t letters = 1 + engine() % 4;
    std::vector<std::int32_t> t(n);
    for (auto& x : t) x = std::int32_t(engine() % letters);
    for (int allowed : {0, 1, 2, 5}) {
      const auto got = dry_repetitions(t, allowed, nullptr);
      const auto want = slow_repetitions(t, allowed, n);
      REQUIRE(std::map<std::int32_t, int>(got.begin(), got.end()) == want);
    }
  }
}

TEST_CASE("dry stays linear") {
  const std::vector<std::int32_t> same(300000, 1);
  const auto found = dry_repetitions(same, 2, nullptr);
  REQUIRE(found.size() == 1);
  CHECK(found.at(1) == 299999);
}

TEST_CASE("breakers as heads and tails") {
  const text::Tokenizer t = tokenizer();
  const std::vector<std::string> strings = {":", "<e>"};
  const DryBreakers breakers = DryBreakers::create(t, strings);
  const auto tail = [&](std::vector<std::int32_t> tokens) { return breakers.longest_tail(tokens); };
  CHECK(tail({4}) == 0);     // ":" itself
  CHECK(tail({5, 0}) == 0);  // "a:" holds it
  CHECK(tail({6}) == 0);
  CHECK(tail({0, 4}) == -1);     // the breaker is later, not here
  CHECK(tail({7, 8, 10}) == 2);  // "<" "e" ">"
  CHECK(tail({7, 8}) == -1);     // not complete
  CHECK(tail({7, 8, 0}) == -1);
  CHECK(tail({9, 10}) == 1);      // "<e" ">"
  CHECK(tail({11, 8, 10}) == 2);  // "xx<" ends in its beginning
  CHECK(breakers.is_single(4));
  CHECK(breakers.is_single(5));
  CHECK_FALSE(breakers.is_single(7));
  CHECK_FALSE(breakers.is_single(0));
}

TEST_CASE("a breaker limits how far back a repetition is seen") {
  const text::Tokenizer t = tokenizer();
  const std::vector<std::string> strings = {":"};
  const DryBreakers breakers = DryBreakers::create(t, strings);
  // a b c : a b | d a b c : a b -> the repeated part may only be "a b".
  const std::vector<std::int32_t> tokens = {0, 1, 2, 4, 0, 1, 3, 0, 1, 2, 4, 0, 1};
  const auto got = dry_repetitions(tokens, 2, &breakers);
  CHECK(std::map<std::int32_t, int>(got.begin(), got.end()) == slow_repetitions(tokens, 2, 2));
  CHECK(got.at(3) == 2);  // without the breaker it would be 6
  CHECK(dry_repetitions(tokens, 2, nullptr).at(3) == 6);
  CHECK(dry_repetitions(tokens, 3, &breakers).empty());
}

TEST_CASE("dry's amount, and what is spared") {
  const text::Tokenizer t = tokenizer();
  SamplingParams params;
  params.dry_multiplier = 0.8;
  params.dry_base = 1.75;
  params.dry_allowed_length = 2;
  const DryBreakers breakers = DryBreakers::create(t, params.dry_sequence_breakers);
  // a b c d a b c: d would repeat 3 tokens.
  Candidates list;
  list.assign(std::vector<float>(13, 1.0f));
  dry(list, std::vector<std::int32_t>{0, 1, 2, 3, 0, 1, 2}, params, &breakers);
  for (const Candidate& c : list.items)
    CHECK(double(c.logit) == doctest::Approx(c.id == 3 ? 1 - 0.8 * std::pow(1.75, 3 - 2) : 1.0));
  // b c : b c: the breaker is what would follow, and it is spared.
  list.assign(std::vector<float>(13, 1.0f));
  dry(list, std::vector<std::int32_t>{1, 2, 4, 1, 2}, params, &breakers);
  for (const Candidate& c : list.items) CHECK(c.logit == 1.0f);
  // A very long repetition: the exponent is capped, nothing overflows.
  list.assign(std::vector<float>(13, 1.0f));
  dry(list, std::vector<std::int32_t>(5000, 0), params, &breakers);
  CHECK(std::isfinite(list.items[0].logit));
  CHECK(list.items[0].logit < -1e37f);
}

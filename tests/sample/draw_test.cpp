// Drawing: frequencies against probabilities, mirostat and adaptive-p against their formulas, log
// probabilities.
#include "veloce/sample/draw.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "veloce/sample/logprobs.hpp"

using namespace veloce::sample;

namespace {

Candidates list_of(const std::vector<double>& p) {
  std::vector<float> logits;
  for (double x : p) logits.push_back(float(std::log(x)));
  Candidates list;
  list.assign(logits);
  return list;
}

}  // namespace

TEST_CASE("uniform numbers are those of the standard's generator") {
  // The standard says: the 10000th number of a default mt19937 is 4123659995.
  std::mt19937 engine;
  engine.discard(9999);
  CHECK(engine() == 4123659995u);
  std::mt19937 same(42);
  Random random(42);
  const double low = double(same()), high = double(same());
  CHECK(random.uniform() == (low + high * 4294967296.0) / std::pow(2.0, 64));
  CHECK(random.uniform_float() == float(same()) / 4294967296.0f);
  for (int i = 0; i < 10000; ++i) {
    const double u = random.uniform();
    REQUIRE((u >= 0 && u < 1));
    const float f = random.uniform_float();
    REQUIRE((f >= 0 && f < 1));
  }
}

TEST_CASE("draws follow the probabilities") {
  const std::vector<double> p = {0.02, 0.3, 0.18, 0.45, 0.05};
  Random random(7);
  constexpr int kDraws = 100000;
  std::vector<int> counts(p.size());
  Candidates list = list_of(p);
  for (int i = 0; i < kDraws; ++i) ++counts[draw(list, random)];
  double chi_squared = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    chi_squared += std::pow(counts[i] - p[i] * kDraws, 2) / (p[i] * kDraws);
  CHECK(chi_squared < 18.5);  // 4 degrees of freedom: above it with probability 0.001
}

TEST_CASE("a token of probability 0 is never drawn") {
  Candidates list;
  list.assign(std::vector<float>{kMinusInfinity, 1.0f, NAN, kMinusInfinity, 1.0f, kMinusInfinity});
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::int32_t id = list.items[draw(list, random)].id;
    REQUIRE((id == 1 || id == 4));
  }
  list.assign(std::vector<float>{0.0f, INFINITY, 3.0f});
  CHECK(list.items[draw(list, random)].id == 1);
}

TEST_CASE("mirostat 2 cuts by surprise and follows its formula") {
  const std::vector<double> p = {0.4, 0.3, 0.15, 0.1, 0.05};
  Mirostat mirostat(2, 1.0, 0.1);
  Random random(3);
  double mu = 2.0;
  for (int i = 0; i < 200; ++i) {
    Candidates list = list_of(p);
    std::size_t keep = 0;
    while (keep < p.size() && -std::log2(p[keep]) <= mu) ++keep;
    keep = std::max<std::size_t>(keep, 1);
    double sum = 0;
    for (std::size_t k = 0; k < keep; ++k) sum += p[k];
    const std::size_t chosen = mirostat.draw(list, random, p.size());
    REQUIRE(list.size() == keep);
    const std::int32_t id = list.items[chosen].id;
    mu -= 0.1 * (-std::log2(p[std::size_t(id)] / sum) - 1.0);
    REQUIRE(mirostat.mu() == doctest::Approx(mu).epsilon(1e-4));
  }
  mirostat.reset();
  CHECK(mirostat.mu() == 2.0);
}

TEST_CASE("mirostat 1 estimates how many to keep") {
  // A Zipf distribution with exponent 1.3 over 1000 tokens.
  std::vector<double> p(1000);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += p[i] = std::pow(double(i + 1), -1.3);
  for (double& x : p) x /= sum;
  double tb = 0, tt = 0;
  for (int i = 0; i < 99; ++i) {
    const double t = std::log((i + 2.0) / (i + 1.0));
    tb += t * std::log(p[std::size_t(i)] / p[std::size_t(i) + 1]);
    tt += t * t;
  }
  const double s = tb / tt;
  CHECK(s == doctest::Approx(1.3).epsilon(1e-3));
  Mirostat mirostat(1, 3.0, 0.1);
  Random random(5);
  double mu = 6.0;
  for (int i = 0; i < 100; ++i) {
    const double epsilon = s - 1;
    const double k =
        std::pow(epsilon * std::pow(2.0, mu) / (1 - std::pow(1000.0, -epsilon)), 1 / s);
    Candidates list = list_of(p);
    const std::size_t chosen = mirostat.draw(list, random, 1000);
    REQUIRE(std::abs(double(list.size()) - std::max(1.0, std::floor(k))) <= 1);
    double kept = 0;
    for (std::size_t j = 0; j < list.size(); ++j) kept += p[j];
    mu -= 0.1 * (-std::log2(p[std::size_t(list.items[chosen].id)] / kept) - 3.0);
    REQUIRE(mirostat.mu() == doctest::Approx(mu).epsilon(1e-3));
  }
  // Degenerate lists: one token, all equal, all but one impossible.
  for (const std::vector<float>& logits : {std::vector<float>{1}, std::vector<float>(50, 2.0f),
                                           std::vector<float>{kMinusInfinity, 1, kMinusInfinity}}) {
    Candidates list;
    list.assign(logits);
    Mirostat fresh(1, 5, 0.1);
    const std::size_t chosen = fresh.draw(list, random, logits.size());
    REQUIRE(chosen < list.size());
    CHECK(list.items[chosen].logit > kMinusInfinity);
    CHECK(std::isfinite(fresh.mu()));
  }
}

TEST_CASE("mirostat holds the surprise near its target") {
  std::vector<double> p(2000);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += p[i] = std::pow(double(i + 1), -1.1);
  for (double& x : p) x /= sum;
  for (int version : {1, 2}) {
    Mirostat mirostat(version, 4.0, 0.1);
    Random random(9);
    double total = 0;
    constexpr int kSteps = 1500;
    for (int i = 0; i < kSteps; ++i) {
      Candidates list = list_of(p);
      const std::size_t chosen = mirostat.draw(list, random, p.size());
      total -= std::log2(double(list.items[chosen].p));
    }
    CHECK(total / kSteps == doctest::Approx(4.0).epsilon(0.05));
  }
}

TEST_CASE("adaptive-p") {
  const std::vector<double> p = {0.5, 0.25, 0.15, 0.1};
  const double target = 0.3, decay = 0.8;
  AdaptiveP adaptive(target, decay);
  Random random(2);
  double weighted = target / (1 - decay), total = 1 / (1 - decay);
  for (int i = 0; i < 100; ++i) {
    const double a = std::clamp(2 * target - weighted / total, 0.0, 1.0);
    std::vector<double> want;
    double sum = 0;
    for (double x : p) {
      const double d = std::abs(x - a) / 0.3;
      want.push_back(std::exp(5 - 10 * d * d / (1 + d)));
      sum += want.back();
    }
    Candidates list = list_of(p);
    const std::size_t chosen = adaptive.draw(list, random);
    for (std::size_t k = 0; k < p.size(); ++k)
      REQUIRE(double(list.items[k].p) == doctest::Approx(want[k] / sum).epsilon(1e-3));
    const std::int32_t id = list.items[chosen].id;
    if (i % 3 == 0) {  // not accepted, or another one is: the mean stays
      adaptive.accept(id == 0 ? 1 : 0);
      continue;
    }
    adaptive.accept(id);
    weighted = p[std::size_t(id)] + decay * weighted;
    total = 1 + decay * total;
  }
}

TEST_CASE("log probabilities of raw logits") {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(1000);
  for (float& l : logits) l = normal(engine);
  logits[17] = NAN;
  logits[18] = kMinusInfinity;
  double sum = 0;
  for (float l : logits)
    if (!std::isnan(l)) sum += std::exp(double(l));
  const Logprobs got = logprobs(logits, 5, 20);
  CHECK(double(got.chosen.logprob) ==
        doctest::Approx(double(logits[5]) - std::log(sum)).epsilon(1e-5));
  REQUIRE(got.top.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    const float l = logits[std::size_t(got.top[i].id)];
    CHECK(double(got.top[i].logprob) == doctest::Approx(double(l) - std::log(sum)).epsilon(1e-5));
    CHECK(std::count_if(logits.begin(), logits.end(), [&](float x) { return x > l; }) ==
          std::ptrdiff_t(i));
  }
  CHECK(logprobs(logits, 17, 0).chosen.logprob == kMinusInfinity);
  CHECK(logprobs(logits, 18, 0).chosen.logprob == kMinusInfinity);
  CHECK(logprobs(logits, -3, 0).chosen.logprob == kMinusInfinity);
  CHECK(logprobs(logits, 0, 5000).top.size() == 1000);
}

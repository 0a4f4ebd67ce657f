// Each stage of the chain against its formula, written out here over fully sorted lists in double
// precision.
#include "veloce/sample/truncation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

using namespace veloce::sample;

namespace {

std::vector<float> random_logits(std::size_t n, std::uint32_t seed, float spread) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> logits(n);
  for (float& l : logits) l = normal(engine);
  return logits;
}

std::vector<double> probabilities(const std::vector<float>& logits) {
  const double most = double(*std::max_element(logits.begin(), logits.end()));
  std::vector<double> p;
  for (float l : logits) p.push_back(std::exp(double(l) - most));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

std::vector<std::int32_t> descending(const std::vector<float>& logits) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[std::size_t(a)] > logits[std::size_t(b)];
  });
  return order;
}

Candidates all_of(const std::vector<float>& logits) {
  Candidates list;
  list.assign(logits);
  return list;
}

std::set<std::int32_t> ids(const Candidates& list) {
  std::set<std::int32_t> out;
  for (const Candidate& c : list.items) out.insert(c.id);
  return out;
}

std::set<std::int32_t> first(const std::vector<std::int32_t>& order, std::size_t n) {
  return {order.begin(), order.begin() + std::ptrdiff_t(n)};
}

struct Case {
  std::size_t n;
  std::uint32_t seed;
  float spread;
};
std::vector<Case> cases() {
  std::vector<Case> out;
  for (std::size_t n : {1u, 2u, 7u, 64u, 65u, 300u, 5000u})
    for (std::uint32_t seed : {1u, 2u, 3u})
      for (float spread : {0.2f, 1.0f, 4.0f}) out.push_back({n, seed, spread});
  return out;
}

}  // namespace

TEST_CASE("softmax and partial sorting") {
  for (const Case& c : cases()) {
    const auto logits = random_logits(c.n, c.seed, c.spread);
    const auto p = probabilities(logits);
    const auto order = descending(logits);
    Candidates list = all_of(logits);
    list.softmax();
    for (const Candidate& item : list.items)
      CHECK(double(item.p) == doctest::Approx(p[std::size_t(item.id)]).epsilon(1e-5));
    for (std::size_t known : {std::size_t(1), std::size_t(5), std::size_t(600), c.n}) {
      list.sort_top(known);
      for (std::size_t i = 0; i < std::min(known, c.n); ++i) REQUIRE(list.items[i].id == order[i]);
      CHECK(ids(list).size() == c.n);
    }
  }
}

TEST_CASE("equal logits are ordered by id") {
  Candidates list = all_of({1, 2, 2, 1, 2});
  list.sort_top(5);
  const std::vector<std::int32_t> want = {1, 2, 4, 0, 3};
  for (std::size_t i = 0; i < 5; ++i) CHECK(list.items[i].id == want[i]);
}

TEST_CASE("top_k keeps the k highest, sorted") {
  for (const Case& c : cases()) {
    const auto logits = random_logits(c.n, c.seed, c.spread);
    const auto order = descending(logits);
    for (int k : {-1, 0, 1, 2, 40, 1000, 100000}) {
      Candidates list = all_of(logits);
      top_k(list, k);
      const std::size_t want = k <= 0 ? c.n : std::min(c.n, std::size_t(k));
      REQUIRE(list.size() == want);
      CHECK(ids(list) == first(order, want));
      if (k > 0 && want < c.n)
        for (std::size_t i = 0; i < want; ++i) CHECK(list.items[i].id == order[i]);
    }
  }
}

TEST_CASE("top_p keeps up to the token that reaches p") {
  for (const Case& c : cases()) {
    const auto logits = random_logits(c.n, c.seed, c.spread);
    const auto p = probabilities(logits);
    const auto order = descending(logits);
    for (double limit : {0.0, 0.1, 0.5, 0.9, 0.999, 1.0, 2.0})
      for (int min_keep : {0, 3}) {
        std::size_t want = c.n;
        double sum = 0;
        bool near = false;  // the sum passes so close to p that float rounding may decide
        for (std::size_t i = 0; limit < 1 && i < c.n; ++i) {
          sum += p[std::size_t(order[i])];
          near |= std::abs(sum - limit) < 1e-6;
          if (sum >= limit && int(i) + 1 >= min_keep) {
            want = i + 1;
            break;
          }
        }
        if (near) continue;
        Candidates list = all_of(logits);
        top_p(list, limit, min_keep);
        CHECK(ids(list) == first(order, want));
      }
  }
}

TEST_CASE("min_p keeps tokens at least p times as probable as the first") {
  for (const Case& c : cases()) {
    const auto logits = random_logits(c.n, c.seed, c.spread);
    const auto p = probabilities(logits);
    const auto order = descending(logits);
    for (double share : {0.0, 0.01, 0.05, 0.5, 1.0})
      for (int min_keep : {0, 5}) {
        std::size_t want = 0;
        bool near = false;
        for (double x : p) {
          want += share <= 0 || x >= share * p[std::size_t(order[0])];
          near |= x != p[std::size_t(order[0])] &&
                  std::abs(std::log(x / p[std::size_t(order[0])] / share)) < 1e-5;
        }
        if (near) continue;
        Candidates list = all_of(logits);
        min_p(list, share, min_keep);
        CHECK(ids(list) == first(order, std::min(c.n, std::max(want, std::size_t(min_keep)))));
      }
  }
}

TEST_CASE("typical keeps the tokens nearest to the entropy") {
  for (const Case& c : cases()) {
    const auto logits = random_logits(c.n, c.seed, c.spread);
    const auto p = probabilities(logits);
    double entropy = 0;
    for (double x : p) entropy -= x * std::log(x);
    std::vector<std::int32_t> order(c.n);
    std::iota(order.begin(), order.end(), 0);
    const auto distance = [&](std::int32_t id) {
      return std::abs(-std::log(p[std::size_t(id)]) - entropy);
    };
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return distance(a) < distance(b); });
    for (double limit : {0.2, 0.9, 1.0}) {
      std::size_t want = c.n;
      double sum = 0;
      for (std::size_t i = 0; limit < 1 && i < c.n; ++i) {
        sum += p[std::size_t(order[i])];
        if (sum > limit) {
          want = i + 1;
          break;
        }
      }
      // Neighbours in the order may change places by rounding: the last one kept is allowed to
      // differ.
      Candidates list = all_of(logits);
      typical(list, limit, 0);
      REQUIRE(std::abs(double(list.size()) - double(want)) <= 1);
      const auto got = ids(list);
      for (std::size_t i = 0; i + 2 < want; ++i) CHECK(got.count(order[i]) == 1);
      if (limit >= 1) continue;
      Candidates more = all_of(logits);
      typical(more, limit, int(want) + 4);
      CHECK(more.size() == std::min(c.n, want + 4));
    }
  }
}

TEST_CASE("typical may drop the most probable token") {
  // 0.4, then 60 tokens of 0.01: entropy 3.13, farther from -ln 0.4 = 0.92 than from -ln 0.01
  // = 4.61.
  std::vector<float> logits(61, std::log(0.01f));
  logits[7] = std::log(0.4f);
  Candidates list = all_of(logits);
  typical(list, 0.3, 0);
  CHECK(ids(list).count(7) == 0);
}

TEST_CASE("top_n_sigma cuts below max - n deviations") {
  for (const Case& c : cases()) {
    auto logits = random_logits(c.n, c.seed, c.spread);
    if (c.n > 3) logits[1] = kMinusInfinity;  // left out of mean and deviation
    double sum = 0, squares = 0, count = 0;
    for (float l : logits)
      if (l != kMinusInfinity) sum += double(l), ++count;
    for (float l : logits)
      if (l != kMinusInfinity) squares += std::pow(double(l) - sum / count, 2);
    const double most = double(*std::max_element(logits.begin(), logits.end()));
    for (double n : {-1.0, 0.0, 0.5, 1.0, 3.0}) {
      Candidates list = all_of(logits);
      top_n_sigma(list, n);
      REQUIRE(list.size() == c.n);
      for (std::size_t i = 0; i < c.n; ++i) {
        const bool cut =
            c.n > 1 && n > 0 && double(logits[i]) < most - n * std::sqrt(squares / count);
        CHECK(list.items[i].logit == (cut ? kMinusInfinity : logits[i]));
      }
    }
  }
}

TEST_CASE("xtc drops all above the threshold but the least probable of them") {
  const std::vector<float> logits = {std::log(0.05f), std::log(0.4f), std::log(0.1f),
                                     std::log(0.3f), std::log(0.15f)};
  const auto after = [&](double probability, double threshold, int min_keep, float draw) {
    Candidates list = all_of(logits);
    xtc(list, probability, threshold, min_keep, draw);
    return ids(list);
  };
  const std::set<std::int32_t> all = {0, 1, 2, 3, 4};
  CHECK(after(1, 0.12, 0, 0.3f) == std::set<std::int32_t>{0, 2, 4});
  CHECK(after(1, 0.25, 0, 0.3f) == std::set<std::int32_t>{0, 2, 3, 4});
  CHECK(after(1, 0.35, 0, 0.3f) == all);    // only one above
  CHECK(after(1, 0.6, 0, 0.3f) == all);     // threshold above one half: off
  CHECK(after(0, 0.1, 0, 0.0f) == all);     // probability 0: off
  CHECK(after(0.2, 0.12, 0, 0.3f) == all);  // the draw says no
  CHECK(after(0.2, 0.12, 0, 0.1f) != all);
  CHECK(after(1, 0.12, 4, 0.3f) == all);  // would leave fewer than min_keep
}

TEST_CASE("temperature") {
  const auto logits = random_logits(500, 4, 3);
  for (double t : {0.1, 0.8, 1.0, 2.5}) {
    Candidates list = all_of(logits);
    temperature(list, t);
    list.softmax();
    std::vector<float> divided = logits;
    for (float& l : divided) l = float(double(l) / t);
    const auto p = probabilities(divided);
    for (const Candidate& c : list.items)
      CHECK(double(c.p) == doctest::Approx(p[std::size_t(c.id)]).epsilon(1e-4));
  }
  for (double t : {0.0, -1.0, 1e-300}) {
    Candidates list = all_of(logits);
    temperature(list, t);
    list.softmax();
    const auto best = descending(logits)[0];
    for (const Candidate& c : list.items) CHECK(c.p == (c.id == best ? 1.0f : 0.0f));
  }
}

TEST_CASE("dynamic temperature follows the entropy") {
  for (float spread : {0.01f, 1.0f, 20.0f}) {
    const auto logits = random_logits(200, 9, spread);
    const auto p = probabilities(logits);
    double entropy = 0;
    for (double x : p)
      if (x > 0) entropy -= x * std::log(x);
    const double t = 0.3 + (1.7 - 0.3) * std::pow(entropy / std::log(200.0), 1.5);
    std::vector<float> divided = logits;
    for (float& l : divided) l = float(double(l) / t);
    const auto want = probabilities(divided);
    Candidates list = all_of(logits);
    dynamic_temperature(list, 1.0, 0.7, 1.5);
    list.softmax();
    for (const Candidate& c : list.items)
      CHECK(double(c.p) == doctest::Approx(want[std::size_t(c.id)]).epsilon(1e-3));
  }
  // Range above the temperature: the lower end is 0, not negative.
  Candidates sure = all_of({100.0f, 0.0f});
  dynamic_temperature(sure, 0.5, 2.0, 1.0);
  CHECK(sure.items[1].logit < -1e3f);
}

// The chain as a whole: order, seeds, greedy, filters, validation, defaults from a model file.
#include "veloce/sample/sampler.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <ctime>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/sanitized.hpp"
#include "veloce/gguf/metadata.hpp"

using namespace veloce;
using namespace veloce::sample;

namespace {

std::vector<float> random_logits(std::size_t n, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  std::vector<float> logits(n);
  for (float& l : logits) l = normal(engine);
  return logits;
}

Sampler make(const SamplingParams& params, std::int32_t vocabulary,
             const text::Tokenizer* tokenizer = nullptr) {
  auto sampler = Sampler::create(params, tokenizer, vocabulary);
  REQUIRE_MESSAGE(sampler, sampler.status().message());
  return *std::move(sampler);
}

std::int32_t one(Sampler& sampler, const std::vector<float>& logits,
                 TokenFilter* filter = nullptr) {
  const auto id = sampler.sample(logits, filter);
  REQUIRE_MESSAGE(id, id.status().message());
  return *id;
}

std::string error_of(const SamplingParams& params) {
  const auto sampler = Sampler::create(params, nullptr, 10);
  return sampler ? "" : sampler.status().message();
}

class Only : public TokenFilter {
 public:
  explicit Only(std::set<std::int32_t> ids) : ids_(std::move(ids)) {}
  bool allows(std::int32_t id) override { return ids_.count(id) == 1; }
  Status fill_mask(std::span<std::uint32_t> bits) override {
    ++masks;
    for (auto& word : bits) word = 0;
    for (std::int32_t id : ids_) bits[std::size_t(id) / 32] |= 1u << (id % 32);
    return {};
  }
  int masks = 0;

 private:
  std::set<std::int32_t> ids_;
};

}  // namespace

TEST_CASE("the same seed gives the same tokens, another seed others, reset and clone too") {
  SamplingParams params;
  params.seed = 1234;
  params.temperature = 1.5;
  params.xtc_probability = 0.5;
  Sampler a = make(params, 500), b = make(params, 500);
  params.seed = 1235;
  Sampler c = make(params, 500);
  std::vector<std::int32_t> first, other;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const auto logits = random_logits(500, i);
    first.push_back(one(a, logits));
    CHECK(first.back() == one(b, logits));
    other.push_back(one(c, logits));
    a.accept(first.back());
    b.accept(first.back());
  }
  CHECK(first != other);
  Sampler copy = a.clone();
  for (std::uint32_t i = 0; i < 20; ++i)
    CHECK(one(a, random_logits(500, i)) == one(copy, random_logits(500, i)));
  a.reset();
  for (std::uint32_t i = 0; i < 60; ++i) CHECK(one(a, random_logits(500, i)) == first[i]);
  CHECK(a.seed() == 1234);
  params.seed = kRandomSeed;
  CHECK(make(params, 500).seed() != make(params, 500).seed());
}

TEST_CASE("temperature 0 is the highest logit, the lowest id of equal ones") {
  for (bool through_chain : {false, true}) {
    SamplingParams params;
    params.temperature = 0;
    if (through_chain)
      params.repeat_penalty = 1.0001;  // nothing was accepted: no effect but on the path taken
    Sampler sampler = make(params, 1000);
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
      auto logits = random_logits(1000, seed);
      logits[3] = NAN;
      logits[700] = logits[200] = 100.0f;
      CHECK(one(sampler, logits) == 200);
    }
  }
}

TEST_CASE("the default chain keeps what its stages keep") {
  // top_k 40, then top_p 0.95, then min_p 0.05, then temperature 0.8.
  SamplingParams params;
  params.seed = 5;
  Sampler sampler = make(params, 3000);
  const auto logits = random_logits(3000, 3);
  Candidates list;
  list.assign(logits);
  top_k(list, 40);
  top_p(list, 0.95, 0);
  min_p(list, 0.05, 0);
  temperature(list, 0.8);
  list.softmax();
  std::map<std::int32_t, float> want;
  for (const Candidate& c : list.items) want[c.id] = c.p;
  std::map<std::int32_t, int> counts;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[one(sampler, logits)];
  REQUIRE(sampler.candidates().size() == want.size());
  for (const Candidate& c : sampler.candidates())
    CHECK(c.p == doctest::Approx(want[c.id]).epsilon(1e-5));
  for (const auto& [id, count] : counts) {
    const double p = double(want[id]);
    CHECK(std::abs(count - p * kDraws) < 5 * std::sqrt(p * (1 - p) * kDraws) + 1);
  }
}

TEST_CASE("the order of the stages is the user's, and stages left out do nothing") {
  // Probabilities 0.6, 0.3, 0.1. With a high temperature first, top_p 0.6 needs two tokens; after
  // top_p, one.
  const std::vector<float> logits = {std::log(0.6f), std::log(0.3f), std::log(0.1f)};
  const auto kept = [&](std::vector<std::string> samplers) {
    SamplingParams params;
    params.temperature = 3;
    params.top_p = 0.59;
    params.top_k = 2;
    params.samplers = std::move(samplers);
    Sampler sampler = make(params, 3);
    one(sampler, logits);
    return sampler.candidates().size();
  };
  CHECK(kept({"top_p", "temperature"}) == 1);
  CHECK(kept({"temperature", "top_p"}) == 2);
  CHECK(kept({"temperature", "top-p"}) == 2);
  CHECK(kept({"top_k"}) == 2);
  CHECK(kept({}) == 3);
  const auto names = samplers_from_letters("edskypmxta");
  REQUIRE(names);
  for (const std::string& name : *names) CHECK(stage_from_name(name).has_value());
  CHECK(samplers_from_letters("kq").status().message().find("\"q\"") != std::string::npos);
}

TEST_CASE("logit bias, banned tokens and penalties") {
  std::vector<float> logits(10, 0.0f);
  logits[4] = 5;
  logits[6] = 4;
  SamplingParams params;
  params.temperature = 0;
  params.logit_bias = {{4, kMinusInfinity}};
  Sampler banned = make(params, 10);
  CHECK(one(banned, logits) == 6);
  params.logit_bias = {{2, 3.0f}, {2, 3.0f}};
  Sampler raised = make(params, 10);
  CHECK(one(raised, logits) == 2);
  params.logit_bias = {};
  params.presence_penalty = 2;
  Sampler penalized = make(params, 10);
  CHECK(one(penalized, logits) == 4);
  penalized.accept(4, true);  // a token of the prompt counts too
  CHECK(one(penalized, logits) == 6);
  penalized.reset();
  CHECK(one(penalized, logits) == 4);
}

TEST_CASE("ignore_eos and suppressed tokens") {
  text::VocabularyData data;
  data.model = "llama";
  data.tokens = {"<unk>", "<s>", "</s>", "a", "b"};
  data.types = {2, 3, 3, 1, 1};
  data.suppress = {3, 99};
  const auto tokenizer = text::Tokenizer::create(data);
  REQUIRE(tokenizer);
  SamplingParams params;
  params.temperature = 0;
  const std::vector<float> logits = {0, 1, 5, 4, 3};
  Sampler plain = make(params, 5, &*tokenizer);
  CHECK(one(plain, logits) == 2);
  params.ignore_eos = true;
  Sampler ignoring = make(params, 5, &*tokenizer);
  CHECK(one(ignoring, logits) == 4);
}

TEST_CASE("dry through the chain, with the tokenizer's breakers") {
  text::VocabularyData data;
  data.model = "llama";
  data.tokens = {"<unk>", "<s>", "</s>", "a", "b", "c", ":"};
  const auto tokenizer = text::Tokenizer::create(data);
  REQUIRE(tokenizer);
  SamplingParams params;
  params.temperature = 0;
  params.dry_multiplier = 5;
  params.dry_penalty_last_n = -1;
  Sampler sampler = make(params, 7, &*tokenizer);
  for (std::int32_t id : {3, 4, 5, 3, 4}) sampler.accept(id, true);
  CHECK(one(sampler, {0, 0, 0, 1, 0, 3, 0}) == 3);  // c would go on with "a b c"
  sampler.reset();
  for (std::int32_t id : {3, 4, 5, 3, 6, 4}) sampler.accept(id, true);
  CHECK(one(sampler, {0, 0, 0, 1, 0, 3, 0}) == 5);
}

TEST_CASE("mirostat replaces the stages") {
  SamplingParams params;
  params.seed = 3;
  params.temperature = 1;
  params.mirostat = 2;
  params.mirostat_tau = 2;
  params.top_k = 1;  // not in use
  Sampler sampler = make(params, 200);
  std::set<std::int32_t> seen;
  const auto logits = random_logits(200, 8);
  for (int i = 0; i < 200; ++i) seen.insert(one(sampler, logits));
  CHECK(seen.size() > 1);
}

TEST_CASE("adaptive-p is the last stage wherever it is named") {
  SamplingParams params;
  params.seed = 1;
  params.temperature = 1;
  params.adaptive_target = 0.05;
  params.samplers = {"adaptive_p", "top_k"};
  Sampler sampler = make(params, 3);
  const std::vector<float> logits = {std::log(0.9f), std::log(0.06f), std::log(0.04f)};
  int rare = 0;
  for (int i = 0; i < 1000; ++i) rare += one(sampler, logits) != 0;
  CHECK(rare > 900);
}

TEST_CASE("a filter is asked first, and filters only when it must") {
  const std::vector<float> logits = {5, 4, 3, 2, 1};
  for (double temperature : {0.0, 0.7}) {
    SamplingParams params;
    params.temperature = temperature;
    params.top_k = 1;
    Sampler sampler = make(params, 5);
    Only first({0, 3}), later({2, 4}), none({});
    CHECK(one(sampler, logits, &first) == 0);
    CHECK(first.masks == 0);
    CHECK(one(sampler, logits, &later) == 2);
    CHECK(later.masks == 1);
    const auto nothing = sampler.sample(logits, &none);
    REQUIRE_FALSE(nothing);
    CHECK(nothing.status().message().find("no token") != std::string::npos);
    params.grammar_first = true;
    Sampler strict = make(params, 5);
    CHECK(one(strict, logits, &first) == 0);
    CHECK(first.masks == 1);
  }
}

TEST_CASE("logits that cannot be sampled") {
  SamplingParams params;
  for (double temperature : {0.0, 0.8}) {
    params.temperature = temperature;
    Sampler sampler = make(params, 3);
    CHECK_FALSE(sampler.sample(std::vector<float>{NAN, kMinusInfinity, NAN}));
    CHECK_FALSE(sampler.sample(std::vector<float>{1, 2}));
    CHECK(one(sampler, {NAN, kMinusInfinity, -1e30f}) == 2);
    CHECK(one(sampler, {0, INFINITY, 1}) == 1);
  }
}

TEST_CASE("wrong settings are named with their value") {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  struct Wrong {
    const char* field;
    double SamplingParams::*member;
    std::vector<double> values;
  };
  const Wrong all[] = {
      {"temperature", &SamplingParams::temperature, {nan, inf}},
      {"top_p", &SamplingParams::top_p, {nan, -0.1, inf}},
      {"min_p", &SamplingParams::min_p, {nan, 1.5}},
      {"typical_p", &SamplingParams::typical_p, {nan, -1}},
      {"top_n_sigma", &SamplingParams::top_n_sigma, {nan}},
      {"xtc_probability", &SamplingParams::xtc_probability, {nan, -0.1, 1.1}},
      {"xtc_threshold", &SamplingParams::xtc_threshold, {nan, -0.1, 1.1}},
      {"repeat_penalty", &SamplingParams::repeat_penalty, {nan, 0, -1, inf}},
      {"presence_penalty", &SamplingParams::presence_penalty, {nan, inf}},
      {"frequency_penalty", &SamplingParams::frequency_penalty, {nan, -inf}},
      {"dynatemp_range", &SamplingParams::dynatemp_range, {nan, -1}},
      {"dynatemp_exponent", &SamplingParams::dynatemp_exponent, {nan, -1}},
      {"dry_multiplier", &SamplingParams::dry_multiplier, {nan, -1}},
      {"dry_base", &SamplingParams::dry_base, {nan, inf}},
      {"mirostat_tau", &SamplingParams::mirostat_tau, {nan, -1}},
      {"mirostat_eta", &SamplingParams::mirostat_eta, {nan, -1}},
      {"adaptive_target", &SamplingParams::adaptive_target, {nan, 1.5}},
      {"adaptive_decay", &SamplingParams::adaptive_decay, {nan}},
  };
  for (const Wrong& w : all)
    for (double value : w.values) {
      SamplingParams params;
      params.*w.member = value;
      CHECK_MESSAGE(error_of(params).find(w.field) == 0, w.field, " ", value);
    }
  SamplingParams params;
  CHECK(error_of(params) == "");
  params.mirostat = 3;
  CHECK(error_of(params) == "mirostat: 3 is not 0, 1 or 2");
  params = {};
  params.repeat_last_n = -2;
  CHECK(error_of(params).find("repeat_last_n: -2") == 0);
  params = {};
  params.samplers = {"top_k", "magic"};
  CHECK(error_of(params) == "samplers: unknown sampler \"magic\"");
  params = {};
  params.logit_bias = {{10, 1.0f}};
  CHECK(error_of(params) == "logit_bias: 10 is not a token id (0 to 9)");
  params.logit_bias = {{1, NAN}};
  CHECK(error_of(params).find("logit_bias of token 1") == 0);
}

TEST_CASE("a model's recommendations") {
  const std::int32_t k = 20;
  const float p = 0.8f;
  const std::string sequence = "top_k;temperature";
  const auto value = [](gguf::Kind kind, const void* data, std::size_t size) {
    return gguf::Value(kind, kind, 1,
                       std::as_bytes(std::span(static_cast<const char*>(data), size)));
  };
  SamplingParams params;
  const gguf::Metadata good("m.gguf",
                            {{"general.sampling.top_k", value(gguf::Kind::kI32, &k, 4)},
                             {"general.sampling.top_p", value(gguf::Kind::kF32, &p, 4)},
                             {"general.sampling.sequence",
                              value(gguf::Kind::kString, sequence.data(), sequence.size())}});
  REQUIRE(params.read_recommendations(good));
  CHECK(params.top_k == 20);
  CHECK(params.top_p == doctest::Approx(0.8));
  CHECK(params.min_p == 0.05);
  CHECK(params.samplers == std::vector<std::string>{"top_k", "temperature"});
  const gguf::Metadata bad("m.gguf", {{"general.sampling.temp", value(gguf::Kind::kI32, &k, 4)}});
  const Status s = params.read_recommendations(bad);
  REQUIRE_FALSE(s);
  CHECK(s.message().find("general.sampling.temp") != std::string::npos);
}

TEST_CASE("a large vocabulary is sampled quickly") {
  // Generous: what is measured is that nothing sorts 150,000 tokens for each token sampled.
  const auto logits = random_logits(150000, 1);
  const auto milliseconds = [&](const SamplingParams& params) {
    Sampler sampler = make(params, 150000);
    one(sampler, logits);
    const std::clock_t start = std::clock();
    for (int i = 0; i < 20; ++i) one(sampler, logits);
    return 1e3 * double(std::clock() - start) / CLOCKS_PER_SEC / 20;
  };
  SamplingParams params;
  const double usual = milliseconds(params);
  params.top_k = 0;
  const double no_top_k = milliseconds(params);
  params.temperature = 0;
  const double zero = milliseconds(params);
  MESSAGE("ms a token: default ", usual, ", without top_k ", no_top_k, ", greedy ", zero);
  CHECK(usual < 50 * test::kSlowdown);
  CHECK(no_top_k < 250 * test::kSlowdown);
  CHECK(zero < 50 * test::kSlowdown);
}

// Hyper-parameters of the dense models as files spell them: every way to scale the rotation, head
// sizes of any even number, scales of products. Expected angles are written out from the formulas
// of specs/qwen38.md F.3 for one small head.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "models/registry.hpp"
#include "support/gguf_builder.hpp"
#include "veloce/model/dense_params.hpp"

using namespace veloce;
using namespace veloce::test;
namespace fs = std::filesystem;

namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const TinyModel& model) {
    std::string name = (fs::temp_directory_path() / "veloce-params-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    const Status s = model.write(path());
    REQUIRE_MESSAGE(s.ok(), s.message());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string path() const { return (folder_ / "model.gguf").string(); }

 private:
  fs::path folder_;
};

Result<model::DenseParams> params_of(const TinyModel& m) {
  const TemporaryFile file(m);
  auto opened = gguf::File::open(file.path());
  REQUIRE_MESSAGE(opened, opened.status().message());
  return model::read_dense_params(*opened, m.shape().arch);
}

model::RopeTable rope_of(const TinyModel& m) {
  const auto p = params_of(m);
  REQUIRE_MESSAGE(p, p.status().message());
  return model::make_rope_table(p->rope, nullptr);
}

// Logits of the last of some tokens.
std::vector<float> logits_of(const TinyModel& m, model::Activations activations, bool single) {
  const TemporaryFile file(m);
  model::EngineOptions o;
  o.path = file.path();
  o.threads = 2;
  o.context = 64;
  o.activations = activations;
  o.cache_k = o.cache_v = model::CacheType::kF32;
  auto e = models::load_engine(o);
  REQUIRE_MESSAGE(e, e.status().message());
  std::vector<model::Token> batch;
  for (int i = 0; i < 40; ++i) batch.push_back({(i * 37 + 5) % 256, 0, i, i == 39});
  if (single)
    for (const model::Token& t : batch) REQUIRE((*e)->step({&t, 1}).ok());
  else
    REQUIRE((*e)->step(batch).ok());
  const auto row = (*e)->logits(single ? 0 : 39);
  return {row.begin(), row.end()};
}

}  // namespace

TEST_CASE("scaling of the rotation") {
  for (const std::string arch : {"llama", "qwen3"}) {
    const std::string scaling = arch + ".rope.scaling.";
    const auto frequency = [](int i) { return std::pow(10000.0, -i / 8.0); };  // head of 16
    const auto check = [&](const char* what, auto spoil, double factor, double magnitude) {
      TinyModel m({.arch = arch, .head_dim = 16});
      m.keys().set(arch + ".rope.freq_base", 10000.0f);
      spoil(m.keys());
      INFO(arch, ": ", what);
      const model::RopeTable t = rope_of(m);
      REQUIRE(t.frequency.size() == 8);
      for (int i = 0; i < 8; ++i)
        CHECK(t.frequency[std::size_t(i)] == doctest::Approx(frequency(i) / factor).epsilon(1e-12));
      CHECK(t.magnitude == doctest::Approx(magnitude).epsilon(1e-6));
    };
    using Keys = gguf::Writer;
    check(
        "nothing", [](Keys&) {}, 1, 1);
    check(
        "yarn that shrinks leaves the magnitude",
        [&](Keys& k) {
          k.set(scaling + "type", "yarn");
          k.set(scaling + "factor", 0.5f);
          k.set(scaling + "original_context_length", std::uint32_t(1) << 30);  // turns no pair
        },
        1, 1);
    check(
        "a factor alone is linear", [&](Keys& k) { k.set(scaling + "factor", 4.0f); }, 4, 1);
    check(
        "the oldest key", [&](Keys& k) { k.set(arch + ".rope.scale_linear", 4.0f); }, 4, 1);
    check(
        "0 is no factor", [&](Keys& k) { k.set(scaling + "factor", 0.0f); }, 1, 1);
    check(
        "attn_factor alone", [&](Keys& k) { k.set(scaling + "attn_factor", 1.5f); }, 1, 1.5);
    check(
        "none, whatever the factor",
        [&](Keys& k) {
          k.set(scaling + "type", "none");
          k.set(scaling + "factor", 4.0f);
        },
        1, 1);
    check(
        "linear",
        [&](Keys& k) {
          k.set(scaling + "type", "linear");
          k.set(scaling + "factor", 8.0f);
          k.set(scaling + "attn_factor", 1.25f);
        },
        8, 1.25);
  }
}

TEST_CASE("yarn, with the original context as an integer of any width") {
  // n = 16, base 10000, L = 512: lo = floor(16 ln(512 / 64pi) / (2 ln 10000)) = 0,
  // hi = ceil(16 ln(512 / 2pi) / (2 ln 10000)) = 4.
  const auto check = [](auto original) {
    TinyModel m({.arch = "llama", .head_dim = 16});
    m.keys().set("llama.rope.freq_base", 10000.0f);
    m.keys().set("llama.rope.scaling.type", "yarn");
    m.keys().set("llama.rope.scaling.factor", 4.0f);
    m.keys().set("llama.rope.scaling.original_context_length", original);
    const model::RopeTable t = rope_of(m);
    for (int i = 0; i < 8; ++i) {
      const double f = std::pow(10000.0, -i / 8.0), kept = i < 4 ? 1 - i / 4.0 : 0.0;
      CHECK(t.frequency[std::size_t(i)] ==
            doctest::Approx(f * kept + f / 4 * (1 - kept)).epsilon(1e-12));
    }
    CHECK(t.magnitude == doctest::Approx(1 + 0.1 * std::log(4.0)));
  };
  check(std::uint32_t(512));
  check(std::int32_t(512));
  check(std::uint64_t(512));
  check(std::uint16_t(512));

  // A context so short that every pair but the first is interpolated.
  TinyModel m({.arch = "llama", .head_dim = 16});
  m.keys().set("llama.rope.freq_base", 10000.0f);
  m.keys().set("llama.rope.scaling.type", "yarn");
  m.keys().set("llama.rope.scaling.factor", 4.0f);
  m.keys().set("llama.rope.scaling.attn_factor", 0.5f);
  m.keys().set("llama.rope.scaling.original_context_length", 4u);
  const model::RopeTable t = rope_of(m);
  for (int i = 0; i < 8; ++i)
    CHECK(t.frequency[std::size_t(i)] ==
          doctest::Approx(std::pow(10000.0, -i / 8.0) / (i > 0 ? 4 : 1)).epsilon(1e-12));
  CHECK(t.magnitude == doctest::Approx(0.5 * (1 + 0.1 * std::log(4.0))));
}

TEST_CASE("what the engine does not do is refused by name") {
  TinyModel m({.arch = "llama"});
  m.keys().set("llama.attention.causal", false);
  const auto p = params_of(m);
  REQUIRE_FALSE(p);
  CHECK(p.status().message().find("llama.attention.causal") != std::string::npos);
  m.keys().set("llama.attention.causal", true);
  CHECK(params_of(m));
}

TEST_CASE("heads of any even size, whole and token by token") {
  for (const std::string arch : {"llama", "qwen3"})
    for (const std::uint32_t dim : {2u, 8u, 20u, 40u, 100u}) {
      const TinyModel m({.arch = arch, .head_dim = dim});
      for (const auto a : {model::Activations::kF32, model::Activations::kQ8})
        CHECK(logits_of(m, a, false) == logits_of(m, a, true));
    }
}

// Scaling a matrix by a power of two and undoing it in its companion changes no bit.
TEST_CASE("x.scale multiplies the product with x.weight") {
  for (const std::string arch : {"llama", "qwen3"}) {
    const TinyModel plain({.arch = arch});
    const auto expected = logits_of(plain, model::Activations::kF32, false);
    for (const std::string name :
         {"blk.0.attn_q", "blk.0.attn_k", "blk.1.attn_v", "blk.0.attn_output", "blk.0.ffn_gate",
          "blk.1.ffn_up", "blk.1.ffn_down", "output"}) {
      INFO(arch, ": ", name);
      TinyModel m({.arch = arch});
      for (float& v : m.tensor(name + ".weight").values) v *= 4;
      m.tensors().push_back({name + ".scale", {1}, {0.25f}, 0, {}});
      m.tensors().push_back({name + ".input_scale", {1}, {7.0f}, 0, {}});
      CHECK(logits_of(m, model::Activations::kF32, false) == expected);
    }
  }
  TinyModel bad({.arch = "llama"});
  bad.tensors().push_back({"blk.0.ffn_up.scale", {2}, {1, 1}, 0, {}});
  const TemporaryFile file(bad);
  model::EngineOptions o;
  o.path = file.path();
  const auto e = models::load_engine(o);
  REQUIRE_FALSE(e);
  CHECK(e.status().message().find("blk.0.ffn_up.scale") != std::string::npos);
}

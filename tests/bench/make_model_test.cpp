// Random-weight models: the spread of the weights in every type, the vocabulary, the shape and
// types of a whole file.
#include "bench/make_model.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bench/random_weights.hpp"
#include "bench/type_mix.hpp"
#include "support/data_dirs.hpp"
#include "veloce/formats/all.hpp"
#include "veloce/gguf/file.hpp"

using namespace veloce;
using namespace veloce::bench;
using namespace veloce::test;
using gguf::synthetic::Shape;

TEST_CASE("random weights have the deviation asked for, and every block is valid") {
  for_each_format(AllFormats{}, []<class F>() {
    for (const double deviation : {1.0, 1.0 / 32, 1.0 / 128}) {
      CAPTURE(std::string(F::kName));
      CAPTURE(deviation);
      auto weights = RandomWeights::make(F::kGgufType, deviation, 5);
      REQUIRE(weights.ok());
      const std::size_t blocks = 131072 / F::kValues;
      std::vector<typename F::Block> data(blocks);
      weights->fill(std::as_writable_bytes(std::span(data)));
      CHECK(first_invalid_block<F>(data.data(), blocks) == blocks);
      double sum = 0, squares = 0;
      std::vector<float> values(F::kValues);
      for (const auto& block : data) {
        F::decode(block, values.data());
        for (const float value : values) {
          REQUIRE(std::isfinite(value));
          sum += value;
          squares += double(value) * value;
        }
      }
      const double count = double(blocks * F::kValues), measured = std::sqrt(squares / count);
      // The scales of these two are coarse: powers of two, and steps of 2^-10 near zero.
      const bool coarse =
          F::kName == std::string_view("MXFP4") || F::kName == std::string_view("NVFP4");
      const double slack = coarse ? 1.45 : 1.12;
      CHECK(measured < deviation * slack);
      CHECK(measured > deviation / slack);
      CHECK(std::abs(sum / count) < 0.05 * deviation);
    }
  });
  CHECK_FALSE(RandomWeights::make(9, 1.0, 1).ok());
  CHECK_FALSE(RandomWeights::make(26, 1.0, 1).ok());
  CHECK_FALSE(RandomWeights::make(4, 1.0, 1).ok());
}

TEST_CASE("vocabularies of any size: distinct tokens, each longer one made by exactly one merge") {
  for (const std::uint32_t size : {261u, 262u, 300u, 4096u, 32000u, 260000u}) {
    const auto vocabulary = gguf::synthetic::make_vocabulary(size);
    CAPTURE(size);
    REQUIRE(vocabulary.tokens.size() == size);
    REQUIRE(vocabulary.types.size() == size);
    REQUIRE(vocabulary.merges.size() == size - 260);
    const std::unordered_set<std::string> distinct(vocabulary.tokens.begin(),
                                                   vocabulary.tokens.end());
    REQUIRE(distinct.size() == size);
    bool made = true;
    for (std::size_t i = 0; i < vocabulary.merges.size(); ++i) {
      const std::string& merge = vocabulary.merges[i];
      const std::size_t space = merge.find(' ');
      const std::string left = merge.substr(0, space), right = merge.substr(space + 1);
      made = made && distinct.contains(left) && distinct.contains(right) &&
             vocabulary.tokens[256 + i] == left + right;
    }
    CHECK(made);
    CHECK(vocabulary.types[vocabulary.bos] == 3);
    CHECK(vocabulary.types[vocabulary.pad] == 3);
  }
  CHECK(gguf::synthetic::spelled_byte('a') == "a");
  CHECK(gguf::synthetic::spelled_byte(' ') == "\xC4\xA0");   // U+0120
  CHECK(gguf::synthetic::spelled_byte(0) == "\xC4\x80");     // U+0100
  CHECK(gguf::synthetic::spelled_byte(0xAD) == "\xC5\x83");  // U+0143
  CHECK(gguf::synthetic::spelled_byte(0xFF) == "\xC3\xBF");
}

namespace {

std::string read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("a model of every type opens with the planned tensors") {
  const TempDir dir;
  for (const std::string arch : {"llama", "qwen3"})
    for (const TypeInfo& type : kTypes) {
      if (!type.weight) continue;
      CAPTURE(std::string(type.name));
      MakeModelOptions options;
      options.shape = {.arch = arch,
                       .hidden = 256,
                       .layers = 2,
                       .heads = 4,
                       .kv_heads = 2,
                       .head_dim = 64,
                       .ffn = 256,
                       .vocab = 300,
                       .tied = arch == "qwen3"};
      options.type = type.name;
      options.output = dir.file("m.gguf");
      const auto made = make_model(options);
      REQUIRE_MESSAGE(made.ok(), made.status().message());
      const auto file = gguf::File::open(options.output);
      REQUIRE_MESSAGE(file.ok(), file.status().message());
      CHECK(file->architecture() == arch);
      CHECK(file->tensor_bytes() == made->bytes);
      const auto plan = gguf::synthetic::plan_tensors(options.shape);
      REQUIRE(file->tensors().size() == plan.size());
      for (const auto& tensor : plan) {
        const auto* found = file->find_tensor(tensor.name);
        REQUIRE(found != nullptr);
        CHECK(found->n_dims == int(tensor.dims.size()));
        for (std::size_t i = 0; i < tensor.dims.size(); ++i)
          CHECK(found->dims[i] == tensor.dims[i]);
        CHECK(found->type == (tensor.role == gguf::synthetic::Role::kNorm ? 0 : type.id));
      }
      CHECK((file->find_tensor("output.weight") == nullptr) == options.shape.tied);
      CHECK((file->find_tensor("blk.1.attn_q_norm.weight") != nullptr) == (arch == "qwen3"));
    }
}

TEST_CASE("the same options give the same file, another seed another") {
  const TempDir dir;
  MakeModelOptions options;
  options.type = "q4_k_m";
  options.shape.hidden = options.shape.ffn = 256;
  for (const char* name : {"a", "b", "c"}) {
    options.output = dir.file(name);
    options.seed = *name == 'c' ? 2 : 1;
    REQUIRE(make_model(options).ok());
  }
  CHECK(read(dir.file("a")) == read(dir.file("b")));
  CHECK(read(dir.file("a")) != read(dir.file("c")));
}

TEST_CASE(
    "mixes spend their bits where the usual tool does, and odd rows get a type that divides them") {
  const auto types = [](std::string_view mix_name, const Shape& shape) {
    const auto mix = TypeMix::find(mix_name);
    REQUIRE(mix.ok());
    std::unordered_map<std::string, std::string> out;
    for (const auto& tensor : gguf::synthetic::plan_tensors(shape))
      out[tensor.name] = find_type(mix->type_of(tensor, shape))->name;
    return out;
  };
  Shape shape{.hidden = 512, .layers = 16, .ffn = 1024};
  auto mix = types("Q4_K_M", shape);
  CHECK(mix["output.weight"] == "Q6_K");
  CHECK(mix["token_embd.weight"] == "Q4_K");
  CHECK(mix["blk.0.ffn_down.weight"] == "Q6_K");
  CHECK(mix["blk.2.ffn_down.weight"] == "Q4_K");
  CHECK(mix["blk.4.attn_v.weight"] == "Q6_K");
  CHECK(mix["blk.15.attn_v.weight"] == "Q6_K");
  CHECK(mix["blk.0.ffn_up.weight"] == "Q4_K");
  CHECK(mix["blk.0.attn_norm.weight"] == "F32");
  shape.ffn = 1536 + 32;
  shape.tied = true;
  mix = types("Q4_K_M", shape);
  CHECK(mix["token_embd.weight"] == "Q6_K");
  CHECK(mix["blk.0.ffn_down.weight"] == "Q8_0");
  CHECK(mix["blk.2.ffn_down.weight"] == "Q5_0");
  CHECK(mix["blk.2.ffn_up.weight"] == "Q4_K");
  shape.hidden = 100;
  CHECK(types("IQ2_XXS", shape)["blk.0.ffn_up.weight"] == "F16");
  CHECK(types("IQ2_XXS", shape)["blk.0.ffn_down.weight"] == "IQ4_NL");
  const auto unknown = TypeMix::find("Q9_K");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.status().message().find("Q9_K") != std::string::npos);
  CHECK(unknown.status().message().find("Q4_K_M") != std::string::npos);
}

TEST_CASE("impossible shapes are refused by name") {
  const TempDir dir;
  const auto refused = [&](Shape shape, std::string_view word) {
    MakeModelOptions options;
    options.shape = shape;
    options.output = dir.file("no.gguf");
    const auto made = make_model(options);
    REQUIRE_FALSE(made.ok());
    CHECK(made.status().message().find(word) != std::string::npos);
    CHECK(std::filesystem::is_empty(dir.path()));
  };
  refused({.arch = "gpt5"}, "gpt5");
  refused({.hidden = 0}, "hidden: 0");
  refused({.layers = 1u << 30}, "layers: 1073741824");
  refused({.heads = 4, .kv_heads = 3}, "kv-heads: 3");
  refused({.head_dim = 15}, "head-dim: 15");
  refused({.vocab = 260}, "vocab: 260");
}

TEST_CASE("the command line") {
  const TempDir dir;
  CLI::App app;
  add_make_model(app);
  const std::string path = dir.file("cli.gguf");
  app.parse(
      "make-model --arch llama --type Q8_0 --hidden 64 --layers 1 --heads 2 --kv-heads 1 "
      "--head-dim 32 --ffn 96 "
      "--vocab 300 --context 77 --seed 3 --tie -o " +
      path);
  const auto file = gguf::File::open(path);
  REQUIRE(file.ok());
  CHECK(*file->metadata().get<int>("llama.context_length") == 77);
  CHECK(file->find_tensor("output.weight") == nullptr);
  CHECK_THROWS_AS(app.parse("make-model --type Q9_K -o " + path), CLI::RuntimeError);
}

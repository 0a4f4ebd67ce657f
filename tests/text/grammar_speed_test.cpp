// What constrained decoding costs at a real vocabulary of 150,000 tokens: prints a table of
// microseconds per step. The bounds asserted are generous; they only catch a change of order.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "support/data_dirs.hpp"
#include "support/sanitized.hpp"
#include "veloce/gguf/file.hpp"
#include "veloce/text/grammar.hpp"
#include "veloce/text/json_schema.hpp"
#include "veloce/text/tokenizer.hpp"

using namespace veloce;
using namespace veloce::text;

namespace {

// The thread's own time, so that a busy machine doesn't show.
double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}
double micros_since(double start) {
  return now() - start;
}

struct Times {
  std::vector<double> all;
  double at(double quantile) {
    std::sort(all.begin(), all.end());
    return all.empty()
               ? 0
               : all[static_cast<std::size_t>(quantile * static_cast<double>(all.size() - 1))];
  }
};

struct Case {
  const char* name;
  std::string gbnf;
  std::string document;
};

std::string schema_gbnf(const char* schema) {
  auto text = schema_to_grammar(std::string_view(schema));
  REQUIRE_MESSAGE(text, text.status().message());
  return *text;
}

std::vector<Case> cases() {
  const std::string person =
      R"({"name": "Zoë \"Z\" Müller-Lüdenscheidt", "age": 42, "email": "zoe@example.org",
  "bio": "Écrivain 😀, born in 1983; likes long walks, short meetings (and nested brackets [like these]).\nSecond line.",
  "tags": ["writer", "walker"], "address": {"street": "Rue de la Paix 12", "city": "Paris", "zip": "75002"}})";
  return {
      {"strict object",
       schema_gbnf(
           R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer",
        "minimum":0,"maximum":150},"email":{"type":"string"},"bio":{"type":"string"},"tags":{"type":"array","items":
        {"type":"string"}},"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"},
        "zip":{"type":"string"}},"required":["street","city","zip"]}},"required":["name","age","email","bio","tags",
        "address"],"additionalProperties":false})"),
       person},
      {"json_object", json_object_grammar(), person},
      {"maxLength 500",
       schema_gbnf(R"({"type":"array","items":{"type":"string","maxLength":500}})"),
       "[\"" + std::string("The quick brown fox jumps over the lazy dog, again and again. ") +
           std::string("Der schnelle braune Fuchs springt über den faulen Hund. 速い茶色の狐。") +
           "\"]"},
      {"recursive $ref",
       schema_gbnf(R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"v":{"type":
        "string"},"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}},"required":["v","kids"]}}})"),
       R"({"v":"a","kids":[{"v":"bcd efg","kids":[]},{"v":"x","kids":[{"v":"deep down","kids":[]}]}]})"},
      {"additional + names",
       schema_gbnf(R"({"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],
        "additionalProperties":{"type":"number"}})"),
       R"({"id": 7, "width": 1.5, "height": 22.25, "identity": 1e5})"},
      {"free text GBNF",
       "root ::= \"<answer>\" [^<]* \"</answer>\" | sentence+\nsentence ::= [A-Z] [a-z ,]* \".\" "
       "\" \"?\n",
       "<answer>Some free text, with numbers 12345 and ünïcode, that goes on for a "
       "while.</answer>"},
      {"ambiguous GBNF",
       "root ::= (word \" \"?)* \".\"\nword ::= ([a-z]+ [a-z]* | [a-z]* \"s\" | any)\nany ::= "
       "[a-zA-Z0-9]+\n",
       "words and more words without any end in sight."},
  };
}

}  // namespace

TEST_CASE("masks cost little at a vocabulary of 150,000 tokens") {
  const auto path = test::data_dir() / "vocab/ggml-vocab-qwen2.gguf";
  if (!std::filesystem::exists(path)) {
    std::printf("SKIP: no %s\n", path.string().c_str());
    return;
  }
  auto file = gguf::File::open(path.string());
  REQUIRE_MESSAGE(file, file.status().message());
  auto tokenizer = Tokenizer::from_metadata(file->metadata());
  REQUIRE_MESSAGE(tokenizer, tokenizer.status().message());
  std::vector<VocabularyToken> tokens;
  for (std::int32_t id = 0; id < tokenizer->size(); ++id) {
    tokens.push_back({tokenizer->piece(id, false), tokenizer->is_eog(id)});
  }
  auto start = now();
  auto vocabulary = VocabularyIndex::create(std::move(tokens));
  REQUIRE(vocabulary);
  std::printf("index of %u tokens: %.0f us\n", (*vocabulary)->size(), micros_since(start));
  start = now();
  GrammarMasks::create(*Grammar::parse(json_object_grammar()), *vocabulary)->warm();
  std::printf("warm-up of JSON strings: %.0f us\n", micros_since(start));
  std::printf("%-20s %6s %9s | allowed p50 p99 | mask p50 p90 p99 max | second pass p50 p99 max\n",
              "case", "steps", "compile");
  double worst_typical = 0;
  for (const Case& c : cases()) {
    start = now();
    auto grammar = Grammar::parse(c.gbnf);
    const double compile = micros_since(start);
    REQUIRE_MESSAGE(grammar, grammar.status().message());
    const auto masks = GrammarMasks::create(*grammar, *vocabulary);
    const std::vector<std::int32_t> ids = tokenizer->encode(c.document, false, false);
    std::vector<std::uint32_t> bits((*vocabulary)->mask_words());
    Times allowed, first, second;
    for (Times* times : {&first, &second}) {
      GrammarState state(masks);
      for (const std::int32_t id : ids) {
        const auto token = static_cast<std::uint32_t>(id);
        start = now();
        REQUIRE(state.fill_mask(bits).ok());
        times->all.push_back(micros_since(start));
        start = now();
        const bool ok = state.allowed(token);
        allowed.all.push_back(micros_since(start));
        REQUIRE_MESSAGE(ok, c.name << ": " << std::string((*vocabulary)->bytes(token)));
        CHECK((bits[token / 32] >> (token % 32) & 1u) == 1u);
        REQUIRE(state.accept(token).ok());
      }
      CHECK(state.is_complete());
    }
    std::printf("%-20s %6zu %9.0f | %7.2f %7.2f | %7.0f %7.0f %7.0f %7.0f | %7.0f %7.0f %7.0f\n",
                c.name, ids.size(), compile, allowed.at(0.5), allowed.at(0.99), first.at(0.5),
                first.at(0.9), first.at(0.99), first.at(1), second.at(0.5), second.at(0.99),
                second.at(1));
    worst_typical = std::max(worst_typical, second.at(0.5));
  }
  CHECK(worst_typical < 20000 * test::kSlowdown);
}

// The perplexity of the golden text under the golden models, as an outside engine computed it; and
// the same numbers whatever the batch, by the program as well as by the library.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/registry.hpp"
#include "perplexity/perplexity.hpp"
#include "support/golden.hpp"
#include "support/program.hpp"
#include "veloce/gguf/file.hpp"
#include "veloce/text/tokenizer.hpp"

using namespace veloce;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// To five digits.
bool close(double got, double want) {
  return std::fabs(got - want) <= 1e-5 * std::fabs(want);
}

struct Case {
  fs::path model, text;
  int context = 0;
  json expected;
};

std::vector<Case> cases() {
  std::vector<Case> found;
  for (const fs::path& dir : test::golden_dirs()) {
    const fs::path folder = dir / "perplexity";
    if (!fs::exists(folder / "expected.json")) continue;
    const json j = json::parse(test::read_text(folder / "expected.json"));
    for (const auto& [name, entry] : j.at("models").items()) {
      const fs::path model = folder / entry.at("model").get<std::string>();
      if (!fs::exists(model)) {  // the small set in the tree has some of the models only
        MESSAGE("SKIP " << name << ": no " << model.string());
        continue;
      }
      auto file = gguf::File::open(model.string());
      REQUIRE_MESSAGE(file, file.status().message());
      const auto known = models::known_architectures();
      if (std::find(known.begin(), known.end(), file->architecture()) == known.end()) {
        MESSAGE("SKIP " << name << ": this build has no architecture "
                        << std::string(file->architecture()));
        continue;
      }
      found.push_back(
          {model, folder / j.at("text").get<std::string>(), j.at("context").get<int>(), entry});
    }
  }
  if (found.empty()) MESSAGE("SKIP: no golden perplexities found");
  return found;
}

std::unique_ptr<model::Engine> load(const Case& c, int batch) {
  const perplexity::Shape shape = perplexity::shape_for(c.context, batch);
  model::EngineOptions o;
  o.path = c.model.string();
  o.threads = 2;
  o.context = c.context;
  o.sequences = shape.sequences;
  o.max_batch = shape.max_batch;
  o.activations = model::Activations::kF32;
  o.cache_k = o.cache_v = model::CacheType::kF32;
  auto e = models::load_engine(o);
  REQUIRE_MESSAGE(e, e.status().message());
  return std::move(*e);
}

}  // namespace

TEST_CASE("golden perplexity: every chunk, the total and its uncertainty, for any size of step") {
  for (const Case& c : cases()) {
    CAPTURE(c.model.string());
    perplexity::Score first;
    for (const int batch : {4 * c.context, c.context, c.context / 2 + 1, 7 * c.context / 2}) {
      const auto engine = load(c, batch);
      auto tokenizer = text::Tokenizer::from_metadata(engine->file().metadata());
      REQUIRE_MESSAGE(tokenizer, tokenizer.status().message());
      const auto tokens = tokenizer->encode(test::read_text(c.text), true, false);
      perplexity::Options o;
      o.context = c.context;
      if (tokenizer->vocabulary().add_bos()) o.bos = tokenizer->vocabulary().bos();
      int reports = 0;
      o.progress = [&](int chunk, int chunks, double) {
        CHECK(chunk == ++reports);
        CHECK(chunks == c.expected.at("chunks").get<int>());
        return true;
      };
      const auto score = perplexity::measure(*engine, tokens, o);
      REQUIRE_MESSAGE(score, score.status().message());
      const auto running = c.expected.at("running").get<std::vector<double>>();
      REQUIRE(score->running.size() == running.size());
      for (std::size_t i = 0; i < running.size(); ++i)
        CHECK_MESSAGE(close(score->running[i], running[i]), "chunk " << i);
      CHECK(close(score->perplexity, c.expected.at("perplexity").get<double>()));
      CHECK(close(score->uncertainty, c.expected.at("uncertainty").get<double>()));
      if (first.running.empty()) first = *score;
      CHECK(score->running == first.running);
      CHECK(score->uncertainty == first.uncertainty);
    }
  }
}

TEST_CASE("what cannot be measured is refused") {
  for (const Case& c : cases()) {
    const auto engine = load(c, c.context);
    perplexity::Options o;
    o.context = c.context;
    std::vector<std::int32_t> tokens(std::size_t(c.context) - 1, 1);
    CHECK(perplexity::measure(*engine, tokens, o).status().message() ==
          "the text has " + std::to_string(c.context - 1) + " tokens, fewer than one chunk of " +
              std::to_string(c.context));
    tokens.push_back(engine->info().vocabulary);
    CHECK_FALSE(perplexity::measure(*engine, tokens, o));
    tokens.back() = 1;
    CHECK(perplexity::measure(*engine, tokens, o));
    o.context = perplexity::kMinContext - 1;
    CHECK_FALSE(perplexity::measure(*engine, tokens, o));
    o.context = c.context + 1;
    CHECK_FALSE(perplexity::measure(*engine, tokens, o));
    o.context = c.context;
    o.progress = [](int, int, double) { return false; };
    CHECK(perplexity::measure(*engine, tokens, o).status().code() == Code::kCancelled);
  }
}

TEST_CASE("veloce-perplexity prints the golden numbers") {
  for (const Case& c : cases()) {
    const std::string arguments = "-m " + c.model.string() + " -f " + c.text.string() + " -c " +
                                  std::to_string(c.context) +
                                  " -ctk f32 --cache-type-v f32 --activations f32 -t 1";
    const test::Output all = test::run_program("veloce-perplexity", arguments + " --json");
    REQUIRE(all.status == 0);
    const json j = json::parse(all.text);
    CHECK(close(j.at("perplexity").get<double>(), c.expected.at("perplexity").get<double>()));
    CHECK(close(j.at("uncertainty").get<double>(), c.expected.at("uncertainty").get<double>()));
    CHECK(j.at("chunks") == c.expected.at("chunks"));
    CHECK(j.at("tokens").get<int>() / c.context == c.expected.at("chunks").get<int>());
    const json three =
        json::parse(test::run_program("veloce-perplexity", arguments + " --json --chunks 3").text);
    CHECK(three.at("chunks") == 3);
    CHECK(
        close(three.at("perplexity").get<double>(), c.expected.at("running").at(2).get<double>()));
    const test::Output text = test::run_program("veloce-perplexity", arguments);
    CHECK(text.text.find("Final estimate: PPL = ") != std::string::npos);
  }
}

TEST_CASE("veloce-perplexity refuses by name") {
  for (const Case& c : cases()) {
    const std::string model = "-m " + c.model.string(), text = " -f " + c.text.string();
    for (const std::string& wrong :
         {model, model + text + " -c 3", model + text + " --cache-type-k f8",
          model + text + " --without speed"})
      CHECK(test::run_program("veloce-perplexity", wrong + " 2>/dev/null").status == 2);
    for (const std::string& wrong : {"-m /nonexistent.gguf" + text, model + " -f /nonexistent.txt",
                                     "-m " + c.text.string() + text, model + text + " -c 100000"})
      CHECK(test::run_program("veloce-perplexity", wrong + " 2>/dev/null").status == 1);
    CHECK(test::run_program("veloce-perplexity", "--without speed" + text + " " + model + " 2>&1")
              .text.find("'speed'") != std::string::npos);
    break;
  }
}

// veloce-perplexity: perplexity of a text under a GGUF model. See `veloce-perplexity --help`.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/engine_flags.hpp"
#include "common/progress.hpp"
#include "models/registry.hpp"
#include "perplexity/perplexity.hpp"
#include "veloce/config.hpp"
#include "veloce/gguf/file.hpp"
#include "veloce/text/tokenizer.hpp"

using namespace veloce;

namespace {

struct Flags {
  model::EngineOptions engine;
  std::string text;
  int context = 512, chunks = 0, batch = 1024;
  bool json = false;
};

constexpr std::size_t kLargestText = std::size_t(1) << 30;

// The text, without one newline at its end (an editor's, not the author's), as the usual tool reads
// it.
Result<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status(Code::kNotFound, path + ": cannot be opened");
  std::string text;
  char part[1 << 16];
  while (in.read(part, sizeof part) || in.gcount() > 0) {
    text.append(part, std::size_t(in.gcount()));
    if (text.size() > kLargestText)
      return Status(Code::kInvalidArgument, path + ": more than 1 GiB of text");
  }
  if (in.bad() || text.empty()) return Status(Code::kIo, path + ": nothing could be read");
  if (text.back() == '\n') text.pop_back();
  return text;
}

void add_flags(CLI::App& app, Flags& f) {
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", std::string("veloce ") + VELOCE_VERSION);
  app.add_option("-m,--model", f.engine.path, "GGUF file; of a split model any part")->required();
  app.add_option("-f,--file", f.text, "The text, UTF-8")->required();
  app.add_option("-c,--ctx-size", f.context, "Tokens of a chunk; the second half of each is scored")
      ->check(CLI::Range(perplexity::kMinContext, 1 << 24))
      ->capture_default_str();
  app.add_option("-t,--threads", f.engine.threads, "Compute threads (0: one a core)")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app.add_option("-b,--batch-size", f.batch,
                 "Tokens of a step; as many chunks as fit are read side by side")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option_function<int>(
         "--chunks", [&f](int n) { f.chunks = n > 0 ? n : 0; },
         "Score only so many chunks (-1: all)")
      ->check(CLI::Range(-1, 1 << 30));
  app.add_flag("--json", f.json, "Print one JSON object");
  apps::add_engine_flags(app, f.engine);
  apps::add_switch_flags(app);
}

Result<std::unique_ptr<model::Engine>> load(const Flags& f) {
  apps::ProgressLine line;
  model::EngineOptions o = f.engine;
  const perplexity::Shape shape = perplexity::shape_for(f.context, f.batch);
  o.context = f.context;
  o.sequences = shape.sequences;
  o.max_batch = shape.max_batch;
  o.progress = [&line](float fraction) {
    line.show(double(fraction), "loading");
    return true;
  };
  return models::load_engine(o);
}

void print_json(const perplexity::Score& s, std::size_t tokens, const Flags& f, double seconds) {
  nlohmann::ordered_json j;
  j["perplexity"] = s.perplexity;
  j["uncertainty"] = s.uncertainty;
  j["chunks"] = s.running.size();
  j["tokens"] = tokens;
  j["scored"] = s.scored;
  j["context"] = f.context;
  j["model"] = f.engine.path;
  j["cache_type_k"] = apps::name_of(f.engine.cache_k);
  j["cache_type_v"] = apps::name_of(f.engine.cache_v);
  j["activations"] = apps::name_of(f.engine.activations);
  j["seconds"] = seconds;
  j["running"] = s.running;
  std::printf("%s\n", j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

Status run(const Flags& f) {
  const Result<std::string> text = read_text(f.text);
  if (!text) return text.status();
  Result<std::unique_ptr<model::Engine>> engine = load(f);
  if (!engine) return engine.status();
  const Result<text::Tokenizer> tokenizer =
      text::Tokenizer::from_metadata((*engine)->file().metadata());
  if (!tokenizer) return tokenizer.status();
  const std::vector<std::int32_t> tokens = tokenizer->encode(*text, true, false);

  perplexity::Options o;
  o.context = f.context;
  o.chunks = f.chunks;
  if (tokenizer->vocabulary().add_bos()) o.bos = tokenizer->vocabulary().bos();
  apps::ProgressLine line;
  o.progress = [&line](int chunk, int chunks, double value) {
    char what[96];
    std::snprintf(what, sizeof what, "chunk %d of %d, perplexity %.4f", chunk, chunks, value);
    line.show(double(chunk) / chunks, what);
    return true;
  };
  const auto begin = std::chrono::steady_clock::now();
  const Result<perplexity::Score> score = perplexity::measure(**engine, tokens, o);
  if (!score) return score.status();
  line.clear();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (f.json) {
    print_json(*score, tokens.size(), f, seconds.count());
  } else {
    for (std::size_t i = 0; i < score->running.size(); ++i)
      std::printf("[%zu]%.4f,", i + 1, score->running[i]);
    std::printf("\n%zu chunks of %d tokens in %s\nFinal estimate: PPL = %.4f +/- %.5f\n",
                score->running.size(), f.context, apps::duration(seconds.count()).c_str(),
                score->perplexity, score->uncertainty);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("veloce-perplexity: perplexity of a text under a GGUF model", "veloce-perplexity");
  add_flags(app, flags);
  if (const int status = apps::parse(app, argc, argv); status >= 0) return status;
  const Status s = run(flags);
  return s ? 0 : apps::fail(s.message());
}

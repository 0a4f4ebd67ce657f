#include "bench/model_bench.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>
#include <random>

#include "bench/model_report.hpp"
#include "common/engine_flags.hpp"
#include "common/progress.hpp"
#include "models/registry.hpp"
#include "veloce/cpu/kernels.hpp"
#include "veloce/gguf/file.hpp"
#include "veloce/text/vocabulary.hpp"

namespace veloce::bench {
namespace {

using Clock = std::chrono::steady_clock;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// BOS where the file names one to be added, else -1. A bench needs no whole tokenizer, nor its
// checks.
std::int32_t bos_of(const gguf::Metadata& metadata) {
  const Result<text::VocabularyData> data = text::VocabularyData::from_metadata(metadata);
  if (!data) return -1;
  const Result<text::Vocabulary> vocabulary = text::Vocabulary::create(*data, {});
  return vocabulary && vocabulary->add_bos() ? vocabulary->bos() : -1;
}

// Feeds random tokens to sequence 0.
class Feeder {
 public:
  Feeder(model::Engine& engine, std::int32_t bos) : engine_(engine), bos_(bos) {}

  // n tokens from `position` on in steps of up to max_batch; logits of the last one only where
  // asked for.
  Status read(int position, int n, bool want_logits) {
    for (int at = 0; at < n;) {
      const int piece = std::min(n - at, engine_.max_batch());
      batch_.clear();
      for (int i = 0; i < piece; ++i) {
        const int p = position + at + i;
        batch_.push_back(
            {p == 0 && bos_ >= 0 ? bos_ : draw_(random_), 0, p, want_logits && at + i == n - 1});
      }
      if (Status s = engine_.step(batch_); !s) return s;
      at += piece;
    }
    return {};
  }
  Status write(int position, int n) {
    for (int i = 0; i < n; ++i)
      if (Status s = read(position + i, 1, true); !s) return s;
    return {};
  }

 private:
  model::Engine& engine_;
  std::int32_t bos_;
  std::mt19937 random_{20240229};
  std::uniform_int_distribution<std::int32_t> draw_{0, engine_.info().vocabulary - 1};
  std::vector<model::Token> batch_;
};

Status measure_once(model::Engine& engine, const ModelTest& test, Feeder& feeder,
                    std::int64_t& nanoseconds) {
  if (Status s = engine.truncate(0, 0); !s) return s;
  if (Status s = feeder.read(0, test.depth, false); !s) return s;
  const Clock::time_point begin = Clock::now();
  if (Status s = feeder.read(test.depth, test.prompt, true); !s) return s;
  if (Status s = feeder.write(test.depth + test.prompt, test.generate); !s) return s;
  nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
  return {};
}

// All tests of one model with one number of threads: one load.
Status bench_loaded(const ModelBenchOptions& o, const std::string& path, int threads,
                    const std::vector<ModelTest>& tests, ModelReport& report) {
  model::EngineOptions engine_options = o.engine;
  engine_options.path = path;
  engine_options.threads = threads;
  engine_options.sequences = 1;
  int context = 1, batch = 1;
  for (const ModelTest& t : tests) {
    context = std::max(context, t.depth + t.prompt + t.generate);
    batch = std::max({batch, std::min(t.prompt, o.batch), std::min(t.depth, o.batch)});
  }
  engine_options.context = context;
  engine_options.max_batch = batch;
  apps::ProgressLine line;
  engine_options.progress = [&](float fraction) {
    line.show(double(fraction), "loading " + path);
    return true;
  };
  const Clock::time_point begin = Clock::now();
  Result<std::unique_ptr<model::Engine>> engine = models::load_engine(engine_options);
  if (!engine) return engine.status();
  const std::chrono::duration<double> load = Clock::now() - begin;
  line.clear();
  const std::int32_t bos = bos_of((*engine)->file().metadata());
  for (const ModelTest& test : tests) {
    ModelRow row;
    row.file = path;
    row.isa = cpu::isa_name(cpu::best_kernels().isa);
    row.info = (*engine)->info();
    row.engine = engine_options;
    row.test = test;
    row.threads = (*engine)->threads();
    row.batch = o.batch;
    row.load_seconds = load.count();
    if (Status s = run_test(**engine, test, o.repetitions, o.warmup, bos, row); !s) return s;
    report.add(row);
  }
  return {};
}

Status bench(const ModelBenchOptions& o) {
  const Result<std::vector<ModelTest>> tests = plan_tests(o);
  if (!tests) return tests.status();
  ModelReport report(o.output);
  for (const std::string& path : o.models)
    for (const int threads : o.threads)
      if (Status s = bench_loaded(o, path, threads, *tests, report); !s) return s;
  report.finish();
  return {};
}

}  // namespace

Spread spread_of(const std::vector<double>& values) {
  Spread s;
  if (values.empty()) return s;
  for (const double v : values) s.mean += v / double(values.size());
  if (values.size() < 2) return s;
  double squares = 0;
  for (const double v : values) squares += (v - s.mean) * (v - s.mean);
  s.deviation = std::sqrt(squares / double(values.size() - 1));
  return s;
}

Result<std::vector<ModelTest>> plan_tests(const ModelBenchOptions& o) {
  std::vector<ModelTest> tests;
  for (const int depth : o.depths) {
    for (const int p : o.prompts)
      if (p > 0) tests.push_back({p, 0, depth});
    for (const int n : o.generates)
      if (n > 0) tests.push_back({0, n, depth});
    for (const std::string& pair : o.pairs) {
      int p = 0, n = 0, used = 0;
      if (std::sscanf(pair.c_str(), "%d,%d%n", &p, &n, &used) != 2 || used != int(pair.size()) ||
          p < 0 || n < 0 || p + n < 1 || p > (1 << 24) || n > (1 << 24))
        return Status(Code::kInvalidArgument, "--prompt-gen: '" + pair + "' is not P,N");
      tests.push_back({p, n, depth});
    }
  }
  if (tests.empty())
    return Status(Code::kInvalidArgument, "nothing to measure: give -p or -n a number above 0");
  return tests;
}

Status run_test(model::Engine& engine, const ModelTest& test, int repetitions, bool warmup,
                std::int32_t bos, ModelRow& row) {
  Feeder feeder(engine, bos);
  std::int64_t nanoseconds = 0;
  row.time = utc_now();
  if (warmup) {
    // The whole prompt, since it is one step; of the generation a few steps warm everything there
    // is.
    const ModelTest few = {test.prompt, std::min(test.generate, 8), std::min(test.depth, 8)};
    if (Status s = measure_once(engine, few, feeder, nanoseconds); !s) return s;
  }
  for (int r = 0; r < repetitions; ++r) {
    if (Status s = measure_once(engine, test, feeder, nanoseconds); !s) return s;
    row.samples_ns.push_back(nanoseconds);
    row.samples_ts.push_back(double(test.prompt + test.generate) /
                             (double(std::max<std::int64_t>(nanoseconds, 1)) * 1e-9));
  }
  return engine.truncate(0, 0);
}

void add_model_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "model", "Time a model: prompt processing and generation, tokens per second");
  auto o = std::make_shared<ModelBenchOptions>();
  o->engine.check_tensors = false;
  const auto list = [&](const std::string& flags, std::vector<int>& target, int most,
                        const std::string& help) {
    command->add_option(flags, target, help)
        ->delimiter(',')
        ->check(CLI::Range(0, most))
        ->capture_default_str();
  };
  command->add_option("-m,--model", o->models, "GGUF file; may be given several times")->required();
  list("-p,--n-prompt", o->prompts, 1 << 24, "Prompt lengths to time, comma-separated (0: none)");
  list("-n,--n-gen", o->generates, 1 << 24, "Numbers of tokens to generate (0: none)");
  list("-d,--n-depth", o->depths, 1 << 24, "Tokens in the cache before a test begins");
  list("-t,--threads", o->threads, 4096, "Numbers of threads (0: one a core)");
  command->add_option("--prompt-gen", o->pairs,
                      "P,N: a prompt and then generation as one test (-pg)");
  command->add_option("-b,--batch-size", o->batch, "Most tokens of a step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("-r,--repetitions", o->repetitions, "Measured runs of each test")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("-o,--output", o->output, "table, json, jsonl or csv")
      ->check(CLI::IsMember({"table", "json", "jsonl", "csv"}))
      ->capture_default_str();
  command->add_flag("--warmup,!--no-warmup", o->warmup, "Run once before measuring (on)");
  apps::add_engine_flags(*command, o->engine);
  command->callback([o] {
    if (const Status s = bench(*o); !s) throw CLI::RuntimeError(apps::fail(s.message()));
  });
}

}  // namespace veloce::bench

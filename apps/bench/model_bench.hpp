// veloce-bench model: how fast a model reads prompts and writes tokens.
//
// A test is a prompt of p random tokens, read in steps of at most `batch` with logits of the last
// token only, then n tokens written one step each (random ones too: what is drawn does not change
// the time). It begins at `depth` tokens already in the cache, which are not timed. Each test runs
// once unmeasured and then `repetitions` times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veloce/model/engine.hpp"

namespace CLI {
class App;
}

namespace veloce::bench {

struct ModelTest {
  int prompt = 0, generate = 0, depth = 0;
};

struct ModelBenchOptions {
  std::vector<std::string> models;
  std::vector<int> prompts = {512}, generates = {128}, depths = {0}, threads = {0};
  std::vector<std::string> pairs;  // "P,N": prompt and generation as one test
  int batch = 2048, repetitions = 5;
  std::string output = "table";  // table, json, jsonl, csv
  bool warmup = true;
  model::EngineOptions engine;
};

// One test of one model with one number of threads.
struct ModelRow {
  std::string file, isa;
  model::ModelInfo info;
  model::EngineOptions engine;
  ModelTest test;
  int threads = 0, batch = 0;
  double load_seconds = 0;
  std::string time;  // start, UTC, ISO 8601
  std::vector<std::int64_t> samples_ns;
  std::vector<double> samples_ts;  // tokens per second
};

// The tests that the options ask for, in order: prompts, generations, pairs, for each depth. Errors
// name the option.
Result<std::vector<ModelTest>> plan_tests(const ModelBenchOptions& options);

// Samples of one test on a loaded engine. Leaves sequence 0 empty.
Status run_test(model::Engine& engine, const ModelTest& test, int repetitions, bool warmup,
                std::int32_t bos, ModelRow& row);

struct Spread {
  double mean = 0, deviation = 0;  // of the sample: n - 1; 0 for one value
};
Spread spread_of(const std::vector<double>& values);

// Adds the subcommand "model". It throws CLI::RuntimeError after printing what went wrong.
void add_model_bench(CLI::App& app);

}  // namespace veloce::bench

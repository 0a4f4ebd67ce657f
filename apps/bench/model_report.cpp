#include "bench/model_report.hpp"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/build_info.hpp"
#include "common/engine_flags.hpp"

namespace veloce::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& j, int indent) {
  return j.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string model_type(const model::ModelInfo& info) {
  std::string type = info.architecture;
  if (!info.size_label.empty()) type += " " + info.size_label;
  if (!info.file_type.empty()) type += " " + info.file_type;
  return type;
}

Json as_json(const ModelRow& row) {
  std::vector<double> ns(row.samples_ns.begin(), row.samples_ns.end());
  const Spread time = spread_of(ns), speed = spread_of(row.samples_ts);
  Json j;
  j["build_commit"] = apps::build_commit();
  j["cpu_info"] = apps::processor_name();
  j["backends"] = "CPU";
  j["isa"] = row.isa;
  j["model_filename"] = row.file;
  j["model_type"] = model_type(row.info);
  j["model_size"] = row.info.tensor_bytes;
  j["model_n_params"] = row.info.parameters;
  j["load_seconds"] = row.load_seconds;
  j["n_batch"] = row.batch;
  j["n_threads"] = row.threads;
  j["type_k"] = apps::name_of(row.engine.cache_k);
  j["type_v"] = apps::name_of(row.engine.cache_v);
  j["activations"] = apps::name_of(row.engine.activations);
  j["n_prompt"] = row.test.prompt;
  j["n_gen"] = row.test.generate;
  j["n_depth"] = row.test.depth;
  j["test_time"] = row.time;
  j["avg_ns"] = std::int64_t(std::llround(time.mean));
  j["stddev_ns"] = std::int64_t(std::llround(time.deviation));
  j["avg_ts"] = speed.mean;
  j["stddev_ts"] = speed.deviation;
  j["samples_ns"] = row.samples_ns;
  j["samples_ts"] = row.samples_ts;
  return j;
}

std::string csv_field(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : dump(value, -1);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string test_name(const ModelTest& t) {
  std::string name;
  if (t.prompt > 0) name = "pp" + std::to_string(t.prompt);
  if (t.generate > 0) name.append(name.empty() ? "tg" : "+tg").append(std::to_string(t.generate));
  if (t.depth > 0) name += " @ d" + std::to_string(t.depth);
  return name;
}

}  // namespace

void ModelReport::add_table(const ModelRow& row) {
  if (rows_ == 0) {
    std::printf("%s, %s, veloce %s\n\n", apps::processor_name().c_str(), row.isa.c_str(),
                apps::build_commit().c_str());
    std::printf("| %-32s | %10s | %9s | %7s | %18s | %20s |\n", "model", "size", "params",
                "threads", "test", "tokens/s");
    std::printf("| %.32s | %.9s: | %.8s: | %.6s: | %.17s: | %.19s: |\n",
                "--------------------------------", "---------", "--------", "------",
                "-----------------", "-------------------");
  }
  const Spread speed = spread_of(row.samples_ts);
  char tokens[64];
  std::snprintf(tokens, sizeof tokens, "%.2f ± %.2f", speed.mean, speed.deviation);
  std::printf("| %-32s | %6.1f MiB | %7.1f M | %7d | %18s | %21s |\n", model_type(row.info).c_str(),
              double(row.info.tensor_bytes) / 1048576, double(row.info.parameters) * 1e-6,
              row.threads, test_name(row.test).c_str(),
              tokens);  // the plus-minus sign is two bytes
}

void ModelReport::add(const ModelRow& row) {
  if (format_ == "table") {
    add_table(row);
  } else {
    const Json j = as_json(row);
    if (format_ == "jsonl") {
      std::printf("%s\n", dump(j, -1).c_str());
    } else if (format_ == "json") {
      std::printf("%s\n%s", rows_ == 0 ? "[" : ",", dump(j, 2).c_str());
    } else {
      std::string names, values;
      for (const auto& [name, value] : j.items()) {
        if (name.starts_with("samples_")) continue;
        if (!names.empty()) names += ',', values += ',';
        names += name;
        values += csv_field(value);
      }
      if (rows_ == 0) std::printf("%s\n", names.c_str());
      std::printf("%s\n", values.c_str());
    }
  }
  std::fflush(stdout);
  ++rows_;
}

void ModelReport::finish() {
  if (format_ == "json") std::printf("%s\n", rows_ == 0 ? "[]" : "\n]");
}

}  // namespace veloce::bench

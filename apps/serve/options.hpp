// The command line and environment of veloce-serve. Every option can also be set by VELOCE_<NAME>
// or, as users of the usual server have it in their files, LLAMA_ARG_<NAME>; the command line wins.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/log.hpp"
#include "http/server.hpp"
#include "scheduler/request.hpp"
#include "veloce/model/engine.hpp"

namespace veloce::serve {

// Defaults of a request's sampling, and which of them the user set (the model's own recommendation
// yields to those).
struct SamplingDefaults {
  Json values = Json::object();  // request field -> value, only those set
};

struct Options {
  model::EngineOptions engine;
  int context = 0;    // -c: all slots together, unless their number is automatic
  int parallel = -1;  // -np: -1 is automatic
  int batch = 512;
  std::vector<std::string> aliases;

  http::HttpOptions http;
  bool metrics = false;
  bool props = false;
  bool slots = true;
  bool ui = true;  // the chat page at /
  bool embeddings = false;
  Pooling pooling = Pooling::kMean;
  int embd_normalize = 2;
  bool spm_infill = false;
  Json ui_settings = Json::object();
  std::string slot_save_path;
  int ping_seconds = 30;
  int queue_limit = 256;      // requests waiting for a slot
  int shutdown_seconds = 30;  // patience with running streams

  int predict = -1;
  std::vector<std::string> stops;
  bool cache_prompt = true;
  bool cache_shared = false;  // prompts read for one API key are reused for others
  double slot_similarity = 0.1;
  bool context_shift = false;
  SamplingDefaults sampling;

  std::string chat_template;  // the text; empty: the model's
  Json template_kwargs = Json::object();
  std::string reasoning_format = "auto";
  std::string reasoning = "auto";
  std::string reasoning_effort;
  int reasoning_budget = -1;
  std::string reasoning_budget_message;
  bool prefill_assistant = true;
  bool reasoning_preserve = false;
  bool plain_input = false;  // special tokens are not parsed in messages

  bool warmup = true;
  log::Settings log;
};

// What to do after parsing: serve, or leave at once with that status.
struct ParsedOptions {
  Options options;
  std::optional<int> exit;
};

ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace veloce::serve

#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "common/engine_flags.hpp"
#include "options_compat.hpp"
#include "veloce/config.hpp"
#include "veloce/core/switches.hpp"
#include "veloce/text/json_schema.hpp"

namespace veloce::serve {
namespace {

// Environment: VELOCE_X if set, else LLAMA_ARG_X.
std::string environment_name(const std::string& name) {
  const std::string ours = "VELOCE_" + name;
  // One name of the usual server's does not follow its own rule.
  if (name == "API_KEY" && !std::getenv(ours.c_str()) && std::getenv("LLAMA_API_KEY"))
    return "LLAMA_API_KEY";
  return std::getenv(ours.c_str()) ? ours : "LLAMA_ARG_" + name;
}

// In the environment a flag may be "enabled" or "disabled", which the command-line library doesn't
// know.
void plain_flag_value(const std::string& variable) {
  const char* text = std::getenv(variable.c_str());
  const std::string value = text ? text : "";
  if (value == "enabled") setenv(variable.c_str(), "true", 1);
  if (value == "disabled") setenv(variable.c_str(), "false", 1);
}

class Builder {
 public:
  explicit Builder(CLI::App& app) : app_(app) {}

  void group(std::string name) { group_ = std::move(name); }

  template <class T>
  CLI::Option* value(const std::string& flags, T& target, const std::string& env,
                     const std::string& help) {
    return finish(app_.add_option(flags, target, help), env)->capture_default_str();
  }
  CLI::Option* flag(const std::string& flags, bool& target, const std::string& env,
                    const std::string& help) {
    if (!env.empty()) plain_flag_value(environment_name(env));
    return finish(app_.add_flag(flags, target, help), env);
  }
  // A value that becomes a request default only when given.
  template <class T>
  CLI::Option* request_default(const std::string& flags, Json& values, const std::string& field,
                               const std::string& env, const std::string& help) {
    const auto set = [&values, field](const T& given) { values[field] = given; };
    return finish(app_.add_option_function<T>(flags, set, help), env);
  }

 private:
  CLI::Option* finish(CLI::Option* option, const std::string& env) {
    // Scripts put what their user gives behind their own: of several the last counts.
    if (option->get_items_expected_max() == 1)
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    if (!env.empty()) option->envname(environment_name(env));
    return option->group(group_);
  }

  CLI::App& app_;
  std::string group_;
};

std::string read_text(const std::string& path, const std::string& what) {
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in.is_open() || in.bad()) throw CLI::ValidationError(what, "cannot read '" + path + "'");
  return text;
}

Json read_object(const std::string& text, const std::string& what) {
  Result<Json> value = parse_json(text);
  if (!value) throw CLI::ValidationError(what, value.status().message());
  if (!value->is_object()) throw CLI::ValidationError(what, "must be a JSON object");
  return *std::move(value);
}

// Text forms of options that need a second look after parsing.
struct Raw {
  std::string cache_k = "f16", cache_v = "f16", activations = "q8", aliases, api_keys, api_key_file,
              template_file, template_kwargs, log_format = "text", pooling = "mean", grammar_file,
              json_schema, ui_config;
  std::vector<std::string> logit_bias;
  int timeout = 3600, body_limit_mib = 64, verbosity = -1;
  long memory_limit_mib = 0;
  bool verbose = false, log_disable = false, no_timestamps = false;
};

void add_model(Builder& b, Options& o, Raw& raw) {
  b.group("Model");
  b.value("-m,--model", o.engine.path, "MODEL", "GGUF file; of a split model any part")->required();
  b.value("-a,--alias", raw.aliases, "ALIAS",
          "Names of the model for clients, comma-separated; the first is its id");
  b.value("-c,--ctx-size", o.context, "CTX_SIZE",
          "Tokens of context, shared out over the slots where their number is given (0: the "
          "model's, for each)")
      ->check(CLI::Range(0, 1 << 30));
  b.value("-t,--threads", o.engine.threads, "THREADS", "Compute threads (0 or -1: one a core)")
      ->check(CLI::Range(-1, 4096));
  b.value("--batch-size", o.batch, "BATCH", "Largest number of tokens in one step (-b, -ub)")
      ->check(CLI::Range(1, 65536));
  b.value("--cache-type-k", raw.cache_k, "CACHE_TYPE_K",
          "Type of stored keys: f32, f16, bf16, q8_0 (-ctk)")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "q8_0"}));
  b.value("--cache-type-v", raw.cache_v, "CACHE_TYPE_V",
          "Type of stored values: f32, f16, bf16, q8_0 (-ctv)")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "q8_0"}));
  b.value("--activations", raw.activations, "ACTIVATIONS",
          "What quantized weights are multiplied with: q8, f32")
      ->check(CLI::IsMember({"q8", "f32"}));
  b.flag("--check-tensors,!--no-check-tensors", o.engine.check_tensors, "CHECK_TENSORS",
         "Look for NaN and infinity in the weights while loading (on)");
  b.value("--memory-limit", raw.memory_limit_mib, "MEMORY_LIMIT",
          "MiB that loading may take (0: what is free)")
      ->check(CLI::Range(0L, 1L << 40));
  b.flag("--warmup,!--no-warmup", o.warmup, "WARMUP", "Run one step before serving (on)");
}

void add_network(Builder& b, Options& o, Raw& raw) {
  b.group("Network");
  b.value("--host", o.http.host, "HOST",
          "Address to listen on; a name ending in .sock is a Unix socket");
  b.value("--port", o.http.port, "PORT", "TCP port (0: any free one)")->check(CLI::Range(0, 65535));
  b.flag("--reuse-port", o.http.reuse_port, "REUSE_PORT", "Let several servers share the port");
  b.value("--api-prefix", o.http.api_prefix, "API_PREFIX", "Path in front of every route");
  b.value("--api-key", raw.api_keys, "API_KEY",
          "Accepted API keys, comma-separated (none: open to all)");
  b.value("--api-key-file", raw.api_key_file, "API_KEY_FILE",
          "File with one key a line; # starts a comment line");
  b.value("--ssl-key-file", o.http.tls_key, "SSL_KEY_FILE", "Private key for TLS (PEM)");
  b.value("--ssl-cert-file", o.http.tls_certificate, "SSL_CERT_FILE", "Certificate for TLS (PEM)");
  b.value("--cors-origins", o.http.cors.origins, "CORS_ORIGINS",
          "Allowed origins: *, localhost, or one origin");
  b.value("--cors-methods", o.http.cors.methods, "CORS_METHODS", "Allowed methods");
  b.value("--cors-headers", o.http.cors.headers, "CORS_HEADERS", "Allowed headers");
  b.flag("--cors-credentials,!--no-cors-credentials", o.http.cors.credentials, "CORS_CREDENTIALS",
         "Allow credentials (on)");
  b.value("--timeout", raw.timeout, "TIMEOUT",
          "Seconds a write to a client may stall, 600 at most count (-to)")
      ->check(CLI::Range(1, 1 << 20));
  b.value("--threads-http", o.http.threads, "THREADS_HTTP", "Most connections served at a time")
      ->check(CLI::Range(2, 16384));
  b.value("--body-limit", raw.body_limit_mib, "BODY_LIMIT", "Largest request body in MiB")
      ->check(CLI::Range(1, 65536));
  b.value("--sse-ping-interval", o.ping_seconds, "SSE_PING_INTERVAL",
          "Seconds of silence in a stream before a comment is sent (-1: never)")
      ->check(CLI::Range(-1, 1 << 20));
}

void add_serving(Builder& b, Options& o, Raw& raw) {
  b.group("Serving");
  b.value("--parallel", o.parallel, "N_PARALLEL",
          "Slots: requests worked on side by side (-np; -1: automatic)")
      ->check(CLI::Range(-1, 1024));
  b.value("--queue-limit", o.queue_limit, "QUEUE_LIMIT",
          "Most requests that wait for a slot; more get a 503")
      ->check(CLI::Range(0, 1 << 20));
  b.value("--shutdown-timeout", o.shutdown_seconds, "SHUTDOWN_TIMEOUT",
          "Seconds that running requests get to finish after SIGTERM or SIGINT")
      ->check(CLI::Range(0, 1 << 20));
  b.flag("--metrics", o.metrics, "ENDPOINT_METRICS", "Serve /metrics");
  b.flag("--props", o.props, "ENDPOINT_PROPS", "Allow POST /props");
  b.flag("--slots,!--no-slots", o.slots, "ENDPOINT_SLOTS", "Serve /slots (on)");
  b.flag("--ui,--webui,!--no-ui,!--no-webui", o.ui, "UI", "Serve the chat page at / (on)");
  b.flag("--embeddings,--embedding", o.embeddings, "EMBEDDINGS", "Serve embeddings");
  b.value("--embd-normalize", o.embd_normalize, "EMBD_NORMALIZE",
          "Default of embd_normalize: -1 not at all, 0 by the largest value, 2 Euclidean, else "
          "that p-norm")
      ->check(CLI::Range(-1, 64));
  b.flag("--spm-infill", o.spm_infill, "SPM_INFILL",
         "In /infill the suffix stands before the prefix");
  b.value("--ui-config", raw.ui_config, "UI_CONFIG",
          "JSON object of settings for the chat page, shown in /props");
  b.value("--pooling", raw.pooling, "POOLING",
          "How embeddings are made of a text's tokens: none, mean, cls, last")
      ->check(CLI::IsMember({"none", "mean", "cls", "last"}));
  b.value("--slot-save-path", o.slot_save_path, "SLOT_SAVE_PATH",
          "Folder in which slots may be saved");
  b.flag("--cache-prompt,!--no-cache-prompt", o.cache_prompt, "CACHE_PROMPT",
         "Reuse the common prefix of prompts (on)");
  b.flag("--context-shift,!--no-context-shift", o.context_shift, "CONTEXT_SHIFT",
         "Where the context is full, forget the middle of it, read the rest anew and go on (off)");
  b.request_default<int>("--keep", o.sampling.values, "n_keep", "KEEP",
                         "Tokens that a shift keeps at the start (0; -1: the prompt)");
  b.flag("--cache-shared,!--no-cache-shared", o.cache_shared, "CACHE_SHARED",
         "Reuse prompts across API keys as well: faster, but counts of cached tokens tell what "
         "others asked (off)");
  b.value("--slot-prompt-similarity", o.slot_similarity, "SLOT_PROMPT_SIMILARITY",
          "Part of the prompt that a slot must share to be preferred (-sps)")
      ->check(CLI::Range(0.0, 1.0));
}

void add_chat(Builder& b, Options& o, Raw& raw) {
  b.group("Chat");
  b.value("--chat-template", o.chat_template, "CHAT_TEMPLATE",
          "Jinja text, or a name (chatml, llama3, gemma, phi3, zephyr), in place of the model's");
  b.value("--chat-template-file", raw.template_file, "CHAT_TEMPLATE_FILE", "The same from a file");
  b.value("--chat-template-kwargs", raw.template_kwargs, "CHAT_TEMPLATE_KWARGS",
          "JSON object of template variables");
  b.value("--reasoning-format", o.reasoning_format, "THINK",
          "Where thoughts go: none, auto, deepseek, deepseek-legacy")
      ->check(CLI::IsMember({"none", "auto", "deepseek", "deepseek-legacy"}));
  b.value("--reasoning", o.reasoning, "REASONING", "Thinking: on, off, auto (-rea)")
      ->check(CLI::IsMember({"on", "off", "auto"}));
  b.value("--reasoning-effort", o.reasoning_effort, "REASONING_EFFORT",
          "Template variable of that name");
  b.value("--reasoning-budget", o.reasoning_budget, "THINK_BUDGET",
          "Most tokens of thinking (-1: no limit)")
      ->check(CLI::Range(-1, 1 << 30));
  b.value("--reasoning-budget-message", o.reasoning_budget_message, "THINK_BUDGET_MESSAGE",
          "Text put in front of the end of thinking when the budget is used up");
  b.flag("--reasoning-preserve,!--no-reasoning-preserve", o.reasoning_preserve,
         "REASONING_PRESERVE",
         "Show the model its thoughts of earlier turns where its template can");
  b.flag(
      "--no-special-in-input", o.plain_input, "NO_SPECIAL_IN_INPUT",
      "Special tokens spelled out in messages are text, so that no message can pose as another's");
  b.flag("--prefill-assistant,!--no-prefill-assistant", o.prefill_assistant, "PREFILL_ASSISTANT",
         "Continue a trailing assistant message (on)");
}

void add_sampling(Builder& b, Options& o, Raw& raw) {
  Json& v = o.sampling.values;
  b.group("Defaults of requests");
  b.value("-n,--predict,--n-predict", o.predict, "N_PREDICT",
          "Most tokens of an answer (-1: until the end)")
      ->check(CLI::Range(-1, 1 << 30));
  b.value("-r,--reverse-prompt", o.stops, "", "A stop string; may be given several times");
  b.request_default<double>("--temp,--temperature", v, "temperature", "TEMP",
                            "Temperature (0.8); 0 is greedy");
  b.request_default<int>("--top-k", v, "top_k", "TOP_K", "Top-k (40; 0: off)");
  b.request_default<double>("--top-p", v, "top_p", "TOP_P", "Top-p (0.95; 1: off)");
  b.request_default<double>("--min-p", v, "min_p", "MIN_P", "Min-p (0.05; 0: off)");
  b.request_default<double>("--typical", v, "typical_p", "TYPICAL", "Typical p (1: off)");
  b.request_default<double>("--top-n-sigma", v, "top_n_sigma", "TOP_N_SIGMA",
                            "Top-n-sigma (-1: off)");
  b.request_default<double>("--xtc-probability", v, "xtc_probability", "XTC_PROBABILITY",
                            "XTC probability (0: off)");
  b.request_default<double>("--xtc-threshold", v, "xtc_threshold", "XTC_THRESHOLD",
                            "XTC threshold (0.1)");
  b.request_default<std::int64_t>("-s,--seed", v, "seed", "SEED", "Seed (-1: random)");
  b.request_default<int>("--repeat-last-n", v, "repeat_last_n", "REPEAT_LAST_N",
                         "Window of the penalties (64)");
  b.request_default<double>("--repeat-penalty", v, "repeat_penalty", "REPEAT_PENALTY",
                            "Repeat penalty (1: off)");
  b.request_default<double>("--presence-penalty", v, "presence_penalty", "PRESENCE_PENALTY",
                            "Presence penalty (0)");
  b.request_default<double>("--frequency-penalty", v, "frequency_penalty", "FREQUENCY_PENALTY",
                            "Frequency penalty (0)");
  b.request_default<double>("--dry-multiplier", v, "dry_multiplier", "DRY_MULTIPLIER",
                            "DRY multiplier (0: off)");
  b.request_default<double>("--dry-base", v, "dry_base", "DRY_BASE", "DRY base (1.75)");
  b.request_default<int>("--dry-allowed-length", v, "dry_allowed_length", "DRY_ALLOWED_LENGTH",
                         "DRY allowed length (2)");
  b.request_default<int>("--dry-penalty-last-n", v, "dry_penalty_last_n", "DRY_PENALTY_LAST_N",
                         "DRY window (64)");
  b.request_default<int>("--mirostat", v, "mirostat", "MIROSTAT", "Mirostat 0, 1 or 2");
  b.request_default<double>("--mirostat-ent", v, "mirostat_tau", "MIROSTAT_ENT",
                            "Mirostat tau (5)");
  b.request_default<double>("--mirostat-lr", v, "mirostat_eta", "MIROSTAT_LR",
                            "Mirostat eta (0.1)");
  b.request_default<std::string>("--samplers", v, "samplers", "SAMPLERS",
                                 "Order of samplers, separated by ;");
  b.request_default<std::string>("--grammar", v, "grammar", "GRAMMAR", "GBNF grammar of answers");
  b.value("--grammar-file", raw.grammar_file, "GRAMMAR_FILE", "The same from a file");
  b.value("-j,--json-schema", raw.json_schema, "JSON_SCHEMA", "JSON schema of answers");
  b.value("-l,--logit-bias", raw.logit_bias, "",
          "TOKEN_ID(+|-)BIAS, as 15043-1; may be given several times");
  b.request_default<bool>("--ignore-eos", v, "ignore_eos", "",
                          "Go on where the model would end (true or false)")
      ->expected(0, 1)
      ->default_str("true");
}

void add_log(Builder& b, Options& o, Raw& raw) {
  b.group("Log");
  b.flag("-v,--verbose", raw.verbose, "", "Log everything");
  b.value("--verbosity", raw.verbosity, "LOG_VERBOSITY",
          "0 errors, 1 warnings, 2 and 3 requests, 4 everything (-lv)");
  b.value("--log-file", o.log.file, "LOG_FILE", "Also write the log there");
  b.value("--log-format", raw.log_format, "LOG_FORMAT", "text, or json: one object a line")
      ->check(CLI::IsMember({"text", "json"}));
  b.flag("--log-timestamps,!--no-log-timestamps", o.log.timestamps, "LOG_TIMESTAMPS",
         "Time at the start of a line (on)");
  b.flag("--log-disable", raw.log_disable, "", "No log");
}

std::vector<std::string> split_list(const std::string& text, char separator = ',') {
  std::vector<std::string> items;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, separator);) {
    if (!item.empty()) items.push_back(item);
  }
  return items;
}

model::CacheType cache_type(const std::string& name) {
  if (name == "f32") return model::CacheType::kF32;
  if (name == "bf16") return model::CacheType::kBF16;
  if (name == "q8_0") return model::CacheType::kQ8_0;
  return model::CacheType::kF16;
}

// "15043-1", "15043+0.5"
Json bias_of(const std::string& text) {
  const std::size_t sign = text.find_first_of("+-", 1);
  char* end = nullptr;
  const double bias = sign == std::string::npos ? 0 : std::strtod(text.c_str() + sign, &end);
  const bool digits =
      sign != std::string::npos && sign < 10 && text.find_first_not_of("0123456789") == sign;
  if (!digits || *end != '\0')
    throw CLI::ValidationError("--logit-bias",
                               "'" + text + "' is not TOKEN_ID+BIAS or TOKEN_ID-BIAS");
  return {std::stoll(text.substr(0, sign)),
          std::isinf(bias) && bias < 0 ? Json(false) : Json(bias)};
}

// What every request asks for unless it asks for something else.
void finish_defaults(Options& o, const Raw& raw) {
  Json& values = o.sampling.values;
  if (!raw.grammar_file.empty()) values["grammar"] = read_text(raw.grammar_file, "--grammar-file");
  if (!raw.json_schema.empty()) {
    if (values.contains("grammar"))
      throw CLI::ValidationError("--json-schema", "cannot be combined with --grammar");
    Result<Json> schema = parse_json(raw.json_schema);
    if (!schema) throw CLI::ValidationError("--json-schema", schema.status().message());
    Result<std::string> grammar = text::schema_to_grammar(*schema);
    if (!grammar) throw CLI::ValidationError("--json-schema", grammar.status().message());
    values["grammar"] = *std::move(grammar);
  }
  for (const std::string& bias : raw.logit_bias) values["logit_bias"].push_back(bias_of(bias));
}

void finish(Options& o, const Raw& raw) {
  finish_defaults(o, raw);
  if (!raw.ui_config.empty()) o.ui_settings = read_object(raw.ui_config, "--ui-config");
  o.engine.cache_k = cache_type(raw.cache_k);
  o.engine.cache_v = cache_type(raw.cache_v);
  o.engine.activations =
      raw.activations == "f32" ? model::Activations::kF32 : model::Activations::kQ8;
  o.engine.memory_limit = static_cast<std::size_t>(raw.memory_limit_mib) << 20;
  o.engine.max_batch = o.batch;
  if (o.engine.threads < 0) o.engine.threads = 0;
  o.aliases = split_list(raw.aliases);
  o.http.api_keys = split_list(raw.api_keys);
  if (!raw.api_key_file.empty()) {
    for (std::string line : split_list(read_text(raw.api_key_file, "--api-key-file"), '\n')) {
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
      if (!line.empty() && line[0] != '#') o.http.api_keys.push_back(line);
    }
    if (o.http.api_keys.empty()) throw CLI::ValidationError("--api-key-file", "holds no key");
  }
  o.http.timeouts.write = std::chrono::seconds(std::min(raw.timeout, 600));
  o.http.body_limit = static_cast<std::size_t>(raw.body_limit_mib) << 20;
  if (!raw.template_file.empty())
    o.chat_template = read_text(raw.template_file, "--chat-template-file");
  if (!raw.template_kwargs.empty()) {
    o.template_kwargs = read_object(raw.template_kwargs, "--chat-template-kwargs");
  }
  o.pooling = raw.pooling == "none"   ? Pooling::kNone
              : raw.pooling == "cls"  ? Pooling::kFirst
              : raw.pooling == "last" ? Pooling::kLast
                                      : Pooling::kMean;
  o.log.json = raw.log_format == "json";
  o.log.enabled = !raw.log_disable;
  if (raw.verbosity >= 0) {
    o.log.level = raw.verbosity == 0   ? log::Level::kError
                  : raw.verbosity == 1 ? log::Level::kWarning
                  : raw.verbosity <= 3 ? log::Level::kInfo
                                       : log::Level::kDebug;
  }
  if (raw.verbose) o.log.level = log::Level::kDebug;
  for (const auto& [field, value] : o.sampling.values.items()) {
    if (value.is_number_float() && !std::isfinite(value.get<double>())) {
      throw CLI::ValidationError(field, "must be finite");
    }
  }
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  ParsedOptions parsed;
  Options& o = parsed.options;
  Raw raw;
  CLI::App app("veloce-serve: an OpenAI-compatible server for GGUF models", "veloce-serve");
  app.get_formatter()->column_width(34);
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", std::string("veloce ") + VELOCE_VERSION);
  std::string completion;
  Builder b(app);
  add_model(b, o, raw);
  add_network(b, o, raw);
  add_serving(b, o, raw);
  add_chat(b, o, raw);
  add_sampling(b, o, raw);
  add_log(b, o, raw);
  apps::add_switch_flags(app);
  app.add_flag_callback(
      "--list-devices",
      [] {
        std::cout << "CPU\n";
        throw CLI::Success();
      },
      "Print what this build computes on");
  Compatibility compatibility;
  compatibility.add_to(app);
  app.footer(
      "Every option can be set by VELOCE_<NAME> or LLAMA_ARG_<NAME> in the environment as well.\n"
      "veloce-serve --completion bash|zsh|fish prints a completion script.");
  Result<std::vector<std::string>> arguments = long_spellings(argc, argv);
  if (!arguments) {
    std::cerr << "veloce-serve: " << arguments.status().message() << '\n';
    parsed.exit = 1;
    return parsed;
  }
  if (arguments->size() == 2 && arguments->front() == "--completion") {
    parsed.exit = print_completion(app, arguments->back());
    return parsed;
  }
  try {
    if (const Status known = Switch::check_environment(); !known)
      throw CLI::ValidationError(known.message());
    std::vector<std::string> reversed(arguments->rbegin(), arguments->rend());
    app.parse(std::move(reversed));
    finish(o, raw);
    compatibility.report(app);
  } catch (const CLI::ParseError& error) {
    parsed.exit = app.exit(error) == 0 ? 0 : 1;
  }
  return parsed;
}

}  // namespace veloce::serve

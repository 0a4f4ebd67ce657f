#include "api/params.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "veloce/text/json_schema.hpp"

namespace veloce::serve {
namespace {

constexpr std::int64_t kMostTokens = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMostStops = 256, kMostStopBytes = 65536, kMostBiases = 65536;

// A number of the request; else the command line's; else what `target` holds already.
class Layers {
 public:
  Layers(const Fields& body, const Fields& defaults) : body_(body), defaults_(defaults) {}

  void number(std::string_view field, double& target,
              double low = -std::numeric_limits<double>::infinity(),
              double high = std::numeric_limits<double>::infinity()) const {
    if (const auto value = body_.has(field) ? body_.number(field) : defaults_.number(field)) {
      target = std::clamp(*value, low, high);
    }
  }
  void clamped(std::string_view field, int& target, std::int64_t low, std::int64_t high) const {
    if (const auto value = body_.has(field) ? body_.integer(field) : defaults_.integer(field)) {
      target = static_cast<int>(std::clamp(*value, low, high));
    }
  }
  void ranged(std::string_view field, int& target, std::int64_t low, std::int64_t high) const {
    if (const auto value =
            body_.has(field) ? body_.integer(field, low, high) : defaults_.integer(field)) {
      target = static_cast<int>(*value);
    }
  }

 private:
  const Fields& body_;
  const Fields& defaults_;
};

void read_seed(const Fields& body, const Fields& defaults, sample::SamplingParams& s) {
  const auto seed = body.has("seed") ? body.integer("seed") : defaults.integer("seed");
  if (seed) s.seed = *seed < 0 ? 0xFFFFFFFF : static_cast<std::uint32_t>(*seed);
}

// Clients send stages of other engines too, so names that are not known here are left out.
void read_samplers(const Fields& fields, sample::SamplingParams& s) {
  const Json* value = fields.find("samplers");
  if (!value) return;
  s.samplers.clear();
  const auto add = [&](std::string name) {
    if (sample::stage_from_name(name)) s.samplers.push_back(std::move(name));
  };
  if (value->is_string() && !sample::stage_from_name(value->get<std::string>()) &&
      value->get<std::string>().find(';') == std::string::npos) {
    for (const char letter : value->get<std::string>()) {
      const auto names = sample::samplers_from_letters(std::string_view(&letter, 1));
      if (names) s.samplers.push_back(names->front());
    }
    return;
  }
  for (const std::string& list : fields.strings("samplers").value_or(std::vector<std::string>())) {
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t end = std::min(list.find(';', at), list.size());
      add(list.substr(at, end - at));
      at = end + 1;
    }
  }
}

void add_bias(const Fields& fields, const Service& service, sample::SamplingParams& s,
              const Json& key, const Json& value) {
  float bias = 0;
  if (value.is_number()) {
    bias = value.get<float>();
  } else if (value.is_boolean() && !value.get<bool>()) {
    bias = -std::numeric_limits<float>::infinity();
  } else {
    fields.fail("logit_bias",
                "a bias must be a number or false, not " + dump_json(value).substr(0, 60));
  }
  std::vector<std::int32_t> ids;
  if (key.is_number()) {
    const auto id = as_integer(key);
    if (!id || *id < 0 || *id >= service.vocabulary_size()) {
      fields.fail("logit_bias", "token " + dump_json(key) + " is not in the vocabulary of " +
                                    std::to_string(service.vocabulary_size()));
    }
    ids = {static_cast<std::int32_t>(*id)};
  } else if (key.is_string()) {
    ids = service.encode(key.get_ref<const std::string&>(), false, true);
  } else {
    fields.fail("logit_bias", "a key must be a token id or a text");
  }
  // Every answer of the request keeps its own.
  if (s.logit_bias.size() + ids.size() > kMostBiases) {
    fields.fail("logit_bias", "more than " + std::to_string(kMostBiases) + " tokens");
  }
  for (const std::int32_t id : ids) s.logit_bias.emplace_back(id, bias);
}

void read_logit_bias(const Fields& fields, const Service& service, sample::SamplingParams& s) {
  const Json* value = fields.find("logit_bias");
  if (!value) return;
  if (value->is_object()) {
    for (const auto& [key, bias] : value->items()) {
      const bool digits =
          !key.empty() && key.size() < 10 &&
          std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
      add_bias(fields, service, s, digits ? Json(std::stoll(key)) : Json(key), bias);
    }
  } else if (value->is_array()) {
    for (const Json& pair : *value) {
      if (!pair.is_array() || pair.size() != 2)
        fields.fail("logit_bias", "must hold pairs of a token and a bias");
      add_bias(fields, service, s, pair[0], pair[1]);
    }
  } else {
    fields.wrong_type("logit_bias", "an object or an array of pairs", *value);
  }
}

void read_sampling(const Fields& body, const Service& service, sample::SamplingParams& s) {
  const Fields defaults(service.options().sampling.values);
  const Layers layer(body, defaults);
  read_seed(body, defaults, s);
  layer.number("temperature", s.temperature, 0);
  layer.number("dynatemp_range", s.dynatemp_range, 0);
  layer.number("dynatemp_exponent", s.dynatemp_exponent);
  layer.clamped("top_k", s.top_k, 0, kMostTokens);
  layer.number("top_p", s.top_p, 0, 1);
  layer.number("min_p", s.min_p, 0, 1);
  layer.number("top_n_sigma", s.top_n_sigma);
  layer.number("typical_p", s.typical_p);
  layer.number("xtc_probability", s.xtc_probability, 0, 1);
  layer.number("xtc_threshold", s.xtc_threshold, 0, 1);
  layer.ranged("repeat_last_n", s.repeat_last_n, -1, kMostTokens);
  layer.number("repeat_penalty", s.repeat_penalty);
  layer.number("presence_penalty", s.presence_penalty);
  layer.number("frequency_penalty", s.frequency_penalty);
  layer.number("dry_multiplier", s.dry_multiplier);
  layer.number("dry_base", s.dry_base);
  if (s.dry_base < 1) s.dry_base = sample::SamplingParams().dry_base;
  layer.ranged("dry_allowed_length", s.dry_allowed_length, 0, kMostTokens);
  layer.ranged("dry_penalty_last_n", s.dry_penalty_last_n, -1, kMostTokens);
  layer.clamped("mirostat", s.mirostat, 0, 2);
  layer.number("mirostat_tau", s.mirostat_tau);
  layer.number("mirostat_eta", s.mirostat_eta);
  layer.number("adaptive_target", s.adaptive_target);
  layer.number("adaptive_decay", s.adaptive_decay);
  if (s.adaptive_decay < 0 || s.adaptive_decay > 0.99)
    body.fail("adaptive_decay", "must be between 0 and 0.99");
  layer.ranged("min_keep", s.min_keep, 0, kMostTokens);
  if (body.has("dry_sequence_breakers")) {
    s.dry_sequence_breakers = *body.strings("dry_sequence_breakers");
    if (s.dry_sequence_breakers.empty()) body.fail("dry_sequence_breakers", "must not be empty");
  }
  read_samplers(defaults, s);
  read_samplers(body, s);
  read_logit_bias(body.has("logit_bias") ? body : defaults, service, s);
}

void read_stops(const Fields& body, const Service& service, GenerationParams& p) {
  p.stops = body.strings("stop").value_or(std::vector<std::string>());
  std::erase(p.stops, "");
  if (p.stops.empty()) p.stops = service.options().stops;
  std::size_t bytes = 0;
  for (const std::string& stop : p.stops) bytes += stop.size();
  if (p.stops.size() > kMostStops || bytes > kMostStopBytes) {
    body.fail("stop", "more than " + std::to_string(kMostStops) + " strings or " +
                          std::to_string(kMostStopBytes) + " bytes");
  }
}

void read_probabilities(const Fields& body, const Service& service, LogprobStyle style,
                        GenerationParams& p) {
  const std::int64_t most = service.vocabulary_size();
  p.after_sampling = body.boolean("post_sampling_probs").value_or(false);
  if (const auto count = body.integer("n_probs", 0, most)) {
    p.probabilities = static_cast<int>(*count);
    p.report_probabilities = *count > 0;
  }
  if (style == LogprobStyle::kOpenAiChat) {
    const bool wanted = body.boolean("logprobs").value_or(false);
    const auto top = body.integer("top_logprobs", 0, most);
    if (top && !wanted && *top > 0) body.fail("top_logprobs", "needs \"logprobs\": true");
    if (wanted) {
      p.report_probabilities = true;
      p.probabilities = static_cast<int>(top.value_or(std::min<std::int64_t>(20, most)));
    }
  } else if (const Json* value = body.find("logprobs"); value && !value->is_boolean()) {
    const auto count = body.integer("logprobs", 0, most);
    p.probabilities = static_cast<int>(*count);
    p.report_probabilities = true;
  } else if (value && value->get<bool>()) {
    p.report_probabilities = true;
    p.probabilities = static_cast<int>(body.integer("top_logprobs", 0, most).value_or(1));
  }
}

// `preserved_tokens`: special tokens whose text is to be part of the answer.
void read_visible(const Fields& body, const Service& service, GenerationParams& p) {
  for (const std::string& text :
       body.strings("preserved_tokens").value_or(std::vector<std::string>())) {
    const std::vector<std::int32_t> ids = service.encode(text, false, true);
    if (ids.size() != 1)
      body.fail("preserved_tokens", "'" + text.substr(0, 60) + "' is not one token of this model");
    p.visible.push_back(ids[0]);
  }
}

void read_limits(const Fields& body, const Service& service, GenerationParams& p) {
  p.max_tokens = service.options().predict;
  for (const char* name : {"max_tokens", "max_completion_tokens", "n_predict"}) {
    if (const auto value = body.integer(name, -1, kMostTokens))
      p.max_tokens = static_cast<int>(*value);
  }
  if (const auto value = body.integer("t_max_predict_ms", -1, kMostTokens))
    p.time_limit_ms = static_cast<int>(*value);
  if (const auto value = body.integer("n_indent", 0, 1 << 20)) p.indent = static_cast<int>(*value);
  if (const auto value = body.integer("id_slot", -1, kMostTokens))
    p.slot = static_cast<int>(*value);
  const Fields defaults(service.options().sampling.values);
  p.sampling.ignore_eos =
      body.boolean("ignore_eos").value_or(defaults.boolean("ignore_eos").value_or(false));
  p.cache_prompt = body.boolean("cache_prompt").value_or(service.options().cache_prompt);
  p.return_tokens = body.boolean("return_tokens").value_or(false);
  p.return_progress = body.boolean("return_progress").value_or(false);
  p.timings_per_token = body.boolean("timings_per_token").value_or(false);
  if (const auto keep = (body.has("n_keep") ? body : defaults).integer("n_keep", -1, kMostTokens))
    p.keep = static_cast<int>(*keep);
  if (const auto discard = body.integer("n_discard", 0, kMostTokens))
    p.discard = static_cast<int>(*discard);
  p.verbose = body.boolean("verbose").value_or(false);
  read_visible(body, service, p);
}

void refuse_what_is_missing(const Fields& body) {
  if (const auto reuse = body.integer("n_cache_reuse", 0); reuse && *reuse > 0) {
    body.fail("n_cache_reuse", "reuse by shifting positions is not supported");
  }
  if (body.boolean("grammar_lazy").value_or(false)) {
    body.fail("grammar_lazy", "grammars with triggers are made from tools here; give those");
  }
  if (const Json* triggers = body.array("grammar_triggers"); triggers && !triggers->empty()) {
    body.fail("grammar_triggers", "grammars with triggers are made from tools here; give those");
  }
  if (const Json* adapters = body.array("lora"); adapters && !adapters->empty()) {
    body.fail("lora", "no adapters are loaded");
  }
}

}  // namespace

void bind_grammar(GenerationParams& params, const Service& service, const std::string& gbnf,
                  const std::string& field) {
  if (gbnf.empty()) return;
  Result<std::shared_ptr<text::GrammarMasks>> masks = service.grammar(gbnf);
  if (!masks) throw_field(field, masks.status().message());
  params.grammar.masks = *std::move(masks);
  params.grammar.source = gbnf;
}

Json wanted_schema(const Fields& body) {
  Json schema;
  if (const Json* given = body.find("json_schema")) schema = *given;
  const Json* format = body.object("response_format");
  if (!format) return schema;
  const Fields fields(*format, body.name("response_format."));
  [[maybe_unused]] const Json& present = fields.required("type");
  const std::string type = *fields.choice("type", {"text", "json_object", "json_schema"});
  if (type == "text") return schema;
  if (!schema.is_null()) body.fail("response_format", "cannot be combined with json_schema");
  if (type == "json_schema" && !fields.has("json_schema") && fields.has("schema"))
    return *fields.find("schema");  // as the usual server documents it
  if (type == "json_object") {
    const Json* inner = fields.object("schema");
    return inner ? *inner : Json{{"type", "object"}};
  }
  const Json* wrapper = fields.object("json_schema");
  if (!wrapper) fields.fail("json_schema", "is required");
  return Fields(*wrapper, fields.name("json_schema.")).required("schema");
}

const char* schema_field(const Fields& body) {
  return body.has("json_schema") ? "json_schema" : "response_format";
}

void bind_schema(GenerationParams& params, const Service& service, const Fields& body) {
  const Json schema = wanted_schema(body);
  if (schema.is_null()) return;
  const char* field = schema_field(body);
  if (body.has("grammar")) body.fail("grammar", "cannot be combined with a JSON schema");
  Result<std::string> gbnf = text::schema_to_grammar(schema);
  if (!gbnf) body.fail(field, gbnf.status().message());
  bind_grammar(params, service, *gbnf, body.name(field));
}

GenerationParams read_params(const Fields& body, const Service& service, LogprobStyle style) {
  GenerationParams p;
  p.sampling = service.sampling_defaults();
  refuse_what_is_missing(body);
  read_sampling(body, service, p.sampling);
  read_limits(body, service, p);
  read_stops(body, service, p);
  read_probabilities(body, service, style, p);
  if (const Status status = p.sampling.check(service.vocabulary_size()); !status) {
    const std::size_t colon = std::min(status.message().find(':'), status.message().size());
    throw ApiError::invalid("Field '" + status.message().substr(0, colon) + '\'' +
                            status.message().substr(colon));
  }
  const auto grammar = body.string("grammar");
  if (grammar && !grammar->empty()) {
    if (body.has("json_schema")) body.fail("grammar", "cannot be combined with json_schema");
    bind_grammar(p, service, *grammar, body.name("grammar"));
  } else if (!body.has("json_schema")) {
    const auto fallback = Fields(service.options().sampling.values).string("grammar");
    if (fallback) bind_grammar(p, service, *fallback, "--grammar");
  }
  return p;
}

RequestSettings read_request_settings(const Fields& body, const Service& service) {
  RequestSettings s;
  s.stream = body.boolean("stream").value_or(false);
  s.reasoning_control = body.boolean("reasoning_control").value_or(false);
  [[maybe_unused]] const auto model =
      body.string("model");  // there is one model, whatever its name
  if (const Json* options = body.object("stream_options")) {
    s.include_usage =
        Fields(*options, body.name("stream_options.")).boolean("include_usage").value_or(false);
  }
  for (const char* name : {"n", "n_cmpl"}) {
    if (const auto value = body.integer(name, 1, 128)) s.choices = static_cast<int>(*value);
  }
  s.ping_seconds = static_cast<int>(
      body.integer("sse_ping_interval", -1, 1 << 20).value_or(service.options().ping_seconds));
  if (const auto priority = body.choice("priority", {"interactive", "background"});
      priority == "background") {
    s.priority = Priority::kBackground;
  }
  // OpenAI's name for work that may wait.
  if (body.string("service_tier") == "flex") s.priority = Priority::kBackground;
  return s;
}

Json params_to_json(const GenerationParams& p) {
  const sample::SamplingParams& s = p.sampling;
  Json bias = Json::array();
  for (const auto& [id, value] : s.logit_bias) {
    bias.push_back({id, std::isfinite(value) ? Json(value) : Json(false)});
  }
  return {{"n_predict", p.max_tokens},
          {"n_keep", p.keep},
          {"n_discard", p.discard},
          {"lora", Json::array()},
          {"seed", s.seed},
          {"temperature", s.temperature},
          {"dynatemp_range", s.dynatemp_range},
          {"dynatemp_exponent", s.dynatemp_exponent},
          {"top_k", s.top_k},
          {"top_p", s.top_p},
          {"min_p", s.min_p},
          {"top_n_sigma", s.top_n_sigma},
          {"xtc_probability", s.xtc_probability},
          {"xtc_threshold", s.xtc_threshold},
          {"typical_p", s.typical_p},
          {"repeat_last_n", s.repeat_last_n},
          {"repeat_penalty", s.repeat_penalty},
          {"presence_penalty", s.presence_penalty},
          {"frequency_penalty", s.frequency_penalty},
          {"dry_multiplier", s.dry_multiplier},
          {"dry_base", s.dry_base},
          {"dry_allowed_length", s.dry_allowed_length},
          {"dry_penalty_last_n", s.dry_penalty_last_n},
          {"dry_sequence_breakers", s.dry_sequence_breakers},
          {"mirostat", s.mirostat},
          {"mirostat_tau", s.mirostat_tau},
          {"mirostat_eta", s.mirostat_eta},
          {"adaptive_target", s.adaptive_target},
          {"adaptive_decay", s.adaptive_decay},
          {"stop", p.stops},
          {"max_tokens", p.max_tokens},
          {"ignore_eos", s.ignore_eos},
          {"cache_prompt", p.cache_prompt},
          {"n_indent", p.indent},
          {"t_max_predict_ms", p.time_limit_ms},
          {"n_probs", p.probabilities},
          {"post_sampling_probs", p.after_sampling},
          {"min_keep", s.min_keep},
          {"grammar", p.grammar.source},
          {"grammar_lazy", p.grammar.lazy},
          {"samplers", s.samplers},
          {"logit_bias", std::move(bias)},
          {"timings_per_token", p.timings_per_token}};
}

}  // namespace veloce::serve

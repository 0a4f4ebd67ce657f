#include "api/openapi_schemas.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace veloce::serve {
namespace {

constexpr std::int64_t kMostTokens = 2147483647;
constexpr double kMost = 3e38;

const Json kText = {{"type", "string"}};
const Json kFlag = {{"type", "boolean"}};
const Json kInteger = {{"type", "integer"}};
const Json kNumber = {{"type", "number"}};
const Json kNull = {{"type", "null"}};
const Json kObject = {{"type", "object"}};

Json integer(std::int64_t low, std::int64_t high = kMostTokens) {
  return {{"type", "integer"}, {"minimum", low}, {"maximum", high}};
}
Json number(double low, double high = kMost) {
  return {{"type", "number"}, {"minimum", low}, {"maximum", high}};
}
Json at_most(double high) {
  return {{"type", "number"}, {"maximum", high}};
}
// What is out of a range that means something is taken as its end.
Json clamped_integer() {
  return integer(std::numeric_limits<std::int64_t>::min(),
                 std::numeric_limits<std::int64_t>::max());
}
Json one_of(std::vector<const char*> names) {
  return {{"type", "string"}, {"enum", std::move(names)}};
}
Json either(std::vector<Json> schemas) {
  return {{"anyOf", std::move(schemas)}};
}
Json texts(int most) {
  return either({kText, {{"type", "array"}, {"items", kText}, {"maxItems", most}}});
}
Json list(Json items, int least = 0) {
  Json out = {{"type", "array"}, {"items", std::move(items)}};
  if (least > 0) out["minItems"] = least;
  return out;
}

// A request's object. What need not be there may be null as well.
Json object(Json properties, std::vector<std::string> required) {
  for (auto& [name, schema] : properties.items()) {
    if (std::find(required.begin(), required.end(), name) == required.end())
      schema = either({std::move(schema), kNull});
  }
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

// An answer's object: all of `always`, and what `sometimes` is there.
Json shape(Json always, const Json& sometimes = Json::object()) {
  Json required = Json::array();
  for (const auto& [name, schema] : always.items()) required.push_back(name);
  always.update(sometimes);
  return {{"type", "object"}, {"properties", std::move(always)}, {"required", std::move(required)}};
}

// The fields that all generating routes share.
Json sampling_fields(const Service& service) {
  return {{"stream", kFlag},
          {"stream_options", object({{"include_usage", kFlag}}, {})},
          {"max_tokens", integer(-1)},
          {"max_completion_tokens", integer(-1)},
          {"n_predict", integer(-1)},
          {"n", integer(1, 128)},
          {"seed", clamped_integer()},
          {"stop", texts(256)},
          {"ignore_eos", kFlag},
          {"temperature", at_most(kMost)},
          {"dynatemp_range", at_most(kMost)},
          {"dynatemp_exponent", number(0)},
          {"top_k", clamped_integer()},
          {"top_p", kNumber},
          {"min_p", kNumber},
          {"typical_p", number(0)},
          {"top_n_sigma", number(-kMost)},
          {"xtc_probability", kNumber},
          {"xtc_threshold", kNumber},
          {"repeat_last_n", integer(-1)},
          {"repeat_penalty", number(1e-30)},
          {"presence_penalty", number(-kMost)},
          {"frequency_penalty", number(-kMost)},
          {"dry_multiplier", number(0)},
          {"dry_base", at_most(kMost)},
          {"dry_allowed_length", integer(0)},
          {"dry_penalty_last_n", integer(-1)},
          {"mirostat", clamped_integer()},
          {"mirostat_tau", number(0)},
          {"mirostat_eta", number(0)},
          {"adaptive_target", at_most(1)},
          {"adaptive_decay", number(0, 0.99)},
          {"min_keep", integer(0)},
          {"n_probs", integer(0, service.vocabulary_size())},
          {"post_sampling_probs", kFlag},
          {"grammar", {{"type", "string"}, {"description", "GBNF"}}},
          {"n_keep", integer(-1)},
          {"n_discard", integer(0)},
          {"n_indent", integer(0, 1 << 20)},
          {"t_max_predict_ms", integer(-1)},
          {"cache_prompt", kFlag},
          {"id_slot", integer(-1)},
          {"return_tokens", kFlag},
          {"return_progress", kFlag},
          {"timings_per_token", kFlag},
          {"sse_ping_interval", integer(-1, 1 << 20)},
          {"verbose", kFlag},
          {"priority", one_of({"interactive", "background"})}};
}

Json with_sampling(const Service& service, Json properties, std::vector<std::string> required) {
  properties.update(sampling_fields(service));
  return object(std::move(properties), std::move(required));
}

Json messages_schema(std::vector<const char*> roles) {
  return list(object({{"role", one_of(std::move(roles))}, {"content", kText}}, {"role", "content"}),
              1);
}

Json chat_request(const Service& service) {
  return with_sampling(
      service,
      {{"model", kText},
       {"messages", messages_schema({"system", "developer", "user", "assistant", "tool"})},
       {"parallel_tool_calls", kFlag},
       {"parse_tool_calls", kFlag},
       {"reasoning_format", one_of({"none", "auto", "deepseek", "deepseek-legacy"})},
       {"reasoning_effort", kText},
       {"reasoning_budget_tokens", integer(-1, 1 << 30)},
       {"reasoning_budget_message", kText},
       {"reasoning_control", kFlag},
       {"add_generation_prompt", kFlag},
       {"logprobs", kFlag}},
      {"messages"});
}

Json timings() {
  Json out = Json::object();
  for (const char* name :
       {"cache_n", "prompt_n", "prompt_ms", "prompt_per_token_ms", "prompt_per_second",
        "predicted_n", "predicted_ms", "predicted_per_token_ms", "predicted_per_second"})
    out[name] = kNumber;
  return shape(std::move(out));
}

Json openai_usage() {
  return shape({{"prompt_tokens", kInteger},
                {"completion_tokens", kInteger},
                {"total_tokens", kInteger},
                {"prompt_tokens_details", shape({{"cached_tokens", kInteger}})},
                {"completion_tokens_details", shape({{"reasoning_tokens", kInteger}})}});
}

Json token_list() {
  const Json token = shape({{"id", kInteger}, {"token", kText}, {"bytes", list(kInteger)}},
                           {{"logprob", kNumber},
                            {"top_logprobs", list(kObject)},
                            {"prob", kNumber},
                            {"top_probs", list(kObject)}});
  return shape({{"content", list(token)}});
}

Json openai_answer(const char* kind, Json choice) {
  return shape({{"id", kText},
                {"object", {{"const", kind}}},
                {"created", kInteger},
                {"model", kText},
                {"system_fingerprint", kText},
                {"choices", list(std::move(choice), 1)},
                {"usage", openai_usage()},
                {"timings", timings()}},
               {{"__verbose", kObject}});
}

Json chat_answer() {
  const Json call = shape({{"type", {{"const", "function"}}},
                           {"id", kText},
                           {"function", shape({{"name", kText}, {"arguments", kText}})}});
  return openai_answer(
      "chat.completion",
      shape({{"index", kInteger},
             {"finish_reason", one_of({"stop", "length", "tool_calls"})},
             {"message", shape({{"role", {{"const", "assistant"}}}, {"content", kText}},
                               {{"reasoning_content", kText}, {"tool_calls", list(call, 1)}})}},
            {{"logprobs", token_list()}}));
}

Json completion_answer() {
  return openai_answer("text_completion", shape({{"index", kInteger},
                                                 {"text", kText},
                                                 {"logprobs", either({token_list(), kNull})},
                                                 {"finish_reason", one_of({"stop", "length"})}}));
}

// Nothing is required: `response_fields` picks.
Json native_answer() {
  const Json one = {{"type", "object"},
                    {"properties",
                     {{"index", kInteger},
                      {"content", kText},
                      {"tokens", list(kInteger)},
                      {"id_slot", kInteger},
                      {"stop", {{"const", true}}},
                      {"model", kText},
                      {"tokens_predicted", kInteger},
                      {"tokens_evaluated", kInteger},
                      {"generation_settings", kObject},
                      {"prompt", kText},
                      {"has_new_line", kFlag},
                      {"truncated", kFlag},
                      {"stop_type", one_of({"none", "eos", "word", "limit"})},
                      {"stopping_word", kText},
                      {"tokens_cached", kInteger},
                      {"timings", timings()},
                      {"completion_probabilities", list(kObject)}}}};
  return either({one, list(one)});
}

Json responses_answer() {
  return shape({{"id", kText},
                {"object", {{"const", "response"}}},
                {"created_at", kInteger},
                {"completed_at", kInteger},
                {"status", one_of({"completed", "incomplete"})},
                {"error", kNull},
                {"incomplete_details", either({shape({{"reason", kText}}), kNull})},
                {"model", kText},
                {"output", list(shape({{"id", kText},
                                       {"type", one_of({"message", "reasoning", "function_call"})},
                                       {"status", one_of({"completed", "incomplete"})}}),
                                1)},
                {"usage", shape({{"input_tokens", kInteger},
                                 {"input_tokens_details", shape({{"cached_tokens", kInteger}})},
                                 {"output_tokens", kInteger},
                                 {"output_tokens_details", shape({{"reasoning_tokens", kInteger}})},
                                 {"total_tokens", kInteger}})}});
}

Json anthropic_answer() {
  return shape({{"id", kText},
                {"type", {{"const", "message"}}},
                {"role", {{"const", "assistant"}}},
                {"content", list(shape({{"type", one_of({"thinking", "text", "tool_use"})}}), 1)},
                {"model", kText},
                {"stop_reason", one_of({"end_turn", "tool_use", "max_tokens", "stop_sequence"})},
                {"stop_sequence", either({kText, kNull})},
                {"usage", shape({{"input_tokens", kInteger},
                                 {"cache_read_input_tokens", kInteger},
                                 {"cache_creation_input_tokens", kInteger},
                                 {"output_tokens", kInteger}})}});
}

using Routes = std::map<std::string, RouteDescription>;

void add_state(Routes& routes) {
  const Json ok = shape({{"status", {{"const", "ok"}}}});
  const Json model = shape({{"id", kText},
                            {"object", {{"const", "model"}}},
                            {"created", kInteger},
                            {"owned_by", kText}});
  const Json models = shape(
      {{"object", {{"const", "list"}}}, {"data", list(model, 1)}, {"models", list(kObject, 1)}});
  for (const char* path : {"GET /health", "GET /v1/health"})
    routes[path] = {"Whether the model is loaded", nullptr, ok};
  for (const char* path : {"GET /v1/models", "GET /models"})
    routes[path] = {"The model served", nullptr, models};
  routes["GET /v1/models/{id}"] = {"One model", nullptr, model};
  routes["GET /props"] = {
      "Properties of the server and defaults of requests", nullptr,
      shape({{"default_generation_settings", shape({{"params", kObject}, {"n_ctx", kInteger}})},
             {"total_slots", kInteger},
             {"model_alias", kText},
             {"model_path", kText},
             {"chat_template", kText},
             {"chat_template_caps", kObject},
             {"bos_token", kText},
             {"eos_token", kText},
             {"build_info", kText},
             {"is_sleeping", kFlag}})};
  const Json success = shape({{"success", {{"const", true}}}});
  routes["POST /props"] = {"Accepted with --props; nothing is settable yet",
                           object(Json::object(), {}), success};
  routes["GET /slots"] = {
      "State of the slots", nullptr,
      list(shape(
          {{"id", kInteger}, {"n_ctx", kInteger}, {"speculative", kFlag}, {"is_processing", kFlag}},
          {{"id_task", kInteger},
           {"n_prompt_tokens", kInteger},
           {"n_prompt_tokens_processed", kInteger},
           {"n_prompt_tokens_cache", kInteger},
           {"params", kObject},
           {"next_token", list(kObject)}}))};
  routes["POST /slots/{id}"] = {
      "Save, restore or erase a slot (?action=); to erase needs no body",
      object({{"filename", {{"type", "string"}, {"pattern", "^[A-Za-z0-9_-]{1,40}$"}}}}, {}),
      shape({{"id_slot", kInteger}}, {{"filename", kText},
                                      {"n_saved", kInteger},
                                      {"n_written", kInteger},
                                      {"n_restored", kInteger},
                                      {"n_read", kInteger},
                                      {"n_erased", kInteger},
                                      {"timings", kObject}}),
      false, false};
  routes["GET /metrics"] = {"Prometheus metrics", nullptr, kText};
  const Json nothing = {{"type", "array"}, {"maxItems", 0}};
  routes["GET /lora-adapters"] = {"Always empty", nullptr, nothing};
  routes["POST /lora-adapters"] = {"Accepts an empty list", nothing, success};
  routes["GET /openapi.json"] = {"This description", nullptr, kObject};
}

void add_text(Routes& routes, const Json& token, const Json& chat) {
  const Json piece = shape({{"id", kInteger}, {"piece", either({kText, list(integer(0, 255))})}});
  routes["POST /tokenize"] = {"Text to tokens",
                              object({{"content", either({kText, list(either({kText, token}))})},
                                      {"add_special", kFlag},
                                      {"parse_special", kFlag},
                                      {"with_pieces", kFlag}},
                                     {}),
                              shape({{"tokens", list(either({kInteger, piece}))}})};
  routes["POST /detokenize"] = {"Tokens to text", object({{"tokens", list(token)}}, {}),
                                shape({{"content", kText}})};
  routes["POST /apply-template"] = {"The prompt of a chat request", chat,
                                    shape({{"prompt", kText}})};
}

void add_streams(Routes& routes) {
  routes["GET /v1/stream"] = {"A kept stream again, from byte `from` on", nullptr, kObject, true};
  routes["DELETE /v1/stream"] = {"Ends and forgets a kept stream", nullptr,
                                 shape({{"success", {{"const", true}}}})};
  routes["POST /v1/streams/lookup"] = {
      "Which of these conversations have a kept stream",
      object({{"conversation_ids", list(kText)}}, {"conversation_ids"}),
      list(shape({{"conversation_id", kText}, {"is_done", kFlag}, {"total_bytes", kInteger}}))};
}

void add_chat(Routes& routes, const Json& chat) {
  const Json count =
      shape({{"object", {{"const", "response.input_tokens"}}}, {"input_tokens", kInteger}});
  const Json most = integer(1, 1 << 30);
  const Json responses =
      object({{"model", kText},
              {"input", either({kText, messages_schema({"system", "user", "assistant"})})},
              {"instructions", kText},
              {"stream", kFlag},
              {"temperature", at_most(kMost)},
              {"top_p", kNumber},
              {"max_output_tokens", most}},
             {"input"});
  const Json anthropic = object({{"model", kText},
                                 {"messages", messages_schema({"user", "assistant"})},
                                 {"system", kText},
                                 {"max_tokens", most},
                                 {"temperature", at_most(kMost)},
                                 {"top_p", kNumber},
                                 {"top_k", clamped_integer()},
                                 {"stop_sequences", texts(256)},
                                 {"stream", kFlag}},
                                {"messages"});
  const Json control =
      object({{"id", kText}, {"action", one_of({"reasoning_end"})}}, {"id", "action"});
  for (const std::string prefix : {"/v1", ""}) {
    const std::string path = "POST " + prefix + "/chat/completions";
    routes[path] = {"Chat completion", chat, chat_answer(), true};
    routes[path + "/input_tokens"] = {"Tokens of a chat request", chat, count};
    routes[path + "/control"] = {"Ends the thinking of a running answer", control,
                                 shape({{"success", kFlag}}, {{"message", kText}})};
    const std::string other = "POST " + prefix + "/responses";
    routes[other] = {"OpenAI responses", responses, responses_answer(), true};
    routes[other + "/input_tokens"] = {"Tokens of a responses request", responses, count};
  }
  routes["POST /v1/messages"] = {"Anthropic messages", anthropic, anthropic_answer(), true};
  routes["POST /v1/messages/count_tokens"] = {"Tokens of a messages request", anthropic,
                                              shape({{"input_tokens", kInteger}})};
}

void add_completion(Routes& routes, const Service& service, const Json& token) {
  const Json prompt = either({kText, list(either({kText, token}))});
  const Json openai = with_sampling(service, {{"model", kText}, {"prompt", prompt}}, {"prompt"});
  Json native = with_sampling(
      service,
      {{"model", kText}, {"prompt", prompt}, {"response_fields", either({kText, list(kText)})}},
      {"prompt"});
  routes["POST /v1/completions"] = {"Text completion", openai, completion_answer(), true};
  for (const char* path : {"POST /completion", "POST /completions"})
    routes[path] = {"Native completion", native, native_answer(), true};
  routes["POST /infill"] = {
      "Fill in the middle",
      with_sampling(service, {{"input_prefix", kText}, {"input_suffix", kText}, {"prompt", kText}},
                    {"input_prefix", "input_suffix"}),
      native_answer(), true};
}

void add_embedding(Routes& routes, const Json& token) {
  const Json some_text = {{"type", "string"}, {"minLength", 1}};
  const Json input = either({some_text, list(either({some_text, token}), 1)});
  const Json request = object({{"input", input},
                               {"encoding_format", one_of({"float", "base64"})},
                               {"embd_normalize", integer(-1, 64)}},
                              {"input"});
  const Json row = either({list(kNumber), kText});
  routes["POST /v1/embeddings"] = {
      "Embeddings", request,
      shape({{"object", {{"const", "list"}}},
             {"model", kText},
             {"data", list(shape({{"object", {{"const", "embedding"}}},
                                  {"index", kInteger},
                                  {"embedding", row}}),
                           1)},
             {"usage", shape({{"prompt_tokens", kInteger}, {"total_tokens", kInteger}})}})};
  for (const char* path : {"POST /embeddings", "POST /embedding"})
    routes[path] = {"Embeddings, native form", request,
                    list(shape({{"index", kInteger}, {"embedding", list(row)}}), 1)};
  for (const char* path :
       {"POST /rerank", "POST /reranking", "POST /v1/rerank", "POST /v1/reranking"})
    routes[path] = {"Refused: needs a ranking model", kObject};
}

}  // namespace

std::map<std::string, RouteDescription> route_descriptions(const Service& service) {
  const Json token = integer(0, service.vocabulary_size() - 1);
  const Json chat = chat_request(service);
  Routes routes;
  add_state(routes);
  add_text(routes, token, chat);
  add_streams(routes);
  add_chat(routes, chat);
  add_completion(routes, service, token);
  add_embedding(routes, token);
  return routes;
}

}  // namespace veloce::serve

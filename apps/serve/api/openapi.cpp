// The OpenAPI description, made of what is registered: a route without an entry here is listed with
// its path alone, and the test of the description finds it.
#include <algorithm>
#include <map>

#include "api/routes.hpp"
#include "scheduler/scheduler.hpp"
#include "veloce/config.hpp"

namespace veloce::serve {
namespace {

struct Entry {
  const char* summary;
  Json body;  // schema of the request's body; null: none
  bool stream = false;
};

// What need not be there may be null as well.
Json object(Json properties, std::vector<std::string> required) {
  for (auto& [name, schema] : properties.items()) {
    if (std::find(required.begin(), required.end(), name) == required.end() && !schema.empty())
      schema["nullable"] = true;
  }
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

const Json kText = {{"type", "string"}};
const Json kFlag = {{"type", "boolean"}};

Json sampling_fields() {
  const Json number = {{"type", "number"}, {"minimum", -1e30}, {"maximum", 1e30}};
  const auto integer = [](std::int64_t low) {
    return Json{{"type", "integer"}, {"minimum", low}, {"maximum", 2147483647}};
  };
  return {{"stream", kFlag},
          {"max_tokens", integer(-1)},
          {"temperature", number},
          {"top_p", number},
          {"top_k", integer(0)},
          {"min_p", number},
          {"seed", integer(-1)},
          {"n", {{"type", "integer"}, {"minimum", 1}, {"maximum", 4}}},
          {"stop", {{"oneOf", {kText, {{"type", "array"}, {"items", kText}, {"maxItems", 16}}}}}},
          {"cache_prompt", kFlag},
          {"grammar", kText},
          {"presence_penalty", number},
          {"frequency_penalty", number},
          {"timings_per_token", kFlag}};
}

Json with_sampling(Json properties, std::vector<std::string> required) {
  properties.update(sampling_fields());
  return object(std::move(properties), std::move(required));
}

Json messages_schema(const std::vector<std::string>& roles) {
  return {{"type", "array"},
          {"minItems", 1},
          {"items", object({{"role", {{"type", "string"}, {"enum", roles}}}, {"content", kText}},
                           {"role", "content"})}};
}

std::map<std::string, Entry> entries(const Service& service) {
  const Json token = {
      {"type", "integer"}, {"minimum", 0}, {"maximum", service.vocabulary_size() - 1}};
  const Json some_text = {{"type", "string"}, {"minLength", 1}};
  const Json prompt = {
      {"oneOf",
       {some_text,
        {{"type", "array"}, {"items", {{"oneOf", {some_text, token}}}}, {"minItems", 1}}}}};
  const Json most = {{"type", "integer"}, {"minimum", 1}, {"maximum", 1 << 30}};
  const Json chat = with_sampling(
      {{"model", kText}, {"messages", messages_schema({"system", "user", "assistant", "tool"})}},
      {"messages"});
  const Json responses = object({{"model", kText},
                                 {"input", kText},
                                 {"instructions", kText},
                                 {"stream", kFlag},
                                 {"max_output_tokens", most}},
                                {"input"});
  const Json anthropic = object({{"model", kText},
                                 {"messages", messages_schema({"user", "assistant"})},
                                 {"max_tokens", most},
                                 {"stream", kFlag}},
                                {"messages"});
  const Json embedding = object(
      {{"input", prompt}, {"encoding_format", {{"type", "string"}, {"enum", {"float", "base64"}}}}},
      {"input"});
  const Json completion = with_sampling({{"model", kText}, {"prompt", prompt}}, {"prompt"});
  return {
      {"GET /health", {"Whether the model is loaded", nullptr}},
      {"GET /v1/health", {"Whether the model is loaded", nullptr}},
      {"GET /v1/models", {"The model served", nullptr}},
      {"GET /models", {"The model served", nullptr}},
      {"GET /v1/models/{id}", {"One model", nullptr}},
      {"GET /props", {"Properties of the server and defaults of requests", nullptr}},
      {"POST /props",
       {"Accepted with --props; nothing is settable yet", object(Json::object(), {})}},
      {"GET /slots", {"State of the slots", nullptr}},
      {"POST /slots/{id}",
       {"Save, restore or erase a slot (?action=)",
        object({{"filename", {{"type", "string"}, {"pattern", "^[A-Za-z0-9_-]{1,40}$"}}}},
               {"filename"})}},
      {"GET /metrics", {"Prometheus metrics", nullptr}},
      {"GET /lora-adapters", {"Always empty", nullptr}},
      {"POST /lora-adapters",
       {"Accepts an empty list", {{"type", "array"}, {"items", Json::object()}}}},
      {"GET /v1/stream", {"A kept stream again, from byte `from` on (?conv_id=, from=)", nullptr}},
      {"DELETE /v1/stream", {"Ends and forgets a kept stream (?conv_id=)", nullptr}},
      {"POST /v1/streams/lookup",
       {"Which of these conversations have a kept stream",
        object({{"conversation_ids", {{"type", "array"}, {"items", kText}}}},
               {"conversation_ids"})}},
      {"POST /v1/chat/completions/control",
       {"Ends the thinking of a running answer",
        object({{"id", kText}, {"action", {{"type", "string"}, {"enum", {"reasoning_end"}}}}},
               {"id", "action"})}},
      {"POST /chat/completions/control",
       {"Ends the thinking of a running answer",
        object({{"id", kText}, {"action", {{"type", "string"}, {"enum", {"reasoning_end"}}}}},
               {"id", "action"})}},
      {"GET /openapi.json", {"This description", nullptr}},
      {"POST /v1/chat/completions", {"Chat completion", chat, true}},
      {"POST /chat/completions", {"Chat completion", chat, true}},
      {"POST /v1/chat/completions/input_tokens", {"Tokens of a chat request", chat}},
      {"POST /chat/completions/input_tokens", {"Tokens of a chat request", chat}},
      {"POST /apply-template", {"The prompt of a chat request", chat}},
      {"POST /v1/completions", {"Text completion", completion, true}},
      {"POST /completion", {"Native completion", completion, true}},
      {"POST /completions", {"Native completion", completion, true}},
      {"POST /infill",
       {"Fill in the middle",
        with_sampling({{"input_prefix", kText}, {"input_suffix", kText}},
                      {"input_prefix", "input_suffix"}),
        true}},
      {"POST /tokenize",
       {"Text to tokens", object({{"content", kText},
                                  {"add_special", kFlag},
                                  {"parse_special", kFlag},
                                  {"with_pieces", kFlag}},
                                 {})}},
      {"POST /detokenize",
       {"Tokens to text", object({{"tokens", {{"type", "array"}, {"items", token}}}}, {})}},
      {"POST /v1/responses", {"OpenAI responses", responses, true}},
      {"POST /responses", {"OpenAI responses", responses, true}},
      {"POST /v1/responses/input_tokens", {"Tokens of a responses request", responses}},
      {"POST /responses/input_tokens", {"Tokens of a responses request", responses}},
      {"POST /v1/messages", {"Anthropic messages", anthropic, true}},
      {"POST /v1/messages/count_tokens", {"Tokens of a messages request", anthropic}},
      {"POST /v1/embeddings", {"Embeddings", embedding}},
      {"POST /embeddings", {"Embeddings, native form", embedding}},
      {"POST /embedding", {"Embeddings, native form", embedding}},
      {"POST /rerank", {"Refused: needs a ranking model", Json::object()}},
      {"POST /reranking", {"Refused: needs a ranking model", Json::object()}},
      {"POST /v1/rerank", {"Refused: needs a ranking model", Json::object()}},
      {"POST /v1/reranking", {"Refused: needs a ranking model", Json::object()}}};
}

Json error_answer(const char* description) {
  return {
      {"description", description},
      {"content", {{"application/json", {{"schema", {{"$ref", "#/components/schemas/Error"}}}}}}}};
}

Json operation(const Entry& entry, const std::string& path, int slots) {
  Json content = {
      {path == "/metrics" ? "text/plain" : "application/json", {{"schema", Json::object()}}}};
  if (entry.stream) content["text/event-stream"] = {{"schema", Json::object()}};
  Json out = {
      {"summary", entry.summary},
      {"responses", {{"200", {{"description", "The answer"}, {"content", std::move(content)}}}}}};
  for (const auto& [code, what] :
       {std::pair{"400", "The request is wrong; the message names the field"},
        {"401", "The API key is missing or wrong"},
        {"404", "There is no such thing"},
        {"413", "The body is too large"},
        {"415", "The body's encoding is not supported"},
        {"501", "Not enabled, or not something this model does"},
        {"503", "Loading, shutting down or the queue is full"}}) {
    out["responses"][code] = error_answer(what);
  }
  if (!entry.body.is_null())
    out["requestBody"] = {{"required", true},
                          {"content", {{"application/json", {{"schema", entry.body}}}}}};
  if (path.find("{id}") != std::string::npos) {
    out["parameters"] =
        Json::array({{{"name", "id"}, {"in", "path"}, {"required", true}, {"schema", kText}}});
  }
  if (path == "/v1/stream") {
    out["parameters"] = Json::array(
        {{{"name", "conv_id"}, {"in", "query"}, {"required", true}, {"schema", kText}},
         {{"name", "from"}, {"in", "query"}, {"schema", {{"type", "integer"}, {"minimum", 0}}}}});
    if (entry.body.is_null())
      out["responses"]["200"]["content"]["text/event-stream"] = {{"schema", Json::object()}};
  }
  if (path == "/slots/{id}") {
    out["parameters"][0]["schema"] = {{"type", "integer"}, {"minimum", 0}, {"maximum", slots - 1}};
    out["parameters"].push_back(
        {{"name", "action"},
         {"in", "query"},
         {"required", true},
         {"schema", {{"type", "string"}, {"enum", {"save", "restore", "erase"}}}}});
  }
  return out;
}

}  // namespace

void add_openapi_route(http::HttpServer& server, ServiceOf service) {
  server.route(
      "GET", "/openapi.json",
      [&server, service](http::Exchange& exchange) {
        const std::map<std::string, Entry> known = entries(service());
        Json paths = Json::object();
        for (const auto& [method, path] : server.listed_routes()) {
          if (path == "/" || path.starts_with("/ui/")) continue;  // the browser's pages are no API
          const auto found = known.find(method + ' ' + path);
          std::string verb;
          for (const char c : method)
            verb += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
          paths[path][verb] = operation(found == known.end() ? Entry{"", nullptr} : found->second,
                                        path, service().scheduler().slot_count());
        }
        exchange.reply_json(
            {{"openapi", "3.0.3"},
             {"info", {{"title", "veloce-serve"}, {"version", VELOCE_VERSION}}},
             {"paths", std::move(paths)},
             {"components",
              {{"schemas",
                {{"Error", object({{"error", object({{"code", {{"type", "integer"}}},
                                                     {"message", kText},
                                                     {"type", kText}},
                                                    {"code", "message", "type"})}},
                                  {"error"})}}},
               {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}});
      },
      {false, true});
}

}  // namespace veloce::serve

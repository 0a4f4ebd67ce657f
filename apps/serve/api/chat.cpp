// OpenAI's /v1/chat/completions (specs/server.md 4), and the routes that only look at its prompt.
#include "api/answer.hpp"
#include "api/chat_plan.hpp"
#include "api/routes.hpp"
#include "api/run.hpp"
#include "running_chats.hpp"
#include "stream_sessions.hpp"

namespace veloce::serve {
namespace {

struct Envelope {
  std::string id = random_name("chatcmpl-");
  std::int64_t created = unix_seconds();
  std::string model;

  Json wrap(const char* object, Json choices) const {
    return {{"id", id},
            {"object", object},
            {"created", created},
            {"model", model},
            {"system_fingerprint", build_info()},
            {"choices", std::move(choices)}};
  }
};

Json message_json(const ChatMessage& message) {
  Json out = {{"role", "assistant"}, {"content", message.content}};
  if (!message.reasoning.empty()) out["reasoning_content"] = message.reasoning;
  if (message.calls.empty()) return out;
  Json calls = Json::array();
  for (const ToolCall& call : message.calls) {
    calls.push_back({{"type", "function"},
                     {"id", call.id},
                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  out["tool_calls"] = std::move(calls);
  return out;
}

Json delta_json(const ChatDelta& delta) {
  switch (delta.kind) {
    case ChatDelta::Kind::kReasoning:
      return {{"reasoning_content", delta.text}};
    case ChatDelta::Kind::kContent:
      return {{"content", delta.text}};
    case ChatDelta::Kind::kToolCall:
      return {{"tool_calls",
               {{{"index", delta.tool},
                 {"id", delta.id},
                 {"type", "function"},
                 {"function", {{"name", delta.name}, {"arguments", ""}}}}}}};
    case ChatDelta::Kind::kToolArguments:
      break;
  }
  return {{"tool_calls", {{{"index", delta.tool}, {"function", {{"arguments", delta.text}}}}}}};
}

class OpenAiChatStream final : public ChatStream {
 public:
  OpenAiChatStream(Envelope envelope, const ChatPlan& plan)
      : ChatStream(plan.output, plan.settings.choices),
        envelope_(std::move(envelope)),
        settings_(plan.settings),
        params_(plan.params),
        usage_(plan.settings.choices) {}

 private:
  Json chunk(int index, Json delta, Json reason = nullptr) const {
    return envelope_.wrap(
        "chat.completion.chunk",
        {{{"index", index}, {"delta", std::move(delta)}, {"finish_reason", std::move(reason)}}});
  }

  void on_start(const Event& event, http::EventWriter& writer) override {
    writer.data(chunk(event.index, {{"role", "assistant"}, {"content", nullptr}}));
  }

  void on_progress(const Event& event, http::EventWriter& writer) override {
    Json out = chunk(event.index, {{"role", "assistant"}, {"content", nullptr}});
    out["prompt_progress"] = prompt_progress_json(event.progress);
    writer.data(out);
  }

  void on_deltas(const Event& event, const std::vector<ChatDelta>& deltas,
                 http::EventWriter& writer) override {
    std::vector<Json> chunks;
    for (const ChatDelta& delta : deltas) chunks.push_back(chunk(event.index, delta_json(delta)));
    // Log-probabilities and times ride on the last delta.
    if (chunks.empty() && !event.probabilities.empty())
      chunks.push_back(chunk(event.index, {{"content", ""}}));
    if (chunks.empty()) return;
    if (params_.report_probabilities && !event.probabilities.empty()) {
      chunks.back()["choices"][0]["logprobs"] = {
          {"content", probabilities_json(event.probabilities, params_.after_sampling)}};
    }
    if (params_.timings_per_token) chunks.back()["timings"] = timings_json(event.progress);
    for (const Json& out : chunks) writer.data(out);
  }

  void on_finish(const Event& event, const ChatMessage& message,
                 http::EventWriter& writer) override {
    usage_.add(event.index, event.progress);
    timings_ = timings_json(event.progress);
    Json out = chunk(event.index, Json::object(), chat_finish_reason(event.reason, message));
    if (++finished_ == settings_.choices && !settings_.include_usage) out["timings"] = timings_;
    writer.data(out);
  }

  void end(http::EventWriter& writer) override {
    if (settings_.include_usage) {
      Json out = envelope_.wrap("chat.completion.chunk", Json::array());
      out["usage"] = usage_.openai();
      out["timings"] = timings_;
      writer.data(out);
    }
    writer.done();
  }

  Envelope envelope_;
  RequestSettings settings_;
  GenerationParams params_;
  UsageCounter usage_;
  Json timings_;
  int finished_ = 0;
};

// The name under which the stream is to be kept; empty: it is not.
std::string conversation_of(const http::Exchange& exchange) {
  const std::string name = exchange.header("X-Conversation-Id");
  if (name.size() > 256)
    throw ApiError::invalid("the header X-Conversation-Id is longer than 256 bytes");
  return name;
}

void chat(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const ChatPlan plan = plan_chat(json, service);
  const std::string conversation = plan.settings.stream ? conversation_of(exchange) : std::string();
  if (!conversation.empty()) service.sessions().remove(exchange.client(), conversation);
  auto run = Run::start(exchange, service,
                        make_choices(exchange, service, plan.settings, {plan.prompt}, plan.params));
  Envelope envelope;
  envelope.model = service.model_id();
  if (plan.settings.reasoning_control) {
    service.running_chats().add(envelope.id, exchange.client(), run->channel());
  }
  if (!conversation.empty()) {
    return Run::stream_kept(std::move(run), exchange, service, conversation,
                            std::make_shared<OpenAiChatStream>(envelope, plan),
                            plan.settings.ping_seconds);
  }
  if (plan.settings.stream) {
    return Run::stream(std::move(run), exchange, std::make_shared<OpenAiChatStream>(envelope, plan),
                       plan.settings.ping_seconds);
  }
  UsageCounter usage(plan.settings.choices);
  Json choices = Json::array(), timings, verbose;
  for (const ChoiceResult& result : run->collect()) {
    usage.add(result.last.index, result.last.progress);
    if (timings.is_null()) timings = timings_json(result.last.progress);
    ChatReader reader(plan.output, false);
    reader.feed(result.text, true);
    Json choice = {{"index", result.last.index},
                   {"finish_reason", chat_finish_reason(result.last.reason, reader.message())},
                   {"message", message_json(reader.message())}};
    if (plan.params.report_probabilities) {
      choice["logprobs"] = {
          {"content", probabilities_json(result.probabilities, plan.params.after_sampling)}};
    }
    if (plan.params.verbose && verbose.is_null())
      verbose = native_answer_json(service, plan.params, plan.prompt, result);
    choices.push_back(std::move(choice));
  }
  Json answer = envelope.wrap("chat.completion", std::move(choices));
  answer["usage"] = usage.openai();
  answer["timings"] = std::move(timings);
  if (!verbose.is_null()) answer["__verbose"] = std::move(verbose);
  exchange.reply_json(answer);
}

// Acts on a running answer (specs/server.md 4.9).
void control(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const Fields body(json);
  const std::string id = body.required_string("id");
  [[maybe_unused]] const Json& present = body.required("action");
  [[maybe_unused]] const auto action = body.choice("action", {"reasoning_end"});
  const auto channel = service.running_chats().find(id, exchange.client());
  if (!channel) {
    return exchange.reply_json(
        {{"success", false},
         {"message",
          "no running answer of that id takes control; ask with \"reasoning_control\": true"}});
  }
  channel->end_reasoning();
  exchange.reply_json({{"success", true}});
}

}  // namespace

void add_chat_routes(http::HttpServer& server, ServiceOf service) {
  for (const char* prefix : {"/v1", ""}) {
    const std::string base = std::string(prefix) + "/chat/completions";
    server.route("POST", base, [service](http::Exchange& exchange) { chat(exchange, service()); });
    server.route("POST", base + "/control",
                 [service](http::Exchange& exchange) { control(exchange, service()); });
    server.route("POST", base + "/input_tokens", [service](http::Exchange& exchange) {
      const ChatPlan plan = plan_chat(exchange.json_body(), service(), false);
      exchange.reply_json(
          {{"object", "response.input_tokens"}, {"input_tokens", plan.prompt.size()}});
    });
  }
  server.route("POST", "/apply-template", [service](http::Exchange& exchange) {
    exchange.reply_json(
        {{"prompt", plan_chat(exchange.json_body(), service(), false).prompt_text}});
  });
}

}  // namespace veloce::serve

// OpenAI's /v1/responses (specs/server.md 6): turned into a chat request, and the answer turned
// back.
#include "api/answer.hpp"
#include "api/chat_plan.hpp"
#include "api/responses_request.hpp"
#include "api/routes.hpp"
#include "api/run.hpp"
#include "base/log.hpp"

namespace veloce::serve {
namespace {

struct Envelope {
  std::string id = random_name("resp_"), model;
  std::int64_t created = unix_seconds();
  Json request;  // fields of the request that the answer repeats

  Json wrap(const char* status, Json output) const {
    Json out = {{"id", id},         {"object", "response"},       {"created_at", created},
                {"status", status}, {"error", nullptr},           {"incomplete_details", nullptr},
                {"model", model},   {"output", std::move(output)}};
    for (const auto& [key, value] : request.items()) out[key] = value;
    return out;
  }
};

Json repeated_fields(const Fields& body) {
  Json out = {{"instructions", nullptr},
              {"max_output_tokens", nullptr},
              {"metadata", Json::object()},
              {"parallel_tool_calls", true},
              {"previous_response_id", nullptr},
              {"temperature", nullptr},
              {"top_p", nullptr},
              {"tool_choice", "auto"},
              {"tools", Json::array()},
              {"store", false}};
  for (const auto& [key, value] : out.items()) {
    if (const Json* given = body.find(key)) out[key] = *given;
  }
  out["store"] = false;
  return out;
}

Json usage_json(const Progress& p) {
  return {{"input_tokens", p.prompt},
          {"input_tokens_details", {{"cached_tokens", p.cached}}},
          {"output_tokens", p.generated},
          {"output_tokens_details", {{"reasoning_tokens", p.reasoning}}},
          {"total_tokens", p.prompt + p.generated}};
}

Json reasoning_item(const std::string& id, const std::string& text, const char* status) {
  Json content = Json::array();
  if (!text.empty()) content.push_back({{"type", "reasoning_text"}, {"text", text}});
  return {{"id", id},
          {"type", "reasoning"},
          {"summary", Json::array()},
          {"content", std::move(content)},
          {"encrypted_content", ""},
          {"status", status}};
}

Json text_part(const std::string& text, Json logprobs = Json::array()) {
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", Json::array()},
          {"logprobs", std::move(logprobs)}};
}

Json message_item(const std::string& id, Json content, const char* status) {
  return {{"id", id},
          {"type", "message"},
          {"role", "assistant"},
          {"status", status},
          {"content", std::move(content)}};
}

Json call_item(const std::string& id, const ToolCall& call, const char* status) {
  return {{"id", id},           {"type", "function_call"}, {"status", status},
          {"call_id", call.id}, {"name", call.name},       {"arguments", call.arguments}};
}

Json finished(const Envelope& envelope, const Event& event, Json output) {
  const bool cut = event.reason == StopReason::kLimit;
  Json out = envelope.wrap(cut ? "incomplete" : "completed", std::move(output));
  out["completed_at"] = unix_seconds();
  if (cut) out["incomplete_details"] = {{"reason", "max_output_tokens"}};
  out["usage"] = usage_json(event.progress);
  return out;
}

// Writes the events in the order in which clients expect them; one item is open at a time.
class ResponseStream final : public ChatStream {
 public:
  ResponseStream(Envelope envelope, const ChatPlan& plan)
      : ChatStream(plan.output, 1), envelope_(std::move(envelope)) {}

 private:
  using Kind = ChatDelta::Kind;
  enum class Item { kNone, kReasoning, kMessage, kCall };

  void send(http::EventWriter& writer, const char* name, const Json& data) {
    Json out = {{"type", name}, {"sequence_number", sequence_++}};
    out.update(data);
    writer.event(name, out);
  }
  Json place(Json more) const {
    Json out = {{"item_id", item_id_}, {"output_index", static_cast<int>(output_.size())}};
    out.update(more);
    return out;
  }

  void on_start(const Event&, http::EventWriter& writer) override {
    const Json response = {{"response", envelope_.wrap("in_progress", Json::array())}};
    send(writer, "response.created", response);
    send(writer, "response.in_progress", response);
  }

  void open(Item item, const ChatDelta& delta, http::EventWriter& writer) {
    if (item_ == item && delta.kind != Kind::kToolCall) return;
    close(writer);
    item_ = item;
    text_.clear();
    logprobs_ = Json::array();
    Json shown;
    if (item == Item::kReasoning) {
      item_id_ = random_name("rs_");
      shown = reasoning_item(item_id_, "", "in_progress");
    } else if (item == Item::kMessage) {
      item_id_ = random_name("msg_");
      shown = message_item(item_id_, Json::array(), "in_progress");
    } else {
      item_id_ = random_name("fc_");
      call_ = {delta.id, delta.name, {}};
      shown = call_item(item_id_, call_, "in_progress");
    }
    send(writer, "response.output_item.added",
         {{"output_index", output_.size()}, {"item", std::move(shown)}});
    if (item == Item::kMessage)
      send(writer, "response.content_part.added",
           place({{"content_index", 0}, {"part", text_part("")}}));
  }

  void close(http::EventWriter& writer, const char* status = "completed") {
    Json item;
    switch (item_) {
      case Item::kNone:
        return;
      case Item::kReasoning:
        send(writer, "response.reasoning_text.done",
             place({{"content_index", 0}, {"text", text_}}));
        item = reasoning_item(item_id_, text_, status);
        break;
      case Item::kMessage:
        send(writer, "response.output_text.done",
             place({{"content_index", 0}, {"text", text_}, {"logprobs", logprobs_}}));
        send(writer, "response.content_part.done",
             place({{"content_index", 0}, {"part", text_part(text_, logprobs_)}}));
        item = message_item(item_id_, {text_part(text_, logprobs_)}, status);
        break;
      case Item::kCall:
        call_.arguments = text_;
        send(writer, "response.function_call_arguments.done",
             place({{"name", call_.name}, {"arguments", text_}}));
        item = call_item(item_id_, call_, status);
        break;
    }
    send(writer, "response.output_item.done", {{"output_index", output_.size()}, {"item", item}});
    output_.push_back(std::move(item));
    item_ = Item::kNone;
  }

  void on_deltas(const Event& event, const std::vector<ChatDelta>& deltas,
                 http::EventWriter& writer) override {
    // Those of tokens whose text is still held back ride on the next piece.
    for (Json& token : probabilities_json(event.probabilities, false))
      waiting_.push_back(std::move(token));
    for (const ChatDelta& delta : deltas) {
      const Item item = delta.kind == Kind::kReasoning ? Item::kReasoning
                        : delta.kind == Kind::kContent ? Item::kMessage
                                                       : Item::kCall;
      open(item, delta, writer);
      if (delta.kind == Kind::kToolCall) continue;
      text_ += delta.text;
      if (item == Item::kReasoning)
        send(writer, "response.reasoning_text.delta",
             place({{"content_index", 0}, {"delta", delta.text}}));
      if (item == Item::kMessage) {
        const Json logprobs = std::exchange(waiting_, Json::array());
        logprobs_.insert(logprobs_.end(), logprobs.begin(), logprobs.end());
        send(writer, "response.output_text.delta",
             place({{"content_index", 0}, {"delta", delta.text}, {"logprobs", logprobs}}));
      }
      if (item == Item::kCall)
        send(writer, "response.function_call_arguments.delta", place({{"delta", delta.text}}));
    }
  }

  void on_finish(const Event& event, const ChatMessage&, http::EventWriter& writer) override {
    if (item_ == Item::kNone && output_.empty()) open(Item::kMessage, {}, writer);
    // Of tokens that were blanks at the end, which nobody is told of.
    if (item_ == Item::kMessage)
      logprobs_.insert(logprobs_.end(), waiting_.begin(), waiting_.end());
    close(writer, event.reason == StopReason::kLimit ? "incomplete" : "completed");
    const char* name =
        event.reason == StopReason::kLimit ? "response.incomplete" : "response.completed";
    send(writer, name, {{"response", finished(envelope_, event, output_)}});
  }

  void end(http::EventWriter&) override {}
  void on_error(const ApiError& error, http::EventWriter& writer) override {
    Json response = envelope_.wrap("failed", output_);
    response["error"] = {{"code", "server_error"}, {"message", error.message}};
    send(writer, "response.failed", {{"response", std::move(response)}});
  }

  Envelope envelope_;
  int sequence_ = 0;
  Item item_ = Item::kNone;
  std::string item_id_, text_;
  ToolCall call_;
  Json output_ = Json::array();
  Json waiting_ = Json::array(), logprobs_ = Json::array();  // not yet sent; of the open message
};

Json output_items(const ChatMessage& message, Json logprobs, bool cut) {
  Json output = Json::array();
  if (!message.reasoning.empty())
    output.push_back(reasoning_item(random_name("rs_"), message.reasoning, "completed"));
  if (!message.content.empty() || message.calls.empty()) {
    output.push_back(message_item(random_name("msg_"),
                                  {text_part(message.content, std::move(logprobs))}, "completed"));
  }
  for (const ToolCall& call : message.calls)
    output.push_back(call_item(random_name("fc_"), call, "completed"));
  if (cut && !output.empty()) output.back()["status"] = "incomplete";
  return output;
}

void respond(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const Fields body(json);
  const ChatPlan plan = plan_chat(chat_request_of_responses(body, exchange.id()), service);
  Envelope envelope;
  envelope.model = service.model_id();
  envelope.request = repeated_fields(body);
  auto run = Run::start(exchange, service,
                        make_choices(exchange, service, plan.settings, {plan.prompt}, plan.params));
  if (plan.settings.stream) {
    return Run::stream(std::move(run), exchange,
                       std::make_shared<ResponseStream>(std::move(envelope), plan),
                       plan.settings.ping_seconds);
  }
  const ChoiceResult result = run->collect().at(0);
  ChatReader reader(plan.output, false);
  reader.feed(result.text, true);
  exchange.reply_json(
      finished(envelope, result.last,
               output_items(reader.message(), probabilities_json(result.probabilities, false),
                            result.last.reason == StopReason::kLimit)));
}

}  // namespace

void add_responses_routes(http::HttpServer& server, ServiceOf service) {
  for (const char* prefix : {"/v1", ""}) {
    const std::string base = std::string(prefix) + "/responses";
    server.route("POST", base,
                 [service](http::Exchange& exchange) { respond(exchange, service()); });
    server.route("POST", base + "/input_tokens", [service](http::Exchange& exchange) {
      const Json json = exchange.json_body();
      const ChatPlan plan =
          plan_chat(chat_request_of_responses(Fields(json), exchange.id()), service(), false);
      exchange.reply_json(
          {{"object", "response.input_tokens"}, {"input_tokens", plan.prompt.size()}});
    });
  }
}

}  // namespace veloce::serve

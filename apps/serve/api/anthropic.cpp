// Anthropic's /v1/messages (specs/server.md 7): turned into a chat request, and the answer turned
// back.
#include <algorithm>

#include "api/answer.hpp"
#include "api/chat_plan.hpp"
#include "api/routes.hpp"
#include "api/run.hpp"

namespace veloce::serve {
namespace {

// --- Request
// ---------------------------------------------------------------------------------------------------------

// A client puts a stamp that changes with every request in front of its system prompt; left in, no
// prefix is ever reused.
std::string without_stamp(std::string text) {
  if (!text.starts_with("x-anthropic-billing-header:")) return text;
  const std::size_t at = text.find("cch=");
  if (at == std::string::npos) return text;
  const std::size_t end = text.find(';', at);
  if (end != std::string::npos && end - at <= 16) text.replace(at + 4, end - at - 4, "00000");
  return text;
}

std::string system_text(const Fields& body) {
  const Json* system = body.find("system");
  if (!system) return {};
  if (system->is_string()) return without_stamp(system->get<std::string>());
  if (!system->is_array())
    body.wrong_type("system", "a string or an array of text blocks", *system);
  std::string out;
  for (std::size_t i = 0; i < system->size(); ++i) {
    const std::string name = "system[" + std::to_string(i) + ']';
    if (!(*system)[i].is_object()) throw_field(name, "must be an object");
    const Fields block((*system)[i], name + '.');
    if (block.required_string("type") != "text") block.fail("type", "must be 'text'");
    out += (out.empty() ? "" : "\n") + without_stamp(block.required_string("text"));
  }
  return out;
}

// Text of a tool's result: a string or text blocks.
std::string result_text(const Fields& block) {
  const Json* content = block.find("content");
  if (!content) return {};
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) block.wrong_type("content", "a string or an array of blocks", *content);
  std::string out;
  for (std::size_t i = 0; i < content->size(); ++i) {
    const std::string name = block.name("content") + '[' + std::to_string(i) + ']';
    if (!(*content)[i].is_object()) throw_field(name, "must be an object");
    const Fields part((*content)[i], name + '.');
    const std::string type = part.required_string("type");
    if (type != "text")
      part.fail("type", "'" + type.substr(0, 60) + "': this model takes text only");
    out += (out.empty() ? "" : "\n") + part.required_string("text");
  }
  return out;
}

// Appends the chat messages that one Anthropic message comes to.
class MessageConverter {
 public:
  MessageConverter(const Fields& message, Json& out) : message_(message), out_(out) {}

  void convert() {
    [[maybe_unused]] const Json& present = message_.required("role");
    const std::string role = *message_.choice("role", {"user", "assistant", "system"});
    const Json& content = message_.required("content");
    if (content.is_string()) {
      out_.push_back({{"role", role}, {"content", content}});
      return;
    }
    if (!content.is_array())
      message_.wrong_type("content", "a string or an array of blocks", content);
    for (std::size_t i = 0; i < content.size(); ++i) {
      const std::string name = message_.name("content") + '[' + std::to_string(i) + ']';
      if (!content[i].is_object()) throw_field(name, "must be an object");
      add_block(Fields(content[i], name + '.'));
    }
    if (!text_.empty() || !calls_.empty() || !thinking_.empty() || results_.empty()) {
      Json own = {{"role", role}, {"content", text_}};
      if (!thinking_.empty()) own["reasoning_content"] = thinking_;
      if (!calls_.empty()) own["tool_calls"] = calls_;
      out_.push_back(std::move(own));
    }
    for (Json& result : results_) out_.push_back(std::move(result));
  }

 private:
  void add_block(const Fields& block) {
    const std::string type = block.required_string("type");
    if (type == "text") {
      text_ += (text_.empty() ? "" : "\n") + block.required_string("text");
    } else if (type == "thinking") {
      thinking_ += block.required_string("thinking");
    } else if (type == "redacted_thinking") {
      // Nobody but its author can read it.
    } else if (type == "tool_use") {
      const Json* input = block.object("input");
      calls_.push_back({{"type", "function"},
                        {"id", block.required_string("id")},
                        {"function",
                         {{"name", block.required_string("name")},
                          {"arguments", dump_json(input ? *input : Json::object())}}}});
    } else if (type == "tool_result") {
      results_.push_back({{"role", "tool"},
                          {"tool_call_id", block.required_string("tool_use_id")},
                          {"content", result_text(block)}});
    } else if (type == "image" || type == "document") {
      block.fail(
          "type",
          "'" + type + "': this model takes text only (no projector is loaded, see --mmproj)");
    } else {
      block.fail("type", "unsupported block '" + type.substr(0, 60) + "'");
    }
  }

  const Fields& message_;
  Json& out_;
  std::string text_, thinking_;
  Json calls_ = Json::array();
  std::vector<Json> results_;
};

Json chat_tools(const Fields& body) {
  Json out = Json::array();
  const Json* tools = body.array("tools");
  for (std::size_t i = 0; tools && i < tools->size(); ++i) {
    const std::string name = "tools[" + std::to_string(i) + ']';
    if (!(*tools)[i].is_object()) throw_field(name, "must be an object");
    const Fields tool((*tools)[i], name + '.');
    if (const auto type = tool.string("type"); type && *type != "custom") {
      tool.fail("type", "'" + type->substr(0, 60) + "': tools of the provider are not supported");
    }
    Json function = {{"name", tool.required_string("name")}};
    if (const auto description = tool.string("description")) function["description"] = *description;
    const Json* schema = tool.object("input_schema");
    if (!schema) tool.fail("input_schema", "is required");
    function["parameters"] = *schema;
    if (const auto strict = tool.boolean("strict")) function["strict"] = *strict;
    out.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return out;
}

void convert_tool_choice(const Fields& body, Json& chat) {
  const Json* choice = body.object("tool_choice");
  if (!choice) return;
  const Fields fields(*choice, "tool_choice.");
  [[maybe_unused]] const Json& present = fields.required("type");
  const std::string type = *fields.choice("type", {"auto", "any", "tool", "none"});
  if (type == "tool") {
    chat["tool_choice"] = {{"type", "function"},
                           {"function", {{"name", fields.required_string("name")}}}};
  } else {
    chat["tool_choice"] = type == "any" ? "required" : type;
  }
  if (fields.boolean("disable_parallel_tool_use").value_or(false))
    chat["parallel_tool_calls"] = false;
}

void convert_thinking(const Fields& body, Json& chat) {
  const Json* thinking = body.object("thinking");
  if (!thinking) return;
  const Fields fields(*thinking, "thinking.");
  [[maybe_unused]] const Json& present = fields.required("type");
  const std::string type = *fields.choice("type", {"enabled", "disabled", "adaptive"});
  Json kwargs =
      chat.contains("chat_template_kwargs") ? chat["chat_template_kwargs"] : Json::object();
  if (!kwargs.contains("enable_thinking")) kwargs["enable_thinking"] = type != "disabled";
  chat["chat_template_kwargs"] = std::move(kwargs);
  if (type == "enabled")
    chat["reasoning_budget_tokens"] = fields.integer("budget_tokens", 0, 1 << 30).value_or(10000);
}

// `output_config.format`, or `output_format` as it was called first: {"type": "json_schema",
// "schema": {...}}.
void convert_output_format(const Fields& body, Json& chat) {
  const Json* config = body.object("output_config");
  const Json* format =
      config ? Fields(*config, "output_config.").object("format") : body.object("output_format");
  if (config) {
    if (const auto effort = Fields(*config, "output_config.").string("effort"))
      chat["reasoning_effort"] = *effort;
  }
  if (!format) return;
  const Fields fields(*format, config ? "output_config.format." : "output_format.");
  [[maybe_unused]] const Json& present = fields.required("type");
  [[maybe_unused]] const auto type = fields.choice("type", {"json_schema"});
  chat["response_format"] = {{"type", "json_schema"},
                             {"json_schema", {{"schema", fields.required("schema")}}}};
}

// The chat request that an Anthropic request means.
Json chat_request(const Fields& body, bool counting) {
  Json chat = Json::object();
  Json messages = Json::array();
  if (const Json* servers = body.array("mcp_servers"); servers && !servers->empty())
    body.fail("mcp_servers", "are not supported; the client must call its tools");
  if (body.has("container")) body.fail("container", "is not supported");
  if (const std::string system = system_text(body); !system.empty())
    messages.push_back({{"role", "system"}, {"content", system}});
  const Json& given = body.required("messages");
  if (!given.is_array()) body.wrong_type("messages", "an array", given);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string name = "messages[" + std::to_string(i) + ']';
    if (!given[i].is_object()) throw_field(name, "must be an object");
    const Fields message(given[i], name + '.');
    MessageConverter(message, messages).convert();
  }
  chat["messages"] = std::move(messages);
  [[maybe_unused]] const auto model =
      body.string("model");  // there is one model, whatever its name
  const auto most = body.integer("max_tokens", 1, 1 << 30);
  if (!counting) chat["max_tokens"] = most.value_or(4096);
  for (const char* field : {"temperature", "top_p", "top_k", "stream", "chat_template_kwargs",
                            "seed", "cache_prompt", "id_slot", "priority", "service_tier"}) {
    if (const Json* value = body.find(field)) chat[field] = *value;
  }
  // Anthropic's own tiers mean nothing here.
  if (chat.contains("service_tier")) chat.erase("service_tier");
  if (const auto stops = body.strings("stop_sequences")) chat["stop"] = *stops;
  if (Json tools = chat_tools(body); !tools.empty()) chat["tools"] = std::move(tools);
  convert_tool_choice(body, chat);
  convert_thinking(body, chat);
  convert_output_format(body, chat);
  return chat;
}

// --- Answer
// ----------------------------------------------------------------------------------------------------------

const char* stop_reason(const Event& event, const ChatMessage& message) {
  if (event.reason == StopReason::kLimit) return "max_tokens";
  if (message.calls_complete()) return "tool_use";
  return event.reason == StopReason::kStopString ? "stop_sequence" : "end_turn";
}

Json stop_sequence(const Event& event) {
  return event.reason == StopReason::kStopString ? Json(event.stop_string) : Json(nullptr);
}

Json usage_json(const Progress& p, int generated) {
  return {{"input_tokens", p.prompt - p.cached},
          {"cache_read_input_tokens", p.cached},
          {"cache_creation_input_tokens", 0},
          {"output_tokens", generated}};
}

Json tool_input(const std::string& arguments) {
  Result<Json> parsed = parse_json(arguments);
  return parsed && parsed->is_object() ? *std::move(parsed) : Json::object();
}

Json content_blocks(const ChatMessage& message) {
  Json blocks = Json::array();
  if (!message.reasoning.empty())
    blocks.push_back({{"type", "thinking"}, {"thinking", message.reasoning}, {"signature", ""}});
  if (!message.content.empty() || (message.calls.empty() && message.reasoning.empty())) {
    blocks.push_back({{"type", "text"}, {"text", message.content}});
  }
  for (const ToolCall& call : message.calls) {
    blocks.push_back({{"type", "tool_use"},
                      {"id", call.id},
                      {"name", call.name},
                      {"input", tool_input(call.arguments)}});
  }
  return blocks;
}

class MessageStream final : public ChatStream {
 public:
  MessageStream(const ChatPlan& plan, std::string model)
      : ChatStream(plan.output, 1), model_(std::move(model)) {}

 private:
  using Kind = ChatDelta::Kind;

  void send(http::EventWriter& writer, const char* name, Json data) {
    Json out = {{"type", name}};
    out.update(data);
    writer.event(name, out);
  }

  void on_start(const Event& event, http::EventWriter& writer) override {
    send(writer, "message_start",
         {{"message",
           {{"id", id_},
            {"type", "message"},
            {"role", "assistant"},
            {"content", Json::array()},
            {"model", model_},
            {"stop_reason", nullptr},
            {"stop_sequence", nullptr},
            {"usage", usage_json(event.progress, 0)}}}});
  }

  void close_block(http::EventWriter& writer) {
    if (!open_) return;
    if (kind_ == Kind::kReasoning) {
      send(writer, "content_block_delta",
           {{"index", block_}, {"delta", {{"type", "signature_delta"}, {"signature", ""}}}});
    }
    send(writer, "content_block_stop", {{"index", block_}});
    open_ = false;
  }

  void open_block(const ChatDelta& delta, http::EventWriter& writer) {
    const Kind wanted = delta.kind == Kind::kToolArguments ? Kind::kToolCall : delta.kind;
    if (open_ && kind_ == wanted && delta.kind != Kind::kToolCall) return;
    close_block(writer);
    open_ = true;
    kind_ = wanted;
    ++block_;
    Json block;
    if (wanted == Kind::kReasoning)
      block = {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}};
    if (wanted == Kind::kContent) block = {{"type", "text"}, {"text", ""}};
    if (wanted == Kind::kToolCall)
      block = {
          {"type", "tool_use"}, {"id", delta.id}, {"name", delta.name}, {"input", Json::object()}};
    send(writer, "content_block_start", {{"index", block_}, {"content_block", std::move(block)}});
  }

  void on_deltas(const Event&, const std::vector<ChatDelta>& deltas,
                 http::EventWriter& writer) override {
    for (const ChatDelta& delta : deltas) {
      open_block(delta, writer);
      Json piece;
      switch (delta.kind) {
        case Kind::kReasoning:
          piece = {{"type", "thinking_delta"}, {"thinking", delta.text}};
          break;
        case Kind::kContent:
          piece = {{"type", "text_delta"}, {"text", delta.text}};
          break;
        case Kind::kToolArguments:
          piece = {{"type", "input_json_delta"}, {"partial_json", delta.text}};
          break;
        case Kind::kToolCall:
          continue;
      }
      send(writer, "content_block_delta", {{"index", block_}, {"delta", std::move(piece)}});
    }
  }

  void on_finish(const Event& event, const ChatMessage& message,
                 http::EventWriter& writer) override {
    if (block_ < 0) open_block({Kind::kContent, {}, 0, {}, {}}, writer);
    close_block(writer);
    send(writer, "message_delta",
         {{"delta",
           {{"stop_reason", stop_reason(event, message)}, {"stop_sequence", stop_sequence(event)}}},
          {"usage", usage_json(event.progress, event.progress.generated)}});
  }

  void end(http::EventWriter& writer) override { send(writer, "message_stop", Json::object()); }
  void on_error(const ApiError& error, http::EventWriter& writer) override {
    writer.event("error", error.marked_body());
  }

  std::string model_, id_ = random_name("msg_");
  int block_ = -1;
  bool open_ = false;
  Kind kind_ = Kind::kContent;
};

void messages(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const ChatPlan plan = plan_chat(chat_request(Fields(json), false), service);
  auto run = Run::start(exchange, service,
                        make_choices(exchange, service, plan.settings, {plan.prompt}, plan.params));
  if (plan.settings.stream) {
    return Run::stream(std::move(run), exchange,
                       std::make_shared<MessageStream>(plan, service.model_id()),
                       plan.settings.ping_seconds);
  }
  const ChoiceResult result = run->collect().at(0);
  ChatReader reader(plan.output, false);
  reader.feed(result.text, true);
  const Progress& p = result.last.progress;
  exchange.reply_json({{"id", random_name("msg_")},
                       {"type", "message"},
                       {"role", "assistant"},
                       {"content", content_blocks(reader.message())},
                       {"model", service.model_id()},
                       {"stop_reason", stop_reason(result.last, reader.message())},
                       {"stop_sequence", stop_sequence(result.last)},
                       {"usage", usage_json(p, p.generated)}});
}

void count_tokens(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  exchange.reply_json(
      {{"input_tokens",
        plan_chat(chat_request(Fields(json), true), service, false).prompt.size()}});
}

}  // namespace

void add_anthropic_routes(http::HttpServer& server, ServiceOf service) {
  const http::HttpServer::Access access{true, true, /*marked_errors=*/true};
  server.route(
      "POST", "/v1/messages", [service](auto& e) { messages(e, service()); }, access);
  server.route(
      "POST", "/v1/messages/count_tokens", [service](auto& e) { count_tokens(e, service()); },
      access);
}

}  // namespace veloce::serve

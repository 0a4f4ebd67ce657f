#include "api/responses_request.hpp"

#include "base/log.hpp"

namespace veloce::serve {
namespace {

// Parts of a message as chat messages take them.
Json chat_content(const Fields& item) {
  const Json& content = item.required("content");
  if (content.is_string()) return content;
  if (!content.is_array()) item.wrong_type("content", "a string or an array of parts", content);
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string name = item.name("content") + '[' + std::to_string(i) + ']';
    if (!content[i].is_object()) throw_field(name, "must be an object");
    const Fields part(content[i], name + '.');
    const std::string type = part.required_string("type");
    if (type == "input_text" || type == "output_text" || type == "text") {
      text += (i > 0 ? "\n" : "") + part.required_string("text");
    } else if (type == "refusal") {
      text += (i > 0 ? "\n" : "") + part.required_string("refusal");
    } else if (type == "input_image") {
      part.fail("type",
                "'input_image': this model takes text only (no projector is loaded, see --mmproj)");
    } else {
      part.fail("type", "'" + type.substr(0, 60) + "' is not supported");
    }
  }
  return text;
}

std::string output_text(const Fields& item) {
  const Json& output = item.required("output");
  if (output.is_string()) return output.get<std::string>();
  if (!output.is_array()) item.wrong_type("output", "a string or an array of input_text", output);
  std::string text;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const std::string name = item.name("output") + '[' + std::to_string(i) + ']';
    if (!output[i].is_object()) throw_field(name, "must be an object");
    text += Fields(output[i], name + '.').required_string("text");
  }
  return text;
}

class InputConverter {
 public:
  explicit InputConverter(Json& messages) : messages_(messages) {}

  void add(const Fields& item) {
    const std::string type = item.string("type").value_or(item.has("role") ? "message" : "");
    if (type == "message") {
      flush_reasoning(item.string("role") == "assistant");
      Json message = {{"role", item.required_string("role")}, {"content", chat_content(item)}};
      if (!reasoning_.empty()) message["reasoning_content"] = std::exchange(reasoning_, {});
      messages_.push_back(std::move(message));
    } else if (type == "function_call") {
      Json call = {{"type", "function"},
                   {"id", item.required_string("call_id")},
                   {"function",
                    {{"name", item.required_string("name")},
                     {"arguments", item.required_string("arguments")}}}};
      assistant()["tool_calls"].push_back(std::move(call));
    } else if (type == "function_call_output") {
      flush_reasoning(false);
      messages_.push_back({{"role", "tool"},
                           {"tool_call_id", item.required_string("call_id")},
                           {"content", output_text(item)}});
    } else if (type == "reasoning") {
      const Json* content = item.array("content");
      if (content && !content->empty()) {
        const std::string name = item.name("content[0]");
        if (!(*content)[0].is_object()) throw_field(name, "must be an object");
        reasoning_ = Fields((*content)[0], name + '.').required_string("text");
      }
    } else {
      item.fail("type", "'" + type.substr(0, 60) + "' is not supported");
    }
  }
  void finish() { flush_reasoning(false); }

 private:
  // The assistant's message that a call belongs to.
  Json& assistant() {
    if (messages_.empty() || messages_.back()["role"] != "assistant" || !reasoning_.empty()) {
      Json message = {{"role", "assistant"}, {"content", ""}};
      if (!reasoning_.empty()) message["reasoning_content"] = std::exchange(reasoning_, {});
      messages_.push_back(std::move(message));
    }
    if (!messages_.back().contains("tool_calls")) messages_.back()["tool_calls"] = Json::array();
    return messages_.back();
  }
  // Thoughts that no message of the assistant's followed stand alone.
  void flush_reasoning(bool taken_next) {
    if (taken_next || reasoning_.empty()) return;
    messages_.push_back({{"role", "assistant"},
                         {"content", ""},
                         {"reasoning_content", std::exchange(reasoning_, {})}});
  }

  Json& messages_;
  std::string reasoning_;
};

void convert_tools(const Fields& body, Json& chat, const std::string& id) {
  const Json* tools = body.array("tools");
  if (!tools) return;
  Json out = Json::array();
  for (std::size_t i = 0; i < tools->size(); ++i) {
    const std::string name = "tools[" + std::to_string(i) + ']';
    if (!(*tools)[i].is_object()) throw_field(name, "must be an object");
    const Fields tool((*tools)[i], name + '.');
    const std::string type = tool.required_string("type");
    if (type != "function") {
      // Agents always offer the provider's own tools; without them they still work.
      log::write(log::Level::kWarning, id, "tool left out", {{"type", type}});
      continue;
    }
    out.push_back((*tools)[i]);
  }
  if (!out.empty()) chat["tools"] = std::move(out);
}

// {"type": "function", "name": ...} and {"type": "allowed_tools", "mode": ..., "tools": [...]} are
// flat here; what is neither is checked where the chat request is.
Json chat_choice(const Json& choice) {
  if (!choice.is_object()) return choice;
  if (choice.contains("name"))
    return {{"type", "function"}, {"function", {{"name", choice["name"]}}}};
  if (choice.value("type", Json()) != "allowed_tools") return choice;
  Json allowed = choice;
  allowed.erase("type");
  if (const auto tools = allowed.find("tools"); tools != allowed.end() && tools->is_array())
    for (Json& tool : *tools) tool = chat_choice(tool);
  return {{"type", "allowed_tools"}, {"allowed_tools", std::move(allowed)}};
}

void convert_text_format(const Fields& body, Json& chat) {
  const Json* text = body.object("text");
  const Json* format = text ? Fields(*text, "text.").object("format") : nullptr;
  if (!format) return;
  const Fields fields(*format, "text.format.");
  [[maybe_unused]] const Json& present = fields.required("type");
  const std::string type = *fields.choice("type", {"text", "json_object", "json_schema"});
  Json out = {{"type", type}};
  if (type == "json_schema") out["json_schema"] = {{"schema", fields.required("schema")}};
  chat["response_format"] = std::move(out);
}

}  // namespace

Json chat_request_of_responses(const Fields& body, const std::string& id) {
  Json chat = Json::object();
  if (const auto previous = body.string("previous_response_id"); previous && !previous->empty()) {
    body.fail("previous_response_id", "answers are not stored; send the whole conversation");
  }
  if (body.boolean("background").value_or(false)) body.fail("background", "is not supported");
  for (const char* stored : {"conversation", "prompt"}) {
    if (body.has(stored)) body.fail(stored, "nothing is stored here; send the whole conversation");
  }
  for (const std::string& wanted : body.strings("include").value_or(std::vector<std::string>())) {
    if (wanted == "message.output_text.logprobs") chat["logprobs"] = true;
    // Other things to include are of the provider's own tools, or thoughts, which are always there.
  }
  if (const auto top = body.integer("top_logprobs", 0, 1 << 20)) {
    chat["logprobs"] = true;
    chat["top_logprobs"] = *top;
  } else if (chat.contains("logprobs")) {
    chat["top_logprobs"] = 0;
  }
  Json messages = Json::array();
  if (const auto instructions = body.string("instructions"))
    messages.push_back({{"role", "system"}, {"content", *instructions}});
  [[maybe_unused]] const auto model =
      body.string("model");  // there is one model, whatever its name
  const Json& input = body.required("input");
  if (input.is_string()) {
    messages.push_back({{"role", "user"}, {"content", input}});
  } else if (input.is_array()) {
    InputConverter converter(messages);
    for (std::size_t i = 0; i < input.size(); ++i) {
      const std::string name = "input[" + std::to_string(i) + ']';
      if (!input[i].is_object()) throw_field(name, "must be an object");
      converter.add(Fields(input[i], name + '.'));
    }
    converter.finish();
  } else {
    body.wrong_type("input", "a string or an array of items", input);
  }
  chat["messages"] = std::move(messages);
  if (const auto most = body.integer("max_output_tokens", 1, 1 << 30)) chat["max_tokens"] = *most;
  if (const Json* reasoning = body.object("reasoning")) {
    if (const auto effort = Fields(*reasoning, "reasoning.").string("effort"))
      chat["reasoning_effort"] = *effort;
  }
  if (const Json* choice = body.find("tool_choice")) chat["tool_choice"] = chat_choice(*choice);
  for (const char* field : {"temperature", "top_p", "top_k", "stream", "parallel_tool_calls",
                            "chat_template_kwargs", "seed", "stop", "cache_prompt", "id_slot",
                            "priority", "service_tier", "reasoning_budget_tokens"}) {
    if (const Json* value = body.find(field)) chat[field] = *value;
  }
  convert_tools(body, chat, id);
  convert_text_format(body, chat);
  return chat;
}

}  // namespace veloce::serve

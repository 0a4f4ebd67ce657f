// Checks on messages and tools of a chat request (specs/server.md 4.1, 4.2).
#include <algorithm>

#include "api/chat_plan.hpp"

namespace veloce::serve {
namespace {

[[noreturn]] void unsupported_part(const Fields& part, const std::string& type) {
  if (type == "image_url" || type == "input_audio" || type == "video_url" || type == "file") {
    part.fail("type",
              "'" + type + "': this model takes text only (no projector is loaded, see --mmproj)");
  }
  part.fail("type", "unsupported content[].type '" + type.substr(0, 60) + "'");
}

// A string, or parts of text joined by newlines.
std::string text_of(const Fields& message, std::string_view field) {
  const Json& content = message.required(field);
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) message.wrong_type(field, "a string or an array of parts", content);
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string name = message.name(field) + '[' + std::to_string(i) + "]";
    if (content[i].is_string()) {
      text += (i > 0 ? "\n" : "") + content[i].get<std::string>();
      continue;
    }
    if (!content[i].is_object()) throw_field(name, "must be an object");
    const Fields part(content[i], name + '.');
    const std::string type = part.required_string("type");
    if (type != "text") unsupported_part(part, type);
    text += (i > 0 ? "\n" : "") + part.required_string("text");
  }
  return text;
}

Json checked_call(const Json& value, const std::string& name) {
  if (!value.is_object()) throw_field(name, "must be an object");
  const Fields call(value, name + '.');
  if (const auto type = call.string("type"); type && *type != "function")
    call.fail("type", "must be 'function'");
  const Json* function = call.object("function");
  if (!function) call.fail("function", "is required");
  const Fields fields(*function, name + ".function.");
  Json out = {{"type", "function"}};
  if (const auto id = call.string("id")) out["id"] = *id;
  const Json* arguments = fields.find("arguments");
  Json checked = {{"name", fields.required_string("name")},
                  {"arguments", arguments ? *arguments : Json("{}")}};
  if (!checked["arguments"].is_string() && !checked["arguments"].is_object()) {
    fields.wrong_type("arguments", "a string", checked["arguments"]);
  }
  out["function"] = std::move(checked);
  return out;
}

Json checked_message(const Json& value, const std::string& name) {
  if (!value.is_object())
    throw_field(name, std::string("must be an object, not ") + value.type_name());
  const Fields message(value, name + '.');
  [[maybe_unused]] const Json& present = message.required("role");
  const std::string role =
      *message.choice("role", {"system", "developer", "user", "assistant", "tool", "function"});
  Json out = {{"role", role}};
  const Json* calls = role == "assistant" ? message.array("tool_calls") : nullptr;
  const bool optional =
      role == "assistant" && ((calls && !calls->empty()) || message.has("reasoning_content"));
  out["content"] =
      optional && !message.has("content") ? std::string() : text_of(message, "content");
  for (const char* field : {"name", "tool_call_id", "reasoning_content"}) {
    if (const auto text = message.string(field)) out[field] = *text;
  }
  if (calls && !calls->empty()) {
    Json checked = Json::array();
    for (std::size_t i = 0; i < calls->size(); ++i) {
      checked.push_back(
          checked_call((*calls)[i], message.name("tool_calls") + '[' + std::to_string(i) + ']'));
    }
    out["tool_calls"] = std::move(checked);
  }
  return out;
}

bool plain_tool_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '<' && c != '>' && c != '"' && c != '\\';
  });
}

}  // namespace

Json checked_messages(const Fields& body) {
  const Json& given = body.required("messages");
  if (!given.is_array()) body.wrong_type("messages", "an array", given);
  if (given.empty()) body.fail("messages", "must not be empty");
  Json out = Json::array();
  for (std::size_t i = 0; i < given.size(); ++i) {
    out.push_back(checked_message(given[i], body.name("messages") + '[' + std::to_string(i) + ']'));
  }
  const auto is_assistant = [&](std::size_t back) {
    return out.size() >= back && out[out.size() - back]["role"] == "assistant";
  };
  if (is_assistant(1) && is_assistant(2))
    body.fail("messages", "cannot end with two assistant messages");
  return out;
}

Json checked_tools(const Fields& body) {
  Json out = Json::array();
  const Json* given = body.array("tools");
  if (!given) return out;
  for (std::size_t i = 0; i < given->size(); ++i) {
    const std::string name = body.name("tools") + '[' + std::to_string(i) + ']';
    const Json& value = (*given)[i];
    if (!value.is_object()) throw_field(name, "must be an object");
    const Fields tool(value, name + '.');
    if (const auto type = tool.string("type").value_or("function"); type != "function") {
      tool.fail("type", "'" + type.substr(0, 60) + "' is not supported; only 'function' is");
    }
    // Some clients leave the level "function" out.
    const Json* nested = tool.object("function");
    const Fields function(nested ? *nested : value, nested ? name + ".function." : name + '.');
    const std::string tool_name = function.required_string("name");
    if (!plain_tool_name(tool_name))
      function.fail("name",
                    "must be 1 to 64 printable ASCII characters without space, <, >, \" and \\");
    for (const Json& other : out) {
      if (other["function"]["name"] == tool_name)
        function.fail("name", "'" + tool_name + "' is there twice");
    }
    Json checked = {{"name", tool_name}};
    if (const auto description = function.string("description"))
      checked["description"] = *description;
    const Json* parameters = function.object("parameters");
    if (!parameters) parameters = function.object("parametersJsonSchema");
    checked["parameters"] =
        parameters ? *parameters : Json{{"type", "object"}, {"properties", Json::object()}};
    if (const auto strict = function.boolean("strict")) checked["strict"] = *strict;
    out.push_back({{"type", "function"}, {"function", std::move(checked)}});
  }
  return out;
}

}  // namespace veloce::serve

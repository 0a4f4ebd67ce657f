// Values inside a model's tool calls: finding the end of JSON that comes in pieces, and reading
// arguments whose type only the tool's schema tells.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "veloce/text/chat_parse_format.hpp"
#include "veloce/text/jinja.hpp"

namespace veloce::text::detail {

// Finds the end of one JSON value fed in pieces. A scalar ends before what cannot belong to it.
class JsonScan {
 public:
  void start() { *this = {}, active_ = true; }
  void reset() { *this = {}; }
  bool active() const { return active_; }
  bool done() const { return done_; }
  // How many characters of `text` belong to the value.
  std::size_t feed(std::string_view text) {
    for (std::size_t i = 0; i < text.size() && !done_; ++i) {
      const char c = text[i];
      if (quoted_) {
        if (escaped_)
          escaped_ = false;
        else if (c == '\\')
          escaped_ = true;
        else if (c == '"')
          quoted_ = false, done_ = depth_ == 0;
      } else if (c == '"') {
        quoted_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
      } else if ((c == '}' || c == ']') && depth_ > 0) {
        done_ = --depth_ == 0;
      } else if (depth_ == 0 && (c == ',' || c == '}' || c == ']' || is_blank(c))) {
        done_ = true;
        return i;
      }
      if (done_) return i + 1;
    }
    return done_ ? 0 : text.size();
  }

 private:
  bool active_ = false, done_ = false, quoted_ = false, escaped_ = false;
  int depth_ = 0;
};

// The text of a JSON string, or the value's own text if it is none.
inline std::string json_text(const std::string& json) {
  const auto parsed = nlohmann::ordered_json::parse(json, nullptr, false);
  return parsed.is_string() ? parsed.get<std::string>() : json;
}

// The type that a tool's schema gives an argument: "" if it is not told; "string" if texts are
// among several.
inline std::string argument_type(const nlohmann::ordered_json& tools, std::string_view function,
                                 const std::string& key) {
  if (!tools.is_array()) return {};
  for (const auto& tool : tools) {
    if (!tool.is_object()) continue;
    const auto& body =
        tool.contains("function") && tool["function"].is_object() ? tool["function"] : tool;
    if (!body.contains("name") || body["name"] != function) continue;
    for (const char* schema : {"parameters", "parametersJsonSchema", "input_schema"}) {
      if (!body.contains(schema) || !body[schema].is_object() ||
          !body[schema].contains("properties"))
        continue;
      const auto& properties = body[schema]["properties"];
      if (!properties.is_object() || !properties.contains(key) || !properties[key].is_object())
        return {};
      const auto& property = properties[key];
      if (property.contains("type") && property["type"].is_string())
        return property["type"].get<std::string>();
      if (property.contains("enum") && property["enum"].is_array()) {
        bool texts = !property["enum"].empty();
        for (const auto& value : property["enum"]) texts = texts && value.is_string();
        if (texts) return "string";
      }
      return {};
    }
  }
  return {};
}

// True for an expression of constants, lists, tuples and dicts alone.
inline bool is_literal(const jinja::Expression& e) {
  using jinja::Op;
  if (e.op != Op::kConstant && e.op != Op::kList && e.op != Op::kTuple && e.op != Op::kDict &&
      e.op != Op::kNegate)
    return false;
  for (const auto& part : e.parts)
    if (part == nullptr || !is_literal(*part)) return false;
  return true;
}

// The JSON text of an argument written as text: JSON as it is; Python's form (True, None, ['a']),
// which some templates print; anything else is a text.
inline std::string argument_json(std::string_view text, std::string_view type) {
  const std::string_view plain = trimmed(text);
  if (nlohmann::json::accept(plain)) return std::string(plain);
  std::string quoted;
  jinja::append_json_string(text, false, quoted);
  if (plain.empty() || plain.size() > 65536) return quoted;
  const bool may_be_python = plain == "True" || plain == "False" || plain == "None" ||
                             plain[0] == '[' || plain[0] == '{' ||
                             (plain[0] == '(' && type == "array");
  if (!may_be_python || plain.find("}}") != std::string_view::npos) {
    if (!may_be_python || plain.find("{%") != std::string_view::npos) return quoted;
  }
  const auto parsed = jinja::Template::parse("{{ (" + std::string(plain) + ") | tojson }}");
  if (!parsed) return quoted;
  const jinja::Body& body = (*parsed).body();
  if (body.size() != 1 || body[0]->what != jinja::Do::kPrint || body[0]->expressions.size() != 1)
    return quoted;
  const jinja::Expression& whole = *body[0]->expressions[0];
  if (whole.op != jinja::Op::kFilter || whole.text != "tojson" || whole.call != nullptr ||
      !is_literal(*whole.parts[0]))
    return quoted;
  jinja::RenderResult result = (*parsed).render(nlohmann::ordered_json::object());
  return result.ok() && nlohmann::json::accept(result.output) ? result.output : quoted;
}

// Bytes at the end of a text that begin a character without finishing it.
inline std::size_t incomplete_tail(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const unsigned char c = static_cast<unsigned char>(text[text.size() - back]);
    if ((c & 0xC0) == 0x80) continue;
    return c >= 0xC0 && std::size_t(utf8_length(c)) > back ? back : 0;
  }
  return 0;
}

}  // namespace veloce::text::detail

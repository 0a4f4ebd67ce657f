#include "api/tool_grammar.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "veloce/text/chat_parse_format.hpp"
#include "veloce/text/json_schema.hpp"

namespace veloce::serve {
namespace {

constexpr char kSpace[] = "call-space ::= [ \\t\\n]{0,8}\n";

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> out;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80 && !out.empty()) {
      out.back() += c;
    } else {
      out.emplace_back(1, c);
    }
  }
  return out;
}

std::string escaped(const std::string& text, bool in_class) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      if (c == '\\' || c == '"' || (in_class && (c == ']' || c == '^' || c == '-' || c == '['))) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string literal(const std::string& text) { return '"' + escaped(text, false) + '"'; }

// A mark as text or, where it is one, as its control token.
std::string mark_term(const std::string& text, const ControlToken& control) {
  const auto id = control(text);
  return id ? '(' + literal(text) + " | <[" + std::to_string(*id) + "]>)" : literal(text);
}

class CallGrammar {
 public:
  CallGrammar(const text::ChatFormat& format, const ControlToken& control) : format_(format), control_(control) {}

  Status build(const Json& tools, bool parallel) {
    std::string names;
    for (std::size_t i = 0; i < tools.size(); ++i) {
      const std::string rule = "call-" + std::to_string(i);
      if (Status status = add_tool(tools[i]["function"], rule, static_cast<int>(i)); !status) return status;
      names += (i > 0 ? " | " : "") + rule;
    }
    rules_ += "call ::= " + names + '\n';
    const std::size_t repeat = std::min(format_.repeat, format_.opening.size());
    const std::string first = marks(0, repeat), again = marks(repeat, format_.opening.size());
    std::string closing;
    for (const std::string& mark : format_.closing) closing += " (call-space " + this->mark(mark) + ")?";
    if (format_.json_list) {
      const std::string more = parallel ? " (call-space \",\" call-space call)*" : "";
      rules_ += "answer-root ::= call-space " + marks(0, format_.opening.size()) + "\"[\" call-space call" + more + " call-space \"]\"" + closing + '\n';
    } else {
      // Marks that close one call come before the next; which ones only the template knows, so each may be left out.
      const std::string one = again + "call" + closing;
      rules_ += "answer-root ::= call-space " + first + one + (parallel ? " (call-space " + one + ")*" : "") + '\n';
    }
    rules_ += kSpace;
    return {};
  }

  std::string text() const { return schemas_.text() + rules_; }

 private:
  std::string mark(const std::string& text) const { return mark_term(text, control_); }
  std::string marks(std::size_t begin, std::size_t end) const {
    std::string out;
    for (std::size_t i = begin; i < end; ++i) out += mark(format_.opening[i]) + " call-space ";
    return out;
  }

  // The rule for a schema's values, or for anything where it cannot be enforced and need not be.
  Result<std::string> schema_rule(const Json& schema, const std::string& name, bool strict, const std::string& tool, bool object) {
    text::SchemaGrammar alone({.prefix = name + "-"});
    if (const Status status = alone.add(schema, name); !status) {
      if (strict) return Status(status.code(), "tool '" + tool + "': " + status.message());
      return object ? schemas_.any_object() : schemas_.any_value();
    }
    rules_ += alone.text();
    return name;
  }

  Status add_tool(const Json& function, const std::string& rule, int number) {
    const std::string name = function["name"].get<std::string>();
    const bool strict = function.value("strict", false);
    const Json& parameters = function["parameters"];
    if (format_.style == text::CallStyle::kTagged) return add_tagged(name, parameters, strict, rule, number);
    Result<std::string> arguments = schema_rule(parameters, "args-" + std::to_string(number), strict, name, true);
    if (!arguments) return arguments.status();
    if (format_.style == text::CallStyle::kNameJson) {
      std::string after;
      for (const std::string& text : format_.after_name) after += mark(text) + " call-space ";
      rules_ += rule + " ::= " + literal(name) + " call-space " + after + *arguments + '\n';
      return {};
    }
    const auto key = [](const std::string& text) { return literal(Json(text).dump()) + " call-space \":\" call-space "; };
    const std::string id = format_.id_key.empty() ? "" : key(format_.id_key) + "\"\\\"\" [a-zA-Z0-9_-]{1,64} \"\\\"\"";
    const std::string comma = " call-space \",\" call-space ";
    rules_ += rule + " ::= \"{\" call-space " + (id.empty() || format_.id_last ? "" : '(' + id + comma + ")? ") +
              key(format_.name_key) + literal(Json(name).dump()) + comma + key(format_.arguments_key) + *arguments +
              (id.empty() || !format_.id_last ? "" : " (" + comma + id + ")?") + " call-space \"}\"\n";
    return {};
  }

  // Text up to and with the mark that ends it: the states of a search for the mark, as rules.
  std::string text_until(const std::string& end, const std::string& rule) {
    const std::vector<std::string> mark = characters_of(end);
    const std::set<std::string> letters(mark.begin(), mark.end());
    std::vector<std::size_t> fallback(mark.size(), 0);
    const auto next = [&](std::size_t state, const std::string& c) {
      while (state > 0 && mark[state] != c) state = fallback[state - 1];
      return mark[state] == c ? state + 1 : std::size_t{0};
    };
    for (std::size_t i = 1; i < mark.size(); ++i) fallback[i] = next(fallback[i - 1], mark[i]);
    std::string others;
    for (const std::string& letter : letters) others += escaped(letter, true);
    for (std::size_t state = 0; state < mark.size(); ++state) {
      rules_ += rule + '-' + std::to_string(state) + " ::= [^" + others + "] " + rule + "-0";
      for (const std::string& letter : letters) {
        const std::size_t to = next(state, letter);
        rules_ += " | " + literal(letter) + (to < mark.size() ? ' ' + rule + '-' + std::to_string(to) : "");
      }
      rules_ += '\n';
    }
    return rule + "-0";
  }

  Status add_tagged(const std::string& name, const Json& parameters, bool strict, const std::string& rule, int number) {
    std::string after;
    for (const std::string& text : format_.after_name) after += " call-space " + mark(text);
    rules_ += rule + " ::= " + literal(name) + after;
    std::string definitions;
    const Json properties = parameters.value("properties", Json::object());
    const Json required = parameters.value("required", Json::array());
    std::vector<std::string> argument_rules;
    std::string line;
    int index = 0;
    std::string head = std::exchange(rules_, {});
    for (const auto& [key, schema] : properties.items()) {
      const std::string argument = "arg-" + std::to_string(number) + '-' + std::to_string(index++);
      Result<std::string> value = tagged_value(schema, argument, strict, name);
      if (!value) return value.status();
      std::string key_end;
      for (const std::string& text : format_.key_end) key_end += "call-space " + mark(text) + ' ';
      rules_ += argument + " ::= call-space " + mark(format_.key_start) + " call-space " + literal(key) + ' ' + key_end + *value + '\n';
      const bool needed = std::find(required.begin(), required.end(), Json(key)) != required.end();
      line += ' ' + argument + (needed ? "" : "?");
    }
    rules_ += head + line + '\n';
    return {};
  }

  // A value with its announcement and the mark behind it. Texts stand as they are, other values as JSON.
  Result<std::string> tagged_value(const Json& schema, const std::string& argument, bool strict, const std::string& tool) {
    const bool is_text = schema.is_object() && schema.value("type", Json()) == "string" && !schema.contains("enum") && !schema.contains("const");
    const bool choice = schema.is_object() && schema.contains("enum") && schema["enum"].is_array() &&
                        std::all_of(schema["enum"].begin(), schema["enum"].end(), [](const Json& v) { return v.is_string(); });
    const std::string pad = format_.value_padded ? "\"\\n\" " : "";
    std::string kind = is_text || choice ? format_.text_kind : format_.other_kind;
    if (!kind.empty()) kind = mark(kind) + ' ';
    const std::string end = (format_.value_padded ? "\n" : "") + format_.value_end;
    if (is_text) return kind + pad + text_until(end, argument + "-text");
    if (choice) {
      std::string names;
      for (const Json& value : schema["enum"]) names += (names.empty() ? "" : " | ") + literal(value.get<std::string>());
      return kind + pad + '(' + names + ") " + literal(end);
    }
    Result<std::string> value = schema_rule(schema, argument + "-json", strict, tool, false);
    if (!value) return value;
    return kind + pad + *value + " call-space " + mark(format_.value_end);
  }

  const text::ChatFormat& format_;
  const ControlToken& control_;
  text::SchemaGrammar schemas_{{.prefix = "any-"}};
  std::string rules_;
};

}  // namespace

Result<ToolGrammar> tool_grammar(const text::ChatFormat& format, const Json& tools, bool parallel,
                                 const ControlToken& control) {
  if (format.style == text::CallStyle::kNone || format.style == text::CallStyle::kChannels) {
    return Status(Code::kUnsupported, "this model's chat template has no tool calls that can be enforced");
  }
  CallGrammar grammar(format, control);
  if (Status status = grammar.build(tools, parallel); !status) return status;
  ToolGrammar out;
  out.rules = grammar.text();
  if (!format.opening.empty()) {
    out.triggers.push_back(format.opening.front());
  } else if (format.style == text::CallStyle::kJson) {
    const std::string start = format.json_list ? "[{" : "{";
    out.triggers = {start + Json(format.name_key).dump(), start + ' ' + Json(format.name_key).dump(), start + "\n" };
  }
  return out;
}

std::string with_root(const std::string& rules, const std::string& optional_mark, const ControlToken& control) {
  if (optional_mark.empty()) return rules + "root ::= answer-root\n";
  return rules + "root ::= (" + mark_term(optional_mark, control) + ")? [ \\t\\n]{0,8} answer-root\n";
}

}  // namespace veloce::serve

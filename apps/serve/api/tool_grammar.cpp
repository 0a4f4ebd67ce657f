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
      if (c == '\\' || c == '"' || (in_class && (c == ']' || c == '^' || c == '-' || c == '[')))
        out += '\\';
      out += c;
    }
  }
  return out;
}

std::string literal(const std::string& text) {
  return '"' + escaped(text, false) + '"';
}

// A mark as text; parts of it that are control tokens may come as those.
std::string mark_term(const std::string& text, const ControlToken& control) {
  constexpr std::size_t kLongestToken = 64;
  std::string out, plain;
  const auto flush = [&] {
    if (!plain.empty()) out += (out.empty() ? "" : " ") + literal(std::exchange(plain, {}));
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end =
        text[at] == '<' || text[at] == '[' ? text.find_first_of(">]", at) : std::string::npos;
    std::optional<std::int32_t> id;
    while (end < text.size() && end - at < kLongestToken &&
           !(id = control(text.substr(at, end + 1 - at))))
      end = text.find_first_of(">]", end + 1);
    if (!id) {
      plain += text[at++];
      continue;
    }
    flush();
    out += (out.empty() ? "(" : " (") + literal(text.substr(at, end + 1 - at)) + " | <[" +
           std::to_string(*id) + "]>)";
    at = end + 1;
  }
  flush();
  return out;
}

class CallGrammar {
 public:
  CallGrammar(const text::ChatFormat& format, const ControlToken& control)
      : format_(format), control_(control) {}

  Status build(const Json& tools, bool parallel) {
    std::string names;
    for (std::size_t i = 0; i < tools.size(); ++i) {
      const std::string rule = "call-" + std::to_string(i);
      if (Status status = add_tool(tools[i]["function"], rule, static_cast<int>(i)); !status)
        return status;
      names += (i > 0 ? " | " : "") + rule;
    }
    rules_ += "call ::= " + names + '\n';
    if (format_.style == text::CallStyle::kChannels) {
      // The recipient may stand before or after the channel's name. The token that ends a call ends
      // the answer.
      rules_ += "answer-calls ::= (\" to=functions.\" | " + mark("<|channel|>") +
                " \"commentary to=functions.\") call\n";
      return {};
    }
    const std::size_t repeat = std::min(format_.repeat, format_.opening.size());
    const std::string first = marks(0, repeat), again = marks(repeat, format_.opening.size());
    std::string closing, closing_each;
    for (std::size_t i = 0; i < format_.closing.size(); ++i)
      (i < format_.closing_each && !format_.json_list ? closing_each : closing) +=
          " call-space " + mark(format_.closing[i]);
    if (format_.json_list) {
      const std::string more = parallel ? " (call-space \",\" call-space call)*" : "";
      rules_ += "answer-calls ::= call-space " + marks(0, format_.opening.size()) +
                "\"[\" call-space call" + more + " call-space \"]\"" + closing + '\n';
    } else {
      const std::string one = again + "call" + closing_each;
      rules_ += "answer-calls ::= call-space " + first + one +
                (parallel ? " (call-space " + one + ")*" : "") + closing + '\n';
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
  Result<std::string> schema_rule(const Json& schema, const std::string& name, bool strict,
                                  const std::string& tool, bool object) {
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
    if (format_.style == text::CallStyle::kTagged)
      return add_tagged(name, parameters, strict, rule, number);
    Result<std::string> arguments =
        schema_rule(parameters, "args-" + std::to_string(number), strict, name, true);
    if (!arguments) return arguments.status();
    if (format_.style == text::CallStyle::kChannels) {
      rules_ += rule + " ::= " + literal(name) + " (" + mark("<|channel|>") +
                " \"commentary\")? (\" \"? " + mark("<|constrain|>") + " \"json\" | \" json\")? " +
                mark("<|message|>") + ' ' + *arguments + '\n';
      return {};
    }
    if (format_.style == text::CallStyle::kNameJson) {
      std::string after;
      for (const std::string& text : format_.after_name) after += mark(text) + " call-space ";
      rules_ += rule + " ::= " + literal(name) + " call-space " + after + *arguments + '\n';
      return {};
    }
    const auto key = [](const std::string& text) {
      return literal(Json(text).dump()) + " call-space \":\" call-space ";
    };
    const std::string id =
        format_.id_key.empty() ? "" : key(format_.id_key) + "\"\\\"\" [a-zA-Z0-9_-]{1,64} \"\\\"\"";
    const std::string comma = " call-space \",\" call-space ";
    rules_ +=
        rule + " ::= \"{\" call-space " +
        (id.empty() || format_.id_last ? "" : '(' + id + comma + ")? ") + key(format_.name_key) +
        literal(Json(name).dump()) + comma + key(format_.arguments_key) + *arguments +
        (id.empty() || !format_.id_last ? "" : " (" + comma + id + ")?") + " call-space \"}\"\n";
    return {};
  }

  // Text up to and with the first mark that ends it, as it is read (a newline before it is the
  // reader's business): the states of a search for the mark, as rules.
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
        rules_ += " | " + literal(letter) +
                  (to < mark.size() ? ' ' + rule + '-' + std::to_string(to) : "");
      }
      rules_ += '\n';
    }
    return rule + "-0";
  }

  // Arguments of any names: those of a tool whose schema names none, or cannot be enforced.
  void add_free_arguments(const std::string& head, const std::string& rule) {
    if (!free_) {
      free_ = true;
      std::string key_end;
      for (const std::string& text : format_.key_end) key_end += mark(text) + " call-space ";
      const std::string pad = format_.value_padded ? "\"\\n\" " : "";
      const std::string kind = format_.text_kind.empty() ? "" : mark(format_.text_kind) + ' ';
      const std::string text = text_until(format_.value_end, "free-text");
      rules_ += "free-argument ::= call-space " + mark(format_.key_start) +
                " [^<>=\"\\x00-\\x20]{1,64} " + key_end + kind + pad + text + '\n';
    }
    rules_ += rule + " ::= " + head + " free-argument{0,64}\n";
  }

  // Keywords on the arguments as a whole that between tags cannot be held to.
  static Status check_tagged(const Json& parameters, const std::string& tool) {
    for (const auto& [key, value] : parameters.items()) {
      static const std::set<std::string> kKnown = {
          "type",        "properties",           "required", "additionalProperties", "$defs",
          "definitions", "unevaluatedProperties"};
      if (kKnown.count(key) || text::schema::is_annotation(key)) continue;
      return {Code::kUnsupported, "tool '" + tool + "': schema: #: '" + key +
                                      "' isn't supported in this model's notation of calls"};
    }
    return {};
  }

  // A property's schema with the definitions that it may refer to.
  static Json with_definitions(const Json& schema, const Json& parameters) {
    if (!schema.is_object()) return schema;
    Json out = schema;
    for (const char* key : {"$defs", "definitions"})
      if (parameters.contains(key) && !out.contains(key)) out[key] = parameters[key];
    return out;
  }

  Status add_tagged(const std::string& name, const Json& parameters, bool strict,
                    const std::string& rule, int number) {
    std::string after;
    for (const std::string& text : format_.after_name) after += " call-space " + mark(text);
    const std::string head = literal(name) + after;
    const Status enforceable = check_tagged(parameters, name);
    if (!enforceable && strict) return enforceable;
    const Json properties = parameters.value("properties", Json::object());
    const bool closed = parameters.contains("properties") ||
                        parameters.value("additionalProperties", Json()) == false;
    if (!enforceable || !closed || !properties.is_object())
      return add_free_arguments(head, rule), Status();
    const Json required = parameters.value("required", Json::array());
    std::string line;
    int index = 0;
    for (const auto& [key, schema] : properties.items()) {
      const std::string argument = "arg-" + std::to_string(number) + '-' + std::to_string(index++);
      Result<std::string> value =
          tagged_value(with_definitions(schema, parameters), argument, strict, name);
      if (!value) return value.status();
      std::string key_end;
      for (const std::string& text : format_.key_end) key_end += "call-space " + mark(text) + ' ';
      rules_ += argument + " ::= call-space " + mark(format_.key_start) + " call-space " +
                literal(key) + ' ' + key_end + *value + '\n';
      const bool needed = std::find(required.begin(), required.end(), Json(key)) != required.end();
      line += ' ' + argument + (needed ? "" : "?");
    }
    rules_ += rule + " ::= " + head + line + '\n';
    return {};
  }

  // A text as it stands, under what its schema says of it, up to the mark that ends it.
  Result<std::string> plain_text(const Json& schema, const std::string& end,
                                 const std::string& argument, const std::string& tool) {
    const auto refuse = [&](const std::string& key, const std::string& why) {
      return Status(Code::kUnsupported, "tool '" + tool + "': schema: '" + key + "' " + why);
    };
    const Json pattern = schema.value("pattern", Json()), format = schema.value("format", Json());
    const bool lengths = schema.contains("minLength") || schema.contains("maxLength");
    if (pattern.is_null() && format.is_null() && !lengths)
      return text_until(format_.value_end, argument + "-text");
    std::string body;
    if (pattern.is_string()) {
      auto translated =
          text::schema::PatternTranslator(pattern.get_ref<const std::string&>(), false).run();
      if (!translated)
        return refuse("pattern", "can't be enforced: " + translated.status().message());
      if (lengths || !format.is_null())
        return refuse(
            "pattern",
            "beside lengths or a format isn't supported in this model's notation of calls");
      body = '(' + translated->gbnf + ')';
    } else if (format.is_string()) {
      const std::string gbnf = text::schema::format_gbnf(format.get_ref<const std::string&>());
      if (gbnf.empty()) return refuse("format", dump_json(format) + " isn't supported");
      if (lengths)
        return refuse("format", "beside lengths isn't supported in this model's notation of calls");
      body = '(' + gbnf + ')';
    } else {
      constexpr std::uint64_t kMost = 2000;
      const auto count = [&](const char* key) { return schema.value(key, Json()); };
      for (const char* key : {"minLength", "maxLength"})
        if (const Json n = count(key);
            !n.is_null() && (!n.is_number_unsigned() || n.get<std::uint64_t>() > kMost))
          return refuse(key, "must be a whole number of at most 2000 here");
      body =
          "[^<]{" + std::to_string(schema.value("minLength", std::uint64_t{0})) + ',' +
          (schema.contains("maxLength") ? std::to_string(schema["maxLength"].get<std::uint64_t>())
                                        : "") +
          '}';
    }
    const std::string newline = end.starts_with('\n') ? "\"\\n\" " : "";
    return body + ' ' + newline + mark(end.starts_with('\n') ? end.substr(1) : end);
  }

  // A value with its announcement and the mark behind it. Texts stand as they are, other values as
  // JSON.
  Result<std::string> tagged_value(const Json& schema, const std::string& argument, bool strict,
                                   const std::string& tool) {
    const bool is_text = schema.is_object() && schema.value("type", Json()) == "string" &&
                         !schema.contains("enum") && !schema.contains("const");
    const bool choice = schema.is_object() && schema.contains("enum") &&
                        schema["enum"].is_array() && !schema["enum"].empty() &&
                        std::all_of(schema["enum"].begin(), schema["enum"].end(),
                                    [](const Json& v) { return v.is_string(); });
    const std::string pad = format_.value_padded ? "\"\\n\" " : "";
    std::string kind = is_text || choice ? format_.text_kind : format_.other_kind;
    if (!kind.empty()) kind = mark(kind) + ' ';
    const std::string end = (format_.value_padded ? "\n" : "") + format_.value_end;
    if (is_text) {
      Result<std::string> text = plain_text(schema, end, argument, tool);
      if (!text && strict) return text;
      return kind + pad + (text ? *text : text_until(format_.value_end, argument + "-text"));
    }
    if (choice) {
      std::string names;
      for (const Json& value : schema["enum"])
        names += (names.empty() ? "" : " | ") + literal(value.get<std::string>());
      return kind + pad + '(' + names + ") " + literal(end);
    }
    Result<std::string> value = schema_rule(schema, argument + "-json", strict, tool, false);
    if (!value) return value;
    // Some templates print booleans as Python does, and models write what they have seen.
    const bool truth = schema.is_object() && schema.value("type", Json()) == "boolean" &&
                       !schema.contains("enum") && !schema.contains("const");
    const std::string either = truth ? '(' + *value + " | \"True\" | \"False\")" : *value;
    return kind + pad + either + " call-space " + mark(format_.value_end);
  }

  const text::ChatFormat& format_;
  const ControlToken& control_;
  text::SchemaGrammar schemas_{{.prefix = "any-"}};
  std::string rules_;
  bool free_ = false;  // free-argument is there
};

}  // namespace

Result<ToolGrammar> tool_grammar(const text::ChatFormat& format, const Json& tools, bool parallel,
                                 const ControlToken& control) {
  if (format.style == text::CallStyle::kNone) {
    return Status(Code::kUnsupported,
                  "this model's chat template has no tool calls that can be enforced");
  }
  CallGrammar grammar(format, control);
  if (Status status = grammar.build(tools, parallel); !status) return status;
  ToolGrammar out;
  out.rules = grammar.text();
  if (format.style == text::CallStyle::kChannels) {
    out.triggers = {"<|channel|>commentary to=functions.", format.message_start + " to=functions."};
  } else if (!format.opening.empty()) {
    out.triggers.push_back(format.opening.front());
  } else if (format.style == text::CallStyle::kJson) {
    const std::string start = format.json_list ? "[{" : "{";
    out.triggers = {start + Json(format.name_key).dump(),
                    start + ' ' + Json(format.name_key).dump(), start + "\n"};
  }
  return out;
}

std::string with_root(const std::string& rules, const text::ChatFormat& format, RootOf kind,
                      const ControlToken& control) {
  std::string root = "root ::= ";
  if (kind.may_think && !format.reasoning_start.empty())
    root += '(' + mark_term(format.reasoning_start, control) + ")? [ \\t\\n]{0,8} ";
  if (format.style == text::CallStyle::kChannels) {
    root += '(' + mark_term(format.message_start, control) + ")? ";
  }
  std::string content = "answer-document";
  if (format.style == text::CallStyle::kChannels)
    content = mark_term(format.content_start, control) + ' ' + content;
  if (!kind.document) return rules + root + "answer-calls\n";
  if (!kind.calls) return rules + root + content + '\n';
  return rules + root + "(answer-calls | " + content + ")\n";
}

}  // namespace veloce::serve

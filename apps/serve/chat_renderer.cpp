#include "chat_renderer.hpp"

#include <ctime>

#include "veloce/gguf/metadata.hpp"
#include "veloce/text/chat_parse_format.hpp"
#include "veloce/text/jinja.hpp"
#include "veloce/text/tokenizer.hpp"

namespace veloce::serve {
namespace {

// For models without a template: the ChatML form that most fine-tunes know.
constexpr char kPlainTemplate[] =
    "{%- for message in messages -%}{{ '<|im_start|>' + message.role + '\\n' + message.content + "
    "'<|im_end|>\\n' }}"
    "{%- endfor -%}{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}";

// --chat-template takes names as well.
struct NamedTemplate {
  const char *name, *text;
};
constexpr NamedTemplate kNamedTemplates[] = {
    {"chatml", kPlainTemplate},
    {"llama3",
     "{{- bos_token }}{%- for m in messages %}{{ '<|start_header_id|>' + m.role + "
     "'<|end_header_id|>\n\n' + m.content | trim + '<|eot_id|>' }}"
     "{%- endfor %}{%- if add_generation_prompt %}{{ "
     "'<|start_header_id|>assistant<|end_header_id|>\n\n' }}{%- endif %}"},
    {"gemma",
     "{{- bos_token }}{%- set ns = namespace(system='') %}{%- for m in messages %}{%- if m.role == "
     "'system' %}{%- set ns.system = m.content + '\n\n' %}"
     "{%- else %}{{ '<start_of_turn>' + ('model' if m.role == 'assistant' else 'user') + '\n' + "
     "(ns.system if m.role == 'user' else '') + m.content | trim + '<end_of_turn>\n' }}"
     "{%- if m.role == 'user' %}{%- set ns.system = '' %}{%- endif %}{%- endif %}{%- endfor %}{%- "
     "if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{%- endif %}"},
    {"phi3",
     "{%- for m in messages %}{{ '<|' + m.role + '|>\n' + m.content + '<|end|>\n' }}{%- endfor %}"
     "{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{%- endif %}"},
    {"zephyr",
     "{%- for m in messages %}{{ '<|' + m.role + '|>\n' + m.content + eos_token + '\n' }}{%- "
     "endfor %}"
     "{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{%- endif %}"},
};

Result<std::string> template_text(const std::string& given) {
  if (given.empty() || given.find('{') != std::string::npos) return given;
  std::string names;
  for (const NamedTemplate& named : kNamedTemplates) {
    if (given == named.name) return std::string(named.text);
    names += (names.empty() ? "" : ", ") + std::string(named.name);
  }
  return Status(Code::kInvalidArgument, "--chat-template: '" + given.substr(0, 60) +
                                            "' is neither a template nor a name known here (" +
                                            names + ")");
}

Result<std::shared_ptr<const text::jinja::Template>> parse(const std::string& source,
                                                           const std::string& name) {
  Result<text::jinja::Template> parsed = text::jinja::Template::parse(source);
  if (!parsed) return Status(parsed.status().code(), name + ": " + parsed.status().message());
  return std::make_shared<const text::jinja::Template>(*std::move(parsed));
}

std::string date(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[64];
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

// For templates that know no tools.
constexpr char kCallStart[] = "<tool_call>", kCallEnd[] = "</tool_call>";

std::string tool_prompt(const Json& tools, const std::string& example) {
  std::string out = "You may call functions. Their signatures, as JSON:\n";
  for (const Json& tool : tools) out += dump_json(tool["function"]) + '\n';
  return out + "To call one, answer with its name and arguments in this form:\n" + example;
}

Json user(const std::string& text) {
  return {{"role", "user"}, {"content", text}};
}

}  // namespace

Result<ChatRenderer> ChatRenderer::create(const std::string& given, const gguf::Metadata& metadata,
                                          const text::Tokenizer& tokenizer) {
  ChatRenderer out;
  std::string name = "--chat-template";
  Result<std::string> text = template_text(given);
  if (!text) return text.status();
  out.source_ = *std::move(text);
  if (given.empty()) {
    name = metadata.file() + ": tokenizer.chat_template";
    for (const auto& [key, target] :
         {std::pair{"tokenizer.chat_template", &out.source_},
          std::pair{"tokenizer.chat_template.tool_use", &out.tool_source_}}) {
      if (!metadata.has(key)) continue;
      const auto stored = metadata.get<std::string>(key);
      if (!stored) return stored.status();
      *target = *stored;
    }
  }
  if (out.source_.empty()) out.source_ = kPlainTemplate;
  auto parsed = parse(out.source_, name);
  if (!parsed) return parsed.status();
  out.template_ = out.tool_template_ = *std::move(parsed);
  if (!out.tool_source_.empty()) {
    auto with_tools = parse(out.tool_source_, name + ".tool_use");
    if (!with_tools) return with_tools.status();
    out.tool_template_ = *std::move(with_tools);
  }
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  if (vocabulary.bos() >= 0) out.bos_ = tokenizer.piece(vocabulary.bos(), true);
  if (vocabulary.eos() >= 0) out.eos_ = tokenizer.piece(vocabulary.eos(), true);
  out.drop_bos_ = vocabulary.add_bos();
  out.probe();
  return out;
}

// Shapes that every template is written for: no null contents, arguments as objects where the
// template walks through them, `developer` as `system`, and no system turn where the template has
// none.
Json ChatRenderer::normal_messages(const Json& messages) const {
  Json out = Json::array();
  std::string system;
  const bool keeps_system = capabilities_.value("supports_system_role", true);
  for (Json message : messages) {
    if (message["role"] == "developer") message["role"] = "system";
    if (message.contains("content") && message["content"].is_null()) message["content"] = "";
    if (!keeps_system && message["role"] == "system") {
      system += message["content"].get<std::string>() + "\n\n";
      continue;
    }
    if (!system.empty() && message["role"] == "user") {
      message["content"] = system + message["content"].get<std::string>();
      system.clear();
    }
    if (format_ && format_->reasoning_field != "reasoning_content" &&
        message.contains("reasoning_content")) {
      // A template that reads another field may take thoughts or content beside calls, and not
      // both.
      const bool both =
          message.contains("tool_calls") && !message["content"].get<std::string>().empty();
      if (!both) message[format_->reasoning_field] = message["reasoning_content"];
    }
    if (message.contains("tool_calls") && capabilities_.value("supports_object_arguments", false)) {
      for (Json& call : message["tool_calls"]) {
        Json& arguments = call["function"]["arguments"];
        if (!arguments.is_string()) continue;
        if (Result<Json> parsed = parse_json(arguments.get<std::string>());
            parsed && parsed->is_object()) {
          arguments = *std::move(parsed);
        }
      }
    }
    out.push_back(std::move(message));
  }
  return out;
}

// Calls as the model writes them, for templates that have no place for those of earlier turns.
std::string ChatRenderer::calls_as_text(const Json& calls) const {
  const std::string open = format_->opening.empty() ? std::string() : format_->opening.front();
  const std::string close = format_->closing.empty() ? std::string() : format_->closing.front();
  std::string out;
  for (const Json& call : calls) {
    const Json& arguments = call["function"]["arguments"];
    const std::string object =
        "{\"name\": " + dump_json(call["function"]["name"]) + ", \"arguments\": " +
        (arguments.is_string() ? arguments.get<std::string>() : dump_json(arguments)) + '}';
    if (format_->json_list) {
      out += (out.empty() ? open + '[' : ", ") + object;
    } else {
      out += (out.empty() ? "" : "\n") + open + '\n' + object + '\n' + close;
    }
  }
  return format_->json_list ? out + ']' : out;
}

// The conversation for a template without tools, or without calls: calls as text; in the first case
// their results as well, and the tools in the system prompt.
Json ChatRenderer::spelled_out(const Conversation& conversation) const {
  Json out = Json::array();
  const bool knows_tools = can("supports_tools"), knows_calls = can("supports_tool_calls");
  const bool offered = !knows_tools && !conversation.tools.empty();
  if (offered)
    out.push_back(
        {{"role", "system"}, {"content", tool_prompt(conversation.tools, call_example_)}});
  for (Json message : conversation.messages) {
    const std::string role = message["role"];
    std::string content =
        message["content"].is_string() ? message["content"].get<std::string>() : std::string();
    if (offered && out.size() == 1 && (role == "system" || role == "developer")) {
      out[0]["content"] = content + "\n\n" + out[0]["content"].get<std::string>();
      continue;
    }
    if (message.contains("tool_calls") && !knows_calls) {
      message["content"] =
          content + (content.empty() ? "" : "\n") + calls_as_text(message["tool_calls"]);
      message.erase("tool_calls");
    } else if (!knows_tools && !knows_calls && (role == "tool" || role == "function")) {
      message["role"] = "user";
      message["content"] = "<tool_response>\n" + content + "\n</tool_response>";
    }
    out.push_back(std::move(message));
  }
  return out;
}

Result<std::string> ChatRenderer::render(const Conversation& conversation) const {
  // While probing, the template is shown what it may not know.
  const bool knows_tools = !format_ || can("supports_tools");
  const bool native = knows_tools && (!format_ || can("supports_tool_calls"));
  const Json messages = native ? conversation.messages : spelled_out(conversation);
  Json context = {{"messages", normal_messages(messages)},
                  {"bos_token", bos_},
                  {"eos_token", eos_},
                  {"enable_thinking", true},
                  {"datetime", date("%b %d %Y")},
                  {"date_string", date("%d %b %Y")}};
  if (knows_tools && !conversation.tools.empty()) context[tools_variable_] = conversation.tools;
  if (conversation.add_generation_prompt) context["add_generation_prompt"] = true;
  for (const auto& [key, value] : conversation.variables.items()) context[key] = value;
  const auto& chosen = conversation.tools.empty() ? template_ : tool_template_;
  text::jinja::RenderResult result = chosen->render(context);
  if (!result.ok()) {
    return Status(Code::kInvalidArgument, "the chat template refused this conversation (line " +
                                              std::to_string(result.error.line) +
                                              "): " + result.error.message);
  }
  // The tokenizer will put it there.
  if (drop_bos_ && !bos_.empty() && result.output.starts_with(bos_))
    result.output.erase(0, bos_.size());
  return std::move(result.output);
}

void ChatRenderer::probe() {
  const std::string marker = "probe-7d41";
  const auto shows = [&](const Conversation& conversation, const std::string& text) {
    const Result<std::string> out = render(conversation);
    return out.ok() && out->find(text) != std::string::npos;
  };
  const Json tool = {{"type", "function"},
                     {"function",
                      {{"name", "tool-probe"},
                       {"description", marker},
                       {"parameters", {{"type", "object"}, {"properties", Json::object()}}}}}};
  const auto call = [&](const std::string& name, Json arguments) {
    return Json{{"id", "call00001"},
                {"type", "function"},
                {"function", {{"name", name}, {"arguments", std::move(arguments)}}}};
  };
  const auto with_calls = [&](std::vector<Json> calls) {
    return Conversation{
        {user("x"),
         {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json(std::move(calls))}}},
        Json::array({tool}),
        Json::object(),
        false};
  };
  Json found = Json::object();
  found["supports_system_role"] = shows(
      {{{{"role", "system"}, {"content", marker}}, user("x")}, Json::array(), Json::object(), true},
      marker);
  // Most templates read `tools`; some have another name for them.
  for (const char* name : {"tools", "xml_tools", "available_tools", "functions"}) {
    tools_variable_ = name;
    found["supports_tools"] =
        shows({Json::array({user("x")}), Json::array({tool}), Json::object(), true}, "tool-probe");
    if (found["supports_tools"] == true) break;
  }
  const std::string needle = "needle-93c2";  // not in the tool's description
  const bool text_arguments =
      shows(with_calls({call("tool-probe", "{\"key\":\"" + needle + "\"}")}), needle);
  const bool object_arguments = shows(with_calls({call("tool-probe", {{"key", needle}})}), needle);
  found["supports_tool_calls"] = text_arguments || object_arguments;
  found["supports_object_arguments"] = object_arguments;
  found["supports_parallel_tool_calls"] =
      object_arguments &&
      shows(with_calls({call("tool-probe", {{"a", "b"}}), call("tool-probe", {{"key", needle}})}),
            needle);
  found["supports_preserve_reasoning"] =
      shows({{user("x"),
              {{"role", "assistant"}, {"content", "y"}, {"reasoning_content", marker}},
              user("z")},
             Json::array(),
             Json::object(),
             true},
            marker);
  found["supports_string_content"] =
      shows({Json::array({user(marker)}), Json::array(), Json::object(), true}, marker);
  found["supports_typed_content"] =
      shows({{{{"role", "user"}, {"content", {{{"type", "text"}, {"text", marker}}}}}},
             Json::array(),
             Json::object(),
             true},
            marker);
  const auto rendered = [&](const char* variable, Json value) {
    const Result<std::string> out =
        render({Json::array({user("x")}), Json::array(), {{variable, std::move(value)}}, true});
    return out.ok() ? *out : std::string();
  };
  can_think_ = rendered("enable_thinking", true) != rendered("enable_thinking", false);
  found["supports_reasoning_effort"] =
      rendered("reasoning_effort", "low") != rendered("reasoning_effort", "high");
  capabilities_ = std::move(found);
  const text::ChatRender render_for_format = [this](const Json& messages, const Json& tools,
                                                    const Json& variables, bool generation_prompt) {
    return render({messages, tools, variables, generation_prompt});
  };
  text::ChatFormat format =
      text::ChatFormat::derive(render_for_format, tool_source_.empty() ? source_ : tool_source_);
  // Where the template shows neither calls nor how to write them, the notation is ours.
  if (format.style == text::CallStyle::kNone ||
      (!can("supports_tools") && !can("supports_tool_calls"))) {
    format.style = text::CallStyle::kJson;
    format.opening = {kCallStart};
    format.repeat = 0;
    format.closing = {kCallEnd};
    format.closing_each = 1;
    format.json_list = false;
  }
  format_ = std::make_shared<const text::ChatFormat>(std::move(format));
  const Json example = Json::array({call("function_name", {{"argument_name", "value"}})});
  call_example_ = calls_as_text(example);
  if (!can("supports_tool_calls")) return;
  // The template's own notation: what it adds for the calls.
  const Conversation before{Json::array({user("x")}),
                            Json::array(),
                            {{"enable_thinking", false}, {"thinking", false}},
                            true};
  Conversation after = before;
  after.messages.push_back({{"role", "assistant"}, {"content", ""}, {"tool_calls", example}});
  after.add_generation_prompt = false;
  const Result<std::string> prompt = render(before), full = render(after);
  if (!prompt || !full) return;
  std::string text = full->substr(text::detail::common_prefix(*full, *prompt));
  const std::size_t end =
      format_->turn_end.empty() ? std::string::npos : text.rfind(format_->turn_end);
  if (end != std::string::npos) text.erase(end);
  call_example_ = std::string(text::detail::trimmed(text));
}

}  // namespace veloce::serve

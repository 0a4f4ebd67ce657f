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
    "{%- for message in messages -%}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor -%}{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}";

Result<std::shared_ptr<const text::jinja::Template>> parse(const std::string& source, const std::string& name) {
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

std::string tool_prompt(const Json& tools) {
  std::string out = "You may call functions. Their signatures, as JSON:\n";
  for (const Json& tool : tools) out += dump_json(tool["function"]) + '\n';
  return out + "To call one, answer with a JSON object of its name and arguments between tags:\n" + kCallStart +
         "\n{\"name\": \"function name\", \"arguments\": {}}\n" + kCallEnd;
}

Json user(const std::string& text) { return {{"role", "user"}, {"content", text}}; }

}  // namespace

Result<ChatRenderer> ChatRenderer::create(const std::string& given, const gguf::Metadata& metadata,
                                          const text::Tokenizer& tokenizer) {
  ChatRenderer out;
  std::string name = "--chat-template";
  out.source_ = given;
  if (given.empty()) {
    name = metadata.file() + ": tokenizer.chat_template";
    for (const auto& [key, target] : {std::pair{"tokenizer.chat_template", &out.source_},
                                      std::pair{"tokenizer.chat_template.tool_use", &out.tool_source_}}) {
      if (!metadata.has(key)) continue;
      const auto text = metadata.get<std::string>(key);
      if (!text) return text.status();
      *target = *text;
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

// Shapes that every template is written for: no null contents, arguments as objects where the template walks through
// them, `developer` as `system`, and no system turn where the template has none.
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
    if (message.contains("tool_calls") && capabilities_.value("supports_object_arguments", false)) {
      for (Json& call : message["tool_calls"]) {
        Json& arguments = call["function"]["arguments"];
        if (!arguments.is_string()) continue;
        if (Result<Json> parsed = parse_json(arguments.get<std::string>()); parsed && parsed->is_object()) {
          arguments = *std::move(parsed);
        }
      }
    }
    out.push_back(std::move(message));
  }
  return out;
}

// The conversation for a template without tools: calls and their results as text, the tools in the system prompt.
Json ChatRenderer::spelled_out(const Conversation& conversation) const {
  Json out = Json::array();
  const bool offered = !conversation.tools.empty();
  if (offered) out.push_back({{"role", "system"}, {"content", tool_prompt(conversation.tools)}});
  for (Json message : conversation.messages) {
    const std::string role = message["role"];
    std::string content = message["content"].is_string() ? message["content"].get<std::string>() : std::string();
    if (offered && out.size() == 1 && (role == "system" || role == "developer")) {
      out[0]["content"] = content + "\n\n" + out[0]["content"].get<std::string>();
      continue;
    }
    if (message.contains("tool_calls")) {
      for (const Json& call : message["tool_calls"]) {
        const Json& arguments = call["function"]["arguments"];
        content += std::string(content.empty() ? "" : "\n") + kCallStart + "\n{\"name\": " + dump_json(call["function"]["name"]) +
                   ", \"arguments\": " + (arguments.is_string() ? arguments.get<std::string>() : dump_json(arguments)) + "}\n" + kCallEnd;
      }
      message.erase("tool_calls");
      message["content"] = content;
    } else if (role == "tool" || role == "function") {
      message["role"] = "user";
      message["content"] = "<tool_response>\n" + content + "\n</tool_response>";
    }
    out.push_back(std::move(message));
  }
  return out;
}

Result<std::string> ChatRenderer::render(const Conversation& conversation) const {
  // While probing, the template is shown what it may not know.
  const bool native = !format_ || capabilities_.value("supports_tools", false);
  const Json messages = native ? conversation.messages : spelled_out(conversation);
  Json context = {{"messages", normal_messages(messages)},
                  {"bos_token", bos_},
                  {"eos_token", eos_},
                  {"enable_thinking", true},
                  {"datetime", date("%b %d %Y")},
                  {"date_string", date("%d %b %Y")}};
  if (native && !conversation.tools.empty()) context["tools"] = conversation.tools;
  if (conversation.add_generation_prompt) context["add_generation_prompt"] = true;
  for (const auto& [key, value] : conversation.variables.items()) context[key] = value;
  const auto& chosen = conversation.tools.empty() ? template_ : tool_template_;
  text::jinja::RenderResult result = chosen->render(context);
  if (!result.ok()) {
    return Status(Code::kInvalidArgument, "the chat template refused this conversation (line " +
                                              std::to_string(result.error.line) + "): " + result.error.message);
  }
  // The tokenizer will put it there.
  if (drop_bos_ && !bos_.empty() && result.output.starts_with(bos_)) result.output.erase(0, bos_.size());
  return std::move(result.output);
}

void ChatRenderer::probe() {
  const std::string marker = "probe-7d41";
  const auto shows = [&](const Conversation& conversation, const std::string& text) {
    const Result<std::string> out = render(conversation);
    return out.ok() && out->find(text) != std::string::npos;
  };
  const Json tool = {{"type", "function"},
                     {"function", {{"name", "tool-probe"}, {"description", marker}, {"parameters", {{"type", "object"}, {"properties", Json::object()}}}}}};
  const auto call = [&](const std::string& name, Json arguments) {
    return Json{{"id", "call00001"}, {"type", "function"}, {"function", {{"name", name}, {"arguments", std::move(arguments)}}}};
  };
  const auto with_calls = [&](std::vector<Json> calls) {
    return Conversation{{user("x"), {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json(std::move(calls))}}}, Json::array({tool}), Json::object(), false};
  };
  Json found = Json::object();
  found["supports_system_role"] = shows({{{{"role", "system"}, {"content", marker}}, user("x")}, Json::array(), Json::object(), true}, marker);
  found["supports_tools"] = shows({Json::array({user("x")}), Json::array({tool}), Json::object(), true}, "tool-probe");
  const bool text_arguments = shows(with_calls({call("tool-probe", "{\"needle\":\"" + marker + "\"}")}), marker);
  const bool object_arguments = shows(with_calls({call("tool-probe", {{"needle", marker}})}), marker);
  found["supports_tool_calls"] = text_arguments || object_arguments;
  found["supports_object_arguments"] = object_arguments;
  found["supports_parallel_tool_calls"] =
      object_arguments && shows(with_calls({call("tool-probe", {{"a", "b"}}), call("tool-probe", {{"needle", marker}})}), marker);
  found["supports_preserve_reasoning"] = shows({{user("x"), {{"role", "assistant"}, {"content", "y"}, {"reasoning_content", marker}}, user("z")}, Json::array(), Json::object(), true}, marker);
  found["supports_string_content"] = shows({Json::array({user(marker)}), Json::array(), Json::object(), true}, marker);
  found["supports_typed_content"] = shows({{{{"role", "user"}, {"content", {{{"type", "text"}, {"text", marker}}}}}}, Json::array(), Json::object(), true}, marker);
  const auto rendered = [&](const char* variable, Json value) {
    const Result<std::string> out = render({Json::array({user("x")}), Json::array(), {{variable, std::move(value)}}, true});
    return out.ok() ? *out : std::string();
  };
  can_think_ = rendered("enable_thinking", true) != rendered("enable_thinking", false);
  found["supports_reasoning_effort"] = rendered("reasoning_effort", "low") != rendered("reasoning_effort", "high");
  capabilities_ = std::move(found);
  const text::ChatRender render_for_format = [this](const Json& messages, const Json& tools, const Json& variables, bool generation_prompt) {
    return render({messages, tools, variables, generation_prompt});
  };
  text::ChatFormat format = text::ChatFormat::derive(render_for_format, tool_source_.empty() ? source_ : tool_source_);
  if (!can("supports_tools")) {
    format.style = text::CallStyle::kJson;
    format.opening = {kCallStart};
    format.repeat = 0;
    format.closing = {kCallEnd};
  }
  format_ = std::make_shared<const text::ChatFormat>(std::move(format));
}

}  // namespace veloce::serve

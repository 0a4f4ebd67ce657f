// Fuzzes the reading of answers: the first byte chooses a template, whose format is derived, the
// second how the text is cut; the rest is the model's text. However it is cut, the same must come
// out, with calls in order.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/text/chat_parse.hpp"
#include "veloce/text/jinja.hpp"

using nlohmann::ordered_json;
using namespace veloce;
using namespace veloce::text;

namespace {

// One of each style of call.
constexpr const char* kTemplates[] = {
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.reasoning_content %}<think>\n{{ "
    "m.reasoning_content }}\n</think>\n{% endif %}"
    "{{ m.content }}{% for c in m.tool_calls or [] %}\n<tool_call>\n{\"name\": \"{{ "
    "c.function.name }}\", \"arguments\": "
    "{{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|im_end|>\n{% endfor %}{% if "
    "tools %}{{ tools | tojson }}{% endif %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% if m.tool_calls %}[CALLS][{% for c in "
    "m.tool_calls %}{{ ', ' if not loop.first }}"
    "{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}, "
    "\"id\": \"{{ c.id }}\"}{% endfor %}]{% endif %}</s>"
    "{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}{% if add_generation_prompt "
    "%}[assistant]{% endif %}",
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls or [] "
    "%}<call>{{ c.function.name }}<sep>"
    "{{ c.function.arguments | tojson }}</call>{% endfor %}{% endfor %}{% if tools %}{{ tools | "
    "tojson }}{% endif %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}",
    "{% for m in messages %}<|{{ m.role }}|>\n<think>{{ m.reasoning_content or '' }}</think>{{ "
    "m.content }}{% for c in m.tool_calls or [] %}"
    "<tool_call>{{ c.function.name }}{% for k, v in c.function.arguments.items() %}<key>{{ k "
    "}}</key><value>"
    "{{ v if v is string else v | tojson }}</value>{% endfor %}</tool_call>{% endfor %}{% endfor "
    "%}{% if tools %}{{ tools | tojson }}{% endif %}"
    "{% if add_generation_prompt %}<|assistant|>\n<think>{% endif %}"};

const std::vector<ChatFormat>& formats() {
  static const std::vector<ChatFormat> kFormats = [] {
    std::vector<ChatFormat> out;
    for (const char* source : kTemplates) {
      auto parsed = jinja::Template::parse(source);
      if (!parsed) std::abort();
      const ChatRender render = [&](const ordered_json& messages, const ordered_json& tools,
                                    const ordered_json& variables,
                                    bool prompt) -> Result<std::string> {
        ordered_json context = {
            {"messages", messages}, {"tools", tools}, {"add_generation_prompt", prompt}};
        context.update(variables);
        jinja::RenderResult r = parsed->render(context);
        if (!r.ok()) return Status(Code::kInvalidArgument, r.error.message);
        return std::move(r.output);
      };
      out.push_back(ChatFormat::derive(render, source));
      if (!out.back().has_calls()) std::abort();
    }
    return out;
  }();
  return kFormats;
}

struct Answer {
  std::string reasoning, content;
  std::vector<std::string> calls;
  bool operator==(const Answer&) const = default;
};

void add(Answer& to, const std::vector<ChatDelta>& deltas) {
  for (const ChatDelta& d : deltas) {
    switch (d.kind) {
      case ChatDelta::Kind::kReasoning:
        to.reasoning += d.text;
        break;
      case ChatDelta::Kind::kContent:
        to.content += d.text;
        break;
      case ChatDelta::Kind::kCallStart:
        if (d.call != int(to.calls.size()) || d.name.empty()) std::abort();
        to.calls.push_back(d.name + '\n' + d.id + '\n');
        break;
      case ChatDelta::Kind::kCallArguments:
        if (d.call != int(to.calls.size()) - 1) std::abort();
        to.calls.back() += d.text;
        break;
    }
  }
}

Answer parse(const ChatFormat& format, std::string_view text, std::size_t step, bool in_reasoning) {
  ChatParseOptions options;
  options.parse_calls = true;
  options.begins_in_reasoning = in_reasoning;
  options.make_id = [] { return std::string("id"); };
  ChatParser parser(format, options);
  Answer out;
  for (std::size_t at = 0; at < text.size(); at += step)
    add(out, parser.feed(text.substr(at, step)));
  add(out, parser.feed("", true));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const ChatFormat& format = formats()[data[0] % formats().size()];
  const bool in_reasoning = (data[0] & 64) != 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Answer whole = parse(format, text, text.size() + 1, in_reasoning);
  if (parse(format, text, 1, in_reasoning) != whole) std::abort();
  if (parse(format, text, 2 + data[1] % 31u, in_reasoning) != whole) std::abort();
  return 0;
}

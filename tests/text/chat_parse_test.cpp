// Answers written by every template are read back: what render() made of a conversation, cut at
// every byte, gives the conversation's thoughts, content and calls; broken answers stay content.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/data_dirs.hpp"
#include "veloce/text/chat_parse.hpp"
#include "veloce/text/jinja.hpp"

using nlohmann::ordered_json;
using namespace veloce;
using namespace veloce::text;

namespace {

struct Call {
  std::string name, arguments, id;
};
struct Message {
  std::string reasoning, content;
  std::vector<Call> calls;
};

void add(Message& to, const std::vector<ChatDelta>& deltas) {
  for (const ChatDelta& d : deltas) {
    switch (d.kind) {
      case ChatDelta::Kind::kReasoning:
        to.reasoning += d.text;
        break;
      case ChatDelta::Kind::kContent:
        to.content += d.text;
        break;
      case ChatDelta::Kind::kCallStart:
        REQUIRE(d.call == int(to.calls.size()));
        to.calls.push_back({d.name, "", d.id});
        break;
      case ChatDelta::Kind::kCallArguments:
        REQUIRE(d.call == int(to.calls.size()) - 1);
        to.calls.back().arguments += d.text;
        break;
    }
  }
}
// The whole text in one piece; cut in two at `cut`; or byte by byte.
enum class Cut { kWhole, kTwo, kBytes };
Message parse(const ChatFormat& format, const ChatParseOptions& options, const std::string& text,
              Cut cut, std::size_t at = 0) {
  ChatParser parser(format, options);
  Message out;
  if (cut == Cut::kWhole) add(out, parser.feed(text));
  if (cut == Cut::kTwo)
    add(out, parser.feed(text.substr(0, at))), add(out, parser.feed(text.substr(at)));
  if (cut == Cut::kBytes)
    for (char c : text) add(out, parser.feed(std::string(1, c)));
  add(out, parser.feed("", true));
  return out;
}

struct TestTemplate {
  std::string name, source;
  std::shared_ptr<jinja::Template> parsed;

  ChatRender render() const {
    return [this](const ordered_json& messages, const ordered_json& tools,
                  const ordered_json& variables, bool generation_prompt) -> Result<std::string> {
      ordered_json context = {
          {"messages", messages}, {"bos_token", "<bos>"}, {"eos_token", "<eos>"}};
      if (!tools.empty()) context["tools"] = tools;
      if (generation_prompt) context["add_generation_prompt"] = true;
      for (const auto& [key, value] : variables.items()) context[key] = value;
      jinja::RenderResult r = parsed->render(context);
      if (!r.ok()) return Status(Code::kInvalidArgument, r.error.message);
      return std::move(r.output);
    };
  }
};
std::vector<TestTemplate> all_templates() {
  std::vector<TestTemplate> out;
  for (const auto& path : test::files_below(test::data_dir() / "templates", ".jinja")) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    auto parsed = jinja::Template::parse(text.str());
    REQUIRE(parsed.ok());
    out.push_back(
        {path.stem().string(), text.str(), std::make_shared<jinja::Template>(*std::move(parsed))});
  }
  if (out.empty()) std::printf("SKIP: no templates in the data folder\n");
  return out;
}

ordered_json call(const char* name, ordered_json arguments, const char* id = "abcdef123") {
  return {{"id", id},
          {"type", "function"},
          {"function", {{"name", name}, {"arguments", std::move(arguments)}}}};
}
ordered_json tools() {
  return ordered_json::parse(R"([
    {"type":"function","function":{"name":"get_weather","description":"","parameters":{"type":"object","properties":{
      "town":{"type":"string"},"days":{"type":"integer"},"exact":{"type":"boolean"}},"required":["town"]}}},
    {"type":"function","function":{"name":"search-notes.v2","description":"","parameters":{"type":"object","properties":{
      "query":{"type":"string"},"limit":{"type":"number"},"tags":{"type":"array","items":{"type":"string"}},
      "options":{"type":"object","properties":{"deep":{"type":"boolean"}}},"nothing":{"type":"null"}},"required":[]}}},
    {"type":"function","function":{"name":"ping","description":"","parameters":{"type":"object","properties":{},"required":[]}}}])");
}
const ordered_json kThinkingOff = {{"enable_thinking", false}, {"thinking", false}};

// What the template makes of the assistant's message, after the prompt.
std::string written(const TestTemplate& t, const ChatFormat& format, const ordered_json& message,
                    const ordered_json& variables, bool with_tools,
                    std::string* prompt_out = nullptr) {
  const ordered_json user = {{"role", "user"}, {"content", "What now?"}};
  const auto full = t.render()(ordered_json::array({user, message}),
                               with_tools ? tools() : ordered_json::array(), variables, false);
  REQUIRE(full.ok());
  std::string prompt;
  for (const ordered_json& v : {variables, ordered_json::object()}) {
    const auto p = t.render()(ordered_json::array({user}),
                              with_tools ? tools() : ordered_json::array(), v, true);
    REQUIRE(p.ok());
    prompt = *p;
    if (full->starts_with(prompt)) break;
  }
  std::string text = full->substr(detail::common_prefix(*full, prompt));
  if (!format.turn_end.empty())
    if (const std::size_t end = text.rfind(format.turn_end); end != std::string::npos)
      text.erase(end);
  if (prompt_out != nullptr) *prompt_out = prompt;
  return text;
}

void check_everywhere(const ChatFormat& format, const ChatParseOptions& options,
                      const std::string& text, const ordered_json& message, bool shows_content,
                      bool shows_calls) {
  const auto check = [&](const Message& got) {
    if (shows_content) CHECK(got.content == message.value("content", ""));
    if (message.contains("reasoning_content") && !message.contains("tool_calls"))
      CHECK(got.reasoning == message["reasoning_content"].get<std::string>());
    if (!shows_calls) return;
    REQUIRE(got.calls.size() == message["tool_calls"].size());
    for (std::size_t i = 0; i < got.calls.size(); ++i) {
      const ordered_json& wanted = message["tool_calls"][i];
      CHECK(got.calls[i].name == wanted["function"]["name"].get<std::string>());
      CHECK(ordered_json::parse(got.calls[i].arguments, nullptr, false) ==
            wanted["function"]["arguments"]);
      if (!format.id_key.empty())
        CHECK(got.calls[i].id == wanted["id"].get<std::string>());
      else
        CHECK(got.calls[i].id.size() == 32);
    }
  };
  {
    INFO("text: " << text);
    check(parse(format, options, text, Cut::kWhole));
    check(parse(format, options, text, Cut::kBytes));
  }
  for (std::size_t at = 1; at < text.size(); ++at) {
    INFO("cut at " << at << " of: " << text);
    check(parse(format, options, text, Cut::kTwo, at));
  }
}

}  // namespace

TEST_CASE("calls written by every template are read back") {
  const ordered_json rich = {{"query", "a \"b\" <c> & 'd'\nn\xC3\xA9w 京 {x} [y]"},
                             {"limit", 2.5},
                             {"tags", {"x", "y'z"}},
                             {"options", {{"deep", true}}},
                             {"nothing", nullptr}};
  const std::vector<ordered_json> messages = {
      {{"role", "assistant"},
       {"content", ""},
       {"tool_calls", {call("get_weather", {{"town", "K\xC3\xB6ln"}, {"days", 3}})}}},
      {{"role", "assistant"},
       {"content", ""},
       {"tool_calls", {call("get_weather", {{"town", "42"}, {"days", -1}, {"exact", true}})}}},
      {{"role", "assistant"}, {"content", ""}, {"tool_calls", {call("search-notes.v2", rich)}}},
      {{"role", "assistant"},
       {"content", ""},
       {"tool_calls", {call("ping", ordered_json::object())}}},
      {{"role", "assistant"},
       {"content", ""},
       {"tool_calls",
        {call("get_weather", {{"town", ""}}), call("search-notes.v2", rich, "ghijkl456")}}},
      {{"role", "assistant"},
       {"content", "Let me look."},
       {"tool_calls", {call("get_weather", {{"town", "a\n\nb\n"}})}}},
      {{"role", "assistant"},
       {"content", ""},
       {"tool_calls",
        {call("ping", ordered_json::object()), call("ping", ordered_json::object(), "ghijkl456"),
         call("get_weather", {{"town", "x"}}, "mnopqr789")}}},
  };
  for (const TestTemplate& t : all_templates()) {
    CAPTURE(t.name);
    const ChatFormat format = ChatFormat::derive(t.render(), t.source);
    ChatParseOptions options;
    options.parse_calls = true;
    options.tools = tools();
    int read = 0;
    for (const ordered_json& message : messages) {
      const std::string text = written(t, format, message, kThinkingOff, true);
      if (text.find(message["tool_calls"][0]["function"]["name"].get<std::string>()) ==
          std::string::npos)
        continue;  // not shown
      std::size_t shown = 0;
      for (const ordered_json& c : message["tool_calls"])
        for (std::size_t at = 0;
             (at = text.find(c["function"]["name"].get<std::string>(), at)) != std::string::npos;
             ++at)
          ++shown;
      if (shown < message["tool_calls"].size()) continue;  // the template writes one call at most
      const bool shows_content = text.find("Let me look.") != std::string::npos &&
                                 text.find("analysis") == std::string::npos;
      check_everywhere(format, options, text, message, shows_content || message["content"] == "",
                       true);
      ++read;
    }
    std::printf("%s: style %d, %d conversations with calls read back\n", t.name.c_str(),
                int(format.style), read);
  }
}

TEST_CASE("thoughts written by every template are read back") {
  const ordered_json message = {{"role", "assistant"},
                                {"content", "It is\n\n42."},
                                {"reasoning_content", "Six < seven.\n\nSo </thin it is."}};
  const ordered_json on = {{"enable_thinking", true}, {"thinking", true}, {"drop_thinking", false}};
  for (const TestTemplate& t : all_templates()) {
    CAPTURE(t.name);
    const ChatFormat format = ChatFormat::derive(t.render(), t.source);
    ordered_json given = message;
    given[format.reasoning_field] = message["reasoning_content"];
    std::string prompt;
    const std::string text = written(t, format, given, on, false, &prompt);
    ChatParseOptions options;
    options.begins_in_reasoning = format.opens_reasoning(prompt);
    if (text.find("Six < seven.") == std::string::npos) {
      // Not shown in the history; the model still writes it.
      if (format.reasoning_start.empty()) continue;
      const std::string own = (options.begins_in_reasoning ? "" : format.reasoning_start) +
                              "Six < seven.\n\nSo </thin it is.\n" + format.reasoning_end +
                              "\n\nIt is\n\n42.";
      check_everywhere(format, options, own, message, true, false);
      continue;
    }
    check_everywhere(format, options, text, message, true, false);
  }
}

TEST_CASE("texts without calls and broken calls stay content") {
  for (const TestTemplate& t : all_templates()) {
    CAPTURE(t.name);
    const ChatFormat format = ChatFormat::derive(t.render(), t.source);
    if (!format.has_calls() || format.style == CallStyle::kChannels) continue;
    ChatParseOptions options;
    options.parse_calls = true;
    options.parse_reasoning = false;
    const std::string open = format.opening.empty() ? "{" : format.opening.front();
    for (const std::string& text : std::vector<std::string>{
             std::string("plain text, a < b"), "text " + open, "text " + open + " and on",
             open + "\n", "a\n\n  b\n", "<", open.substr(0, open.size() - 1),
             "x " + open.substr(0, open.size() - 1) + " y", open + "{\"x\": 1}", open + open}) {
      for (Cut cut : {Cut::kWhole, Cut::kBytes}) {
        INFO("text: " << text);
        const Message got = parse(format, options, text, cut);
        CHECK(got.content == text);
        CHECK(got.calls.empty());
      }
    }
  }
}

TEST_CASE("a mark inside a JSON value's string is that string's") {
  ChatFormat format;
  format.style = CallStyle::kTagged;
  format.opening = {"<call>", "<f="};
  format.after_name = {">"};
  format.key_start = "<p=";
  format.key_end = {">"};
  format.value_end = "</p>";
  format.closing = {"</f>", "</call>"};
  format.closing_each = 2;
  ChatParseOptions options;
  options.parse_calls = true;
  options.tools = ordered_json::parse(
      R"([{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"object"}}}}}])");
  const std::string text =
      R"(<call><f=g><p=a>["x</p>y", "\"</p></f>"]</p><p=b>{"k": "</p>"}</p></f></call>)";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const Message got = parse(format, options, text, Cut::kTwo, at);
    REQUIRE(got.calls.size() == 1);
    CHECK(ordered_json::parse(got.calls[0].arguments, nullptr, false) ==
          ordered_json::parse(R"({"a": ["x</p>y", "\"</p></f>"], "b": {"k": "</p>"}})"));
    CHECK(got.content.empty());
  }
  // A string that is never closed: the first mark it was.
  const Message broken =
      parse(format, options, R"(<call><f=g><p=a>["x</p></f></call>)", Cut::kBytes);
  REQUIRE(broken.calls.size() == 1);
  CHECK(ordered_json::parse(broken.calls[0].arguments, nullptr, false) ==
        ordered_json::parse(R"({"a": "[\"x"})"));
}

TEST_CASE("channels") {
  ChatFormat format;
  format.style = CallStyle::kChannels;
  format.reasoning_start = "<|channel|>analysis<|message|>";
  format.reasoning_end = "<|end|>";
  ChatParseOptions options;
  options.parse_calls = true;
  const std::string text =
      "<|channel|>analysis<|message|>Hm <b>.<|end|><|start|>assistant<|channel|>commentary "
      "to=functions.get_weather "
      "<|constrain|>json<|message|>{\"town\": "
      "\"K\"}<|call|><|start|>assistant<|channel|>final<|message|>Done.<|return|>";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const Message got = parse(format, options, text, Cut::kTwo, at);
    CHECK(got.reasoning == "Hm <b>.");
    CHECK(got.content == "Done.");
    REQUIRE(got.calls.size() == 1);
    CHECK(got.calls[0].name == "get_weather");
    CHECK(got.calls[0].arguments == "{\"town\": \"K\"}");
  }
}

// Calls as JSON objects between marks.
static std::pair<ChatFormat, ChatParseOptions> marked_json_calls() {
  std::pair<ChatFormat, ChatParseOptions> out;
  out.first.style = CallStyle::kJson;
  out.first.opening = {"<tool_call>"};
  out.first.closing = {"</tool_call>"};
  out.second.parse_calls = true;
  return out;
}

TEST_CASE("a truncated call keeps what there is of it") {
  const auto [format, options] = marked_json_calls();
  const Message got = parse(
      format, options, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"xy", Cut::kBytes);
  REQUIRE(got.calls.size() == 1);
  CHECK(got.calls[0].name == "f");
  CHECK(got.calls[0].arguments == "{\"a\": \"xy");
  CHECK(got.content.empty());
}

TEST_CASE("a mark that the text's end cuts off behind a call is no content") {
  const auto [format, options] = marked_json_calls();
  const std::string call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n";
  for (std::size_t n = 0; n <= format.closing[0].size(); ++n)
    for (const Cut cut : {Cut::kWhole, Cut::kBytes}) {
      const Message got = parse(format, options, call + format.closing[0].substr(0, n), cut);
      REQUIRE(got.calls.size() == 1);
      CHECK(got.calls[0].arguments == "{\"a\": 1}");
      CHECK_MESSAGE(got.content.empty(), got.content);
    }
  // What is no mark stays.
  CHECK(parse(format, options, call + "</tool_call> and </tool", Cut::kWhole).content ==
        "and </tool");
}

// The chat templates as the server uses them: what the tool grammar lets a model write is what the
// reader of answers reads, and what the template writes of earlier calls is what the grammar lets a
// model write.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "api/chat_output.hpp"
#include "api/tool_grammar.hpp"
#include "chat_renderer.hpp"
#include "scheduler/reasoning_budget.hpp"
#include "support/data_dirs.hpp"
#include "veloce/gguf/file.hpp"
#include "veloce/text/chat_parse_format.hpp"
#include "veloce/text/grammar.hpp"
#include "veloce/text/tokenizer.hpp"

using namespace veloce;
using namespace veloce::serve;

namespace {

// Vocabulary and metadata of a small model; the templates are the tests' own.
struct Base {
  gguf::File file;
  text::Tokenizer tokenizer;
};
const Base* base() {
  static const Base* one = []() -> const Base* {
    for (const auto& path : test::files_below(test::source_dir() / "tests/golden", ".gguf")) {
      auto file = gguf::File::open(path.string());
      if (!file) continue;
      auto tokenizer = text::Tokenizer::from_metadata(file->metadata());
      if (tokenizer) return new Base{*std::move(file), *std::move(tokenizer)};
    }
    return nullptr;
  }();
  return one;
}

ChatRenderer renderer(const std::string& source) {
  REQUIRE(base() != nullptr);
  auto made = ChatRenderer::create(source, base()->file.metadata(), base()->tokenizer);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  return *std::move(made);
}

struct Named {
  std::string name, source;
};
std::vector<Named> templates() {
  std::vector<Named> out;
  for (const auto& path : test::files_below(test::data_dir() / "templates", ".jinja")) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    out.push_back({path.stem().string(), text.str()});
  }
  if (out.empty()) std::printf("SKIP: no templates in the data folder\n");
  return out;
}

Json tool(const char* name, const char* parameters) {
  return {{"type", "function"},
          {"function",
           {{"name", name}, {"description", "d"}, {"parameters", Json::parse(parameters)}}}};
}
Json tools() {
  return Json::array(
      {tool(
           "get_weather",
           R"({"type":"object","properties":{"town":{"type":"string"},"days":{"type":"integer"},"exact":{"type":"boolean"}},"required":["town","days"]})"),
       tool(
           "search-notes.v2",
           R"({"type":"object","properties":{"query":{"type":"string"},"tags":{"type":"array","items":{"type":"string"},"maxItems":2},
                                  "options":{"type":"object","properties":{"deep":{"type":"boolean"}}},"level":{"enum":["low","high"]}},"required":["query"]})"),
       tool("ping", R"({"type":"object","properties":{}})")});
}
const ControlToken kNoControl = [](std::string_view) { return std::optional<std::int32_t>(); };

Json user(const char* text) {
  return {{"role", "user"}, {"content", text}};
}
Json call(const char* name, Json arguments, const char* id) {
  return {{"id", id},
          {"type", "function"},
          {"function", {{"name", name}, {"arguments", std::move(arguments)}}}};
}

ChatMessage read(const text::ChatFormat& format, const std::string& text, std::mt19937& random) {
  ChatOutput output;
  output.format = &format;
  output.parse_tools = true;
  output.tools = tools();
  ChatReader reader(output, true);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = std::min<std::size_t>(1 + random() % 9, text.size() - at);
    reader.feed(text.substr(at, n), false);
    at += n;
  }
  reader.feed("", true);
  return reader.message();
}

// Text that the grammar allows, drawn byte by byte, with a liking for what ends things.
class Writer {
 public:
  explicit Writer(const std::string& gbnf, std::vector<std::string> marks)
      : marks_(std::move(marks)) {
    auto grammar = text::Grammar::parse(gbnf);
    REQUIRE_MESSAGE(grammar.ok(), grammar.status().message() << '\n' << gbnf);
    std::vector<text::VocabularyToken> tokens(257);
    for (std::size_t i = 0; i < 256; ++i) tokens[i].bytes = std::string(1, static_cast<char>(i));
    tokens[256].end_of_generation = true;
    auto index = text::VocabularyIndex::create(std::move(tokens));
    REQUIRE(index.ok());
    masks_ = text::GrammarMasks::create(*grammar, *index);
  }

  std::string write(std::mt19937& random) {
    text::GrammarState state(masks_);
    std::string out;
    for (int step = 0; step < 20000; ++step) {
      if (state.allowed(256) && random() % 3 == 0) return out;
      if (random() % 4 == 0) {
        const std::string& mark = marks_[random() % marks_.size()];
        if (state.accept_text(mark).ok()) {
          out += mark;
          continue;
        }
      }
      std::vector<std::uint32_t> letters, others;
      for (std::uint32_t c = 0; c < 256; ++c) {
        if (!state.allowed(c)) continue;
        const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '"' ||
                           c == '}' || c == ']' || c == '{' || c == '<' || c == '>' || c == ':' ||
                           c == ',';
        (plain ? letters : others).push_back(c);
      }
      if (letters.empty() && others.empty()) return state.allowed(256) ? out : "";
      const auto& from =
          others.empty() || (!letters.empty() && random() % 8 != 0) ? letters : others;
      const std::uint32_t c = from[random() % from.size()];
      REQUIRE(state.accept(c).ok());
      out += static_cast<char>(c);
    }
    return "";
  }

 private:
  std::shared_ptr<text::GrammarMasks> masks_;
  std::vector<std::string> marks_;
};

// Do the arguments satisfy the tool's schema?
bool fits(const ToolCall& call) {
  const auto parsed = Json::parse(call.arguments, nullptr, false);
  if (!parsed.is_object()) return false;
  for (const Json& t : tools()) {
    if (t["function"]["name"] != call.name) continue;
    const Json& schema = t["function"]["parameters"];
    for (const Json& name : schema.value("required", Json::array()))
      if (!parsed.contains(name.get<std::string>())) return false;
    for (const auto& [key, value] : parsed.items()) {
      if (!schema["properties"].contains(key)) return false;
      const Json& property = schema["properties"][key];
      const std::string type = property.value("type", "");
      if (property.contains("enum") && std::find(property["enum"].begin(), property["enum"].end(),
                                                 value) == property["enum"].end())
        return false;
      if (type == "string" && !value.is_string()) return false;
      if (type == "integer" && !value.is_number_integer()) return false;
      if (type == "boolean" && !value.is_boolean()) return false;
      if (type == "array" && !(value.is_array() && value.size() <= 2)) return false;
      if (type == "object" && !value.is_object()) return false;
    }
    return true;
  }
  return false;
}

std::string root_of(const text::ChatFormat& format, bool parallel) {
  const Result<ToolGrammar> grammar = tool_grammar(format, tools(), parallel, kNoControl);
  REQUIRE_MESSAGE(grammar.ok(), grammar.status().message());
  return with_root(grammar->rules, format, {.calls = true}, kNoControl);
}

}  // namespace

TEST_CASE("whatever the tool grammar allows is read as calls that fit their schemas") {
  std::mt19937 random(7);
  for (const Named& t : templates()) {
    CAPTURE(t.name);
    const ChatRenderer chat = renderer(t.source);
    const text::ChatFormat& format = chat.format();
    std::vector<std::string> marks = {"\"", "}", "]", "true", "\": "};
    for (const std::string* mark : {&format.value_end, &format.key_start})
      if (!mark->empty()) marks.insert(marks.end(), {*mark, "\n" + *mark});
    marks.insert(marks.end(), format.closing.begin(), format.closing.end());
    int calls = 0, several = 0, written = 0;
    for (const bool parallel : {true, false}) {
      Writer writer(root_of(format, parallel), marks);
      for (int i = 0; i < 25; ++i) {
        const std::string text = writer.write(random);
        if (text.empty()) continue;
        ++written;
        const ChatMessage message = read(format, text, random);
        INFO("text: " << text);
        CHECK(message.calls_complete());
        CHECK(message.content.empty());
        CHECK((parallel || message.calls.size() == 1));
        for (const ToolCall& c : message.calls)
          CHECK_MESSAGE(fits(c), c.name << ' ' << c.arguments);
        calls += static_cast<int>(message.calls.size());
        several += message.calls.size() > 1;
      }
    }
    CHECK(written >= 30);
    std::printf("%s: style %d, %d texts, %d calls, %d texts with several\n", t.name.c_str(),
                int(format.style), written, calls, several);
  }
}

TEST_CASE("what a template writes of earlier calls is what the grammar allows") {
  std::mt19937 random(8);
  const std::vector<Json> messages = {
      {{"role", "assistant"},
       {"content", ""},
       {"tool_calls", {call("get_weather", {{"town", "K\xC3\xB6ln"}, {"days", 3}}, "abcdef123")}}},
      {{"role", "assistant"},
       {"content", ""},
       {"tool_calls", {call("ping", Json::object(), "abcdef123")}}},
      {{"role", "assistant"},
       {"content", ""},
       {"tool_calls",
        {call("get_weather", {{"town", "x"}, {"days", -1}, {"exact", true}}, "abcdef123"),
         call("search-notes.v2", {{"query", "a \"b\" <c>"}, {"tags", {"x"}}, {"level", "low"}},
              "ghijkl456")}}},
  };
  for (const Named& t : templates()) {
    CAPTURE(t.name);
    const ChatRenderer chat = renderer(t.source);
    const text::ChatFormat& format = chat.format();
    const auto grammar = text::Grammar::parse(root_of(format, true));
    REQUIRE(grammar.ok());
    const Json off = {{"enable_thinking", false}, {"thinking", false}};
    for (const Json& message : messages) {
      const auto prompt = chat.render({{user("What now?")}, tools(), off, true});
      const auto full = chat.render({{user("What now?"), message}, tools(), off, false});
      REQUIRE_MESSAGE(prompt.ok(), prompt.status().message());
      REQUIRE_MESSAGE(full.ok(), full.status().message());
      std::string text = full->substr(text::detail::common_prefix(*full, *prompt));
      if (!format.turn_end.empty())
        if (const std::size_t end = text.rfind(format.turn_end); end != std::string::npos)
          text.erase(end);
      std::string trimmed(text::detail::trimmed(text));
      if (trimmed.starts_with("to=")) trimmed = ' ' + trimmed;
      for (const char* end : {"<|call|>", "</s>"})
        if (trimmed.ends_with(end)) trimmed.erase(trimmed.size() - std::string(end).size());
      const ChatMessage got = read(format, text, random);
      INFO("text: " << text);
      const std::size_t shown =
          format.style == text::CallStyle::kChannels ? 1 : message["tool_calls"].size();
      REQUIRE(got.calls.size() == shown);
      for (std::size_t i = 0; i < shown; ++i) {
        CHECK(got.calls[i].name == message["tool_calls"][i]["function"]["name"].get<std::string>());
        CHECK(Json::parse(got.calls[i].arguments, nullptr, false) ==
              message["tool_calls"][i]["function"]["arguments"]);
      }
      const bool python_list =
          text.find("['") != std::string::npos;  // read, but not what is asked for
      CHECK((python_list || (*grammar)->matches(trimmed)));
    }
  }
}

TEST_CASE("templates by name") {
  for (const char* name : {"chatml", "llama3", "gemma", "phi3", "zephyr"}) {
    const ChatRenderer chat = renderer(name);
    const auto text = chat.render({{{{"role", "system"}, {"content", "Be brief."}},
                                    user("Hi"),
                                    {{"role", "assistant"}, {"content", "Yes?"}},
                                    user("So")},
                                   Json::array(),
                                   Json::object(),
                                   true});
    REQUIRE_MESSAGE(text.ok(), text.status().message());
    for (const char* part : {"Be brief.", "Hi", "Yes?", "So"})
      CHECK_MESSAGE(text->find(part) != std::string::npos, *text);
  }
  const auto unknown = ChatRenderer::create("no-such", base()->file.metadata(), base()->tokenizer);
  REQUIRE(!unknown.ok());
  CHECK(unknown.status().message().find("no-such") != std::string::npos);
}

TEST_CASE("tools under another name, and templates without a place for earlier calls") {
  std::mt19937 random(9);
  const std::string other_name =
      "{%- if xml_tools %}<tools>{% for t in xml_tools %}{{ t | string }}{% endfor %}</tools> Call "
      "with <tool_call>{\"name\": ...}</tool_call>.{% endif %}"
      "{%- for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if "
      "add_generation_prompt %}<|assistant|>{% endif %}";
  const std::string no_tools =
      "{%- for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if "
      "add_generation_prompt %}<|assistant|>{% endif %}";
  for (const std::string& source : {other_name, no_tools}) {
    const ChatRenderer chat = renderer(source);
    const Json message = {{"role", "assistant"},
                          {"content", "Let me see."},
                          {"tool_calls",
                           {call("get_weather", {{"town", "K"}, {"days", 1}}, "a"),
                            call("ping", Json::object(), "b")}}};
    const Json result = {{"role", "tool"}, {"tool_call_id", "a"}, {"content", "sunny"}};
    const auto text = chat.render({{user("Hi"), message, result}, tools(), Json::object(), true});
    REQUIRE_MESSAGE(text.ok(), text.status().message());
    INFO(*text);
    for (const char* part : {"get_weather", "search-notes.v2", "sunny", "Let me see."})
      CHECK(text->find(part) != std::string::npos);
    const std::size_t begin = text->find("<|assistant|>") + 13;
    const ChatMessage got =
        read(chat.format(), text->substr(begin, text->find("<|end|>", begin) - begin), random);
    CHECK(got.content == "Let me see.");
    REQUIRE(got.calls.size() == 2);
    CHECK(Json::parse(got.calls[0].arguments) == message["tool_calls"][0]["function"]["arguments"]);
  }
}

TEST_CASE("beside tools, a schema is that of an answer without calls, in each format") {
  std::mt19937 random(10);
  for (const Named& t : templates()) {
    CAPTURE(t.name);
    const ChatRenderer chat = renderer(t.source);
    const text::ChatFormat& format = chat.format();
    const Result<ToolGrammar> calls = tool_grammar(format, tools(), true, kNoControl);
    REQUIRE(calls.ok());
    const std::string rules = calls->rules + "answer-document ::= \"[7]\"\n";
    const auto either = text::Grammar::parse(
        with_root(rules, format, {.calls = true, .document = true}, kNoControl));
    REQUIRE_MESSAGE(either.ok(), either.status().message());
    const std::string document = format.content_start + "[7]";
    CHECK((*either)->matches(document));
    CHECK_FALSE((*either)->matches(format.content_start + "[8]"));
    CHECK_FALSE((*either)->matches(document + document));
    const ChatMessage plain = read(format, document, random);
    CHECK(plain.content == "[7]");
    CHECK(plain.calls.empty());
    std::vector<std::string> marks = {"\"", "}", "]", "\": "};
    marks.insert(marks.end(), format.closing.begin(), format.closing.end());
    Writer writer(root_of(format, true), marks);
    for (int i = 0; i < 5; ++i) {
      const std::string text = writer.write(random);
      CHECK_MESSAGE((text.empty() || (*either)->matches(text)), text);
    }
  }
}

TEST_CASE("a schema's document and a thought before it, in each format") {
  for (const Named& t : templates()) {
    CAPTURE(t.name);
    const ChatRenderer chat = renderer(t.source);
    const text::ChatFormat& format = chat.format();
    const auto grammar = text::Grammar::parse(
        with_root("answer-document ::= \"{}\"\n", format, {true, false, true}, kNoControl));
    REQUIRE_MESSAGE(grammar.ok(), grammar.status().message());
    CHECK((*grammar)->matches(format.content_start + "{}"));
    // What the grammar sees of an answer with a thought: all but the thought itself and its end.
    CHECK((*grammar)->matches(format.reasoning_start + format.message_start + format.content_start +
                              "{}"));
    CHECK_FALSE((*grammar)->matches("x"));
  }
}

TEST_CASE("thoughts are counted and limited as they are written") {
  ReasoningSettings settings;
  settings.start = "<think>";
  settings.end = "</think>";
  settings.forced = {1, 2};
  const auto count = [&](const std::vector<std::string>& pieces, bool begins, int budget = -1,
                         bool bound = false) {
    settings.begins_inside = begins;
    settings.budget = budget;
    ReasoningBudget state(settings);
    std::string text;
    int forced = 0;
    for (const std::string& piece : pieces) {
      forced += state.forced().has_value();
      text += piece;
      state.accept(text, bound);
    }
    return std::pair{state.tokens(), forced};
  };
  CHECK(count({"<think>", "a", "b", "</think>", "c"}, false).first == 4);
  CHECK(count({"<th", "ink>", "a", "</", "think>\n", "c"}, false).first ==
        4);  // no tokens of their own
  CHECK(count({"a", "b", "</think>", "c"}, true).first == 3);
  CHECK(count({"a", "b"}, true).first == 2);
  CHECK(count({"a", "b"}, false).first == 0);
  CHECK(count({"<think></think>", "b"}, false).first == 1);
  CHECK(count({"<think>", "a", "</think>", "<think>", "a", "</think>", "x"}, false).first == 6);
  CHECK(count({"{\"a\": \"", "<think>", "b", "\"}"}, false, -1, true).first ==
        0);  // a quotation under a grammar
  CHECK(count({"<think>", "a", "b", "x", "y", "c"}, false, 2).second == 2);
  CHECK(count({"a", "b", "c"}, true, 0).second == 2);
  CHECK(count({"a", "</", "x", "y", "z"}, true, 2).second ==
        2);  // not in what may be the tag: one later
}

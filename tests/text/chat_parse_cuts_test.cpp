// However a model's text is cut into pieces, the same comes out: random texts of marks, calls whole
// and broken, and words, for each way of writing calls.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/text/chat_parse.hpp"

using namespace veloce::text;

namespace {

ChatFormat json_calls() {
  ChatFormat f;
  f.reasoning_start = "<think>";
  f.reasoning_end = "</think>";
  f.style = CallStyle::kJson;
  f.opening = {"<tool_call>"};
  f.closing = {"</tool_call>"};
  f.closing_each = 1;
  return f;
}
ChatFormat named_calls() {
  ChatFormat f = json_calls();
  f.style = CallStyle::kNameJson;
  f.after_name = {"<sep>"};
  return f;
}
ChatFormat tagged_calls() {
  ChatFormat f = json_calls();
  f.style = CallStyle::kTagged;
  f.key_start = "<key>";
  f.key_end = {"</key>", "<value>"};
  f.value_end = "</value>";
  return f;
}

// What came out, spelt out.
std::string parse(const ChatFormat& format, std::string_view text, std::size_t step) {
  ChatParseOptions options;
  options.parse_calls = true;
  options.make_id = [] { return std::string("id"); };
  ChatParser parser(format, options);
  std::string reasoning, content, calls;
  const auto add = [&](const std::vector<ChatDelta>& deltas) {
    for (const ChatDelta& d : deltas) {
      if (d.kind == ChatDelta::Kind::kReasoning) reasoning += d.text;
      if (d.kind == ChatDelta::Kind::kContent) content += d.text;
      if (d.kind == ChatDelta::Kind::kCallStart) calls += "\ncall " + d.name + ' ';
      if (d.kind == ChatDelta::Kind::kCallArguments) calls += d.text;
    }
  };
  for (std::size_t at = 0; at < text.size(); at += step) add(parser.feed(text.substr(at, step)));
  add(parser.feed("", true));
  return "thought [" + reasoning + "]\ncontent [" + content + ']' + calls;
}

}  // namespace

TEST_CASE("a thought's mark amid content does not hide a call behind it") {
  const std::string text =
      "so <think> is a tag <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>";
  CHECK(parse(json_calls(), text, text.size()) ==
        "thought []\ncontent [so <think> is a tag]\ncall f {\"a\": 1}");
}

TEST_CASE("cuts do not matter") {
  const std::vector<std::string> pieces = {"<think>",
                                           "</think>",
                                           "<tool_call>",
                                           "</tool_call>",
                                           "<sep>",
                                           "<key>",
                                           "</key>",
                                           "<value>",
                                           "</value>",
                                           "{\"name\": \"f\", \"arguments\": {\"a\": 1}}",
                                           "{\"name\": \"g\", ",
                                           "\"arguments\": {\"b\": [1, \"}\"]}",
                                           "}",
                                           "{",
                                           "f",
                                           "words ",
                                           " ",
                                           "\n",
                                           "<t",
                                           "<tool",
                                           "\"",
                                           ",",
                                           "a",
                                           "\xC3\xA9",
                                           "{\"a\": {}}",
                                           "i"};
  std::mt19937 random(5);
  for (const ChatFormat& format : {json_calls(), named_calls(), tagged_calls()}) {
    for (int round = 0; round < 4000; ++round) {
      std::string text;
      for (std::size_t n = 1 + random() % 9; n > 0; --n) text += pieces[random() % pieces.size()];
      const std::string whole = parse(format, text, text.size());
      for (const std::size_t step : {std::size_t(1), 2 + std::size_t(random() % 11)})
        REQUIRE_MESSAGE(parse(format, text, step) == whole,
                        "text '" << text << "' in pieces of " << step << " bytes");
    }
  }
}

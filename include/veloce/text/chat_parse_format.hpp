// How a model writes its answers, found out from its chat template: conversations with a known
// thought and known tool calls are rendered, and what the template puts around them are the marks
// to look for in the model's own text.
//
//   ChatFormat format = ChatFormat::derive(render, template_source);
//
// Nothing is known of particular models; marks that hold white space are compared without it, as
// models vary it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"

namespace veloce::text {

// Renders a conversation with the model's template: messages, tools (an array, may be empty),
// further variables, and whether the prompt is to end where the answer begins.
using ChatRender = std::function<Result<std::string>(
    const nlohmann::ordered_json& messages, const nlohmann::ordered_json& tools,
    const nlohmann::ordered_json& variables, bool generation_prompt)>;

// How one tool call is written.
enum class CallStyle {
  kNone,      // the template shows no calls
  kJson,      // an object that holds the name and the arguments
  kNameJson,  // the name, a mark, an object of arguments
  kTagged,    // the name, then each argument between marks
  kChannels,  // messages with headers: <|channel|>...<|message|>...
};

struct ChatFormat {
  // Thoughts; empty: the template knows none.
  std::string reasoning_start, reasoning_end;
  std::string reasoning_field = "reasoning_content";  // of a message, as the template reads it

  CallStyle style = CallStyle::kNone;
  std::vector<std::string>
      opening;  // marks before the name or object, in order; empty: the call stands alone
  std::size_t repeat = 0;            // where `opening` starts again for a second call
  std::vector<std::string> closing;  // marks after a call, of any number
  std::size_t closing_each = 0;      // that many stand behind each call, the others behind the last
  bool json_list = false;            // calls are elements of a list
  std::string name_key = "name", arguments_key = "arguments", id_key;
  bool id_last = false;                 // the id stands after the arguments
  std::vector<std::string> after_name;  // kNameJson, kTagged: marks after the name
  std::string key_start;                // kTagged: before each argument's name
  std::vector<std::string> key_end;     // after it, up to the value or the value's kind
  std::string text_kind,
      other_kind;               // marks that tell texts from JSON values; empty: not told apart
  std::string value_end;        // after each value
  bool value_padded = false;    // a newline stands on either side of the value
  std::string turn_end;         // what the template puts after an answer
  bool content_padded = false;  // white space stands between the prompt and the content
  // kChannels: what stands before the content, and before each message of an answer but the first.
  std::string content_start, message_start;

  bool has_calls() const { return style != CallStyle::kNone; }
  // True if the answer to this prompt begins inside a thought.
  bool opens_reasoning(std::string_view prompt) const;

  static ChatFormat derive(const ChatRender& render, std::string_view template_source);
};

namespace detail {

inline bool is_blank(char c) {
  return c == ' ' || (c >= 9 && c <= 13);
}
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}
inline std::size_t common_prefix(std::string_view a, std::string_view b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return n;
}
inline std::size_t common_suffix(std::string_view a, std::string_view b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[a.size() - 1 - n] == b[b.size() - 1 - n]) ++n;
  return n;
}
// The marks of a text: split at white space and between tags.
inline std::vector<std::string> marks_of(std::string_view text) {
  std::vector<std::string> out;
  std::string mark;
  const auto flush = [&] {
    if (!mark.empty()) out.push_back(std::exchange(mark, {}));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_blank(text[i]) || (text[i] == '<' && i > 0 && text[i - 1] == '>')) flush();
    if (!is_blank(text[i])) mark += text[i];
  }
  flush();
  return out;
}
// The end of the JSON object or list that starts at `at`, or npos.
inline std::size_t json_end(std::string_view text, std::size_t at) {
  int depth = 0;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// Renders the probes and reads their marks.
class FormatProbe {
 public:
  FormatProbe(const ChatRender& render, std::string_view source)
      : render_(render), source_(source) {}

  ChatFormat run() {
    find_answer();
    find_calls();
    find_reasoning();
    return std::move(out_);
  }

 private:
  using Json = nlohmann::ordered_json;
  static constexpr const char* kUser = "quokka asks";
  static constexpr const char* kContent = "wombat says";
  static constexpr const char* kThought = "numbat thinks";
  static constexpr const char* kChannel = "<|channel|>";
  static constexpr const char* kFirst = "fn_alpaca";
  static constexpr const char* kSecond = "fn_bobcat";

  static Json user() { return {{"role", "user"}, {"content", kUser}}; }
  static Json call(const char* name, Json arguments, const char* id) {
    return {{"id", id},
            {"type", "function"},
            {"function", {{"name", name}, {"arguments", std::move(arguments)}}}};
  }
  static Json arguments() { return {{"key_cat", "val_dog"}, {"key_emu", "val_fox"}}; }
  static Json tools() {
    Json out = Json::array();
    for (const char* name : {kFirst, kSecond})
      out.push_back({{"type", "function"},
                     {"function",
                      {{"name", name},
                       {"description", ""},
                       {"parameters",
                        {{"type", "object"},
                         {"properties",
                          {{"key_cat", {{"type", "string"}}}, {"key_emu", {{"type", "string"}}}}},
                         {"required", Json::array()}}}}}});
    return out;
  }
  static Json assistant(const char* content, Json calls = Json::array()) {
    Json out = {{"role", "assistant"}, {"content", content}};
    if (!calls.empty()) out["tool_calls"] = std::move(calls);
    return out;
  }
  // What follows the user's turn when the assistant answers so; empty if the template refuses.
  std::string answer(Json message, bool with_tools, Json variables = Json::object()) const {
    const auto text = render_(Json::array({user(), std::move(message)}),
                              with_tools ? tools() : Json::array(), variables, false);
    if (!text) return {};
    const std::size_t at = text->find(kUser);
    return at == std::string::npos ? std::string()
                                   : text->substr(at + std::string_view(kUser).size());
  }

  // Where an answer starts and ends.
  void find_answer() {
    const std::string text =
        answer(assistant(kContent), false, {{"enable_thinking", false}, {"thinking", false}});
    const std::size_t at = text.find(kContent);
    if (at == std::string::npos) return;
    head_ = text.substr(0, at);
    const auto prompt = render_(Json::array({user()}), Json::array(),
                                {{"enable_thinking", false}, {"thinking", false}}, true);
    const std::size_t asked = prompt ? prompt->find(kUser) : std::string::npos;
    if (asked != std::string::npos) {
      const std::string begun = prompt->substr(asked + std::string_view(kUser).size());
      out_.content_padded = head_.size() > begun.size() && head_.starts_with(begun) &&
                            trimmed(std::string_view(head_).substr(begun.size())).empty();
    }
    out_.turn_end =
        std::string(trimmed(std::string_view(text).substr(at + std::string_view(kContent).size())));
  }

  // ---- thoughts ----

  void find_reasoning() {
    for (const char* field : {"reasoning_content", "thinking", "reasoning"}) {
      Json message = assistant(kContent);
      message[field] = kThought;
      const std::string text = answer(std::move(message), false,
                                      {{"enable_thinking", true},
                                       {"thinking", true},
                                       {"drop_thinking", false},
                                       {"clear_thinking", false}});
      const std::size_t thought = text.find(kThought), content = text.find(kContent);
      if (thought == std::string::npos || content == std::string::npos || content < thought)
        continue;
      out_.reasoning_field = field;
      if (text.find(kChannel) < thought) return find_channels(text, thought, content);
      const auto before = marks_of(text.substr(0, thought));
      const std::size_t after = thought + std::string_view(kThought).size();
      const auto between = marks_of(text.substr(after, content - after));
      if (before.empty() || between.empty()) continue;
      out_.reasoning_start = last_tag(before.back());
      out_.reasoning_end = between.front();
      return;
    }
    // Thoughts of earlier turns are often left out: the tags are still named in the template.
    for (std::size_t at = 0; (at = source_.find("think>", at)) != std::string_view::npos; ++at) {
      const std::size_t open = source_.rfind('<', at);
      if (open == std::string_view::npos || at - open > 24) continue;
      const std::string_view tag = source_.substr(open, at + 6 - open);
      if (tag.starts_with("</")) continue;
      const std::string end = "</" + std::string(tag.substr(1));
      if (source_.find(end) == std::string_view::npos) continue;
      out_.reasoning_start = std::string(tag);
      out_.reasoning_end = end;
      return;
    }
  }
  // <|start|>assistant<|channel|>analysis<|message|>THOUGHT<|end|><|start|>assistant<|channel|>final<|message|>CONTENT
  void find_channels(const std::string& text, std::size_t thought, std::size_t content) {
    const std::size_t open = text.rfind(kChannel, thought), last = text.rfind(kChannel, content);
    const std::size_t after = thought + std::string_view(kThought).size();
    if (last < after) return;
    const std::string between = text.substr(after, last - after);
    const std::size_t end = std::min(between.find('>'), between.size() - 1) + 1;
    out_.style = CallStyle::kChannels;
    out_.reasoning_start = text.substr(open, thought - open);
    out_.reasoning_end = between.substr(0, end);
    out_.message_start = between.substr(end);
    out_.content_start = text.substr(last, content - last);
  }
  // "assistant<think>" without a break between: only the tag is the mark.
  static std::string last_tag(const std::string& mark) {
    const std::size_t open = mark.rfind('<');
    return mark.ends_with('>') && open != std::string::npos ? mark.substr(open) : mark;
  }

  // ---- calls ----

  void find_calls() {
    const Json one = Json::array({call(kFirst, arguments(), "abcdef123")});
    const Json two = Json::array(
        {call(kFirst, arguments(), "abcdef123"), call(kSecond, arguments(), "ghijkl456")});
    const Json off = {{"enable_thinking", false}, {"thinking", false}};
    std::string single = answer(assistant("", one), true, off),
                both = answer(assistant("", two), true, off);
    if (single.find(kFirst) == std::string::npos) return find_named_marks();
    if (single.find("<|channel|>") != std::string::npos &&
        single.find("<|message|>") != std::string::npos) {
      out_.style = CallStyle::kChannels;
      return;
    }
    single = without_frame(single);
    both = without_frame(both);
    const std::size_t name = single.find(kFirst), end = name + std::string_view(kFirst).size();
    if (json_around(single, both, name)) return;
    const std::size_t key = single.find("key_cat", end);
    const std::size_t brace = single.find('{', end);
    if (brace != std::string::npos && brace < key)
      return name_then_json(single, both, name, end, brace);
    if (key != std::string::npos) tagged(single, both, name, end, key);
  }
  // The answer without what precedes and follows every answer.
  std::string without_frame(std::string text) const {
    std::size_t start = common_prefix(text, head_);
    // Never cut inside a mark.
    while (start > 0 && start < text.size() && start != head_.size() && text[start - 1] != '>' &&
           text[start - 1] != ']' && !is_blank(text[start - 1]))
      --start;
    text.erase(0, start);
    const std::size_t tail = out_.turn_end.empty() ? std::string::npos : text.rfind(out_.turn_end);
    if (tail != std::string::npos) text.erase(tail);
    return text;
  }
  // Sets the marks from what stands before the first call, between two calls and after the last.
  void set_frame(const std::string& before, const std::string& between, const std::string& after) {
    out_.opening = marks_of(before);
    const auto middle = marks_of(between);
    std::size_t same = 0;
    while (same < middle.size() && same < out_.opening.size() &&
           middle[middle.size() - 1 - same] == out_.opening[out_.opening.size() - 1 - same])
      ++same;
    out_.repeat = out_.opening.size() - same;
    out_.closing = marks_of(after);
    out_.closing_each = between.empty() ? out_.closing.size()
                                        : common_marks(out_.closing, middle, middle.size() - same);
    for (std::size_t i = 0; i + same < middle.size(); ++i)
      if (std::find(out_.closing.begin(), out_.closing.end(), middle[i]) == out_.closing.end())
        out_.closing.push_back(middle[i]);
  }

  static std::size_t common_marks(const std::vector<std::string>& a,
                                  const std::vector<std::string>& b, std::size_t most) {
    std::size_t n = 0;
    while (n < a.size() && n < most && a[n] == b[n]) ++n;
    return n;
  }

  bool json_around(const std::string& single, const std::string& both, std::size_t name) {
    for (std::size_t brace = single.rfind('{', name); brace != std::string::npos && brace <= name;
         brace = brace == 0 ? std::string::npos : single.rfind('{', brace - 1)) {
      const std::size_t end = json_end(single, brace);
      if (end == std::string::npos || end < name) continue;
      const Json object = Json::parse(single.substr(brace, end - brace), nullptr, false);
      if (!object.is_object()) continue;
      bool named = false, given = false;
      for (const auto& [key, value] : object.items()) {
        if (value == kFirst)
          out_.name_key = key, named = true;
        else if (value == "abcdef123")
          out_.id_key = key, out_.id_last = given;
        else if (value == arguments())
          out_.arguments_key = key, given = true;
        else if (value.is_string() &&
                 Json::parse(value.get<std::string>(), nullptr, false) == arguments())
          out_.arguments_key = key, given = true;
      }
      if (!named || !given) continue;
      out_.style = CallStyle::kJson;
      std::string before = single.substr(0, brace), after = single.substr(end), between;
      const std::size_t second = both.find(kSecond);
      const std::size_t next = second == std::string::npos ? second : both.rfind('{', second);
      const std::size_t first_end = json_end(both, both.find('{'));
      if (next != std::string::npos && first_end != std::string::npos && first_end <= next)
        between = both.substr(first_end, next - first_end);
      if (trimmed(before).ends_with('[') && trimmed(after).starts_with(']')) {
        out_.json_list = true;
        before.erase(before.rfind('['));
        after.erase(0, after.find(']') + 1);
        between.clear();
      }
      set_frame(before, between, after);
      return true;
    }
    return false;
  }
  void name_then_json(const std::string& single, const std::string& both, std::size_t name,
                      std::size_t end, std::size_t brace) {
    const std::size_t close = json_end(single, brace);
    if (close == std::string::npos) return;
    std::string between;
    const std::size_t second = both.find(kSecond), first_brace = both.find('{', both.find(kFirst));
    const std::size_t first_end =
        first_brace == std::string::npos ? first_brace : json_end(both, first_brace);
    if (second != std::string::npos && first_end < second)
      between = both.substr(first_end, second - first_end);
    out_.style = CallStyle::kNameJson;
    out_.after_name = marks_of(single.substr(end, brace - end));
    set_frame(single.substr(0, name), between, single.substr(close));
  }
  void tagged(const std::string& single, const std::string& both, std::size_t name, std::size_t end,
              std::size_t key) {
    constexpr std::size_t kLength = 7;  // of each key and value
    const std::size_t value = single.find("val_dog", key), next_key = single.find("key_emu", key),
                      last = single.find("val_fox", key);
    if (value == std::string::npos || next_key < value || last == std::string::npos ||
        last < next_key)
      return;
    const std::string to_key = single.substr(end, key - end),
                      to_value = single.substr(key + kLength, value - key - kLength);
    const std::string next = single.substr(value + kLength, next_key - value - kLength);
    // Up to the key, the first argument follows the name as the second follows a value: what both
    // end with opens a key.
    std::string start = to_key.substr(to_key.size() - common_suffix(to_key, next));
    if (const std::size_t tag = start.find('<'); tag != std::string::npos) start.erase(0, tag);
    const std::string value_end = next.substr(0, next.size() - start.size());
    std::string after = single.substr(last + kLength);
    if (const std::size_t at = after.find(std::string(trimmed(value_end))); at != std::string::npos)
      after.erase(0, at + trimmed(value_end).size());
    if (trimmed(start).empty() || trimmed(value_end).empty()) return;
    out_.style = CallStyle::kTagged;
    out_.after_name = marks_of(to_key.substr(0, to_key.size() - start.size()));
    out_.key_start = std::string(trimmed(start));
    out_.value_end = std::string(trimmed(value_end));
    out_.value_padded = value_end.starts_with('\n') && to_value.ends_with('\n');
    set_key_end(to_value);
    std::string between;
    const std::size_t second = both.find(kSecond), first_last = both.find("val_fox");
    if (second != std::string::npos && first_last < second) {
      between = both.substr(first_last + kLength, second - first_last - kLength);
      if (const std::size_t at = between.find(out_.value_end); at != std::string::npos)
        between.erase(0, at + out_.value_end.size());
    }
    set_frame(single.substr(0, name), between, after);
  }
  // A value that is no text may be announced otherwise.
  void set_key_end(const std::string& to_text) {
    const std::string other = without_frame(
        answer(assistant("", Json::array({call(kFirst, {{"key_cat", 48151}}, "abcdef123")})), true,
               {{"enable_thinking", false}, {"thinking", false}}));
    const std::size_t key = other.rfind("key_cat"), value = other.rfind("48151");
    const std::string to_other =
        key != std::string::npos && value != std::string::npos && key < value
            ? other.substr(key + 7, value - key - 7)
            : to_text;
    if (to_other == to_text) {
      out_.key_end = marks_of(to_text);
      return;
    }
    const std::size_t same = common_prefix(to_text, to_other);
    out_.key_end = marks_of(to_text.substr(0, same));
    out_.text_kind = std::string(trimmed(to_text.substr(same)));
    out_.other_kind = std::string(trimmed(to_other.substr(same)));
  }
  // The template writes no calls but may tell the model how to.
  void find_named_marks() {
    const auto prompt = render_(Json::array({user()}), tools(), Json::object(), true);
    const std::string shown = (prompt ? *prompt : std::string()) + std::string(source_);
    for (const auto& [open, close] :
         {std::pair{"<|tool_call|>", ""}, {"<tool_call>", "</tool_call>"}, {"[TOOL_CALLS]", ""}}) {
      if (shown.find(open) == std::string::npos) continue;
      out_.style = CallStyle::kJson;
      out_.opening = {open};
      if (*close != '\0') out_.closing = {close};
      out_.closing_each = out_.closing.size();
      out_.json_list =
          out_.closing.empty();  // a list between no marks but one; else each call between its own
      return;
    }
  }

  const ChatRender& render_;
  std::string_view source_;
  std::string head_;
  ChatFormat out_;
};

}  // namespace detail

inline ChatFormat ChatFormat::derive(const ChatRender& render, std::string_view template_source) {
  return detail::FormatProbe(render, template_source).run();
}

inline bool ChatFormat::opens_reasoning(std::string_view prompt) const {
  if (reasoning_start.empty()) return false;
  const std::size_t start = prompt.rfind(reasoning_start);
  return start != std::string_view::npos &&
         detail::trimmed(prompt.substr(start + reasoning_start.size())).empty();
}

}  // namespace veloce::text

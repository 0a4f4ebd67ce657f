// What stands under the states of ChatParser: the text not yet read, and what has been read out of
// it, with white space at the ends of texts and calls that are not sure yet held back.
#pragma once

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/chat_parse_format.hpp"
#include "veloce/text/chat_parse_values.hpp"

namespace veloce::text {

struct ChatDelta {
  enum class Kind { kReasoning, kContent, kCallStart, kCallArguments };
  Kind kind = Kind::kContent;
  std::string text;      // thought, content, or a piece of the arguments' JSON text
  int call = 0;          // index of the call
  std::string id, name;  // kCallStart
};

struct ChatParseOptions {
  bool parse_reasoning = true;       // false: thoughts stay in the content, marks and all
  bool begins_in_reasoning = false;  // ChatFormat::opens_reasoning(prompt)
  bool parse_calls = false;
  nlohmann::ordered_json tools = nlohmann::ordered_json::array();  // tell the types of arguments
  std::function<std::string()> make_id;  // empty: 32 random letters and digits
};

inline std::string random_call_id() {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string out;
  for (int i = 0; i < 32; ++i) out += kLetters[std::size_t(random() % kLetters.size())];
  return out;
}

namespace detail {

class ChatParserCore {
 protected:
  ChatParserCore(ChatFormat format, ChatParseOptions options)
      : format_(std::move(format)), options_(std::move(options)) {}

  enum class Match { kNo, kPartial, kYes };

  // ---- the buffer ----

  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }
  void consume(std::size_t n) {
    if (tentative_) raw_.append(buffer_, at_, n);
    at_ += n;
  }
  void skip_blanks() {
    std::size_t n = 0;
    while (n < rest().size() && detail::is_blank(rest()[n])) ++n;
    consume(n);
  }
  Match match(std::string_view mark) const {
    const std::size_t n = detail::common_prefix(rest(), mark);
    if (n == mark.size()) return Match::kYes;
    return n == rest().size() && !last_ ? Match::kPartial : Match::kNo;
  }
  // Length of the longest end of the rest that a mark may begin with.
  std::size_t held(const std::vector<std::string_view>& marks) const {
    if (last_) return 0;
    std::size_t most = 0;
    const std::string_view text = rest();
    for (std::string_view mark : marks)
      for (std::size_t n = std::min(mark.size() - 1, text.size()); n > most; --n)
        if (text.ends_with(mark.substr(0, n))) {
          most = n;
          break;
        }
    return most;
  }

  // ---- what comes out ----

  void emit(ChatDelta::Kind kind, std::string_view text) {
    if (text.empty()) return;
    if (!out_.empty() && out_.back().kind == kind && kind != ChatDelta::Kind::kCallStart)
      out_.back().text.append(text);
    else
      out_.push_back({kind, std::string(text), calls_ - 1, {}, {}});
  }
  // Thought or content: white space at its beginning is dropped where skip_space_ says so, at its
  // end held back.
  void emit_text(ChatDelta::Kind kind, std::string_view text) {
    if (skip_space_) {
      while (!text.empty() && detail::is_blank(text.front())) text.remove_prefix(1);
      if (text.empty()) return;
      skip_space_ = false;
    }
    std::size_t end = text.size();
    while (end > 0 && detail::is_blank(text[end - 1])) --end;
    if (end > 0) {
      emit(kind, std::exchange(space_, {}));
      emit(kind, text.substr(0, end));
      content_begun_ = content_begun_ || kind == ChatDelta::Kind::kContent;
    }
    space_.append(text.substr(end));
  }
  void start_call() {
    ++calls_;
    std::string id = id_.empty() ? (options_.make_id ? options_.make_id() : random_call_id()) : id_;
    out_.push_back({ChatDelta::Kind::kCallStart, {}, calls_ - 1, std::move(id), name_});
    tentative_ = false;
    raw_.clear();
    started_ = true;
    space_.clear();
  }
  void arguments(std::string_view text) {
    if (started_)
      emit(ChatDelta::Kind::kCallArguments, text);
    else
      held_arguments_.append(text);
    any_arguments_ = any_arguments_ || !text.empty();
  }
  void begin_tentative() {
    tentative_ = true;
    started_ = any_arguments_ = false;
    raw_.clear();
    name_.clear();
    id_.clear();
    held_arguments_.clear();
  }

  ChatFormat format_;
  ChatParseOptions options_;
  std::string buffer_;  // not yet read, from at_
  std::size_t at_ = 0;
  bool last_ = false;
  std::vector<ChatDelta> out_;
  std::string space_;  // white space that may yet turn out to end its text
  bool skip_space_ = false;
  bool content_begun_ = false;

  int calls_ = 0;
  bool tentative_ = false;  // in a call not yet announced: raw_ keeps its text
  bool started_ = false;
  bool any_arguments_ = false;
  std::string raw_, name_, id_, held_arguments_;
};

}  // namespace detail
}  // namespace veloce::text

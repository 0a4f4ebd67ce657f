// Reads a model's answer as it comes: thoughts, content and tool calls told apart by the marks of
// its chat template (ChatFormat). Marks never appear in what comes out; what only looks like a call
// and is none stays content.
//
//   ChatParser parser(format, options);
//   for (each piece of text) for (const ChatDelta& d : parser.feed(piece)) ...
//   for (const ChatDelta& d : parser.feed("", true)) ...     // the end: what was held back
//
// Special tokens must be in the text (detokenized as text). Work is linear in the text's length.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/chat_parse_core.hpp"
#include "veloce/text/chat_parse_values.hpp"

namespace veloce::text {

class ChatParser : private detail::ChatParserCore {
 public:
  ChatParser(ChatFormat format, ChatParseOptions options)
      : ChatParserCore(std::move(format), std::move(options)) {
    if (format_.reasoning_start.empty() || format_.reasoning_end.empty())
      options_.parse_reasoning = false;
    if (!format_.has_calls()) options_.parse_calls = false;
    if (format_.style == CallStyle::kChannels)
      state_ = State::kHeader;
    else if (options_.begins_in_reasoning && options_.parse_reasoning)
      state_ = State::kReasoning, skip_space_ = true;
    else
      skip_space_ = format_.content_padded;
  }

  // What the next piece adds. `last`: the text ends here; then nothing more may be fed.
  std::vector<ChatDelta> feed(std::string_view piece, bool last = false) {
    buffer_.append(piece);
    last_ = last;
    while (step()) {
    }
    buffer_.erase(0, std::exchange(at_, 0));
    return std::exchange(out_, {});
  }
  int calls() const { return calls_; }

 private:
  enum class State {
    kReasoning,
    kContent,
    kOpening,  // marks before a call
    kObject,
    kMember,
    kColon,
    kValue,
    kStream,  // kJson: an object, its members, arguments as they come
    kName,
    kAfterName,
    kArguments,  // kNameJson and kTagged; arguments that are one object
    kNextTag,
    kKey,
    kKeyMarks,
    kKind,
    kTagged,  // kTagged: one argument after the other
    kAfter,   // after a call: marks, or another call, or content
    kHeader,
    kBody,  // kChannels
  };

  // What looked like a call is none: it is content, and reading goes on after it.
  bool give_up() {
    tentative_ = false;
    const std::string text = std::exchange(raw_, {});
    skip_space_ = false;
    if (!text.empty()) emit_text(ChatDelta::Kind::kContent, text);
    held_arguments_.clear();
    state_ = State::kContent;
    return true;
  }

  bool step() {
    switch (state_) {
      case State::kReasoning:
        return reasoning();
      case State::kContent:
        return content();
      case State::kOpening:
        return opening();
      case State::kObject:
        return object();
      case State::kMember:
        return member();
      case State::kColon:
        return colon();
      case State::kValue:
        return value();
      case State::kStream:
        return stream();
      case State::kName:
        return name();
      case State::kAfterName:
        return after_name();
      case State::kArguments:
        return object_arguments();
      case State::kNextTag:
        return next_tag();
      case State::kKey:
        return key();
      case State::kKeyMarks:
        return key_marks();
      case State::kKind:
        return kind();
      case State::kTagged:
        return tagged();
      case State::kAfter:
        return after();
      case State::kHeader:
        return header();
      case State::kBody:
        return body();
    }
    return false;
  }

  // ---- thoughts and content ----

  bool reasoning() {
    if (skip_space_) {  // some models write the mark that the prompt ended with once more
      std::size_t blanks = 0;
      while (blanks < rest().size() && detail::is_blank(rest()[blanks])) ++blanks;
      consume(blanks);
      const Match again = match(format_.reasoning_start);
      if (again == Match::kPartial && !rest().empty()) return false;
      if (again == Match::kYes) return consume(format_.reasoning_start.size()), true;
    }
    const std::size_t end = rest().find(format_.reasoning_end);
    if (end != std::string_view::npos) {
      emit_text(ChatDelta::Kind::kReasoning, rest().substr(0, end));
      consume(end + format_.reasoning_end.size());
      space_.clear();
      skip_space_ = true;
      state_ = State::kContent;
      return true;
    }
    const std::size_t n = rest().size() - held({format_.reasoning_end});
    emit_text(ChatDelta::Kind::kReasoning, rest().substr(0, n));
    consume(n);
    return false;
  }
  bool content() {
    std::vector<std::string_view> marks;
    const bool may_think = options_.parse_reasoning && !content_begun_ && calls_ == 0;
    if (may_think) marks.push_back(format_.reasoning_start);
    std::size_t first_call = marks.size();
    if (options_.parse_calls && !format_.opening.empty()) {
      marks.push_back(format_.opening.front());
      // Models leave out the outer mark at times.
      if (format_.opening.size() > 1 && format_.opening.back().starts_with('<'))
        marks.push_back(format_.opening.back());
    }
    if (options_.parse_calls && format_.style == CallStyle::kJson && format_.opening.empty() &&
        !content_begun_) {
      const std::string_view text = detail::trimmed(rest());
      if (!text.empty() && (text[0] == '{' || (text[0] == '[' && format_.json_list))) {
        begin_tentative();
        state_ = State::kObject;
        return true;
      }
    }
    std::size_t best = std::string_view::npos, which = 0;
    const auto find_first = [&] {
      best = std::string_view::npos;
      for (std::size_t i = 0; i < marks.size(); ++i) {
        const std::size_t hit = rest().find(marks[i]);
        if (hit < best) best = hit, which = i;
      }
    };
    find_first();
    if (best != std::string_view::npos && which < first_call &&
        !detail::trimmed(rest().substr(0, best)).empty()) {
      // Thoughts only come first; a call may still follow.
      marks.erase(marks.begin(), marks.begin() + std::ptrdiff_t(first_call));
      first_call = 0;
      find_first();
    }
    if (best == std::string_view::npos) {
      const std::size_t n = rest().size() - held(marks);
      emit_text(ChatDelta::Kind::kContent, rest().substr(0, n));
      consume(n);
      if (last_) emit(ChatDelta::Kind::kContent, std::exchange(space_, {}));
      return n > 0 && !rest().empty() && !last_ && content_begun_ && may_think;
    }
    emit_text(ChatDelta::Kind::kContent, rest().substr(0, best));
    consume(best);
    if (which < first_call) {
      consume(marks[which].size());
      space_.clear();
      skip_space_ = true;
      state_ = State::kReasoning;
      return true;
    }
    begin_tentative();
    consume(marks[which].size());
    next_mark_ = which == first_call ? 1 : format_.opening.size();
    state_ = State::kOpening;
    return true;
  }

  // ---- calls ----

  bool opening() {
    if (next_mark_ == format_.opening.size()) {
      state_ = format_.style == CallStyle::kJson ? State::kObject : State::kName;
      return true;
    }
    skip_blanks();
    const Match m = match(format_.opening[next_mark_]);
    if (m == Match::kPartial) return false;
    if (m == Match::kNo) return give_up();
    consume(format_.opening[next_mark_++].size());
    return true;
  }
  bool object() {
    skip_blanks();
    if (rest().empty()) return last_ ? give_up() : false;
    const char c = rest()[0];
    if (format_.json_list && (c == '[' || c == ',')) return consume(1), true;
    if (c != '{') return give_up();
    consume(1);
    state_ = State::kMember;
    return true;
  }
  // Reads a whole JSON value or string into member_text_; false: not yet complete.
  bool whole_value() {
    while (!rest().empty() && !scan_.done()) {
      const std::size_t n = scan_.feed(rest());
      member_text_.append(rest().substr(0, n));
      consume(n);
    }
    return scan_.done();
  }
  bool member() {
    if (!scan_.active()) {
      skip_blanks();
      if (rest().empty()) return last_ ? end_early() : false;
      const char c = rest()[0];
      if (c == ',') return consume(1), true;
      if (c == '}') {
        consume(1);
        return finish_object();
      }
      if (c != '"') return malformed();
      scan_.start();
      member_text_.clear();
    }
    if (!whole_value()) return last_ ? end_early() : false;
    scan_.reset();
    key_ = detail::json_text(member_text_);
    state_ = State::kColon;
    return true;
  }
  bool colon() {
    skip_blanks();
    if (rest().empty()) return last_ ? end_early() : false;
    if (rest()[0] != ':') return malformed();
    consume(1);
    scan_.reset();
    member_text_.clear();
    state_ = State::kValue;
    return true;
  }
  bool is_arguments_key() const {
    return key_ == format_.arguments_key || key_ == "arguments" || key_ == "parameters";
  }
  bool value() {
    if (!scan_.active()) {
      skip_blanks();
      if (rest().empty()) return last_ ? end_early() : false;
      if (is_arguments_key() && rest()[0] == '{') {
        scan_.start();
        state_ = State::kStream;
        return true;
      }
      scan_.start();
    }
    if (!whole_value() && !last_) return false;
    scan_.reset();
    if (is_arguments_key())
      arguments(member_text_.starts_with('"') ? detail::json_text(member_text_) : member_text_);
    else if (key_ == format_.name_key || (name_.empty() && key_ == "name"))
      name_ = detail::json_text(member_text_);
    else if ((key_ == format_.id_key || key_ == "id") && !started_)
      id_ = detail::json_text(member_text_);
    maybe_start();
    state_ = State::kMember;
    return true;
  }
  // The call is announced when its name is known, unless its own id is still to come.
  void maybe_start(bool complete = false) {
    if (started_ || name_.empty()) return;
    if (!complete && format_.id_last && id_.empty()) return;
    start_call();
    emit(ChatDelta::Kind::kCallArguments, std::exchange(held_arguments_, {}));
  }
  bool stream() {
    const std::size_t n = scan_.feed(rest());
    const std::string text(rest().substr(0, n));
    consume(n);
    arguments(text);
    if (scan_.done()) {
      scan_.reset();
      state_ = State::kMember;
      return true;
    }
    return last_ ? end_early() : false;
  }
  bool finish_object() {
    if (name_.empty()) return give_up();
    maybe_start(true);
    if (!any_arguments_) arguments("{}");
    state_ = State::kAfter;
    return true;
  }
  // The text ends inside a call: what there is of it stays.
  bool end_early() {
    if (name_.empty() || (!started_ && !any_arguments_)) return give_up();
    maybe_start(true);
    state_ = State::kAfter;
    return true;
  }
  bool malformed() {
    if (!started_) return give_up();
    skip_space_ = false;
    state_ = State::kContent;
    return true;
  }

  static bool is_name_char(char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '<' && c != '>' && c != '"' && c != '\\' &&
           c != '{';
  }
  bool name() {
    if (name_.empty()) skip_blanks();
    std::size_t n = 0;
    const std::string_view text = rest();
    // A mark may begin with characters of a name.
    const std::string_view stop =
        format_.after_name.empty() ? std::string_view() : std::string_view(format_.after_name[0]);
    while (n < text.size() && is_name_char(text[n])) {
      if (!stop.empty() && text[n] == stop[0]) {
        const std::size_t same = detail::common_prefix(text.substr(n), stop);
        if (same == stop.size()) break;
        if (n + same == text.size() && !last_) {
          name_.append(text.substr(0, n));
          consume(n);
          return false;
        }
      }
      ++n;
    }
    const bool ended = n < text.size();
    name_.append(text.substr(0, n));
    consume(n);
    if (name_.size() > 256 || (ended && name_.empty())) return give_up();
    if (!ended) return last_ ? give_up() : false;
    next_mark_ = 0;
    state_ = State::kAfterName;
    return true;
  }
  bool after_name() {
    if (next_mark_ < format_.after_name.size()) {
      skip_blanks();
      const Match m = match(format_.after_name[next_mark_]);
      if (m == Match::kPartial) return false;
      if (m == Match::kNo) return give_up();
      consume(format_.after_name[next_mark_++].size());
      return true;
    }
    if (format_.style == CallStyle::kNameJson) {
      skip_blanks();
      if (rest().empty() && !last_) return false;
      if (rest().empty() || rest()[0] != '{') return give_up();
      start_call();
      scan_.start();
      state_ = State::kArguments;
      return true;
    }
    skip_blanks();
    if (rest().empty() && !last_) return false;
    Match best = match(format_.key_start);
    for (const std::string& mark : format_.closing)
      if (best != Match::kYes) best = std::max(best, match(mark));
    if (best == Match::kPartial) return false;
    if (best == Match::kNo) return give_up();
    start_call();
    state_ = State::kNextTag;
    return true;
  }
  bool object_arguments() {
    const std::size_t n = scan_.feed(rest());
    arguments(rest().substr(0, n));
    consume(n);
    if (!scan_.done() && !last_) return false;
    scan_.reset();
    state_ = State::kAfter;
    return true;
  }

  // ---- arguments between tags ----

  bool next_tag() {
    skip_blanks();
    if (rest().empty() && !last_) return false;
    const Match m = match(format_.key_start);
    if (m == Match::kPartial && !(rest().empty() && last_)) return false;
    if (m == Match::kYes) {
      consume(format_.key_start.size());
      key_.clear();
      state_ = State::kKey;
      return true;
    }
    arguments(any_arguments_ ? "}" : "{}");
    state_ = State::kAfter;
    return true;
  }
  bool key() {
    const std::string& mark = format_.key_end.front();
    const std::size_t end = rest().find(mark);
    const std::size_t n = end == std::string_view::npos ? rest().size() - held({mark}) : end;
    key_.append(rest().substr(0, n));
    consume(n);
    if (end == std::string_view::npos) {
      if (last_ || key_.size() > 1024)
        state_ = State::kAfter;  // a truncated call keeps what it had
      return last_ || key_.size() > 1024;
    }
    key_ = std::string(detail::trimmed(key_));
    next_mark_ = 0;
    state_ = State::kKeyMarks;
    return true;
  }
  bool key_marks() {
    if (next_mark_ == format_.key_end.size()) {
      state_ = State::kKind;
      return true;
    }
    skip_blanks();
    const Match m = match(format_.key_end[next_mark_]);
    if (m == Match::kPartial) return false;
    if (m == Match::kNo) return truncated();
    consume(format_.key_end[next_mark_++].size());
    return true;
  }
  bool truncated() {
    state_ = State::kAfter;
    return true;
  }
  bool kind() {
    type_ = detail::argument_type(options_.tools, name_, key_);
    if (!format_.text_kind.empty()) {
      const Match text = match(format_.text_kind), other = match(format_.other_kind);
      if (text == Match::kPartial || other == Match::kPartial) return false;
      if (text == Match::kNo && other == Match::kNo) return truncated();
      type_ = text == Match::kYes ? "string" : "json";
      consume(text == Match::kYes ? format_.text_kind.size() : format_.other_kind.size());
    }
    if (format_.value_padded) {
      if (rest().empty() && !last_) {
        next_mark_ = 0;
        return false;
      }
      if (!rest().empty() && rest()[0] == '\n') consume(1);
    }
    std::string name = any_arguments_ ? ", " : "{";
    jinja::append_json_string(key_, false, name);
    arguments(name + ": ");
    quote_open_ = false;
    scanned_ = 0;
    first_mark_ = std::string_view::npos;
    in_json_ = 0;
    in_string_ = escaped_ = false;
    state_ = State::kTagged;
    return true;
  }
  bool tagged() {
    if (type_ == "string") {
      const std::size_t end = rest().find(format_.value_end);
      return tagged_text(
          end, end != std::string_view::npos ? end : rest().size() - held({format_.value_end}));
    }
    // A mark within a string of the JSON value is that string's; where the string never ends, it
    // was the mark.
    constexpr std::size_t kNone = std::string_view::npos;
    std::size_t end = rest().find(format_.value_end, scanned_);
    while (end != kNone && ends_in_string(end)) {
      if (first_mark_ == kNone) first_mark_ = end;
      end = rest().find(format_.value_end, end + 1);
    }
    if (end == kNone && !last_) {
      (void)ends_in_string(std::max(scanned_, rest().size() - held({format_.value_end})));
      return false;
    }
    if (end == kNone) end = first_mark_;
    std::string_view text = rest().substr(0, std::min(end, rest().size()));
    const std::size_t n = text.size();
    if (format_.value_padded && text.ends_with('\n')) text.remove_suffix(1);
    arguments(detail::argument_json(text, type_));
    consume(n);
    return end_value(end != kNone);
  }
  // Reads the JSON value on to `to`: does a string of it go on there?
  bool ends_in_string(std::size_t to) {
    const std::string_view text = rest();
    for (; scanned_ < to; ++scanned_) {
      const char c = text[scanned_];
      if (!in_json_ && !detail::is_blank(c)) in_json_ = c == '{' || c == '[' || c == '"' ? 1 : -1;
      if (escaped_)
        escaped_ = false;
      else if (c == '\\')
        escaped_ = in_string_;
      else if (c == '"')
        in_string_ = !in_string_;
    }
    return in_string_ && in_json_ == 1;
  }
  // A text is passed on as it comes.
  bool tagged_text(std::size_t end, std::size_t n) {
    const bool ended = end != std::string_view::npos;
    std::string_view text = rest().substr(0, n);
    // A newline at the end may be the template's; an unfinished character waits for its other
    // bytes.
    if (ended && format_.value_padded && text.ends_with('\n'))
      text.remove_suffix(1);
    else if (!ended && !last_ && format_.value_padded && text.ends_with('\n'))
      text.remove_suffix(1), --n;
    if (!ended && !last_) {
      const std::size_t cut = detail::incomplete_tail(text);
      text.remove_suffix(cut);
      n -= cut;
    }
    std::string out;
    jinja::append_json_string(text, false, out);
    out.erase(out.size() - 1);
    if (std::exchange(quote_open_, true)) out.erase(0, 1);
    arguments(out);
    consume(n);
    if (!ended && !last_) return false;
    arguments("\"");
    return end_value(ended);
  }
  bool end_value(bool ended) {
    if (ended) consume(format_.value_end.size());
    state_ = ended ? State::kNextTag : State::kAfter;
    return true;
  }

  // ---- after a call ----

  bool after() {
    skip_blanks();
    if (rest().empty()) return false;
    const char c = rest()[0];
    if (format_.json_list && (c == ',' || c == ']' || c == '[')) return consume(1), true;
    if (format_.json_list && c == '{') {
      begin_tentative();
      state_ = State::kObject;
      return true;
    }
    bool partial = false;
    const auto opens = [&](std::size_t first) {
      if (first >= format_.opening.size()) return false;
      const Match m = match(format_.opening[first]);
      partial = partial || m == Match::kPartial;
      if (m != Match::kYes) return false;
      begin_tentative();
      consume(format_.opening[first].size());
      next_mark_ = first + 1;
      state_ = State::kOpening;
      return true;
    };
    if (opens(0) || opens(format_.repeat)) return true;
    for (const std::string& mark : format_.closing) {
      const Match m = match(mark);
      partial = partial || m == Match::kPartial;
      if (m == Match::kYes) return consume(mark.size()), true;
      // The text ends within the mark.
      if (last_ && mark.starts_with(rest())) return consume(rest().size()), false;
    }
    if (partial) return false;
    skip_space_ = true;
    state_ = State::kContent;
    return true;
  }

  // ---- channels ----

  // <|start|>assistant to=functions.NAME<|channel|>CHANNEL <|constrain|>json<|message|>
  bool header() {
    skip_blanks();
    if (rest().empty()) return false;
    bool possible = false;
    for (std::string_view start : {"<|start|>", "<|channel|>", "to=", "assistant", "<|constrain|>"})
      possible =
          possible || detail::common_prefix(rest(), start) == std::min(rest().size(), start.size());
    const std::size_t end = rest().find(kMessage);
    if (!possible || (end == std::string_view::npos && last_)) {
      route_ = Route::kContent;
      if (possible) consume(rest().size());  // a header that was cut off
      state_ = State::kBody;
      return true;
    }
    if (end == std::string_view::npos) return false;
    const std::string text(rest().substr(0, end));
    consume(end + kMessage.size());
    const std::size_t to = text.find("to="), channel = text.find("<|channel|>");
    const auto word = [&](std::size_t at) {
      std::size_t stop = at;
      while (stop < text.size() && is_name_char(text[stop])) ++stop;
      return text.substr(at, stop - at);
    };
    const std::string name =
        channel == std::string::npos ? "" : word(channel + std::string_view("<|channel|>").size());
    route_ = name == "analysis" ? Route::kReasoning : Route::kContent;
    if (to != std::string::npos && options_.parse_calls) {
      begin_tentative();
      name_ = word(to + 3);
      if (name_.starts_with("functions.")) name_.erase(0, 10);
      route_ = Route::kCall;
      start_call();
    }
    state_ = State::kBody;
    skip_space_ = false;
    return true;
  }
  bool body() {
    static constexpr std::string_view kEnds[] = {"<|end|>", "<|call|>", "<|return|>", "<|start|>",
                                                 "<|channel|>"};
    std::size_t best = std::string_view::npos;
    std::string_view mark;
    for (std::string_view end : kEnds)
      if (const std::size_t hit = rest().find(end); hit < best) best = hit, mark = end;
    const bool ended = best != std::string_view::npos;
    const std::size_t n = ended ? best : rest().size() - held({std::begin(kEnds), std::end(kEnds)});
    const std::string_view text = rest().substr(0, n);
    if (route_ == Route::kCall)
      arguments(text);
    else
      emit(route_ == Route::kReasoning && reasoning_apart_ ? ChatDelta::Kind::kReasoning
                                                           : ChatDelta::Kind::kContent,
           text);
    consume(n);
    if (!ended) return false;
    if (mark != "<|start|>" && mark != "<|channel|>") consume(mark.size());
    if (route_ == Route::kCall && !any_arguments_) arguments("{}");
    state_ = State::kHeader;
    return true;
  }

  static constexpr std::string_view kMessage = "<|message|>";
  enum class Route { kContent, kReasoning, kCall };

  const bool reasoning_apart_ = options_.parse_reasoning;
  State state_ = State::kContent;
  std::size_t next_mark_ = 0;
  detail::JsonScan scan_;
  std::string key_, member_text_, type_;
  bool quote_open_ = false;
  std::size_t scanned_ = 0, first_mark_ = std::string_view::npos;  // of a JSON value between tags
  int in_json_ = 0;  // 1: it is a list, an object or a string
  bool in_string_ = false, escaped_ = false;
  Route route_ = Route::kContent;
};

}  // namespace veloce::text

// Template text to tokens, with jinja2's white space control (trim_blocks and lstrip_blocks on).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/jinja_runtime.hpp"
#include "veloce/text/jinja_unicode.hpp"

namespace veloce::text::jinja {

enum class TokenType : std::uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,   // text: decoded
  kInteger,  // text: as written
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenType type = TokenType::kEnd;
  std::string text;
  int line = 1;
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) { normalize(source); }

  // All tokens, or false with error() set.
  bool run(std::vector<Token>& out) {
    tokens_ = &out;
    while (at_ < source_.size() && error_.kind == ErrorKind::kNone) data();
    push(TokenType::kEnd, "");
    return error_.kind == ErrorKind::kNone;
  }
  const Error& error() const { return error_; }

 private:
  // Line ends become \n; one at the very end is dropped.
  void normalize(std::string_view source) {
    if (!is_valid_utf8(source)) {
      fail("the template is not valid UTF-8");
      return;
    }
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] != '\r') {
        source_ += source[i];
        continue;
      }
      source_ += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
    if (source_.ends_with('\n')) source_.pop_back();
  }
  void fail(std::string message) {
    if (error_.kind == ErrorKind::kNone)
      error_ = {ErrorKind::kSyntax, "TemplateSyntaxError", std::move(message), line_};
    at_ = source_.size();
  }
  void push(TokenType type, std::string text) {
    tokens_->push_back({type, std::move(text), line_});
  }
  void advance(std::size_t to) {
    for (; at_ < to; ++at_) line_ += source_[at_] == '\n' ? 1 : 0;
  }
  std::size_t skip_space(std::size_t at) const {
    while (at < source_.size()) {
      const Decoded d = decode_utf8(source_, at);
      if (!is_python_space(d.code_point)) break;
      at += std::size_t(d.length);
    }
    return at;
  }
  // The end of "%}" written at `at` with its sign, white space or newline it takes along; 0 if it
  // is not there.
  std::size_t closing(std::size_t at, std::string_view close, bool plus, bool trim) const {
    const std::string_view rest = std::string_view(source_).substr(at);
    if (rest.starts_with('-') && rest.substr(1).starts_with(close))
      return skip_space(at + 1 + close.size());
    if (plus && rest.starts_with('+') && rest.substr(1).starts_with(close))
      return at + 1 + close.size();
    if (!rest.starts_with(close)) return 0;
    const std::size_t end = at + close.size();
    return trim && end < source_.size() && source_[end] == '\n' ? end + 1 : end;
  }
  // "raw %}" or "endraw %}" after a block's beginning: where the tag ends, or 0.
  std::size_t raw_tag(std::size_t at, std::string_view word, bool end_tag) const {
    at = skip_space(at);
    if (std::string_view(source_).substr(at, word.size()) != word) return 0;
    return closing(skip_space(at + word.size()), "%}", end_tag, end_tag);
  }
  // Emits text up to `end`, cut as the tag that follows demands: sign '-' strips, none strips
  // indentation of blocks.
  void emit_data(std::size_t end, char sign, bool variable) {
    std::string_view text = std::string_view(source_).substr(at_, end - at_);
    if (sign == '-') {
      text = strip_right(text, is_python_space);
    } else if (sign != '+' && !variable) {
      const std::size_t line = text.rfind('\n') + 1;  // 0 if there is none
      const std::string_view indent = text.substr(line);
      if ((line > 0 || line_start_) && strip_left(indent, is_python_space).empty())
        text = text.substr(0, line);
    }
    if (!text.empty()) push(TokenType::kData, std::string(text));
  }
  static char sign_at(std::string_view text, std::size_t at) {
    return at < text.size() && (text[at] == '-' || text[at] == '+') ? text[at] : '\0';
  }

  // Text up to the next tag, and the tag.
  void data() {
    std::size_t open = at_;
    while (true) {
      open = source_.find('{', open);
      if (open == std::string::npos || open + 1 >= source_.size()) {
        push(TokenType::kData, source_.substr(at_));
        advance(source_.size());
        return;
      }
      const char kind = source_[open + 1];
      if (kind == '{' || kind == '%' || kind == '#') break;
      ++open;
    }
    const char kind = source_[open + 1];
    const char sign = sign_at(source_, open + 2);
    const std::size_t inside = open + 2 + (sign != '\0' ? 1 : 0);
    emit_data(open, sign, kind == '{');
    advance(open);
    if (kind == '#') return comment(inside);
    if (kind == '%') {
      if (const std::size_t raw_end = raw_tag(inside, "raw", false)) return raw(raw_end);
      push(TokenType::kBlockBegin, "{%");
      advance(inside);
      return code(false);
    }
    push(TokenType::kVariableBegin, "{{");
    advance(inside);
    code(true);
  }
  void finish_tag(std::size_t end) {
    advance(end);
    line_start_ = end > 0 && source_[end - 1] == '\n';
  }
  void comment(std::size_t inside) {
    for (std::size_t hash = inside; (hash = source_.find("#}", hash)) != std::string::npos;
         ++hash) {
      const bool signed_end =
          hash > inside && (source_[hash - 1] == '-' || source_[hash - 1] == '+');
      return finish_tag(closing(signed_end ? hash - 1 : hash, "#}", true, true));
    }
    if (inside < source_.size()) fail("Missing end of comment tag");
    advance(source_.size());  // jinja2 lets a beginning at the very end pass
  }
  void raw(std::size_t start) {
    finish_tag(start);
    for (std::size_t open = start; (open = source_.find("{%", open)) != std::string::npos; ++open) {
      const char sign = sign_at(source_, open + 2);
      const std::size_t end = raw_tag(open + 2 + (sign != '\0' ? 1 : 0), "endraw", true);
      if (end == 0) continue;
      emit_data(open, sign, false);
      return finish_tag(end);
    }
    if (start < source_.size()) fail("Missing end of raw directive");
  }

  // Tokens inside {{ }} or {% %}.
  void code(bool variable) {
    std::string open;  // brackets not yet closed
    while (at_ < source_.size()) {
      if (open.empty()) {
        const std::size_t end =
            variable ? closing(at_, "}}", false, false) : closing(at_, "%}", true, true);
        if (end != 0) {
          push(variable ? TokenType::kVariableEnd : TokenType::kBlockEnd, variable ? "}}" : "%}");
          return finish_tag(end);
        }
      }
      const Decoded d = decode_utf8(source_, at_);
      if (is_python_space(d.code_point)) {
        advance(at_ + std::size_t(d.length));
      } else if (d.code_point >= '0' && d.code_point <= '9') {
        number();
      } else if (is_word(d.code_point)) {
        name();
      } else if (d.code_point == '\'' || d.code_point == '"') {
        string();
      } else {
        operator_token(open);
      }
    }
    if (!open.empty())
      fail(std::string("unexpected end of template, expected '") + open.back() + "'");
  }
  void name() {
    std::size_t end = at_;
    while (end < source_.size()) {
      const Decoded d = decode_utf8(source_, end);
      if (!is_word(d.code_point)) break;
      end += std::size_t(d.length);
    }
    push(TokenType::kName, source_.substr(at_, end - at_));
    advance(end);
  }
  // Digits with single underscores between them; the position after.
  template <class Digit>
  std::size_t digits(std::size_t at, Digit is_one) const {
    const auto one = [&](std::size_t i) { return i < source_.size() && is_one(source_[i]); };
    if (!one(at)) return at;
    while (one(at) || (at < source_.size() && source_[at] == '_' && one(at + 1))) ++at;
    return at;
  }
  static bool decimal(char c) { return c >= '0' && c <= '9'; }
  void number() {
    const char prefix =
        at_ + 1 < source_.size() && source_[at_] == '0' ? char(source_[at_ + 1] | 32) : '\0';
    std::size_t end = at_;
    bool real = false;
    if (prefix == 'x' || prefix == 'o' || prefix == 'b') {
      const auto is_one = [prefix](char c) {
        return prefix == 'b'   ? c == '0' || c == '1'
               : prefix == 'o' ? c >= '0' && c <= '7'
                               : decimal(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
      };
      const std::size_t first =
          at_ + 2 < source_.size() && source_[at_ + 2] == '_' ? at_ + 3 : at_ + 2;
      end = digits(first, is_one);
      if (end == first) end = at_;
    }
    if (end == at_) {
      end = digits(at_, decimal);
      const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
      if (!after_dot && end < source_.size() && source_[end] == '.' &&
          digits(end + 1, decimal) > end + 1) {
        end = digits(end + 1, decimal);
        real = true;
      }
      if (!after_dot && end < source_.size() && (source_[end] | 32) == 'e') {
        const std::size_t sign =
            end + 1 < source_.size() && (source_[end + 1] == '+' || source_[end + 1] == '-') ? 1
                                                                                             : 0;
        const std::size_t last = digits(end + 1 + sign, decimal);
        if (last > end + 1 + sign) end = last, real = true;
      }
      if (!real && source_[at_] == '0') {  // a leading zero is a number of its own
        end = digits(at_, [](char c) { return c == '0'; });
      }
    }
    std::string text;
    for (char c : std::string_view(source_).substr(at_, end - at_))
      if (c != '_') text += c;
    push(real ? TokenType::kFloat : TokenType::kInteger, std::move(text));
    advance(end);
  }
  void operator_token(std::string& open) {
    static constexpr std::string_view kTwo[] = {"//", "**", "==", "!=", ">=", "<="};
    const std::string_view rest = std::string_view(source_).substr(at_);
    for (std::string_view op : kTwo) {
      if (!rest.starts_with(op)) continue;
      push(TokenType::kOperator, std::string(op));
      return advance(at_ + 2);
    }
    const char c = rest[0];
    if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == std::string_view::npos)
      return fail(
          "unexpected char " +
          std::string(rest.substr(0, std::size_t(utf8_length(static_cast<unsigned char>(c))))));
    if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty()) return fail(std::string("unexpected '") + c + "'");
      if (open.back() != c)
        return fail(std::string("unexpected '") + c + "', expected '" + open.back() + "'");
      open.pop_back();
    }
    push(TokenType::kOperator, std::string(1, c));
    advance(at_ + 1);
  }

  bool hex(std::size_t& at, int digits_wanted, std::string& out) {
    std::uint32_t v = 0;
    for (int i = 0; i < digits_wanted; ++i, ++at) {
      const char c = at < source_.size() ? source_[at] : '\0';
      const int d = decimal(c)                           ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                         : -1;
      if (d < 0) return fail("truncated escape in a string"), false;
      v = v << 4 | std::uint32_t(d);
    }
    if (v > 0x10FFFF || (v >= 0xD800 && v < 0xE000))
      return fail("a string's escape is no character"), false;
    append_utf8(out, v);
    return true;
  }
  // One escape from after its backslash, as Python's unicode-escape reads it.
  bool escape(std::size_t& at, std::string& out) {
    const char c = source_[at++];
    switch (c) {
      case '\n':
        return true;
      case '\\':
      case '\'':
      case '"':
        out += c;
        return true;
      case 'a':
        out += '\a';
        return true;
      case 'b':
        out += '\b';
        return true;
      case 'f':
        out += '\f';
        return true;
      case 'n':
        out += '\n';
        return true;
      case 'r':
        out += '\r';
        return true;
      case 't':
        out += '\t';
        return true;
      case 'v':
        out += '\v';
        return true;
      case 'x':
        return hex(at, 2, out);
      case 'u':
        return hex(at, 4, out);
      case 'U':
        return hex(at, 8, out);
      case 'N':
        return fail("escapes by name (\\N{...}) are not supported"), false;
      default:
        break;
    }
    if (c >= '0' && c <= '7') {
      unsigned v = unsigned(c - '0');
      for (int i = 0; i < 2 && at < source_.size() && source_[at] >= '0' && source_[at] <= '7'; ++i)
        v = v * 8 + unsigned(source_[at++] - '0');
      append_utf8(out, v);
      return true;
    }
    out += '\\';  // not an escape: kept
    --at;
    return true;
  }
  void string() {
    const char quote = source_[at_];
    std::string out;
    std::size_t at = at_ + 1;
    while (at < source_.size() && source_[at] != quote) {
      if (source_[at] != '\\') {
        out += source_[at++];
        continue;
      }
      if (++at >= source_.size()) break;
      if (!escape(at, out)) return;
    }
    if (at >= source_.size()) return fail(std::string("unexpected char ") + quote);
    push(TokenType::kString, std::move(out));
    advance(at + 1);
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_start_ = true;
  std::vector<Token>* tokens_ = nullptr;
  Error error_;
};

}  // namespace veloce::text::jinja

// A string's `pattern` as GBNF: the regular expressions of ECMA 262 less what an automaton can't
// do. Supported: . classes with ranges and negation, \d \D \w \W \s \S, escapes \n \r \t \f \v \0
// \xHH \uHHHH \cX and of punctuation, groups (plain,
// (?:…), named), alternation, * + ? {m} {m,} {m,n} and their lazy forms (the language is the same),
// ^ and $ at the ends of the top level's branches. A branch without an anchor matches anywhere, as
// the standard says. Everything else (look-around, back references, \b, \p, anchors inside) is an
// error that names it. Characters are spelled as in JSON, one spelling each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/text/json_schema_text.hpp"

namespace veloce::text::schema {

struct PatternText {
  std::string gbnf;
  std::uint64_t min_length = 0, max_length = 0;  // in characters; kUnbounded: no limit
};
inline constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint32_t>::max();

class PatternTranslator {
 public:
  // `in_json`: characters are spelled as inside a JSON string; otherwise as themselves.
  explicit PatternTranslator(std::string_view pattern, bool in_json = true)
      : text_(pattern), in_json_(in_json) {}

  // The pattern alone, with nothing around it; anchors are errors.
  Result<PatternText> run_part() {
    PatternText out = choice(1);
    if (status_.ok() && at_ < text_.size()) fail("')' without '('");
    if (!status_.ok()) return status_;
    return out;
  }

  Result<PatternText> run() {
    constexpr std::size_t kLongest = 16384;
    if (text_.size() > kLongest) {
      fail("longer than " + std::to_string(kLongest) + " bytes");
      return status_;
    }
    PatternText out;
    out.min_length = kUnbounded;
    while (status_.ok()) {
      const bool start = take('^');
      PatternText branch = sequence(0);
      const bool end = take('$');
      const std::string any = json_class(complement_of({})) + "*";
      if (!start) branch.gbnf = any + " " + branch.gbnf;
      if (!end) branch.gbnf += " " + any;
      if (!start || !end) branch.max_length = kUnbounded;
      join(out, branch);
      if (!take('|')) break;
    }
    if (status_.ok() && at_ < text_.size()) {
      fail(text_[at_] == ')' ? "')' without '('" : "text after '$'");
    }
    if (!status_.ok()) return status_;
    return out;
  }

 private:
  void fail(const std::string& what) {
    if (status_.ok()) {
      status_ = Status(Code::kUnsupported, what + " at position " + std::to_string(at_));
    }
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  static void join(PatternText& all, const PatternText& branch) {
    all.gbnf +=
        (all.gbnf.empty() ? "" : " | ") + (branch.gbnf.empty() ? std::string("\"\"") : branch.gbnf);
    all.min_length = std::min(all.min_length, branch.min_length);
    all.max_length = std::max(all.max_length, branch.max_length);
  }

  PatternText choice(int depth) {
    PatternText out;
    out.min_length = kUnbounded;
    do {
      join(out, sequence(depth));
    } while (status_.ok() && take('|'));
    return out;
  }

  PatternText sequence(int depth) {
    PatternText out;
    while (status_.ok() && at_ < text_.size() && peek() != '|' && peek() != ')') {
      if (peek() == '$' && depth == 0) break;
      PatternText part = term(depth);
      part = repeated(std::move(part));
      if (!out.gbnf.empty() && !part.gbnf.empty()) out.gbnf += ' ';
      out.gbnf += part.gbnf;
      out.min_length = std::min(kUnbounded, out.min_length + part.min_length);
      out.max_length = std::min(kUnbounded, out.max_length + part.max_length);
      if (out.gbnf.size() > (1u << 20)) fail("the pattern is too large");
    }
    return out;
  }

  PatternText term(int depth) {
    const char c = peek();
    if (c == '(') return group(depth);
    if (c == '[') return one_of(char_class());
    if (c == '.') {
      ++at_;
      return one_of(complement_of({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}));
    }
    if (c == '^' || c == '$')
      return fail(std::string("'") + c + "' inside the pattern isn't supported"), PatternText{};
    if (c == '*' || c == '+' || c == '?')
      return fail(std::string("nothing to repeat before '") + c + "'"), PatternText{};
    if (c == '\\') {
      std::vector<CodeRange> set;
      escape(set, false);
      return one_of(set);
    }
    std::uint32_t cp = 0;
    if (!read_utf8(text_, at_, cp)) return fail("not valid UTF-8"), PatternText{};
    return one_of({{cp, cp}});
  }

  PatternText one_of(const std::vector<CodeRange>& set) {
    PatternText out;
    out.gbnf = in_json_ ? json_class(set) : set.empty() ? "" : gbnf_class(set);
    if (out.gbnf.empty()) fail("a class that matches no character");
    out.min_length = out.max_length = 1;
    return out;
  }

  PatternText group(int depth) {
    if (depth >= 40) return fail("more than 40 nested groups"), PatternText{};
    ++at_;
    if (take('?')) {
      if (peek() == '<' && peek(1) != '=' && peek(1) != '!') {
        while (at_ < text_.size() && text_[at_] != '>') ++at_;
        if (!take('>')) fail("a group's name has no end");
      } else if (!take(':')) {
        return fail("look-around and flags aren't supported"), PatternText{};
      }
    }
    PatternText inner = choice(depth + 1);
    if (status_.ok() && !take(')')) fail("'(' without ')'");
    inner.gbnf = "(" + inner.gbnf + ")";
    return inner;
  }

  PatternText repeated(PatternText part) {
    while (status_.ok()) {
      std::uint64_t min = 0, max = kUnbounded;
      if (take('+')) {
        min = 1;
      } else if (take('?')) {
        max = 1;
      } else if (peek() == '{' && peek(1) >= '0' && peek(1) <= '9') {
        ++at_;
        min = max = number();
        if (take(',')) max = peek() == '}' ? kUnbounded : number();
        if (!take('}')) fail("a repetition has no '}'");
        if (max < min) fail("a repetition runs backwards");
        constexpr std::uint64_t kMost = 2000;
        if (min > kMost || (max > kMost && max != kUnbounded))
          fail("a repetition of more than 2000 times");
      } else if (!take('*')) {
        break;
      }
      take('?');
      const std::string count =
          "{" + std::to_string(min) + "," + (max == kUnbounded ? "" : std::to_string(max)) + "}";
      part.gbnf = max == 0 ? "\"\"" : part.gbnf + (part.gbnf.empty() ? "" : count);
      if (part.gbnf.size() > 4 && max != 0) part.gbnf = "(" + part.gbnf + ")";
      part.min_length = std::min(kUnbounded, part.min_length * min);
      part.max_length = part.max_length == 0 || max == 0 ? 0
                        : part.max_length == kUnbounded || max == kUnbounded
                            ? kUnbounded
                            : std::min(kUnbounded, part.max_length * max);
    }
    return part;
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    while (peek() >= '0' && peek() <= '9')
      value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>(text_[at_++] - '0'),
                                      kUnbounded - 1);
    return value;
  }

  std::vector<CodeRange> char_class() {
    ++at_;
    const bool negated = take('^');
    std::vector<CodeRange> set;
    while (status_.ok() && peek() != ']') {
      if (at_ >= text_.size()) {
        fail("'[' without ']'");
        break;
      }
      std::vector<CodeRange> lo = class_atom();
      const bool single = lo.size() == 1 && lo[0].lo == lo[0].hi;
      if (single && peek() == '-' && peek(1) != ']' && at_ + 1 < text_.size()) {
        ++at_;
        const std::vector<CodeRange> hi = class_atom();
        if (hi.size() != 1 || hi[0].lo != hi[0].hi || hi[0].lo < lo[0].lo)
          fail("a class's range is malformed");
        if (status_.ok()) lo[0].hi = hi[0].hi;
      }
      set.insert(set.end(), lo.begin(), lo.end());
    }
    take(']');
    return normal_ranges(std::move(set), negated);
  }

  std::vector<CodeRange> class_atom() {
    std::vector<CodeRange> set;
    if (peek() == '\\') {
      escape(set, true);
      return set;
    }
    std::uint32_t cp = 0;
    if (!read_utf8(text_, at_, cp)) fail("not valid UTF-8");
    return {{cp, cp}};
  }

  static std::vector<CodeRange> named_set(char c) {
    switch (c) {
      case 'd':
        return {{'0', '9'}};
      case 'w':
        return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
      case 's':
        return {{9, 13},          {32, 32},         {0xA0, 0xA0},     {0x1680, 0x1680},
                {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
      default:
        return {};
    }
  }

  void escape(std::vector<CodeRange>& set, bool in_class) {
    ++at_;
    const char c = peek();
    auto one = [&](std::uint32_t cp) { set.push_back({cp, cp}); };
    if (at_ >= text_.size()) return fail("the pattern ends in '\\'");
    if (static_cast<std::uint8_t>(c) >= 0x80) return fail("an escape of a letter outside ASCII");
    ++at_;
    switch (c) {
      case 'd':
      case 'w':
      case 's':
        set = named_set(c);
        return;
      case 'D':
      case 'W':
      case 'S':
        set = complement_of(named_set(static_cast<char>(c + 32)));
        return;
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 't':
        return one('\t');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case '0':
        return one(0);
      case 'x':
        return one(hex(2));
      case 'u':
        return one(unicode());
      case 'c':
        return one(static_cast<std::uint32_t>(text_[std::min(at_++, text_.size() - 1)]) & 0x1F);
      case 'b':
        if (in_class) return one('\b');
        break;
      default:
        break;
    }
    const bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter) return fail(std::string("'\\") + c + "' isn't supported");
    one(static_cast<std::uint32_t>(c));
  }

  std::uint32_t hex(int digits) {
    std::uint32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return fail("malformed hexadecimal escape"), 0;
      value = value * 16 + static_cast<std::uint32_t>(digit);
      ++at_;
    }
    return value;
  }

  std::uint32_t unicode() {
    std::uint32_t cp = hex(4);
    if (cp >= 0xD800 && cp <= 0xDBFF && peek() == '\\' && peek(1) == 'u') {
      at_ += 2;
      const std::uint32_t low = hex(4);
      if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
    }
    if (cp >= 0xD800 && cp <= 0xDFFF) fail("a lone surrogate");
    return cp;
  }

  std::string_view text_;
  bool in_json_;
  std::size_t at_ = 0;
  Status status_;
};

}  // namespace veloce::text::schema

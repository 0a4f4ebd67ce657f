// Reads GBNF, the grammar notation clients send:
//
//   root  ::= item (", " item)* # a comment
//   item  ::= "literal" | [a-z0-9] | [^"\\] | . | name | ( … ) | <[42]> | <text> | !<[42]>
//   suffixes * + ? {m} {m,} {m,n}; escapes \n \r \t \\ \" \[ \] \xHH \uHHHH \UHHHHHHHH (code
//   points, not bytes)
//
// Names are letters, digits and '-'. A rule ends at a line's end, except inside parentheses, after
// "::=" and after "|". {m} above GrammarLimits::max_repeat is an error; {m,n} with n above it has
// no upper bound. Errors name line and column.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/text/grammar_ast.hpp"
#include "veloce/text/grammar_utf8.hpp"

namespace veloce::text {

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const GrammarLimits& limits, const TokenResolver& resolver)
      : text_(text), limits_(limits), resolver_(resolver) {}

  // The rules of the whole text; the entry rule is "root". Undefined rules are an error, unused
  // ones are not.
  Result<GrammarAst> parse() {
    if (text_.size() > limits_.max_text_bytes) {
      return Status(Code::kInvalidArgument, "grammar: text of " + std::to_string(text_.size()) +
                                                " bytes, the limit is " +
                                                std::to_string(limits_.max_text_bytes));
    }
    skip_space(true);
    while (ok() && at_ < text_.size()) parse_rule();
    if (!ok()) return status_;
    const auto root = index_.find("root");
    if (root == index_.end() || ast_.rules[root->second].body == kNoLimit) {
      return Status(Code::kInvalidArgument, "grammar: no rule named 'root'");
    }
    for (const GrammarAst::Rule& rule : ast_.rules) {
      if (rule.body != kNoLimit) continue;
      return Status(Code::kInvalidArgument, "grammar: rule '" + rule.name + "' is used in line " +
                                                std::to_string(rule.line) + " but not defined");
    }
    ast_.root = root->second;
    return std::move(ast_);
  }

 private:
  bool ok() const { return status_.ok(); }

  void fail(const std::string& what, std::size_t where) {
    if (!ok()) return;
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < where && i < text_.size(); ++i) {
      ++column;
      if (text_[i] == '\n') ++line, column = 1;
    }
    status_ = Status(Code::kInvalidArgument, "grammar: line " + std::to_string(line) + ", column " +
                                                 std::to_string(column) + ": " + what);
  }
  void fail(const std::string& what) { fail(what, at_); }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool at_end() const { return at_ >= text_.size(); }

  static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  }

  void skip_space(bool newlines) {
    while (!at_end()) {
      const char c = text_[at_];
      if (c == '#') {
        while (!at_end() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
      } else if (c == ' ' || c == '\t' || (newlines && (c == '\n' || c == '\r'))) {
        if (c == '\n') ++line_;
        ++at_;
      } else {
        break;
      }
    }
  }

  std::string_view read_name() {
    const std::size_t start = at_;
    while (!at_end() && is_name_char(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  std::uint32_t rule_index(std::string_view name) {
    const auto [it, added] =
        index_.emplace(std::string(name), static_cast<std::uint32_t>(ast_.rules.size()));
    if (added) add_rule(std::string(name));
    return it->second;
  }

  std::uint32_t add_rule(std::string name) {
    if (ast_.rules.size() >= limits_.max_rules) {
      fail("more than " + std::to_string(limits_.max_rules) + " rules");
    }
    ast_.rules.push_back({std::move(name), kNoLimit, line_, false});
    return static_cast<std::uint32_t>(ast_.rules.size() - 1);
  }

  void parse_rule() {
    const std::size_t start = at_;
    const std::string_view name = read_name();
    if (name.empty()) return fail("expected a rule's name (letters, digits, '-')");
    skip_space(false);
    if (text_.substr(at_, 3) != "::=")
      return fail("expected '::=' after '" + std::string(name) + "'");
    at_ += 3;
    skip_space(true);
    const std::uint32_t rule = rule_index(name);
    if (!ok()) return;
    if (ast_.rules[rule].body != kNoLimit) {
      return fail("rule '" + std::string(name) + "' is already defined in line " +
                      std::to_string(ast_.rules[rule].line),
                  start);
    }
    ast_.rules[rule].line = line_;
    current_ = rule;
    const std::uint32_t body = parse_choice(0);
    if (!ok()) return;
    ast_.rules[rule].body = body;
    if (!at_end() && peek() != '\n' && peek() != '\r') {
      return fail(std::string("unexpected '") + peek() + "'");
    }
    skip_space(true);
  }

  std::uint32_t parse_choice(std::size_t depth) {
    if (depth > limits_.max_nesting) {
      fail("more than " + std::to_string(limits_.max_nesting) + " nested parentheses");
      return 0;
    }
    std::vector<std::uint32_t> branches{parse_sequence(depth)};
    while (ok() && peek() == '|') {
      ++at_;
      skip_space(true);
      branches.push_back(parse_sequence(depth));
    }
    if (branches.size() == 1) return branches[0];
    Expr choice;
    choice.kind = ExprKind::kChoice;
    choice.children = std::move(branches);
    return ast_.add(std::move(choice));
  }

  std::uint32_t parse_sequence(std::size_t depth) {
    std::vector<std::uint32_t> terms;
    while (ok() && !at_end()) {
      const char c = peek();
      if (c == '|' || c == ')' || c == '\n' || c == '\r') break;
      const std::size_t start = at_;
      std::uint32_t term = parse_term(depth);
      while (ok() && (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{')) {
        term = parse_suffix(term, start);
      }
      terms.push_back(term);
      skip_space(depth > 0);
    }
    if (terms.size() == 1) return terms[0];
    Expr sequence;
    sequence.kind = ExprKind::kSequence;
    sequence.children = std::move(terms);
    return ast_.add(std::move(sequence));
  }

  std::uint32_t parse_term(std::size_t depth) {
    const char c = peek();
    if (c == '"') return parse_literal();
    if (c == '[') return parse_class();
    if (c == '.') {
      ++at_;
      Expr any;
      any.kind = ExprKind::kClass;
      any.ranges = normal_ranges({}, true);
      return ast_.add(std::move(any));
    }
    if (c == '(') {
      ++at_;
      skip_space(true);
      const std::uint32_t inner = parse_choice(depth + 1);
      if (!ok()) return 0;
      if (peek() != ')') return fail("expected ')'"), 0;
      ++at_;
      return inner;
    }
    if (c == '<' || c == '!') return parse_token();
    if (is_name_char(c)) {
      Expr ref;
      ref.kind = ExprKind::kRule;
      ref.ref = rule_index(read_name());
      return ast_.add(std::move(ref));
    }
    return fail(std::string("unexpected '") + c + "'"), 0;
  }

  std::uint32_t parse_literal() {
    const std::size_t start = at_++;
    Expr literal;
    while (ok() && peek() != '"') {
      if (at_end()) return fail("the literal has no closing '\"'", start), 0;
      append_utf8(literal.bytes, read_char());
    }
    ++at_;
    return ast_.add(std::move(literal));
  }

  std::uint32_t parse_class() {
    const std::size_t start = at_++;
    const bool negated = peek() == '^';
    if (negated) ++at_;
    std::vector<CodeRange> ranges;
    while (ok() && peek() != ']') {
      if (at_end()) return fail("the class has no closing ']'", start), 0;
      const std::size_t from = at_;
      CodeRange range{};
      range.lo = range.hi = read_char();
      if (peek() == '-' && peek(1) != ']' && at_ + 1 < text_.size()) {
        ++at_;
        range.hi = read_char();
        if (ok() && range.hi < range.lo) fail("the range runs backwards", from);
      }
      ranges.push_back(range);
    }
    ++at_;
    Expr cls;
    cls.kind = ExprKind::kClass;
    cls.ranges = normal_ranges(std::move(ranges), negated);
    if (ok() && cls.ranges.empty()) fail("the class matches no character", start);
    return ast_.add(std::move(cls));
  }

  std::uint32_t read_char() {
    if (peek() == '\\') return read_escape();
    std::uint32_t cp = 0;
    if (!read_utf8(text_, at_, cp)) fail("not valid UTF-8");
    return cp;
  }

  std::uint32_t read_escape() {
    const std::size_t start = at_++;
    const char c = peek();
    ++at_;
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case '\\':
      case '"':
      case '[':
      case ']':
        return static_cast<std::uint32_t>(c);
      case 'x':
        return read_hex(2, start);
      case 'u':
        return read_hex(4, start);
      case 'U':
        return read_hex(8, start);
      default:
        break;
    }
    return fail("unknown escape (known: \\n \\r \\t \\\\ \\\" \\[ \\] \\xHH \\uHHHH \\UHHHHHHHH)",
                start),
           0;
  }

  std::uint32_t read_hex(int digits, std::size_t start) {
    std::uint32_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0)
        return fail("expected " + std::to_string(digits) + " hexadecimal digits", start), 0;
      value = value * 16 + static_cast<std::uint32_t>(digit);
    }
    if (value > kLastCodePoint || (value >= 0xD800 && value <= 0xDFFF)) {
      return fail("the escape is not a Unicode character", start), 0;
    }
    return value;
  }

  std::uint32_t parse_token() {
    const std::size_t start = at_;
    Expr token;
    token.kind = ExprKind::kToken;
    token.negated = peek() == '!';
    if (token.negated) ++at_;
    if (peek() != '<') return fail("expected '<' after '!'"), 0;
    ++at_;
    if (peek() == '[') {
      ++at_;
      token.ref = read_number("token id");
      if (ok() && (peek() != ']' || peek(1) != '>')) fail("expected ']>' after the token id");
      at_ += 2;
      return ast_.add(std::move(token));
    }
    const std::size_t close = text_.find('>', at_);
    if (close == std::string_view::npos) return fail("the token has no closing '>'", start), 0;
    const std::string text(
        text_.substr(start + (token.negated ? 1 : 0), close + 1 - start - (token.negated ? 1 : 0)));
    at_ = close + 1;
    // The brackets belong to most special tokens' own text; a token without them is written <text>
    // as well.
    std::optional<std::uint32_t> id;
    if (resolver_) id = resolver_(text);
    if (resolver_ && !id) id = resolver_(std::string_view(text).substr(1, text.size() - 2));
    if (!id) return fail("'" + text + "' is not exactly one token of the vocabulary", start), 0;
    token.ref = *id;
    return ast_.add(std::move(token));
  }

  std::uint32_t read_number(const char* what) {
    std::uint64_t value = 0;
    const std::size_t start = at_;
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + static_cast<std::uint64_t>(text_[at_++] - '0');
      if (value >= kNoLimit) return fail(std::string(what) + " is too large", start), 0;
    }
    if (at_ == start) fail(std::string("expected a ") + what);
    return static_cast<std::uint32_t>(value);
  }

  std::uint32_t parse_suffix(std::uint32_t term, std::size_t start) {
    std::uint32_t min = 0, max = kNoLimit;
    const char c = text_[at_++];
    if (c == '+') min = 1;
    if (c == '?') max = 1;
    if (c == '{') {
      skip_space(false);
      min = max = read_number("number of repetitions");
      skip_space(false);
      if (ok() && peek() == ',') {
        ++at_;
        skip_space(false);
        max = peek() == '}' ? kNoLimit : read_number("number of repetitions");
        skip_space(false);
      }
      if (ok() && peek() != '}') fail("expected '}'");
      ++at_;
      if (ok() && max < min)
        fail("{" + std::to_string(min) + "," + std::to_string(max) + "} runs backwards", start);
      if (ok() && min > limits_.max_repeat) {
        fail("at least " + std::to_string(min) + " repetitions, the limit is " +
                 std::to_string(limits_.max_repeat),
             start);
      }
      if (max > limits_.max_repeat) max = kNoLimit;
    }
    if (!ok()) return 0;
    return repeat(term, min, max);
  }

  // A long repetition of more than a byte becomes a chain of calls of one rule instead of a chain
  // of copies.
  std::uint32_t repeat(std::uint32_t term, std::uint32_t min, std::uint32_t max) {
    constexpr std::uint32_t kFewCopies = 8;
    const Expr& body = ast_.exprs[term];
    // (x?){m,n} and (x*){m,n} say no more than x{0,n} and x*; written so, they don't grow with the
    // square of n.
    if (body.kind == ExprKind::kRepeat && body.min == 0 &&
        (body.max == 1 || body.max == kNoLimit)) {
      const std::uint32_t inner = body.children[0];
      return repeat(inner, 0, body.max == kNoLimit || max == kNoLimit ? kNoLimit : max);
    }
    const std::uint32_t copies = max == kNoLimit ? min : max;
    const bool small = (body.kind == ExprKind::kBytes && body.bytes.size() <= 1) ||
                       (body.kind == ExprKind::kClass && body.ranges.back().hi < 0x80);
    if (copies > kFewCopies && !small) {
      std::uint32_t rule;
      if (body.kind == ExprKind::kRule) {
        rule = body.ref;
      } else {
        const auto known = repeated_.find(term);
        rule = known != repeated_.end() ? known->second
                                        : add_rule(ast_.rules[current_].name + " (repeated part " +
                                                   std::to_string(repeated_.size() + 1) + ")");
        if (!ok()) return 0;
        repeated_.emplace(term, rule);
        ast_.rules[rule].body = term;
      }
      ast_.rules[rule].keep_apart = true;
      Expr call;
      call.kind = ExprKind::kRule;
      call.ref = rule;
      term = ast_.add(std::move(call));
    }
    Expr repeated;
    repeated.kind = ExprKind::kRepeat;
    repeated.min = min;
    repeated.max = max;
    repeated.children = {term};
    return ast_.add(std::move(repeated));
  }

  std::string_view text_;
  const GrammarLimits& limits_;
  const TokenResolver& resolver_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t current_ = 0;
  GrammarAst ast_;
  std::unordered_map<std::string, std::uint32_t> index_;
  std::unordered_map<std::uint32_t, std::uint32_t> repeated_;  // expression -> the rule made of it
  Status status_;
};

}  // namespace veloce::text

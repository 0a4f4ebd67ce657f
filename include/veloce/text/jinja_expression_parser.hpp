// The expressions of a template: tokens to the expression part of the syntax tree, as jinja2's
// parser reads them. Also what the statements' parser (jinja_parser.hpp) needs to read tokens and
// to report an error.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/jinja_ast.hpp"
#include "veloce/text/jinja_lexer.hpp"

namespace veloce::text::jinja {

class ExpressionParser {
 public:
  static constexpr int kMaxNesting = 150;  // brackets and blocks inside each other
  static constexpr int kMaxHeight = 600;   // of one expression: chains like a + b + c + ...

  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  const Error& error() const { return error_; }

 protected:
  bool ok() const { return error_.kind == ErrorKind::kNone; }
  void fail(std::string message, int line = 0) {
    if (ok())
      error_ = {ErrorKind::kSyntax, "TemplateSyntaxError", std::move(message),
                line != 0 ? line : current().line};
    at_ = tokens_.size() - 1;
  }
  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  void next() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool is(TokenType type) const { return current().type == type; }
  static bool is_name(const Token& t, std::string_view name) {
    return t.type == TokenType::kName && t.text == name;
  }
  bool at_name(std::string_view name) const { return is_name(current(), name); }
  bool at_op(std::string_view op) const { return is(TokenType::kOperator) && current().text == op; }
  bool skip_name(std::string_view name) {
    if (!at_name(name)) return false;
    next();
    return true;
  }
  bool skip_op(std::string_view op) {
    if (!at_op(op)) return false;
    next();
    return true;
  }
  static std::string describe(const Token& t) {
    switch (t.type) {
      case TokenType::kEnd:
        return "end of template";
      case TokenType::kData:
        return "template data";
      case TokenType::kBlockEnd:
        return "end of statement block";
      case TokenType::kVariableEnd:
        return "end of print statement";
      default:
        return "'" + t.text.substr(0, 60) + "'";
    }
  }
  bool expect_op(std::string_view op) {
    if (skip_op(op)) return true;
    fail("expected token '" + std::string(op) + "', got " + describe(current()));
    return false;
  }
  bool expect_name(std::string_view name) {
    if (skip_name(name)) return true;
    fail("expected token '" + std::string(name) + "', got " + describe(current()));
    return false;
  }
  std::string expect_any_name() {
    if (!is(TokenType::kName)) {
      fail("expected a name, got " + describe(current()));
      return {};
    }
    std::string out = current().text;
    next();
    return out;
  }
  bool expect(TokenType type, const char* what) {
    if (is(type)) {
      next();
      return true;
    }
    fail(std::string("expected ") + what + ", got " + describe(current()));
    return false;
  }
  // Nesting as a guard.
  struct Nest {
    explicit Nest(ExpressionParser& p) : parser(p) {
      if (++parser.nesting_ > kMaxNesting)
        parser.fail("the template nests deeper than " + std::to_string(kMaxNesting));
    }
    ~Nest() { --parser.nesting_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;
    ExpressionParser& parser;
  };

  // ---- making nodes ----

  ExpressionPtr node(Op op, int line) {
    auto out = std::make_unique<Expression>();
    out->op = op;
    out->line = line;
    return out;
  }
  void add_part(Expression& to, ExpressionPtr part) {
    if (part != nullptr) grow(to, *part);
    to.parts.push_back(std::move(part));
  }
  void grow(Expression& to, const Expression& part) {
    to.height = std::max(to.height, part.height + 1);
    if (to.height > kMaxHeight)
      fail("an expression is longer than " + std::to_string(kMaxHeight) + " steps", to.line);
  }
  ExpressionPtr unary(Op op, int line, ExpressionPtr a) {
    ExpressionPtr out = node(op, line);
    add_part(*out, std::move(a));
    return out;
  }
  ExpressionPtr binary(Op op, int line, ExpressionPtr a, ExpressionPtr b) {
    ExpressionPtr out = unary(op, line, std::move(a));
    add_part(*out, std::move(b));
    return out;
  }
  ExpressionPtr constant(Value v, int line) {
    ExpressionPtr out = node(Op::kConstant, line);
    out->value = std::move(v);
    return out;
  }

  // ---- expressions, loosest first ----

  ExpressionPtr expression(bool with_condition = true) {
    const Nest nest(*this);
    if (!ok()) return constant({}, 0);
    return with_condition ? condition() : or_expression();
  }
  ExpressionPtr condition() {
    const int line = current().line;
    ExpressionPtr then = or_expression();
    while (ok() && skip_name("if")) {
      ExpressionPtr test = or_expression(), otherwise;
      if (skip_name("else")) otherwise = expression();
      ExpressionPtr out = node(Op::kCondition, line);
      add_part(*out, std::move(test));
      add_part(*out, std::move(then));
      add_part(*out, std::move(otherwise));
      then = std::move(out);
    }
    return then;
  }
  ExpressionPtr or_expression() {
    ExpressionPtr left = and_expression();
    while (ok() && at_name("or")) {
      const int line = current().line;
      next();
      left = binary(Op::kOr, line, std::move(left), and_expression());
    }
    return left;
  }
  ExpressionPtr and_expression() {
    ExpressionPtr left = not_expression();
    while (ok() && at_name("and")) {
      const int line = current().line;
      next();
      left = binary(Op::kAnd, line, std::move(left), not_expression());
    }
    return left;
  }
  ExpressionPtr not_expression() {
    if (!at_name("not")) return comparison();
    const Nest nest(*this);
    const int line = current().line;
    next();
    return unary(Op::kNot, line, not_expression());
  }
  bool comparison_operator(Comparison& out) {
    static constexpr std::pair<std::string_view, Comparison> kOperators[] = {
        {"==", Comparison::kEqual},  {"!=", Comparison::kNotEqual},
        {"<", Comparison::kLess},    {"<=", Comparison::kLessEqual},
        {">", Comparison::kGreater}, {">=", Comparison::kGreaterEqual}};
    if (is(TokenType::kOperator)) {
      for (const auto& [text, op] : kOperators) {
        if (current().text != text) continue;
        out = op;
        next();
        return true;
      }
      return false;
    }
    if (skip_name("in")) {
      out = Comparison::kIn;
      return true;
    }
    if (!at_name("not") || !is_name(ahead(), "in")) return false;
    next();
    next();
    out = Comparison::kNotIn;
    return true;
  }
  ExpressionPtr comparison() {
    const int line = current().line;
    ExpressionPtr first = sum();
    Comparison op;
    if (!ok() || !comparison_operator(op)) return first;
    ExpressionPtr out = unary(Op::kCompare, line, std::move(first));
    do {
      out->comparisons.push_back(op);
      add_part(*out, sum());
    } while (ok() && comparison_operator(op));
    return out;
  }
  ExpressionPtr sum() {
    ExpressionPtr left = concatenation();
    while (ok() && (at_op("+") || at_op("-"))) {
      const Op op = at_op("+") ? Op::kAdd : Op::kSubtract;
      const int line = current().line;
      next();
      left = binary(op, line, std::move(left), concatenation());
    }
    return left;
  }
  ExpressionPtr concatenation() {
    const int line = current().line;
    ExpressionPtr first = product();
    if (!at_op("~")) return first;
    ExpressionPtr out = unary(Op::kConcat, line, std::move(first));
    while (ok() && skip_op("~")) add_part(*out, product());
    return out;
  }
  ExpressionPtr product() {
    static constexpr std::pair<std::string_view, Op> kOperators[] = {
        {"*", Op::kMultiply}, {"/", Op::kDivide}, {"//", Op::kFloorDivide}, {"%", Op::kModulo}};
    ExpressionPtr left = power();
    while (ok() && is(TokenType::kOperator)) {
      const auto* op = std::find_if(std::begin(kOperators), std::end(kOperators),
                                    [&](const auto& o) { return o.first == current().text; });
      if (op == std::end(kOperators)) break;
      const int line = current().line;
      next();
      left = binary(op->second, line, std::move(left), power());
    }
    return left;
  }
  ExpressionPtr power() {
    ExpressionPtr left = unary_expression(true);
    while (ok() && at_op("**")) {
      const int line = current().line;
      next();
      left = binary(Op::kPower, line, std::move(left), unary_expression(true));
    }
    return left;
  }
  ExpressionPtr unary_expression(bool with_filter) {
    const int line = current().line;
    ExpressionPtr out;
    if (at_op("-") || at_op("+")) {
      const Nest nest(*this);
      const Op op = at_op("-") ? Op::kNegate : Op::kPlus;
      next();
      out = ok() ? unary(op, line, unary_expression(false)) : constant({}, 0);
    } else {
      out = postfix(primary());
    }
    return with_filter ? filters_and_tests(std::move(out)) : std::move(out);
  }

  ExpressionPtr primary() {
    const Token& t = current();
    const int line = t.line;
    switch (t.type) {
      case TokenType::kName:
        return name_or_constant();
      case TokenType::kString: {
        std::string text;
        for (; is(TokenType::kString); next()) text += current().text;
        return constant(constant_string(std::move(text)), line);
      }
      case TokenType::kInteger:
        return integer();
      case TokenType::kFloat: {
        double v = 0;
        const auto result = std::from_chars(t.text.data(), t.text.data() + t.text.size(), v);
        if (result.ec == std::errc::result_out_of_range) v = std::strtod(t.text.c_str(), nullptr);
        next();
        return constant(Value::number(v), line);
      }
      default:
        break;
    }
    if (skip_op("(")) {
      ExpressionPtr out = tuple(true, true, "");
      expect_op(")");
      return out;
    }
    if (at_op("[")) return list();
    if (at_op("{")) return dict();
    fail("unexpected " + describe(t));
    return constant({}, line);
  }
  ExpressionPtr name_or_constant() {
    const std::string text = current().text;
    const int line = current().line;
    next();
    if (text == "true" || text == "True") return constant(Value::boolean(true), line);
    if (text == "false" || text == "False") return constant(Value::boolean(false), line);
    if (text == "none" || text == "None") return constant(Value::none(), line);
    if (decimal_digit(first_code_point(text)) >= 0) fail("Invalid character in identifier", line);
    for (MacroDefinition* macro : macros_) {
      macro->uses_caller = macro->uses_caller || text == "caller";
      macro->uses_kwargs = macro->uses_kwargs || text == "kwargs";
      macro->uses_varargs = macro->uses_varargs || text == "varargs";
    }
    ExpressionPtr out = node(Op::kName, line);
    out->text = text;
    return out;
  }
  ExpressionPtr integer() {
    const std::string text = current().text;
    const int line = current().line;
    next();
    const char prefix = text.size() > 1 && text[0] == '0' ? char(text[1] | 32) : '\0';
    const unsigned base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 10;
    const std::string_view digits = std::string_view(text).substr(base == 10 ? 0 : 2);
    std::int64_t small = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), small, int(base)).ec ==
        std::errc())
      return constant(Value::integer(small), line);
    auto object = std::make_shared<BigIntObject>();
    if (digits.size() > 4300)
      fail("a number is too long", line);
    else
      object->value = BigInt::from_digits(digits, base);
    if (object->value.too_large()) fail("a number is too long", line);
    return constant(Value::object(Kind::kBigInt, std::move(object)), line);
  }
  ExpressionPtr list() {
    ExpressionPtr out = node(Op::kList, current().line);
    next();
    while (ok() && !at_op("]")) {
      if (!out->parts.empty() && !expect_op(",")) break;
      if (at_op("]")) break;
      add_part(*out, expression());
    }
    expect_op("]");
    return out;
  }
  ExpressionPtr dict() {
    ExpressionPtr out = node(Op::kDict, current().line);
    next();
    while (ok() && !at_op("}")) {
      if (!out->parts.empty() && !expect_op(",")) break;
      if (at_op("}")) break;
      add_part(*out, expression());
      expect_op(":");
      add_part(*out, expression());
    }
    expect_op("}");
    return out;
  }
  bool tuple_ends(std::string_view stop_name) const {
    return is(TokenType::kVariableEnd) || is(TokenType::kBlockEnd) || at_op(")") ||
           is(TokenType::kEnd) || (!stop_name.empty() && at_name(stop_name));
  }
  // One expression, or several with commas as a tuple. Empty only inside parentheses.
  ExpressionPtr tuple(bool with_condition, bool parentheses, std::string_view stop_name) {
    const int line = current().line;
    std::vector<ExpressionPtr> parts;
    bool is_tuple = false;
    while (ok()) {
      if (!parts.empty() && !expect_op(",")) break;
      if (tuple_ends(stop_name)) break;
      parts.push_back(expression(with_condition));
      if (!at_op(",")) break;
      is_tuple = true;
    }
    if (!ok()) return constant({}, line);
    if (!is_tuple && !parts.empty()) return std::move(parts[0]);
    if (!is_tuple && !parentheses) fail("Expected an expression, got " + describe(current()));
    ExpressionPtr out = node(Op::kTuple, line);
    for (ExpressionPtr& part : parts) add_part(*out, std::move(part));
    return out;
  }

  ExpressionPtr postfix(ExpressionPtr out) {
    while (ok()) {
      if (at_op(".") || at_op("["))
        out = subscript(std::move(out));
      else if (at_op("("))
        out = call(std::move(out));
      else
        break;
    }
    return out;
  }
  ExpressionPtr filters_and_tests(ExpressionPtr out) {
    while (ok()) {
      if (at_op("|"))
        out = filter(std::move(out));
      else if (at_name("is"))
        out = test(std::move(out));
      else if (at_op("("))
        out = call(std::move(out));  // calls may follow filters and tests
      else
        break;
    }
    return out;
  }
  ExpressionPtr subscript(ExpressionPtr object) {
    const int line = current().line;
    if (skip_op(".")) {
      if (is(TokenType::kName)) {
        ExpressionPtr out = unary(Op::kAttribute, line, std::move(object));
        out->text = current().text;
        next();
        return out;
      }
      if (is(TokenType::kInteger)) return binary(Op::kItem, line, std::move(object), integer());
      fail("expected name or number");
      return object;
    }
    next();
    if (skip_op("]"))
      return binary(Op::kItem, line, std::move(object), node(Op::kTuple, line));  // x[]: x[()]
    ExpressionPtr out = node(Op::kSlice, line), first;
    add_part(*out, std::move(object));
    if (!at_op(":")) first = expression();
    if (at_op(":")) {
      add_part(*out, std::move(first));
      for (int i = 0; i < 2; ++i) {
        ExpressionPtr part;
        if (skip_op(":") && !at_op(":") && !at_op("]")) part = expression();
        add_part(*out, std::move(part));
      }
      expect_op("]");
      return out;
    }
    if (at_op(",")) {
      ExpressionPtr key = unary(Op::kTuple, line, std::move(first));
      while (ok() && skip_op(",")) add_part(*key, expression());
      first = std::move(key);
    }
    expect_op("]");
    out->op = Op::kItem;
    add_part(*out, std::move(first));
    return out;
  }

  std::unique_ptr<CallArguments> arguments(Expression& owner) {
    auto out = std::make_unique<CallArguments>();
    expect_op("(");
    bool any = false;
    while (ok() && !at_op(")")) {
      if (any && (!expect_op(",") || at_op(")"))) break;
      any = true;
      if (skip_op("*")) {
        if (out->star != nullptr || out->double_star != nullptr)
          fail("invalid syntax for function call expression");
        out->star = expression();
        grow(owner, *out->star);
      } else if (skip_op("**")) {
        if (out->double_star != nullptr) fail("invalid syntax for function call expression");
        out->double_star = expression();
        grow(owner, *out->double_star);
      } else if (is(TokenType::kName) && ahead().type == TokenType::kOperator &&
                 ahead().text == "=") {
        if (out->double_star != nullptr) fail("invalid syntax for function call expression");
        std::string name = expect_any_name();
        next();
        for (const auto& [other, unused] : out->named)
          if (other == name) fail("keyword argument repeated: " + name);
        out->named.emplace_back(std::move(name), expression());
        grow(owner, *out->named.back().second);
      } else {
        if (out->star != nullptr || out->double_star != nullptr || !out->named.empty())
          fail("invalid syntax for function call expression");
        out->positional.push_back(expression());
        grow(owner, *out->positional.back());
      }
    }
    expect_op(")");
    return out;
  }
  ExpressionPtr call(ExpressionPtr callee) {
    ExpressionPtr out = unary(Op::kCall, current().line, std::move(callee));
    out->call = arguments(*out);
    return out;
  }
  std::string dotted_name() {
    std::string out = expect_any_name();
    while (skip_op(".")) out += "." + expect_any_name();
    return out;
  }
  // After a "|", or at once at the start of a filter block (object null).
  ExpressionPtr filter(ExpressionPtr object, bool at_start = false) {
    const int line = current().line;
    if (!at_start) next();
    ExpressionPtr out = unary(Op::kFilter, line, std::move(object));
    out->text = dotted_name();
    out->filter = find_filter(out->text);
    if (at_op("(")) out->call = arguments(*out);
    return out;
  }
  ExpressionPtr test(ExpressionPtr object) {
    const int line = current().line;
    next();
    const bool negated = skip_name("not");
    ExpressionPtr out = unary(Op::kTest, line, std::move(object));
    out->text = dotted_name();
    out->test = find_test(out->text);
    const bool argument =
        is(TokenType::kString) || is(TokenType::kInteger) || is(TokenType::kFloat) || at_op("[") ||
        at_op("{") ||
        (is(TokenType::kName) && !at_name("else") && !at_name("or") && !at_name("and"));
    if (at_op("(")) {
      out->call = arguments(*out);
    } else if (argument) {
      if (at_name("is")) fail("You cannot chain multiple tests with is");
      out->call = std::make_unique<CallArguments>();
      out->call->positional.push_back(postfix(primary()));
      grow(*out, *out->call->positional.back());
    }
    return negated ? unary(Op::kNot, line, std::move(out)) : std::move(out);
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  std::vector<MacroDefinition*> macros_;  // being read, to be told which names they use
  Error error_;
};

}  // namespace veloce::text::jinja

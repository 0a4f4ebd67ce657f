// Tokens to a syntax tree, as jinja2's parser reads them: the statements.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/jinja_expression_parser.hpp"

namespace veloce::text::jinja {

class Parser : private ExpressionParser {
 public:
  explicit Parser(std::vector<Token> tokens) : ExpressionParser(std::move(tokens)) {}
  using ExpressionParser::error;

  // The whole template. False where it has an error, see error().
  bool run(Body& out) {
    out = body({});
    if (ok()) check(out, false);
    return ok();
  }

 private:
  // ---- statements ----

  std::unique_ptr<Statement> statement(Do what, int line) {
    auto out = std::make_unique<Statement>();
    out->what = what;
    out->line = line;
    return out;
  }
  // Statements up to a tag named in `ends` (its name is the current token), or the end of the
  // template.
  Body body(std::initializer_list<std::string_view> ends) {
    const Nest nest(*this);
    Body out;
    while (ok()) {
      const int line = current().line;
      if (is(TokenType::kData)) {
        out.push_back(statement(Do::kText, line));
        out.back()->text = current().text;
        next();
      } else if (is(TokenType::kVariableBegin)) {
        next();
        out.push_back(statement(Do::kPrint, line));
        out.back()->expressions.push_back(tuple(true, false, ""));
        expect(TokenType::kVariableEnd, "end of print statement");
      } else if (is(TokenType::kBlockBegin)) {
        next();
        for (std::string_view end : ends)
          if (at_name(end)) return out;
        out.push_back(tag(line));
      } else {
        break;
      }
    }
    if (ok() && ends.size() != 0)
      fail("Unexpected end of template. Looking for the tag '" + std::string(*(ends.end() - 1)) +
           "'");
    return out;
  }
  void end_tag() { expect(TokenType::kBlockEnd, "end of statement block"); }
  void end_tag(std::string_view name) {
    expect_name(name);
    end_tag();
  }

  std::unique_ptr<Statement> tag(int line) {
    const std::string name = is(TokenType::kName) ? current().text : "";
    if (name.empty()) fail("tag name expected, got " + describe(current()));
    next();
    if (name == "if") return if_tag(line);
    if (name == "for") return for_tag(line);
    if (name == "set") return set_tag(line);
    if (name == "macro") return macro_tag(line);
    if (name == "call") return call_tag(line);
    if (name == "with") return with_tag(line);
    auto out = statement(Do::kPrint, line);
    if (name == "filter") {
      out->what = Do::kFilter;
      ExpressionPtr chain = filter(nullptr, true);
      while (ok() && at_op("|")) chain = filter(std::move(chain));
      out->expressions.push_back(std::move(chain));
      end_tag();
      out->body = body({"endfilter"});
      end_tag("endfilter");
    } else if (name == "generation") {
      out->what = Do::kScope;
      end_tag();
      const int loops = std::exchange(loops_, 0);
      out->body = body({"endgeneration"});
      loops_ = loops;
      end_tag("endgeneration");
    } else if (name == "print") {
      while (ok() && !is(TokenType::kBlockEnd)) {
        if (!out->expressions.empty()) expect_op(",");
        out->expressions.push_back(expression());
      }
      end_tag();
    } else if (name == "break" || name == "continue") {
      out->what = name == "break" ? Do::kBreak : Do::kContinue;
      if (loops_ == 0) fail("'" + name + "' outside loop", line);
      end_tag();
    } else if (name == "include" || name == "import" || name == "from" || name == "extends" ||
               name == "block") {
      fail("the tag '" + name + "' is not supported: a chat template stands alone", line);
    } else {
      fail("Encountered unknown tag '" + name + "'.", line);
    }
    return out;
  }
  std::unique_ptr<Statement> if_tag(int line) {
    auto out = statement(Do::kIf, line);
    bool more = true;
    while (ok() && more) {
      ExpressionPtr test = tuple(false, false, "");
      end_tag();
      out->branches.emplace_back(std::move(test), body({"elif", "else", "endif"}));
      more = skip_name("elif");
    }
    if (skip_name("else")) {
      end_tag();
      out->branches.emplace_back(nullptr, body({"endif"}));
    }
    end_tag("endif");
    return out;
  }
  std::unique_ptr<Statement> for_tag(int line) {
    auto out = statement(Do::kFor, line);
    out->targets.push_back(target(false, "in"));
    if (assigns(out->targets[0], "loop"))
      fail("Can't assign to special loop variable in for-loop target", line);
    expect_name("in");
    out->expressions.push_back(tuple(false, false, "recursive"));
    if (skip_name("if")) out->condition = expression();
    out->recursive = skip_name("recursive");
    end_tag();
    ++loops_;
    out->body = body({"endfor", "else"});
    --loops_;
    if (skip_name("else")) {
      end_tag();
      out->otherwise = body({"endfor"});
    }
    end_tag("endfor");
    return out;
  }
  static bool assigns(const Target& t, std::string_view name) {
    for (const Target& part : t.parts)
      if (assigns(part, name)) return true;
    return !t.is_tuple && t.name == name;
  }
  Target single_target(bool with_namespace) {
    const Nest nest(*this);
    Target out;
    if (skip_op("(")) {
      out = target(with_namespace, "");
      expect_op(")");
      return out;
    }
    const int line = current().line;
    out.name = expect_any_name();
    static constexpr std::string_view kConstants[] = {"true", "false", "none",
                                                      "True", "False", "None"};
    if (std::find(std::begin(kConstants), std::end(kConstants), out.name) != std::end(kConstants))
      fail("can't assign to '" + out.name + "'", line);
    if (with_namespace && skip_op(".")) out.attribute = expect_any_name();
    return out;
  }
  Target target(bool with_namespace, std::string_view stop_name) {
    Target out;
    bool is_tuple = false;
    while (ok()) {
      if (!out.parts.empty() && !expect_op(",")) break;
      if (tuple_ends(stop_name) || at_op("=")) break;
      out.parts.push_back(single_target(with_namespace));
      if (!at_op(",")) break;
      is_tuple = true;
    }
    if (out.parts.empty()) fail("Expected an assignment target, got " + describe(current()));
    if (!is_tuple && ok()) return Target(out.parts[0]);
    out.is_tuple = true;
    return out;
  }
  std::unique_ptr<Statement> set_tag(int line) {
    auto out = statement(Do::kSet, line);
    out->targets.push_back(target(true, ""));
    if (skip_op("=")) {
      out->expressions.push_back(tuple(true, false, ""));
      end_tag();
      return out;
    }
    out->what = Do::kSetBlock;
    ExpressionPtr chain;
    while (ok() && at_op("|")) chain = filter(std::move(chain));
    out->expressions.push_back(std::move(chain));
    end_tag();
    out->body = body({"endset"});
    end_tag("endset");
    return out;
  }
  std::unique_ptr<Statement> with_tag(int line) {
    auto out = statement(Do::kWith, line);
    while (ok() && !is(TokenType::kBlockEnd)) {
      if (!out->targets.empty()) expect_op(",");
      // One name (or parenthesised names) a value: a comma starts the next.
      out->targets.push_back(single_target(false));
      expect_op("=");
      out->expressions.push_back(expression());
    }
    end_tag();
    out->body = body({"endwith"});
    end_tag("endwith");
    return out;
  }
  void signature(MacroDefinition& macro) {
    expect_op("(");
    while (ok() && !at_op(")")) {
      if (!macro.parameters.empty()) expect_op(",");
      const int line = current().line;
      Parameter parameter;
      parameter.name = expect_any_name();
      for (const Parameter& other : macro.parameters)
        if (other.name == parameter.name)
          fail("duplicate parameter '" + parameter.name + "'", line);
      if (skip_op("="))
        parameter.fallback = expression();
      else if (!macro.parameters.empty() && macro.parameters.back().fallback != nullptr)
        fail("non-default argument follows default argument", line);
      macro.parameters.push_back(std::move(parameter));
    }
    expect_op(")");
  }
  // The body of a macro: names used in it decide what it takes; loops outside are not its own.
  void macro_body(MacroDefinition& macro, std::string_view end) {
    macros_.push_back(&macro);
    const int loops = std::exchange(loops_, 0);
    macro.body = body({end});
    loops_ = loops;
    macros_.pop_back();
    end_tag(end);
  }
  std::unique_ptr<Statement> macro_tag(int line) {
    auto out = statement(Do::kMacro, line);
    out->macro = std::make_shared<MacroDefinition>();
    out->macro->name = expect_any_name();
    signature(*out->macro);
    end_tag();
    macro_body(*out->macro, "endmacro");
    return out;
  }
  std::unique_ptr<Statement> call_tag(int line) {
    auto out = statement(Do::kCall, line);
    out->macro = std::make_shared<MacroDefinition>();
    out->macro->name = "caller";
    if (at_op("(")) signature(*out->macro);
    out->expressions.push_back(expression());
    if (ok() && out->expressions[0]->op != Op::kCall) fail("expected call", line);
    end_tag();
    macro_body(*out->macro, "endcall");
    return out;
  }

  // ---- unknown filters and tests: an error at once, but under an if only when run ----

  void check(const Expression* e, bool soft) {
    if (e == nullptr || !ok()) return;
    if (e->op == Op::kFilter && e->filter == nullptr && !soft)
      return fail("No filter named '" + e->text + "'.", e->line);
    if (e->op == Op::kTest && e->test == nullptr && !soft)
      return fail("No test named '" + e->text + "'.", e->line);
    const bool inner = soft || e->op == Op::kCondition;
    for (const ExpressionPtr& part : e->parts) check(part.get(), inner);
    if (e->call == nullptr) return;
    for (const ExpressionPtr& part : e->call->positional) check(part.get(), inner);
    for (const auto& [name, part] : e->call->named) check(part.get(), inner);
    check(e->call->star.get(), inner);
    check(e->call->double_star.get(), inner);
  }
  void check(const Body& statements, bool soft) {
    for (const auto& s : statements) {
      for (const ExpressionPtr& e : s->expressions) check(e.get(), soft);
      check(s->condition.get(), false);
      for (const auto& [test, branch] : s->branches) {
        check(test.get(), true);
        check(branch, true);
      }
      check(s->body, false);
      check(s->otherwise, false);
      if (s->macro == nullptr) continue;
      for (const Parameter& p : s->macro->parameters) check(p.fallback.get(), false);
      check(s->macro->body, false);
    }
  }

  int loops_ = 0;
};

}  // namespace veloce::text::jinja

// The syntax tree of a template. Nodes are plain data; the parser makes them and the interpreter
// reads them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "veloce/text/jinja_filters.hpp"
#include "veloce/text/jinja_value.hpp"

namespace veloce::text::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

// What an expression does with its parts:
enum class Op : std::uint8_t {
  kConstant,  // value
  kName,      // text
  kList,      // parts
  kTuple,     // parts
  kDict,      // parts: key, value, key, value, ...
  kNot,       // parts[0]
  kNegate,    // parts[0]
  kPlus,      // parts[0]
  kAnd,       // parts[0], parts[1]
  kOr,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kConcat,     // parts: all that are joined by ~
  kCompare,    // parts: operands; comparisons between them
  kCondition,  // parts: test, then, else (or null)
  kAttribute,  // parts[0], text
  kItem,       // parts[0], parts[1]
  kSlice,      // parts: object, start, stop, step (null where open)
  kCall,       // parts[0], call
  kFilter,     // parts[0] (null: the body of a block), text, filter, call
  kTest,       // parts[0], text, test, call
};

enum class Comparison : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

// Arguments as written.
struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star;         // *list
  ExpressionPtr double_star;  // **dict
};

struct Expression {
  Op op = Op::kConstant;
  int line = 0;
  int height = 1;  // of the tree below; bounded by the parser, so that recursion over it is
  std::string text;
  Value value;
  std::vector<ExpressionPtr> parts;
  std::vector<Comparison> comparisons;
  std::unique_ptr<CallArguments> call;
  const FilterEntry* filter = nullptr;  // null: unknown, an error when run (only under an if)
  const TestEntry* test = nullptr;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

// Where values are assigned: a name, an attribute of a namespace, or several of these.
struct Target {
  std::string name;
  std::string attribute;  // of the namespace `name`; empty: a plain name
  std::vector<Target> parts;
  bool is_tuple = false;
};

struct Parameter {
  std::string name;
  ExpressionPtr fallback;  // null: none
};

// A macro, and the body of a call block.
struct MacroDefinition {
  std::string name;
  std::vector<Parameter> parameters;
  Body body;
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
};

enum class Do : std::uint8_t {
  kText,      // text
  kPrint,     // expressions
  kIf,        // branches: test (null: else) and body
  kFor,       // target, expressions[0] iterable, condition, body, otherwise, recursive
  kSet,       // target, expressions[0]
  kSetBlock,  // target, expressions[0] filter or null, body
  kMacro,     // macro
  kCall,      // macro (the caller), expressions[0] the call
  kFilter,    // expressions[0] the filter, body
  kWith,      // targets, expressions, body
  kScope,     // body: a scope of its own (generation)
  kBreak,
  kContinue,
};

struct Statement {
  Do what = Do::kText;
  int line = 0;
  std::string text;
  std::vector<ExpressionPtr> expressions;
  std::vector<Target> targets;
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  ExpressionPtr condition;
  Body body, otherwise;
  bool recursive = false;
  std::shared_ptr<MacroDefinition> macro;
};

}  // namespace veloce::text::jinja

// The tests of the language (`x is defined`), by name.
#pragma once

#include <string>
#include <string_view>

#include "veloce/text/jinja_access.hpp"
#include "veloce/text/jinja_ops.hpp"

namespace veloce::text::jinja {

using Test = bool (*)(Runtime&, const Value&, Args&);

struct TestEntry {
  std::string_view name;
  Test test;
};
const TestEntry* find_test(std::string_view name);
bool is_filter_name(std::string_view name);  // in jinja_filters.hpp

inline bool is_callable(const Value& v) {
  return v.is_undefined() || v.is(Kind::kFunction) || v.is(Kind::kMethod) || v.is(Kind::kMacro) ||
         v.is(Kind::kLoop) || v.is(Kind::kJoiner);
}

namespace detail {

template <class Compare>
inline bool ordered(Runtime& rt, const Value& v, Args& args, const char* op,
                    Compare compare_result) {
  const auto a = bind(rt, "test", args, 1, {""});
  if (rt.failed()) return false;
  const int c = compare(rt, v, a[0], op);
  return c != 2 && compare_result(c);
}
inline bool same_object(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.identity() != nullptr || b.identity() != nullptr) {
    // Equal short texts are mostly one object in Python too.
    return a.identity() == b.identity() || (a.is_string() && a.text() == b.text());
  }
  return a.is(Kind::kFloat) ? a.as_float() == b.as_float() : a.as_int() == b.as_int();
}
inline bool remainder_is(Runtime& rt, const Value& v, const Value& divisor, std::int64_t wanted) {
  const Value rest = modulo(rt, v, divisor);
  return !rt.failed() && equal(rest, Value::integer(wanted));
}
inline bool none_given(Runtime& rt, Args& args) {
  bind(rt, "test", args, 0, {});
  return !rt.failed();
}

#define VELOCE_JINJA_TEST []([[maybe_unused]] Runtime & rt, const Value& v, Args& args) -> bool
#define VELOCE_JINJA_IS(expression)              \
  VELOCE_JINJA_TEST {                            \
    return none_given(rt, args) && (expression); \
  }
#define VELOCE_JINJA_ORDER(op, expression)                             \
  VELOCE_JINJA_TEST {                                                  \
    return ordered(rt, v, args, op, [](int c) { return expression; }); \
  }

inline bool test_equal(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "eq", args, 1, {""});
  return !rt.failed() && equal_counted(rt, v, a[0]);
}
inline bool test_not_equal(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "ne", args, 1, {""});
  return !rt.failed() && !equal_counted(rt, v, a[0]);
}

inline constexpr TestEntry kTests[] = {
    {"!=", test_not_equal}, {"<", VELOCE_JINJA_ORDER("<", c < 0)},
    {"<=", VELOCE_JINJA_ORDER("<=", c <= 0)}, {"==", test_equal},
    {">", VELOCE_JINJA_ORDER(">", c > 0)}, {">=", VELOCE_JINJA_ORDER(">=", c >= 0)},
    {"boolean", VELOCE_JINJA_IS(v.is(Kind::kBool))}, {"callable", VELOCE_JINJA_IS(is_callable(v))},
    {"defined", VELOCE_JINJA_IS(!v.is_undefined())},
    {"divisibleby", VELOCE_JINJA_TEST{const auto a = bind(rt, "divisibleby", args, 1, {"num"});
return !rt.failed() && remainder_is(rt, v, a[0], 0);
}  // namespace detail
}  // namespace veloce::text::jinja
, {"eq", test_equal}, {"equalto", test_equal},
    {"escaped", VELOCE_JINJA_IS(v.is_string() && v.markup())},
    {"even", VELOCE_JINJA_IS(remainder_is(rt, v, Value::integer(2), 0))},
    {"false", VELOCE_JINJA_IS(v.is(Kind::kBool) && !v.as_bool())},
    {"filter", VELOCE_JINJA_IS(check_hashable(rt, v) && v.is_string() && is_filter_name(v.text()))},
    {"float", VELOCE_JINJA_IS(v.is(Kind::kFloat))}, {"ge", VELOCE_JINJA_ORDER(">=", c >= 0)},
    {"greaterthan", VELOCE_JINJA_ORDER(">", c > 0)}, {"gt", VELOCE_JINJA_ORDER(">", c > 0)},
    {"in", VELOCE_JINJA_TEST{const auto a = bind(rt, "in", args, 1, {"seq"});
return !rt.failed() && contains(rt, a[0], v);
}
}
, {"integer", VELOCE_JINJA_IS(v.is(Kind::kInt) || v.is(Kind::kBigInt))},
    {"iterable", VELOCE_JINJA_IS(is_iterable(v))}, {"le", VELOCE_JINJA_ORDER("<=", c <= 0)},
    {"lessthan", VELOCE_JINJA_ORDER("<", c < 0)},
    {"lower", VELOCE_JINJA_IS(has_only_case(str(rt, v), false))},
    {"lt", VELOCE_JINJA_ORDER("<", c < 0)}, {"mapping", VELOCE_JINJA_IS(v.is_dict())},
    {"ne", test_not_equal}, {"none", VELOCE_JINJA_IS(v.is_none())},
    {"number", VELOCE_JINJA_IS(v.is_number())},
    {"odd", VELOCE_JINJA_IS(remainder_is(rt, v, Value::integer(2), 1))},
    {"sameas", VELOCE_JINJA_TEST{const auto a = bind(rt, "sameas", args, 1, {"other"});
return !rt.failed() && same_object(v, a[0]);
}
}
,
    {"sequence", VELOCE_JINJA_IS(v.is_undefined() || v.is_string() || v.is_sequence() ||
                                 v.is_dict() || v.is(Kind::kRange))},
    {"string", VELOCE_JINJA_IS(v.is_string())},
    {"test",
     VELOCE_JINJA_IS(check_hashable(rt, v) && v.is_string() && find_test(v.text()) != nullptr)},
    {"true", VELOCE_JINJA_IS(v.is(Kind::kBool) && v.as_bool())},
    {"undefined", VELOCE_JINJA_IS(v.is_undefined())},
    {"upper", VELOCE_JINJA_IS(has_only_case(str(rt, v), true))},
}
;

}  // namespace detail

inline const TestEntry* find_test(std::string_view name) {
  for (const TestEntry& entry : detail::kTests)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace veloce::text::jinja

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

inline bool test_equal(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "eq", args, 1, {""});
  return !rt.failed() && equal_counted(rt, v, a[0]);
}
inline bool test_not_equal(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "ne", args, 1, {""});
  return !rt.failed() && !equal_counted(rt, v, a[0]);
}

inline constexpr TestEntry kTests[] = {
    {"!=", test_not_equal},
    {"<",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return ordered(rt, v, args, "<", [](int c) { return c < 0; });
     }},
    {"<=",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return ordered(rt, v, args, "<=", [](int c) { return c <= 0; });
     }},
    {"==", test_equal},
    {">",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return ordered(rt, v, args, ">", [](int c) { return c > 0; });
     }},
    {">=",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return ordered(rt, v, args, ">=", [](int c) { return c >= 0; });
     }},
    {"boolean",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && v.is(Kind::kBool);
     }},
    {"callable",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && is_callable(v);
     }},
    {"defined",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && !v.is_undefined();
     }},
    {"divisibleby",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       const auto a = bind(rt, "divisibleby", args, 1, {"num"});
       return !rt.failed() && remainder_is(rt, v, a[0], 0);
     }},
    {"eq", test_equal},
    {"equalto", test_equal},
    {"escaped",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && v.is_string() && v.markup();
     }},
    {"even",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && remainder_is(rt, v, Value::integer(2), 0);
     }},
    {"false",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && v.is(Kind::kBool) && !v.as_bool();
     }},
    {"filter",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) &&
              (check_hashable(rt, v) && v.is_string() && is_filter_name(v.text()));
     }},
    {"float",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && v.is(Kind::kFloat);
     }},
    {"ge",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return ordered(rt, v, args, ">=", [](int c) { return c >= 0; });
     }},
    {"greaterthan",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return ordered(rt, v, args, ">", [](int c) { return c > 0; });
     }},
    {"gt",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return ordered(rt, v, args, ">", [](int c) { return c > 0; });
     }},
    {"in",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       const auto a = bind(rt, "in", args, 1, {"seq"});
       return !rt.failed() && contains(rt, a[0], v);
     }},
    {"integer",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && (v.is(Kind::kInt) || v.is(Kind::kBigInt));
     }},
    {"iterable",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && is_iterable(v);
     }},
    {"le",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return ordered(rt, v, args, "<=", [](int c) { return c <= 0; });
     }},
    {"lessthan",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return ordered(rt, v, args, "<", [](int c) { return c < 0; });
     }},
    {"lower",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && has_only_case(str(rt, v), false);
     }},
    {"lt",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return ordered(rt, v, args, "<", [](int c) { return c < 0; });
     }},
    {"mapping",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && v.is_dict();
     }},
    {"ne", test_not_equal},
    {"none",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && v.is_none();
     }},
    {"number",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && v.is_number();
     }},
    {"odd",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && remainder_is(rt, v, Value::integer(2), 1);
     }},
    {"sameas",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       const auto a = bind(rt, "sameas", args, 1, {"other"});
       return !rt.failed() && same_object(v, a[0]);
     }},
    {"sequence",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && (v.is_undefined() || v.is_string() || v.is_sequence() ||
                                       v.is_dict() || v.is(Kind::kRange));
     }},
    {"string",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && v.is_string();
     }},
    {"test",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) &&
              (check_hashable(rt, v) && v.is_string() && find_test(v.text()) != nullptr);
     }},
    {"true",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && v.is(Kind::kBool) && v.as_bool();
     }},
    {"undefined",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && v.is_undefined();
     }},
    {"upper",
     [](Runtime& rt, const Value& v, Args& args) -> bool {
       return none_given(rt, args) && has_only_case(str(rt, v), true);
     }},
};

}  // namespace detail

inline const TestEntry* find_test(std::string_view name) {
  for (const TestEntry& entry : detail::kTests)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace veloce::text::jinja

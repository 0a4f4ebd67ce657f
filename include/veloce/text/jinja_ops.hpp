// Operators of the language: truth, length, iteration, membership, order, arithmetic. Semantics are
// Python's.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "veloce/text/jinja_repr.hpp"
#include "veloce/text/jinja_value.hpp"

namespace veloce::text::jinja {

inline constexpr std::int64_t kMaxRange = 100'000;  // as in jinja2's sandbox

inline bool truthy(const Value& v) {
  switch (v.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return v.as_int() != 0;
    case Kind::kFloat:
      return v.as_float() != 0;
    case Kind::kString:
      return !v.text().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !v.items().empty();
    case Kind::kDict:
      return v.get<DictObject>().dict.size() != 0;
    case Kind::kView:
      return v.get<ViewObject>().dict.get<DictObject>().dict.size() != 0;
    case Kind::kRange:
      return v.get<RangeObject>().count() != 0;
    default:
      return true;
  }
}

// len(v), or -1 if it has none (no error recorded). A loop's length is the interpreter's affair.
inline std::int64_t length_of(const Value& v) {
  switch (v.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return std::int64_t(v.text_length());
    case Kind::kList:
    case Kind::kTuple:
      return std::int64_t(v.items().size());
    case Kind::kDict:
      return std::int64_t(v.get<DictObject>().dict.size());
    case Kind::kView:
      return std::int64_t(v.get<ViewObject>().dict.get<DictObject>().dict.size());
    case Kind::kRange:
      return v.get<RangeObject>().count();
    default:
      return -1;
  }
}

inline bool is_iterable(const Value& v) {
  return length_of(v) >= 0 || v.is(Kind::kIterator) || v.is(Kind::kLoop);
}

// All elements of v. False and a TypeError if it cannot be iterated over. An iterator is used up.
inline bool collect(Runtime& rt, const Value& v, std::vector<Value>& out) {
  switch (v.kind()) {
    case Kind::kMissing:
      return true;
    case Kind::kUndefined: {
      // An unsafe attribute fails on every use but printing.
      return true;
    }
    case Kind::kString: {
      const std::string& text = v.text();
      if (!rt.reserve(text.size() * 2 * sizeof(Value)) || !rt.step(text.size())) return false;
      out.reserve(v.text_length());
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t n = std::size_t(utf8_length(static_cast<unsigned char>(text[at])));
        out.push_back(make_string(rt, text.substr(at, n)));
        at += n;
      }
      return !rt.failed();
    }
    case Kind::kList:
    case Kind::kTuple:
      out = v.items();
      break;
    case Kind::kDict:
      for (const Dict::Entry& e : v.get<DictObject>().dict.entries()) out.push_back(e.key);
      break;
    case Kind::kView: {
      const ViewObject& view = v.get<ViewObject>();
      for (const Dict::Entry& e : view.dict.get<DictObject>().dict.entries()) {
        if (view.what == ViewObject::What::kKeys)
          out.push_back(e.key);
        else if (view.what == ViewObject::What::kValues)
          out.push_back(e.value);
        else
          out.push_back(make_tuple(rt, {e.key, e.value}));
      }
      break;
    }
    case Kind::kRange: {
      const RangeObject& range = v.get<RangeObject>();
      const std::int64_t n = range.count();
      for (std::int64_t i = 0; i < n; ++i)
        out.push_back(Value::integer(range.start + i * range.step));
      break;
    }
    case Kind::kIterator: {
      IteratorObject& it = v.get<IteratorObject>();
      out.assign(it.items.begin() + std::ptrdiff_t(it.next), it.items.end());
      it.next = it.items.size();
      break;
    }
    default:
      type_error(rt, std::string("'") + type_name(v) + "' object is not iterable");
      return false;
  }
  return rt.step(out.size() / 8);
}

// ---- order ----

inline Value order_error(Runtime& rt, const char* op, const Value& a, const Value& b) {
  if (a.is_undefined()) return undefined_error(rt, a);
  if (b.is_undefined()) return undefined_error(rt, b);
  return type_error(rt, std::string("'") + op + "' not supported between instances of '" +
                            type_name(a) + "' and '" + type_name(b) + "'");
}

// -1, 0, 1, or 2 if unordered (NaN); other types are an error under the name of `op`.
inline int compare(Runtime& rt, const Value& a, const Value& b, const char* op) {
  if (!rt.step()) return 2;
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.is_string() && b.is_string()) {
    rt.step(std::min(a.text().size(), b.text().size()) / 256);
    const int c = a.text().compare(b.text());
    return c < 0 ? -1 : c > 0 ? 1 : 0;
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const auto& x = a.items();
    const auto& y = b.items();
    for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (equal_counted(rt, x[i], y[i])) continue;
      return compare(rt, x[i], y[i], op);
    }
    return x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0;
  }
  order_error(rt, op, a, b);
  return 2;
}
inline bool less(Runtime& rt, const Value& a, const Value& b) {
  return compare(rt, a, b, "<") == -1;
}

// Stable order of `keys` as indices. Our own merge sort: an order that fails or is none (NaN) must
// do no harm.
inline std::vector<std::size_t> sorted_order(Runtime& rt, const std::vector<Value>& keys,
                                             bool descending) {
  std::vector<std::size_t> order(keys.size()), other(keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto before = [&](std::size_t a, std::size_t b) {
    return descending ? less(rt, keys[b], keys[a]) : less(rt, keys[a], keys[b]);
  };
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t left = 0; left < order.size(); left += 2 * width) {
      const std::size_t middle = std::min(left + width, order.size()),
                        end = std::min(left + 2 * width, order.size());
      std::size_t a = left, b = middle;
      for (std::size_t out = left; out < end; ++out) {
        const bool take_right = a == middle || (b < end && before(order[b], order[a]));
        other[out] = order[take_right ? b++ : a++];
      }
    }
    order.swap(other);
    if (rt.failed()) break;
  }
  return order;
}

// ---- membership ----

inline bool contains(Runtime& rt, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kString:
      if (!item.is_string()) {
        if (item.is_undefined()) undefined_error(rt, item);
        type_error(rt, std::string("'in <string>' requires string as left operand, not ") +
                           type_name(item));
        return false;
      }
      return rt.step(1 + container.text().size() / 64) &&
             container.text().find(item.text()) != std::string::npos;
    case Kind::kDict:
      return check_hashable(rt, item) && container.get<DictObject>().dict.find(item) != nullptr;
    case Kind::kView: {
      const ViewObject& view = container.get<ViewObject>();
      if (view.what == ViewObject::What::kKeys)
        return check_hashable(rt, item) && view.dict.get<DictObject>().dict.find(item) != nullptr;
      break;
    }
    default:
      break;
  }
  if (!is_iterable(container) || container.is(Kind::kLoop)) {
    type_error(rt, std::string("argument of type '") + type_name(container) + "' is not iterable");
    return false;
  }
  std::vector<Value> scratch;
  const bool listed = container.is_sequence();
  if (!listed && !collect(rt, container, scratch)) return false;
  for (const Value& other : listed ? container.items() : scratch) {
    if (!rt.step()) return false;
    if (equal_counted(rt, other, item)) return true;
  }
  return false;
}

// ---- arithmetic ----

inline Value operand_error(Runtime& rt, const char* op, const Value& a, const Value& b) {
  if (a.is_undefined()) return undefined_error(rt, a);
  if (b.is_undefined()) return undefined_error(rt, b);
  if (op[0] == '+' && a.is_string())
    return type_error(
        rt, std::string("can only concatenate str (not \"") + type_name(b) + "\") to str");
  return type_error(rt, std::string("unsupported operand type(s) for ") + op + ": '" +
                            type_name(a) + "' and '" + type_name(b) + "'");
}

inline Value concat_strings(Runtime& rt, const Value& a, const Value& b) {
  if (a.markup() || b.markup())
    return make_string(rt, escaped_text(rt, a) + escaped_text(rt, b)).with_markup(true);
  if (!rt.reserve(a.text().size() + b.text().size())) return {};
  std::string out;
  out.reserve(a.text().size() + b.text().size());
  out.append(a.text()).append(b.text());
  return make_string(rt, std::move(out));
}

inline Value add(Runtime& rt, const Value& a, const Value& b) {
  if (a.is_small_int() && b.is_small_int()) {
    std::int64_t out = 0;
    if (!__builtin_add_overflow(a.as_int(), b.as_int(), &out)) return Value::integer(out);
  }
  if (a.is_integral() && b.is_integral()) return make_big(rt, to_big(a) + to_big(b));
  if (a.is_number() && b.is_number()) return Value::number(to_double(a) + to_double(b));
  if (a.is_string() && b.is_string()) return concat_strings(rt, a, b);
  if (a.is_sequence() && a.kind() == b.kind()) {
    if (!rt.reserve((a.items().size() + b.items().size()) * sizeof(Value))) return {};
    std::vector<Value> out = a.items();
    out.insert(out.end(), b.items().begin(), b.items().end());
    if (!rt.step(out.size() / 8)) return {};
    return make_list(rt, std::move(out), a.kind());
  }
  return operand_error(rt, "+", a, b);
}

inline Value subtract(Runtime& rt, const Value& a, const Value& b) {
  if (a.is_small_int() && b.is_small_int()) {
    std::int64_t out = 0;
    if (!__builtin_sub_overflow(a.as_int(), b.as_int(), &out)) return Value::integer(out);
  }
  if (a.is_integral() && b.is_integral()) return make_big(rt, to_big(a) - to_big(b));
  if (a.is_number() && b.is_number()) return Value::number(to_double(a) - to_double(b));
  return operand_error(rt, "-", a, b);
}

// A string, list or tuple times a count.
inline Value repeat(Runtime& rt, const Value& sequence, const Value& count) {
  if (count.is(Kind::kBigInt)) {
    if (count.get<BigIntObject>().value.negative()) return repeat(rt, sequence, Value::integer(0));
    return raise(rt, "OverflowError", "cannot fit 'int' into an index-sized integer");
  }
  const std::uint64_t n = count.as_int() > 0 ? std::uint64_t(count.as_int()) : 0;
  const std::uint64_t each =
      sequence.is_string() ? sequence.text().size() : sequence.items().size() * sizeof(Value);
  if (each != 0 && n > UINT64_MAX / each / 2) {
    rt.limit("repetition needs too much memory");
    return {};
  }
  if (!rt.reserve(n * each)) return {};
  if (sequence.is_string()) {
    std::string out;
    out.reserve(n * each);
    for (std::uint64_t i = 0; each != 0 && i < n; ++i) out += sequence.text();
    return make_string(rt, std::move(out)).with_markup(sequence.markup());
  }
  std::vector<Value> out;
  if (!rt.step(n * sequence.items().size() / 8)) return {};
  for (std::uint64_t i = 0; each != 0 && i < n; ++i)
    out.insert(out.end(), sequence.items().begin(), sequence.items().end());
  return make_list(rt, std::move(out), sequence.kind());
}

inline Value multiply(Runtime& rt, const Value& a, const Value& b) {
  if (a.is_small_int() && b.is_small_int()) {
    std::int64_t out = 0;
    if (!__builtin_mul_overflow(a.as_int(), b.as_int(), &out)) return Value::integer(out);
  }
  if (a.is_integral() && b.is_integral()) {
    const BigInt x = to_big(a), y = to_big(b);
    if (!rt.step(x.limb_count() * y.limb_count() / 16)) return {};
    return make_big(rt, x * y);
  }
  if (a.is_number() && b.is_number()) return Value::number(to_double(a) * to_double(b));
  if ((a.is_string() || a.is_sequence()) && b.is_integral()) return repeat(rt, a, b);
  if (a.is_integral() && (b.is_string() || b.is_sequence())) return repeat(rt, b, a);
  return operand_error(rt, "*", a, b);
}

inline Value divide(Runtime& rt, const Value& a, const Value& b) {
  if (!a.is_number() || !b.is_number()) return operand_error(rt, "/", a, b);
  const double divisor = to_double(b);
  if (divisor == 0) return raise(rt, "ZeroDivisionError", "division by zero");
  return Value::number(to_double(a) / divisor);
}

namespace detail {
// Python's float division: quotient rounded down, remainder with the divisor's sign.
inline std::pair<double, double> floor_divmod(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      quotient -= 1;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), rest};
  double down = std::floor(quotient);
  if (quotient - down > 0.5) down += 1;
  return {down, rest};
}
}  // namespace detail

// a // b or, with `remainder`, a % b of numbers.
inline Value floor_divide(Runtime& rt, const Value& a, const Value& b, bool remainder) {
  if (!a.is_number() || !b.is_number()) return operand_error(rt, remainder ? "%" : "//", a, b);
  if (b.is_integral() ? !truthy(b) && !b.is(Kind::kBigInt) : b.as_float() == 0)
    return raise(rt, "ZeroDivisionError", "integer division or modulo by zero");
  if (a.is_small_int() && b.is_small_int() && !(a.as_int() == INT64_MIN && b.as_int() == -1)) {
    std::int64_t quotient = a.as_int() / b.as_int(), rest = a.as_int() % b.as_int();
    if (rest != 0 && (rest < 0) != (b.as_int() < 0)) {
      quotient -= 1;
      rest += b.as_int();
    }
    return Value::integer(remainder ? rest : quotient);
  }
  if (a.is_integral() && b.is_integral()) {
    const BigInt x = to_big(a), y = to_big(b);
    if (!rt.step(x.bit_length() * (y.limb_count() + 1))) return {};
    auto [quotient, rest] = BigInt::floor_divide(x, y);
    return make_big(rt, remainder ? rest : quotient);
  }
  const auto [quotient, rest] = detail::floor_divmod(to_double(a), to_double(b));
  return Value::number(remainder ? rest : quotient);
}

inline Value power(Runtime& rt, const Value& a, const Value& b) {
  if (!a.is_number() || !b.is_number()) return operand_error(rt, "** or pow()", a, b);
  const bool negative = b.is(Kind::kBigInt) ? b.get<BigIntObject>().value.negative()
                        : b.is_small_int()  ? b.as_int() < 0
                                            : b.as_float() < 0;
  if (a.is_integral() && b.is_integral() && !negative) {
    BigInt base = to_big(a), out(1);
    if (base.bit_length() <= 1) {  // 0, 1 or -1: any exponent
      const bool odd = to_big(b).odd();
      if (base.is_zero()) return Value::integer(to_big(b).is_zero() ? 1 : 0);
      return Value::integer(base.negative() && odd ? -1 : 1);
    }
    if (b.is(Kind::kBigInt) ||
        std::uint64_t(b.as_int()) * (base.bit_length() - 1) > BigInt::kMaxLimbs * 32) {
      rt.limit("a power is too large");
      return {};
    }
    for (std::uint64_t e = std::uint64_t(b.as_int()); e != 0; e >>= 1) {
      if ((e & 1) != 0) out = out * base;
      if (e > 1) base = base * base;
      if (!rt.step(base.limb_count() * base.limb_count() / 16 + 1)) return {};
    }
    return make_big(rt, std::move(out));
  }
  const double x = to_double(a), y = to_double(b);
  if (x == 0 && y < 0)
    return raise(rt, "ZeroDivisionError", "0.0 cannot be raised to a negative power");
  if (x < 0 && std::isfinite(y) && y != std::floor(y))
    return raise(rt, "NotImplementedError", "complex numbers are not supported");
  const double out = std::pow(x, y);
  if (std::isinf(out) && std::isfinite(x) && std::isfinite(y))
    return raise(rt, "OverflowError", "(34, 'Numerical result out of range')");
  return Value::number(out);
}

inline Value negate(Runtime& rt, const Value& v) {
  if (v.is(Kind::kFloat)) return Value::number(-v.as_float());
  if (v.is_small_int() && v.as_int() != INT64_MIN) return Value::integer(-v.as_int());
  if (v.is_integral()) return make_big(rt, -to_big(v));
  if (v.is_undefined()) return undefined_error(rt, v);
  return type_error(rt, std::string("bad operand type for unary -: '") + type_name(v) + "'");
}

// An argument that must be a whole number within 64 bits (a bool counts).
inline std::optional<std::int64_t> index_of(Runtime& rt, const Value& v) {
  if (v.is_small_int()) return v.as_int();
  if (v.is_undefined())
    undefined_error(rt, v);
  else if (v.is(Kind::kBigInt))
    raise(rt, "OverflowError", "Python int too large to convert to C ssize_t");
  else
    type_error(rt,
               std::string("'") + type_name(v) + "' object cannot be interpreted as an integer");
  return std::nullopt;
}

}  // namespace veloce::text::jinja

// Formatting: the % operator of strings and str.format, with Python's mini-languages.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/text/jinja_ops.hpp"

namespace veloce::text::jinja {

// In jinja_access.hpp; str.format reads attributes and items of its arguments.
Value get_attribute(Runtime& rt, const Value& object, std::string_view name);
Value get_item(Runtime& rt, const Value& object, const Value& key);

// One field's format. `type` 0 is the type's own default.
struct FormatSpec {
  std::string fill = " ";  // one code point
  char align = 0;          // < > ^ =
  char sign = '-';
  bool alternate = false;
  bool zero = false;
  std::int64_t width = 0;
  char grouping = 0;  // , or _
  std::int64_t precision = -1;
  char type = 0;
};

inline constexpr std::int64_t kMaxFormatWidth = 1'000'000;

namespace detail {

inline std::string pad(std::string text, const FormatSpec& spec, char default_align,
                       std::size_t prefix) {
  const std::int64_t length = std::int64_t(count_code_points(text));
  if (length >= spec.width) return text;
  const std::size_t missing = std::size_t(spec.width - length);
  const char align = spec.align != 0 ? spec.align : default_align;
  const auto fill = [&](std::size_t n) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) out += spec.fill;
    return out;
  };
  if (align == '<') return text + fill(missing);
  if (align == '^') return fill(missing / 2) + text + fill(missing - missing / 2);
  if (align == '=') return text.substr(0, prefix) + fill(missing) + text.substr(prefix);
  return fill(missing) + text;
}

inline std::string group_digits(std::string_view digits, char separator, std::size_t every) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % every == 0) out += separator;
    out += digits[i];
  }
  return out;
}

// Digits of |v| in a base.
inline std::string magnitude_digits(const Value& v, unsigned base, bool upper) {
  BigInt rest = to_big(v);
  if (rest.negative()) rest = -rest;
  if (base == 10) return rest.to_string();
  std::string out;
  const BigInt divisor{std::int64_t(base)};
  while (!rest.is_zero()) {
    auto [quotient, digit] = BigInt::floor_divide(rest, divisor);
    const int d = int(digit.to_int64().value_or(0));
    out.insert(out.begin(), char(d < 10 ? '0' + d : (upper ? 'A' : 'a') + d - 10));
    rest = quotient;
  }
  return out.empty() ? "0" : out;
}

inline std::string sign_text(bool negative, const FormatSpec& spec) {
  if (negative) return "-";
  return spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
}

inline std::string float_digits(double v, char type, int precision, bool alternate) {
  if (std::isnan(v)) return type == 'F' || type == 'E' || type == 'G' ? "NAN" : "nan";
  if (std::isinf(v)) return type == 'F' || type == 'E' || type == 'G' ? "INF" : "inf";
  const char lower = char(type | 32);
  std::string buffer(std::size_t(precision) + 400, '\0');
  const auto format = lower == 'f'   ? std::chars_format::fixed
                      : lower == 'e' ? std::chars_format::scientific
                                     : std::chars_format::general;
  if (lower == 'g' && precision == 0) precision = 1;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), v, format, precision).ptr;
  buffer.resize(std::size_t(end - buffer.data()));
  if (alternate && buffer.find('.') == std::string::npos) {
    const std::size_t e = buffer.find('e');
    buffer.insert(e == std::string::npos ? buffer.size() : e, ".");
  }
  if (type != lower)
    for (char& c : buffer) c = c == 'e' ? 'E' : c;
  return buffer;
}

}  // namespace detail

inline Value format_text(Runtime& rt, const std::string& text, const FormatSpec& spec) {
  if (spec.align == '=')
    return value_error(rt, "'=' alignment not allowed in string format specifier");
  std::string out = text;
  if (spec.precision >= 0) out.resize(offset_of(out, std::size_t(spec.precision)));
  return make_string(rt, detail::pad(std::move(out), spec, '<', 0));
}

inline Value format_integer(Runtime& rt, const Value& v, const FormatSpec& spec) {
  const unsigned base = spec.type == 'x' || spec.type == 'X' ? 16
                        : spec.type == 'o'                   ? 8
                        : spec.type == 'b'                   ? 2
                                                             : 10;
  std::string digits = detail::magnitude_digits(v, base, spec.type == 'X');
  if (spec.grouping != 0) digits = detail::group_digits(digits, spec.grouping, base == 10 ? 3 : 4);
  const bool negative =
      v.is(Kind::kBigInt) ? v.get<BigIntObject>().value.negative() : v.as_int() < 0;
  std::string prefix = detail::sign_text(negative, spec);
  if (spec.alternate && base != 10) prefix += std::string("0") + spec.type;
  return make_string(rt, detail::pad(prefix + digits, spec, '>', prefix.size()));
}

inline Value format_float(Runtime& rt, double v, const FormatSpec& spec) {
  const bool percent = spec.type == '%';
  const char type = percent ? 'f' : spec.type == 0 ? 'g' : spec.type;
  std::string digits;
  if (spec.type == 0 && spec.precision < 0) {
    digits = float_repr(std::fabs(v));
  } else {
    const int precision =
        int(spec.precision < 0 ? 6 : std::min<std::int64_t>(spec.precision, kMaxFormatWidth));
    digits =
        detail::float_digits(std::fabs(percent ? v * 100 : v), type, precision, spec.alternate);
    if (spec.type == 0 && digits.find_first_of(".en") == std::string::npos) digits += ".0";
  }
  if (spec.grouping != 0) {
    const std::size_t whole = std::min(digits.find_first_of(".e"), digits.size());
    digits = detail::group_digits(digits.substr(0, whole), spec.grouping, 3) + digits.substr(whole);
  }
  if (percent) digits += '%';
  const std::string sign = detail::sign_text(std::signbit(v) && !std::isnan(v), spec);
  return make_string(rt, detail::pad(sign + digits, spec, '>', sign.size()));
}

// format(v, spec) for a parsed spec.
inline Value format_value(Runtime& rt, const Value& v, FormatSpec spec) {
  const auto unknown = [&] {
    return value_error(rt, std::string("Unknown format code '") + spec.type +
                               "' for object of type '" + type_name(v) + "'");
  };
  if (spec.zero && spec.align == 0) {
    spec.align = v.is_string() ? '<' : '=';
    spec.fill = "0";
  }
  if (v.is_string())
    return spec.type == 0 || spec.type == 's' ? format_text(rt, v.text(), spec) : unknown();
  const bool float_type =
      spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
  if (v.is_integral() && !float_type) {
    if (spec.type == 'c') {
      std::string out;
      if (!v.is_small_int() || v.as_int() < 0 || v.as_int() > 0x10FFFF ||
          (v.as_int() >= 0xD800 && v.as_int() < 0xE000))
        return raise(rt, "OverflowError", "%c arg not in range(0x110000)");
      append_utf8(out, char32_t(v.as_int()));
      return make_string(rt, detail::pad(std::move(out), spec, '<', 0));
    }
    if (spec.type != 0 && std::string_view("bdoxXn").find(spec.type) == std::string_view::npos)
      return unknown();
    if (spec.precision >= 0)
      return value_error(rt, "Precision not allowed in integer format specifier");
    return format_integer(rt, v, spec);
  }
  if (v.is_number()) {
    if (spec.type != 0 && !float_type && spec.type != 'n') return unknown();
    if (spec.type == 'n') spec.type = 'g';
    return format_float(rt, to_double(v), spec);
  }
  return type_error(
      rt, std::string("unsupported format string passed to ") + type_name(v) + ".__format__");
}

// Parses [[fill]align][sign][#][0][width][grouping][.precision][type].
inline bool parse_format_spec(Runtime& rt, std::string_view text, FormatSpec& spec) {
  std::size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  const auto peek = [&] { return at < text.size() ? text[at] : '\0'; };
  if (!text.empty()) {
    const std::size_t n = std::size_t(utf8_length(static_cast<unsigned char>(text[0])));
    if (n < text.size() && is_align(text[n])) {
      spec.fill = std::string(text.substr(0, n));
      spec.align = text[n];
      at = n + 1;
    } else if (is_align(text[0])) {
      spec.align = text[0];
      at = 1;
    }
  }
  if (peek() == '+' || peek() == '-' || peek() == ' ') spec.sign = text[at++];
  if (peek() == '#') spec.alternate = true, ++at;
  if (peek() == '0') spec.zero = true, ++at;
  const auto number = [&](std::int64_t& out) {
    const auto result = std::from_chars(text.data() + at, text.data() + text.size(), out);
    const bool any = result.ptr != text.data() + at;
    at = std::size_t(result.ptr - text.data());
    if (result.ec == std::errc::result_out_of_range || out > kMaxFormatWidth) {
      value_error(rt, "Too many decimal digits in format string");
      out = 0;
    }
    return any;
  };
  if (peek() >= '0' && peek() <= '9') number(spec.width);
  if (peek() == ',' || peek() == '_') spec.grouping = text[at++];
  if (peek() == '.') {
    ++at;
    spec.precision = 0;
    if (peek() < '0' || peek() > '9' || !number(spec.precision))
      value_error(rt, "Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) value_error(rt, "Invalid format specifier");
  return !rt.failed();
}

// ---- str.format ----

class StringFormatter {
 public:
  StringFormatter(Runtime& rt, Args& args) : rt_(rt), args_(args) {}

  std::string format(std::string_view text, int depth = 0) {
    std::string out;
    if (depth > 2) {
      value_error(rt_, "Max string recursion exceeded");
      return out;
    }
    for (std::size_t at = 0; at < text.size() && !rt_.failed();) {
      const char c = text[at];
      if (c != '{' && c != '}') {
        out += c;
        ++at;
      } else if (at + 1 < text.size() && text[at + 1] == c) {
        out += c;
        at += 2;
      } else if (c == '}') {
        value_error(rt_, "Single '}' encountered in format string");
      } else {
        at = field(text, at + 1, depth, out);
      }
      if (out.size() > rt_.limits().max_memory) rt_.limit("a text grows beyond the memory limit");
    }
    return out;
  }

 private:
  // One field from after its brace; returns where it ends.
  std::size_t field(std::string_view text, std::size_t start, int depth, std::string& out) {
    std::size_t end = start;
    for (int open = 1; end < text.size(); ++end) {
      if (text[end] == '{')
        ++open;
      else if (text[end] == '}' && --open == 0)
        break;
    }
    if (end >= text.size()) {
      value_error(rt_, start >= text.size() ? "Single '{' encountered in format string"
                                            : "expected '}' before end of string");
      return text.size();
    }
    const std::string_view whole = text.substr(start, end - start);
    std::size_t name_end = 0;
    for (bool bracket = false; name_end < whole.size(); ++name_end) {
      const char c = whole[name_end];
      if (c == '[')
        bracket = true;
      else if (c == ']')
        bracket = false;
      else if (!bracket && (c == '!' || c == ':'))
        break;
    }
    Value v = lookup(whole.substr(0, name_end));
    std::string_view rest = whole.substr(name_end);
    if (!rest.empty() && rest[0] == '!') {
      const char conversion = rest.size() > 1 ? rest[1] : '\0';
      if (conversion == 'r' || conversion == 'a')
        v = make_string(rt_, repr(rt_, v));
      else if (conversion == 's')
        v = str_value(rt_, v);
      else
        value_error(rt_, "Unknown conversion specifier");
      rest.remove_prefix(std::min<std::size_t>(2, rest.size()));
    }
    if (rest.empty()) {
      append_str(rt_, v, out);
    } else if (rest[0] != ':') {
      value_error(rt_, "expected ':' after conversion specifier");
    } else {
      const std::string spec_text = format(rest.substr(1), depth + 1);
      FormatSpec spec;
      if (spec_text.empty())
        append_str(rt_, v, out);
      else if (parse_format_spec(rt_, spec_text, spec))
        append_str(rt_, format_value(rt_, v, spec), out);
    }
    return end + 1;
  }

  Value lookup(std::string_view path) {
    const std::size_t first_end = std::min(path.find_first_of(".["), path.size());
    const std::string_view first = path.substr(0, first_end);
    Value v;
    std::size_t index = 0;
    const auto parsed = std::from_chars(first.data(), first.data() + first.size(), index);
    if (first.empty() || (parsed.ec == std::errc() && parsed.ptr == first.data() + first.size())) {
      if (first.empty() ? manual_ : next_ != 0)
        return value_error(rt_, "cannot switch between manual and automatic field specification");
      if (first.empty())
        index = next_++;
      else
        manual_ = true;
      if (index >= args_.positional.size())
        return raise(rt_, "IndexError",
                     "Replacement index " + std::to_string(index) + " out of range");
      v = args_.positional[index];
    } else if (const Value* named = args_.find(first)) {
      v = *named;
    } else {
      return raise(rt_, "KeyError", string_repr(first));
    }
    std::string_view rest = path.substr(first_end);
    while (!rest.empty() && !rt_.failed()) {
      if (rest[0] == '.') {
        const std::size_t n = std::min(rest.find_first_of(".[", 1), rest.size());
        v = get_attribute(rt_, v, rest.substr(1, n - 1));
        rest.remove_prefix(n);
      } else if (const std::size_t close = rest.find(']');
                 rest[0] == '[' && close != std::string_view::npos) {
        const std::string_view key = rest.substr(1, close - 1);
        std::int64_t number = 0;
        const auto result = std::from_chars(key.data(), key.data() + key.size(), number);
        const bool numeric = result.ec == std::errc() && result.ptr == key.data() + key.size();
        v = get_item(rt_, v, numeric ? Value::integer(number) : make_string(rt_, std::string(key)));
        rest.remove_prefix(close + 1);
      } else {
        value_error(rt_, "Missing ']' in format string");
      }
      if (v.is_undefined()) return undefined_error(rt_, v);
    }
    return v;
  }

  Runtime& rt_;
  Args& args_;
  std::size_t next_ = 0;
  bool manual_ = false;
};

// ---- the % operator ----

class PercentFormatter {
 public:
  PercentFormatter(Runtime& rt, const Value& right) : rt_(rt), right_(right) {}

  std::string format(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size() && !rt_.failed();) {
      const std::size_t mark = std::min(text.find('%', at), text.size());
      out.append(text.substr(at, mark - at));
      at = mark;
      if (at < text.size()) at = directive(text, at + 1, out);
      if (out.size() > rt_.limits().max_memory) rt_.limit("a text grows beyond the memory limit");
    }
    const bool left_over = right_.is(Kind::kTuple)
                               ? used_ < right_.items().size()
                               : used_ == 0 && !right_.is_dict() && !right_.is(Kind::kList);
    if (left_over) type_error(rt_, "not all arguments converted during string formatting");
    return out;
  }

 private:
  Value next() {
    if (right_.is(Kind::kTuple)) {
      if (used_ < right_.items().size()) return right_.items()[used_++];
    } else if (used_++ == 0) {
      return right_;
    }
    return type_error(rt_, "not enough arguments for format string");
  }
  std::int64_t number(std::string_view text, std::size_t& at) {
    std::int64_t out = 0;
    if (at < text.size() && text[at] == '*') {
      ++at;
      const Value v = next();
      if (!v.is_small_int())
        type_error(rt_, "* wants int");
      else
        out = v.as_int();
    } else {
      at = std::size_t(std::from_chars(text.data() + at, text.data() + text.size(), out).ptr -
                       text.data());
    }
    if (out > kMaxFormatWidth || out < -kMaxFormatWidth) value_error(rt_, "width too big");
    return rt_.failed() ? 0 : out;
  }
  std::size_t directive(std::string_view text, std::size_t at, std::string& out) {
    FormatSpec spec;
    Value v = Value::missing();
    if (at < text.size() && text[at] == '(') {
      std::size_t close = at;
      for (int open = 0; close < text.size(); ++close) {
        if (text[close] == '(')
          ++open;
        else if (text[close] == ')' && --open == 0)
          break;
      }
      if (close >= text.size()) return value_error(rt_, "incomplete format key"), text.size();
      if (!right_.is_dict()) return type_error(rt_, "format requires a mapping"), text.size();
      const std::string_view key = text.substr(at + 1, close - at - 1);
      const Value* found = right_.get<DictObject>().dict.find(key);
      if (found == nullptr) return raise(rt_, "KeyError", string_repr(key)), text.size();
      v = *found;
      ++used_;
      at = close + 1;
    }
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '-')
        spec.align = '<';
      else if (c == '+' || (c == ' ' && spec.sign != '+'))
        spec.sign = c;
      else if (c == '#')
        spec.alternate = true;
      else if (c == '0')
        spec.zero = true;
      else if (c != ' ')
        break;
    }
    spec.width = number(text, at);
    if (spec.width < 0) spec.align = '<', spec.width = -spec.width;
    if (at < text.size() && text[at] == '.') {
      ++at;
      spec.precision = std::max<std::int64_t>(0, number(text, at));
    }
    while (at < text.size() && (text[at] == 'h' || text[at] == 'l' || text[at] == 'L')) ++at;
    if (at >= text.size()) return value_error(rt_, "incomplete format"), at;
    const char type = text[at++];
    if (type == '%') {
      out += '%';
      return at;
    }
    if (v.is_missing()) v = next();
    if (!rt_.failed()) convert(v, type, spec, out);
    return at;
  }
  void convert(const Value& v, char type, FormatSpec spec, std::string& out) {
    const auto padded = [&](const std::string& text) {
      FormatSpec plain = spec;
      if (plain.align == 0) plain.align = '>';
      append_str(rt_, format_text(rt_, text, plain), out);
    };
    switch (type) {
      case 's':
        return padded(str(rt_, v));
      case 'r':
      case 'a':
        return padded(repr(rt_, v));
      case 'c':
        if (v.is_string() && v.text_length() == 1) return padded(v.text());
        if (!v.is_small_int()) return void(type_error(rt_, "%c requires int or char"));
        spec.type = 'c';
        if (spec.align == 0) spec.align = '>';
        return append_str(rt_, format_value(rt_, v, spec), out);
      default:
        break;
    }
    if (v.is_undefined()) return void(undefined_error(rt_, v));
    if (!v.is_number())
      return void(type_error(rt_, std::string("%") + type +
                                      " format: a real number is required, not " + type_name(v)));
    if (spec.zero && spec.align == 0) spec.align = '=', spec.fill = "0";
    if (std::string_view("diuxXo").find(type) != std::string_view::npos)
      return integer(v, type, spec, out);
    if (std::string_view("eEfFgG").find(type) == std::string_view::npos)
      return void(value_error(rt_, std::string("unsupported format character '") + type + "'"));
    spec.type = type;
    append_str(rt_, format_float(rt_, to_double(v), spec), out);
  }
  void integer(const Value& v, char type, FormatSpec spec, std::string& out) {
    Value whole = v;
    if (v.is(Kind::kFloat)) {
      if (type == 'x' || type == 'X' || type == 'o')
        return void(type_error(
            rt_, std::string("%") + type + " format: an integer is required, not float"));
      if (!std::isfinite(v.as_float()))
        return void(raise(rt_, "OverflowError", "cannot convert float to integer"));
      whole = make_big(rt_, BigInt::from_double(v.as_float()));
    }
    spec.type = type == 'i' || type == 'u' ? 'd' : type;
    const std::int64_t digits = spec.precision;
    spec.precision = -1;
    if (digits >= 0) {  // a least number of digits
      FormatSpec inner;
      inner.type = spec.type, inner.zero = true, inner.align = '=', inner.fill = "0";
      inner.width = digits + (truthy(whole) && to_big(whole).negative() ? 1 : 0);
      inner.sign = spec.sign;
      const Value text = format_integer(rt_, whole, inner);
      if (spec.align == 0 || spec.align == '=') spec.align = '>', spec.fill = " ";
      return append_str(rt_, format_text(rt_, str(rt_, text), spec), out);
    }
    append_str(rt_, format_integer(rt_, whole, spec), out);
  }

  Runtime& rt_;
  const Value& right_;
  std::size_t used_ = 0;
};

inline Value percent_format(Runtime& rt, const Value& left, const Value& right) {
  return make_string(rt, PercentFormatter(rt, right).format(left.text()))
      .with_markup(left.markup());
}

inline Value modulo(Runtime& rt, const Value& a, const Value& b) {
  if (a.is_string()) return percent_format(rt, a, b);
  return floor_divide(rt, a, b, true);
}

}  // namespace veloce::text::jinja

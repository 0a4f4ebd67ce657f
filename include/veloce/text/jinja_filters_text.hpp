// Filters that give text or numbers.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/text/jinja_access.hpp"
#include "veloce/text/jinja_json.hpp"
#include "veloce/text/jinja_strings.hpp"

namespace veloce::text::jinja {

using Filter = Value (*)(Runtime&, const Value&, Args&);

struct FilterEntry {
  std::string_view name;
  Filter filter;
};

namespace detail {

// ---- numbers from texts ----

// int(text, base) of Python: spaces around, a sign, a prefix of the base, single underscores
// between digits.
inline std::optional<Value> parse_integer(Runtime& rt, std::string_view text, std::int64_t base) {
  text = strip_left(strip_right(text, is_python_space), is_python_space);
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    const int digit = decimal_digit(d.code_point);
    if (digit >= 0)
      plain += char('0' + digit);
    else if (d.code_point < 0x80)
      plain += char(d.code_point);
    else
      return std::nullopt;
    at += std::size_t(d.length);
  }
  std::string_view rest = plain;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  std::int64_t prefix_base = 0;
  if (rest.size() > 1 && rest[0] == '0') {
    const char c = char(rest[1] | 32);
    prefix_base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
  }
  if (prefix_base != 0 && (base == 0 || base == prefix_base)) {
    rest.remove_prefix(2);
    if (rest.starts_with('_')) rest.remove_prefix(1);
    base = prefix_base;
  } else if (base == 0) {
    base = 10;
    if (rest.size() > 1 && rest[0] == '0' && rest.find_first_not_of("0_") != std::string_view::npos)
      return std::nullopt;
  }
  std::string digits;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (c == '_') {
      if (i == 0 || i + 1 == rest.size() || rest[i + 1] == '_') return std::nullopt;
      continue;
    }
    const int d = c >= '0' && c <= '9'                 ? c - '0'
                  : (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' + 10
                                                       : 99;
    if (d >= base) return std::nullopt;
    digits += c;
  }
  if (digits.empty() || digits.size() > 4300) return std::nullopt;
  if (!rt.step(digits.size() * digits.size() / 256)) return Value();
  const BigInt big = BigInt::from_digits(digits, unsigned(base));
  return make_big(rt, negative ? -big : big);
}
inline std::optional<double> parse_float(std::string_view text) {
  text = strip_left(strip_right(text, is_python_space), is_python_space);
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
      continue;
    }
    const auto digit = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '9';
    };
    if (i == 0 || !digit(i - 1) || !digit(i + 1)) return std::nullopt;
  }
  std::string_view rest = plain;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.empty()) return std::nullopt;
  const std::string lower = to_case(rest, Case::kLower);
  double out = 0;
  if (lower == "inf" || lower == "infinity")
    out = HUGE_VAL;
  else if (lower == "nan")
    out = std::nan("");
  else if (rest[0] != '.' && (rest[0] < '0' || rest[0] > '9'))
    return std::nullopt;
  else {
    const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), out);
    if (result.ptr != rest.data() + rest.size()) return std::nullopt;
    if (result.ec == std::errc::result_out_of_range)
      out = std::strtod(plain.c_str() + (plain.size() - rest.size()), nullptr);
  }
  return negative ? -out : out;
}

inline Value filter_int(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "int", args, 0, {"default", "base"});
  const Value fallback = a[0].is_missing() ? Value::integer(0) : a[0];
  const std::int64_t base = int_argument(rt, a[1], 10);
  if (rt.failed()) return {};
  if (v.is_undefined()) return undefined_error(rt, v);
  if (v.is_integral()) return add(rt, v, Value::integer(0));
  double real = 0;
  if (v.is_string()) {
    const bool valid_base = base == 0 || (base >= 2 && base <= 36);
    if (valid_base)
      if (const auto whole = parse_integer(rt, v.text(), base)) return *whole;
    const auto parsed = parse_float(v.text());
    if (!parsed) return fallback;
    real = *parsed;
    if (!std::isfinite(real)) return fallback;
  } else if (v.is(Kind::kFloat)) {
    real = v.as_float();
    if (std::isinf(real))
      return raise(rt, "OverflowError", "cannot convert float infinity to integer");
    if (std::isnan(real)) return fallback;
  } else {
    return fallback;
  }
  return make_big(rt, BigInt::from_double(real));
}
inline Value filter_float(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "float", args, 0, {"default"});
  if (v.is_undefined()) return undefined_error(rt, v);
  if (v.is_number()) return Value::number(to_double(v));
  const auto parsed = v.is_string() ? parse_float(v.text()) : std::nullopt;
  if (parsed) return Value::number(*parsed);
  return a[0].is_missing() ? Value::number(0) : a[0];
}

// round(value, digits) of Python: to even on the exact binary value.
inline double round_digits(double v, std::int64_t digits) {
  if (!std::isfinite(v) || digits > 323) return v;
  if (digits < -308) return std::copysign(0.0, v);
  if (digits < 0) {
    const double unit = std::pow(10.0, double(-digits));
    return std::nearbyint(v / unit) * unit;
  }
  std::string buffer(std::size_t(digits) + 330, '\0');
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v,
                                 std::chars_format::fixed, int(digits))
                       .ptr;
  double out = v;
  std::from_chars(buffer.data(), end, out);
  return out;
}
inline Value filter_round(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "round", args, 0, {"precision", "method"});
  const std::int64_t digits = int_argument(rt, a[0], 0);
  const std::string method = a[1].is_missing() ? "common" : str(rt, a[1]);
  if (rt.failed()) return {};
  if (method != "common" && method != "ceil" && method != "floor")
    return raise(rt, "FilterArgumentError", "method must be common, ceil or floor");
  if (v.is_undefined() && method != "common") return undefined_error(rt, v);
  if (!v.is_number())
    return type_error(rt, std::string("type ") + type_name(v) + " doesn't define __round__ method");
  if (method == "common") {
    if (!v.is_integral()) return Value::number(round_digits(v.as_float(), digits));
    if (digits >= 0) return add(rt, v, Value::integer(0));
    if (digits < -400) return Value::integer(0);
    const Value unit = power(rt, Value::integer(10), Value::integer(-digits));
    const Value down = multiply(rt, floor_divide(rt, v, unit, false), unit);
    const Value rest = subtract(rt, v, down), twice = multiply(rt, rest, Value::integer(2));
    if (rt.failed()) return {};
    const int c = compare_numbers(twice, unit);
    const Value quotient = floor_divide(rt, v, unit, false);
    const bool up = c > 0 || (c == 0 && to_big(quotient).odd());
    return up ? add(rt, down, unit) : down;
  }
  const Value scale = power(rt, Value::integer(10), Value::integer(digits));
  const Value scaled = multiply(rt, v, scale);
  if (rt.failed()) return {};
  const double x = to_double(scaled);
  if (!std::isfinite(x))
    return raise(rt, "OverflowError", "cannot convert float infinity to integer");
  return divide(rt,
                make_big(rt, BigInt::from_double(method == "ceil" ? std::ceil(x) : std::floor(x))),
                scale);
}
inline Value filter_abs(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "abs", args, 0, {});
  if (v.is(Kind::kFloat)) return Value::number(std::fabs(v.as_float()));
  if (v.is_integral())
    return truthy(v) && to_big(v).negative() ? negate(rt, v) : add(rt, v, Value::integer(0));
  return type_error(rt, std::string("bad operand type for abs(): '") + type_name(v) + "'");
}
inline Value filter_filesizeformat(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "filesizeformat", args, 0, {"binary"});
  Args none;
  const bool numeric = v.is_number() || (v.is_string() && parse_float(v.text()));
  if (v.is_undefined()) return undefined_error(rt, v);
  if (!numeric) return value_error(rt, "could not convert to float: " + repr(rt, v));
  const double bytes = filter_float(rt, v, none).as_float();
  const bool binary = truthy(a[0]);
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return make_string(rt, "1 Byte");
  if (bytes < base) return make_string(rt, BigInt::from_double(bytes).to_string() + " Bytes");
  static constexpr const char* kDecimal[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
  static constexpr const char* kBinary[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  double unit = base * base;
  int i = 0;
  for (; i < 7 && bytes >= unit; ++i) unit *= base;
  FormatSpec spec;
  spec.type = 'f';
  spec.precision = 1;
  return make_string(rt, str(rt, format_float(rt, base * bytes / unit, spec)) + " " +
                             (binary ? kBinary : kDecimal)[i]);
}

// ---- texts ----

template <class Change>
inline Value text_filter(Runtime& rt, const Value& v, Args& args, Change f) {
  bind(rt, "filter", args, 0, {});
  const Value text = str_value(rt, v);
  if (rt.failed() || !rt.step(text.text().size() / 16)) return {};
  return text_result(rt, text, f(std::string_view(text.text())));
}
// The filter title: a word begins after white space or one of -({[<; unlike str.title.
inline std::string title_words(std::string_view text) {
  std::string out;
  bool start = true;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    const char32_t c = d.code_point;
    const bool boundary =
        is_python_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    append_case(out, c, start && !boundary ? Case::kUpper : Case::kLower);
    start = boundary;
    at += std::size_t(d.length);
  }
  return out;
}
inline Value filter_string_replace(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "replace", args, 2, {"old", "new", "count"});
  if (rt.failed()) return {};
  const Value text = str_value(rt, v), from = str_value(rt, a[0]), to = str_value(rt, a[1]);
  const std::int64_t count = a[2].is_none() ? kNoLimit : int_argument(rt, a[2], kNoLimit);
  if (rt.failed()) return {};
  return make_string(rt, replace_all(rt, text.text(), from.text(), to.text(), count));
}
inline Value filter_trim(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "trim", args, 0, {"chars"});
  Args inner;
  if (!a[0].is_missing()) inner.positional.push_back(a[0]);
  const Value text = str_value(rt, v);
  return rt.failed() ? Value() : strip_method(rt, text, inner, true, true);
}
inline Value filter_center(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "center", args, 0, {"width"});
  Args inner;
  inner.positional.push_back(a[0].is_missing() ? Value::integer(80) : a[0]);
  const Value text = str_value(rt, v);
  return rt.failed() ? Value() : pad_method(rt, text, inner, '^');
}
inline Value filter_indent(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "indent", args, 0, {"width", "first", "blank"});
  if (v.is_undefined()) return undefined_error(rt, v);
  if (!v.is_string())
    return type_error(rt, std::string("can only indent str, not ") + type_name(v));
  std::string indention;
  if (a[0].is_string()) {
    indention = a[0].text();
  } else {
    const std::int64_t width = int_argument(rt, a[0], 4);
    if (width > 0 && !rt.reserve(std::uint64_t(width))) return {};
    indention.assign(std::size_t(std::max<std::int64_t>(width, 0)), ' ');
  }
  const bool first = truthy(a[1]), blank = truthy(a[2]);
  std::string text = v.text() + "\n";
  if (!rt.step(text.size() / 16)) return {};
  const auto lines = split_lines(text, false);
  std::string out = first ? indention : "";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      out += '\n';
      if (blank || !lines[i].empty()) out += indention;
    }
    out += lines[i];
    if (out.size() > rt.limits().max_memory || !rt.step())
      return rt.limit("a text grows beyond the memory limit"), Value();
  }
  return text_result(rt, v, std::move(out));
}
inline Value filter_truncate(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "truncate", args, 0, {"length", "killwords", "end", "leeway"});
  const std::int64_t length = int_argument(rt, a[0], 255);
  const bool kill = truthy(a[1]);
  const std::string end = a[2].is_missing() ? "..." : str(rt, a[2]);
  const std::int64_t leeway = a[3].is_none() ? 5 : int_argument(rt, a[3], 5);
  const std::int64_t end_length = std::int64_t(count_code_points(end));
  if (rt.failed()) return {};
  if (length < end_length || leeway < 0)
    return raise(rt, "AssertionError", "length or leeway too small");
  const std::int64_t size = length_of(v);
  if (size < 0)
    return type_error(rt, std::string("object of type '") + type_name(v) + "' has no len()");
  if (size <= length + leeway) return v;
  if (!v.is_string())
    return type_error(rt, std::string("can only truncate str, not ") + type_name(v));
  std::string text = v.text().substr(0, offset_of(v.text(), std::size_t(length - end_length)));
  if (!kill) {
    const std::size_t space = text.rfind(' ');
    if (space != std::string::npos) text.resize(space);
  }
  return make_string(rt, text + end);
}
inline Value filter_wordcount(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "wordcount", args, 0, {});
  const std::string text = str(rt, v);
  std::int64_t n = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    const bool word = is_word(d.code_point);
    n += word && !inside ? 1 : 0;
    inside = word;
    at += std::size_t(d.length);
  }
  return rt.step(text.size() / 16) ? Value::integer(n) : Value();
}

// One paragraph broken at white space into lines of at most `width` code points, as textwrap.wrap
// does.
inline std::vector<std::string> wrap_line(std::string_view line, std::size_t width,
                                          bool break_long) {
  const auto is_gap = [](char32_t c) { return c == ' ' || (c >= 9 && c <= 13); };
  std::vector<std::u32string> chunks;  // words and gaps, in turns
  for (char32_t c : code_points(line)) {
    if (!chunks.empty() && is_gap(chunks.back()[0]) == is_gap(c))
      chunks.back() += c;
    else
      chunks.emplace_back(1, c);
  }
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < chunks.size();) {
    if (!lines.empty() && is_gap(chunks[at][0]) && ++at == chunks.size()) break;
    std::u32string current;
    std::size_t last_gap = 0;  // length of the gap that ends the line
    while (at < chunks.size() && current.size() + chunks[at].size() <= width) {
      last_gap = is_gap(chunks[at][0]) ? chunks[at].size() : 0;
      current += chunks[at++];
    }
    if (at < chunks.size() && chunks[at].size() > width) {
      if (break_long) {
        const std::size_t room = width - current.size();
        last_gap = room > 0 && is_gap(chunks[at][0]) ? room : 0;
        current += chunks[at].substr(0, room);
        chunks[at].erase(0, room);
      } else if (current.empty()) {
        last_gap = is_gap(chunks[at][0]) ? chunks[at].size() : 0;
        current = chunks[at++];
      }
    }
    current.resize(current.size() - last_gap);
    if (!current.empty()) lines.push_back(to_utf8(current));
  }
  return lines;
}
inline Value filter_wordwrap(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "wordwrap", args, 0,
                      {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  if (v.is_undefined()) return undefined_error(rt, v);
  if (!v.is_string()) return type_error(rt, std::string("can only wrap str, not ") + type_name(v));
  const std::int64_t width = int_argument(rt, a[0], 79);
  const bool break_long = a[1].is_missing() || truthy(a[1]);
  const bool hyphens = a[3].is_missing() || truthy(a[3]);
  const std::string joint = a[2].is_missing() || a[2].is_none() ? "\n" : str(rt, a[2]);
  if (rt.failed()) return {};
  if (width <= 0)
    return value_error(rt, "invalid width " + std::to_string(width) + " (must be > 0)");
  if (hyphens && v.text().find('-') != std::string::npos && std::int64_t(v.text_length()) > width)
    return raise(rt, "NotImplementedError",
                 "wordwrap does not break at hyphens; give break_on_hyphens=false");
  if (!rt.step(v.text().size())) return {};
  std::string out;
  bool first = true;
  for (std::string_view line : split_lines(v.text(), false)) {
    const std::vector<std::string> lines = wrap_line(line, std::size_t(width), break_long);
    std::string joined;
    for (std::size_t i = 0; i < lines.size(); ++i) joined += (i > 0 ? joint : "") + lines[i];
    if (!first) out += joint;
    first = false;
    out += joined;
    if (!rt.reserve(out.size())) return {};
  }
  return make_string(rt, std::move(out));
}
inline Value filter_striptags(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "striptags", args, 0, {});
  std::string text = str(rt, v), plain;
  // Comments go first, then tags, then runs of white space become one space; entities are resolved
  // last.
  const auto remove = [](std::string_view from, std::string_view open, std::string_view close) {
    std::string out;
    std::size_t at = 0;
    while (true) {
      const std::size_t start = from.find(open, at);
      const std::size_t end = start == std::string_view::npos ? start : from.find(close, start);
      if (end == std::string_view::npos) break;
      out.append(from.substr(at, start - at));
      at = end + close.size();
    }
    return out.append(from.substr(at));
  };
  text = remove(remove(text, "<!--", "-->"), "<", ">");
  bool gap = false;
  for (std::string_view word : split_space(text, kNoLimit)) {
    if (gap) plain += ' ';
    gap = true;
    plain += word;
  }
  for (const auto& [entity, character] : {std::pair<const char*, const char*>{"&lt;", "<"},
                                          {"&gt;", ">"},
                                          {"&quot;", "\""},
                                          {"&#34;", "\""},
                                          {"&#39;", "'"},
                                          {"&amp;", "&"}})
    plain = replace_all(rt, plain, entity, character, kNoLimit);
  return make_string(rt, std::move(plain));
}
inline std::string url_quote(std::string_view text, bool query) {
  std::string out;
  char buffer[8];
  for (char c : text) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !query);
    if (safe) {
      out += c;
    } else if (c == ' ' && query) {
      out += '+';
    } else {
      std::snprintf(buffer, sizeof(buffer), "%%%02X", unsigned(static_cast<unsigned char>(c)));
      out += buffer;
    }
  }
  return out;
}
inline Value filter_urlencode(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "urlencode", args, 0, {});
  if (v.is_string() || !is_iterable(v)) return make_string(rt, url_quote(str(rt, v), false));
  std::vector<Value> pairs;
  if (v.is_dict()) {
    for (const Dict::Entry& e : v.get<DictObject>().dict.entries())
      pairs.push_back(make_tuple(rt, {e.key, e.value}));
  } else if (!collect(rt, v, pairs)) {
    return {};
  }
  std::string out;
  for (const Value& pair : pairs) {
    std::vector<Value> parts;
    if (!collect(rt, pair, parts)) return {};
    if (parts.size() != 2) return value_error(rt, "urlencode takes pairs");
    if (!out.empty()) out += '&';
    out += url_quote(str(rt, parts[0]), true) + "=" + url_quote(str(rt, parts[1]), true);
  }
  return make_string(rt, std::move(out));
}
inline Value filter_xmlattr(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "xmlattr", args, 0, {"autospace"});
  if (v.is_undefined()) return undefined_error(rt, v);
  if (!v.is_dict())
    return raise(rt, "AttributeError",
                 std::string("'") + type_name(v) + "' object has no attribute 'items'");
  std::string out;
  for (const Dict::Entry& e : v.get<DictObject>().dict.entries()) {
    if (e.value.is_none() || e.value.is_undefined()) continue;
    if (!e.key.is_string()) return type_error(rt, "expected string or bytes-like object");
    if (e.key.text().find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      return value_error(rt, "Invalid character in attribute name: " + repr(rt, e.key));
    if (!out.empty()) out += ' ';
    out += html_escape(e.key.text()) + "=\"" + escaped_text(rt, e.value) + "\"";
  }
  if (!out.empty() && (a[0].is_missing() || truthy(a[0]))) out.insert(0, " ");
  return make_string(rt, std::move(out));
}
inline Value filter_format(Runtime& rt, const Value& v, Args& args) {
  if (!args.positional.empty() && !args.named.empty())
    return raise(rt, "FilterArgumentError",
                 "can't handle positional and keyword arguments at the same time");
  const Value text = str_value(rt, v);
  if (rt.failed()) return {};
  if (args.named.empty()) return percent_format(rt, text, make_tuple(rt, args.positional));
  Dict dict;
  for (const auto& [key, value] : args.named) dict.set(make_string(rt, key), value);
  return percent_format(rt, text, make_dict(rt, std::move(dict)));
}
inline Value filter_pprint(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "pprint", args, 0, {"verbose"});
  std::string out = repr(rt, v);
  if (v.is_dict()) {  // pprint sorts keys
    std::vector<Value> keys;
    for (const Dict::Entry& e : v.get<DictObject>().dict.entries()) keys.push_back(e.key);
    Dict sorted;
    for (std::size_t i : sorted_order(rt, keys, false))
      sorted.set(keys[i], v.get<DictObject>().dict.entries()[i].value);
    out = repr(rt, make_dict(rt, std::move(sorted)));
  }
  if (count_code_points(out) > 80)
    return raise(rt, "NotImplementedError", "pprint of more than a line is not supported");
  return make_string(rt, std::move(out));
}

// ---- JSON ----

inline Value filter_tojson(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "tojson", args, 0, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = truthy(a[0]);
  style.sort_keys = truthy(a[3]);
  if (!a[1].is_missing() && !a[1].is_none()) {
    style.pretty = true;
    style.item_separator = ",";
    if (a[1].is_string()) {
      style.indent = a[1].text();
    } else {
      const std::int64_t width = int_argument(rt, a[1], 0);
      if (width > 1000) return value_error(rt, "indent too large");
      style.indent.assign(std::size_t(std::max<std::int64_t>(width, 0)), ' ');
    }
  }
  if (!a[2].is_missing() && !a[2].is_none()) {
    std::vector<Value> pair;
    if (!collect(rt, a[2], pair)) return {};
    if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      return value_error(rt, "separators must be two strings");
    style.item_separator = pair[0].text();
    style.key_separator = pair[1].text();
  }
  if (rt.failed()) return {};
  return make_string(rt, JsonWriter(rt, style).write(v));
}
inline Value filter_from_json(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "from_json", args, 0, {});
  if (v.is_undefined()) return undefined_error(rt, v);
  if (!v.is_string())
    return type_error(rt, std::string("the JSON object must be str, not ") + type_name(v));
  return JsonReader(rt, v.text()).read();
}

}  // namespace detail

}  // namespace veloce::text::jinja

// Values as text: Python's str and repr.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

#include "veloce/text/jinja_unicode.hpp"
#include "veloce/text/jinja_value.hpp"

namespace veloce::text::jinja {

// repr of a float: the shortest digits that read back, an exponent below 1e-4 and from 1e16 on.
inline std::string float_repr(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), v, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, std::size_t(end - buffer));
  const std::size_t e = text.find('e');
  int exponent = 0;
  const char* digits_of_exponent = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits_of_exponent, text.data() + text.size(), exponent);
  std::string digits, out;
  for (char c : text.substr(0, e)) {
    if (c == '-')
      out = "-";
    else if (c != '.')
      digits += c;
  }
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1) out += "." + digits.substr(1);
    char tail[16];
    std::snprintf(tail, sizeof(tail), "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
    return out + tail;
  }
  if (exponent < 0) return out + "0." + std::string(std::size_t(-exponent - 1), '0') + digits;
  const std::size_t whole = std::size_t(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

inline std::string string_repr(std::string_view text) {
  const bool double_quotes =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string out(1, quote);
  char buffer[16];
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    const char32_t c = d.code_point;
    if (c == char32_t(quote) || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out.append(text.substr(at, std::size_t(d.length)));
    } else {
      std::snprintf(buffer, sizeof(buffer),
                    c < 0x100     ? "\\x%02x"
                    : c < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                    unsigned(c));
      out += buffer;
    }
    at += std::size_t(d.length);
  }
  return out + quote;
}

inline std::string integer_text(const Value& v) {
  return v.is(Kind::kBigInt) ? v.get<BigIntObject>().value.to_string() : std::to_string(v.as_int());
}

// Of a macro or loop: in jinja_interpreter.hpp.
std::string object_repr(Runtime& rt, const Value& v);

namespace detail {

inline void append_repr(Runtime& rt, const Value& v, std::string& out);

inline void append_sequence(Runtime& rt, const std::vector<Value>& items, char open, char close,
                            std::string& out) {
  out += open;
  for (std::size_t i = 0; i < items.size() && !rt.failed(); ++i) {
    if (i > 0) out += ", ";
    append_repr(rt, items[i], out);
  }
  if (open == '(' && items.size() == 1) out += ',';
  out += close;
}
inline void append_entries(Runtime& rt, const Dict& dict, std::string& out) {
  out += '{';
  bool first = true;
  for (const Dict::Entry& e : dict.entries()) {
    if (rt.failed()) return;
    if (!first) out += ", ";
    first = false;
    append_repr(rt, e.key, out);
    out += ": ";
    append_repr(rt, e.value, out);
  }
  out += '}';
}
inline void append_view(Runtime& rt, const ViewObject& view, std::string& out) {
  using What = ViewObject::What;
  out += view.what == What::kKeys     ? "dict_keys(["
         : view.what == What::kValues ? "dict_values(["
                                      : "dict_items([";
  bool first = true;
  for (const Dict::Entry& e : view.dict.get<DictObject>().dict.entries()) {
    if (!first) out += ", ";
    first = false;
    if (view.what == What::kItems) out += '(';
    if (view.what != What::kValues) append_repr(rt, e.key, out);
    if (view.what == What::kItems) out += ", ";
    if (view.what != What::kKeys) append_repr(rt, e.value, out);
    if (view.what == What::kItems) out += ')';
  }
  out += "])";
}
inline void append_range(const RangeObject& range, std::string& out) {
  out += "range(" + std::to_string(range.start) + ", " + std::to_string(range.stop);
  if (range.step != 1) out += ", " + std::to_string(range.step);
  out += ')';
}

inline void append_repr(Runtime& rt, const Value& v, std::string& out) {
  Runtime::Depth depth(rt);
  if (!rt.step()) return;
  if (out.size() > rt.limits().max_memory) return rt.limit("a text grows beyond the memory limit");
  switch (v.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      out += "Undefined";
      return;
    case Kind::kNone:
      out += "None";
      return;
    case Kind::kBool:
      out += v.as_bool() ? "True" : "False";
      return;
    case Kind::kInt:
    case Kind::kBigInt:
      out += integer_text(v);
      return;
    case Kind::kFloat:
      out += float_repr(v.as_float());
      return;
    case Kind::kString:
      if (!rt.step(v.text().size() / 32)) return;
      out += v.markup() ? "Markup(" + string_repr(v.text()) + ")" : string_repr(v.text());
      return;
    case Kind::kList:
      return append_sequence(rt, v.items(), '[', ']', out);
    case Kind::kTuple:
      return append_sequence(rt, v.items(), '(', ')', out);
    case Kind::kDict:
      return append_entries(rt, v.get<DictObject>().dict, out);
    case Kind::kView:
      return append_view(rt, v.get<ViewObject>(), out);
    case Kind::kRange:
      return append_range(v.get<RangeObject>(), out);
    case Kind::kNamespace:
      out += "<Namespace ";
      append_entries(rt, v.get<NamespaceObject>().dict, out);
      out += '>';
      return;
    case Kind::kMacro:
    case Kind::kLoop:
      out += object_repr(rt, v);
      return;
    default:
      out += std::string("<") + type_name(v) + " object>";
      return;
  }
}

}  // namespace detail

inline std::string repr(Runtime& rt, const Value& v) {
  std::string out;
  detail::append_repr(rt, v, out);
  return out;
}

// Appends str(v).
inline void append_str(Runtime& rt, const Value& v, std::string& out) {
  if (v.is_string()) {
    if (rt.step(v.text().size() / 256)) out += v.text();
  } else if (!v.is_undefined() && !v.is_missing()) {
    detail::append_repr(rt, v, out);
  }
}
inline std::string str(Runtime& rt, const Value& v) {
  std::string out;
  append_str(rt, v, out);
  return out;
}
inline Value str_value(Runtime& rt, const Value& v) {
  return v.is_string() ? v : make_string(rt, str(rt, v));
}

// HTML escapes of jinja2's escape().
inline std::string html_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}
inline std::string escaped_text(Runtime& rt, const Value& v) {
  return v.is_string() && v.markup() ? v.text() : html_escape(str(rt, v));
}

}  // namespace veloce::text::jinja

// Methods of Python's str, as templates call them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/jinja_format.hpp"
#include "veloce/text/jinja_ops.hpp"
#include "veloce/text/jinja_unicode.hpp"

namespace veloce::text::jinja {

namespace detail {

inline constexpr std::int64_t kNoLimit = -1;

// A string argument, or a TypeError.
inline const std::string* text_argument(Runtime& rt, const Value& v) {
  if (v.is_string()) return &v.text();
  if (v.is_undefined())
    undefined_error(rt, v);
  else
    type_error(rt, std::string("argument must be str, not ") + type_name(v));
  return nullptr;
}
inline std::int64_t int_argument(Runtime& rt, const Value& v, std::int64_t fallback) {
  if (v.is_missing()) return fallback;
  return index_of(rt, v).value_or(fallback);
}

// What a Markup's method gives is Markup again.
inline Value like(const Value& self, const Value& result) {
  return self.markup() && result.is_string() ? result.with_markup(true) : result;
}
inline Value text_result(Runtime& rt, const Value& self, std::string text) {
  return like(self, make_string(rt, std::move(text)));
}

inline std::string replace_all(Runtime& rt, std::string_view text, std::string_view from,
                               std::string_view to, std::int64_t count) {
  std::string out;
  const auto put = [&](std::string_view piece) {
    if (out.size() + piece.size() > rt.limits().max_memory)
      return rt.limit("a text grows beyond the memory limit");
    out.append(piece);
  };
  if (!rt.step(text.size() / 64)) return out;
  if (from.empty()) {
    for (std::size_t at = 0; !rt.failed(); --count) {
      if (count == 0) {
        put(text.substr(at));
        break;
      }
      put(to);
      if (at >= text.size()) break;
      const std::size_t n = std::size_t(utf8_length(static_cast<unsigned char>(text[at])));
      put(text.substr(at, n));
      at += n;
    }
    return out;
  }
  std::size_t at = 0;
  for (std::size_t hit;
       count != 0 && !rt.failed() && (hit = text.find(from, at)) != std::string_view::npos;
       --count) {
    put(text.substr(at, hit - at));
    put(to);
    at = hit + from.size();
  }
  put(text.substr(at));
  return out;
}

inline std::vector<std::string_view> split_space(std::string_view text, std::int64_t limit) {
  std::vector<std::string_view> out;
  text = strip_left(text, is_python_space);
  while (!text.empty()) {
    if (limit >= 0 && std::int64_t(out.size()) == limit) {
      out.push_back(text);
      break;
    }
    std::size_t end = 0;
    while (end < text.size()) {
      const Decoded d = decode_utf8(text, end);
      if (is_python_space(d.code_point)) break;
      end += std::size_t(d.length);
    }
    out.push_back(text.substr(0, end));
    text = strip_left(text.substr(end), is_python_space);
  }
  return out;
}
inline std::vector<std::string_view> split_space_right(std::string_view text, std::int64_t limit) {
  std::vector<std::string_view> out;
  text = strip_right(text, is_python_space);
  while (!text.empty()) {
    if (limit >= 0 && std::int64_t(out.size()) == limit) {
      out.push_back(text);
      break;
    }
    std::size_t start = text.size();
    while (start > 0) {
      const std::size_t at = previous(text, start);
      if (is_python_space(decode_utf8(text, at).code_point)) break;
      start = at;
    }
    out.push_back(text.substr(start));
    text = strip_right(text.substr(0, start), is_python_space);
  }
  std::reverse(out.begin(), out.end());
  return out;
}
inline std::vector<std::string_view> split_on(std::string_view text, std::string_view separator,
                                              std::int64_t limit, bool from_right) {
  std::vector<std::string_view> out;
  while (limit < 0 || std::int64_t(out.size()) < limit) {
    const std::size_t hit = from_right ? text.rfind(separator) : text.find(separator);
    if (hit == std::string_view::npos) break;
    if (from_right) {
      out.push_back(text.substr(hit + separator.size()));
      text = text.substr(0, hit);
    } else {
      out.push_back(text.substr(0, hit));
      text = text.substr(hit + separator.size());
    }
  }
  out.push_back(text);
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}
inline Value text_list(Runtime& rt, const Value& self, const std::vector<std::string_view>& parts) {
  std::vector<Value> items;
  if (!rt.step(parts.size()) || !rt.reserve(parts.size() * sizeof(Value))) return {};
  items.reserve(parts.size());
  for (std::string_view part : parts) items.push_back(text_result(rt, self, std::string(part)));
  return make_list(rt, std::move(items));
}
inline Value split_method(Runtime& rt, const Value& self, Args& args, bool from_right) {
  const auto a = bind(rt, "split", args, 0, {"sep", "maxsplit"});
  const std::int64_t limit = int_argument(rt, a[1], kNoLimit);
  if (!rt.step(self.text().size() / 16)) return {};
  if (a[0].is_missing() || a[0].is_none())
    return text_list(
        rt, self,
        from_right ? split_space_right(self.text(), limit) : split_space(self.text(), limit));
  const std::string* separator = text_argument(rt, a[0]);
  if (separator == nullptr) return {};
  if (separator->empty()) return value_error(rt, "empty separator");
  return text_list(rt, self, split_on(self.text(), *separator, limit, from_right));
}

inline Value strip_method(Runtime& rt, const Value& self, Args& args, bool left, bool right) {
  const auto a = bind(rt, "strip", args, 0, {""});
  std::u32string set;
  const bool spaces = a[0].is_missing() || a[0].is_none();
  if (!spaces) {
    const std::string* chars = text_argument(rt, a[0]);
    if (chars == nullptr) return {};
    set = code_points(*chars);
  }
  if (!rt.step(self.text().size() / 64 + set.size())) return {};
  const auto drop = [&](char32_t c) {
    return spaces ? is_python_space(c) : set.find(c) != std::u32string::npos;
  };
  std::string_view text = self.text();
  if (left) text = strip_left(text, drop);
  if (right) text = strip_right(text, drop);
  return text_result(rt, self, std::string(text));
}

// The part of the text that optional start and end arguments select, with its offset in code
// points.
struct Window {
  std::string_view text;
  std::int64_t start = 0;
  bool valid = true;  // false: start is past the end, nothing is found, not even ""
};
inline Window window(Runtime& rt, const Value& self, const Value& start, const Value& end) {
  const std::int64_t length = std::int64_t(self.text_length());
  const auto clamp = [&](const Value& v, std::int64_t fallback) {
    std::int64_t i = v.is_missing() || v.is_none() ? fallback : index_of(rt, v).value_or(0);
    if (i < 0) i += length;
    return std::max<std::int64_t>(i, 0);
  };
  const std::int64_t from = clamp(start, 0), to = std::min(clamp(end, length), length);
  if (from > to) return {{}, from, false};
  const std::size_t a = offset_of(self.text(), std::size_t(from));
  const std::size_t b =
      a + offset_of(std::string_view(self.text()).substr(a), std::size_t(to - from));
  return {std::string_view(self.text()).substr(a, b - a), from, true};
}
enum class Find { kFind, kIndex, kRightFind, kRightIndex, kCount };
inline Value find_method(Runtime& rt, const Value& self, Args& args, Find what) {
  const auto a = bind(rt, "find", args, 1, {"", "", ""});
  if (rt.failed()) return {};
  const std::string* needle = text_argument(rt, a[0]);
  if (needle == nullptr || !rt.step(self.text().size() / 32)) return {};
  const Window w = window(rt, self, a[1], a[2]);
  if (what == Find::kCount) {
    if (!w.valid) return Value::integer(0);
    if (needle->empty()) return Value::integer(std::int64_t(count_code_points(w.text)) + 1);
    std::int64_t n = 0;
    for (std::size_t at = 0; (at = w.text.find(*needle, at)) != std::string_view::npos;
         at += needle->size())
      ++n;
    return Value::integer(n);
  }
  const bool right = what == Find::kRightFind || what == Find::kRightIndex;
  const std::size_t hit = !w.valid ? std::string_view::npos
                          : right  ? w.text.rfind(*needle)
                                   : w.text.find(*needle);
  if (hit != std::string_view::npos)
    return Value::integer(w.start + std::int64_t(count_code_points(w.text.substr(0, hit))));
  if (what == Find::kIndex || what == Find::kRightIndex)
    return value_error(rt, "substring not found");
  return Value::integer(-1);
}
inline Value affix_method(Runtime& rt, const Value& self, Args& args, bool suffix) {
  const auto a = bind(rt, suffix ? "endswith" : "startswith", args, 1, {"", "", ""});
  if (rt.failed()) return {};
  const Window w = window(rt, self, a[1], a[2]);
  const auto test = [&](const Value& v) {
    const std::string* affix = text_argument(rt, v);
    if (affix == nullptr || !w.valid) return false;
    return suffix ? w.text.ends_with(*affix) : w.text.starts_with(*affix);
  };
  if (!a[0].is(Kind::kTuple)) return Value::boolean(test(a[0]));
  bool any = false;
  for (const Value& v : a[0].items()) any = any || test(v);
  return Value::boolean(any);
}

inline Value pad_method(Runtime& rt, const Value& self, Args& args, char align) {
  const auto a = bind(rt, "just", args, 1, {"", ""});
  FormatSpec spec;
  spec.width = int_argument(rt, a[0], 0);
  spec.align = align;
  if (!a[1].is_missing()) {
    const std::string* fill = text_argument(rt, a[1]);
    if (fill == nullptr) return {};
    if (count_code_points(*fill) != 1)
      return type_error(rt, "The fill character must be exactly one character long");
    spec.fill = *fill;
  }
  if (spec.width > 0 && !rt.reserve(std::uint64_t(spec.width) * spec.fill.size())) return {};
  if (align == '^') {  // str.center puts the odd one left when the width is odd
    const std::int64_t missing = spec.width - std::int64_t(self.text_length());
    if (missing <= 0) return self;
    const std::int64_t left = missing / 2 + (missing & spec.width & 1);
    std::string out;
    for (std::int64_t i = 0; i < left; ++i) out += spec.fill;
    out += self.text();
    for (std::int64_t i = left; i < missing; ++i) out += spec.fill;
    return text_result(rt, self, std::move(out));
  }
  return text_result(rt, self, pad(self.text(), spec, align, 0));
}
inline Value zfill_method(Runtime& rt, const Value& self, Args& args) {
  const auto a = bind(rt, "zfill", args, 1, {""});
  const std::int64_t width = int_argument(rt, a[0], 0);
  const std::int64_t missing = width - std::int64_t(self.text_length());
  if (missing <= 0) return self;
  if (!rt.reserve(std::uint64_t(missing))) return {};
  const std::string& text = self.text();
  const std::size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  return make_string(
      rt, text.substr(0, sign) + std::string(std::size_t(missing), '0') + text.substr(sign));
}

inline Value partition_method(Runtime& rt, const Value& self, Args& args, bool from_right) {
  const auto a = bind(rt, "partition", args, 1, {""});
  if (rt.failed()) return {};
  const std::string* separator = text_argument(rt, a[0]);
  if (separator == nullptr) return {};
  if (separator->empty()) return value_error(rt, "empty separator");
  const std::string& text = self.text();
  const std::size_t hit = from_right ? text.rfind(*separator) : text.find(*separator);
  const Value empty = make_string(rt, "");
  if (hit == std::string::npos) {
    if (from_right) return make_tuple(rt, {empty, empty, self});
    return make_tuple(rt, {self, empty, empty});
  }
  return make_tuple(rt, {text_result(rt, self, text.substr(0, hit)), a[0],
                         text_result(rt, self, text.substr(hit + separator->size()))});
}

// Ends of lines as str.splitlines knows them.
inline std::size_t line_break(std::string_view text, std::size_t at) {
  const Decoded d = decode_utf8(text, at);
  const char32_t c = d.code_point;
  if (c == '\r' && at + 1 < text.size() && text[at + 1] == '\n') return 2;
  const bool breaks =
      (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
  return breaks ? std::size_t(d.length) : 0;
}
inline std::vector<std::string_view> split_lines(std::string_view text, bool keep) {
  std::vector<std::string_view> out;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = line_break(text, at);
    if (n == 0) {
      at += std::size_t(utf8_length(static_cast<unsigned char>(text[at])));
      continue;
    }
    out.push_back(text.substr(start, at - start + (keep ? n : 0)));
    at += n;
    start = at;
  }
  if (start < text.size()) out.push_back(text.substr(start));
  return out;
}

// str.title: every letter after something without case starts a word.
inline std::string python_title(std::string_view text) {
  std::string out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    if (inside)
      append_lower(out, text, at, d.code_point);
    else
      append_case(out, d.code_point, Case::kTitle);
    inside = is_cased(d.code_point);
    at += std::size_t(d.length);
  }
  return out;
}
inline std::string swap_case(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    if (is_upper_letter(d.code_point))
      append_lower(out, text, at, d.code_point);
    else
      append_case(out, d.code_point,
                  is_titlecase_letter(d.code_point) ? Case::kTitle : Case::kUpper);
    at += std::size_t(d.length);
  }
  return out;
}

template <class Predicate>
inline Value all_of(Runtime& rt, const Value& self, Args& args, Predicate test,
                    bool of_empty = false) {
  bind(rt, "is", args, 0, {});
  if (!rt.step(self.text().size() / 16)) return {};
  const std::string& text = self.text();
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    if (!test(d.code_point)) return Value::boolean(false);
    at += std::size_t(d.length);
  }
  return Value::boolean(of_empty || !text.empty());
}
// islower, isupper: at least one letter with case, all of them that case.
inline bool has_only_case(std::string_view text, bool upper) {
  bool any = false;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    if (upper ? is_lower_letter(d.code_point) : is_upper_letter(d.code_point)) return false;
    any = any || is_cased(d.code_point);
    at += std::size_t(d.length);
  }
  return any;
}
inline bool is_title(std::string_view text) {
  bool any = false, inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    const bool upper = is_upper_letter(d.code_point) || is_titlecase_letter(d.code_point),
               lower = is_lower_letter(d.code_point);
    if ((upper && inside) || (lower && !inside)) return false;
    inside = upper || lower;
    any = any || inside;
    at += std::size_t(d.length);
  }
  return any;
}
inline bool is_identifier(std::string_view text) {
  if (text.empty() || decimal_digit(first_code_point(text)) >= 0) return false;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    if (!is_word(d.code_point)) return false;
    at += std::size_t(d.length);
  }
  return true;
}

inline Value join_method(Runtime& rt, const Value& self, Args& args) {
  const auto a = bind(rt, "join", args, 1, {""});
  std::vector<Value> items;
  if (rt.failed() || !collect(rt, a[0], items)) return {};
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_string())
      return type_error(rt, "sequence item " + std::to_string(i) + ": expected str instance, " +
                                type_name(items[i]) + " found");
    const std::string piece = self.markup() ? escaped_text(rt, items[i]) : items[i].text();
    if (!rt.step(1 + piece.size() / 64)) return {};
    if (i > 0) out += self.text();
    out += piece;
    if (out.size() > rt.limits().max_memory) rt.limit("a text grows beyond the memory limit");
  }
  return text_result(rt, self, std::move(out));
}
inline Value expandtabs_method(Runtime& rt, const Value& self, Args& args) {
  const auto a = bind(rt, "expandtabs", args, 0, {"tabsize"});
  const std::int64_t size = int_argument(rt, a[0], 8);
  std::string out;
  std::int64_t column = 0;
  for (char c : self.text()) {
    if (c == '\t') {
      const std::int64_t n = size > 0 ? size - column % size : 0;
      if (!rt.reserve(std::uint64_t(n) + out.size())) return {};
      out.append(std::size_t(n), ' ');
      column += n;
      continue;
    }
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++column;
    if (c == '\n' || c == '\r') column = 0;
    out += c;
  }
  return text_result(rt, self, std::move(out));
}
inline Value replace_method(Runtime& rt, const Value& self, Args& args) {
  const auto a = bind(rt, "replace", args, 2, {"", "", ""});
  if (rt.failed()) return {};
  const std::string* from = text_argument(rt, a[0]);
  const std::string* to = text_argument(rt, a[1]);
  if (from == nullptr || to == nullptr) return {};
  return text_result(rt, self,
                     replace_all(rt, self.text(), *from, *to, int_argument(rt, a[2], kNoLimit)));
}
inline Value remove_affix(Runtime& rt, const Value& self, Args& args, bool suffix) {
  const auto a = bind(rt, "removeprefix", args, 1, {""});
  if (rt.failed()) return {};
  const std::string* affix = text_argument(rt, a[0]);
  if (affix == nullptr) return {};
  const std::string& text = self.text();
  if (affix->empty() || !(suffix ? text.ends_with(*affix) : text.starts_with(*affix))) return self;
  return text_result(
      rt, self, suffix ? text.substr(0, text.size() - affix->size()) : text.substr(affix->size()));
}
template <class Change>
inline Value change(Runtime& rt, const Value& self, Args& args, Change f) {
  bind(rt, "method", args, 0, {});
  if (!rt.step(self.text().size() / 16)) return {};
  return text_result(rt, self, f(std::string_view(self.text())));
}

}  // namespace detail

}  // namespace veloce::text::jinja

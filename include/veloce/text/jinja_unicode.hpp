// Python's str methods that need to know letters: case, digits, spaces, printability; and work by
// code points.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "veloce/text/jinja_case_tables.hpp"
#include "veloce/text/unicode.hpp"

namespace veloce::text::jinja {

enum class Case { kUpper, kLower, kTitle };

namespace detail {

template <std::size_t N>
inline char32_t map_run(const CaseRun (&runs)[N], char32_t cp) {
  const auto after = std::upper_bound(std::begin(runs), std::end(runs), cp,
                                      [](char32_t c, const CaseRun& run) { return c < run.first; });
  if (after == std::begin(runs)) return cp;
  const CaseRun& run = *std::prev(after);
  if (cp > run.last || (cp - run.first) % run.stride != 0) return cp;
  return char32_t(std::int64_t(cp) + run.distance);
}
template <std::size_t N>
inline const char32_t* find_special(const CaseSpecial (&table)[N], char32_t cp) {
  const auto at = std::lower_bound(std::begin(table), std::end(table), cp,
                                   [](const CaseSpecial& s, char32_t c) { return s.from < c; });
  return at != std::end(table) && at->from == cp ? at->to : nullptr;
}

}  // namespace detail

// Appends a code point in another case.
inline void append_case(std::string& out, char32_t cp, Case to) {
  if (cp < 0x80) {
    const bool lower = cp >= 'a' && cp <= 'z', upper = cp >= 'A' && cp <= 'Z';
    out += char(to == Case::kLower ? (upper ? cp + 32 : cp) : (lower ? cp - 32 : cp));
    return;
  }
  const char32_t* special = to == Case::kUpper   ? detail::find_special(detail::kUpperSpecial, cp)
                            : to == Case::kLower ? detail::find_special(detail::kLowerSpecial, cp)
                                                 : detail::find_special(detail::kTitleSpecial, cp);
  if (special != nullptr) {
    for (; *special != 0; ++special) append_utf8(out, *special);
    return;
  }
  append_utf8(out, to == Case::kUpper   ? detail::map_run(detail::kUpperRuns, cp)
                   : to == Case::kLower ? detail::map_run(detail::kLowerRuns, cp)
                                        : detail::map_run(detail::kTitleRuns, cp));
}

inline bool is_letter(char32_t cp) {
  return (properties(cp) & kLetter) != 0;
}
// Letters like U+01C5: one letter that looks like two, the first of them upper case.
inline bool is_titlecase_letter(char32_t cp) {
  return cp == 0x1C5 || cp == 0x1C8 || cp == 0x1CB || cp == 0x1F2 ||
         (cp >= 0x1F88 && cp <= 0x1FAF && (cp & 8) != 0) || cp == 0x1FBC || cp == 0x1FCC ||
         cp == 0x1FFC;
}
inline bool is_upper_letter(char32_t cp) {
  if (cp < 0x80) return cp >= 'A' && cp <= 'Z';
  return !is_titlecase_letter(cp) && detail::map_run(detail::kLowerRuns, cp) != cp &&
         (properties(cp) & kLower) == 0;
}
inline bool is_lower_letter(char32_t cp) {
  if (cp < 0x80) return cp >= 'a' && cp <= 'z';
  return (properties(cp) & kLower) != 0 || cp == 0xAA || cp == 0xBA;
}
// Has two cases: what str.title takes for the inside of a word.
inline bool is_cased(char32_t cp) {
  return is_upper_letter(cp) || is_lower_letter(cp) || is_titlecase_letter(cp);
}

// The value of a decimal digit of any script, or -1.
inline int decimal_digit(char32_t cp) {
  if (cp < 0x80) return cp >= '0' && cp <= '9' ? int(cp - '0') : -1;
  const auto after =
      std::upper_bound(std::begin(detail::kDigitZeros), std::end(detail::kDigitZeros), cp);
  const std::uint32_t zero = *std::prev(after);
  return cp - zero < 10 ? int(cp - zero) : -1;
}
inline bool is_digit(char32_t cp) {
  if (decimal_digit(cp) >= 0) return true;
  for (std::size_t i = 0; i + 1 < std::size(detail::kOtherDigits); i += 2)
    if (cp >= detail::kOtherDigits[i] && cp <= detail::kOtherDigits[i + 1]) return true;
  return false;
}
inline bool is_numeric(char32_t cp) {
  return is_digit(cp) || (properties(cp) & kNumber) != 0;
}
// str.isspace, and \s of Python's re.
inline bool is_python_space(char32_t cp) {
  if (cp < 0x80) return (cp >= 9 && cp <= 13) || (cp >= 0x1C && cp <= 0x1F) || cp == ' ';
  return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) ||
         cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}
// str.isprintable of one character: repr shows it as it is.
inline bool is_printable(char32_t cp) {
  if (cp < 0x80) return cp >= 0x20 && cp < 0x7F;
  return (properties(cp) & (kLetter | kMark | kNumber | kPunctuation | kSymbol)) != 0;
}
inline bool is_word(char32_t cp) {
  return cp == '_' || is_letter(cp) || is_numeric(cp);
}

// ---- texts by code points; all are valid UTF-8 ----

// Byte offset of code point n, or the size if there are fewer.
inline std::size_t offset_of(std::string_view text, std::size_t n) {
  std::size_t at = 0;
  for (; n > 0 && at < text.size(); --n)
    at += std::size_t(utf8_length(static_cast<unsigned char>(text[at])));
  return std::min(at, text.size());
}
inline char32_t first_code_point(std::string_view text) {
  return text.empty() ? 0 : decode_utf8(text, 0).code_point;
}
// Start of the last code point before `end`.
inline std::size_t previous(std::string_view text, std::size_t end) {
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

template <class Predicate>
inline std::string_view strip_left(std::string_view text, Predicate drop) {
  while (!text.empty()) {
    const Decoded d = decode_utf8(text, 0);
    if (!drop(d.code_point)) break;
    text.remove_prefix(std::size_t(d.length));
  }
  return text;
}
template <class Predicate>
inline std::string_view strip_right(std::string_view text, Predicate drop) {
  while (!text.empty()) {
    const std::size_t at = previous(text, text.size());
    if (!drop(decode_utf8(text, at).code_point)) break;
    text.remove_suffix(text.size() - at);
  }
  return text;
}

// Appends the code point at `at` in lower case; a Greek capital sigma at the end of a word has a
// form of its own.
inline void append_lower(std::string& out, std::string_view text, std::size_t at, char32_t cp) {
  if (cp != 0x3A3) return append_case(out, cp, Case::kLower);
  const bool inside = at > 0 && is_cased(decode_utf8(text, previous(text, at)).code_point);
  const std::size_t next = at + 2;
  const bool goes_on = next < text.size() && is_cased(decode_utf8(text, next).code_point);
  append_utf8(out, inside && !goes_on ? 0x3C2 : 0x3C3);
}

inline std::string to_case(std::string_view text, Case to) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    if (to == Case::kLower)
      append_lower(out, text, at, d.code_point);
    else
      append_case(out, d.code_point, to);
    at += std::size_t(d.length);
  }
  return out;
}

// First letter in title case, the rest in lower case.
inline std::string capitalized(std::string_view text) {
  if (text.empty()) return {};
  const Decoded d = decode_utf8(text, 0);
  std::string out;
  append_case(out, d.code_point, Case::kTitle);
  return out + to_case(text.substr(std::size_t(d.length)), Case::kLower);
}

}  // namespace veloce::text::jinja

// Pieces of GBNF text that JSON needs: quoting, character classes as they are spelled inside a JSON
// string, repetitions beyond GBNF's own bound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/text/grammar_ast.hpp"
#include "veloce/text/grammar_utf8.hpp"
#include "veloce/text/utf8.hpp"

namespace veloce::text::schema {

inline std::string hex_digits(std::uint32_t value, int digits) {
  std::string out;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[(value >> shift) & 0xF];
  }
  return out;
}

// A GBNF literal of UTF-8 text.
inline std::string gbnf_literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\x" + hex_digits(byte, 2);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// A GBNF class of the ranges (not empty).
inline std::string gbnf_class(const std::vector<CodeRange>& ranges) {
  auto put = [](std::uint32_t cp, std::string& out) {
    const bool plain =
        (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z');
    if (plain) {
      out += static_cast<char>(cp);
      return;
    }
    out += cp < 0x100     ? "\\x" + hex_digits(cp, 2)
           : cp < 0x10000 ? "\\u" + hex_digits(cp, 4)
                          : "\\U" + hex_digits(cp, 8);
  };
  std::string out = "[";
  for (const CodeRange& r : ranges) {
    put(r.lo, out);
    if (r.hi > r.lo) {
      out += '-';
      put(r.hi, out);
    }
  }
  return out + "]";
}

inline std::vector<CodeRange> complement_of(std::vector<CodeRange> ranges) {
  return normal_ranges(std::move(ranges), true);
}

inline bool contains(const std::vector<CodeRange>& ranges, std::uint32_t cp) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](CodeRange r) { return r.lo <= cp && cp <= r.hi; });
}

// The text of one character inside a JSON string: one spelling for each (short escapes where there
// are any).
inline std::string json_escaped(std::uint32_t cp) {
  switch (cp) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  std::string out;
  if (cp < 0x20 || cp == 0x7F) {
    out = "\\u" + hex_digits(cp, 4);
  } else {
    append_utf8(out, cp);
  }
  return out;
}

// A JSON string with its quotes. False if `text` isn't UTF-8.
inline bool json_quoted(std::string_view text, std::string& out) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t cp = 0;
    if (!read_utf8(text, at, cp)) return false;
    out += json_escaped(cp);
  }
  out += '"';
  return true;
}

// GBNF for one character of the set as spelled inside a JSON string; empty if the set is.
inline std::string json_class(const std::vector<CodeRange>& set) {
  std::vector<CodeRange> outside = complement_of(set);
  outside.insert(outside.end(), {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}});
  const std::vector<CodeRange> raw = complement_of(outside);
  std::string out;
  auto add = [&](const std::string& branch) { out += (out.empty() ? "" : " | ") + branch; };
  if (!raw.empty()) add(gbnf_class(raw));
  for (std::uint32_t cp = 0; cp <= 0x7F; ++cp) {
    const bool special = cp < 0x20 || cp == '"' || cp == '\\' || cp == 0x7F;
    if (special && contains(set, cp)) add(gbnf_literal(json_escaped(cp)));
  }
  return out.find(" | ") == std::string::npos ? out : "(" + out + ")";
}

}  // namespace veloce::text::schema

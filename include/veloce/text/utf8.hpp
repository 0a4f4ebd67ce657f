// UTF-8 in and out, strictly: overlong forms, surrogates and what lies above U+10FFFF are invalid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace veloce::text {

inline constexpr char32_t kReplacement = 0xFFFD;
inline constexpr char32_t kLastCodePoint = 0x10FFFF;

// Bytes of the sequence that starts with `lead`: 1 to 4; 1 for a byte that cannot start one.
constexpr int utf8_length(unsigned char lead) {
  return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 1;
}

// Appends the UTF-8 form of a code point (at most U+10FFFF).
inline void append_utf8(std::string& out, char32_t cp) {
  if (cp < 0x80) {
    out += char(cp);
  } else if (cp < 0x800) {
    out += char(0xC0 | (cp >> 6));
    out += char(0x80 | (cp & 63));
  } else if (cp < 0x10000) {
    out += char(0xE0 | (cp >> 12));
    out += char(0x80 | ((cp >> 6) & 63));
    out += char(0x80 | (cp & 63));
  } else {
    out += char(0xF0 | (cp >> 18));
    out += char(0x80 | ((cp >> 12) & 63));
    out += char(0x80 | ((cp >> 6) & 63));
    out += char(0x80 | (cp & 63));
  }
}

// One code point read from UTF-8. Overlong forms, surrogates, values above U+10FFFF and stray or
// missing continuation bytes are invalid: then valid is false, the code point U+FFFD and the length
// 1, so that reading goes on a byte later.
struct Decoded {
  char32_t code_point = kReplacement;
  int length = 1;
  bool valid = false;
};
inline Decoded decode_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return std::uint32_t(static_cast<unsigned char>(text[at + i]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {char32_t(lead), 1, true};
  const int n = lead >= 0xC2 && lead <= 0xF4 ? utf8_length(static_cast<unsigned char>(lead)) : 1;
  if (n == 1 || text.size() - at < std::size_t(n)) return {};
  std::uint32_t cp = lead & (0xFFu >> (n + 1));
  for (int i = 1; i < n; ++i) {
    if ((byte(std::size_t(i)) & 0xC0) != 0x80) return {};
    cp = cp << 6 | (byte(std::size_t(i)) & 63);
  }
  const bool overlong = (n == 3 && cp < 0x800) || (n == 4 && cp < 0x10000);
  if (overlong || (cp >= 0xD800 && cp <= 0xDFFF) || cp > kLastCodePoint) return {};
  return {char32_t(cp), n, true};
}

// Reads one valid code point at `at` and moves `at` behind it; false (and `at` unmoved) where there
// is none.
inline bool read_utf8(std::string_view text, std::size_t& at, std::uint32_t& cp) {
  if (at >= text.size()) return false;
  const Decoded d = decode_utf8(text, at);
  if (!d.valid) return false;
  cp = d.code_point;
  at += std::size_t(d.length);
  return true;
}

// True if the whole text is valid UTF-8.
inline bool is_valid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    if (!d.valid) return false;
    at += std::size_t(d.length);
  }
  return true;
}

// Code points of a text; each invalid byte becomes one U+FFFD.
inline std::u32string code_points(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text, at);
    out.push_back(d.code_point);
    at += std::size_t(d.length);
  }
  return out;
}

inline std::string to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char32_t cp : text) append_utf8(out, cp);
  return out;
}

}  // namespace veloce::text

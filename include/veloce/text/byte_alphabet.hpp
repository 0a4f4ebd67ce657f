// The alphabet in which byte-level BPE writes bytes as printable characters. Source:
// specs/tokenizers.md section 4: bytes 21-7E, A1-AC and AE-FF stand for themselves, the other 68,
// in order, for U+0100, U+0101, ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "veloce/text/utf8.hpp"

namespace veloce::text {

class ByteAlphabet {
 public:
  static const ByteAlphabet& get() {
    static const ByteAlphabet alphabet;
    return alphabet;
  }

  // The character of a byte, as UTF-8.
  const std::string& character(unsigned char byte) const { return characters_[byte]; }

  // The byte a character stands for, or -1.
  int byte(char32_t character) const { return character < bytes_.size() ? bytes_[character] : -1; }

  std::string encode(std::string_view bytes) const {
    std::string out;
    out.reserve(bytes.size() * 2);
    for (char c : bytes) out += character(static_cast<unsigned char>(c));
    return out;
  }

  // Appends the bytes that a text in the alphabet stands for. A character outside the alphabet
  // stands for itself, so that an odd token is still readable.
  void decode(std::string_view text, std::string& out) const {
    for (std::size_t at = 0; at < text.size();) {
      const Decoded d = decode_utf8(text, at);
      const int b = d.valid ? byte(d.code_point) : -1;
      if (b >= 0)
        out += char(b);
      else
        out += text.substr(at, std::size_t(d.length));
      at += std::size_t(d.length);
    }
  }

 private:
  ByteAlphabet() {
    bytes_.fill(-1);
    char32_t next = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
      const char32_t c = printable ? char32_t(b) : next++;
      append_utf8(characters_[b], c);
      bytes_[c] = std::int16_t(b);
    }
  }

  std::array<std::string, 256> characters_;
  std::array<std::int16_t, 0x144> bytes_;
};

}  // namespace veloce::text

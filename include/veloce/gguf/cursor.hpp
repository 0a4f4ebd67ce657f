// Reading untrusted bytes: a position that can never pass its end, and the spelling of untrusted
// text in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace veloce::gguf {

// A bounded little-endian reader. A read that does not fit returns false and moves nothing.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return bytes_.size() - position_; }
  const std::byte* here() const { return bytes_.data() + position_; }

  bool skip(std::uint64_t count) {
    if (count > remaining()) return false;
    position_ += count;
    return true;
  }

  template <class T>
  bool read(T& out) {
    if (sizeof(T) > remaining()) return false;
    std::memcpy(&out, here(), sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  // A u64 length and that many bytes; `out` views the bytes in place.
  bool read_string(std::string_view& out) {
    std::uint64_t length = 0;
    if (sizeof length > remaining()) return false;
    std::memcpy(&length, here(), sizeof length);
    if (length > remaining() - sizeof length) return false;
    out = {reinterpret_cast<const char*>(here() + sizeof length), std::size_t(length)};
    position_ += sizeof length + length;
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t position_ = 0;
};

// Untrusted text in double quotes, at most about 80 characters, with anything but printable ASCII
// as \xNN: safe to print, log or put into JSON.
inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size() && i < kLongest; ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (c >= 0x20 && c < 0x7F) {
      out += char(c);
    } else {
      out += "\\x";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  out += text.size() > kLongest ? "...\"" : "\"";
  return out;
}

}  // namespace veloce::gguf

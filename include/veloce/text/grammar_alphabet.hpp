// Groups of bytes, by which a token trie and a grammar tell each other what a whole subtree may
// hold: a set of groups is 64 bits. Where a grammar stays where it is for every byte of a subtree
// (the middle of a string, say), all tokens of the subtree are allowed and none need be walked.
#pragma once

#include <array>
#include <cstdint>

namespace veloce::text {

using ByteGroups = std::uint64_t;

// Whole characters beyond ASCII, and the beginning of one at a token's end.
inline constexpr ByteGroups kHighCharacters = ByteGroups(1) << 62;
// Bytes that belong to no character.
inline constexpr ByteGroups kStrayBytes = ByteGroups(1) << 63;

namespace detail {
// Letters and digits by kind, controls but tab and line ends together, every other ASCII character
// by itself.
constexpr std::array<ByteGroups, 128> ascii_groups() {
  std::array<ByteGroups, 128> groups{};
  int next = 4;
  for (unsigned b = 0; b < 128; ++b) {
    int group = 0;
    if (b >= 'a' && b <= 'z')
      group = 0;
    else if (b >= 'A' && b <= 'Z')
      group = 1;
    else if (b >= '0' && b <= '9')
      group = 2;
    else if ((b < 0x20 && b != '\t' && b != '\n' && b != '\r') || b == 0x7F)
      group = 3;
    else
      group = next++;
    groups[b] = ByteGroups(1) << group;
  }
  return groups;
}
inline constexpr std::array<ByteGroups, 128> kAsciiGroups = ascii_groups();
}  // namespace detail

// What follows in UTF-8 after the bytes so far.
class Utf8Place {
 public:
  bool between_characters() const { return more_ == 0; }
  bool lost() const { return more_ < 0; }

  // The place after one more byte, which adds to `groups` what it belongs to.
  Utf8Place after(std::uint8_t byte, ByteGroups& groups) const {
    Utf8Place next = moved(byte);
    groups |= next.lost()   ? kStrayBytes
              : byte < 0x80 ? detail::kAsciiGroups[byte]
                            : kHighCharacters;
    return next;
  }

 private:
  Utf8Place moved(std::uint8_t byte) const {
    Utf8Place next;
    next.more_ = -1;
    if (more_ == 0) {
      if (byte < 0x80) next.more_ = 0;
      if (byte >= 0xC2 && byte <= 0xDF) next.more_ = 1;
      if (byte >= 0xE0 && byte <= 0xEF) next.more_ = 2;
      if (byte >= 0xF0 && byte <= 0xF4) next.more_ = 3;
      if (byte == 0xE0) next.low_ = 0xA0;
      if (byte == 0xED) next.high_ = 0x9F;
      if (byte == 0xF0) next.low_ = 0x90;
      if (byte == 0xF4) next.high_ = 0x8F;
    } else if (more_ > 0 && byte >= low_ && byte <= high_) {
      next.more_ = std::int8_t(more_ - 1);
    }
    return next;
  }

  std::int8_t more_ = 0;  // bytes that the character still needs; -1: no character any more
  std::uint8_t low_ = 0x80, high_ = 0xBF;  // of the next
};

}  // namespace veloce::text

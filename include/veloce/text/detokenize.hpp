// Streaming detokenization: tokens in, whole characters out. A token may end in the middle of a
// character; what is sent to a client never does. Source: specs/tokenizers.md section 8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "veloce/text/tokenizer.hpp"
#include "veloce/text/utf8.hpp"

namespace veloce::text {

// Bytes in, valid UTF-8 out. A character is held back until its last byte is there; bytes that
// cannot belong to one become U+FFFD, one for each byte.
class Utf8Stream {
 public:
  // The characters completed by these bytes.
  std::string push(std::string_view bytes) {
    pending_ += bytes;
    std::string out;
    std::size_t at = 0;
    while (at < pending_.size() && !is_unfinished(std::string_view(pending_).substr(at))) {
      const Decoded d = decode_utf8(pending_, at);
      append_utf8(out, d.code_point);
      at += std::size_t(d.length);
    }
    pending_.erase(0, at);
    return out;
  }

  // The end of the text: what was held back, as U+FFFD.
  std::string finish() {
    std::string out;
    for (std::size_t i = 0; i < pending_.size(); ++i) append_utf8(out, kReplacement);
    pending_.clear();
    return out;
  }

  // Bytes held back: at most 3.
  std::string_view pending() const { return pending_; }

 private:
  // True if more bytes could still make this (which has the beginning of a character at its front)
  // a character.
  static bool is_unfinished(std::string_view text) {
    const unsigned char lead = static_cast<unsigned char>(text[0]);
    if (lead < 0xC2 || lead > 0xF4 || text.size() >= std::size_t(utf8_length(lead))) return false;
    for (std::size_t i = 1; i < text.size(); ++i)
      if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return false;
    if (text.size() == 1) return true;
    // The second byte already rules out overlong forms, surrogates and values above U+10FFFF.
    const unsigned char second = static_cast<unsigned char>(text[1]);
    return !(lead == 0xE0 && second < 0xA0) && !(lead == 0xED && second > 0x9F) &&
           !(lead == 0xF0 && second < 0x90) && !(lead == 0xF4 && second > 0x8F);
  }

  std::string pending_;
};

// Token ids in, whole characters out. The tokenizer must outlive it.
class StreamDetokenizer {
 public:
  // special: control tokens are written out too. drop_leading_space: the text begins with the first
  // token (and does not continue a prompt), so the space that an SPM tokenizer puts in front of
  // every text is not part of it.
  explicit StreamDetokenizer(const Tokenizer& tokenizer, bool special = false,
                             bool drop_leading_space = false)
      : tokenizer_(&tokenizer),
        special_(special),
        drop_space_(drop_leading_space && tokenizer.vocabulary().kind() == TokenizerKind::kSpm &&
                    tokenizer.vocabulary().add_space_prefix()) {}

  // The characters that this token completes; may be empty.
  std::string push(std::int32_t id) {
    std::string bytes = tokenizer_->piece(id, special_);
    if (drop_space_ && !bytes.empty()) {
      if (bytes.front() == ' ') bytes.erase(0, 1);
      drop_space_ = false;
    }
    return stream_.push(bytes);
  }

  // The end: half a character that is left becomes U+FFFD. A streamed answer may leave it out
  // instead.
  std::string finish() { return stream_.finish(); }

  std::string_view pending() const { return stream_.pending(); }

 private:
  const Tokenizer* tokenizer_;
  bool special_, drop_space_;
  Utf8Stream stream_;
};

}  // namespace veloce::text

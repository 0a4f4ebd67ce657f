// Cuts generated text at the first stop string, however the text is cut into pieces, and never lets
// out a piece that ends inside a UTF-8 sequence or in what may yet become a stop string.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace veloce::serve {

class StopMatcher {
 public:
  // Empty strings are ignored. Takes time linear in their total length.
  explicit StopMatcher(const std::vector<std::string>& stops);

  // Appends a piece and returns the text that may be sent now. After a match nothing more is sent.
  std::string feed(std::string_view piece);
  // What was held back, at the end of the text.
  std::string finish();

  // The stop string that ended the text.
  const std::optional<std::string>& matched() const { return matched_; }
  // All text so far: what was sent and what is held back; cut at the stop string.
  const std::string& text() const { return text_; }
  std::size_t sent() const { return sent_; }

 private:
  // Knuth-Morris-Pratt: `state` is the length of the longest prefix of the stop string that ends
  // the text.
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;
    std::size_t state = 0;
  };
  std::string send_up_to(std::size_t end);

  std::vector<Pattern> patterns_;
  std::string text_;
  std::size_t sent_ = 0;
  std::optional<std::string> matched_;
};

}  // namespace veloce::serve

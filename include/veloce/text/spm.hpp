// SentencePiece-style tokenizing by scores: the ids of one fragment. Source: specs/tokenizers.md
// section 5.
//
// The whole fragment is one word; a heap whose stale entries are skipped keeps it at n log n.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/text/unicode.hpp"
#include "veloce/text/vocabulary.hpp"

namespace veloce::text {

inline constexpr std::string_view kSpmSpace = "\xE2\x96\x81";  // U+2581

// The byte of a text like "<0x0A>", or -1.
inline int spm_byte(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  int value = 0;
  for (char c : text.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

class ScoreEncoder {
 public:
  void build(const Vocabulary& vocabulary, std::vector<std::string>& warnings) {
    constexpr char kHex[] = "0123456789ABCDEF";
    std::size_t missing = 0;
    for (unsigned b = 0; b < 256; ++b) {
      const char c = char(b);
      const std::string name = {'<', '0', 'x', kHex[b >> 4], kHex[b & 15], '>'};
      byte_token_[b] = vocabulary.find(name);
      if (byte_token_[b] < 0) byte_token_[b] = vocabulary.find(std::string_view(&c, 1));
      missing += byte_token_[b] < 0;
    }
    for (std::int32_t id = 0; id < vocabulary.size(); ++id)
      longest_ = std::max(longest_, vocabulary.text(id).size());
    if (missing != 0)
      warnings.push_back("tokenizer.ggml.tokens: " + std::to_string(missing) +
                         " of the 256 bytes have no token and are dropped from texts");
  }

  // Appends the ids of a fragment (at most 2^30 bytes) of raw text; `space_prefix` puts a space in
  // front. Safe to call from many threads.
  void encode(const Vocabulary& vocabulary, std::string_view fragment, bool space_prefix,
              std::vector<std::int32_t>& out) const;

 private:
  static constexpr std::uint32_t kEnd = 0xFFFFFFFFu;
  struct Node {
    std::uint32_t begin = 0, size = 0;  // in the text; size 0: joined to an earlier node
    std::uint32_t previous = kEnd, next = kEnd;
  };
  struct Pair {
    float score;
    std::uint32_t left, size;  // node and the size of both together
  };
  // For std heap functions: the highest score is on top, leftmost among equals.
  static bool below(const Pair& a, const Pair& b) {
    return a.score < b.score || (a.score == b.score && a.left > b.left);
  }

  std::array<std::int32_t, 256> byte_token_{};
  std::size_t longest_ = 0;
};

inline void ScoreEncoder::encode(const Vocabulary& vocabulary, std::string_view fragment,
                                 bool space_prefix, std::vector<std::int32_t>& out) const {
  if (fragment.empty()) return;
  std::string text;
  text.reserve(fragment.size() + fragment.size() / 2 + 3);
  if (space_prefix) text += kSpmSpace;
  for (char c : fragment) {
    if (c == ' ')
      text += kSpmSpace;
    else
      text += c;
  }
  std::vector<Node> nodes;
  nodes.reserve(fragment.size() + 1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n =
        std::min(std::size_t(utf8_length(static_cast<unsigned char>(text[at]))), text.size() - at);
    const std::uint32_t i = std::uint32_t(nodes.size());
    nodes.push_back({std::uint32_t(at), std::uint32_t(n), i == 0 ? kEnd : i - 1, i + 1});
    at += n;
  }
  nodes.back().next = kEnd;

  std::vector<Pair> heap;
  const auto look_up = [&](std::uint32_t left) {
    const Node& node = nodes[left];
    if (node.next == kEnd) return false;
    const std::uint32_t size = node.size + nodes[node.next].size;
    if (size > longest_) return false;
    const std::int32_t id = vocabulary.find(std::string_view(text).substr(node.begin, size));
    if (id < 0) return false;
    heap.push_back({vocabulary.score(id), left, size});
    return true;
  };
  for (std::uint32_t i = 0; i < nodes.size(); ++i) look_up(i);
  std::make_heap(heap.begin(), heap.end(), below);
  while (!heap.empty()) {
    const Pair top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), below);
    heap.pop_back();
    Node& node = nodes[top.left];
    // Spans only grow, so the pair is still there exactly if the sizes still add up.
    if (node.size == 0 || node.next == kEnd || node.size + nodes[node.next].size != top.size)
      continue;
    Node& gone = nodes[node.next];
    gone.size = 0;
    node.size = top.size;
    node.next = gone.next;
    if (node.next != kEnd) nodes[node.next].previous = top.left;
    if (look_up(top.left)) std::push_heap(heap.begin(), heap.end(), below);
    if (node.previous != kEnd && look_up(node.previous))
      std::push_heap(heap.begin(), heap.end(), below);
  }
  for (std::uint32_t i = 0; i != kEnd; i = nodes[i].next) {
    const std::string_view symbol = std::string_view(text).substr(nodes[i].begin, nodes[i].size);
    if (const std::int32_t id = vocabulary.find(symbol); id >= 0) {
      out.push_back(id);
      continue;
    }
    for (char c : symbol)
      if (const std::int32_t id = byte_token_[static_cast<unsigned char>(c)]; id >= 0)
        out.push_back(id);
  }
}

}  // namespace veloce::text

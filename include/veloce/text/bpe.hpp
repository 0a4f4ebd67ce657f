// Byte-level BPE: the ids of one word. Source: specs/tokenizers.md section 4.
//
// Symbols are numbered: token ids first, then texts that occur in merges but are no tokens. A merge
// is looked up by the pair of numbers, so no text is touched while merging. Short words are scanned
// again after each merge; long ones use a heap whose stale entries are skipped when they come up,
// so that a word of a million characters takes n log n.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/text/byte_alphabet.hpp"
#include "veloce/text/vocabulary.hpp"

namespace veloce::text {

class BytePairEncoder {
 public:
  // Reads the merges; `warnings` gets what is odd. Fails with kCorrupt and the index of a merge
  // that is none.
  Status build(const Vocabulary& vocabulary, const std::vector<std::string_view>& merges,
               std::vector<std::string>& warnings);

  // Appends the ids of a word given as bytes (at most 2^31). Bytes that the vocabulary lacks are
  // dropped, as every engine does. Safe to call from many threads.
  void encode(const Vocabulary& vocabulary, std::string_view word,
              std::vector<std::int32_t>& out) const;

 private:
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFFu;
  static constexpr std::size_t kShort = 32;

  struct Merge {
    std::uint32_t left = 0, right = 0;
    std::uint32_t rank = kNoRank;
    std::int32_t result = 0;
  };
  struct Node {
    std::uint32_t symbol = 0, rank = kNoRank;
    std::int32_t result = 0;  // of merging this symbol with the next one, if rank is one
    std::uint32_t previous = 0, next = 0;
  };
  static constexpr std::uint32_t kEnd = 0xFFFFFFFFu;

  std::size_t locate(std::uint32_t left, std::uint32_t right) const {
    std::uint64_t h = (std::uint64_t(left) << 32 | right) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    std::size_t at = std::size_t(h >> 20) & (merges_.size() - 1);
    while (merges_[at].rank != kNoRank && !(merges_[at].left == left && merges_[at].right == right))
      at = (at + 1) & (merges_.size() - 1);
    return at;
  }

  void encode_short(std::string_view word, std::vector<std::int32_t>& out) const;
  void encode_long(std::string_view word, std::vector<std::int32_t>& out) const;
  void emit(std::uint32_t symbol, std::vector<std::int32_t>& out) const;

  std::vector<Merge> merges_;
  TextTable extra_;           // texts of the symbols that are no tokens
  std::uint32_t tokens_ = 0;  // symbols below this are token ids
  std::array<std::uint32_t, 256> byte_symbol_{};
  std::array<std::int32_t, 256> char_token_{};  // token whose text is that single byte, or -1
  std::size_t longest_ = 0;                     // bytes of the longest token text
};

inline Status BytePairEncoder::build(const Vocabulary& vocabulary,
                                     const std::vector<std::string_view>& merges,
                                     std::vector<std::string>& warnings) {
  tokens_ = std::uint32_t(vocabulary.size());
  const auto symbol = [&](std::string_view text) {
    const std::int32_t id = vocabulary.find(text);
    return id >= 0 ? std::uint32_t(id) : tokens_ + std::uint32_t(extra_.add(text));
  };
  std::size_t missing = 0;
  for (unsigned b = 0; b < 256; ++b) {
    byte_symbol_[b] = symbol(ByteAlphabet::get().character(static_cast<unsigned char>(b)));
    missing += byte_symbol_[b] >= tokens_;
    const char c = char(b);
    char_token_[b] = vocabulary.find(std::string_view(&c, 1));
  }
  if (missing != 0)
    warnings.push_back("tokenizer.ggml.tokens: " + std::to_string(missing) +
                       " of the 256 bytes have no token and are dropped from texts");
  for (std::int32_t id = 0; id < vocabulary.size(); ++id)
    longest_ = std::max(longest_, vocabulary.text(id).size());

  std::size_t slots = 16;
  while (slots < merges.size() * 3 / 2) slots *= 2;
  merges_.assign(slots, Merge());
  std::string joined;
  std::size_t extra_bytes = 0;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size())
      return {Code::kCorrupt, detail::indexed("merges", rank) + ": " + gguf::in_quotes(merge) +
                                  " is not two texts with a space between them"};
    const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
    joined.assign(left);
    joined += right;
    extra_bytes += 2 * merge.size();
    if (extra_bytes > TextTable::kMaxBytes)
      return detail::bad_key("merges", "more than 2 GiB of text");
    const std::uint32_t a = symbol(left), b = symbol(right);
    Merge& slot = merges_[locate(a, b)];
    if (slot.rank != kNoRank) continue;  // of equal pairs the first counts
    slot = {a, b, std::uint32_t(rank), std::int32_t(symbol(joined))};
  }
  if (extra_.size() > missing)
    warnings.push_back("tokenizer.ggml.merges: " + std::to_string(extra_.size() - missing) +
                       " texts in merges are not tokens");
  return {};
}

inline void BytePairEncoder::encode(const Vocabulary& vocabulary, std::string_view word,
                                    std::vector<std::int32_t>& out) const {
  if (word.empty()) return;
  if (vocabulary.pre().ignore_merges && word.size() <= longest_) {
    const std::int32_t id = vocabulary.find(ByteAlphabet::get().encode(word));
    if (id >= 0) return out.push_back(id);
  }
  if (word.size() <= kShort)
    encode_short(word, out);
  else
    encode_long(word, out);
}

inline void BytePairEncoder::emit(std::uint32_t symbol, std::vector<std::int32_t>& out) const {
  if (symbol < tokens_) return out.push_back(std::int32_t(symbol));
  for (char c : extra_[symbol - tokens_])
    if (const std::int32_t id = char_token_[static_cast<unsigned char>(c)]; id >= 0)
      out.push_back(id);
}

inline void BytePairEncoder::encode_short(std::string_view word,
                                          std::vector<std::int32_t>& out) const {
  std::uint32_t symbols[kShort];
  std::uint32_t ranks[kShort];  // of symbol i with the next one
  std::int32_t results[kShort];
  std::size_t count = word.size();
  const auto look_up = [&](std::size_t i) {
    const Merge& merge = merges_[locate(symbols[i], symbols[i + 1])];
    ranks[i] = merge.rank;
    results[i] = merge.result;
  };
  for (std::size_t i = 0; i < count; ++i)
    symbols[i] = byte_symbol_[static_cast<unsigned char>(word[i])];
  for (std::size_t i = 0; i + 1 < count; ++i) look_up(i);
  ranks[count - 1] = kNoRank;
  results[count - 1] = 0;
  while (count > 1) {
    const std::size_t best = std::size_t(std::min_element(ranks, ranks + count - 1) - ranks);
    if (ranks[best] == kNoRank) break;
    symbols[best] = std::uint32_t(results[best]);
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      symbols[i] = symbols[i + 1];
      ranks[i] = ranks[i + 1];
      results[i] = results[i + 1];
    }
    --count;
    if (best + 1 < count) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  for (std::size_t i = 0; i < count; ++i) emit(symbols[i], out);
}

inline void BytePairEncoder::encode_long(std::string_view word,
                                         std::vector<std::int32_t>& out) const {
  const std::uint32_t count = std::uint32_t(word.size());
  std::vector<Node> nodes(count);
  // Rank above position: the smallest is the lowest rank, leftmost among equals.
  std::vector<std::uint64_t> heap;
  heap.reserve(count);
  const auto look_up = [&](std::uint32_t i) {
    Node& node = nodes[i];
    node.rank = kNoRank;
    if (node.next == kEnd) return;
    const Merge& merge = merges_[locate(node.symbol, nodes[node.next].symbol)];
    node.rank = merge.rank;
    node.result = merge.result;
    if (node.rank != kNoRank) heap.push_back(std::uint64_t(node.rank) << 32 | i);
  };
  const auto greater = [](std::uint64_t a, std::uint64_t b) { return a > b; };
  const auto push = [&](std::uint32_t i) {
    const std::size_t before = heap.size();
    look_up(i);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), greater);
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    nodes[i].symbol = byte_symbol_[static_cast<unsigned char>(word[i])];
    nodes[i].previous = i == 0 ? kEnd : i - 1;
    nodes[i].next = i + 1 == count ? kEnd : i + 1;
  }
  for (std::uint32_t i = 0; i < count; ++i) look_up(i);
  std::make_heap(heap.begin(), heap.end(), greater);
  while (!heap.empty()) {
    const std::uint64_t top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), greater);
    heap.pop_back();
    const std::uint32_t i = std::uint32_t(top);
    Node& node = nodes[i];
    if (node.rank != std::uint32_t(top >> 32)) continue;  // stale: the pair is no longer there
    Node& gone = nodes[node.next];
    gone.rank = kNoRank;
    node.symbol = std::uint32_t(node.result);
    node.next = gone.next;
    if (node.next != kEnd) nodes[node.next].previous = i;
    push(i);
    if (node.previous != kEnd) push(node.previous);
  }
  for (std::uint32_t i = 0; i != kEnd; i = nodes[i].next) emit(nodes[i].symbol, out);
}

}  // namespace veloce::text

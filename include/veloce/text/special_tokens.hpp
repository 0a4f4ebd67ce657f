// Finds the special tokens that stand in a text. Source: specs/tokenizers.md section 6.
//
// The rule there goes token by token, longest text first, through all of the text that is still
// raw. Done so, it costs tokens times text (DeepSeek has some 800). Here an Aho-Corasick automaton
// reads the text once and gives the longest token that ends at each place; the finds are then taken
// in the rule's order (longer, lower id, further left), and a find that hits text already taken
// falls back to the next shorter token ending at the same place. The result is the rule's, in n log
// n of the finds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "veloce/text/vocabulary.hpp"

namespace veloce::text {

// A part of a text: a special token, or raw text (id -1).
struct Fragment {
  std::size_t begin = 0, end = 0;
  std::int32_t id = -1;
};

class SpecialTokenFinder {
 public:
  // Finds the tokens listed. Texts must not be empty.
  void build(const Vocabulary& vocabulary, std::vector<std::int32_t> ids);

  // Appends the parts of the text, in order; empty raw parts are left out.
  void split(std::string_view text, std::vector<Fragment>& out) const;

 private:
  static constexpr std::uint32_t kRoot = 0;
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  struct Node {
    std::uint32_t fail = kRoot;     // longest proper suffix that is a prefix of some token
    std::uint32_t rank = kNone;     // the token that ends here
    std::uint32_t shorter = kNone;  // rank of the longest token that is a proper suffix
  };
  struct Token {
    std::int32_t id = 0;
    std::uint32_t size = 0;
    std::uint32_t shorter = kNone;  // rank of the longest token that is a proper suffix of this one
  };

  static std::uint64_t edge(std::uint32_t node, unsigned char byte) {
    return std::uint64_t(node) << 8 | byte;
  }
  std::uint32_t child(std::uint32_t node, unsigned char byte) const {
    if (node == kRoot) return root_[byte];
    const auto it = edges_.find(edge(node, byte));
    return it == edges_.end() ? kRoot : it->second;
  }
  std::uint32_t next(std::uint32_t node, unsigned char byte) const {
    for (;;) {
      const std::uint32_t to = child(node, byte);
      if (to != kRoot || node == kRoot) return to;
      node = nodes_[node].fail;
    }
  }

  std::vector<Token> tokens_;  // by rank: longest first, then by id
  std::vector<Node> nodes_;
  std::array<std::uint32_t, 256> root_{};
  std::unordered_map<std::uint64_t, std::uint32_t> edges_;
};

inline void SpecialTokenFinder::build(const Vocabulary& vocabulary, std::vector<std::int32_t> ids) {
  std::sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) {
    const std::size_t x = vocabulary.text(a).size(), y = vocabulary.text(b).size();
    return x != y ? x > y : a < b;
  });
  nodes_.assign(1, Node());
  tokens_.clear();
  edges_.clear();
  root_.fill(kRoot);
  struct Link {
    std::uint32_t parent, node;
    unsigned char byte;
  };
  std::vector<std::vector<Link>> by_depth;
  for (std::int32_t id : ids) {
    const std::string_view text = vocabulary.text(id);
    std::uint32_t at = kRoot;
    for (std::size_t depth = 0; depth < text.size(); ++depth) {
      const unsigned char byte = static_cast<unsigned char>(text[depth]);
      std::uint32_t to = child(at, byte);
      if (to == kRoot) {
        to = std::uint32_t(nodes_.size());
        nodes_.emplace_back();
        if (at == kRoot)
          root_[byte] = to;
        else
          edges_.emplace(edge(at, byte), to);
        if (by_depth.size() <= depth) by_depth.emplace_back();
        by_depth[depth].push_back({at, to, byte});
      }
      at = to;
    }
    nodes_[at].rank = std::uint32_t(tokens_.size());
    tokens_.push_back({id, std::uint32_t(text.size()), kNone});
  }
  for (std::size_t depth = 0; depth < by_depth.size(); ++depth) {
    for (const Link& link : by_depth[depth]) {
      Node& node = nodes_[link.node];
      node.fail = depth == 0 ? kRoot : next(nodes_[link.parent].fail, link.byte);
      const Node& suffix = nodes_[node.fail];
      node.shorter = suffix.rank != kNone ? suffix.rank : suffix.shorter;
      if (node.rank != kNone) tokens_[node.rank].shorter = node.shorter;
    }
  }
}

inline void SpecialTokenFinder::split(std::string_view text, std::vector<Fragment>& out) const {
  if (text.empty()) return;
  if (tokens_.empty()) return out.push_back({0, text.size(), -1});
  struct Find {
    std::uint32_t rank;
    std::size_t end;
    bool operator>(const Find& other) const {
      return rank != other.rank ? rank > other.rank : end > other.end;
    }
  };
  std::vector<Find> finds;
  std::uint32_t node = kRoot;
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = next(node, static_cast<unsigned char>(text[i]));
    const Node& n = nodes_[node];
    const std::uint32_t rank = n.rank != kNone ? n.rank : n.shorter;
    if (rank != kNone) finds.push_back({rank, i + 1});
  }
  if (finds.empty()) return out.push_back({0, text.size(), -1});

  std::vector<bool> taken(text.size());
  std::vector<Fragment> chosen;
  std::priority_queue<Find, std::vector<Find>, std::greater<>> queue(std::greater<>(),
                                                                     std::move(finds));
  while (!queue.empty()) {
    Find find = queue.top();
    queue.pop();
    if (taken[find.end - 1]) continue;
    // What was taken before is at least as long, so if it overlaps it covers the first or the last
    // byte.
    const std::uint32_t rank = find.rank;
    while (find.rank != kNone && taken[find.end - tokens_[find.rank].size])
      find.rank = tokens_[find.rank].shorter;
    if (find.rank == kNone) continue;
    if (find.rank != rank) {
      queue.push(find);
      continue;
    }
    const Token& token = tokens_[rank];
    const std::size_t begin = find.end - token.size;
    std::fill(taken.begin() + std::ptrdiff_t(begin), taken.begin() + std::ptrdiff_t(find.end),
              true);
    chosen.push_back({begin, find.end, token.id});
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Fragment& a, const Fragment& b) { return a.begin < b.begin; });
  std::size_t at = 0;
  for (const Fragment& f : chosen) {
    if (f.begin > at) out.push_back({at, f.begin, -1});
    out.push_back(f);
    at = f.end;
  }
  if (at < text.size()) out.push_back({at, text.size(), -1});
}

}  // namespace veloce::text

// A vocabulary as grammars see it: the bytes of every token in a trie, laid out for one walk in
// order, so that thousands of tokens that share a beginning are judged by it once. Built once per
// model, shared by all grammars and threads.
//
// It knows nothing of tokenizers: it takes each token's bytes as the grammar should see them. Give
// control tokens no bytes unless a grammar is to match their text (then they match wherever that
// text does): a token without bytes, or whose bytes begin with a zero byte, is only ever allowed by
// a token term, <[id]>.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/text/grammar_alphabet.hpp"

namespace veloce::text {

struct VocabularyToken {
  std::string bytes;
  bool end_of_generation = false;  // allowed exactly where the grammar is complete
};

// Nodes in depth-first order; node 0 is the empty prefix. The subtree of n is [n, end(n)).
class TokenTrie {
 public:
  TokenTrie() = default;
  explicit TokenTrie(const std::vector<VocabularyToken>& tokens) {
    for (std::uint32_t id = 0; id < tokens.size(); ++id) {
      const VocabularyToken& t = tokens[id];
      if (!t.end_of_generation && !t.bytes.empty() && t.bytes[0] != '\0') ids_.push_back(id);
    }
    std::sort(ids_.begin(), ids_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const int order = tokens[a].bytes.compare(tokens[b].bytes);
      return order != 0 ? order < 0 : a < b;
    });
    add_node(0, 0, 0);
    std::vector<std::uint32_t> path{0};
    std::vector<Utf8Place> places{{}};  // of the nodes of `path`
    std::string_view previous;
    for (std::uint32_t i = 0; i < ids_.size(); ++i) {
      const std::string_view text = tokens[ids_[i]].bytes;
      std::size_t shared = 0;
      while (shared < previous.size() && shared < text.size() && previous[shared] == text[shared])
        ++shared;
      close(path, shared + 1);
      places.resize(path.size());
      for (std::size_t k = shared; k < text.size(); ++k) {
        const auto byte = static_cast<std::uint8_t>(text[k]);
        path.push_back(size());
        add_node(byte, static_cast<std::uint32_t>(k + 1), i);
        places.push_back(places.back().after(byte, own_.back()));
        if (!places.back().between_characters()) own_.back() |= kInside;
      }
      max_depth_ = std::max(max_depth_, text.size());
      previous = text;
    }
    close(path, 0);
    add_node(0, 0, static_cast<std::uint32_t>(ids_.size()));  // ends the last node's token list
    index_subtrees();
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(byte_.size()); }
  std::uint8_t byte(std::uint32_t node) const { return byte_[node]; }
  std::uint32_t depth(std::uint32_t node) const { return depth_[node]; }
  std::uint32_t end(std::uint32_t node) const { return end_[node]; }
  // The tokens whose bytes end at the node.
  std::span<const std::uint32_t> tokens(std::uint32_t node) const { return tokens(node, node + 1); }
  // The tokens that end at the nodes [from, to) (consecutive in this order).
  std::span<const std::uint32_t> tokens(std::uint32_t from, std::uint32_t to) const {
    return {ids_.data() + first_[from], first_[to] - first_[from]};
  }
  std::size_t max_depth() const { return max_depth_; }
  // What the bytes below a node belong to. (Stray bytes also where the node stands inside a
  // character that goes on below.)
  ByteGroups below(std::uint32_t node) const { return below_[node]; }
  // The nodes of [from, to) that have others below them and stand between characters.
  std::span<const std::uint32_t> inner(std::uint32_t from, std::uint32_t to) const {
    return {inner_.data() + inner_before_[from], inner_before_[to] - inner_before_[from]};
  }

 private:
  static constexpr ByteGroups kInside = ByteGroups(1) << 61;  // of own_: not between characters

  void add_node(std::uint8_t byte, std::uint32_t depth, std::uint32_t first) {
    byte_.push_back(byte);
    depth_.push_back(depth);
    end_.push_back(0);
    first_.push_back(first);
    own_.push_back(0);
  }
  void index_subtrees() {
    inner_before_.resize(size() + 1, 0);
    below_.assign(size(), 0);
    for (std::uint32_t node = 0; node + 1 < size(); ++node) {
      inner_before_[node] = static_cast<std::uint32_t>(inner_.size());
      if (end_[node] > node + 1 && (own_[node] & kInside) == 0) inner_.push_back(node);
    }
    inner_before_[size() - 1] = inner_before_[size()] = static_cast<std::uint32_t>(inner_.size());
    // Children stand behind their parents.
    std::vector<std::uint32_t> parent(size(), 0), path;
    for (std::uint32_t node = 0; node + 1 < size(); ++node) {
      path.resize(depth_[node]);
      if (!path.empty()) parent[node] = path.back();
      path.push_back(node);
    }
    for (std::uint32_t node = size() - 2; node > 0; --node) {
      below_[parent[node]] |= below_[node] | (own_[node] & ~kInside);
      if ((own_[node] & kInside) != 0 && (below_[node] & kHighCharacters) != 0)
        below_[node] |= kStrayBytes;
    }
    own_ = {};
  }
  void close(std::vector<std::uint32_t>& path, std::size_t keep) {
    while (path.size() > keep) {
      end_[path.back()] = size();
      path.pop_back();
    }
  }

  std::vector<std::uint8_t> byte_;
  std::vector<std::uint32_t> depth_, end_, first_;
  std::vector<std::uint32_t> ids_;  // by their bytes
  std::vector<ByteGroups> own_;     // while it is built
  std::vector<ByteGroups> below_;
  std::vector<std::uint32_t> inner_, inner_before_;
  std::size_t max_depth_ = 0;
};

// What the vocabulary's tokens do in one state of a rule, whoever called the rule.
struct StateMask {
  std::vector<std::uint32_t>
      bits;  // one bit a token that stays inside the rule; empty where `list` says it all
  std::vector<std::uint32_t> list;  // … or those tokens one by one, when they are few
  std::vector<std::uint32_t>
      exits;  // trie nodes at which the rule may have ended: what follows is the caller's matter
  std::size_t bytes() const {
    return 4 * (bits.size() + list.size() + exits.size()) + sizeof(StateMask);
  }
};

class VocabularyIndex {
 public:
  // Errors: no tokens, or a token longer than 64 KiB.
  static Result<std::shared_ptr<const VocabularyIndex>> create(
      std::vector<VocabularyToken> tokens) {
    constexpr std::size_t kLongest = 65536;
    if (tokens.empty()) return Status(Code::kInvalidArgument, "grammar vocabulary: no tokens");
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      if (tokens[id].bytes.size() <= kLongest) continue;
      return Status(Code::kInvalidArgument, "grammar vocabulary: token " + std::to_string(id) +
                                                " has " + std::to_string(tokens[id].bytes.size()) +
                                                " bytes, the limit is " + std::to_string(kLongest));
    }
    auto index = std::shared_ptr<VocabularyIndex>(new VocabularyIndex(std::move(tokens)));
    return std::shared_ptr<const VocabularyIndex>(std::move(index));
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
  std::size_t mask_words() const { return (tokens_.size() + 31) / 32; }
  const TokenTrie& trie() const { return trie_; }
  std::string_view bytes(std::uint32_t token) const { return tokens_[token].bytes; }
  bool end_of_generation(std::uint32_t token) const { return tokens_[token].end_of_generation; }
  const std::vector<std::uint32_t>& end_tokens() const { return end_tokens_; }

  // The masks of rules that call nothing depend only on the rule itself; grammars share them here,
  // by a key that spells the rule out. Bounded: the least recently used go first.
  std::shared_ptr<const StateMask> find_shared(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto it = shared_.find(key);
    if (it == shared_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, it->second);
    return it->second->mask;
  }
  void keep_shared(const std::string& key, std::shared_ptr<const StateMask> mask) const {
    constexpr std::size_t kMostBytes = 64u << 20;
    const std::lock_guard lock(mutex_);
    if (shared_.count(key) != 0) return;
    shared_bytes_ += mask->bytes() + key.size();
    recent_.push_front({key, std::move(mask)});
    shared_[key] = recent_.begin();
    while (shared_bytes_ > kMostBytes && recent_.size() > 1) {
      shared_bytes_ -= recent_.back().mask->bytes() + recent_.back().key.size();
      shared_.erase(recent_.back().key);
      recent_.pop_back();
    }
  }

 private:
  explicit VocabularyIndex(std::vector<VocabularyToken> tokens)
      : tokens_(std::move(tokens)), trie_(tokens_) {
    for (std::uint32_t id = 0; id < tokens_.size(); ++id) {
      if (tokens_[id].end_of_generation) end_tokens_.push_back(id);
    }
  }

  struct Shared {
    std::string key;
    std::shared_ptr<const StateMask> mask;
  };
  std::vector<VocabularyToken> tokens_;
  TokenTrie trie_;
  std::vector<std::uint32_t> end_tokens_;
  mutable std::mutex mutex_;
  mutable std::list<Shared> recent_;
  mutable std::unordered_map<std::string, std::list<Shared>::iterator> shared_;
  mutable std::size_t shared_bytes_ = 0;
};

}  // namespace veloce::text

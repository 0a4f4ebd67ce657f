// The sequence breakers of DRY as tokens: every way in which a breaker string can begin inside a
// token (the head) and go on in the tokens after it (the tail). Source: specs/tokenizers.md
// section 9.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "veloce/text/tokenizer.hpp"

namespace veloce::sample {

class DryBreakers {
 public:
  // Reads the whole vocabulary once: some milliseconds.
  static DryBreakers create(const text::Tokenizer& tokenizer,
                            std::span<const std::string> strings) {
    constexpr std::size_t kLongestString = 40, kLongestTail = 20;
    struct Breaker {
      std::string_view text;
      std::vector<std::vector<std::int32_t>>
          tails;  // [k]: tokens of the string without its first k bytes
    };
    std::vector<Breaker> all;
    for (const std::string& string : strings) {
      Breaker b{std::string_view(string).substr(0, kLongestString), {}};
      if (b.text.empty()) continue;
      for (std::size_t k = 0; k < b.text.size(); ++k) {
        auto tail =
            k == 0 ? std::vector<std::int32_t>() : tokenizer.encode(b.text.substr(k), false, false);
        if (tail.size() > kLongestTail) tail.resize(kLongestTail);
        b.tails.push_back(std::move(tail));
      }
      all.push_back(std::move(b));
    }
    DryBreakers result;
    std::string piece;
    for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
      piece.clear();
      tokenizer.append_piece(id, true, piece);
      for (const Breaker& b : all) {
        if (piece.find(b.text) != std::string::npos) {
          result.heads_[id].emplace_back();
          continue;
        }
        for (std::size_t k = 1; k < b.text.size() && k <= piece.size(); ++k)
          if (std::string_view(piece).substr(piece.size() - k) == b.text.substr(0, k))
            result.heads_[id].push_back(b.tails[k]);
      }
    }
    return result;
  }

  // Length of the longest tail with which a breaker begins at the front of these tokens; -1: none
  // does.
  int longest_tail(std::span<const std::int32_t> tokens) const {
    const auto it = heads_.find(tokens[0]);
    if (it == heads_.end()) return -1;
    int longest = -1;
    for (const std::vector<std::int32_t>& tail : it->second) {
      if (int(tail.size()) <= longest || tail.size() >= tokens.size()) continue;
      bool equal = true;
      for (std::size_t k = 0; k < tail.size(); ++k) equal &= tail[k] == tokens[k + 1];
      if (equal) longest = int(tail.size());
    }
    return longest;
  }

  // True if the token holds a whole breaker.
  bool is_single(std::int32_t id) const {
    const auto it = heads_.find(id);
    if (it == heads_.end()) return false;
    for (const auto& tail : it->second)
      if (tail.empty()) return true;
    return false;
  }

 private:
  std::unordered_map<std::int32_t, std::vector<std::vector<std::int32_t>>> heads_;
};

}  // namespace veloce::sample

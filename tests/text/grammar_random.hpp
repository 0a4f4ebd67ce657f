// Random grammars for the tests, with a slow recogniser of their own that shares nothing with the
// library: it works on code points, on the expression tree, with sets of end positions found by
// plain recursion and a table.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace veloce::test {

struct Node {
  enum Kind { kText, kSet, kRule, kAll, kAny, kTimes } kind = kText;
  std::u32string text;                                // kText
  std::vector<std::pair<char32_t, char32_t>> ranges;  // kSet
  bool negated = false;
  int rule = 0;
  int min = 0, max = 0;  // max < 0: no bound
  std::vector<Node> children;
};

inline const std::u32string& alphabet() {
  static const std::u32string kLetters = U"abcd\u00e9\u00ea\u20ac\U0001F600\"]";
  return kLetters;
}

inline std::string to_utf8(const std::u32string& text) {
  std::string out;
  for (const char32_t c : text) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xC0 + c / 64);
      out += static_cast<char>(0x80 + c % 64);
    } else if (c < 0x10000) {
      out += static_cast<char>(0xE0 + c / 4096);
      out += static_cast<char>(0x80 + c / 64 % 64);
      out += static_cast<char>(0x80 + c % 64);
    } else {
      out += static_cast<char>(0xF0 + c / 262144);
      out += static_cast<char>(0x80 + c / 4096 % 64);
      out += static_cast<char>(0x80 + c / 64 % 64);
      out += static_cast<char>(0x80 + c % 64);
    }
  }
  return out;
}

inline std::string escaped(char32_t c) {
  if (c == '"' || c == ']' || c == '[' || c == '\\')
    return std::string("\\") + static_cast<char>(c);
  return to_utf8(std::u32string(1, c));
}

class RandomGrammar {
 public:
  explicit RandomGrammar(std::uint32_t seed) : random_(seed) {
    const int rules = pick(1, 4);
    for (int r = 0; r < rules; ++r) rules_.push_back(expression(3, rules));
  }

  std::string gbnf() const {
    std::string out;
    for (std::size_t r = 0; r < rules_.size(); ++r)
      out += name(static_cast<int>(r)) + " ::= " + print(rules_[r]) + "\n";
    return out;
  }

  bool matches(const std::u32string& text) const { return ends(text).count(text.size()) != 0; }

  // Can the text be continued to a match? (Every expression of these grammars can finish, or the
  // library refuses them.)
  bool viable(const std::u32string& text) const {
    viable_ = false;
    (void)ends(text);
    return viable_;
  }

  std::u32string random_text() {
    std::u32string text;
    for (int n = pick(0, 8); n > 0; --n)
      text +=
          alphabet()[static_cast<std::size_t>(pick(0, static_cast<int>(alphabet().size()) - 1))];
    return text;
  }

  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }

 private:
  static std::string name(int r) { return r == 0 ? "root" : "r" + std::to_string(r); }

  char32_t letter() {
    return alphabet()[static_cast<std::size_t>(pick(0, static_cast<int>(alphabet().size()) - 1))];
  }

  Node expression(int depth, int rules) {
    Node n;
    const int choice = depth == 0 ? pick(0, 3) : pick(0, 9);
    if (choice <= 1) {
      for (int k = pick(choice == 0 ? 0 : 1, 2); k > 0; --k) n.text += letter();
    } else if (choice == 2) {
      n.kind = Node::kSet;
      n.negated = pick(0, 3) == 0;
      for (int k = pick(1, 2); k > 0; --k) {
        char32_t a = letter(), b = letter();
        if (a > b) std::swap(a, b);
        n.ranges.push_back({a, pick(0, 1) ? a : b});
      }
    } else if (choice == 3) {
      n.kind = Node::kRule;
      n.rule = pick(0, rules - 1);
    } else if (choice <= 7) {
      n.kind = choice <= 5 ? Node::kAll : Node::kAny;
      for (int k = pick(2, 3); k > 0; --k) n.children.push_back(expression(depth - 1, rules));
    } else {
      n.kind = Node::kTimes;
      n.min = pick(0, 2);
      n.max = pick(0, 2) == 0 ? -1 : n.min + pick(0, 12);
      n.children.push_back(expression(depth - 1, rules));
    }
    return n;
  }

  static std::string print(const Node& n) {
    std::string out;
    switch (n.kind) {
      case Node::kText:
        for (const char32_t c : n.text) out += escaped(c);
        return "\"" + out + "\"";
      case Node::kSet:
        for (const auto& [a, b] : n.ranges) out += escaped(a) + (a == b ? "" : "-" + escaped(b));
        return std::string("[") + (n.negated ? "^" : "") + out + "]";
      case Node::kRule:
        return name(n.rule);
      case Node::kAll:
      case Node::kAny:
        for (const Node& child : n.children)
          out += (out.empty() ? "" : n.kind == Node::kAll ? " " : " | ") + print(child);
        return "(" + out + ")";
      case Node::kTimes:
        return "(" + print(n.children[0]) + "){" + std::to_string(n.min) + "," +
               (n.max < 0 ? "" : std::to_string(n.max)) + "}";
    }
    return out;
  }

  using Ends = std::set<std::size_t>;

  Ends ends(const std::u32string& text) const {
    table_.clear();
    return rule_ends(0, 0, text);
  }

  Ends rule_ends(int rule, std::size_t at, const std::u32string& text) const {
    const auto key = std::make_pair(rule, at);
    if (const auto it = table_.find(key); it != table_.end()) return it->second;
    // No left recursion in the grammars compared, so the rule can't come back to this place.
    Ends out = node_ends(rules_[static_cast<std::size_t>(rule)], at, text);
    table_[key] = out;
    return out;
  }

  static bool in_set(const Node& n, char32_t c) {
    bool in = false;
    for (const auto& [a, b] : n.ranges) in = in || (a <= c && c <= b);
    return in != n.negated;
  }

  // Reaching the end of the text while more could be read makes the text viable.
  Ends node_ends(const Node& n, std::size_t at, const std::u32string& text) const {
    switch (n.kind) {
      case Node::kText:
        for (std::size_t i = 0; i < n.text.size(); ++i) {
          if (at + i == text.size()) return viable_ = true, Ends{};
          if (text[at + i] != n.text[i]) return {};
        }
        if (at + n.text.size() == text.size()) viable_ = true;
        return {at + n.text.size()};
      case Node::kSet:
        if (at == text.size()) return viable_ = true, Ends{};
        if (!in_set(n, text[at])) return {};
        if (at + 1 == text.size()) viable_ = true;
        return {at + 1};
      case Node::kRule:
        return rule_ends(n.rule, at, text);
      case Node::kAll: {
        Ends now{at};
        for (const Node& child : n.children) {
          Ends next;
          for (const std::size_t from : now) {
            const Ends part = node_ends(child, from, text);
            next.insert(part.begin(), part.end());
          }
          now = next;
        }
        return now;
      }
      case Node::kAny: {
        Ends out;
        for (const Node& child : n.children) {
          const Ends part = node_ends(child, at, text);
          out.insert(part.begin(), part.end());
        }
        return out;
      }
      case Node::kTimes:
        return times_ends(n, at, text);
    }
    return {};
  }

  Ends times_ends(const Node& n, std::size_t at, const std::u32string& text) const {
    Ends now{at}, out;
    for (int i = 0; n.max < 0 || i <= n.max; ++i) {
      if (i >= n.min) {
        const std::size_t before = out.size();
        out.insert(now.begin(), now.end());
        if (n.max < 0 && i > n.min && out.size() == before) break;
      }
      if (i == n.max || now.empty()) break;
      Ends next;
      for (const std::size_t from : now) {
        const Ends part = node_ends(n.children[0], from, text);
        next.insert(part.begin(), part.end());
      }
      now = next;
    }
    return out;
  }

  std::mt19937 random_;
  std::vector<Node> rules_;
  mutable std::map<std::pair<int, std::size_t>, Ends> table_;
  mutable bool viable_ = false;
};

}  // namespace veloce::test

// The growing set of GBNF rules that schemas are turned into: unique names, equal bodies shared,
// the usual JSON rules added when first used, all of it bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace veloce::text::schema {

class RuleSet {
 public:
  RuleSet(std::string prefix, std::size_t max_bytes, std::string space)
      : prefix_(std::move(prefix)), max_bytes_(max_bytes), space_(std::move(space)) {
    for (const char* name : {"space", "char", "string", "integer", "number", "boolean", "null",
                             "value", "object", "array"}) {
      names_.insert(prefix_ + name);  // no property may take them
    }
  }

  // A new name made of `hint` (any text).
  std::string unique_name(std::string_view hint) {
    constexpr std::size_t kLongest = 40;
    std::string name = prefix_;
    for (const char c : hint.substr(0, kLongest)) {
      const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
      if (plain || (!name.empty() && name.back() != '-')) name += plain ? c : '-';
    }
    if (name.empty() || name.back() == '-') name += 'x';
    if (names_.insert(name).second) return name;
    std::uint32_t& number = numbers_[name];
    std::string numbered;
    do {
      numbered = name + "-" + std::to_string(++number);
    } while (!names_.insert(numbered).second);
    return numbered;
  }

  void reserve(const std::string& name) { names_.insert(name); }

  void define(const std::string& name, const std::string& body) {
    bytes_ += name.size() + body.size() + 8;
    if (!full()) text_ += name + " ::= " + body + "\n";
  }

  // The name of a rule with this body: an old one if there is one.
  std::string rule_for(std::string_view hint, const std::string& body) {
    if (names_.count(body) != 0) return body;  // it is just a rule's name
    const auto it = by_body_.find(body);
    if (it != by_body_.end()) return it->second;
    const std::string name = unique_name(hint);
    if (!full()) by_body_.emplace(body, name);
    define(name, body);
    return name;
  }

  bool full() const { return bytes_ > max_bytes_; }
  std::size_t max_bytes() const { return max_bytes_; }
  const std::string& text() const { return text_; }

  // `{min,max}` of an expression that is one term. Counts beyond GBNF's own bound are made of
  // blocks.
  std::string repeat(const std::string& term, std::uint64_t min, std::uint64_t max,
                     bool unbounded) {
    constexpr std::uint64_t kBlock = 2000;
    auto count = [](std::uint64_t lo, std::uint64_t hi) {
      return "{" + std::to_string(lo) + "," + std::to_string(hi) + "}";
    };
    std::string out;
    auto add = [&](const std::string& part) { out += (out.empty() ? "" : " ") + part; };
    std::string block;
    auto block_name = [&] {
      if (block.empty()) block = rule_for("block", term + "{" + std::to_string(kBlock) + "}");
      return block;
    };
    if (!unbounded && max <= kBlock) return term + count(min, max);
    if (unbounded && min <= kBlock) return term + "{" + std::to_string(min) + ",}";
    if (min / kBlock > 0) add(block_name() + "{" + std::to_string(min / kBlock) + "}");
    if (min % kBlock > 0) add(term + "{" + std::to_string(min % kBlock) + "}");
    if (unbounded) {
      add(term + "*");
      return "(" + out + ")";
    }
    const std::uint64_t rest = max - min;
    if (rest / kBlock > 0) add(block_name() + count(0, rest / kBlock));
    if (rest % kBlock > 0) add(term + count(0, rest % kBlock));
    return "(" + out + ")";
  }

  // --- the usual rules ---
  std::string space() { return usual("space", space_); }
  std::string character() { return usual("char", kCharacter); }
  // The characters are written out here: a rule that calls nothing shares its masks with other
  // grammars (VocabularyIndex), and this one is in nearly all of them.
  std::string string() {
    return usual("string", "\"\\\"\" (" + std::string(kCharacter) + ")* \"\\\"\"");
  }
  std::string integer() { return usual("integer", "\"-\"? (\"0\" | [1-9] [0-9]{0,15})"); }
  std::string number() {
    return usual(
        "number",
        "\"-\"? (\"0\" | [1-9] [0-9]{0,15}) (\".\" [0-9]{1,16})? ([eE] [+\\x2D]? [0-9]{1,2})?");
  }
  std::string boolean() { return usual("boolean", "\"true\" | \"false\""); }
  std::string null() { return usual("null", "\"null\""); }
  std::string any() {
    const std::string name = prefix_ + "value";
    if (defined_.insert(name).second) {
      define(name, object() + " | " + array() + " | " + string() + " | " + number() + " | " +
                       boolean() + " | " + null());
    }
    return name;
  }
  std::string object() {
    const std::string name = prefix_ + "object";
    if (defined_.insert(name).second) {
      const std::string s = space();
      const std::string pair = string() + " " + s + " \":\" " + s + " " + any();
      define(name,
             "\"{\" " + s + " (" + pair + " (\",\" " + s + " " + pair + ")* " + s + ")? \"}\"");
    }
    return name;
  }
  std::string array() {
    const std::string name = prefix_ + "array";
    if (defined_.insert(name).second) {
      const std::string s = space(), v = any();
      define(name, "\"[\" " + s + " (" + v + " (\",\" " + s + " " + v + ")* " + s + ")? \"]\"");
    }
    return name;
  }

 private:
  // Anything but quote, backslash and control characters, or an escape; surrogates in pairs.
  static constexpr const char* kCharacter =
      "[^\"\\\\\\x7F\\x00-\\x1F] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" ([0-9A-Ca-cE-Fe-f] "
      "[0-9A-Fa-f]{3} | "
      "[Dd] [0-7] [0-9A-Fa-f]{2} | [Dd] [89ABab] [0-9A-Fa-f]{2} \"\\\\u\" [Dd] [C-Fc-f] "
      "[0-9A-Fa-f]{2}))";

  std::string usual(std::string_view name, const std::string& body) {
    std::string full_name = prefix_ + std::string(name);
    if (defined_.insert(full_name).second) define(full_name, body);
    return full_name;
  }

  std::string prefix_;
  std::size_t max_bytes_;
  std::string space_;
  std::size_t bytes_ = 0;
  std::string text_;
  std::unordered_set<std::string> names_, defined_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::unordered_map<std::string, std::string> by_body_;
};

}  // namespace veloce::text::schema

// UTF-8 for grammars: normal form of a set of code points, and the split of a range of code points
// into ranges of byte sequences (so that an automaton over bytes accepts exactly the well-formed
// encodings: no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/text/grammar_ast.hpp"
#include "veloce/text/utf8.hpp"

namespace veloce::text {

// Sorts and joins ranges, cuts surrogates out, and complements the set if asked.
inline std::vector<CodeRange> normal_ranges(std::vector<CodeRange> ranges, bool complement) {
  std::sort(ranges.begin(), ranges.end(), [](CodeRange a, CodeRange b) { return a.lo < b.lo; });
  std::vector<CodeRange> joined;
  for (const CodeRange& r : ranges) {
    if (!joined.empty() && r.lo <= joined.back().hi + 1) {
      joined.back().hi = std::max(joined.back().hi, r.hi);
    } else {
      joined.push_back(r);
    }
  }
  if (complement) {
    std::vector<CodeRange> rest;
    std::uint32_t next = 0;
    for (const CodeRange& r : joined) {
      if (r.lo > next) rest.push_back({next, r.lo - 1});
      next = r.hi + 1;
    }
    if (next <= kLastCodePoint) rest.push_back({next, kLastCodePoint});
    joined = std::move(rest);
  }
  std::vector<CodeRange> out;
  for (const CodeRange& r : joined) {
    if (r.lo < 0xD800) out.push_back({r.lo, std::min(r.hi, 0xD7FFu)});
    if (r.hi > 0xDFFF) out.push_back({std::max(r.lo, 0xE000u), r.hi});
  }
  return out;
}

struct ByteRange {
  std::uint8_t lo, hi;
};
struct ByteSequence {
  int length = 0;
  std::array<ByteRange, 4> at{};
};

namespace detail {

// Both ends have the same length. Splits until every position but a common prefix and a full suffix
// is one range.
inline void split_same_length(std::uint32_t lo, std::uint32_t hi, int length,
                              std::vector<ByteSequence>& out) {
  for (int i = 1; i < length; ++i) {
    const std::uint32_t mask = (1u << (6 * i)) - 1;
    if ((lo & ~mask) == (hi & ~mask)) continue;
    if ((lo & mask) != 0) {
      split_same_length(lo, lo | mask, length, out);
      split_same_length((lo | mask) + 1, hi, length, out);
      return;
    }
    if ((hi & mask) != mask) {
      split_same_length(lo, (hi & ~mask) - 1, length, out);
      split_same_length(hi & ~mask, hi, length, out);
      return;
    }
  }
  std::string first, last;
  append_utf8(first, lo);
  append_utf8(last, hi);
  ByteSequence sequence;
  sequence.length = length;
  for (std::size_t i = 0; i < first.size(); ++i) {
    sequence.at[i] = {static_cast<std::uint8_t>(first[i]), static_cast<std::uint8_t>(last[i])};
  }
  out.push_back(sequence);
}

}  // namespace detail

// The byte sequences that encode `range` (which must hold no surrogate).
inline void utf8_sequences(CodeRange range, std::vector<ByteSequence>& out) {
  constexpr std::uint32_t kLast[4] = {0x7F, 0x7FF, 0xFFFF, kLastCodePoint};
  std::uint32_t lo = range.lo;
  for (int length = 1; length <= 4 && lo <= range.hi; ++length) {
    const std::uint32_t last = kLast[length - 1];
    if (lo > last) continue;
    detail::split_same_length(lo, std::min(range.hi, last), length, out);
    lo = last + 1;
  }
}

}  // namespace veloce::text

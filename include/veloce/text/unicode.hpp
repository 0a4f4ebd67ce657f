// What the tokenizers need of Unicode besides UTF-8: general categories, white space, NFC.
// Data: Unicode 15.1 (generate_unicode_tables.py).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/text/unicode_nfc_tables.hpp"
#include "veloce/text/unicode_tables.hpp"
#include "veloce/text/utf8.hpp"

namespace veloce::text {

// General categories, in the order of the generated tables.
enum class Category : std::uint8_t {
  kLu,
  kLl,
  kLt,
  kLm,
  kLo,
  kMn,
  kMc,
  kMe,
  kNd,
  kNl,
  kNo,
  kPc,
  kPd,
  kPs,
  kPe,
  kPi,
  kPf,
  kPo,
  kSm,
  kSc,
  kSk,
  kSo,
  kZs,
  kZl,
  kZp,
  kCc,
  kCf,
  kCs,
  kCo,
  kCn,
};

// Properties of a code point as bits, so that a class of several categories is one test.
enum Property : std::uint16_t {
  kUpper = 1,     // \p{Lu}, \p{Lt}
  kLower = 2,     // \p{Ll}
  kCaseless = 4,  // \p{Lm}, \p{Lo}
  kLetter = kUpper | kLower | kCaseless,
  kMark = 8,
  kNumber = 16,
  kPunctuation = 32,
  kSymbol = 64,
  kSpace = 128,    // \s: see is_space
  kLineEnd = 256,  // \r or \n
  kHan = 512,      // \p{Han}
};

namespace detail {

constexpr std::uint16_t category_bits(Category c) {
  if (c == Category::kLu || c == Category::kLt) return kUpper;
  if (c == Category::kLl) return kLower;
  if (c == Category::kLm || c == Category::kLo) return kCaseless;
  if (c <= Category::kMe) return kMark;
  if (c <= Category::kNo) return kNumber;
  if (c <= Category::kPo) return kPunctuation;
  if (c <= Category::kSo) return kSymbol;
  return 0;
}

// The script Han, as Scripts.txt 15.1 lists it.
inline constexpr std::uint32_t kHanRanges[][2] = {
    {0x2E80, 0x2E99},   {0x2E9B, 0x2EF3},   {0x2F00, 0x2FD5},   {0x3005, 0x3005},
    {0x3007, 0x3007},   {0x3021, 0x3029},   {0x3038, 0x303B},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xF900, 0xFA6D},   {0xFA70, 0xFAD9},   {0x16FE2, 0x16FE3},
    {0x16FF0, 0x16FF1}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B739}, {0x2B740, 0x2B81D},
    {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0}, {0x2EBF0, 0x2EE5D}, {0x2F800, 0x2FA1D},
    {0x30000, 0x3134A}, {0x31350, 0x323AF},
};

// \s is exactly these (and not U+180E, U+200B, U+FEFF).
inline constexpr std::uint32_t kSpaces[] = {
    9,      10,     11,     12,     13,     0x20,   0x85,   0xA0,   0x1680,
    0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
    0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
};

// Properties of all code points in pages of 256, equal pages kept once (about 100 KiB); made on
// first use.
class PropertyTable {
 public:
  static const PropertyTable& get() {
    static const PropertyTable table;
    return table;
  }
  std::uint16_t operator[](char32_t cp) const {
    return cp > kLastCodePoint ? 0 : pages_[index_[cp >> 8]][cp & 255];
  }

 private:
  using Page = std::array<std::uint16_t, 256>;

  PropertyTable() {
    std::vector<std::uint16_t> flat(kLastCodePoint + 1);
    for (std::size_t i = 0; i < std::size(kCategoryRuns); ++i) {
      const std::size_t first = kCategoryRuns[i] >> 5;
      const std::size_t end =
          i + 1 < std::size(kCategoryRuns) ? kCategoryRuns[i + 1] >> 5 : flat.size();
      const std::uint16_t bits = category_bits(Category(kCategoryRuns[i] & 31));
      std::fill(flat.begin() + std::ptrdiff_t(first), flat.begin() + std::ptrdiff_t(end), bits);
    }
    for (const auto& range : kHanRanges)
      for (std::uint32_t cp = range[0]; cp <= range[1]; ++cp) flat[cp] |= kHan;
    for (std::uint32_t cp : kSpaces) flat[cp] |= kSpace;
    flat['\r'] |= kLineEnd;
    flat['\n'] |= kLineEnd;
    for (std::size_t page = 0; page < index_.size(); ++page) {
      Page p;
      std::copy_n(flat.begin() + std::ptrdiff_t(page * 256), 256, p.begin());
      // Equal pages are nearly always neighbours or the first of their kind: search from the back.
      std::size_t at = pages_.size();
      while (at > 0 && pages_[at - 1] != p) --at;
      if (at == 0) {
        pages_.push_back(p);
        at = pages_.size();
      }
      index_[page] = std::uint16_t(at - 1);
    }
  }

  std::array<std::uint16_t, (kLastCodePoint + 1) / 256> index_{};
  std::vector<Page> pages_;
};

// Combining classes, decompositions and compositions, as sorted lists and small hash tables; made
// on first use.
class NormalizationTable {
 public:
  static const NormalizationTable& get() {
    static const NormalizationTable table;
    return table;
  }

  std::uint8_t combining_class(char32_t cp) const {
    if (cp < 0x300) return 0;
    const auto* end = std::end(kCombiningRuns);
    const auto* run =
        std::lower_bound(std::begin(kCombiningRuns), end, cp,
                         [](const CombiningRun& r, char32_t c) { return r.last < c; });
    return run != end && run->first <= cp ? run->combining_class : std::uint8_t(0);
  }

  // Appends the full canonical decomposition.
  template <class Out>
  void decompose(char32_t cp, Out& out) const {
    if (cp < 0xC0) return out.push_back(cp);
    if (cp >= kHangul && cp < kHangul + kHangulCount) {
      const std::uint32_t s = std::uint32_t(cp) - kHangul;
      out.push_back(kLeading + s / (kVowels * kTrailings));
      out.push_back(kVowel + s % (kVowels * kTrailings) / kTrailings);
      if (s % kTrailings) out.push_back(kTrailing + s % kTrailings);
      return;
    }
    const auto* single =
        std::lower_bound(std::begin(kSingleDecompositions), std::end(kSingleDecompositions), cp,
                         [](const auto& d, char32_t c) { return d.code_point < c; });
    if (single != std::end(kSingleDecompositions) && single->code_point == cp)
      return decompose(single->to, out);
    const auto* pair =
        std::lower_bound(std::begin(kPairDecompositions), std::end(kPairDecompositions), cp,
                         [](const auto& d, char32_t c) { return d.code_point < c; });
    if (pair == std::end(kPairDecompositions) || pair->code_point != cp) return out.push_back(cp);
    decompose(pair->first, out);
    decompose(pair->second, out);
  }

  // The primary composite of two code points, or 0.
  char32_t compose(char32_t first, char32_t second) const {
    if (first >= kLeading && first < kLeading + 19 && second >= kVowel && second < kVowel + kVowels)
      return kHangul +
             ((std::uint32_t(first) - kLeading) * kVowels + (std::uint32_t(second) - kVowel)) *
                 kTrailings;
    if (first >= kHangul && first < kHangul + kHangulCount && (first - kHangul) % kTrailings == 0 &&
        second > kTrailing && second < kTrailing + kTrailings)
      return first + (second - kTrailing);
    const std::uint64_t key = pair_key(first, second);
    const auto it =
        std::lower_bound(compositions_.begin(), compositions_.end(), key,
                         [](const Composition& c, std::uint64_t k) { return c.pair < k; });
    return it != compositions_.end() && it->pair == key ? it->to : 0;
  }

 private:
  static constexpr std::uint32_t kHangul = 0xAC00, kLeading = 0x1100, kVowel = 0x1161,
                                 kTrailing = 0x11A7;
  static constexpr std::uint32_t kVowels = 21, kTrailings = 28,
                                 kHangulCount = 19 * kVowels * kTrailings;
  struct Composition {
    std::uint64_t pair;
    char32_t to;
  };
  static std::uint64_t pair_key(char32_t a, char32_t b) { return std::uint64_t(a) << 32 | b; }

  NormalizationTable() {
    for (const PairDecomposition& d : kPairDecompositions)
      if (d.composes) compositions_.push_back({pair_key(d.first, d.second), d.code_point});
    std::sort(compositions_.begin(), compositions_.end(),
              [](const Composition& a, const Composition& b) { return a.pair < b.pair; });
  }

  std::vector<Composition> compositions_;
};

}  // namespace detail

// Property bits of a code point.
inline std::uint16_t properties(char32_t cp) {
  return detail::PropertyTable::get()[cp];
}

// Normalization form C (UAX 15): canonical decomposition, ordering of combining marks, composition.
// Time n log n in the longest run of marks, linear otherwise.
inline std::u32string nfc(std::u32string_view text) {
  // Below U+0300 everything is in NFC already and nothing combines.
  const auto first_mark =
      std::find_if(text.begin(), text.end(), [](char32_t c) { return c >= 0x300; });
  if (first_mark == text.end()) return std::u32string(text);
  const auto& table = detail::NormalizationTable::get();
  std::u32string parts;
  parts.reserve(text.size() + text.size() / 8);
  for (char32_t cp : text) table.decompose(cp, parts);

  std::vector<std::uint8_t> classes(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) classes[i] = table.combining_class(parts[i]);
  std::vector<std::pair<std::uint8_t, char32_t>> run;
  for (std::size_t i = 0; i < parts.size();) {
    if (classes[i] == 0) {
      ++i;
      continue;
    }
    run.clear();
    std::size_t end = i;
    for (; end < parts.size() && classes[end] != 0; ++end)
      run.emplace_back(classes[end], parts[end]);
    std::stable_sort(run.begin(), run.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t k = 0; k < run.size(); ++k) {
      classes[i + k] = run[k].first;
      parts[i + k] = run[k].second;
    }
    i = end;
  }

  std::size_t out = 0, starter = parts.size();  // `starter`: where the last starter was written
  int last_class = -1;  // class of what was written last after it; -1: nothing
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int cls = classes[i];
    if (starter < parts.size() && last_class < cls) {
      if (const char32_t joined = table.compose(parts[starter], parts[i])) {
        parts[starter] = joined;
        continue;
      }
    }
    if (cls == 0) {
      starter = out;
      last_class = -1;
    } else {
      last_class = cls;
    }
    parts[out++] = parts[i];
  }
  parts.resize(out);
  return parts;
}

}  // namespace veloce::text

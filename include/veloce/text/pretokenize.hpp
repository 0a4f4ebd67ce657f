// Pre-tokenizers: how a text falls into words, each of which byte-level BPE then merges on its own.
// Source of the rules: specs/tokenizers.md section 3.
//
// A rule there is an ordered list of regular expressions. Here each expression is a hand-written
// matcher: given a position it says how long the match there is (0: none), with the alternatives
// tried in the expression's order and its backtracking worked out beforehand. No matcher looks at a
// character more than a few times before it is consumed, so the whole takes linear time on any
// text, which a backtracking engine does not promise.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/text/pretokenize_letters.hpp"
#include "veloce/text/unicode.hpp"

namespace veloce::text {

enum class PreTokenizer : std::uint8_t {
  kDefault,
  kLlamaBpe,
  kGpt2,
  kQwen2,
  kQwen35,
  kDeepseekLlm,
  kDeepseekCoder,
  kDeepseekV3,
  kSmollm,
  kGpt4o,
  kKimiK2,
};

// What a name in tokenizer.ggml.pre stands for: the splitting and the flags that go with it
// (section 2).
struct PreTokenizerInfo {
  std::string_view name;
  PreTokenizer kind;
  bool add_bos = false;        // default of tokenizer.ggml.add_bos_token
  bool ignore_merges = false;  // a word that is a token as it stands is taken whole
  bool clean_spaces = true;    // default of clean_spaces in decoding
  bool nfc = false;            // the model's own tokenizer normalizes to NFC first
};

// All names this build knows.
inline const std::vector<PreTokenizerInfo>& pre_tokenizers() {
  static const std::vector<PreTokenizerInfo> all = [] {
    std::vector<PreTokenizerInfo> list;
    const auto add = [&](PreTokenizerInfo flags, std::initializer_list<std::string_view> names) {
      for (std::string_view name : names) {
        flags.name = name;
        list.push_back(flags);
      }
    };
    using P = PreTokenizer;
    add({"", P::kDefault}, {"default"});
    add({"", P::kLlamaBpe, true, true}, {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1",
                                         "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"});
    add({"", P::kLlamaBpe}, {"glm4", "chatglm-bpe"});
    add({"", P::kGpt2}, {"gpt-2", "phi-2", "mpt", "olmo", "jais", "gigachat", "modern-bert",
                         "mellum", "a.x-4.0", "exaone4", "trillion", "granite-docling"});
    add({"", P::kQwen2, false, false, false, true}, {"qwen2"});
    add({"", P::kQwen2, false, false, false}, {"deepseek-r1-qwen", "kormo", "f2llmv2", "megrez",
                                               "stablelm2", "hunyuan", "solar-open", "grok-2"});
    add({"", P::kQwen35, false, false, false, true}, {"qwen35"});
    add({"", P::kDeepseekLlm, false, false, false}, {"deepseek-llm"});
    add({"", P::kDeepseekCoder, false, false, false}, {"deepseek-coder"});
    add({"", P::kDeepseekV3, false, false, false}, {"deepseek-v3", "hunyuan-dense", "joyai-llm"});
    add({"", P::kSmollm, false, false, false}, {"smollm", "starcoder", "refact", "command-r",
                                                "codeshell", "exaone", "minerva-7b", "mellum2"});
    add({"", P::kGpt4o, false, false, false},
        {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"});
    add({"", P::kKimiK2, false, false, false}, {"kimi-k2"});
    return list;
  }();
  return all;
}

// The pre-tokenizer of that name, or nothing.
inline std::optional<PreTokenizerInfo> find_pre_tokenizer(std::string_view name) {
  for (const PreTokenizerInfo& info : pre_tokenizers())
    if (info.name == name) return info;
  return std::nullopt;
}

namespace detail {

// A text with the properties of its characters beside it.
struct Characters {
  const char32_t* code;
  const std::uint16_t* props;
  bool peer_parity;

  bool has(std::size_t at, unsigned mask) const { return (props[at] & mask) != 0; }
  // First position in [at, end) without any of the properties.
  std::size_t run(std::size_t at, std::size_t end, unsigned mask) const {
    while (at < end && has(at, mask)) ++at;
    return at;
  }
  std::size_t run_without(std::size_t at, std::size_t end, unsigned mask) const {
    while (at < end && !has(at, mask)) ++at;
    return at;
  }
  template <class In>
  std::size_t run_in(std::size_t at, std::size_t end, In in) const {
    while (at < end && in(code[at])) ++at;
    return at;
  }
};

// 's 't 're 've 'm 'll 'd
enum class Case { kExact, kAscii, kUnicode };  // kUnicode: the long s (U+017F) counts as an s
inline std::size_t contraction(const Characters& t, std::size_t p, std::size_t end, Case fold) {
  if (t.code[p] != '\'' || end - p < 2) return 0;
  const auto letter = [&](std::size_t at) {
    const char32_t c = t.code[at];
    if (fold != Case::kExact && c >= 'A' && c <= 'Z') return char32_t(c + 32);
    return fold == Case::kUnicode && c == 0x17F ? char32_t('s') : c;
  };
  const char32_t a = letter(p + 1);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if (end - p < 3) return 0;
  const char32_t b = letter(p + 2);
  return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

// \s+(?!\S)|\s+ at a space: all of the run at the end of the piece, else all but its last one.
// With line ends, \s*[\r\n]+ comes first: up to the last line end in the run.
inline std::size_t spaces(const Characters& t, std::size_t p, std::size_t end, bool line_ends) {
  const std::size_t stop = t.run(p, end, kSpace);
  if (line_ends)
    for (std::size_t q = stop; q > p; --q)
      if (t.has(q - 1, kLineEnd)) return q - p;
  return stop == end || stop - p == 1 ? stop - p : stop - p - 1;
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
inline std::size_t match_gpt2(const Characters& t, std::size_t p, std::size_t end) {
  if (const std::size_t n = contraction(t, p, end, Case::kExact)) return n;
  const std::size_t s = t.code[p] == ' ' ? p + 1 : p;
  if (s < end) {
    if (t.has(s, kLetter)) return t.run(s, end, kLetter) - p;
    if (t.has(s, kNumber)) return t.run(s, end, kNumber) - p;
    if (!t.has(s, kSpace)) return t.run_without(s, end, kSpace | kLetter | kNumber) - p;
  }
  return spaces(t, p, end, false);
}

// [^\r\n\p{L}\p{N}]?W+ for a class W that contains the letters; `no_prefix` is the complement of
// the first class.
inline std::size_t prefixed_word(const Characters& t, std::size_t p, std::size_t end, unsigned word,
                                 unsigned no_prefix) {
  if (!t.has(p, no_prefix) && p + 1 < end && t.has(p + 1, word)) return t.run(p + 1, end, word) - p;
  return t.run(p, end, word) - p;
}

//  ?[^\s W N]+[\r\n]*, the tail also taking '/' where asked for
inline std::size_t symbols(const Characters& t, std::size_t p, std::size_t end, unsigned excluded,
                           bool slash) {
  const std::size_t s = t.code[p] == ' ' ? p + 1 : p;
  std::size_t q = t.run_without(s, end, excluded);
  if (q == s) return 0;
  while (q < end && (t.has(q, kLineEnd) || (slash && t.code[q] == '/'))) ++q;
  return q - p;
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?W+|\p{N}{1,D}| ?[^\s
// W\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
template <unsigned Word, std::size_t Digits>
std::size_t match_llama(const Characters& t, std::size_t p, std::size_t end) {
  if (const std::size_t n = contraction(t, p, end, Case::kAscii)) return n;
  if (const std::size_t n = prefixed_word(t, p, end, Word, kLineEnd | kLetter | kNumber)) return n;
  if (t.has(p, kNumber)) return t.run(p, std::min(end, p + Digits), kNumber) - p;
  if (const std::size_t n = symbols(t, p, end, kSpace | Word | kNumber, false)) return n;
  return spaces(t, p, end, true);
}

// X?U*L+(contraction)?|X?U+L*(contraction)? where U are the characters that may stand in the
// upper-case part of a word and L those of the lower-case part; caseless letters and marks are in
// both. X is [^\r\n\p{L}\p{N}].
template <class Upper, class Lower>
std::size_t cased_word(const Characters& t, std::size_t p, std::size_t end, Upper upper,
                       Lower lower) {
  // U*L+: U* takes all it can and gives back only as far as L+ needs one character.
  const auto upper_then_lower = [&](std::size_t s) -> std::size_t {
    std::size_t u = s;
    while (u < end && upper(u)) ++u;
    if (u < end && lower(u)) {
      while (u < end && lower(u)) ++u;
      return u;
    }
    while (u > s && !lower(u - 1)) --u;
    return u > s ? u : 0;
  };
  const auto upper_only = [&](std::size_t s) -> std::size_t {
    std::size_t u = s;
    while (u < end && upper(u)) ++u;
    if (u == s) return 0;
    while (u < end && lower(u)) ++u;
    return u;
  };
  const bool prefix = !t.has(p, kLineEnd | kLetter | kNumber) && p + 1 < end;
  std::size_t stop = prefix ? upper_then_lower(p + 1) : 0;
  if (!stop) stop = upper_then_lower(p);
  if (!stop && prefix) stop = upper_only(p + 1);
  if (!stop) stop = upper_only(p);
  if (!stop) return 0;
  if (stop < end) stop += contraction(t, stop, end, t.peer_parity ? Case::kAscii : Case::kUnicode);
  return stop - p;
}

inline std::size_t match_gpt4o(const Characters& t, std::size_t p, std::size_t end) {
  const auto ascii = [&](std::size_t at, char32_t first, char32_t last) {
    return t.code[at] >= first && t.code[at] <= last;
  };
  const std::size_t word =
      t.peer_parity
          ? cased_word(
                t, p, end,
                [&](std::size_t at) { return t.has(at, kLetter) && !ascii(at, 'a', 'z'); },
                [&](std::size_t at) { return t.has(at, kLetter) && !ascii(at, 'A', 'Z'); })
          : cased_word(
                t, p, end, [&](std::size_t at) { return t.has(at, kUpper | kCaseless | kMark); },
                [&](std::size_t at) { return t.has(at, kLower | kCaseless | kMark); });
  if (word) return word;
  if (t.has(p, kNumber)) return t.run(p, std::min(end, p + 3), kNumber) - p;
  if (const std::size_t n = symbols(t, p, end, kSpace | kLetter | kNumber, true)) return n;
  return t.has(p, kSpace) ? spaces(t, p, end, true) : 0;
}

// As gpt-4o, but runs of Han characters are words of their own and the tail of symbols takes no
// '/'. From the tokenizer that Moonshot AI publishes with Kimi K2.
inline std::size_t match_kimi(const Characters& t, std::size_t p, std::size_t end) {
  if (t.has(p, kHan)) return t.run(p, end, kHan) - p;
  const unsigned upper = t.peer_parity ? unsigned(kLetter) : kUpper | kCaseless | kMark;
  const unsigned lower = t.peer_parity ? unsigned(kLetter) : kLower | kCaseless | kMark;
  const std::size_t word = cased_word(
      t, p, end, [&](std::size_t at) { return t.has(at, upper) && !t.has(at, kHan); },
      [&](std::size_t at) { return t.has(at, lower) && !t.has(at, kHan); });
  if (word) return word;
  if (t.has(p, kNumber)) return t.run(p, std::min(end, p + 3), kNumber) - p;
  if (const std::size_t n = symbols(t, p, end, kSpace | kLetter | kNumber, false)) return n;
  return t.has(p, kSpace) ? spaces(t, p, end, true) : 0;
}

// [!-/:-@[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
// ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
inline std::size_t match_deepseek_v3(const Characters& t, std::size_t p, std::size_t end) {
  const auto ascii_letter = [](char32_t c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
  const char32_t c = t.code[p];
  if (c > ' ' && c < 0x7F && !ascii_letter(c) && !(c >= '0' && c <= '9')) {
    const std::size_t q = t.run_in(p + 1, end, ascii_letter);
    if (q > p + 1) return q - p;
  }
  if (const std::size_t n =
          prefixed_word(t, p, end, kLetter | kMark, kLineEnd | kLetter | kPunctuation | kSymbol))
    return n;
  const std::size_t s = c == ' ' ? p + 1 : p;
  const std::size_t q = t.run(s, end, kPunctuation | kSymbol);
  if (q > s) return t.run(q, end, kLineEnd) - p;
  return t.has(p, kSpace) ? spaces(t, p, end, true) : 0;
}

template <unsigned Mask, std::size_t Most>
std::size_t match_run(const Characters& t, std::size_t p, std::size_t end) {
  return t.run(p, Most < end - p ? p + Most : end, Mask) - p;
}
inline constexpr std::size_t kAll = ~std::size_t(0);

// \s?C+
template <class In>
std::size_t spaced_run(const Characters& t, std::size_t p, std::size_t end, In in) {
  if (const std::size_t q = t.run_in(p, end, in); q > p) return q - p;
  if (!t.has(p, kSpace)) return 0;
  const std::size_t q = t.run_in(p + 1, end, in);
  return q > p + 1 ? q - p : 0;
}
template <unsigned Mask>
std::size_t match_spaced(const Characters& t, std::size_t p, std::size_t end) {
  const std::size_t s = t.has(p, kSpace) ? p + 1 : p;
  const std::size_t q = t.run(s, end, Mask);
  return q > s ? q - p : 0;
}
inline std::size_t match_cased_letters(const Characters& t, std::size_t p, std::size_t end) {
  return spaced_run(t, p, end, is_deepseek_letter);
}
inline std::size_t match_deepseek_symbols(const Characters& t, std::size_t p, std::size_t end) {
  return spaced_run(t, p, end, [](char32_t c) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '~') || (c >= 0xFF01 && c <= 0xFF0F) ||
           (c >= 0xFF1A && c <= 0xFF5E) || (c >= 0x2018 && c <= 0x201F) ||
           (c >= 0x3000 && c <= 0x3002);
  });
}
inline std::size_t match_east_asian(const Characters& t, std::size_t p, std::size_t end) {
  return t.run_in(p, end, [](char32_t c) {
    return (c >= 0x800 && c <= 0x9FA5) || (c >= 0xAC00 && c <= 0xD7FF);
  }) - p;
}
inline std::size_t match_chinese_japanese(const Characters& t, std::size_t p, std::size_t end) {
  return t.run_in(p, end, [](char32_t c) {
    return (c >= 0x4E00 && c <= 0x9FA5) || (c >= 0x3040 && c <= 0x30FF);
  }) - p;
}
// [\p{P}\$\+<=>\^~\|]+
inline std::size_t match_default_symbols(const Characters& t, std::size_t p, std::size_t end) {
  std::size_t q = p;
  while (q < end && (t.has(q, kPunctuation) ||
                     (t.code[q] < 0x7F && std::string_view("$+<=>^~|").find(char(t.code[q])) !=
                                              std::string_view::npos)))
    ++q;
  return q - p;
}
inline std::size_t match_three_digits(const Characters& t, std::size_t p, std::size_t end) {
  const auto digit = [](char32_t c) { return c >= '0' && c <= '9'; };
  return end - p >= 3 && t.run_in(p, p + 3, digit) == p + 3 ? 3 : 0;
}

// Applies one expression inside every piece: matches and the gaps between them become the new
// pieces. Pieces are given by their ends.
template <class Matcher>
void refine(const Characters& t, std::vector<std::uint32_t>& ends, Matcher match) {
  std::vector<std::uint32_t> out;
  out.reserve(ends.size());
  std::size_t p = 0;
  for (const std::size_t end : ends) {
    std::size_t gap = p;
    while (p < end) {
      const std::size_t n = match(t, p, end);
      if (n == 0) {
        ++p;
        continue;
      }
      if (p > gap) out.push_back(std::uint32_t(p));
      p += n;
      gap = p;
      out.push_back(std::uint32_t(p));
    }
    if (end > gap) out.push_back(std::uint32_t(end));
  }
  ends.swap(out);
}

// \s+$: a stage of its own, since trying it at every position of a long run of spaces would take
// quadratic time.
inline void refine_trailing_spaces(const Characters& t, std::vector<std::uint32_t>& ends) {
  std::vector<std::uint32_t> out;
  out.reserve(ends.size());
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    std::size_t q = end;
    while (q > begin && t.has(q - 1, kSpace)) --q;
    if (q > begin && q < end) out.push_back(std::uint32_t(q));
    out.push_back(std::uint32_t(end));
    begin = end;
  }
  ends.swap(out);
}

inline void split_characters(PreTokenizer kind, const Characters& t,
                             std::vector<std::uint32_t>& ends) {
  switch (kind) {
    case PreTokenizer::kLlamaBpe:
      return refine(t, ends, match_llama<kLetter, 3>);
    case PreTokenizer::kQwen2:
      return refine(t, ends, match_llama<kLetter, 1>);
    case PreTokenizer::kQwen35:
      return refine(t, ends, match_llama<kLetter | kMark, 1>);
    case PreTokenizer::kGpt2:
      return refine(t, ends, match_gpt2);
    case PreTokenizer::kGpt4o:
      return refine(t, ends, match_gpt4o);
    case PreTokenizer::kKimiK2:
      return refine(t, ends, match_kimi);
    case PreTokenizer::kSmollm:
      refine(t, ends, match_run<kNumber, 1>);
      return refine(t, ends, match_gpt2);
    case PreTokenizer::kDeepseekLlm:
      refine(t, ends, match_run<kLineEnd, 1>);
      refine(t, ends, match_cased_letters);
      refine(t, ends, match_deepseek_symbols);
      refine_trailing_spaces(t, ends);
      refine(t, ends, match_east_asian);
      return refine(t, ends, match_run<kNumber, kAll>);
    case PreTokenizer::kDeepseekCoder:
      refine(t, ends, match_run<kLineEnd, 1>);
      refine(t, ends, match_spaced<kLetter>);
      refine(t, ends, match_spaced<kPunctuation>);
      refine(t, ends, match_east_asian);
      return refine(t, ends, match_run<kNumber, 1>);
    case PreTokenizer::kDeepseekV3:
      refine(t, ends, match_run<kNumber, 3>);
      refine(t, ends, match_chinese_japanese);
      return refine(t, ends, match_deepseek_v3);
    case PreTokenizer::kDefault:
      refine(t, ends, match_default_symbols);
      refine(t, ends, match_gpt2);
      refine(t, ends, match_run<kNumber, kAll>);
      return refine(t, ends, match_three_digits);
  }
}

}  // namespace detail

// Splits a text (at most 2^32 - 1 characters) into words; returns the end of each, in characters.
// With peer_parity the known deviations of llama.cpp from its own expressions are reproduced where
// they still exist: white space outside ASCII belongs to no explicit range, gpt-4o's case classes
// are approximate and kimi-k2's all mean \p{L}. The default is the expressions as written, which is
// what the models were trained with.
inline std::vector<std::uint32_t> split_words(PreTokenizer kind, std::u32string_view text,
                                              bool peer_parity = false) {
  std::vector<std::uint32_t> ends;
  if (text.empty()) return ends;
  std::vector<std::uint16_t> props(text.size());
  const auto& table = detail::PropertyTable::get();
  for (std::size_t i = 0; i < text.size(); ++i) props[i] = table[text[i]];

  std::u32string replaced;
  const bool generic_engine = kind == PreTokenizer::kDeepseekLlm ||
                              kind == PreTokenizer::kDeepseekCoder ||
                              kind == PreTokenizer::kDeepseekV3 || kind == PreTokenizer::kGpt4o;
  if (peer_parity && generic_engine) {
    replaced.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i)
      replaced.push_back(text[i] >= 0x80 && (props[i] & kSpace) ? char32_t(0x0B) : text[i]);
    text = replaced;
  }
  ends.push_back(std::uint32_t(text.size()));
  detail::split_characters(kind, {text.data(), props.data(), peer_parity}, ends);
  return ends;
}

}  // namespace veloce::text

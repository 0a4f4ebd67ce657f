// The hand-written pre-tokenizers against the regular expressions they stand for, run by PCRE2 on
// random texts.
#include "veloce/text/pretokenize.hpp"

#include <doctest/doctest.h>
#ifdef VELOCE_HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 32
#include <pcre2.h>
#endif

#include <cstdint>
#include <ctime>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace veloce::text;

namespace {

#ifdef VELOCE_HAVE_PCRE2
// A list of expressions in order of application, as specs/tokenizers.md section 3 defines it.
class Reference {
 public:
  explicit Reference(const std::vector<std::string>& expressions) {
    for (const std::string& expression : expressions) {
      const std::u32string pattern = code_points(expression);
      int error = 0;
      PCRE2_SIZE at = 0;
      Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF, &error, &at, nullptr),
                pcre2_code_free);
      REQUIRE_MESSAGE(code != nullptr, expression, " at ", at);
      codes_.push_back(std::move(code));
    }
  }

  std::vector<std::uint32_t> split(std::u32string_view text) const {
    std::vector<std::uint32_t> ends = {std::uint32_t(text.size())};
    for (const Code& code : codes_) {
      std::vector<std::uint32_t> out;
      std::size_t begin = 0;
      for (std::uint32_t end : ends) {
        split_piece(code.get(), text.substr(begin, end - begin), begin, out);
        begin = end;
      }
      ends = out;
    }
    return ends;
  }

 private:
  using Code = std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)>;

  static void split_piece(pcre2_code* code, std::u32string_view piece, std::size_t begin,
                          std::vector<std::uint32_t>& out) {
    std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
        pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free);
    std::size_t done = 0, from = 0;
    while (from < piece.size() && pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(piece.data()),
                                              piece.size(), from, 0, data.get(), nullptr) > 0) {
      const PCRE2_SIZE* match = pcre2_get_ovector_pointer(data.get());
      if (match[1] == match[0]) {
        from = match[1] + 1;
        continue;
      }
      if (match[0] > done) out.push_back(std::uint32_t(begin + match[0]));
      out.push_back(std::uint32_t(begin + match[1]));
      done = from = match[1];
    }
    if (piece.size() > done) out.push_back(std::uint32_t(begin + piece.size()));
  }

  std::vector<Code> codes_;
};

#endif

// \s is an explicit list in the specification; inside a class S, outside [S].
const std::string S =
    "\\x09-\\x0d\\x20\\x85\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{"
    "3000}";
const std::string kSpaceTail =
    std::string("[") + S + std::string("]+(?![^") + S + std::string("])|[") + S + "]+";
const std::string kContractions = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])";

std::string llama(const std::string& word, const std::string& digits) {
  return kContractions + "|[^\\r\\n\\p{L}\\p{N}]?[" + word + "]+|\\p{N}" + digits +
         std::string("| ?[^") + S + word + std::string("\\p{N}]+[\\r\\n]*|[") + S +
         std::string("]*[\\r\\n]+|") + kSpaceTail;
}
std::string cased(const std::string& not_han, const std::string& slash) {
  const std::string fold = "(?:'[sS\\x{17F}]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?";
  const std::string upper = std::string("(?:") + not_han + "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}])";
  const std::string lower = std::string("(?:") + not_han + "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}])";
  return std::string("[^\\r\\n\\p{L}\\p{N}]?") + upper + std::string("*") + lower + "+" + fold +
         std::string("|[^\\r\\n\\p{L}\\p{N}]?") + upper + std::string("+") + lower + "*" + fold +
         std::string("|\\p{N}{1,3}| ?[^") + S + "\\p{L}\\p{N}]+[\\r\\n" + slash +
         std::string("]*|[") + S + std::string("]*[\\r\\n]+|") + kSpaceTail;
}
const std::string kGpt2 = std::string("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^") + S +
                          std::string("\\p{L}\\p{N}]+|") + kSpaceTail;

std::string deepseek_letters() {
  std::string out;
  for (const auto& range : detail::kDeepseekLetters) {
    append_utf8(out, range.first);
    out += '-';
    append_utf8(out, range.last);
  }
  return out;
}

std::vector<std::pair<PreTokenizer, std::vector<std::string>>> references() {
  using P = PreTokenizer;
  const std::string east_asian = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+";
  return {
      {P::kLlamaBpe, {llama("\\p{L}", "{1,3}")}},
      {P::kQwen2, {llama("\\p{L}", "")}},
      {P::kQwen35, {llama("\\p{L}\\p{M}", "")}},
      {P::kGpt2, {kGpt2}},
      {P::kSmollm, {"\\p{N}", kGpt2}},
      {P::kDefault, {"[\\p{P}\\$\\+<=>\\^~\\|]+", kGpt2, "\\p{N}+", "[0-9][0-9][0-9]"}},
      {P::kGpt4o, {cased("", "/")}},
      {P::kKimiK2, {std::string("\\p{Han}+|") + cased("(?!\\p{Han})", "")}},
      {P::kDeepseekV3,
       {"\\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
        std::string(
            "[!\"#$%&'()*+,\\-./"
            ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|") +
            std::string(" ?[\\p{P}\\p{S}]+[\\r\\n]*|[") + S + std::string("]*[\\r\\n]+|") +
            kSpaceTail}},
      {P::kDeepseekCoder,
       {"[\\r\\n]", std::string("[") + S + "]?\\p{L}+", std::string("[") + S + "]?\\p{P}+",
        east_asian, "\\p{N}"}},
      {P::kDeepseekLlm,
       {"[\\r\\n]", std::string("[") + S + "]?[" + deepseek_letters() + "]+",
        std::string("[") + S + "]?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
        std::string("[") + S + "]+$", east_asian, "\\p{N}+"}},
  };
}

// Characters where the rules meet: quotes and what contracts, spaces of all kinds, marks, cases,
// digits, scripts.
std::u32string random_text(std::mt19937& engine) {
  static const std::u32string pool =
      U"''''sStTrReEvVmMlLdDaZ\u017f      \t\n\n\r\r\v\u0085\u00a0\u2003\u2028\u3000\u1680"
      U"0123456789\u0664\u00bd\u2167\u3007.,!?-_/\\|~$+<=>^()[]{}\"`@#%&*:;"
      U"\u00e9\u00c9\u00df\u01c5\u02b0\u00aa\u0301\u0308\u20dd\u093f\u0939\u094d\u4e2d\u6587\u2e80"
      U"\u3042\u30ab\u30fc\uac00\u1100"
      U"\u05d0\u0627\u0651\u0416\u0436\u20ac\u00b1\U0001F600\u200d\ufe0f\u0000\u0007\u200b\ufeff"
      U"\ue000\U000E0001\u2018\u201f\uff01\uff0f"
      U"\u10d0\u1c90\u13a0\uab70\U00010400\U0001E900";
  const std::size_t length = 1 + engine() % 24;
  std::u32string text;
  while (text.size() < length) {
    const char32_t c = pool[engine() % pool.size()];
    text.append(engine() % 4 == 0 ? 1 + engine() % 4 : 1, c);
  }
  return text;
}

#ifdef VELOCE_HAVE_PCRE2
std::string show(std::u32string_view text, const std::vector<std::uint32_t>& ends) {
  std::string out;
  std::size_t begin = 0;
  for (std::uint32_t end : ends) {
    out += '[';
    out += to_utf8(text.substr(begin, end - begin));
    out += ']';
    begin = end;
  }
  return out;
}
#endif

}  // namespace

#ifdef VELOCE_HAVE_PCRE2
TEST_CASE("splits are those of the expressions") {
  for (const auto& reference : references()) {
    const Reference expressions(reference.second);
    std::mt19937 engine(17);
    int wrong = 0;
    for (int i = 0; i < 6000 && wrong < 5; ++i) {
      const std::u32string text = random_text(engine);
      const auto want = expressions.split(text), got = split_words(reference.first, text);
      wrong += want != got;
      CHECK_MESSAGE(got == want, int(reference.first), " got ", show(text, got), " want ",
                    show(text, want));
    }
  }
}

#else
TEST_CASE("splits are those of the expressions") {
  std::cout << "SKIP: PCRE2 is not installed\n";
}
#endif

TEST_CASE("every word is covered, also with the peer's deviations") {
  std::mt19937 engine(3);
  for (const PreTokenizerInfo& info : pre_tokenizers())
    for (int i = 0; i < 200; ++i) {
      const std::u32string text = random_text(engine);
      for (bool parity : {false, true}) {
        std::uint32_t last = 0;
        for (std::uint32_t end : split_words(info.kind, text, parity)) {
          REQUIRE(end > last);
          last = end;
        }
        REQUIRE(last == text.size());
      }
    }
}

TEST_CASE("long runs take linear time") {
  // Of this process, so that a busy machine does not count.
  const auto milliseconds = [](PreTokenizer kind, const std::u32string& text) {
    const std::clock_t start = std::clock();
    const auto ends = split_words(kind, text);
    REQUIRE(ends.back() == text.size());
    return 1e3 * double(std::clock() - start) / CLOCKS_PER_SEC;
  };
  const std::vector<std::u32string> units = {
      U"a",       U"A",  U" ",      U"\n",     U" \n",     U"1",
      U"'",       U"!",  U"\u0301", U"\u4e2d", U"\u3000",  U"\U0001F600",
      U"A\u0301", U" a", U"\u2003", U"aA",     U"\u02b0A", U"\u0007"};
  for (const auto& reference : references())
    for (const std::u32string& unit : units) {
      std::u32string text;
      while (text.size() < 1u << 18) text += unit;
      text += U"x";  // so that a run of spaces is not at the end
      CHECK_MESSAGE(milliseconds(reference.first, text) < 500, int(reference.first), " ",
                    to_utf8(unit));
    }
}

TEST_CASE("names") {
  for (const char* name : {"default", "llama-bpe", "llama3", "glm4", "qwen2", "qwen35",
                           "deepseek-v3", "joyai-llm", "smollm", "gpt-4o", "gpt-2", "deepseek-llm",
                           "deepseek-coder", "hunyuan-dense", "chatglm-bpe", "refact"})
    CHECK_MESSAGE(find_pre_tokenizer(name).has_value(), name);
  CHECK_FALSE(find_pre_tokenizer("deepseek-v4").has_value());
  CHECK(find_pre_tokenizer("llama-bpe")->ignore_merges);
  CHECK_FALSE(find_pre_tokenizer("glm4")->ignore_merges);
}

// Fuzzes the tokenizers: the first byte chooses one (byte-level BPE with each pre-tokenizer, SPM),
// the rest is text. Ids must be in the vocabulary, BPE must give the text back (in NFC where
// its pre-tokenizer composes), and streamed text
// must be the whole's.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/gguf/synthetic.hpp"
#include "veloce/text/detokenize.hpp"
#include "veloce/text/tokenizer.hpp"

using namespace veloce;
using namespace veloce::text;

namespace {

Tokenizer bpe(const char* pre) {
  const gguf::synthetic::Vocabulary made = gguf::synthetic::make_vocabulary(900);
  VocabularyData data;
  data.model = "gpt2";
  data.pre = pre;
  data.tokens.assign(made.tokens.begin(), made.tokens.end());
  data.merges.assign(made.merges.begin(), made.merges.end());
  data.types.assign(made.types.begin(), made.types.end());
  auto tokenizer = Tokenizer::create(data);
  if (!tokenizer) std::abort();
  return *std::move(tokenizer);
}

Tokenizer spm() {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<std::int64_t> types = {2, 3, 3};
  for (int b = 0; b < 256; ++b) {
    constexpr char kHex[] = "0123456789ABCDEF";
    tokens.push_back(std::string("<0x") + kHex[b >> 4] + kHex[b & 15] + ">");
    types.push_back(6);
  }
  for (const char* piece :
       {"\xE2\x96\x81", "a", "b", "e", "t", "h", "th", "he", "the", "\xE2\x96\x81the", "\xC3\xA9",
        "\xE2\x96\x81\xE2\x96\x81", "ab", "aa", "aaaa", "\n", "\xF0\x9F\x98\x80"}) {
    tokens.push_back(piece);
    types.push_back(1);
  }
  VocabularyData data;
  data.model = "llama";
  data.tokens.assign(tokens.begin(), tokens.end());
  data.types = types;
  for (std::size_t i = 0; i < tokens.size(); ++i) data.scores.push_back(-float(i));
  auto tokenizer = Tokenizer::create(data);
  if (!tokenizer) std::abort();
  return *std::move(tokenizer);
}

const std::vector<Tokenizer>& tokenizers() {
  static const std::vector<Tokenizer> kAll = [] {
    std::vector<Tokenizer> all;
    for (const char* pre : {"gpt-2", "llama-bpe", "qwen2", "deepseek-v3", "smollm", "gpt-4o",
                            "kimi-k2", "deepseek-coder"})
      all.push_back(bpe(pre));
    all.push_back(spm());
    return all;
  }();
  return kAll;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const Tokenizer& tokenizer = tokenizers()[data[0] % tokenizers().size()];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (const bool special : {false, true}) {
    const std::vector<std::int32_t> ids = tokenizer.encode(text, special, special);
    std::string streamed, pieces;
    StreamDetokenizer stream(tokenizer);
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= tokenizer.size()) std::abort();
      streamed += stream.push(id);
      pieces += tokenizer.piece(id, true);
    }
    streamed += stream.finish();
    Utf8Stream whole;
    std::string valid = whole.push(text);
    valid += whole.finish();
    const bool is_utf8 = valid == text;
    const Vocabulary& vocabulary = tokenizer.vocabulary();
    if (!special && is_utf8 && vocabulary.kind() == TokenizerKind::kBpe &&
        pieces != (vocabulary.pre().nfc ? to_utf8(nfc(code_points(text))) : text))
      std::abort();
    Utf8Stream check;
    if (check.push(streamed) != streamed || !check.pending().empty()) std::abort();
  }
  return 0;
}

// A vocabulary as a file describes it, before anything is checked: what Tokenizer::create() takes.
// from_metadata() fills it from the keys of a GGUF file (specs/tokenizers.md section 1).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/gguf/metadata.hpp"

namespace veloce::text {

// Tokens with a role of their own.
enum class Special : std::uint8_t {
  kBos,
  kEos,
  kEot,
  kEom,
  kUnknown,
  kSeparator,
  kPadding,
  kCls,
  kMask,
  kFimPrefix,
  kFimSuffix,
  kFimMiddle,
  kFimPadding,
  kFimRepository,
  kFimFile,
};
inline constexpr std::size_t kSpecialCount = 15;

// Their keys under "tokenizer.ggml.", and the older spellings of some.
struct SpecialKey {
  std::string_view key, old_key;
};
inline constexpr std::array<SpecialKey, kSpecialCount> kSpecialKeys = {{
    {"bos_token_id", ""},
    {"eos_token_id", ""},
    {"eot_token_id", ""},
    {"eom_token_id", ""},
    {"unknown_token_id", ""},
    {"seperator_token_id", ""},  // spelt so in the files
    {"padding_token_id", ""},
    {"cls_token_id", ""},
    {"mask_token_id", ""},
    {"fim_pre_token_id", "prefix_token_id"},
    {"fim_suf_token_id", "suffix_token_id"},
    {"fim_mid_token_id", "middle_token_id"},
    {"fim_pad_token_id", ""},
    {"fim_rep_token_id", ""},
    {"fim_sep_token_id", ""},
}};

struct VocabularyData {
  std::string model;               // tokenizer.ggml.model: "gpt2" or "llama"
  std::optional<std::string> pre;  // tokenizer.ggml.pre
  // The texts are only read while the tokenizer is made; they may point into a file.
  std::vector<std::string_view> tokens;
  std::vector<std::string_view> merges;
  std::vector<float> scores;        // empty: all 0
  std::vector<std::int64_t> types;  // empty: all normal
  std::array<std::optional<std::int64_t>, kSpecialCount> special;
  std::optional<bool> add_bos, add_eos, add_sep, add_space_prefix;
  std::vector<std::int64_t> suppress;

  // Fails with the key's name when one is missing that must be there, or is of the wrong kind.
  static Result<VocabularyData> from_metadata(const gguf::Metadata& metadata);
};

inline Result<VocabularyData> VocabularyData::from_metadata(const gguf::Metadata& metadata) {
  const std::string prefix = "tokenizer.ggml.";
  VocabularyData data;
  const auto model = metadata.get<std::string>(prefix + "model");
  if (!model) return model.status();
  data.model = *model;
  if (metadata.has(prefix + "pre")) {
    const auto pre = metadata.get<std::string>(prefix + "pre");
    if (!pre) return pre.status();
    data.pre = *pre;
  }
  // A model without a tokenizer, or with one of another family, is refused by its name and not for
  // what it lacks.
  if (data.model != "gpt2" && data.model != "llama") return data;

  auto tokens = metadata.get_string_array(prefix + "tokens");
  if (!tokens) return tokens.status();
  data.tokens = std::move(*tokens);
  if (data.model == "gpt2") {
    auto merges = metadata.get_string_array(prefix + "merges");
    if (!merges) return merges.status();
    data.merges = std::move(*merges);
  }
  if (metadata.has(prefix + "scores")) {
    auto scores = metadata.get_float_array(prefix + "scores");
    if (!scores) return scores.status();
    data.scores = std::move(*scores);
  }
  if (metadata.has(prefix + "token_type")) {
    auto types = metadata.get_int_array(prefix + "token_type");
    if (!types) return types.status();
    data.types = std::move(*types);
  }
  if (metadata.has(prefix + "suppress_tokens")) {
    auto suppress = metadata.get_int_array(prefix + "suppress_tokens");
    if (!suppress) return suppress.status();
    data.suppress = std::move(*suppress);
  }
  for (std::size_t i = 0; i < kSpecialCount; ++i) {
    for (std::string_view name : {kSpecialKeys[i].key, kSpecialKeys[i].old_key}) {
      const std::string key = prefix + std::string(name);
      if (name.empty() || data.special[i] || !metadata.has(key)) continue;
      const auto id = metadata.get_i64(key);
      if (!id) return id.status();
      data.special[i] = *id;
    }
  }
  const std::pair<std::string_view, std::optional<bool>*> flags[] = {
      {"add_bos_token", &data.add_bos},
      {"add_eos_token", &data.add_eos},
      {"add_sep_token", &data.add_sep},
      {"add_space_prefix", &data.add_space_prefix},
  };
  for (const auto& [name, target] : flags) {
    const std::string key = prefix + std::string(name);
    if (!metadata.has(key)) continue;
    const auto flag = metadata.get_bool(key);
    if (!flag) return flag.status();
    *target = *flag;
  }
  return data;
}

}  // namespace veloce::text

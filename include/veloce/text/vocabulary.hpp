// A checked vocabulary: token texts, types and scores, the tokens with a role, and which tokens end
// a generation. Source: specs/tokenizers.md sections 1, 2 and 7.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/gguf/cursor.hpp"
#include "veloce/text/pretokenize.hpp"
#include "veloce/text/text_table.hpp"
#include "veloce/text/vocabulary_data.hpp"

namespace veloce::text {

enum class TokenType : std::uint8_t {
  kUndefined,
  kNormal,
  kUnknown,
  kControl,
  kUserDefined,
  kUnused,
  kByte
};

enum class TokenizerKind : std::uint8_t { kBpe, kSpm };

struct TokenizerOptions {
  // Does as llama.cpp does where it differs from the tokenizer a model was trained with. Off:
  //  * Qwen's text is normalized to NFC, as its own tokenizer does (no key of the file says so);
  //  * regular expressions mean what they say (pretokenize.hpp);
  //  * the file's type of a token stands where the file can mean it: an ordinary word that looks
  //  like an end marker
  //    (`</s>` in Qwen2: an HTML tag, made by merges) stays a word and ends nothing, and a
  //    fill-in-the-middle marker typed user-defined (DeepSeek Coder) is matched in plain text, both
  //    as the published tokenizers do;
  //  * a BPE file without BOS or EOS key has none, unless token 11 is a control token (llama.cpp
  //  takes token 11,
  //    often a comma);
  //  * decoding an SPM text drops the space that encoding put in front also when a BOS stood before
  //  it.
  bool peer_parity = false;
};

class Vocabulary {
 public:
  // Checks the data. Fails with the key, the index and the value; what is odd but harmless goes to
  // warnings().
  static Result<Vocabulary> create(const VocabularyData& data, const TokenizerOptions& options);

  TokenizerKind kind() const { return kind_; }
  const PreTokenizerInfo& pre() const { return pre_; }
  std::int32_t size() const { return std::int32_t(texts_.size()); }
  bool valid(std::int32_t id) const { return id >= 0 && id < size(); }

  // The text as the file has it (byte-level BPE: in the byte alphabet). `id` must be valid.
  std::string_view text(std::int32_t id) const { return texts_[std::size_t(id)]; }
  TokenType type(std::int32_t id) const { return types_[std::size_t(id)]; }
  float score(std::int32_t id) const { return scores_.empty() ? 0.0f : scores_[std::size_t(id)]; }
  // The id of a text, or -1.
  std::int32_t find(std::string_view text) const { return texts_.find(text); }

  // The token with that role, or -1.
  std::int32_t special(Special role) const { return special_[std::size_t(role)]; }
  std::int32_t bos() const { return special(Special::kBos); }
  std::int32_t eos() const { return special(Special::kEos); }
  bool add_bos() const { return add_bos_; }
  bool add_eos() const { return add_eos_; }
  bool add_space_prefix() const { return add_space_prefix_; }
  bool clean_spaces() const { return clean_spaces_; }

  // Tokens that end a generation, in ascending order.
  const std::vector<std::int32_t>& eog() const { return eog_; }
  bool is_eog(std::int32_t id) const { return std::binary_search(eog_.begin(), eog_.end(), id); }
  // Tokens that must never be sampled, in ascending order.
  const std::vector<std::int32_t>& suppressed() const { return suppressed_; }

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Status fill_texts(const VocabularyData& data);
  Status fill_types(const VocabularyData& data);
  void fill_special(const VocabularyData& data, bool peer_parity);
  void guess_roles();
  void fix_types(const VocabularyData& data, bool peer_parity);
  void fill_eog();
  bool made_by_merge(const VocabularyData& data, std::int32_t id) const;
  std::int32_t find_any(std::initializer_list<std::string_view> texts) const;

  TokenizerKind kind_ = TokenizerKind::kBpe;
  PreTokenizerInfo pre_;
  TextTable texts_;
  std::vector<TokenType> types_;
  std::vector<float> scores_;
  std::array<std::int32_t, kSpecialCount> special_;
  std::array<bool, kSpecialCount> from_key_{};  // the role was given by the file
  bool add_bos_ = false, add_eos_ = false, add_space_prefix_ = false, clean_spaces_ = false;
  std::vector<std::int32_t> not_ends_;  // tokens with an end marker's text that are ordinary words
  std::vector<std::int32_t> eog_, suppressed_;
  std::vector<std::string> warnings_;
};

namespace detail {

inline constexpr std::string_view kEogTexts[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
};
inline constexpr std::string_view kFimTexts[] = {
    "<|fim_prefix|>",  "<|fim_suffix|>",  "<|fim_middle|>",  "<|fim_pad|>",    "<|repo_name|>",
    "<|fim_repo|>",    "<|file_sep|>",    "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>",
    "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>",
};
// Markers of a message's structure, which must be seen in the output.
inline constexpr std::string_view kVisibleTexts[] = {"<|channel|>", "<|message|>", "<|start|>",
                                                     "<|constrain|>"};

inline Status bad_key(std::string_view key, const std::string& what) {
  return {Code::kCorrupt, "tokenizer.ggml." + std::string(key) + ": " + what};
}
inline std::string indexed(std::string_view key, std::size_t index) {
  return "tokenizer.ggml." + std::string(key) + "[" + std::to_string(index) + "]";
}

}  // namespace detail

inline Result<Vocabulary> Vocabulary::create(const VocabularyData& data,
                                             const TokenizerOptions& options) {
  Vocabulary v;
  if (data.model == "gpt2") {
    v.kind_ = TokenizerKind::kBpe;
  } else if (data.model == "llama") {
    v.kind_ = TokenizerKind::kSpm;
  } else {
    return Status{Code::kUnsupported, "tokenizer.ggml.model: unsupported tokenizer " +
                                          gguf::in_quotes(data.model) +
                                          " (this build has \"gpt2\" and \"llama\")"};
  }
  if (v.kind_ == TokenizerKind::kBpe) {
    const std::string name = data.pre.value_or("default");
    const auto info = find_pre_tokenizer(name);
    if (!info)
      return Status{Code::kUnsupported,
                    "tokenizer.ggml.pre: unknown pre-tokenizer " + gguf::in_quotes(name)};
    v.pre_ = *info;
    if (!data.pre)
      v.warnings_.push_back(
          "tokenizer.ggml.pre is missing: the pre-tokenizer \"default\" is a guess, and THE "
          "MODEL'S QUALITY WILL "
          "SUFFER if it is wrong; convert the model anew");
    if (data.merges.empty())
      return detail::bad_key("merges", "empty, but byte-level BPE needs them");
  }
  if (Status s = v.fill_texts(data); !s) return s;
  if (Status s = v.fill_types(data); !s) return s;
  v.fill_special(data, options.peer_parity);
  v.guess_roles();
  v.fix_types(data, options.peer_parity);
  v.fill_eog();
  return v;
}

inline Status Vocabulary::fill_texts(const VocabularyData& data) {
  const std::size_t count = data.tokens.size();
  if (count == 0) return detail::bad_key("tokens", "no tokens");
  if (count > std::size_t(std::numeric_limits<std::int32_t>::max() / 4))
    return detail::bad_key("tokens", std::to_string(count) + " tokens are too many");
  std::size_t bytes = 0;
  for (std::string_view text : data.tokens) bytes += text.size();
  if (bytes > TextTable::kMaxBytes / 2)
    return detail::bad_key("tokens", std::to_string(bytes) + " bytes of text are too many");
  texts_.reserve(count, bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string empty =
        data.tokens[i].empty() ? "[EMPTY_" + std::to_string(i) + "]" : std::string();
    const std::string_view text = data.tokens[i].empty() ? std::string_view(empty) : data.tokens[i];
    const std::int32_t id = texts_.add(text);
    if (std::size_t(id) != i)
      return {Code::kCorrupt, detail::indexed("tokens", i) + ": the text " + gguf::in_quotes(text) +
                                  " is also token " + std::to_string(id)};
  }
  return {};
}

inline Status Vocabulary::fill_types(const VocabularyData& data) {
  const std::size_t count = data.tokens.size();
  types_.assign(count, TokenType::kNormal);
  if (!data.types.empty()) {
    if (data.types.size() < count)
      return detail::bad_key("token_type", std::to_string(data.types.size()) + " types for " +
                                               std::to_string(count) + " tokens");
    for (std::size_t i = 0; i < count; ++i) {
      if (data.types[i] < 0 || data.types[i] > 6)
        return {Code::kCorrupt, detail::indexed("token_type", i) + ": " +
                                    std::to_string(data.types[i]) +
                                    " is not a token type (0 to 6)"};
      types_[i] = TokenType(data.types[i]);
    }
  }
  if (data.scores.empty()) return {};
  if (data.scores.size() < count)
    return detail::bad_key("scores", std::to_string(data.scores.size()) + " scores for " +
                                         std::to_string(count) + " tokens");
  if (kind_ != TokenizerKind::kSpm) return {};
  for (std::size_t i = 0; i < count; ++i)
    if (std::isnan(data.scores[i]))
      return {Code::kCorrupt, detail::indexed("scores", i) + ": not a number"};
  scores_.assign(data.scores.begin(), data.scores.begin() + std::ptrdiff_t(count));
  return {};
}

inline void Vocabulary::fill_special(const VocabularyData& data, bool peer_parity) {
  special_.fill(-1);
  const auto set_default = [&](Special role, std::int32_t id) {
    if (id < size()) special_[std::size_t(role)] = id;
  };
  if (kind_ == TokenizerKind::kSpm) {
    set_default(Special::kBos, 1);
    set_default(Special::kEos, 2);
    set_default(Special::kUnknown, 0);
  } else if (size() > 11 && (peer_parity || types_[11] == TokenType::kControl)) {
    const bool glm = pre_.name == "glm4" || pre_.name == "chatglm-bpe";
    if (!glm) set_default(Special::kBos, 11);
    set_default(Special::kEos, 11);
  }
  for (std::size_t i = 0; i < kSpecialCount; ++i) {
    if (!data.special[i]) continue;
    const std::int64_t id = *data.special[i];
    special_[i] = id >= 0 && id < size() ? std::int32_t(id) : -1;
    from_key_[i] = special_[i] >= 0;
    if (special_[i] < 0)
      warnings_.push_back("tokenizer.ggml." + std::string(kSpecialKeys[i].key) + ": " +
                          std::to_string(id) + " is not below the vocabulary size " +
                          std::to_string(size()) + ": ignored");
  }
  const bool spm = kind_ == TokenizerKind::kSpm;
  add_bos_ = data.add_bos.value_or(spm || pre_.add_bos) && bos() >= 0;
  add_eos_ = data.add_eos.value_or(false) && eos() >= 0;
  add_space_prefix_ = data.add_space_prefix.value_or(spm);
  clean_spaces_ = !spm && pre_.clean_spaces;
  if (data.add_bos.value_or(false) && bos() < 0)
    warnings_.push_back("tokenizer.ggml.add_bos_token is set, but there is no BOS token: ignored");
  for (std::int64_t id : data.suppress) {
    if (id >= 0 && id < size())
      suppressed_.push_back(std::int32_t(id));
    else
      warnings_.push_back("tokenizer.ggml.suppress_tokens: " + std::to_string(id) +
                          " is not below the vocabulary size " + std::to_string(size()) +
                          ": ignored");
  }
  std::sort(suppressed_.begin(), suppressed_.end());
  suppressed_.erase(std::unique(suppressed_.begin(), suppressed_.end()), suppressed_.end());
}

inline std::int32_t Vocabulary::find_any(std::initializer_list<std::string_view> texts) const {
  for (std::string_view text : texts)
    if (const std::int32_t id = find(text); id >= 0) return id;
  return -1;
}

inline void Vocabulary::guess_roles() {
  const auto guess = [&](Special role, std::initializer_list<std::string_view> texts) {
    std::int32_t& id = special_[std::size_t(role)];
    if (id < 0) id = find_any(texts);
  };
  guess(Special::kEot,
        {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>",
         "<EOT>", "_<EOT>", "[EOT]", "<｜end▁of▁sentence｜>", "<end_of_utterance>"});
  guess(Special::kEom, {"<|eom_id|>"});
  guess(Special::kFimPrefix,
        {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<|code_prefix|>"});
  guess(Special::kFimSuffix,
        {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<|code_suffix|>"});
  guess(Special::kFimMiddle,
        {"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<|code_middle|>"});
  guess(Special::kFimPadding, {"<|fim_pad|>", "<fim-pad>", "<fim_pad>"});
  guess(Special::kFimRepository, {"<|fim_repo|>", "<|repo_name|>"});
  guess(Special::kFimFile, {"<|file_sep|>"});
}

inline bool Vocabulary::made_by_merge(const VocabularyData& data, std::int32_t id) const {
  const std::string_view want = text(id);
  return std::any_of(data.merges.begin(), data.merges.end(), [&](std::string_view merge) {
    const std::size_t space = merge.find(' ', 1);
    return space != std::string_view::npos && merge.size() == want.size() + 1 &&
           merge.substr(0, space) == want.substr(0, space) &&
           merge.substr(space + 1) == want.substr(space);
  });
}

// Files often type an end marker as an ordinary or user-defined token, which would let it through
// into the answer.
inline void Vocabulary::fix_types(const VocabularyData& data, bool peer_parity) {
  const auto is_role = [&](std::int32_t id) {
    for (std::size_t i = 0; i < kSpecialCount; ++i)
      if (from_key_[i] && special_[i] == id) return true;
    return false;
  };
  const auto force = [&](std::string_view marker, bool user_defined_stays) {
    const std::int32_t id = find(marker);
    if (id < 0) return;
    TokenType& type = types_[std::size_t(id)];
    if (type == TokenType::kControl) return;
    if (!peer_parity && !is_role(id)) {
      if (type == TokenType::kUserDefined && user_defined_stays) return;
      if (type == TokenType::kNormal && kind_ == TokenizerKind::kBpe && made_by_merge(data, id)) {
        not_ends_.push_back(id);
        return;
      }
    }
    warnings_.push_back("token " + std::to_string(id) + " " + gguf::in_quotes(marker) +
                        " is not typed as a control token in the file: taken as one");
    type = TokenType::kControl;
  };
  for (std::string_view marker : detail::kEogTexts) force(marker, false);
  for (std::string_view marker : detail::kFimTexts) force(marker, true);
  for (std::string_view marker : detail::kVisibleTexts)
    if (const std::int32_t id = find(marker); id >= 0)
      types_[std::size_t(id)] = TokenType::kUserDefined;
  for (std::int32_t id = 0; id < size(); ++id)
    if (type(id) == TokenType::kControl && text(id).find("unused") != std::string_view::npos)
      types_[std::size_t(id)] = TokenType::kUnused;
}

inline void Vocabulary::fill_eog() {
  const auto add = [&](std::int32_t id) {
    const bool word = std::find(not_ends_.begin(), not_ends_.end(), id) != not_ends_.end();
    if (id >= 0 && !word) eog_.push_back(id);
  };
  for (Special role : {Special::kEos, Special::kEot, Special::kEom, Special::kFimPadding,
                       Special::kFimRepository, Special::kFimFile})
    add(special(role));
  for (std::string_view marker : detail::kEogTexts) add(find(marker));
  std::sort(eog_.begin(), eog_.end());
  eog_.erase(std::unique(eog_.begin(), eog_.end()), eog_.end());
  // In the Harmony format <|end|> only ends one message of an answer.
  if (find("<|return|>") >= 0 && find("<|call|>") >= 0) {
    const std::int32_t end = find("<|end|>");
    if (end >= 0 && end != eos()) std::erase(eog_, end);
    if (special(Special::kEot) == end) special_[std::size_t(Special::kEot)] = -1;
  }
  if (eog_.empty())
    warnings_.push_back("no token ends a generation: answers run to their length limit");
}

}  // namespace veloce::text

// The tokenizer: text to token ids and back. Source: specs/tokenizers.md sections 3 to 8.
//
//   auto tokenizer = text::Tokenizer::from_metadata(file.metadata());
//   std::vector<std::int32_t> ids = tokenizer->encode("Hello", /*add_special=*/true,
//   /*parse_special=*/false); std::string text = tokenizer->decode(ids, /*remove_special=*/true,
//   /*unparse_special=*/false);
//
// Time grows linearly with the text (times log n within one very long word), whatever the text.
// Const methods may be called from many threads at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/gguf/metadata.hpp"
#include "veloce/text/bpe.hpp"
#include "veloce/text/byte_alphabet.hpp"
#include "veloce/text/pretokenize.hpp"
#include "veloce/text/special_tokens.hpp"
#include "veloce/text/spm.hpp"
#include "veloce/text/unicode.hpp"
#include "veloce/text/vocabulary.hpp"

namespace veloce::text {

class Tokenizer {
 public:
  // Checks the data and makes the tokenizer; the data's texts are no longer needed afterwards.
  // Errors name the key, the index and the value: kCorrupt, kUnsupported (another tokenizer family
  // or an unknown pre-tokenizer).
  static Result<Tokenizer> create(const VocabularyData& data, const TokenizerOptions& options = {});
  // The same from a GGUF file's metadata.
  static Result<Tokenizer> from_metadata(const gguf::Metadata& metadata,
                                         const TokenizerOptions& options = {});

  const Vocabulary& vocabulary() const { return vocabulary_; }
  std::int32_t size() const { return vocabulary_.size(); }
  bool is_eog(std::int32_t id) const { return vocabulary_.is_eog(id); }
  // What is odd about the vocabulary, for the log.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Ids of a text. add_special: BOS in front and EOS at the end where the vocabulary says so.
  // parse_special: texts of control tokens become those tokens; otherwise they are ordinary text
  // (user-defined tokens are always matched). Bytes that are not UTF-8 are read as U+FFFD by
  // byte-level BPE and go through byte tokens in SPM. Texts beyond 1 GiB are cut into pieces of
  // that size.
  std::vector<std::int32_t> encode(std::string_view text, bool add_special,
                                   bool parse_special) const;

  // Bytes of one token, which may be half a character. Control tokens give nothing unless
  // `special`; ids outside the vocabulary give nothing.
  std::string piece(std::int32_t id, bool special) const;
  void append_piece(std::int32_t id, bool special, std::string& out) const;

  // Bytes of a sequence of tokens. remove_special: without a leading BOS and a trailing EOS that
  // add_special would have put there. unparse_special: control tokens as their texts.
  std::string decode(std::span<const std::int32_t> ids, bool remove_special,
                     bool unparse_special) const;

 private:
  void encode_raw(std::string_view text, std::vector<std::int32_t>& out) const;
  void encode_words(std::string_view bytes, std::u32string_view characters,
                    std::vector<std::int32_t>& out) const;

  TokenizerOptions options_;
  Vocabulary vocabulary_;
  BytePairEncoder bpe_;
  ScoreEncoder spm_;
  SpecialTokenFinder all_special_, user_defined_;
  std::vector<std::string> warnings_;
};

// Removes the spaces that some word-based tokenizers leave behind: before ? ! . , and around a lone
// ' and before 's 'm 're 've (specs/tokenizers.md section 8, clean_spaces). Not part of decode(),
// which gives back what was encoded.
inline std::string clean_spaces(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i + (text[i] == ' '));
    if (text[i] == ' ' && !rest.empty()) {
      if (std::string_view("?!.,").find(rest[0]) != std::string_view::npos) continue;
      if (rest.size() >= 2 && rest[0] == '\'' && rest[1] == ' ') {
        out += '\'';
        i += 2;
        continue;
      }
      if (rest.substr(0, 2) == "'s" || rest.substr(0, 2) == "'m" || rest.substr(0, 3) == "'re" ||
          rest.substr(0, 3) == "'ve")
        continue;
    }
    out += text[i];
  }
  return out;
}

inline Result<Tokenizer> Tokenizer::from_metadata(const gguf::Metadata& metadata,
                                                  const TokenizerOptions& options) {
  const Result<VocabularyData> data = VocabularyData::from_metadata(metadata);
  if (!data) return data.status();
  Result<Tokenizer> tokenizer = create(*data, options);
  if (!tokenizer)
    return Status(tokenizer.status().code(), metadata.file() + ": " + tokenizer.status().message());
  return tokenizer;
}

inline Result<Tokenizer> Tokenizer::create(const VocabularyData& data,
                                           const TokenizerOptions& options) {
  Result<Vocabulary> vocabulary = Vocabulary::create(data, options);
  if (!vocabulary) return vocabulary.status();
  Tokenizer t;
  t.options_ = options;
  t.vocabulary_ = *std::move(vocabulary);
  t.warnings_ = t.vocabulary_.warnings();
  if (t.vocabulary_.kind() == TokenizerKind::kBpe) {
    if (Status s = t.bpe_.build(t.vocabulary_, data.merges, t.warnings_); !s) return s;
  } else {
    t.spm_.build(t.vocabulary_, t.warnings_);
  }
  std::vector<std::int32_t> all, user_defined;
  std::size_t bytes = 0;
  for (std::int32_t id = 0; id < t.size(); ++id) {
    const TokenType type = t.vocabulary_.type(id);
    if (type == TokenType::kUserDefined) user_defined.push_back(id);
    if (type != TokenType::kUserDefined && type != TokenType::kControl &&
        type != TokenType::kUnknown)
      continue;
    all.push_back(id);
    bytes += t.vocabulary_.text(id).size();
  }
  // Each byte may take some 60 in the automaton; real vocabularies have a few thousand.
  constexpr std::size_t kMostSpecialBytes = std::size_t(8) << 20;
  if (bytes > kMostSpecialBytes)
    return detail::bad_key("tokens", std::to_string(bytes) +
                                         " bytes of special tokens, more than " +
                                         std::to_string(kMostSpecialBytes));
  t.all_special_.build(t.vocabulary_, std::move(all));
  t.user_defined_.build(t.vocabulary_, std::move(user_defined));
  return t;
}

inline std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool add_special,
                                                   bool parse_special) const {
  std::vector<std::int32_t> out;
  out.reserve(text.size() / 4 + 2);
  if (add_special && vocabulary_.add_bos()) out.push_back(vocabulary_.bos());
  constexpr std::size_t kPart = std::size_t(1) << 30;
  std::vector<Fragment> fragments;
  for (std::size_t begin = 0; begin < text.size(); begin += kPart) {
    const std::string_view part = text.substr(begin, kPart);
    fragments.clear();
    (parse_special ? all_special_ : user_defined_).split(part, fragments);
    for (const Fragment& f : fragments) {
      if (f.id >= 0)
        out.push_back(f.id);
      else
        encode_raw(part.substr(f.begin, f.end - f.begin), out);
    }
  }
  if (add_special && vocabulary_.add_eos()) out.push_back(vocabulary_.eos());
  return out;
}

inline void Tokenizer::encode_raw(std::string_view text, std::vector<std::int32_t>& out) const {
  if (vocabulary_.kind() == TokenizerKind::kSpm)
    return spm_.encode(vocabulary_, text, vocabulary_.add_space_prefix(), out);
  std::u32string characters = code_points(text);
  bool changed = !is_valid_utf8(text);
  if (vocabulary_.pre().nfc && !options_.peer_parity) {
    std::u32string normal = nfc(characters);
    if (normal != characters) {
      characters = std::move(normal);
      changed = true;
    }
  }
  encode_words(changed ? std::string_view(to_utf8(characters)) : text, characters, out);
}

inline void Tokenizer::encode_words(std::string_view bytes, std::u32string_view characters,
                                    std::vector<std::int32_t>& out) const {
  std::size_t at = 0, character = 0;
  for (const std::uint32_t end :
       split_words(vocabulary_.pre().kind, characters, options_.peer_parity)) {
    const std::size_t begin = at;
    for (; character < end; ++character)
      at += std::size_t(utf8_length(static_cast<unsigned char>(bytes[at])));
    bpe_.encode(vocabulary_, bytes.substr(begin, at - begin), out);
  }
}

inline std::string Tokenizer::piece(std::int32_t id, bool special) const {
  std::string out;
  append_piece(id, special, out);
  return out;
}

inline void Tokenizer::append_piece(std::int32_t id, bool special, std::string& out) const {
  if (!vocabulary_.valid(id)) return;
  const std::string_view text = vocabulary_.text(id);
  switch (vocabulary_.type(id)) {
    case TokenType::kUnknown:
    case TokenType::kControl:
      if (special) out += text;
      return;
    case TokenType::kUserDefined:
      out += text;
      return;
    case TokenType::kUnused:
      return;
    case TokenType::kByte:
      if (const int byte = spm_byte(text); byte >= 0) {
        out += char(byte);
        return;
      }
      break;
    default:
      break;
  }
  if (vocabulary_.kind() == TokenizerKind::kBpe) return ByteAlphabet::get().decode(text, out);
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, kSpmSpace.size()) == kSpmSpace) {
      out += ' ';
      at += kSpmSpace.size();
    } else {
      out += text[at++];
    }
  }
}

inline std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool remove_special,
                                     bool unparse_special) const {
  bool drop_space = vocabulary_.kind() == TokenizerKind::kSpm && vocabulary_.add_space_prefix();
  if (remove_special && vocabulary_.add_bos() && !ids.empty() && ids.front() == vocabulary_.bos()) {
    ids = ids.subspan(1);
    if (options_.peer_parity) drop_space = false;
  }
  if (remove_special && vocabulary_.add_eos() && !ids.empty() && ids.back() == vocabulary_.eos())
    ids = ids.first(ids.size() - 1);
  std::string out;
  for (const std::int32_t id : ids) {
    append_piece(id, unparse_special, out);
    if (drop_space && !out.empty()) {
      if (out.front() == ' ') out.erase(0, 1);
      drop_space = false;
    }
  }
  return out;
}

}  // namespace veloce::text

// Models that were never trained: the metadata, the tensor list and a byte-level BPE vocabulary of
// a llama or qwen3 model of any shape, as a converter would write them. For benchmarks of shapes
// without a download and for tests; the weights are the caller's. Keys and names: specs/gguf.md,
// specs/tokenizers.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/gguf/writer.hpp"

namespace veloce::gguf::synthetic {

struct Shape {
  std::string arch = "llama";  // or "qwen3": no bias, a norm on each head's query and key
  std::uint32_t hidden = 64, layers = 2, heads = 4, kv_heads = 2, head_dim = 16, ffn = 96;
  std::uint32_t vocab = 320, context = 256;
  bool tied = false;  // the output matrix is the embedding
};

enum class Role {
  kEmbedding,
  kOutput,
  kNorm,
  kQuery,
  kKey,
  kValue,
  kAttnOutput,
  kGate,
  kUp,
  kDown
};

struct TensorPlan {
  std::string name;
  std::vector<std::uint64_t> dims;  // fastest-varying first
  Role role;
  std::uint32_t layer;
};

struct Vocabulary {
  std::vector<std::string> tokens, merges;
  std::vector<std::int32_t> types;  // 1 normal, 3 control
  std::uint32_t bos, eos, end_of_turn, pad;
};

// The 256 byte values, the four control tokens and at least one merge.
inline constexpr std::uint32_t kMinVocab = 261;
inline constexpr std::uint32_t kMaxVocab = 1u << 22;

// kInvalidArgument naming the first field that no such model can have.
inline Status check(const Shape& shape) {
  const auto in = [](std::string_view name, std::uint32_t value, std::uint32_t low,
                     std::uint32_t high) {
    if (value >= low && value <= high) return Status();
    return Status(Code::kInvalidArgument, std::string(name) + ": " + std::to_string(value) +
                                              " is not from " + std::to_string(low) + " to " +
                                              std::to_string(high));
  };
  if (shape.arch != "llama" && shape.arch != "qwen3")
    return {Code::kInvalidArgument,
            "arch: " + in_quotes(shape.arch) + " is neither \"llama\" nor \"qwen3\""};
  if (Status s = in("hidden", shape.hidden, 1, 1u << 20); !s) return s;
  if (Status s = in("layers", shape.layers, 1, 4096); !s) return s;
  if (Status s = in("heads", shape.heads, 1, 65536); !s) return s;
  if (Status s = in("kv-heads", shape.kv_heads, 1, shape.heads); !s) return s;
  if (shape.heads % shape.kv_heads != 0)
    return {Code::kInvalidArgument, "kv-heads: " + std::to_string(shape.kv_heads) +
                                        " does not divide the " + std::to_string(shape.heads) +
                                        " heads"};
  if (Status s = in("head-dim", shape.head_dim, 2, 65536); !s) return s;
  if (shape.head_dim % 2 != 0)
    return {Code::kInvalidArgument,
            "head-dim: " + std::to_string(shape.head_dim) + " is odd (rotation needs pairs)"};
  if (Status s = in("ffn", shape.ffn, 1, 1u << 24); !s) return s;
  if (Status s = in("vocab", shape.vocab, kMinVocab, kMaxVocab); !s) return s;
  return in("context", shape.context, 1, 1u << 30);
}

// How byte-level BPE spells a byte: itself where it is printable, else a character from U+0100 on.
inline std::string spelled_byte(unsigned byte) {
  const auto printable = [](unsigned b) {
    return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
  };
  unsigned code = byte;
  if (!printable(byte)) {
    code = 0x100;
    for (unsigned b = 0; b < byte; ++b) code += !printable(b);
  }
  if (code < 0x80) return std::string(1, char(code));
  return {char(0xC0 | (code >> 6)), char(0x80 | (code & 63))};
}

// A vocabulary of exactly `size` tokens (kMinVocab or more): the bytes, then longer and longer
// words made by appending one letter (so that each has exactly one merge), then the control tokens.
inline Vocabulary make_vocabulary(std::uint32_t size) {
  constexpr std::string_view kLetters =
      " etaoinshrdlucmfwygpbvkxqjzETAOINSHRDLUCMFWYGPBVKXQJZ0123456789";
  const char* const kControl[] = {"<|begin_of_text|>", "<|endoftext|>", "<|im_end|>", "<|pad|>"};
  Vocabulary out;
  out.tokens.reserve(size);
  for (unsigned byte = 0; byte < 256; ++byte) out.tokens.push_back(spelled_byte(byte));
  std::vector<std::string> letters, previous;
  for (const char c : kLetters) letters.push_back(spelled_byte(static_cast<unsigned char>(c)));
  previous = letters;
  while (out.tokens.size() < size - 4) {
    std::vector<std::string> words;
    for (const std::string& word : previous)
      for (const std::string& letter : letters) {
        if (out.tokens.size() == size - 4) break;
        out.merges.push_back(word + " " + letter);
        out.tokens.push_back(words.emplace_back(word + letter));
      }
    previous = std::move(words);
  }
  out.types.assign(out.tokens.size(), 1);
  for (const char* token : kControl) {
    out.tokens.push_back(token);
    out.types.push_back(3);
  }
  out.bos = size - 4;
  out.eos = size - 3;
  out.end_of_turn = size - 2;
  out.pad = size - 1;
  return out;
}

// All metadata of the model: general, hyper-parameters, vocabulary, a chat template. file_type:
// specs/gguf.md section 6.
inline void set_metadata(Writer& out, const Shape& shape, std::string_view name,
                         std::uint32_t file_type) {
  const std::string prefix = shape.arch + ".";
  const bool qwen = shape.arch == "qwen3";
  out.set("general.architecture", shape.arch);
  out.set("general.type", "model");
  out.set("general.name", name);
  out.set("general.file_type", file_type);
  out.set("general.quantization_version", std::uint32_t(2));
  out.set(prefix + "block_count", shape.layers);
  out.set(prefix + "context_length", shape.context);
  out.set(prefix + "embedding_length", shape.hidden);
  out.set(prefix + "feed_forward_length", shape.ffn);
  out.set(prefix + "attention.head_count", shape.heads);
  out.set(prefix + "attention.head_count_kv", shape.kv_heads);
  out.set(prefix + "attention.key_length", shape.head_dim);
  out.set(prefix + "attention.value_length", shape.head_dim);
  out.set(prefix + "attention.layer_norm_rms_epsilon", qwen ? 1e-6f : 1e-5f);
  out.set(prefix + "rope.freq_base", qwen ? 1e6f : 1e4f);
  if (!qwen) out.set(prefix + "rope.dimension_count", shape.head_dim);
  out.set(prefix + "vocab_size", shape.vocab);
  const Vocabulary vocabulary = make_vocabulary(shape.vocab);
  out.set("tokenizer.ggml.model", "gpt2");
  out.set("tokenizer.ggml.pre", qwen ? "qwen2" : "llama-bpe");
  out.set_array("tokenizer.ggml.tokens", vocabulary.tokens);
  out.set_array("tokenizer.ggml.token_type", vocabulary.types);
  out.set_array("tokenizer.ggml.merges", vocabulary.merges);
  out.set("tokenizer.ggml.bos_token_id", vocabulary.bos);
  out.set("tokenizer.ggml.eos_token_id", vocabulary.eos);
  out.set("tokenizer.ggml.eot_token_id", vocabulary.end_of_turn);
  out.set("tokenizer.ggml.padding_token_id", vocabulary.pad);
  out.set("tokenizer.ggml.add_bos_token", !qwen);
  out.set("tokenizer.chat_template",
          "{%- for m in messages -%}{{ m.role }}: {{ m.content }}<|im_end|>\n{%- endfor -%}"
          "{%- if add_generation_prompt -%}assistant: {%- endif -%}");
}

// All tensors of the model, in the order that converters write them.
inline std::vector<TensorPlan> plan_tensors(const Shape& shape) {
  const std::uint64_t hidden = shape.hidden, ffn = shape.ffn, vocab = shape.vocab,
                      head = shape.head_dim;
  const std::uint64_t query = head * shape.heads, key = head * shape.kv_heads;
  std::vector<TensorPlan> out;
  out.push_back({"token_embd.weight", {hidden, vocab}, Role::kEmbedding, 0});
  out.push_back({"output_norm.weight", {hidden}, Role::kNorm, 0});
  if (!shape.tied) out.push_back({"output.weight", {hidden, vocab}, Role::kOutput, 0});
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    const auto add = [&](std::string_view name, std::vector<std::uint64_t> dims, Role role) {
      out.push_back({"blk." + std::to_string(layer) + "." + std::string(name) + ".weight",
                     std::move(dims), role, layer});
    };
    add("attn_norm", {hidden}, Role::kNorm);
    add("attn_q", {hidden, query}, Role::kQuery);
    add("attn_k", {hidden, key}, Role::kKey);
    add("attn_v", {hidden, key}, Role::kValue);
    add("attn_output", {query, hidden}, Role::kAttnOutput);
    if (shape.arch == "qwen3") {
      add("attn_q_norm", {head}, Role::kNorm);
      add("attn_k_norm", {head}, Role::kNorm);
    }
    add("ffn_norm", {hidden}, Role::kNorm);
    add("ffn_gate", {hidden, ffn}, Role::kGate);
    add("ffn_up", {hidden, ffn}, Role::kUp);
    add("ffn_down", {ffn, hidden}, Role::kDown);
  }
  return out;
}

}  // namespace veloce::gguf::synthetic

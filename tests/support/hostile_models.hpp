// Models that are well-formed GGUF files and yet must not be run, each with the words its refusal
// has to contain; and models that look odd and must run all the same. For tests of engines:
//
//   for (const HostileModel& hostile : hostile_models("llama")) {
//     TinyModel model({.arch = "llama"});
//     hostile.spoil(model);
//     ... write it, load it, expect an error that contains hostile.words ...
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/gguf_builder.hpp"

namespace veloce::test {

struct HostileModel {
  std::string name;
  std::function<void(TinyModel&)> spoil;
  std::vector<std::string>
      words;  // the refusal contains each of them: a key or a tensor, and where it helps the value
};

namespace detail {

using Models = std::vector<HostileModel>;

template <class T>
void add_value(Models& out, const std::string& key, T value, const std::string& shown) {
  out.push_back(
      {key + " = " + shown, [key, value](TinyModel& m) { m.keys().set(key, value); }, {key}});
}

// Integers that size things: absent, of another kind, zero, negative, huge.
inline void spoil_sizes(Models& out, const std::string& arch) {
  const std::string keys[] = {"block_count", "context_length", "embedding_length",
                              "feed_forward_length", "attention.head_count"};
  for (const std::string& name : keys) {
    const std::string key = arch + "." + name;
    out.push_back({key + " missing", [key](TinyModel& m) { m.keys().remove(key); }, {key}});
    add_value(out, key, 0u, "0");
    add_value(out, key, std::int32_t(-1), "-1");
    add_value(out, key, std::uint32_t(1) << 31, "2^31");
    add_value(out, key, ~std::uint32_t(0), "2^32 - 1");
    add_value(out, key, ~std::uint64_t(0), "2^64 - 1");
    add_value(out, key, 2.0f, "2.0");
    add_value(out, key, true, "true");
    add_value(out, key, "2", "\"2\"");
    out.push_back({key + " = array",
                   [key](TinyModel& m) {
                     m.keys().set_array(key, std::vector<std::uint32_t>{1, 2, 3});
                   },
                   {key}});
  }
  for (const std::string name :
       {"attention.head_count_kv", "attention.key_length", "attention.value_length"}) {
    const std::string key = arch + "." + name;
    add_value(out, key, 0u, "0");
    add_value(out, key, std::int32_t(-1), "-1");
    add_value(out, key, ~std::uint32_t(0), "2^32 - 1");
    add_value(out, key, std::uint64_t(1) << 63, "2^63");
    add_value(out, key, "many", "\"many\"");
  }
  add_value(out, arch + ".attention.head_count_kv", 3u, "3, which does not divide the heads");
  add_value(out, arch + ".attention.head_count_kv", 8u, "8, above the heads");
  add_value(out, arch + ".rope.dimension_count", 17u, "17, above the head");
  add_value(out, arch + ".rope.dimension_count", 3u, "3, odd");
  // Layers of different shapes, which the architecture does not have.
  out.push_back(
      {"heads that differ by layer",
       [arch](TinyModel& m) {
         m.keys().set_array(arch + ".attention.head_count", std::vector<std::uint32_t>{4, 2});
       },
       {"attention.head_count"}});
}

inline void spoil_floats(Models& out, const std::string& arch) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  for (const std::string name : {"attention.layer_norm_rms_epsilon", "rope.freq_base"}) {
    const std::string key = arch + "." + name;
    add_value(out, key, kNan, "NaN");
    add_value(out, key, kInf, "infinity");
    add_value(out, key, -1.0f, "-1");
    add_value(out, key, 1e30f, "1e30");
    add_value(out, key, "1e-5", "a string");
  }
  add_value(out, arch + ".rope.freq_base", 0.0f, "0");
}

inline void spoil_vocabulary(Models& out) {
  const std::string prefix = "tokenizer.ggml.";
  for (const std::string name : {"model", "tokens", "merges"}) {
    const std::string key = prefix + name;
    out.push_back({key + " missing", [key](TinyModel& m) { m.keys().remove(key); }, {key}});
    add_value(out, key, 7u, "7");
  }
  add_value(out, prefix + "model", "no such tokenizer", "unknown");
  add_value(out, prefix + "pre", "no such pre-tokenizer", "unknown");
  out.push_back(
      {"no tokens",
       [=](TinyModel& m) { m.keys().set_array(prefix + "tokens", std::vector<std::string>{}); },
       {"tokens"}});
  out.push_back({"tokens are integers",
                 [=](TinyModel& m) {
                   m.keys().set_array(prefix + "tokens", std::vector<std::int32_t>(320, 1));
                 },
                 {"tokens"}});
  out.push_back({"fewer token types than tokens",
                 [=](TinyModel& m) {
                   m.keys().set_array(prefix + "token_type", std::vector<std::int32_t>(319, 1));
                 },
                 {"token_type"}});
  out.push_back({"token types are strings",
                 [=](TinyModel& m) {
                   m.keys().set_array(prefix + "token_type", std::vector<std::string>(320, "1"));
                 },
                 {"token_type"}});
  out.push_back(
      {"fewer scores than tokens",
       [=](TinyModel& m) { m.keys().set_array(prefix + "scores", std::vector<float>(3, 0.f)); },
       {"scores"}});
  out.push_back({"more tokens than rows of the embedding",
                 [=](TinyModel& m) {
                   auto vocabulary = gguf::synthetic::make_vocabulary(m.shape().vocab + 1);
                   m.keys().set_array(prefix + "tokens", vocabulary.tokens);
                   m.keys().set_array(prefix + "token_type", vocabulary.types);
                 },
                 {"token"}});
}

inline void spoil_tensors(Models& out, const std::string& arch) {
  gguf::synthetic::Shape shape{.arch = arch};
  for (const auto& plan : gguf::synthetic::plan_tensors(shape)) {
    if (plan.layer == 0 && plan.name.starts_with("blk."))
      continue;  // the last layer stands for all
    const std::string name = plan.name;
    // Without an output matrix the embedding serves, so its absence is no fault.
    if (plan.role != gguf::synthetic::Role::kOutput)
      out.push_back({name + " missing", [name](TinyModel& m) { m.remove_tensor(name); }, {name}});
    out.push_back({name + " with a longer row",
                   [name](TinyModel& m) {
                     auto& t = m.tensor(name);
                     auto dims = t.dims;
                     dims[0] += 32;
                     t.reshape(dims);
                   },
                   {name}});
    out.push_back({name + " with more rows",
                   [name](TinyModel& m) {
                     auto& t = m.tensor(name);
                     auto dims = t.dims;
                     dims.size() > 1 ? void(dims[1] += 16) : dims.push_back(2);
                     t.reshape(dims);
                   },
                   {name}});
    out.push_back({name + " with a third dimension",
                   [name](TinyModel& m) {
                     auto& t = m.tensor(name);
                     auto dims = t.dims;
                     dims.resize(2, 1);
                     dims.push_back(2);
                     t.reshape(dims);
                   },
                   {name}});
    for (const std::uint32_t type :
         {26u, 28u, 9u, 15u}) {  // I32, F64, Q8_1, Q8_K: not types of weights
      if (type == 15 && plan.dims[0] % 256 != 0) continue;
      if (type == 9 && plan.dims[0] % 32 != 0) continue;
      out.push_back({name + " of type " + std::string(find_type(type)->name),
                     [name, type](TinyModel& m) {
                       auto& t = m.tensor(name);
                       t.type = type;
                       t.raw.resize(t.values.size() / find_type(type)->values *
                                    find_type(type)->bytes);
                     },
                     {name}});
    }
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
      out.push_back({name + " holds " + (std::isnan(bad) ? "NaN" : "infinity"),
                     [name, bad](TinyModel& m) { m.tensor(name).values.back() = bad; },
                     {name}});
  }
}

// Bad scales in blocks of quantized matrices. (NVFP4 and integers have no invalid pattern.)
inline void spoil_blocks(Models& out) {
  for (const std::uint32_t type : {2u, 8u, 20u, 39u}) {
    const TypeInfo& info = *find_type(type);
    out.push_back({"a bad scale in a block of " + std::string(info.name),
                   [type](TinyModel& m) {
                     auto& t = m.tensor("blk.1.ffn_up.weight");
                     const TypeInfo& to = *find_type(type);
                     t.type = type;
                     t.raw.assign(t.values.size() / to.values * to.bytes, std::byte{0});
                     std::byte* last = &t.raw[t.raw.size() - to.bytes];
                     last[0] = last[1] = std::byte{0xFF};  // binary16 NaN, E8M0 NaN
                   },
                   {"blk.1.ffn_up.weight"}});
  }
}

}  // namespace detail

namespace detail {
// The divisors of the rotation's frequencies, a tensor that few models have.
inline void spoil_rope_factors(Models& out) {
  const std::string name = "rope_freqs.weight";
  for (const float bad : {0.0f, std::numeric_limits<float>::quiet_NaN()})
    out.push_back({name + " holds " + std::to_string(bad),
                   [name, bad](TinyModel& m) {
                     std::vector<float> factors(m.shape().head_dim / 2, 1.0f);
                     factors[1] = bad;
                     m.tensors().push_back({name, {factors.size()}, factors, 0, {}});
                   },
                   {name}});
  out.push_back({name + " of another length",
                 [name](TinyModel& m) {
                   m.tensors().push_back({name, {3}, std::vector<float>(3, 1.0f), 0, {}});
                 },
                 {name}});
}
}  // namespace detail

// All of them for an architecture ("llama" or "qwen3"). They spoil a TinyModel of the default
// shape.
inline std::vector<HostileModel> hostile_models(const std::string& arch) {
  detail::Models out;
  const std::string key = "general.architecture";
  out.push_back({key + " missing", [key](TinyModel& m) { m.keys().remove(key); }, {key}});
  detail::add_value(out, key, "", "empty");
  detail::add_value(out, key, "no-such-architecture", "unknown");
  detail::add_value(out, key, 1u, "1");
  detail::spoil_sizes(out, arch);
  detail::spoil_floats(out, arch);
  detail::spoil_vocabulary(out);
  detail::spoil_tensors(out, arch);
  detail::spoil_blocks(out);
  detail::spoil_rope_factors(out);
  return out;
}

// Odd but valid: all must load and run. `words` is empty.
inline std::vector<HostileModel> unusual_models(const std::string& arch) {
  detail::Models out;
  const auto add = [&](std::string name, std::function<void(TinyModel&)> change) {
    out.push_back({std::move(name), std::move(change), {}});
  };
  for (const std::uint32_t alignment : {1u, 8u, 4096u, 1u << 20})
    add("alignment " + std::to_string(alignment),
        [alignment](TinyModel& m) { (void)m.keys().set_alignment(alignment).ok(); });
  add("tensors in reverse", [](TinyModel& m) {
    std::vector<TinyTensor>(m.tensors().rbegin(), m.tensors().rend()).swap(m.tensors());
  });
  add("an extra tensor", [](TinyModel& m) {
    m.tensors().push_back({"surplus.weight", {3, 5}, std::vector<float>(15, NAN), 0, {}});
  });
  add("extra keys", [](TinyModel& m) {
    m.keys().set("zz.unknown", "value");
    m.keys().set_array("zz.list", std::vector<double>{1, 2, 3});
  });
  add("no vocab_size", [arch](TinyModel& m) { m.keys().remove(arch + ".vocab_size"); });
  add("sizes as u64, i16 and i64", [arch](TinyModel& m) {
    m.keys().set(arch + ".block_count", std::uint64_t(m.shape().layers));
    m.keys().set(arch + ".embedding_length", std::int16_t(m.shape().hidden));
    m.keys().set(arch + ".attention.head_count", std::int64_t(m.shape().heads));
  });
  add("epsilon as f64",
      [arch](TinyModel& m) { m.keys().set(arch + ".attention.layer_norm_rms_epsilon", 1e-5); });
  add("heads as an array", [arch](TinyModel& m) {
    m.keys().set_array(arch + ".attention.head_count",
                       std::vector<std::uint32_t>(m.shape().layers, m.shape().heads));
    m.keys().set_array(
        arch + ".attention.head_count_kv",
        std::vector<std::int32_t>(m.shape().layers, std::int32_t(m.shape().kv_heads)));
  });
  add("default head size", [arch](TinyModel& m) {
    m.keys().remove(arch + ".attention.key_length");
    m.keys().remove(arch + ".attention.value_length");
  });
  add("default rotation", [arch](TinyModel& m) {
    m.keys().remove(arch + ".rope.freq_base");
    m.keys().remove(arch + ".rope.dimension_count");
  });
  add("special tokens beyond the vocabulary", [](TinyModel& m) {
    m.keys().set("tokenizer.ggml.bos_token_id", 5000u);
    m.keys().set("tokenizer.ggml.eot_token_id", ~std::uint32_t(0));
  });
  add("no chat template", [](TinyModel& m) { m.keys().remove("tokenizer.chat_template"); });
  add("a wrong file type label", [](TinyModel& m) { m.keys().set("general.file_type", 9999u); });
  add("tied output", [](TinyModel& m) { m.remove_tensor("output.weight"); });
  return out;
}

}  // namespace veloce::test

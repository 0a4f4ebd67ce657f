// Hyper-parameters of the classic dense transformer (llama, qwen3): read from GGUF metadata,
// checked before they size anything. Keys and defaults: specs/qwen38.md part F.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/cpu/kv_types.hpp"
#include "veloce/gguf/file.hpp"

namespace veloce::model {

enum class RopeScaling { kNone, kLinear, kYarn };

struct RopeParams {
  int rotated = 0;  // dimensions of a head that turn
  double base = 10000;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1;
  double original_context = 0;
  double attention_factor = 1;
};

struct DenseParams {
  int layers = 0, hidden = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0, vocabulary = 0,
      trained_context = 0;
  float norm_epsilon = 0, attention_scale = 0;
  RopeParams rope;

  int q_dim() const { return heads * head_dim; }
  int kv_dim() const { return kv_heads * head_dim; }
};

namespace detail {

// Reads keys under "<arch>." and keeps the first error, so that the caller reads as a list.
class KeyReader {
 public:
  KeyReader(const gguf::File& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  int integer(const char* key, std::int64_t low, std::int64_t high) {
    return take<std::int64_t>(file_.metadata().get_in<std::int64_t>(prefix_ + key, low, high));
  }
  int integer_or(const char* key, std::int64_t low, std::int64_t high, std::int64_t fallback) {
    return take<std::int64_t>(
        file_.metadata().get_in_or<std::int64_t>(prefix_ + key, low, high, fallback));
  }
  double number_or(const char* key, double low, double high, double fallback) {
    return take<double>(file_.metadata().get_in_or<double>(prefix_ + key, low, high, fallback));
  }
  // The same where 0 is another way to say that the key is not used.
  double factor_or(const char* key, double low, double high, double fallback) {
    const gguf::Value* value = file_.metadata().find(prefix_ + key);
    if (value != nullptr && value->f64() == 0.0) return fallback;
    return number_or(key, low, high, fallback);
  }
  void must_not_be_false(const char* key, const std::string& why) {
    auto r = file_.metadata().get_or<bool>(prefix_ + key, true);
    if (!r) return keep(r.status());
    if (!*r)
      keep(Status(Code::kUnsupported,
                  file_.path() + ": key \"" + prefix_ + key + "\" = false: " + why));
  }
  std::string text_or(const char* key, std::string_view fallback) {
    auto r = file_.metadata().get_or<std::string_view>(prefix_ + key, fallback);
    if (!r) {
      keep(r.status());
      return std::string(fallback);
    }
    return std::string(*r);
  }
  // A number that may be stored as one value or as an array of equal values, one a layer.
  int same_in_all_layers(const char* key, int layers, std::int64_t low, std::int64_t high,
                         std::int64_t fallback) {
    const std::string name = prefix_ + key;
    const gguf::Value* value = file_.metadata().find(name);
    if (value == nullptr && fallback > 0) return int(fallback);
    if (value == nullptr || !value->is_array()) return integer(key, low, high);
    auto all = file_.metadata().get_int_per_layer(name, std::size_t(layers));
    if (!all) {
      keep(all.status());
      return 1;
    }
    for (const std::int64_t v : *all)
      if (v != (*all)[0] || v < low || v > high) {
        keep(Status(Code::kUnsupported, file_.path() + ": key \"" + name +
                                            "\": the layers differ or are out of range (" +
                                            std::to_string((*all)[0]) + ", " + std::to_string(v) +
                                            ")"));
        return 1;
      }
    return int((*all)[0]);
  }
  void keep(Status s) {
    if (status_.ok()) status_ = std::move(s);
  }
  void require(bool holds, const char* key, const std::string& why) {
    if (!holds)
      keep(Status(Code::kCorrupt, file_.path() + ": key \"" + prefix_ + key + "\": " + why));
  }
  const Status& status() const { return status_; }

 private:
  template <class T>
  T take(Result<T> r) {
    if (r) return *r;
    keep(r.status());
    return T(1);
  }
  const gguf::File& file_;
  std::string prefix_;
  Status status_;
};

inline RopeParams read_rope(KeyReader& keys, int head_dim) {
  RopeParams r;
  r.rotated = keys.integer_or("rope.dimension_count", 2, head_dim, head_dim);
  keys.require(r.rotated % 2 == 0, "rope.dimension_count",
               "must be even, is " + std::to_string(r.rotated));
  r.base = keys.number_or("rope.freq_base", 1.0, 1e12, 10000.0);
  // Files older than the key for the type have a factor alone and mean linear; the oldest call it
  // scale_linear.
  const std::string type = keys.text_or("rope.scaling.type", "linear");
  if (type == "linear")
    r.scaling = RopeScaling::kLinear;
  else if (type == "yarn")
    r.scaling = RopeScaling::kYarn;
  else if (type != "none" && !type.empty())
    keys.keep(Status(Code::kUnsupported, "rope.scaling.type \"" + type +
                                             "\" is not supported (none, linear, yarn are)"));
  if (r.scaling != RopeScaling::kNone)
    r.factor = keys.factor_or("rope.scaling.factor", 1e-3, 1e6,
                              keys.factor_or("rope.scale_linear", 1e-3, 1e6, 1.0));
  r.attention_factor = keys.factor_or("rope.scaling.attn_factor", 1e-3, 1e3, 1.0);
  if (r.scaling == RopeScaling::kYarn)
    r.original_context = keys.integer_or("rope.scaling.original_context_length", 1, 1 << 30,
                                         keys.integer_or("context_length", 1, 1 << 30, 4096));
  return r;
}

}  // namespace detail

// Errors: kNotFound, kCorrupt or kUnsupported, naming file, key and value.
inline Result<DenseParams> read_dense_params(const gguf::File& file, const std::string& arch) {
  detail::KeyReader keys(file, arch + ".");
  DenseParams p;
  p.layers = keys.integer("block_count", 1, 1000);
  p.hidden = keys.integer("embedding_length", 16, 1 << 17);
  p.ffn = keys.same_in_all_layers("feed_forward_length", p.layers, 1, 1 << 20, 0);
  p.heads = keys.same_in_all_layers("attention.head_count", p.layers, 1, 4096, 0);
  p.kv_heads = keys.same_in_all_layers("attention.head_count_kv", p.layers, 1, 4096, p.heads);
  p.head_dim =
      keys.integer_or("attention.key_length", 2, 1024, p.heads > 0 ? p.hidden / p.heads : 0);
  const int value_dim = keys.integer_or("attention.value_length", 2, 1024, p.head_dim);
  p.trained_context = keys.integer("context_length", 1, 1 << 28);
  p.norm_epsilon = float(keys.number_or("attention.layer_norm_rms_epsilon", 0.0, 1.0, 1e-5));
  p.attention_scale =
      float(keys.factor_or("attention.scale", 1e-6, 1e6, 1.0 / std::sqrt(double(p.head_dim))));
  p.rope = detail::read_rope(keys, p.head_dim);
  keys.require(
      p.heads % p.kv_heads == 0, "attention.head_count_kv",
      std::to_string(p.kv_heads) + " does not divide the " + std::to_string(p.heads) + " heads");
  keys.require(p.heads / p.kv_heads <= cpu::kAttentionBlockRows, "attention.head_count",
               "more than 64 heads share a key head");
  keys.require(p.head_dim >= 2 && p.head_dim <= 1024, "attention.key_length",
               "must be from 2 to 1024, is " + std::to_string(p.head_dim));
  keys.require(
      value_dim == p.head_dim, "attention.value_length",
      std::to_string(value_dim) + " differs from the key length " + std::to_string(p.head_dim));
  keys.must_not_be_false("attention.causal", "attention to later tokens is not supported");
  if (keys.integer_or("expert_count", 0, 1 << 20, 0) > 0)
    keys.keep(Status(Code::kUnsupported,
                     file.path() + ": key \"" + arch +
                         ".expert_count\": mixtures of experts are not supported for " + arch));
  if (!keys.status().ok()) return keys.status();
  return p;
}

// Angles: inverse frequency of each pair (already scaled), and the factor of cos and sin. `factors`
// (rope_freqs.weight, rotated / 2 floats) divides the frequencies; may be null.
struct RopeTable {
  std::vector<double> frequency;
  double magnitude = 1;

  // {cos, sin} of each pair at a position.
  void fill(int position, float* out) const {
    for (std::size_t i = 0; i < frequency.size(); ++i) {
      const double angle = double(position) * frequency[i];
      out[2 * i] = float(std::cos(angle) * magnitude);
      out[2 * i + 1] = float(std::sin(angle) * magnitude);
    }
  }
};

inline RopeTable make_rope_table(const RopeParams& p, const float* factors) {
  RopeTable t;
  const int pairs = p.rotated / 2;
  const double n = p.rotated, scale = 1.0 / p.factor, tau = 6.283185307179586;
  const auto corner = [&](double beta) {
    return n * std::log(p.original_context / (beta * tau)) / (2 * std::log(p.base));
  };
  double low = 0, high = 0;
  t.magnitude = p.attention_factor;
  if (p.scaling == RopeScaling::kYarn) {
    low = std::fmin(std::fmax(std::floor(corner(32)), 0.0), n - 1);
    high = std::fmin(std::fmax(std::ceil(corner(1)), 0.0), n - 1);
    t.magnitude *= 1.0 + 0.1 * std::log(std::fmax(p.factor, 1.0));  // no less where a text shrinks
  }
  for (int i = 0; i < pairs; ++i) {
    double f = std::pow(p.base, -2.0 * i / n) / (factors ? double(factors[i]) : 1.0);
    if (p.scaling == RopeScaling::kLinear) f *= scale;
    if (p.scaling == RopeScaling::kYarn) {
      const double ramp =
          1.0 - std::fmin(std::fmax((i - low) / std::fmax(0.001, high - low), 0.0), 1.0);
      f = f * scale * (1 - ramp) + f * ramp;
    }
    t.frequency.push_back(f);
  }
  return t;
}

}  // namespace veloce::model

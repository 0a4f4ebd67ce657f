// Names and shapes of the tensors of a dense transformer, planned into Weights.
#pragma once

#include <string>
#include <vector>

#include "veloce/model/dense_params.hpp"
#include "veloce/model/weights.hpp"

namespace veloce::models {

struct DenseLayer {
  const float *attn_norm = nullptr, *ffn_norm = nullptr, *q_norm = nullptr, *k_norm = nullptr;
  cpu::PackedMatrix q, k, v, o, gate, up, down;
  const float *q_bias = nullptr, *k_bias = nullptr, *v_bias = nullptr, *o_bias = nullptr;
  const float *gate_bias = nullptr, *up_bias = nullptr, *down_bias = nullptr;
};

struct DenseTensors {
  const gguf::TensorInfo* embedding = nullptr;  // its rows are read from the file when needed
  cpu::PackedMatrix output;  // the embedding again where the file has no output matrix
  const float* output_norm = nullptr;
  const float* rope_factors = nullptr;
  std::vector<DenseLayer> layers;
};

// Calls f(matrix) for every matrix that a step multiplies with.
template <class F>
void each_matrix(const DenseTensors& t, F f) {
  f(t.output);
  for (const DenseLayer& l : t.layers)
    for (const cpu::PackedMatrix* m : {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down}) f(*m);
}

// Finds and checks every tensor; fills p.vocabulary from the embedding. The targets stay valid as
// long as `t` stays where it is.
template <class Arch>
Status plan_dense_tensors(const gguf::File& file, model::DenseParams& p, model::Weights& w,
                          DenseTensors& t) {
  t.embedding = file.find_tensor("token_embd.weight");
  if (t.embedding == nullptr)
    return Status(Code::kNotFound, file.path() + ": tensor \"token_embd.weight\" is missing");
  if (t.embedding->dims[0] != std::uint64_t(p.hidden) || t.embedding->dims[2] != 1 ||
      t.embedding->dims[3] != 1 || t.embedding->dims[1] > (1u << 24))
    return Status(Code::kCorrupt, file.path() + ": tensor \"token_embd.weight\" has shape " +
                                      t.embedding->shape() + ", expected [" +
                                      std::to_string(p.hidden) + ", vocabulary]");
  if (!AllFormats::contains(t.embedding->type))
    return Status(Code::kUnsupported, file.path() + ": tensor \"token_embd.weight\" has type " +
                                          describe_type(t.embedding->type));
  p.vocabulary = int(t.embedding->dims[1]);
  const gguf::Value* tokens = file.metadata().find("tokenizer.ggml.tokens");
  if (tokens != nullptr && tokens->is_array() && tokens->count() > t.embedding->dims[1])
    return Status(Code::kCorrupt, file.path() + ": key \"tokenizer.ggml.tokens\" has " +
                                      std::to_string(tokens->count()) +
                                      " tokens, but tensor \"token_embd.weight\" has " +
                                      std::to_string(p.vocabulary) + " rows");
  Status s;
  const auto matrix = [&](const std::string& name, int rows, int k, cpu::PackedMatrix* to,
                          bool optional = false) {
    if (s.ok()) s = w.plan_matrix(name, rows, k, optional, to);
  };
  const auto vector = [&](const std::string& name, int n, const float** to, bool optional = false) {
    if (s.ok()) s = w.plan_vector(name, n, optional, to);
  };
  vector("output_norm.weight", p.hidden, &t.output_norm);
  vector("rope_freqs.weight", p.rope.rotated / 2, &t.rope_factors, true);
  const gguf::TensorInfo* output = file.find_tensor("output.weight");
  const bool tied = output == nullptr;
  if (output != nullptr && output->dims[1] != t.embedding->dims[1])
    return Status(Code::kCorrupt,
                  file.path() + ": tensor \"output.weight\" has shape " + output->shape() +
                      ", but tensor \"token_embd.weight\" has shape " + t.embedding->shape());
  if (!tied) w.plan_check(*t.embedding);  // stays in the file
  matrix(tied ? "token_embd.weight" : "output.weight", p.vocabulary, p.hidden, &t.output);
  t.layers.resize(std::size_t(p.layers));
  for (int i = 0; i < p.layers; ++i) {
    const std::string b = "blk." + std::to_string(i) + ".";
    DenseLayer& l = t.layers[std::size_t(i)];
    vector(b + "attn_norm.weight", p.hidden, &l.attn_norm);
    vector(b + "ffn_norm.weight", p.hidden, &l.ffn_norm);
    if constexpr (Arch::kHeadNorm) {
      vector(b + "attn_q_norm.weight", p.head_dim, &l.q_norm);
      vector(b + "attn_k_norm.weight", p.head_dim, &l.k_norm);
    }
    matrix(b + "attn_q.weight", p.q_dim(), p.hidden, &l.q);
    matrix(b + "attn_k.weight", p.kv_dim(), p.hidden, &l.k);
    matrix(b + "attn_v.weight", p.kv_dim(), p.hidden, &l.v);
    matrix(b + "attn_output.weight", p.hidden, p.q_dim(), &l.o);
    matrix(b + "ffn_gate.weight", p.ffn, p.hidden, &l.gate);
    matrix(b + "ffn_up.weight", p.ffn, p.hidden, &l.up);
    matrix(b + "ffn_down.weight", p.hidden, p.ffn, &l.down);
    vector(b + "attn_q.bias", p.q_dim(), &l.q_bias, true);
    vector(b + "attn_k.bias", p.kv_dim(), &l.k_bias, true);
    vector(b + "attn_v.bias", p.kv_dim(), &l.v_bias, true);
    vector(b + "attn_output.bias", p.hidden, &l.o_bias, true);
    vector(b + "ffn_gate.bias", p.ffn, &l.gate_bias, true);
    vector(b + "ffn_up.bias", p.ffn, &l.up_bias, true);
    vector(b + "ffn_down.bias", p.hidden, &l.down_bias, true);
  }
  return s;
}

}  // namespace veloce::models

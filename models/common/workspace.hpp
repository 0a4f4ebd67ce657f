// All of a step's intermediate memory on the CPU, planned once: shared rows, tiles of activations,
// and what each worker has for itself. Steady-state steps allocate nothing. What is never in use at
// the same time shares its place: the embedding's rows, attention's rows, the feed-forward's and
// the final norm's.
#pragma once

#include <cstddef>
#include <vector>

#include "veloce/cpu/kernels.hpp"
#include "veloce/model/arena.hpp"
#include "veloce/model/dense_params.hpp"

namespace veloce::models {

// Up to this many columns every worker prepares the activations for itself, which costs less than a
// barrier.
inline constexpr int kPrivateColumns = 1;

// The inputs of a group of matmuls: 8-bit, float, or both where the weights' types are mixed.
struct Inputs {
  cpu::ActivationsQ8 q8;
  cpu::ActivationsF32 f32;
  bool has_q8 = false, has_f32 = false;
};

// What a workspace's size depends on besides the model's dimensions.
struct WorkspaceShape {
  int batch = 0, threads = 0, context = 0;
  std::size_t embedding_row = 0;      // bytes of a stored row of the embedding
  int widest_q8 = 0, widest_f32 = 0;  // the longest row of weights that takes inputs of this kind
};

class Workspace {
 public:
  std::byte* embedded = nullptr;  // rows of the embedding as they are stored
  float *x = nullptr, *q = nullptr, *k = nullptr, *v = nullptr, *attended = nullptr, *h = nullptr;
  float *rope = nullptr, *logits = nullptr, *hidden = nullptr, *partials = nullptr;
  std::size_t partials_size = 0;

  // Plans (base null) or places everything. Returns the bytes.
  std::size_t lay_out(const model::DenseParams& p, const WorkspaceShape& shape, std::byte* base) {
    next_ = 0;
    base_ = base;
    const std::size_t n = std::size_t(shape.batch), pad = 16;
    x = floats(n * std::size_t(p.hidden) + pad);
    rope = floats(n * std::size_t(p.rope.rotated));
    const std::size_t shared = next_;
    q = floats(n * std::size_t(p.q_dim()) + pad);
    k = floats(n * std::size_t(p.kv_dim()) + pad);
    v = floats(n * std::size_t(p.kv_dim()) + pad);
    attended = floats(n * std::size_t(p.q_dim()) + pad);
    std::size_t end = next_;
    const auto instead = [&](auto place) {
      next_ = shared;
      auto* at = place();
      end = std::max(end, next_);
      return at;
    };
    embedded = instead([&] { return bytes(n * shape.embedding_row); });
    h = instead([&] { return floats(n * std::size_t(p.ffn) + pad); });
    hidden = instead([&] { return floats(n * std::size_t(p.hidden) + pad); });
    next_ = end;
    partials_size = cpu::attention_partials(std::min(2 * shape.threads, 2 * p.kv_heads * 4),
                                            p.head_dim, shape.context);
    partials = floats(partials_size);
    const int widest = std::max({p.hidden, p.q_dim(), p.ffn});
    shared_ = place_inputs(shape, shape.batch);
    workers_.resize(std::size_t(shape.threads));
    for (Worker& w : workers_) {
      w.own = place_inputs(shape, kPrivateColumns);
      w.scratch = bytes(std::max(cpu::matmul_scratch_bytes(std::size_t(widest), n),
                                 cpu::attention_scratch_bytes(p.head_dim)));
      w.row = floats(std::size_t(widest) + pad);
    }
    return next_;
  }

  // The inputs to fill for n columns of k values: the worker's own or the team's.
  Inputs inputs(int worker, int k_values, int n, bool q8, bool f32) const {
    const Memory& m = n <= kPrivateColumns ? workers_[std::size_t(worker)].own : shared_;
    Inputs in;
    in.has_q8 = q8;
    in.has_f32 = f32;
    if (q8) in.q8 = cpu::ActivationsQ8::place(m.q8, k_values, n);
    if (f32) in.f32 = {k_values, n, m.f32};
    return in;
  }
  std::byte* scratch(int worker) const { return workers_[std::size_t(worker)].scratch; }
  float* row(int worker) const { return workers_[std::size_t(worker)].row; }

 private:
  struct Memory {
    std::byte* q8 = nullptr;
    float* f32 = nullptr;
  };
  struct Worker {
    Memory own;
    std::byte* scratch = nullptr;
    float* row = nullptr;
  };

  std::byte* bytes(std::size_t n) {
    std::byte* p = base_ ? base_ + next_ : nullptr;
    next_ += (n + 63) / 64 * 64;
    return p;
  }
  float* floats(std::size_t n) { return reinterpret_cast<float*>(bytes(n * sizeof(float))); }
  Memory place_inputs(const WorkspaceShape& shape, int n) {
    const auto wide = [](int row) { return (std::size_t(row) + 31) / 32 * 32; };
    Memory m;
    m.q8 = bytes(cpu::ActivationsQ8::bytes(wide(shape.widest_q8), std::size_t(n)));
    m.f32 = floats(wide(shape.widest_f32) * std::size_t(n));
    return m;
  }

  std::size_t next_ = 0;
  std::byte* base_ = nullptr;
  Memory shared_;
  std::vector<Worker> workers_;
};

}  // namespace veloce::models

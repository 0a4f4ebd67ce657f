// The dense transformer on the CPU: a straight program over the backend's ops, instantiated per
// architecture.
//
// One step is one run of the thread team; every worker walks forward() and shares each op. Phases,
// with a barrier after each (a line is a phase):
//   embed
//   per layer:  norm, round | Q K V            columns of x -> q, k, v
//               head norms, rotation, cache, attention
//               round | output projection + x
//               norm, round | gate, up, SwiGLU
//               round | down projection + x
//   norm of the wanted rows | output matrix
// "round" (to 8 bits) is done by every worker for itself when there is a single column. After the
// last attention only the columns whose logits are wanted go on.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/common/dense_weights.hpp"
#include "models/common/workspace.hpp"
#include "veloce/model/engine.hpp"
#include "veloce/model/kv_cache.hpp"

namespace veloce::models {

template <class Arch>
class DenseEngine final : public model::Engine {
 public:
  static Result<std::unique_ptr<model::Engine>> load(gguf::File file,
                                                     const model::EngineOptions& options,
                                                     int threads);
  static Result<model::MemoryPlan> plan(const gguf::File& file, const model::EngineOptions& options,
                                        int threads);

  const model::ModelInfo& info() const override { return info_; }
  const model::MemoryPlan& memory() const override { return plan_; }
  const gguf::File& file() const override { return file_; }
  int threads() const override { return pool_.size(); }
  int context() const override { return cache_.shape().context; }
  int max_sequences() const override { return cache_.shape().sequences; }
  int max_batch() const override { return max_batch_; }

  Status step(std::span<const model::Token> batch) override;
  std::span<const float> logits(int index) const override {
    const int slot = slot_of(index);
    if (slot < 0) return {};
    return {logits_.get() + std::size_t(slot) * std::size_t(p_.vocabulary),
            std::size_t(p_.vocabulary)};
  }
  std::span<const float> hidden(int index) const override {
    const int slot = slot_of(index);
    if (slot < 0) return {};
    return {work_.hidden + std::size_t(slot) * std::size_t(p_.hidden), std::size_t(p_.hidden)};
  }

  int length(int sequence) const override { return valid(sequence) ? cache_.length(sequence) : 0; }
  Status truncate(int sequence, int length) override;
  Status copy(int from, int to, int length) override;
  Result<std::vector<std::byte>> serialize(int sequence) const override {
    if (!valid(sequence)) return no_sequence(sequence);
    return cache_.serialize(sequence);
  }
  Status restore(int sequence, std::span<const std::byte> bytes) override {
    if (!valid(sequence)) return no_sequence(sequence);
    return cache_.restore(sequence, bytes);
  }

 private:
  explicit DenseEngine(gguf::File file, int threads)
      : file_(std::move(file)), weights_(file_), pool_(threads) {}

  // Everything that decides sizes, worked out before memory is taken.
  struct Sizes {
    model::KvCache::Shape cache;
    WorkspaceShape work;
    model::MemoryPlan plan;
  };
  static Result<Sizes> size_up(const gguf::File& file, const model::DenseParams& p,
                               const DenseTensors& tensors, const model::EngineOptions& o,
                               int threads, std::size_t weight_bytes);

  bool valid(int sequence) const { return sequence >= 0 && sequence < cache_.shape().sequences; }
  Status no_sequence(int sequence) const {
    return Status(Code::kInvalidArgument, "sequence " + std::to_string(sequence) +
                                              " is not in 0 .. " +
                                              std::to_string(cache_.shape().sequences - 1));
  }
  int slot_of(int index) const {
    return index >= 0 && std::size_t(index) < slots_.size() ? slots_[std::size_t(index)] : -1;
  }

  Status check_batch(std::span<const model::Token> batch);
  Status fetch_rows(std::span<const model::Token> batch);
  void find_spans(std::span<const model::Token> batch);
  void forward(cpu::Worker& w, std::span<const model::Token> batch);
  void embed(cpu::Worker& w, std::span<const model::Token> batch);
  Inputs prepare(cpu::Worker& w, const float* x, const float* norm, int k, int n,
                 std::initializer_list<const cpu::PackedMatrix*> users);
  void product(cpu::Worker& w, const cpu::PackedMatrix& m, const Inputs& in, cpu::Finish finish,
               const float* bias, float* out, int stride);
  void attend(cpu::Worker& w, const DenseLayer& layer, int index, int n);
  void keep_wanted(cpu::Worker& w);
  void feed_forward(cpu::Worker& w, const DenseLayer& layer, int n);

  gguf::File file_;
  model::ModelInfo info_;
  model::MemoryPlan plan_;
  model::DenseParams p_;
  DenseTensors tensors_;
  model::Weights weights_;
  model::RopeTable rope_;
  model::KvCache cache_;
  cpu::Pool pool_;
  const cpu::Kernels* kernels_ = nullptr;
  bool q8_ = true;
  int max_batch_ = 0;
  model::Arena work_memory_;
  Workspace work_;
  // Rows of logits; grows to what a caller asks for and stays.
  std::unique_ptr<float[]> logits_;
  std::size_t logits_rows_ = 0;
  std::vector<cpu::Span> spans_;  // this step's sequences
  std::vector<int> sequences_;    // sequence of each span
  std::vector<int> slots_;        // logits row of each token of the last step, or -1
  std::vector<int> wanted_;       // tokens whose logits are wanted
};

}  // namespace veloce::models

#include "models/common/dense_engine-inl.hpp"

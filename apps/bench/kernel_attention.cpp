// veloce-bench kernel attention: n new positions of one sequence that then holds `keys`.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "bench/kernel_case.hpp"
#include "bench/random_weights.hpp"
#include "veloce/core/numeric.hpp"
#include "veloce/formats/all.hpp"
#include "veloce/model/arena.hpp"
#include "veloce/ref/attention.hpp"

namespace veloce::bench {
namespace {

std::optional<cpu::KvType> kv_type(const std::string& format) {
  const TypeInfo* type = find_type(format);
  if (!type) return {};
  switch (type->id) {
    case F32::kGgufType:
      return cpu::KvType::kF32;
    case F16::kGgufType:
      return cpu::KvType::kF16;
    case BF16::kGgufType:
      return cpu::KvType::kBF16;
    case Q8_0::kGgufType:
      return cpu::KvType::kQ8_0;
    default:
      return {};
  }
}

// What a cache of this type gives back for x.
void through_cache(cpu::KvType type, float* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (type == cpu::KvType::kF16) x[i] = half_to_float(float_to_half(x[i]));
    if (type == cpu::KvType::kBF16) x[i] = bf16_to_float(float_to_bf16(x[i]));
    if (type == cpu::KvType::kQ8_0 && i % 32 == 0) {
      Q8_0::Block block;
      Q8_0::quantize_row(x + i, &block, 32);
      Q8_0::decode(block, x + i);
    }
  }
}

class AttentionCase final : public KernelCase {
 public:
  AttentionCase(const KernelShape& s, cpu::KvType type, const cpu::Kernels& kernels)
      : s_(s), type_(type), kernels_(kernels) {
    const std::size_t positions = (std::size_t(s.keys) + 15) / 16 * 16;
    head_bytes_ = positions * cpu::kv_bytes(type, s.dim);
    cache_bytes_ = (2 * head_bytes_ * std::size_t(s.kv_heads) + 63) / 64 * 64;
  }

  Status prepare(cpu::Pool& pool, std::size_t working_set) {
    const Result<int> copies = copies_for(cache_bytes_, working_set);
    if (!copies) return copies.status();
    copies_ = *copies;
    Result<model::Arena> memory =
        model::Arena::create(cache_bytes_ * std::size_t(copies_), "the keys and values");
    if (!memory) return memory.status();
    memory_ = *std::move(memory);
    q_.resize(std::size_t(s_.keys) * q_width());
    k_.resize(std::size_t(s_.keys) * kv_width());
    v_.resize(k_.size());
    out_.resize(q_.size());
    Random random(7);
    for (std::vector<float>* all : {&q_, &k_, &v_})
      for (float& x : *all) x = random.normal();
    scratch_each_ = (cpu::attention_scratch_bytes(s_.dim) + 63) / 64 * 64;
    scratch_.resize(scratch_each_ * std::size_t(pool.size()) + 64);
    partials_.resize(
        cpu::attention_partials(std::min(2 * pool.size(), 8 * s_.kv_heads), s_.dim, s_.keys));
    // The op itself writes the earlier positions, in chunks as a prompt would.
    for (int at = 0; at < s_.keys - s_.n; at += kPromptChunk)
      pool.run([&, at](cpu::Worker& w) {
        attend(w, 0, at, std::min(kPromptChunk, s_.keys - s_.n - at));
      });
    for (int c = 1; c < copies_; ++c)
      std::memcpy(memory_.data() + std::size_t(c) * cache_bytes_, memory_.data(), cache_bytes_);
    return {};
  }

  std::string shape() const override {
    return "h=" + std::to_string(s_.heads) + "/" + std::to_string(s_.kv_heads) + "x" +
           std::to_string(s_.dim) + " keys=" + std::to_string(s_.keys) +
           " n=" + std::to_string(s_.n);
  }
  Cost cost() const override {
    Cost c = veloce::cost(args());
    c.bytes = 8 * std::uint64_t(s_.n) * q_width() + 2 * std::uint64_t(s_.keys) *
                                                        std::uint64_t(s_.kv_heads) *
                                                        cpu::kv_bytes(type_, s_.dim);
    return c;
  }
  Arithmetic arithmetic() const override { return Arithmetic::kFloat; }
  int copies() const override { return copies_; }
  void run(cpu::Worker& w, int copy) override { attend(w, copy, s_.keys - s_.n, s_.n); }

  Status check(cpu::Pool& pool) override {
    std::fill(out_.begin(), out_.end(), NAN);
    pool.run([&](cpu::Worker& w) { run(w, 0); });
    std::vector<float> k = k_, v = v_, want(q_.size());
    through_cache(type_, k.data(), k.size());
    through_cache(type_, v.data(), v.size());
    // The first and the last of the new positions.
    float largest = 0;
    for (const float x : v) largest = std::max(largest, std::fabs(x));
    for (const int query : {s_.keys - s_.n, s_.keys - 1}) {
      AttentionArgs a = args();
      a.queries = 1;
      a.keys = query + 1;
      a.q = q_.data() + std::size_t(query) * q_width();
      a.k = k.data();
      a.v = v.data();
      a.out = want.data();
      if (Status s = ref::attention(a); !s) return s;
      // Scores are off by a few roundings of sums of dim terms of about 1, the weights by as much,
      // relatively.
      const double bound =
          (8 + double(s_.dim) / 8 + double(s_.keys) / 16) * 0x1p-22 * double(largest);
      for (std::size_t i = 0; i < q_width(); ++i)
        if (Status s =
                compare("attention", i, std::size_t(query),
                        double(out_[std::size_t(query) * q_width() + i]), double(want[i]), bound);
            !s)
          return s;
    }
    return {};
  }

 private:
  static constexpr int kPromptChunk = 256;
  std::size_t q_width() const { return std::size_t(s_.heads) * std::size_t(s_.dim); }
  std::size_t kv_width() const { return std::size_t(s_.kv_heads) * std::size_t(s_.dim); }
  AttentionArgs args() const {
    return {s_.heads, s_.kv_heads, s_.dim,  s_.n,   s_.keys, 1.0f / std::sqrt(float(s_.dim)),
            nullptr,  nullptr,     nullptr, nullptr};
  }

  void attend(cpu::Worker& w, int copy, int position, int n) {
    std::byte* base = memory_.data() + std::size_t(copy) * cache_bytes_;
    const cpu::Span span = {0,
                            n,
                            position,
                            {base, base + head_bytes_ * std::size_t(s_.kv_heads), head_bytes_,
                             head_bytes_, type_, type_}};
    cpu::Attention a;
    a.heads = s_.heads;
    a.kv_heads = s_.kv_heads;
    a.dim = s_.dim;
    a.scale = args().scale;
    a.q = q_.data() + std::size_t(position) * q_width();
    a.k = k_.data() + std::size_t(position) * kv_width();
    a.v = v_.data() + std::size_t(position) * kv_width();
    a.q_stride = q_width();
    a.k_stride = a.v_stride = kv_width();
    a.spans = &span;
    a.span_count = 1;
    a.columns = n;
    a.out = out_.data() + std::size_t(position) * q_width();
    a.scratch = scratch_.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch_.data()) % 64) +
                std::size_t(w.index()) * scratch_each_;
    a.partials = partials_.data();
    a.partials_size = partials_.size();
    kernels_.attention(w, a);
  }

  KernelShape s_;
  cpu::KvType type_;
  const cpu::Kernels& kernels_;
  std::size_t head_bytes_ = 0, cache_bytes_ = 0, scratch_each_ = 0;
  int copies_ = 1;
  model::Arena memory_;
  std::vector<float> q_, k_, v_, out_, partials_;
  std::vector<std::byte> scratch_;
};

}  // namespace

Result<std::unique_ptr<KernelCase>> make_attention_case(const KernelShape& s,
                                                        const cpu::Kernels& kernels,
                                                        cpu::Pool& pool, std::size_t working_set) {
  const std::optional<cpu::KvType> type = kv_type(s.format);
  if (!type)
    return Status(Code::kInvalidArgument,
                  "--format " + s.format + ": a cache is F32, F16, BF16 or Q8_0");
  if (s.kv_heads < 1 || s.heads % s.kv_heads != 0 ||
      s.heads / s.kv_heads > cpu::kAttentionBlockRows)
    return Status(Code::kInvalidArgument, "--kv-heads " + std::to_string(s.kv_heads) +
                                              ": must divide --heads " + std::to_string(s.heads) +
                                              " into groups of at most " +
                                              std::to_string(cpu::kAttentionBlockRows));
  if (s.dim % 32 != 0)
    return Status(Code::kInvalidArgument,
                  "--dim " + std::to_string(s.dim) + ": must be a multiple of 32");
  if (s.n > s.keys)
    return Status(Code::kInvalidArgument,
                  "--n " + std::to_string(s.n) + ": more than --keys " + std::to_string(s.keys));
  auto c = std::make_unique<AttentionCase>(s, *type, kernels);
  if (Status st = c->prepare(pool, working_set); !st) return st;
  return std::unique_ptr<KernelCase>(std::move(c));
}

}  // namespace veloce::bench

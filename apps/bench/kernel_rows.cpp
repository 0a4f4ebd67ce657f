// veloce-bench kernel rms_norm / quantize / embed: ops over rows of n tokens.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "bench/kernel_case.hpp"
#include "bench/random_weights.hpp"
#include "veloce/cpu/packing.hpp"
#include "veloce/formats/activation_q8.hpp"
#include "veloce/model/arena.hpp"
#include "veloce/ref/embed.hpp"
#include "veloce/ref/rms_norm.hpp"

namespace veloce::bench {
namespace {

std::string rows_text(const KernelShape& s) {
  return "n=" + std::to_string(s.n) + " k=" + std::to_string(s.k);
}

Result<model::Arena> random_rows(std::size_t values, int copies) {
  Result<model::Arena> memory = model::Arena::create(values * 4 * std::size_t(copies), "the rows");
  if (!memory) return memory;
  auto* x = reinterpret_cast<float*>(memory->data());
  Random random(3);
  for (std::size_t i = 0; i < values; ++i) x[i] = random.normal();
  for (int c = 1; c < copies; ++c) std::memcpy(x + std::size_t(c) * values, x, values * 4);
  return memory;
}

class RmsNormCase final : public KernelCase {
 public:
  RmsNormCase(const KernelShape& s, const cpu::Kernels& kernels, model::Arena rows,
              model::Arena out, int copies)
      : s_(s),
        kernels_(kernels),
        rows_(std::move(rows)),
        out_(std::move(out)),
        copies_(copies),
        weight_(std::size_t(s.k)) {
    Random random(4);
    for (float& w : weight_) w = 1 + 0.1f * random.normal();
  }
  std::string shape() const override { return rows_text(s_); }
  Cost cost() const override {
    return veloce::cost(RmsNormArgs{s_.n, s_.k, nullptr, nullptr, 0, nullptr});
  }
  Arithmetic arithmetic() const override { return Arithmetic::kFloat; }
  int copies() const override { return copies_; }
  void run(cpu::Worker& w, int copy) override {
    const float* x = row(rows_, copy);
    float* y = row(out_, copy);
    auto share = w.share(s_.n);
    const std::size_t k = std::size_t(s_.k);
    for (int begin, end; share.next(begin, end);)
      for (int c = begin; c < end; ++c)
        kernels_.rms_norm(x + std::size_t(c) * k, weight_.data(), s_.k, kEpsilon,
                          y + std::size_t(c) * k);
  }
  Status check(cpu::Pool& pool) override {
    float* y = row(out_, 0);
    std::fill(y, y + values(), NAN);
    pool.run([&](cpu::Worker& w) { run(w, 0); });
    std::vector<float> want(values());
    if (Status s =
            ref::rms_norm({s_.n, s_.k, row(rows_, 0), weight_.data(), kEpsilon, want.data()});
        !s)
      return s;
    // The sum of squares has k / 16 + 4 roundings in a row, halved by the root; three more follow.
    const double relative = (double(s_.k) / 32 + 8) * 0x1p-24;
    for (std::size_t i = 0; i < values(); ++i)
      if (Status s = compare("rms_norm", i % std::size_t(s_.k), i / std::size_t(s_.k), double(y[i]),
                             double(want[i]), relative * std::fabs(double(want[i])) + 1e-30);
          !s)
        return s;
    return {};
  }

 private:
  static constexpr float kEpsilon = 1e-5f;
  std::size_t values() const { return std::size_t(s_.n) * std::size_t(s_.k); }
  float* row(const model::Arena& all, int copy) const {
    return reinterpret_cast<float*>(all.data()) + std::size_t(copy) * values();
  }
  KernelShape s_;
  const cpu::Kernels& kernels_;
  model::Arena rows_, out_;
  int copies_;
  std::vector<float> weight_;
};

class QuantizeCase final : public KernelCase {
 public:
  QuantizeCase(const KernelShape& s, const cpu::Kernels& kernels, model::Arena rows,
               model::Arena out, int copies)
      : s_(s), kernels_(kernels), rows_(std::move(rows)), out_(std::move(out)), copies_(copies) {
    q8_ = cpu::ActivationsQ8::place(out_.data(), s.k, s.n);
  }
  std::string shape() const override { return rows_text(s_); }
  Cost cost() const override {
    const std::uint64_t values = std::uint64_t(s_.n) * std::uint64_t(s_.k);
    // Read once, written as codes with their scale and sums; a maximum, a product, a rounding and a
    // sum for each value.
    return {4 * values + cpu::ActivationsQ8::bytes(std::size_t(s_.k), std::size_t(s_.n)),
            4 * values};
  }
  Arithmetic arithmetic() const override { return Arithmetic::kFloat; }
  int copies() const override { return copies_; }
  void run(cpu::Worker& w, int copy) override {
    auto share = w.share(s_.n);
    for (int begin, end; share.next(begin, end);)
      kernels_.prepare(row(copy), std::size_t(s_.k), nullptr, 0, begin, end, &q8_, nullptr,
                       nullptr);
  }
  Status check(cpu::Pool& pool) override {
    pool.run([&](cpu::Worker& w) { run(w, 0); });
    const std::size_t k = std::size_t(s_.k);
    std::vector<ActivationQ8> want(activation_blocks(k));
    for (int c = 0; c < s_.n; ++c) {
      quantize_activation_row(row(0) + std::size_t(c) * k, k, want.data());
      const std::size_t first = std::size_t(c) / cpu::kTileColumns * cpu::kTileColumns;
      const std::size_t width = std::min<std::size_t>(std::size_t(s_.n) - first, cpu::kTileColumns),
                        lane = std::size_t(c) - first;
      for (std::size_t i = 0; i < k; ++i) {
        const int got = q8_.q[first * k + (i / 4) * 4 * width + lane * 4 + i % 4];
        if (Status s = compare("quantize", i, std::size_t(c), got, want[i / 32].q[i % 32], 0); !s)
          return s;
        const float scale = q8_.scale[first * (k / 32) + i / 32 * width + lane];
        if (Status s = compare("quantize (scale)", i, std::size_t(c), double(scale),
                               double(want[i / 32].scale), 0);
            !s)
          return s;
      }
    }
    return {};
  }

 private:
  const float* row(int copy) const {
    return reinterpret_cast<const float*>(rows_.data()) +
           std::size_t(copy) * std::size_t(s_.n) * std::size_t(s_.k);
  }
  KernelShape s_;
  const cpu::Kernels& kernels_;
  model::Arena rows_, out_;
  int copies_;
  cpu::ActivationsQ8 q8_;
};

template <BlockFormat F>
class EmbedCase final : public KernelCase {
 public:
  static Result<std::unique_ptr<KernelCase>> make(const KernelShape& s) {
    if (s.k % F::kValues != 0)
      return Status(Code::kInvalidArgument,
                    "--k " + std::to_string(s.k) + ": must be a multiple of " +
                        std::to_string(F::kValues) + " for " + std::string(F::kName));
    auto c = std::unique_ptr<EmbedCase>(new EmbedCase(s));
    // The table is one copy; rows are drawn from all of it, and each run has other ones.
    const Result<int> one = copies_for(std::size_t(s.m) * row_bytes<F>(std::size_t(s.k)), 0);
    if (!one) return one.status();
    Result<RandomWeights> random = RandomWeights::make(F::kGgufType, 0.02, 5);
    if (!random) return random.status();
    c->table_.resize(std::size_t(s.m) * row_bytes<F>(std::size_t(s.k)));
    random->fill(c->table_);
    Random draw(6);
    c->ids_.resize(std::size_t(kDraws) * std::size_t(s.n));
    for (std::int32_t& id : c->ids_) id = std::int32_t(draw.next() % std::uint64_t(s.m));
    c->y_.resize(std::size_t(s.n) * std::size_t(s.k));
    return std::unique_ptr<KernelCase>(std::move(c));
  }
  std::string shape() const override { return rows_text(s_) + " of " + std::to_string(s_.m); }
  Cost cost() const override { return veloce::cost(args(0)); }
  Arithmetic arithmetic() const override { return Arithmetic::kFloat; }
  int copies() const override { return kDraws; }
  void run(cpu::Worker& w, int copy) override {
    const EmbedArgs<GgufMatrix<F>> a = args(copy);
    auto share = w.share(s_.n);
    for (int begin, end; share.next(begin, end);)
      for (int i = begin; i < end; ++i)
        (void)cpu::dequantize_row(F::kGgufType,
                                  reinterpret_cast<const std::byte*>(a.table.row(a.ids[i])), s_.k,
                                  y_.data() + std::size_t(i) * std::size_t(s_.k))
            .ok();
  }
  Status check(cpu::Pool& pool) override {
    std::fill(y_.begin(), y_.end(), NAN);
    pool.run([&](cpu::Worker& w) { run(w, 0); });
    std::vector<float> want(y_.size());
    EmbedArgs<GgufMatrix<F>> a = args(0);
    a.y = want.data();
    if (Status s = ref::embed(a); !s) return s;
    for (std::size_t i = 0; i < y_.size(); ++i)
      if (Status s = compare("embed", i % std::size_t(s_.k), i / std::size_t(s_.k), double(y_[i]),
                             double(want[i]), 0);
          !s)
        return s;
    return {};
  }

 private:
  static constexpr int kDraws = 64;
  explicit EmbedCase(const KernelShape& s) : s_(s) {}
  EmbedArgs<GgufMatrix<F>> args(int copy) const {
    return {GgufMatrix<F>(table_.data(), s_.m, Dim<>(s_.k)),
            ids_.data() + std::size_t(copy) * std::size_t(s_.n), s_.n,
            const_cast<float*>(y_.data())};
  }
  KernelShape s_;
  std::vector<std::byte> table_;
  std::vector<std::int32_t> ids_;
  std::vector<float> y_;
};

}  // namespace

Result<std::unique_ptr<KernelCase>> make_rms_norm_case(const KernelShape& s,
                                                       const cpu::Kernels& kernels, cpu::Pool&,
                                                       std::size_t working_set) {
  const std::size_t values = std::size_t(s.n) * std::size_t(s.k);
  const Result<int> copies = copies_for(values * 4, working_set);
  if (!copies) return copies.status();
  Result<model::Arena> rows = random_rows(values, *copies);
  if (!rows) return rows.status();
  Result<model::Arena> out =
      model::Arena::create(values * 4 * std::size_t(*copies), "the normed rows");
  if (!out) return out.status();
  return std::unique_ptr<KernelCase>(
      new RmsNormCase(s, kernels, *std::move(rows), *std::move(out), *copies));
}

Result<std::unique_ptr<KernelCase>> make_quantize_case(const KernelShape& s,
                                                       const cpu::Kernels& kernels, cpu::Pool&,
                                                       std::size_t working_set) {
  if (s.k % 32 != 0)
    return Status(Code::kInvalidArgument,
                  "--k " + std::to_string(s.k) + ": must be a multiple of 32");
  const std::size_t values = std::size_t(s.n) * std::size_t(s.k);
  const Result<int> copies = copies_for(values * 4, working_set);
  if (!copies) return copies.status();
  Result<model::Arena> rows = random_rows(values, *copies);
  if (!rows) return rows.status();
  Result<model::Arena> out = model::Arena::create(
      cpu::ActivationsQ8::bytes(std::size_t(s.k), std::size_t(s.n)), "the codes");
  if (!out) return out.status();
  return std::unique_ptr<KernelCase>(
      new QuantizeCase(s, kernels, *std::move(rows), *std::move(out), *copies));
}

Result<std::unique_ptr<KernelCase>> make_embed_case(const KernelShape& s, const cpu::Kernels&,
                                                    cpu::Pool&, std::size_t) {
  const TypeInfo* type = find_type(s.format);
  if (!type) return Status(Code::kInvalidArgument, "--format " + s.format + ": not a GGUF type");
  return dispatch_format(type->id, AllFormats{},
                         [&]<BlockFormat F>() -> Result<std::unique_ptr<KernelCase>> {
                           return EmbedCase<F>::make(s);
                         });
}

}  // namespace veloce::bench

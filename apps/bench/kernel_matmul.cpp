// veloce-bench kernel matvec / matmul.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "bench/kernel_case.hpp"
#include "bench/random_weights.hpp"
#include "veloce/cpu/packing.hpp"
#include "veloce/model/arena.hpp"
#include "veloce/ref/matvec.hpp"

namespace veloce::bench {
namespace {

// The sum of the absolute values of the terms that the op adds up: its rounding errors are this
// times a few ulps.
template <BlockFormat F>
double sum_of_magnitudes(const typename F::Block* row, const float* x, const ActivationQ8* rounded,
                         int k, bool q8) {
  double sum = 0;
  if constexpr (IntDotFormat<F>) {
    if (q8) {
      for (int i = 0; i < k; i += 16) {
        const auto& block = row[i / F::kValues];
        const I8x16 codes = F::unpack16(block, i % F::kValues / 16);
        const Affine affine = F::affine(block, i % F::kValues / 16);
        double products = 0, total = 0;
        for (int j = 0; j < 16; ++j) {
          const double q = std::fabs(double(rounded[i / 32].q[i % 32 + j]));
          products += std::fabs(double(codes.v[j])) * q;
          total += q;
        }
        sum += double(rounded[i / 32].scale) *
               (std::fabs(double(affine.scale)) * products + std::fabs(double(affine.min)) * total);
      }
      return sum;
    }
  }
  std::vector<float> values(F::kValues);
  for (int i = 0; i < k; i += F::kValues) {
    F::decode(row[i / F::kValues], values.data());
    for (int j = 0; j < F::kValues; ++j)
      sum += std::fabs(double(values[std::size_t(j)]) * double(x[i + j]));
  }
  return sum;
}

template <BlockFormat F>
class MatmulCase final : public KernelCase {
 public:
  static Result<std::unique_ptr<KernelCase>> make(const KernelShape& s, const cpu::Kernels& kernels,
                                                  cpu::Pool& pool, std::size_t working_set) {
    auto c = std::unique_ptr<MatmulCase>(new MatmulCase(s, kernels));
    if (Status st = c->prepare(pool, working_set); !st) return st;
    return std::unique_ptr<KernelCase>(std::move(c));
  }

  std::string shape() const override {
    return std::to_string(s_.m) + "x" + std::to_string(s_.k) + " n=" + std::to_string(s_.n);
  }
  Cost cost() const override { return veloce::cost(args(0, s_.m)); }
  Arithmetic arithmetic() const override { return q8_ ? Arithmetic::kInt8 : Arithmetic::kFloat; }
  int copies() const override { return copies_; }

  void run(cpu::Worker& w, int copy) override {
    cpu::PackedMatrix weights = packed_;
    weights.data = memory_.data() + std::size_t(copy) * packed_.bytes();
    cpu::Matmul op;
    op.weights = &weights;
    if (q8_)
      op.q8 = &activations_q8_;
    else
      op.f32 = &activations_f32_;
    op.out = y_.data();
    op.stride = std::size_t(s_.m);
    op.read_ahead = cpu::best_read_ahead(weights);
    op.scratch = scratch_.data() + std::size_t(w.index()) * scratch_each_;
    kernels_.matmul(w, op);
  }

  // Some rows at the start, in the middle and at the end, of the first, a middle and the last
  // column.
  Status check(cpu::Pool& pool) override {
    std::fill(y_.begin(), y_.end(), NAN);
    pool.run([&](cpu::Worker& w) { run(w, 0); });
    const int window = std::min(s_.m, 24);
    std::vector<ActivationQ8> rounded(activation_blocks(std::size_t(s_.k)));
    for (const int first : {0, (s_.m - window) / 2, s_.m - window})
      for (const int column : {0, s_.n / 2, s_.n - 1}) {
        const float* x = x_.data() + std::size_t(column) * std::size_t(s_.k);
        std::vector<float> want(static_cast<std::size_t>(window));
        auto a = args(first, window);
        a.x = x;
        a.y = want.data();
        a.columns = 1;
        if (Status s = ref::matvec(a); !s) return s;
        quantize_activation_row(x, std::size_t(s_.k), rounded.data());
        for (int r = 0; r < window; ++r) {
          // At most one rounding for each of the sums that a lane carries, and a few at the ends.
          const double bound = (double(s_.k) + 16) * 0x1p-24 *
                               sum_of_magnitudes<F>(a.weights.row(r), x, rounded.data(), s_.k, q8_);
          const double got =
              double(y_[std::size_t(column) * std::size_t(s_.m) + std::size_t(first + r)]);
          if (Status s = compare("matmul", std::size_t(first + r), std::size_t(column), got,
                                 double(want[std::size_t(r)]), bound);
              !s)
            return s;
        }
      }
    return {};
  }

 private:
  MatmulCase(const KernelShape& s, const cpu::Kernels& kernels) : s_(s), kernels_(kernels) {
    q8_ = !s.float_activations && kernels.takes_q8(F::kGgufType);
  }

  MatvecArgs<GgufMatrix<F>> args(int first, int rows) const {
    MatvecArgs<GgufMatrix<F>> a;
    a.weights = GgufMatrix<F>(rows_.data() + std::size_t(first) * row_bytes<F>(std::size_t(s_.k)),
                              rows, Dim<>(s_.k));
    a.x = x_.data();
    a.y = const_cast<float*>(y_.data());
    a.columns = s_.n;
    a.activations = q8_ ? ActivationType::kQ8 : ActivationType::kF32;
    return a;
  }

  Status prepare(cpu::Pool& pool, std::size_t working_set) {
    const std::size_t k = std::size_t(s_.k), n = std::size_t(s_.n), m = std::size_t(s_.m);
    if (s_.k % F::kValues != 0 || (q8_ && s_.k % 32 != 0))
      return Status(Code::kInvalidArgument,
                    "--k " + std::to_string(s_.k) + ": must be a multiple of " +
                        std::to_string(q8_ ? std::max(F::kValues, 32) : F::kValues) + " for " +
                        std::string(F::kName));
    packed_ = {F::kGgufType, s_.m, s_.k, cpu::packed_group_bytes<F>(s_.k), nullptr};
    const Result<int> copies = copies_for(packed_.bytes(), working_set);
    if (!copies) return copies.status();
    copies_ = *copies;
    Result<RandomWeights> random = RandomWeights::make(F::kGgufType, 0.02, 1);
    if (!random) return random.status();
    rows_.resize(m * row_bytes<F>(k));
    random->fill(rows_);
    Result<model::Arena> memory =
        model::Arena::create(packed_.bytes() * std::size_t(copies_), "the weights");
    if (!memory) return memory.status();
    memory_ = *std::move(memory);
    for (int g = 0; g < packed_.groups(); ++g)
      cpu::pack_group<F>(rows_.data(), s_.m, s_.k, g,
                         memory_.data() + std::size_t(g) * packed_.group_bytes);
    for (int c = 1; c < copies_; ++c)
      std::memcpy(memory_.data() + std::size_t(c) * packed_.bytes(), memory_.data(),
                  packed_.bytes());

    Random values(2);
    x_.resize(n * k);
    for (float& x : x_) x = values.normal();
    y_.assign(n * m, 0.0f);
    Result<model::Arena> tiles = model::Arena::create(
        cpu::ActivationsQ8::bytes(k + 32, n) + 4 * k * n + 4096, "the activations");
    if (!tiles) return tiles.status();
    tiles_ = *std::move(tiles);
    if (q8_)
      activations_q8_ = cpu::ActivationsQ8::place(tiles_.data(), s_.k, s_.n);
    else
      activations_f32_ = {s_.k, s_.n, reinterpret_cast<float*>(tiles_.data())};
    std::vector<float> row(k + 16);
    kernels_.prepare(x_.data(), k, nullptr, 0, 0, s_.n, q8_ ? &activations_q8_ : nullptr,
                     q8_ ? nullptr : &activations_f32_, row.data());
    scratch_each_ = (cpu::matmul_scratch_bytes(k, n) + 63) / 64 * 64;
    Result<model::Arena> scratch =
        model::Arena::create(scratch_each_ * std::size_t(pool.size()), "scratch");
    if (!scratch) return scratch.status();
    scratch_ = *std::move(scratch);
    return {};
  }

  KernelShape s_;
  const cpu::Kernels& kernels_;
  bool q8_ = true;
  int copies_ = 1;
  cpu::PackedMatrix packed_;
  std::vector<std::byte> rows_;
  std::vector<float> x_, y_;
  model::Arena memory_, tiles_, scratch_;
  cpu::ActivationsQ8 activations_q8_;
  cpu::ActivationsF32 activations_f32_;
  std::size_t scratch_each_ = 0;
};

}  // namespace

Result<std::unique_ptr<KernelCase>> make_matmul_case(const KernelShape& s,
                                                     const cpu::Kernels& kernels, cpu::Pool& pool,
                                                     std::size_t working_set) {
  const TypeInfo* type = find_type(s.format);
  if (!type) return Status(Code::kInvalidArgument, "--format " + s.format + ": not a GGUF type");
  return dispatch_format(type->id, AllFormats{},
                         [&]<BlockFormat F>() -> Result<std::unique_ptr<KernelCase>> {
                           return MatmulCase<F>::make(s, kernels, pool, working_set);
                         });
}

}  // namespace veloce::bench

// The product of a weight matrix with one or more columns of activations.
//
//   y[c][r] = sum over i of W[r][i] * x[c][i]  (+ bias[r])
//
// Weights are `rows` rows of `k` values, activations `columns` columns of `k` floats. How the rows
// lie in memory is the matrix type's business: GgufMatrix is the file's own layout (ref/),
// cpu::PackedWeights that of the CPU backend. `k` is static or dynamic (core/dim.hpp); a static one
// is checked against the block size when compiling.
#pragma once

#include <concepts>
#include <cstddef>

#include "veloce/core/dim.hpp"
#include "veloce/formats/format.hpp"
#include "veloce/ops/check.hpp"
#include "veloce/ops/cost.hpp"

namespace veloce {

// What a matrix of weights tells an op.
template <class M>
concept WeightMatrix = requires(const M& m) {
  typename M::Format;
  requires BlockFormat<typename M::Format>;
  typename M::K;
  { m.rows() } -> std::convertible_to<int>;
  { m.k() } -> std::convertible_to<int>;
  { m.data() } -> std::convertible_to<const void*>;
};

// Stops a format that is none, and a static k that cuts a block, with a sentence.
template <class F, class K>
struct MatrixTypes {
  static_assert(BlockFormat<F>,
                "the format of a matrix is one of the traits classes of veloce/formats/, such as "
                "veloce::Q4_K");
  static constexpr bool whole_blocks() {
    if constexpr (K::kStatic && BlockFormat<F>) return K::value() % F::kValues == 0;
    return true;
  }
  static_assert(whole_blocks(),
                "a static k must be a multiple of the format's block size (F::kValues)");
};

// Rows as they stand in a GGUF file, row after row. A view.
template <class F, class KDim = Dim<>>
class GgufMatrix : MatrixTypes<F, KDim> {
 public:
  using Format = F;
  using K = KDim;
  GgufMatrix() = default;
  GgufMatrix(const void* data, int rows, KDim k) : data_(data), rows_(rows), k_(k) {}

  int rows() const { return rows_; }
  int k() const { return k_.value(); }
  const void* data() const { return data_; }
  const typename F::Block* row(int r) const {
    return static_cast<const typename F::Block*>(data_) +
           std::size_t(r) * (std::size_t(k()) / F::kValues);
  }

 private:
  const void* data_ = nullptr;
  int rows_ = 0;
  KDim k_;
};

// What the weights are multiplied with: the floats as they are, or rounded to 8 bits
// (formats/activation_q8.hpp). Weights without an integer form (F32, F16, BF16) always take the
// floats.
enum class ActivationType { kF32, kQ8 };

template <WeightMatrix M>
struct MatvecArgs {
  M weights;
  const float* x = nullptr;  // column c starts at x + c * x_stride
  float* y = nullptr;        // column c starts at y + c * y_stride; must not overlap x
  int columns = 1;
  std::size_t x_stride = 0;     // floats; 0: k
  std::size_t y_stride = 0;     // floats; 0: rows
  const float* bias = nullptr;  // rows floats, or null
  ActivationType activations = ActivationType::kQ8;
};

// kInvalidArgument naming the field, its value and the rule.
template <WeightMatrix M>
Status check(const MatvecArgs<M>& a) {
  using F = typename M::Format;
  return detail::ArgChecker("matvec")
      .at_least("weights.rows", a.weights.rows(), 1)
      .at_least("weights.k", a.weights.k(), 1)
      .multiple("weights.k", a.weights.k(), F::kValues, "the block of " + std::string(F::kName))
      .at_least("columns", a.columns, 1)
      .stride("x_stride", a.x_stride, std::size_t(a.weights.k()))
      .stride("y_stride", a.y_stride, std::size_t(a.weights.rows()))
      .not_null("weights", a.weights.data())
      .not_null("x", a.x)
      .not_null("y", a.y)
      .status();
}

template <WeightMatrix M>
Cost cost(const MatvecArgs<M>& a) {
  const std::uint64_t rows = std::uint64_t(a.weights.rows()), k = std::uint64_t(a.weights.k()),
                      n = std::uint64_t(a.columns);
  return {rows * row_bytes<typename M::Format>(k) + 4 * n * (k + rows) + (a.bias ? 4 * rows : 0),
          2 * rows * k * n};
}

}  // namespace veloce

// Oracle of ops/matvec.hpp: the definition, with sums in binary64.
#pragma once

#include <vector>

#include "veloce/formats/activation_q8.hpp"
#include "veloce/ops/matvec.hpp"

namespace veloce::ref {

// One weight row times one column of floats.
template <BlockFormat F>
double dot_f32(const typename F::Block* row, const float* x, int k) {
  double sum = 0;
  std::vector<float> w(F::kValues);
  for (int i = 0; i < k; i += F::kValues) {
    F::decode(*row++, w.data());
    for (int j = 0; j < F::kValues; ++j) sum += double(w[std::size_t(j)]) * double(x[i + j]);
  }
  return sum;
}

// One weight row times one column rounded to 8 bits: the integer form of the format, exact but for
// the last sum.
template <IntDotFormat F>
double dot_q8(const typename F::Block* row, const ActivationQ8* x, int k) {
  double sum = 0;
  for (int i = 0; i < k; i += 16) {
    const typename F::Block& block = row[i / F::kValues];
    const int chunk = i % F::kValues / 16;
    const I8x16 codes = F::unpack16(block, chunk);
    const Affine affine = F::affine(block, chunk);
    const ActivationQ8& a = x[i / 32];
    long products = 0, total = 0;
    for (int j = 0; j < 16; ++j) {
      const long q = a.q[i % 32 + j];
      products += codes.v[j] * q;
      total += q;
    }
    sum += double(a.scale) *
           (double(affine.scale) * double(products) - double(affine.min) * double(total));
  }
  return sum;
}

template <BlockFormat F, class K>
Status matvec(const MatvecArgs<GgufMatrix<F, K>>& a) {
  if (Status s = check(a); !s) return s;
  const int k = a.weights.k(), rows = a.weights.rows();
  std::vector<ActivationQ8> rounded(activation_blocks(std::size_t(k)));
  for (int c = 0; c < a.columns; ++c) {
    const float* x = a.x + std::size_t(c) * (a.x_stride ? a.x_stride : std::size_t(k));
    float* y = a.y + std::size_t(c) * (a.y_stride ? a.y_stride : std::size_t(rows));
    quantize_activation_row(x, std::size_t(k), rounded.data());
    for (int r = 0; r < rows; ++r) {
      double sum = a.bias ? double(a.bias[r]) : 0.0;
      if constexpr (IntDotFormat<F>) {
        if (a.activations == ActivationType::kQ8) {
          y[r] = float(sum + dot_q8<F>(a.weights.row(r), rounded.data(), k));
          continue;
        }
      }
      y[r] = float(sum + dot_f32<F>(a.weights.row(r), x, k));
    }
  }
  return {};
}

}  // namespace veloce::ref

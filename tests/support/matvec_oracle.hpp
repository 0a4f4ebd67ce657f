// ref::matvec with an error bound for each element, computed from the data's magnitudes and the
// number of roundings.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "veloce/ref/matvec.hpp"

namespace veloce::test {

struct Bounded {
  std::vector<float> value;
  std::vector<double> bound;
};

// The oracle with an error bound from the data: one rounding of the running sum (at most the sum of
// magnitudes) a step.
template <BlockFormat F>
Bounded oracle(const GgufMatrix<F>& m, const float* x, int n, bool q8) {
  constexpr double kUnit = 0x1p-24;
  const int rows = m.rows(), k = m.k();
  Bounded out;
  const std::size_t size_k = std::size_t(k);
  out.value.resize(std::size_t(n) * std::size_t(rows));
  MatvecArgs<GgufMatrix<F>> args{.weights = m, .x = x, .y = out.value.data(), .columns = n};
  args.activations = q8 ? ActivationType::kQ8 : ActivationType::kF32;
  const Status s = ref::matvec(args);
  REQUIRE_MESSAGE(s.ok(), s.message());
  std::vector<double> weight(size_k), minimum(size_k);
  std::vector<float> decoded(F::kValues);
  std::vector<ActivationQ8> rounded(activation_blocks(size_k));
  out.bound.resize(out.value.size());
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < k; i += F::kValues) {
      const auto& block = m.row(r)[i / F::kValues];
      F::decode(block, decoded.data());
      for (int j = 0; j < F::kValues; ++j) {
        weight[std::size_t(i + j)] = std::fabs(decoded[std::size_t(j)]);
        if constexpr (IntDotFormat<F>)
          if (q8) {
            const Affine a = F::affine(block, j / 16);
            minimum[std::size_t(i + j)] = std::fabs(a.min);
            weight[std::size_t(i + j)] =
                std::fabs(double(a.scale) * F::unpack16(block, j / 16).v[j % 16]);
          }
      }
    }
    for (int c = 0; c < n; ++c) {
      const float* column = x + std::size_t(c) * std::size_t(k);
      quantize_activation_row(column, std::size_t(k), rounded.data());
      double magnitude = 0;
      for (int i = 0; i < k; ++i) {
        const ActivationQ8& a = rounded[std::size_t(i / 32)];
        const double v =
            q8 ? std::fabs(double(a.scale) * a.q[i % 32]) : std::fabs(double(column[i]));
        magnitude += (weight[std::size_t(i)] + minimum[std::size_t(i)]) * v;
      }
      // 8 bits: a group costs up to two rounded sums, and the products of scales a rounding or two
      // each.
      const double roundings = q8 ? 2.0 * k / 16 + 6 : k + 2;
      const std::size_t at = std::size_t(c) * std::size_t(rows) + std::size_t(r);
      out.bound[at] = kUnit * (roundings * magnitude + std::fabs(out.value[at]));
    }
  }
  return out;
}

inline void check_within(const std::vector<float>& got, const Bounded& want) {
  REQUIRE(got.size() == want.value.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(double(got[i]) - double(want.value[i]));
    if (error <= want.bound[i]) continue;
    FAIL_CHECK("element ", i, ": ", got[i], ", the oracle has ", want.value[i], ", off by ", error,
               ", allowed ", want.bound[i]);
    return;
  }
}

}  // namespace veloce::test

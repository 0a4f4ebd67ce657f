// What the consumer projects do with Veloce: quantize a matrix, multiply, compare with their own
// arithmetic.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

#include <veloce/veloce.hpp>

// 0 if every element of the product is within the rounding of the activations of W x, W as decode
// gives it.
template <class F, class K>
int check_matvec(int rows, K k_dim) {
  const int k = k_dim.value();
  std::vector<float> source(std::size_t(rows) * std::size_t(k)), x(static_cast<std::size_t>(k)),
      y(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i] = std::sin(0.37f * float(i) + 0.01f * float(i % 97));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(1.3f * float(i));
  std::vector<typename F::Block> blocks(source.size() / F::kValues);
  F::quantize_row(source.data(), blocks.data(), source.size());
  auto weights =
      veloce::cpu::PackedWeights<F, K>::pack(std::as_bytes(std::span(blocks)), rows, k_dim);
  if (!weights) {
    std::fprintf(stderr, "%s\n", weights.status().message().c_str());
    return 1;
  }
  if (veloce::Status s = veloce::cpu::matvec(*weights, x.data(), y.data()); !s) {
    std::fprintf(stderr, "%s\n", s.message().c_str());
    return 1;
  }
  std::vector<float> decoded(F::kValues);
  for (int r = 0; r < rows; ++r) {
    double sum = 0, allowed = 1e-5;
    for (int i = 0; i < k; ++i) {
      if (i % F::kValues == 0)
        F::decode(blocks[(std::size_t(r) * std::size_t(k) + std::size_t(i)) / F::kValues],
                  decoded.data());
      const double w = double(decoded[std::size_t(i % F::kValues)]);
      sum += w * double(x[std::size_t(i)]);
      allowed += std::fabs(w) * 0.51 / 127;  // |x| <= 1 in 8 bits
    }
    if (!(std::fabs(sum - double(y[std::size_t(r)])) <= allowed)) {
      std::fprintf(stderr, "row %d: %g, expected %g within %g\n", r, double(y[std::size_t(r)]), sum,
                   allowed);
      return 1;
    }
  }
  std::printf("%s matvec: ok\n", F::kName.data());
  return 0;
}

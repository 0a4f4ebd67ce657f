// Oracle of ops/softmax.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "veloce/ops/softmax.hpp"

namespace veloce::ref {

inline Status softmax(const SoftmaxArgs& a) {
  if (Status s = check(a); !s) return s;
  std::vector<double> p(std::size_t(a.n));
  for (int r = 0; r < a.rows; ++r) {
    const float* x = a.x + std::size_t(r) * std::size_t(a.n);
    float* y = a.y + std::size_t(r) * std::size_t(a.n);
    const double top = *std::max_element(x, x + a.n);
    double total = 0;
    for (int i = 0; i < a.n; ++i)
      total += p[std::size_t(i)] = std::exp(double(a.scale) * (double(x[i]) - top));
    for (int i = 0; i < a.n; ++i) y[i] = float(p[std::size_t(i)] / total);
  }
  return {};
}

}  // namespace veloce::ref

// Oracle of ops/rms_norm.hpp.
#pragma once

#include <cmath>

#include "veloce/ops/rms_norm.hpp"

namespace veloce::ref {

inline Status rms_norm(const RmsNormArgs& a) {
  if (Status s = check(a); !s) return s;
  for (int r = 0; r < a.rows; ++r) {
    const float* x = a.x + std::size_t(r) * std::size_t(a.k);
    float* y = a.y + std::size_t(r) * std::size_t(a.k);
    double squares = 0;
    for (int i = 0; i < a.k; ++i) squares += double(x[i]) * double(x[i]);
    const double scale = 1.0 / std::sqrt(squares / a.k + double(a.epsilon));
    for (int i = 0; i < a.k; ++i) y[i] = float(double(x[i]) * scale * double(a.weight[i]));
  }
  return {};
}

}  // namespace veloce::ref

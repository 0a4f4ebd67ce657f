// Oracle of ops/elementwise.hpp.
#pragma once

#include <cmath>

#include "veloce/ops/elementwise.hpp"

namespace veloce::ref {

inline Status add(const ElementwiseArgs& a) {
  if (Status s = check(a); !s) return s;
  for (std::size_t i = 0; i < a.n; ++i) a.y[i] = a.a[i] + a.b[i];
  return {};
}

inline Status mul(const ElementwiseArgs& a) {
  if (Status s = check(a); !s) return s;
  for (std::size_t i = 0; i < a.n; ++i) a.y[i] = a.a[i] * a.b[i];
  return {};
}

inline Status swiglu(const ElementwiseArgs& a) {
  if (Status s = check(a); !s) return s;
  for (std::size_t i = 0; i < a.n; ++i) {
    const double gate = a.a[i];
    a.y[i] = float(gate / (1.0 + std::exp(-gate)) * double(a.b[i]));
  }
  return {};
}

}  // namespace veloce::ref

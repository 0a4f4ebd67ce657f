// A dimension is a type: static (no storage, folds into the code) or dynamic (a number carried
// along). Which ones are static is chosen call by call, where it sets registers or unrolling or
// where a measurement shows a gain.
#pragma once

#include "veloce/config.hpp"

namespace veloce {

inline constexpr int kDynamic = -1;

template <int N = kDynamic>
struct Dim {
  static_assert(N > 0, "a static dimension is positive");
  VELOCE_HD static constexpr int value() { return N; }
  static constexpr bool kStatic = true;
  // True if a run-time value can be used where this dimension is asked for.
  VELOCE_HD static constexpr bool accepts(int v) { return v == N; }
  VELOCE_HD constexpr Dim() = default;
  VELOCE_HD constexpr explicit Dim(int) {}
};

template <>
struct Dim<kDynamic> {
  int v = 0;
  VELOCE_HD constexpr int value() const { return v; }
  static constexpr bool kStatic = false;
  VELOCE_HD static constexpr bool accepts(int) { return true; }
  VELOCE_HD constexpr Dim() = default;
  VELOCE_HD constexpr explicit Dim(int value) : v(value) {}
};

}  // namespace veloce

// What an op costs at least, whatever the backend: the bytes it must move if each is touched once,
// and the operations it must do. A bench divides these by the measured time; a backend may move
// more, never less.
#pragma once

#include <cstdint>

namespace veloce {

struct Cost {
  std::uint64_t bytes = 0;  // read and written, inputs once, outputs once
  std::uint64_t operations =
      0;  // additions and multiplications (a fused multiply-add counts two), exp and the like one
};

inline Cost operator+(Cost a, Cost b) {
  return {a.bytes + b.bytes, a.operations + b.operations};
}

}  // namespace veloce

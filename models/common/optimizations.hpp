// The switches of the model programs' optimisations (core/switches.hpp). None changes a bit of the
// result.
#pragma once

#include <cstddef>

#include "veloce/core/switches.hpp"
#include "veloce/cpu/matmul_types.hpp"

namespace veloce::models {

inline Switch read_ahead_switch(
    "read-ahead", "prefetch the weights' stream 4 or 8 KiB ahead when few columns are computed");
inline Switch split_attention_switch(
    "split-attention", "split the positions of a few long sequences over the threads");

inline std::size_t read_ahead(const cpu::PackedMatrix& m) {
  return read_ahead_switch.on() ? cpu::best_read_ahead(m) : 0;
}

}  // namespace veloce::models

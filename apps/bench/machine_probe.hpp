// What this machine gives at best: measured first, in the same process, so that a kernel's figures
// have a ceiling.
#pragma once

#include <cstddef>
#include <cstdint>

#include "veloce/cpu/kernels.hpp"

namespace veloce::bench {

struct Ceilings {
  double copy = 0;        // bytes/s, read and written both counted
  double read = 0;        // bytes/s
  double int8_dots = 0;   // operations/s (a multiply-add is two)
  double float_fmas = 0;  // operations/s

  double bandwidth() const { return read > copy ? read : copy; }
};

// Bytes of the largest cache of a core, 32 MiB where the system does not say.
std::size_t last_level_cache_bytes();

// All workers of the pool at once; about a second. Best of several runs: a ceiling.
Ceilings measure_ceilings(cpu::Pool& pool, const cpu::Kernels& kernels);

}  // namespace veloce::bench

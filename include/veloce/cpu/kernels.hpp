// The CPU backend's operations as a table of functions, one table per instruction set, chosen at
// run time.
//
// cpu/kernel_table.hpp fills a table at the level that its unit is compiled for. Apps link the
// three units of models/common and call best_kernels(); a project that wants one level only
// includes cpu/kernel_table.hpp itself.
#pragma once

#include "veloce/cpu/isa.hpp"
#include "veloce/cpu/kv_types.hpp"
#include "veloce/cpu/matmul_types.hpp"
#include "veloce/cpu/pool.hpp"

namespace veloce::cpu {

struct Kernels {
  Isa isa;
  // W x for all columns, see Matmul. All workers take part; no barrier at the end.
  void (*matmul)(Worker&, const Matmul&);
  // See Attention. All workers take part; contains barriers, none at the end.
  void (*attention)(Worker&, const Attention&);
  // RMS norm of columns [begin, end) of x (`stride` apart), rounded to 8 bits and/or as floats into
  // the tiles. A null weight leaves the norm out. Either target may be null.
  void (*prepare)(const float* x, std::size_t stride, const float* weight, float epsilon, int begin,
                  int end, const ActivationsQ8* q8, const ActivationsF32* f32, float* row_scratch);
  // RMS norm of a row of k floats.
  void (*rms_norm)(const float* x, const float* weight, int k, float epsilon, float* out);
  // True if the matmul can take 8-bit activations for this type (false: float weights).
  bool (*takes_q8)(std::uint32_t type);
  // y[i] += x[i]
  void (*add)(float* y, const float* x, std::size_t n);
  // Ceilings of this level (cpu/probe.hpp): rounds of byte dots and of float multiply-adds with
  // their operations a round, and one pass of reading.
  std::int64_t (*probe_int8_dots)(int rounds);
  std::int64_t probe_int8_operations;
  std::int64_t (*probe_float_fmas)(int rounds);
  std::int64_t probe_float_operations;
  std::int64_t (*probe_read)(const void* data, std::size_t bytes);
};

// Of the levels linked in, the best that this machine runs, or the one named by `wanted` if it
// runs.
const Kernels& best_kernels();
const Kernels* kernels_for(Isa isa);

}  // namespace veloce::cpu

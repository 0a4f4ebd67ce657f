// All CPU kernels at the level this unit is compiled for, as one table (cpu/kernels.hpp).
#pragma once

#include "veloce/cpu/attention.hpp"
#include "veloce/cpu/kernels.hpp"
#include "veloce/cpu/matmul.hpp"
#include "veloce/cpu/pack/i_quants.hpp"
#include "veloce/cpu/pack/k_quants.hpp"
#include "veloce/cpu/pack/ternary.hpp"
#include "veloce/cpu/pack/simple.hpp"
#include "veloce/cpu/probe.hpp"

namespace veloce::cpu::VELOCE_ISA_NS {

inline void prepare_columns(const float* x, std::size_t stride, const float* weight, float epsilon,
                            int begin, int end, const ActivationsQ8* q8, const ActivationsF32* f32,
                            float* row_scratch) {
  const int k = q8 ? q8->k : f32->k;
  for (int c = begin; c < end; ++c) {
    const float* row = x + std::size_t(c) * stride;
    if (weight) {
      rms_norm_row(row, weight, k, epsilon, row_scratch);
      row = row_scratch;
    }
    if (q8) quantize_column(row, *q8, c);
    if (f32) place_column(row, *f32, c);
  }
}

inline void add_rows(float* y, const float* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += x[i];
}

inline const Kernels& kernel_table() {
  static constexpr Kernels kTable = {
#if defined(VELOCE_ISA_AVX512)
    Isa::kAvx512,
#elif defined(VELOCE_ISA_AVX2)
    Isa::kAvx2,
#else
    Isa::kPortable,
#endif
    matmul,
    attention,
    prepare_columns,
    rms_norm_row,
    [](std::uint32_t type) {
      const FormatKernels* f = find_kernels(type);
      return f && f->unpack;
    },
    add_rows,
    probe_int8_dots,
    kProbeInt8Operations,
    probe_float_fmas,
    kProbeFloatOperations,
    probe_read
  };
  return kTable;
}

}  // namespace veloce::cpu::VELOCE_ISA_NS

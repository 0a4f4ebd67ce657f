// The header-only CPU ops as a table, so that units compiled for different levels can be tested
// side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "veloce/cpu/isa.hpp"
#include "veloce/cpu/pool.hpp"
#include "veloce/formats/all.hpp"
#include "veloce/ops/elementwise.hpp"
#include "veloce/ops/matvec.hpp"
#include "veloce/ops/rms_norm.hpp"
#include "veloce/ops/rope.hpp"
#include "veloce/ops/softmax.hpp"
#include "veloce/ops/top_k.hpp"

namespace veloce::test {

// One of each kind: float, one scale, scales and mins, scales for 16, codebook, wide codes, small
// float scales.
using TestedFormats = FormatList<F32, BF16, Q8_0, Q4_K, Q6_K, IQ2_XXS, NVFP4>;
inline constexpr int kStaticK = 512;

struct MatvecCase {
  std::uint32_t type;
  std::span<const std::byte> rows_data;
  int rows, k;
  bool static_k;  // k in the type; must be kStaticK
  const float* x;
  float* y;
  int columns;
  std::size_t x_stride, y_stride;
  const float* bias;
  ActivationType activations;
  cpu::Pool* pool;
};

struct LevelOps {
  cpu::Isa isa;
  Status (*add)(const ElementwiseArgs&);
  Status (*mul)(const ElementwiseArgs&);
  Status (*swiglu)(const ElementwiseArgs&);
  Status (*rms_norm)(const RmsNormArgs&);
  Status (*rope)(const RopeArgs&);
  Status (*softmax)(const SoftmaxArgs&);
  Status (*top_k)(const TopKArgs&);
  Status (*matvec)(const MatvecCase&);
  void (*exp16)(const float* x, float* y);
};

const LevelOps& portable_ops();
const LevelOps& avx2_ops();
const LevelOps& avx512_ops();

}  // namespace veloce::test

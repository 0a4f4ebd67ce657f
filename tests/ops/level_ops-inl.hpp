// Fills LevelOps at the level of the including unit.
#pragma once

#include "level_ops.hpp"
#include "veloce/cpu/elementwise.hpp"
#include "veloce/cpu/matvec.hpp"

namespace veloce::test {
namespace VELOCE_ISA_NS {

template <class F, class K>
Status matvec_of(const MatvecCase& c, K k) {
  const auto w = cpu::PackedWeights<F, K>::pack(c.rows_data, c.rows, k);
  if (!w) return w.status();
  cpu::MatvecWorkspace workspace;
  MatvecArgs<cpu::PackedView<F, K>> a{.weights = *w, .x = c.x, .y = c.y, .columns = c.columns};
  a.x_stride = c.x_stride;
  a.y_stride = c.y_stride;
  a.bias = c.bias;
  a.activations = c.activations;
  return cpu::matvec(a, workspace, c.pool);
}

inline Status any_matvec(const MatvecCase& c) {
  return dispatch_format(c.type, TestedFormats{}, [&]<BlockFormat F>() -> Status {
    if (c.static_k) return matvec_of<F>(c, Dim<kStaticK>());
    return matvec_of<F>(c, Dim<>(c.k));
  });
}

inline const LevelOps& ops() {
  static constexpr LevelOps kOps = {
#if defined(VELOCE_ISA_AVX512)
    cpu::Isa::kAvx512,
#elif defined(VELOCE_ISA_AVX2)
    cpu::Isa::kAvx2,
#else
    cpu::Isa::kPortable,
#endif
    cpu::add,
    cpu::mul,
    cpu::swiglu,
    cpu::rms_norm,
    cpu::rope,
    cpu::softmax,
    cpu::top_k,
    any_matvec,
    [](const float* x, float* y) {
      cpu::VELOCE_ISA_NS::store(y, cpu::VELOCE_ISA_NS::exp(cpu::VELOCE_ISA_NS::load(x)));
    }
  };
  return kOps;
}

}  // namespace VELOCE_ISA_NS
}  // namespace veloce::test

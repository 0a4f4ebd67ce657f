// Chooses among the linked-in levels of the CPU kernels. All give the same bits, so leaving one out
// is an A/B test or a look for a miscompiled level.
#include "veloce/cpu/kernels.hpp"

#include "veloce/core/switches.hpp"

namespace veloce::cpu {

const Kernels& portable_kernels();
#if defined(__x86_64__)
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
#endif

namespace {
Switch avx512_switch("avx512",
                     "CPU kernels for AVX-512 with VNNI and VBMI; without: AVX2, the same bits");
Switch avx2_switch(
    "avx2", "CPU kernels for AVX2 and FMA; without (and without avx512): plain C++, the same bits");
}  // namespace

const Kernels* kernels_for(Isa isa) {
  const Isa best = detect_isa();
  if (int(isa) > int(best)) return nullptr;
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return &avx512_kernels();
  if (isa == Isa::kAvx2) return &avx2_kernels();
#endif
  return isa == Isa::kPortable ? &portable_kernels() : nullptr;
}

const Kernels& best_kernels() {
  if (avx512_switch.on())
    if (const Kernels* k = kernels_for(Isa::kAvx512)) return *k;
  if (avx2_switch.on())
    if (const Kernels* k = kernels_for(Isa::kAvx2)) return *k;
  return *kernels_for(Isa::kPortable);
}

}  // namespace veloce::cpu

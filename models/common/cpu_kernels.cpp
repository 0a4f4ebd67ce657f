// Chooses among the linked-in levels of the CPU kernels. VELOCE_WITHOUT=avx512 (or avx2) leaves levels out, for A/B
// tests and to look for a miscompiled level: all give the same bits.
#include "veloce/cpu/kernels.hpp"

#include <cstdlib>
#include <string_view>

namespace veloce::cpu {

const Kernels& portable_kernels();
#if defined(__x86_64__)
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
#endif

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
  const char* text = std::getenv("VELOCE_WITHOUT");
  const std::string_view without = text ? text : "";
  const bool no_avx512 = without.find("avx512") != std::string_view::npos;
  const bool no_avx2 = without.find("avx2") != std::string_view::npos;
  if (!no_avx512)
    if (const Kernels* k = kernels_for(Isa::kAvx512)) return *k;
  if (!no_avx2)
    if (const Kernels* k = kernels_for(Isa::kAvx2)) return *k;
  return *kernels_for(Isa::kPortable);
}

}  // namespace veloce::cpu

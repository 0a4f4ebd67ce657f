// The CPU kernels at one level; the flags that make it this level are set in models/CMakeLists.txt.
#include "veloce/cpu/kernel_table.hpp"

namespace veloce::cpu {
const Kernels& avx2_kernels() {
  return avx2::kernel_table();
}
}  // namespace veloce::cpu

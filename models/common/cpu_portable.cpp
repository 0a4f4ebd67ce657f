// The CPU kernels at one level; the flags that make it this level are set in models/CMakeLists.txt.
#include "veloce/cpu/kernel_table.hpp"

namespace veloce::cpu {
const Kernels& portable_kernels() {
  return portable::kernel_table();
}
}  // namespace veloce::cpu

// The header-only CPU ops at one level; the flags that make it this level are set in area.cmake.
#include "level_ops-inl.hpp"

namespace veloce::test {
const LevelOps& avx512_ops() {
  return avx512::ops();
}
}  // namespace veloce::test

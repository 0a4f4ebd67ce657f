// The header-only CPU ops at one level; the flags that make it this level are set in area.cmake.
#include "level_ops-inl.hpp"

namespace veloce::test {
const LevelOps& portable_ops() {
  return portable::ops();
}
}  // namespace veloce::test

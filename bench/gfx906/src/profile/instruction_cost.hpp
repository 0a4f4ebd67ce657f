// What each instruction occupies: its class and the clocks it holds its SIMD's issue slot.
#pragma once

#include <array>
#include <cstdint>

#include "decode/inst.hpp"

namespace gfx906::profile {

enum class Class : uint8_t {
  kValuFull,     // 4 clocks
  kValuHalf,     // 8: f64, 64-bit shifts
  kValuQuarter,  // 16: 32-bit multiplies, transcendentals, int and half conversions
  kDot,          // of the full-rate ones: dot products
  kSalu,
  kScalarMemory,
  kVectorLoad,
  kVectorStore,
  kVectorAtomic,
  kLds,
  kLdsCrossbar,  // ds_bpermute_b32, ds_permute_b32, ds_swizzle_b32
  kBranch,
  kWait,  // s_waitcnt, s_nop, s_barrier, s_sleep: taken out of the instruction buffer
  kOther,
  kCount
};
constexpr size_t kClasses = static_cast<size_t>(Class::kCount);
const char* name_of(Class c);

constexpr bool is_valu(Class c) {
  return c <= Class::kDot;
}

struct InstructionCost {
  Class kind = Class::kOther;
  uint8_t issue = 4;   // clocks of its SIMD's issue slot of that class
  uint8_t repeat = 0;  // atomics: LDS or L2 accesses that read and write
};

const InstructionCost& cost_of(Op op);

}  // namespace gfx906::profile

// The state of one wave, and what its instruction handlers share.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "decode/inst.hpp"
#include "machine.hpp"

namespace gfx906 {

enum class WaveStatus : uint8_t { kRunning, kBarrier, kSleeping, kEnded, kFaulted };

// Scalar register numbers as the encoding has them.
enum ScalarReg : uint32_t {
  kFlatScratch = 102,
  kXnackMask = 104,
  kVcc = 106,
  kTtmp = 108,
  kM0 = 124,
  kExec = 126
};

// MODE register fields.
enum ModeBits : uint32_t {
  kRound32 = 3,
  kRound16_64 = 3 << 2,
  kDenormIn32 = 1 << 4,
  kDenormOut32 = 1 << 5,
  kDenormIn16_64 = 1 << 6,
  kDenormOut16_64 = 1 << 7,
  kDx10Clamp = 1 << 8,
  kIeee = 1 << 9,
  kFp16Ovfl = 1 << 23,
  kGprIdxEn = 1 << 27,
  kVskip = 1 << 28,
};

struct GroupState;

// Fed by memory handlers on the observed path.
struct Trace {
  Observer* observer = nullptr;
  InstEvent event;
};

struct alignas(64) WaveView {
  uint32_t sgpr[144] = {};  // those after 127 catch the tail of wide writes to the last ones
  alignas(64) uint32_t tmp[3][4 * 64];  // sources brought into lanes
  alignas(64) uint32_t result[4 * 64];  // a result before it is merged under EXEC
  alignas(64) uint64_t addr[64];        // scratch space of memory handlers
  uint32_t* vgpr = nullptr;             // [register][lane]
  uint32_t vgpr_count = 0;
  uint32_t scc = 0;
  uint32_t mode = 0;
  WaveStatus status = WaveStatus::kRunning;
  volatile bool running = false;  // a host thread is inside its run loop
  bool gpr_idx = false;           // s_set_gpr_idx_on is in force
  uint32_t index = 0;             // in its group
  uint32_t gws_wait = 0;          // round or releases + 1 of the global wave sync it waits for
  const Inst* ip = nullptr;       // where to go on
  const Program* program = nullptr;
  GroupState* group = nullptr;
  uint8_t* lds = nullptr;
  uint32_t lds_size = 0;
  uint8_t* scratch = nullptr;
  uint64_t scratch_size = 0;  // bytes of the wave's 64 lanes
  Trace* trace = nullptr;
  uint64_t count = 0;  // instructions run
  uint32_t polls = 0;  // atomics and glc loads since its group got its thread: a sign of spinning
  uint32_t* vgpr_memory = nullptr;

  [[gnu::always_inline]] uint64_t read64(uint32_t reg) const {
    uint64_t v;
    std::memcpy(&v, sgpr + reg, 8);
    return v;
  }
  [[gnu::always_inline]] void write64(uint32_t reg, uint64_t v) { std::memcpy(sgpr + reg, &v, 8); }
  [[gnu::always_inline]] uint64_t exec() const { return read64(kExec); }
  [[gnu::always_inline]] uint64_t vcc() const { return read64(kVcc); }
  [[gnu::always_inline]] const uint32_t* v(uint32_t reg) const { return vgpr + size_t{reg} * 64; }
};

using ExecFn = const Inst* (*)(WaveView&, const Inst*);

// A lane loop: d, a, b, c are rows of 64 lanes (wider values in consecutive rows); d may be one of
// the sources.
struct LaneContext {
  uint32_t mode = 0;
  uint64_t exec = 0;
  uint64_t mask_in = 0;  // carry in, v_cndmask's selector, vcc of v_div_fmas
  uint64_t mask_out =
      0;  // carry out, a comparison's result (lanes outside EXEC are cleared by the caller)
  const Inst* inst = nullptr;
  bool fp_default = true;  // MODE: round to nearest even, all denormals kept
};
using CoreFn = void (*)(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                        LaneContext& x);

// How a VALU operation is run around its lane loop.
enum class Shape : uint8_t { kNone, kValue, kCompare, kCompareX, kSpecial };
// What clamp, omod, neg and abs mean for it.
enum class NumType : uint8_t { kInt, kF16, kF32, kF64, kPacked, kMix };

struct Handler {
  CoreFn core = nullptr;
  Shape shape = Shape::kNone;
  NumType source = NumType::kInt;  // type of the sources, for neg and abs
  NumType result = NumType::kInt;  // for clamp and omod; kInt: the lane loop clamps itself
  bool keep_high = false;   // a 16-bit result that leaves the other half of its register as it was
  bool accumulate = false;  // reads its destination as source c (v_mac, v_fmac)
  ExecFn special = nullptr;
};

// Reports a failure of the kernel at an instruction: the wave stops, the dispatch ends with the
// Status.
const Inst* fault(WaveView& w, const Inst* i, Code code, const std::string& what);

}  // namespace gfx906

// A resident work-group: its waves, LDS and scratch, and how it is stepped.
#pragma once

#include <memory>
#include <vector>

#include "exec/wave.hpp"

namespace gfx906 {

struct DispatchState;

// Memory that lane loops may read with whole vectors.
struct AlignedDelete {
  void operator()(void* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
template <class T>
using AlignedArray = std::unique_ptr<T[], AlignedDelete>;
template <class T>
AlignedArray<T> aligned_array(size_t n) {
  return AlignedArray<T>(new (::operator new[](n * sizeof(T), std::align_val_t{64})) T[n]);
}

struct GroupState {
  DispatchState* dispatch = nullptr;
  GroupId id;
  std::vector<WaveView*> waves;
  AlignedArray<uint8_t> wave_memory;
  AlignedArray<uint32_t> vgprs;
  AlignedArray<uint8_t> lds;
  AlignedArray<uint8_t> scratch;
  size_t wave_capacity = 0, vgpr_capacity = 0, lds_capacity = 0, scratch_capacity = 0;  // elements
  uint32_t lds_size = 0;
  uint32_t live = 0;  // waves that have not ended
  uint32_t at_barrier = 0;
  uint64_t instructions = 0;
  bool observed = false;
  bool waiting = false;  // it gave up its thread because it waits for something outside
  Trace trace;
  Status error;
};

enum class StepResult { kDone, kYield, kFault };

// Runs the group's waves for about `budget` wave instructions, or until it ends, sleeps or fails.
StepResult step_group(GroupState& g, uint64_t budget);

}  // namespace gfx906

// A dispatch in progress.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "exec/group.hpp"

namespace gfx906 {

// Bytes of a work-item: a wave's are 13 bits of 1 KiB (COMPUTE_TMPRING_SIZE); compilers stop there
// too.
constexpr uint32_t kMostScratch = 131056;
constexpr uint32_t kMostArguments = 1 << 20;  // bytes; far more than any compiler allows

// A resource of the global wave sync: a barrier or a semaphore, as its instructions use it.
struct GwsResource {
  uint32_t arrived = 0, round = 0;
  uint32_t count = 0;     // of the semaphore
  uint32_t releases = 0;  // times that all who wait for it were let go
};

struct DispatchState {
  const Dispatch* dispatch = nullptr;
  Observer* observer = nullptr;
  const Program* program = nullptr;
  const Inst* entry = nullptr;
  AlignedArray<uint8_t> kernarg;                 // the whole segment, hidden arguments filled in
  alignas(64) std::array<uint8_t, 64> packet{};  // what the dispatch pointer points to
  std::array<uint32_t, 3> groups{};              // per dimension
  uint64_t total = 0;
  uint32_t lds_bytes = 0, scratch_per_lane = 0;

  // Guarded by the executor's mutex.
  uint64_t next = 0, done = 0;
  uint32_t resident = 0, resident_limit = 1;
  uint32_t resumes_until_new = 0;
  std::deque<GroupState*> suspended;
  Status status;
  RunStats stats;
  bool stopping = false;
  std::condition_variable finished;

  std::array<GwsResource, 64> gws{};
  std::mutex gws_mutex;
};

// Checks the dispatch and prepares all that its groups share.
Status prepare(DispatchState& s, const Dispatch& d);
// Makes `g` the group with the given linear number: registers, ids, LDS and scratch as the ABI has
// them.
void start_group(GroupState& g, DispatchState& s, uint64_t linear);

}  // namespace gfx906

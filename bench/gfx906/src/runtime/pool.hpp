// Stream-ordered memory (hipMallocAsync) and virtual memory (hipMemCreate, hipMemMap).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "hip_abi.hpp"

namespace gfx906::rt {

// A pool is book-keeping only: memory is taken from the card at once and given back when the stream
// gets there.
class MemPool {
 public:
  explicit MemPool(int on_card) : card(on_card) {}
  const int card;
  hipMemPoolProps props{};
  std::atomic<uint64_t> release_threshold{0};
  std::atomic<int> reuse[3] = {1, 1, 1};
  std::atomic<uint64_t> used{0}, used_high{0};
  std::mutex mutex;
  std::map<int, int> access;  // card to flags

  void note_allocated(size_t bytes) {
    const uint64_t now = used += bytes;
    uint64_t high = used_high.load();
    while (high < now && !used_high.compare_exchange_weak(high, now)) {
    }
  }
  void note_freed(size_t bytes) { used -= bytes; }
};

// Frees an allocation of any kind and settles its pool's account.
bool free_memory(void* base);

// Physical memory without an address: a memory file that can be mapped in several places.
struct PhysicalMemory {
  int file = -1;
  size_t size = 0;
  hipMemAllocationProp props{};
  std::atomic<int> references{1};
};

}  // namespace gfx906::rt

// The process's simulated memory: which address ranges are allocations, on which card and of what
// kind. A device pointer is a host pointer, so an allocation is an anonymous mapping that is only
// counted against a card.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "hip_abi.hpp"
#include "hooks.hpp"

namespace gfx906::rt {

struct Allocation {
  uintptr_t base = 0;
  size_t size = 0;  // bytes asked for
  MemoryKind kind = MemoryKind::kDevice;
  int card = 0;  // of pinned host memory: the card current at the allocation
  unsigned flags = 0;
  uint64_t id = 0;
  MemPool* pool = nullptr;
  size_t zone = 0;  // bytes before and behind that nothing else is put into
  bool mapped() const {
    return kind != MemoryKind::kRegisteredHost && kind != MemoryKind::kGlobals;
  }
};

class AddressMap {
 public:
  // Makes `bytes` (> 0) of zeroed memory. Errors: nullptr when the card or the host has no room.
  void* allocate(size_t bytes, MemoryKind kind, int card, unsigned flags, MemPool* pool = nullptr);
  // Records memory that is somebody else's (registered host memory, a module's globals, a virtual
  // range). false when the range overlaps a recorded one.
  bool record(void* base, size_t bytes, MemoryKind kind, int card, unsigned flags);
  // Takes the allocation that starts at `base` out and unmaps it if it was made by allocate. false:
  // none starts there. Under the checker its addresses stay unused for a while, so that a pointer
  // kept too long does not meet the next allocation.
  bool release(void* base);
  // The allocation that holds `address`.
  std::optional<Allocation> find(const void* address) const;
  std::vector<Allocation> all() const;
  size_t used(int card) const;

  static AddressMap& instance();

 private:
  struct Rest {
    void* base;
    size_t bytes;
  };
  void lay_to_rest(const Allocation& freed);
  bool end_rests();

  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, Allocation> by_base_;
  std::map<int, size_t> used_;
  uint64_t next_id_ = 1;
  std::deque<Rest> resting_;  // address space of freed allocations, the oldest first
  size_t resting_bytes_ = 0;
};

// True when the kernel-visible memory at `address` is ordinary pageable host memory.
bool is_pageable(const void* address);
// The card of a device allocation, or -1 for host memory.
int card_of(const void* address);

}  // namespace gfx906::rt

#include "memory.hpp"

#include <sys/mman.h>

#include <mutex>

#include "card.hpp"

namespace gfx906::rt {
namespace {

constexpr size_t kPage = 4096;
// What may rest at once: far below the mappings (65530) and the address space of a process.
constexpr size_t kMostResting = 16384, kMostRestingBytes = size_t{1} << 42;
size_t rounded(size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

// Zeroed memory with `zone` bytes of address space around it that nothing else gets; nullptr when
// there is no room. The zones can be read, so that a host program that looks a little too far into
// pinned memory goes on as it does on the real runtime; kernels are the checker's business.
void* map_pages(size_t bytes, size_t zone) {
  void* low = mmap(nullptr, rounded(bytes) + 2 * zone, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return low == MAP_FAILED ? nullptr : static_cast<uint8_t*>(low) + zone;
}
bool on_card(MemoryKind kind) {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kVirtual;
}

}  // namespace

AddressMap& AddressMap::instance() {
  // Never destroyed: a program's own static destructors may still free memory.
  static auto* map = new AddressMap;
  return *map;
}

void* AddressMap::allocate(size_t bytes, MemoryKind kind, int card, unsigned flags, MemPool* pool) {
  if (bytes == 0 || bytes > kCardMemory * 64) return nullptr;
  {
    std::unique_lock lock(mutex_);
    if (on_card(kind)) {
      size_t& used = used_[card];
      if (bytes > usable_card_memory() || used + rounded(bytes) > usable_card_memory())
        return nullptr;
      used += rounded(bytes);
    }
  }
  const size_t zone = tools().red_zone ? tools().red_zone(bytes) : 0;
  void* base = map_pages(bytes, zone);
  if (base == nullptr && end_rests()) base = map_pages(bytes, zone);
  std::unique_lock lock(mutex_);
  if (base == nullptr) {
    if (on_card(kind)) used_[card] -= rounded(bytes);
    return nullptr;
  }
  Allocation a{reinterpret_cast<uintptr_t>(base), bytes, kind, card, flags, next_id_++, pool, zone};
  by_base_[a.base] = a;
  lock.unlock();
  if (tools().memory) tools().memory->on_allocate(a.base, bytes, kind, card);
  return base;
}

bool AddressMap::record(void* base, size_t bytes, MemoryKind kind, int card, unsigned flags) {
  const auto start = reinterpret_cast<uintptr_t>(base);
  {
    std::unique_lock lock(mutex_);
    auto next = by_base_.lower_bound(start);
    if (next != by_base_.end() && next->first < start + bytes) return false;
    if (next != by_base_.begin()) {
      const Allocation& before = std::prev(next)->second;
      if (before.base + before.size > start) return false;
    }
    by_base_[start] = Allocation{start, bytes, kind, card, flags, next_id_++, nullptr, 0};
    if (on_card(kind)) used_[card] += rounded(bytes);
  }
  if (tools().memory) tools().memory->on_allocate(start, bytes, kind, card);
  return true;
}

bool AddressMap::release(void* base) {
  Allocation a;
  {
    std::unique_lock lock(mutex_);
    auto it = by_base_.find(reinterpret_cast<uintptr_t>(base));
    if (it == by_base_.end()) return false;
    a = it->second;
    by_base_.erase(it);
    if (on_card(a.kind)) used_[a.card] -= rounded(a.size);
  }
  if (tools().memory) tools().memory->on_free(a.base, a.size);
  if (a.mapped() && a.kind != MemoryKind::kVirtual) lay_to_rest(a);
  return true;
}

// Gives the pages back; with a zone around them, that is under the checker, not yet the addresses.
void AddressMap::lay_to_rest(const Allocation& freed) {
  const Rest whole{reinterpret_cast<void*>(freed.base - freed.zone),
                   rounded(freed.size) + 2 * freed.zone};
  if (freed.zone == 0 ||
      mmap(whole.base, whole.bytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    munmap(whole.base, whole.bytes);
    return;
  }
  std::unique_lock lock(mutex_);
  resting_.push_back(whole);
  resting_bytes_ += whole.bytes;
  while (resting_.size() > kMostResting || resting_bytes_ > kMostRestingBytes) {
    munmap(resting_.front().base, resting_.front().bytes);
    resting_bytes_ -= resting_.front().bytes;
    resting_.pop_front();
  }
}

// All addresses at rest are free again. false: there were none.
bool AddressMap::end_rests() {
  std::unique_lock lock(mutex_);
  if (resting_.empty()) return false;
  for (const Rest& rest : resting_) munmap(rest.base, rest.bytes);
  resting_.clear();
  resting_bytes_ = 0;
  return true;
}

std::optional<Allocation> AddressMap::find(const void* address) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  std::shared_lock lock(mutex_);
  auto it = by_base_.upper_bound(at);
  if (it == by_base_.begin()) return std::nullopt;
  const Allocation& a = std::prev(it)->second;
  if (at >= a.base + a.size) return std::nullopt;
  return a;
}

std::vector<Allocation> AddressMap::all() const {
  std::shared_lock lock(mutex_);
  std::vector<Allocation> list;
  list.reserve(by_base_.size());
  for (const auto& [base, a] : by_base_) list.push_back(a);
  return list;
}

size_t AddressMap::used(int card) const {
  std::shared_lock lock(mutex_);
  auto it = used_.find(card);
  return it == used_.end() ? 0 : it->second;
}

bool is_pageable(const void* address) {
  return !AddressMap::instance().find(address);
}

int card_of(const void* address) {
  auto a = AddressMap::instance().find(address);
  if (!a || a->kind == MemoryKind::kPinnedHost || a->kind == MemoryKind::kRegisteredHost) return -1;
  return a->card;
}

}  // namespace gfx906::rt

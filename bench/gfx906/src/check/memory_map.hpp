// Which global memory a kernel may touch, and which of it has been written: an interval map of the
// allocations with one bit per byte. What was freed is remembered until its addresses are used
// again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace gfx906::check {

class Region {
 public:
  // `written`: all of it counts as written (memory the host writes without telling).
  Region(uint64_t base, uint64_t bytes, bool written);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  uint64_t base() const { return base_; }
  uint64_t bytes() const { return bytes_; }
  bool holds(uint64_t address, uint64_t n) const {
    return address >= base_ && address - base_ <= bytes_ && n <= bytes_ - (address - base_);
  }
  // All of it has been written: the ranges need not be looked at.
  bool complete() const { return left_.load(std::memory_order_relaxed) == 0; }
  // Ranges must lie inside. Thread-safe.
  void write(uint64_t address, uint64_t n) {
    if (!complete()) write_part(address, n);
  }
  bool any_written(uint64_t address, uint64_t n) const;  // one of the n bytes
  bool all_written(uint64_t address, uint64_t n) const;

 private:
  static constexpr uint64_t kPage = 4096;
  void write_part(uint64_t address, uint64_t n);
  uint64_t pages() const { return (bytes_ + kPage - 1) / kPage; }
  void look_for_full(size_t page);
  // Calls f(bits, mask) for each 64 bytes of the range until it returns true.
  template <class F>
  bool each_word(uint64_t address, uint64_t n, F&& f) const;
  std::atomic<uint64_t>* page_for_write(size_t page);
  uint64_t base_, bytes_;
  std::atomic<uint64_t> left_;  // pages not yet full
  // A bit per byte of each page, then one word that says that it has been counted as full. nullptr:
  // nothing written; full_page(): everything, at once.
  std::unique_ptr<std::atomic<std::atomic<uint64_t>*>[]> pages_;
};

class MemoryMap {
 public:
  // Bytes around an allocation that are called its own: whoever makes the allocations leaves them
  // free. A multiple of 64 KiB.
  static uint64_t red_zone(uint64_t bytes) {
    return std::clamp<uint64_t>(bytes / 4, 1 << 16, 1 << 24) & ~uint64_t{0xffff};
  }

  void allocate(uint64_t base, uint64_t bytes, bool written);
  void release(uint64_t base);
  void write(uint64_t base,
             uint64_t bytes);  // by the host; parts outside of all allocations are ignored

  std::shared_ptr<Region> find(uint64_t address) const;
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  enum class Unknown { kNearby, kFreed, kNull, kNowhere };
  // Why no allocation holds the address, for people.
  Unknown explain(uint64_t address, std::string& text) const;

 private:
  static constexpr size_t kMostFreed = 65536;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Region>> regions_;
  std::map<uint64_t, uint64_t> freed_;  // base, bytes
  std::atomic<uint64_t> generation_{1};
};

}  // namespace gfx906::check

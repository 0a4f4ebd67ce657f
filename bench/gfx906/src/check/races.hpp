// Races between the work-groups of one dispatch in global memory. Each dword remembers who last
// wrote and who last read it; an access by another group is a race unless both groups have
// synchronised through atomics since (which errs towards silence: any atomics of the two count).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace gfx906::check {

class GlobalRaces {
 public:
  static constexpr uint64_t kMostGroups = 1 << 22;
  static constexpr size_t kMostPages = 32768;  // of 4 KiB that a dispatch may touch and be watched

  explicit GlobalRaces(uint64_t groups);
  bool active() const { return active_; }

  struct Page {
    std::array<std::atomic<uint64_t>, 1024> write{}, read{};
  };
  // A group's memory of pages it met last.
  struct Cache {
    std::array<uint64_t, 16> number{};
    std::array<Page*, 16> page{};
  };

  // One lane's plain access to the bytes in `mask` of the dword at `address`; `changes`: it is a
  // store of another value than memory has. Returns the other group + 1 if it is a race, or 0.
  uint64_t access(Cache& cache, uint64_t group, uint64_t address, uint32_t mask, bool store,
                  bool changes);
  void release(uint64_t group) { release_[group] = ++time_; }
  void acquire(uint64_t group) { acquire_[group] = ++time_; }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  };
  Page* page_of(Cache& cache, uint64_t number);
  bool ordered(uint64_t other, uint64_t group, uint64_t time) const {
    return release_[other] > time && acquire_[group] > time;
  }
  bool active_;
  std::array<Shard, 32> shards_;
  std::atomic<size_t> count_{0};
  std::atomic<uint64_t> time_{1};
  std::vector<std::atomic<uint64_t>> release_, acquire_;
};

}  // namespace gfx906::check

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

// Who touched the dwords of 4 KiB of memory. Pages go from dispatch to dispatch uncleared: stamps
// from before `born` belong to an earlier one.
struct alignas(64) RacePage {
  std::array<uint64_t, 1024> write{}, read{};
  uint64_t born = 0;
};

// The pages that no dispatch uses at the moment, and the time, which all dispatches share.
class RacePages {
 public:
  std::unique_ptr<RacePage> take();
  void give_back(std::unique_ptr<RacePage> page);
  std::atomic<uint64_t>& time() { return time_; }

 private:
  static constexpr size_t kMostIdle = 8192;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RacePage>> idle_;
  std::atomic<uint64_t> time_{1};
};

class GlobalRaces {
 public:
  static constexpr uint64_t kMostGroups = (1 << 22) - 2;
  static constexpr size_t kMostPages = 32768;  // of 4 KiB that a dispatch may touch and be watched

  GlobalRaces(RacePages& pages, uint64_t groups);
  ~GlobalRaces();
  bool active() const { return active_; }

  // A group's memory of pages it met last.
  struct Cache {
    std::array<uint64_t, 16> number{};
    std::array<RacePage*, 16> page{};
  };

  // One lane's plain access to the bytes in `mask` of the dword at `address`; `changes`: it is a
  // store of another value than memory has. Returns the other group + 1 if it is a race, or 0.
  uint64_t access(Cache& cache, uint64_t group, uint64_t address, uint32_t mask, bool store,
                  bool changes);
  // Many whole dwords at once. False: some may be in a race, or are not all whole, and nothing has
  // been noted; each is to be looked at by access().
  bool load_all(Cache& cache, uint64_t group, uint64_t address, uint64_t bytes);
  bool store_all(Cache& cache, uint64_t group, uint64_t address, uint64_t bytes);

  void release(uint64_t group) { release_[group] = ++time_; }
  void acquire(uint64_t group) { acquire_[group] = ++time_; }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, std::unique_ptr<RacePage>> pages;
  };
  RacePage* page_of(Cache& cache, uint64_t number);
  template <class F>
  bool each_page(Cache& cache, uint64_t address, uint64_t bytes, F&& f);
  bool ordered(uint64_t other, uint64_t group, uint64_t time) const {
    return release_[other] > time && acquire_[group] > time;
  }
  RacePages& pool_;
  std::atomic<uint64_t>& time_;
  bool active_;
  std::array<Shard, 32> shards_;
  std::atomic<size_t> count_{0};
  std::vector<std::atomic<uint64_t>> release_, acquire_;
};

}  // namespace gfx906::check

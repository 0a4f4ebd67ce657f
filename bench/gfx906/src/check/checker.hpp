// Finds what a kernel does wrong that its results need not show: accesses outside of allocations or
// of LDS, to freed or never written memory, misaligned atomics, races, barriers that not all lanes
// reach, missing waits and wait states. An Observer; accesses that are outside of all memory are
// held back, so that the program goes on.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "check/group_check.hpp"
#include "check/memory_map.hpp"
#include "check/report.hpp"
#include "machine.hpp"

namespace gfx906::check {

class Checker : public Observer {
 public:
  Checker();
  ~Checker() override;

  // What a kernel may touch, in bytes. `written`: the host may write it at any time.
  void allocated(uint64_t base, uint64_t bytes, bool written) {
    memory_.allocate(base, bytes, written);
  }
  void freed(uint64_t base) { memory_.release(base); }
  void written(uint64_t base, uint64_t bytes) { memory_.write(base, bytes); }
  Reports& reports() { return reports_; }
  // Which alignment plain accesses need; set before the first dispatch.
  Alignment alignment = Alignment::kUnaligned;

  void on_dispatch_begin(const Dispatch& d) override;
  void on_dispatch_end(const Dispatch& d, const Status& s, const RunStats& r) override;
  void on_group_begin(const Dispatch& d, const GroupId& g, uint32_t waves,
                      std::span<uint8_t> lds) override;
  void on_group_end(const Dispatch& d, const GroupId& g) override;
  void on_instruction(const InstEvent& e) override;
  uint64_t on_memory(const InstEvent& e, MemAccess& m) override;
  void on_after(const InstEvent& e) override;
  void on_barrier(const InstEvent& e) override;
  void on_barrier_release(const Dispatch& d, const GroupId& g) override;

 private:
  // The group's state; a thread mostly asks for the one it asked for before.
  GroupCheck* group(const Dispatch& d, uint64_t linear) {
    Last& last = last_;
    if (last.serial == serial_ && last.group->dispatch.load(std::memory_order_relaxed) == &d &&
        last.group->linear.load(std::memory_order_relaxed) == linear)
      return last.group;
    return find_group(d, linear);
  }
  GroupCheck* find_group(const Dispatch& d, uint64_t linear);

  struct Last {
    uint64_t serial = 0;
    GroupCheck* group = nullptr;
  };
  static thread_local constinit Last last_;

  const uint64_t serial_;  // which checker a thread remembers a group of
  Reports reports_;
  MemoryMap memory_;
  FactBook facts_;
  RacePages pages_;
  std::mutex mutex_;
  std::unordered_map<const Dispatch*, std::unique_ptr<DispatchCheck>> dispatches_;
  std::unordered_map<const Dispatch*, std::unordered_map<uint64_t, GroupCheck*>> groups_;
  std::vector<std::unique_ptr<GroupCheck>> all_;  // never freed before the end
  std::vector<GroupCheck*> idle_;
};

}  // namespace gfx906::check

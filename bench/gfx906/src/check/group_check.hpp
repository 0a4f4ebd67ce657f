// The checks of one work-group: its accesses to global memory, LDS and scratch, and its barriers.
// Used by one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "check/memory_map.hpp"
#include "check/races.hpp"
#include "check/wave_check.hpp"

namespace gfx906::check {

// What the groups of a dispatch share.
struct DispatchCheck {
  const Dispatch* dispatch = nullptr;
  std::unique_ptr<GlobalRaces> races;
  // The runtime serves the kernel through memory that is no allocation (printf, device malloc,
  // grid barriers): an address that is far from every allocation may be that.
  bool served = false;
  const std::vector<Facts>& facts(const Program& p);

 private:
  std::mutex mutex_;
  std::map<const Program*, std::unique_ptr<std::vector<Facts>>> facts_;
};

class GroupCheck {
 public:
  GroupCheck(MemoryMap& memory, Reports& reports) : memory_(memory), reports_(reports) {}
  void begin(DispatchCheck& owner, const GroupId& id, uint32_t waves, std::span<uint8_t> lds);

  void before(const InstEvent& e);
  void after(const InstEvent& e);
  uint64_t access(const InstEvent& e, MemAccess& m);  // lanes that may go ahead
  void barrier(const InstEvent& e);
  void barrier_release();

  // Which group it is in the service of; read by other threads to find theirs.
  std::atomic<const Dispatch*> dispatch{nullptr};
  std::atomic<uint64_t> linear{0};

 private:
  struct Wave {
    WaveCheck check;
    uint64_t full = 0;  // lanes that the wave started with
    bool started = false;
    // The last barrier that some of its lanes missed.
    uint64_t missed = 0;
    InstEvent missed_at;
    std::vector<uint64_t> scratch;  // a bit per byte: written
  };
  struct Cell {  // a dword of LDS
    uint32_t epoch = 0;
    uint16_t writers = 0, readers = 0, atomics = 0;  // waves since the last barrier
    uint8_t written = 0, read = 0;                   // bytes
    uint64_t write_pc = 0;
    const Program* write_program = nullptr;
  };
  struct Known {
    uint64_t low = 1, high = 0;
    std::shared_ptr<Region> region;  // none: memory of the simulator's own, all written
  };

  const Facts& facts(const InstEvent& e);
  const Known* find(const InstEvent& e, uint64_t address, uint64_t bytes);
  bool own_memory(const InstEvent& e, uint64_t address, Known& k) const;
  bool report_unknown(const InstEvent& e, const MemAccess& m, int lane);
  uint64_t global(const InstEvent& e, const MemAccess& m, Wave& w);
  void global_load(const InstEvent& e, const MemAccess& m, int lane, const Region& r, Wave& w);
  void global_store(const InstEvent& e, const MemAccess& m, int lane, Region& r, Wave& w);
  void global_races(const InstEvent& e, const MemAccess& m, uint64_t lanes);
  void synchronised(const InstEvent& e, const MemAccess& m);
  uint64_t lds(const InstEvent& e, const MemAccess& m, Wave& w);
  void lds_definedness(const InstEvent& e, const MemAccess& m, int lane, Wave& w);
  void lds_race(const InstEvent& e, const MemAccess& m, int lane);
  void lds_filled(const InstEvent& e, const MemAccess& m);
  void scratch(const InstEvent& e, const MemAccess& m, Wave& w);
  void alignment(const InstEvent& e, const MemAccess& m, int lane);
  void scalar_alignment(const InstEvent& e);

  MemoryMap& memory_;
  Reports& reports_;
  DispatchCheck* owner_ = nullptr;
  uint64_t group_ = 0;
  std::vector<Wave> waves_;
  const Program* program_ = nullptr;
  const std::vector<Facts>* facts_ = nullptr;
  uint32_t part_ = 0;  // destination dword of the access that comes next (ds_read2 has two)

  std::array<Known, 4> known_;
  uint64_t generation_ = 0;
  uint32_t next_known_ = 0;
  GlobalRaces::Cache pages_;

  std::span<uint8_t> lds_;
  std::vector<uint64_t> lds_written_;  // a bit per byte
  std::vector<Cell> cells_;
  uint32_t epoch_ = 0;
  bool arrived_ = false;
  InstEvent first_arrival_;
};

}  // namespace gfx906::check

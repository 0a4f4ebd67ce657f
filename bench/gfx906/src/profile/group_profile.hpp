// One watched work-group: what its instructions occupied, and how long its waves would take if they
// had the compute unit for themselves.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine.hpp"
#include "profile/instruction_cost.hpp"
#include "profile/memory_model.hpp"
#include "profile/parameters.hpp"

namespace gfx906::profile {

// Sums over groups. Clocks are engine clocks.
struct Counters {
  uint64_t groups = 0, waves = 0;
  std::array<uint64_t, kClasses> instructions{};
  uint64_t valu_clocks = 0;                                         // of the waves' SIMDs
  uint64_t salu_clocks = 0, vmem_clocks = 0, lds_issue_clocks = 0;  // issue slots of those classes
  uint64_t active_lanes = 0;                                        // over the VALU instructions
  uint64_t lds_accesses = 0, lds_conflict_clocks = 0;
  double lds_clocks = 0;  // of the compute unit's LDS
  uint64_t l1_clocks = 0, l1_lines = 0, l1_hits = 0, l1_fills = 0;
  uint64_t vector_accesses = 0, access_lines = 0, access_bytes = 0;  // coalescing
  uint64_t l2_lines = 0, l2_hits = 0, l2_atomic_clocks = 0;
  uint64_t again_lines = 0;  // fetched from HBM although the group had had them
  uint64_t scratch_bytes = 0;
  uint64_t scalar_loads = 0, scalar_hits = 0;
  // The waves' own time: the whole of it, and what they waited for.
  double wave_clocks = 0, vmem_stall = 0, lgkm_stall = 0, barrier_stall = 0, branch_stall = 0;
  double group_clocks = 0;  // from the first wave's start to the last one's end
  void add(const Counters& other);
};

class GroupProfile {
 public:
  // `index`: a number for the group that is unique in the launch's sample; `unit`: the caches of
  // the compute unit it runs on; `l2_bytes`: its share of L2.
  GroupProfile(const Parameters& p, BehindL1& behind, std::unique_ptr<UnitCaches> unit,
               uint32_t index, uint32_t half, uint32_t run, uint32_t waves, uint64_t l2_bytes);

  void before(const InstEvent& e);
  void access(const InstEvent& e, const MemAccess& m);
  void after(const InstEvent& e);
  void barrier_release();
  // Called once, at the group's end.
  const Counters& finish();
  std::unique_ptr<UnitCaches> take_unit() { return std::move(unit_); }

 private:
  // Accesses under way of one wait counter; they complete in order. The last 64 are kept, more than
  // the counters can tell apart.
  struct Queue {
    std::array<double, 64> done{};
    uint64_t issued = 0;
    void push(double when);
    double until_at_most(uint32_t left) const;  // when no more than `left` are under way
  };
  struct Wave {
    double clock = 0;
    Queue vector, lgkm;
    bool at_barrier = false;
    uint64_t hbm_lines = 0;   // it had from HBM
    TagCache asked{8192, 8};  // lines of the loads since it last waited
  };
  // What the instruction in progress touched.
  struct Current {
    double lds_clocks = 0, latency = 0, data_clocks = 0;
    bool lds = false, vector = false, scalar = false;
  };

  void count_lds(const MemAccess& m);
  void count_vector(const MemAccess& m, uint32_t wave);
  void count_scratch(const MemAccess& m, uint32_t wave);
  void count_scalar(const MemAccess& m, uint32_t wave);
  bool from_behind(uint64_t line, uint32_t wave);  // true: L2 has it
  void wait(Wave& w, const Inst& i);

  const Parameters& p_;
  BehindL1& behind_;
  uint32_t index_, half_, run_;
  std::unique_ptr<UnitCaches> unit_;
  TagCache l2_share_;
  std::vector<Wave> waves_;
  Current now_;
  Coalesced lines_;
  Counters sum_;
};

}  // namespace gfx906::profile

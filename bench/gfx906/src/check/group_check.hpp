// The checks of one work-group: its accesses to global memory, LDS and scratch, and its barriers.
// Used by one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "check/lds_shadow.hpp"
#include "check/memory_map.hpp"
#include "check/races.hpp"
#include "check/stretches.hpp"
#include "check/wave_check.hpp"
#include "decode/program.hpp"

namespace gfx906::check {

// What addresses plain accesses need. The card's SH_MEM_CONFIG.alignment_mode says it; ROCm's
// driver sets kUnaligned, and its compilers count on that, in LDS too.
enum class Alignment : uint8_t {
  kUnaligned,  // any; atomics their own size
  kDword,      // a multiple of 4, or of the size when that is less
  kNatural,    // a multiple of the size (of 16 bytes for 12)
};

// What the groups of a dispatch share.
struct DispatchCheck {
  const Dispatch* dispatch = nullptr;
  std::unique_ptr<GlobalRaces> races;
  // The runtime serves the kernel through memory that is no allocation (printf, device malloc,
  // grid barriers): an address that is far from every allocation may be that.
  bool served = false;
  FactBook* facts = nullptr;
  Alignment alignment = Alignment::kUnaligned;
};

class GroupCheck {
 public:
  GroupCheck(MemoryMap& memory, Reports& reports) : memory_(memory), reports_(reports) {}
  void begin(DispatchCheck& owner, const GroupId& id, uint32_t waves, std::span<uint8_t> lds);

  void before(const InstEvent& e) {
    Wave& w = waves_[e.wave];
    if (!w.started) start(w, e);
    const Facts& f = facts(e);
    now_ = &f;
    if (f.special || f.hidden_lds || f.smem) prepare(w, e, f);
    w.check.before(e, f, reports_);
  }
  void after(const InstEvent& e) { waves_[e.wave].check.after(e, *now_); }
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
  struct Known {
    uint64_t low = 1, high = 0;
    std::shared_ptr<Region> region;  // none: memory of the simulator's own, all written
  };

  const Facts& facts(const InstEvent& e) {
    if (program_ != e.program) {
      program_ = e.program;
      facts_ = owner_->facts->of(*e.program).data();
      first_ = e.program->insts().data();
    }
    return facts_[static_cast<size_t>(e.inst - first_)];
  }
  void start(Wave& w, const InstEvent& e);
  void prepare(Wave& w, const InstEvent& e, const Facts& f);
  void alignment(const InstEvent& e, const MemAccess& m, uint64_t lanes);
  void scalar_alignment(const InstEvent& e);

  // Global memory (group_global.cpp).
  const Known* find(const InstEvent& e, uint64_t address, uint64_t bytes);
  bool own_memory(const InstEvent& e, uint64_t address, Known& k) const;
  bool report_unknown(const InstEvent& e, const MemAccess& m, int lane);
  uint64_t global(const InstEvent& e, const MemAccess& m, Wave& w);
  uint64_t stray(const InstEvent& e, const MemAccess& m, Wave& w, const Stretch& s);
  void inside(const InstEvent& e, const MemAccess& m, Wave& w, const Stretch& s, const Known& k);
  void global_load(const InstEvent& e, const MemAccess& m, int lane, const Region& r, Wave& w);
  void global_store(const InstEvent& e, const MemAccess& m, int lane, Region& r, Wave& w);
  void global_races(const InstEvent& e, const MemAccess& m, const Stretch& s);
  void synchronised(const MemAccess& m);
  // An atomic store is a plain one in machine code. One to a word that the group has looked at by
  // an atomic or a volatile load before, as who leaves a lock or passes a turn on does, is taken
  // for it.
  uint64_t& sync_word(uint64_t word) { return sync_words_[word % sync_words_.size()]; }
  bool is_sync_word(uint64_t address) { return sync_word(address / 4) == address / 4; }

  // LDS and scratch (group_local.cpp).
  uint64_t lds(const InstEvent& e, const MemAccess& m, Wave& w);
  bool lds_quick_read(const InstEvent& e, const MemAccess& m);
  uint64_t lds_bounds(const InstEvent& e, const MemAccess& m);
  void lds_load(const InstEvent& e, const MemAccess& m, const Stretch& s, Wave& w);
  void lds_store(const InstEvent& e, const MemAccess& m, const Stretch& s, Wave& w);
  void lds_races(const InstEvent& e, const MemAccess& m, const Stretch& s);
  void lds_race(const InstEvent& e, const MemAccess& m, int lane, LdsShadow::Access a);
  bool lds_changes(const InstEvent& e, const MemAccess& m, int lane) const;
  const Operand& lds_data(const InstEvent& e) const;
  void lds_filled(const InstEvent& e, const MemAccess& m);
  void scratch(const InstEvent& e, const MemAccess& m, Wave& w);
  void scratch_lane(const InstEvent& e, const MemAccess& m, int lane, Wave& w);
  uint16_t site(const InstEvent& e);

  MemoryMap& memory_;
  Reports& reports_;
  DispatchCheck* owner_ = nullptr;
  uint64_t group_ = 0;
  std::vector<Wave> waves_;
  const Program* program_ = nullptr;
  const Facts* facts_ = nullptr;
  const Inst* first_ = nullptr;
  const Facts* now_ = nullptr;  // of the instruction in progress
  uint32_t part_ = 0;  // destination dword of the access that comes next (ds_read2 has two)

  std::array<Known, 8> known_;
  uint64_t generation_ = 0;
  uint32_t next_known_ = 0, last_known_ = 0;
  GlobalRaces::Cache pages_;
  std::array<uint64_t, 64> sync_words_{};  // where the group's latest such accesses went

  std::span<uint8_t> lds_;
  LdsShadow shadow_;
  struct Site {
    uint64_t pc = 0;
    const Program* program = nullptr;
  };
  std::vector<Site> sites_;  // of writes to LDS
  uint16_t last_site_ = 0;
  bool arrived_ = false;
  InstEvent first_arrival_;
};

}  // namespace gfx906::check

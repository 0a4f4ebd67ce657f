// What one wave did wrong by itself: registers used before the s_waitcnt that their load needs, too
// few wait states between two instructions, values that came from memory never written.
#pragma once

#include <array>
#include <cstdint>

#include "check/facts.hpp"
#include "check/report.hpp"
#include "exec/wave.hpp"

namespace gfx906::check {

class WaveCheck {
 public:
  void begin();
  // Before, during and after an instruction.
  void before(const InstEvent& e, const Facts& f, Reports& reports);
  void saw_space(Space space);
  void after(const InstEvent& e, const Facts& f, Reports& reports);

  // A load gave these lanes a dword of memory never written, in destination register + `dword`.
  void loaded_undefined(uint32_t dword, uint64_t lanes) {
    if (dword >= fresh_.size()) return;
    fresh_[dword] |= lanes;
    fresh_any_ = undefined_any_ = true;
  }
  // Lanes of a register that hold such a value.
  uint64_t undefined(uint32_t vgpr) const { return undefined_any_ ? undefined_v_[vgpr & 255] : 0; }
  void report_undefined(const InstEvent& e, uint32_t vgpr, Reports& reports);
  bool lds_pending() const;  // an access of LDS memory may not have happened yet
  bool stores_pending() const { return vm_issued_ != vm_done_; }

 private:
  struct Origin {
    uint64_t pc = 0;
    const Program* program = nullptr;
    const Inst* inst = nullptr;
  };
  void wait(uint32_t imm);
  void check_pending(const InstEvent& e, const Facts& f, Reports& reports) const;
  void check_states(const InstEvent& e, const Facts& f, Reports& reports) const;
  void check_undefined(const InstEvent& e, const Facts& f, Reports& reports);
  void note_states(const Facts& f, const Inst& i);
  void note_loads(const InstEvent& e, const Facts& f);
  void note_undefined(const InstEvent& e, const Facts& f);
  bool pending() const {
    return vm_issued_ != vm_done_ || ds_issued_ != ds_done_ || sm_issued_ != sm_done_;
  }

  // Numbers of issued and surely finished operations: vector memory, LDS, and those that return in
  // no order (scalar memory, flat accesses of LDS).
  uint32_t vm_issued_ = 0, vm_done_ = 0, ds_issued_ = 0, ds_done_ = 0, sm_issued_ = 0, sm_done_ = 0;
  uint32_t lds_touched_ = 0;  // the last one of LDS that reads or writes memory
  std::array<uint32_t, 256> vm_of_{}, ds_of_{}, sm_of_v_{};  // the last one that writes a register
  std::array<uint32_t, 144> sm_of_s_{};

  uint64_t now_ = 0;  // wait states since the wave's start, from 1000
  std::array<uint64_t, 256> valu_wrote_v_{};
  std::array<uint64_t, 144> valu_wrote_s_{};
  std::array<uint64_t, 64> setreg_{};
  uint64_t valu_wrote_exec_ = 0, salu_wrote_m0_ = 0, stored_ = 0;
  Registers stored_data_;

  bool undefined_any_ = false;
  std::array<uint64_t, 256> undefined_v_{};
  std::array<Origin, 256> origin_v_{};
  std::array<uint8_t, 144> undefined_s_{};
  std::array<Origin, 144> origin_s_{};
  std::array<uint64_t, 16> fresh_{};
  bool fresh_any_ = false;
  bool saw_lds_ = false, saw_global_ = false;
};

}  // namespace gfx906::check

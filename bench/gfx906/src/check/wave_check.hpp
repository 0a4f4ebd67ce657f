// What one wave did wrong by itself: registers used before the s_waitcnt that their load needs, too
// few wait states between two instructions, values that came from memory never written.
//
// Most instructions touch nothing that is watched and ask for no wait states; for those it only
// notes that they ran.
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
  void before(const InstEvent& e, const Facts& f, Reports& reports) {
    if (f.special) begin_memory(e);
    touched_ = watching_ && touches_watched(f);
    // Register numbers are not what they seem while s_set_gpr_idx_on is in force.
    if (!e.state->gpr_idx) {
      if (f.sensitive || past(1).facts->wide_store) check_states(e, f, reports);
      if (touched_) look_closer(e, f, reports);
    }
  }
  void saw_space(Space space) { (space == Space::kLds ? saw_lds_ : saw_global_) = true; }
  void after(const InstEvent& e, const Facts& f) {
    if (f.special) note_loads(e, f);
    if (touched_ || fresh_any_) note_undefined(e, f);
    past_[++at_ % past_.size()] = {&f, now_};
    now_ += f.jump ? 16 : f.states;
  }

  // A load gave these lanes a dword of memory never written, in destination register + `dword`.
  void loaded_undefined(uint32_t dword, uint64_t lanes) {
    if (dword >= fresh_.size()) return;
    fresh_[dword] |= lanes;
    fresh_any_ = true;
  }
  // Lanes of a register that hold such a value.
  uint64_t undefined(uint32_t vgpr) const {
    return vgpr < 256 && has(undefined_any_, vgpr) ? undefined_v_[vgpr] : 0;
  }
  // One of `count` registers holds one.
  bool any_undefined(uint32_t vgpr, uint32_t count) const {
    if (!undefined_any_[0] && !undefined_any_[1] && !undefined_any_[2] && !undefined_any_[3])
      return false;
    for (uint32_t n = vgpr; n < vgpr + count; ++n)
      if (undefined(n)) return true;
    return false;
  }
  void report_undefined(const InstEvent& e, uint32_t vgpr, Reports& reports);
  bool lds_pending() const;  // an access of LDS memory may not have happened yet
  bool stores_pending() const { return vm_issued_ != vm_done_; }

 private:
  struct Origin {
    uint64_t pc = 0;
    const Program* program = nullptr;
    const Inst* inst = nullptr;
  };
  struct Past {
    const Facts* facts;
    uint64_t when;  // in wait states
  };
  template <size_t N>
  static bool has(const std::array<uint64_t, N>& bits, uint32_t n) {
    return bits[n / 64] >> (n % 64) & 1;
  }
  template <size_t N>
  static void put(std::array<uint64_t, N>& bits, uint32_t n, bool on) {
    const uint64_t bit = uint64_t{1} << (n % 64);
    bits[n / 64] = on ? bits[n / 64] | bit : bits[n / 64] & ~bit;
  }
  bool touches_watched(const Facts& f) const {
    uint64_t any = 0;
    for (size_t k = 0; k < 4; ++k) any |= f.vectors[k] & watch_v_[k];
    for (size_t k = 0; k < 3; ++k) any |= f.scalars[k] & watch_s_[k];
    return any != 0;
  }
  // The instruction that ran `back` before (1: the last one).
  const Past& past(size_t back) const { return past_[(at_ + 1 - back) % past_.size()]; }
  template <class F>
  uint64_t last(uint32_t states, F&& is) const;
  uint64_t valu_wrote(const Registers& r, uint32_t n, uint32_t states) const;

  void begin_memory(const InstEvent& e);
  void wait(uint32_t imm);
  void look_closer(const InstEvent& e, const Facts& f, Reports& reports);
  bool late(const Registers& r, uint32_t n) const;
  void check_pending(const InstEvent& e, const Facts& f, Reports& reports) const;
  void check_states(const InstEvent& e, const Facts& f, Reports& reports) const;
  void check_undefined(const InstEvent& e, const Facts& f, Reports& reports);
  void report_scalar(const InstEvent& e, uint32_t n, Reports& reports);
  void note_loads(const InstEvent& e, const Facts& f);
  void note_load_of(const InstEvent& e, const Facts& f, uint32_t n, bool vector);
  void note_undefined(const InstEvent& e, const Facts& f);
  void pass_on(const InstEvent& e, const Facts& f);
  void set_undefined(uint32_t vgpr, uint64_t lanes, const Origin& from);
  uint64_t passed_on(const InstEvent& e, const Facts& f, uint32_t dword, Origin& from) const;

  // Numbers of issued and surely finished operations: vector memory, LDS, and those that return in
  // no order (scalar memory, flat accesses of LDS).
  uint32_t vm_issued_ = 0, vm_done_ = 0, ds_issued_ = 0, ds_done_ = 0, sm_issued_ = 0, sm_done_ = 0;
  uint32_t lds_touched_ = 0;  // the last one of LDS that reads or writes memory

  // Registers that a load may still be on its way to, or that hold undefined values. A bit stays
  // until an instruction that touches the register finds nothing there. What the arrays below say
  // of a register counts only while its bit is set.
  bool watching_ = false, touched_ = false;
  std::array<uint64_t, 4> watch_v_{}, undefined_any_{};
  std::array<uint64_t, 3> watch_s_{}, undefined_s_{};

  std::array<Past, 8> past_{};
  size_t at_ = 0;
  uint64_t now_ = 0;  // wait states since the wave's start, from 1000

  std::array<uint64_t, 16> fresh_{};
  bool fresh_any_ = false;
  bool saw_lds_ = false, saw_global_ = false;

  std::array<uint32_t, 256> vm_of_, ds_of_, sm_of_v_;  // the last one that writes a register
  std::array<uint32_t, 192> sm_of_s_;
  std::array<uint64_t, 256> undefined_v_;
  std::array<Origin, 256> origin_v_;
  std::array<Origin, 192> origin_s_;
};

}  // namespace gfx906::check

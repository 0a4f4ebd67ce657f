#include "check/wave_check.hpp"

#include <algorithm>

#include "decode/program.hpp"

namespace gfx906::check {
namespace {

std::string name_of(bool vector, uint32_t n) {
  if (vector) return "v" + std::to_string(n);
  if (n == kVcc || n == kVcc + 1) return n == kVcc ? "vcc_lo" : "vcc_hi";
  if (n == kM0) return "m0";
  return "s" + std::to_string(n);
}

}  // namespace

void WaveCheck::begin() {
  *this = WaveCheck();
  now_ = 1000;
}

// The counters' fields: vmcnt [3:0] and [15:14], lgkmcnt [11:8].
void WaveCheck::wait(uint32_t imm) {
  const uint32_t vm = (imm & 15) | (imm >> 14 & 3) << 4, lgkm = imm >> 8 & 15;
  const auto finish = [](uint32_t issued, uint32_t& done, uint32_t left) {
    if (issued - done > left) done = issued - left;
  };
  if (vm < 63) finish(vm_issued_, vm_done_, vm);
  if (lgkm < 15) {
    finish(ds_issued_, ds_done_, lgkm);
    if (lgkm == 0) sm_done_ = sm_issued_;
  }
}

void WaveCheck::check_pending(const InstEvent& e, const Facts& f, Reports& reports) const {
  const auto late = [](uint32_t number, uint32_t done) {
    return number && static_cast<int32_t>(number - done) > 0;
  };
  const auto look = [&](const Registers& r, bool write) {
    for (uint32_t n = r.first; n < uint32_t{r.first} + r.count; ++n) {
      const char* counter = nullptr;
      if (r.vector) {
        if (n > 255) return;
        // In-order returns overwrite each other in order.
        if (late(vm_of_[n], vm_done_) && !(write && f.vmem)) counter = "vmcnt";
        if (late(ds_of_[n], ds_done_) && !(write && f.ds)) counter = "lgkmcnt";
        if (late(sm_of_v_[n], sm_done_)) counter = "lgkmcnt";
      } else if (n < sm_of_s_.size() && late(sm_of_s_[n], sm_done_)) {
        counter = "lgkmcnt";
      }
      if (!counter) continue;
      if (reports.counted(FaultKind::kMissingWait, e.pc)) return;
      reports.add(FaultKind::kMissingWait, e, -1,
                  name_of(r.vector, n) + (write ? " is overwritten" : " is read") +
                      " while a load into it may still be on its way; it needs an s_waitcnt " +
                      counter);
      return;
    }
  };
  for (int k = 0; k < f.read_count; ++k) look(f.reads[k], false);
  for (int k = 0; k < f.write_count; ++k) look(f.writes[k], true);
}

void WaveCheck::check_states(const InstEvent& e, const Facts& f, Reports& reports) const {
  const auto need = [&](uint64_t event, uint32_t states, const std::string& what) {
    const uint64_t have = now_ - event - 1;
    if (event == 0 || have >= states) return;
    if (reports.counted(FaultKind::kMissingNop, e.pc)) return;
    reports.add(FaultKind::kMissingNop, e, -1,
                what + ": " + std::to_string(states) + " wait states are needed, there are " +
                    std::to_string(have));
  };
  const auto range = [&](const Registers& r, uint32_t states, const char* what) {
    for (uint32_t n = r.first; n < uint32_t{r.first} + r.count && n < 256; ++n) {
      if (!r.vector && n >= valu_wrote_s_.size()) return;
      const uint64_t event = r.vector ? valu_wrote_v_[n] : valu_wrote_s_[n];
      if (event && now_ - event - 1 < states)
        need(event, states, name_of(r.vector, n) + " was written by a vector instruction, " + what);
    }
  };
  if (f.vmem) {
    for (int k = 0; k < f.read_count; ++k)
      if (!f.reads[k].vector) range(f.reads[k], 5, "a vector memory instruction reads it");
  }
  if (f.dpp) {
    for (int k = 0; k < f.read_count; ++k)
      if (f.reads[k].vector) range(f.reads[k], 2, "a DPP instruction reads it");
    need(valu_wrote_exec_, 5, "EXEC was written by a vector instruction before a DPP instruction");
  }
  if (f.div_fmas) range({kVcc, 2, false}, 4, "v_div_fmas reads it");
  if (f.lane_select) {
    const Operand& lane = e.inst->src[1];
    if (lane.is_sgpr()) range({lane.index, 1, false}, 4, "it selects a lane");
  }
  for (const Operand& o : e.inst->src) {
    if (!f.valu || o.kind != OperandKind::kStatus) continue;
    if (o.index == 251) range({kVcc, 2, false}, 5, "vccz is read");
    if (o.index == 252) need(valu_wrote_exec_, 5, "EXEC was written, execz is read");
  }
  if (f.needs_m0) need(salu_wrote_m0_, 1, "M0 was written by a scalar instruction");
  if (f.hwreg_read >= 0) need(setreg_[f.hwreg_read], 2, "s_setreg before s_getreg of the same");
  if (f.hwreg_write >= 0) need(setreg_[f.hwreg_write], 2, "s_setreg twice of the same");
  if (f.valu && stored_ && now_ - stored_ == 1) {
    for (int k = 0; k < f.write_count; ++k) {
      const Registers& r = f.writes[k];
      if (r.vector && r.first < stored_data_.first + stored_data_.count &&
          stored_data_.first < r.first + r.count)
        need(stored_, 1, "the data of a store of more than 64 bits is overwritten");
    }
  }
}

void WaveCheck::report_undefined(const InstEvent& e, uint32_t n, Reports& reports) {
  const Origin o = origin_v_[n & 255];
  const uint64_t lanes = undefined_v_[n & 255] & e.exec;
  undefined_v_[n & 255] = 0;
  if (!o.inst || !lanes) return;
  InstEvent at = e;
  at.pc = o.pc;
  at.program = o.program;
  at.inst = o.inst;
  if (reports.counted(FaultKind::kNeverWritten, o.pc)) return;
  reports.add(FaultKind::kNeverWritten, at, __builtin_ctzll(lanes),
              "the loaded value, used at " + place(*e.program, e.pc) + " (v" + std::to_string(n) +
                  "), comes from memory that nothing has written");
}

// Values pass through moves, logic and stores; anything else that reads one uses it.
void WaveCheck::check_undefined(const InstEvent& e, const Facts& f, Reports& reports) {
  const bool uses = f.valu ? !(f.plain_copy || f.bits || f.forgets) : f.vmem || f.ds;
  for (int k = 0; k < f.read_count; ++k) {
    const Registers& r = f.reads[k];
    for (uint32_t n = r.first; n < uint32_t{r.first} + r.count; ++n) {
      if (r.vector) {
        if (!uses || n > 255 || !(undefined_v_[n] & e.exec)) continue;
        // A store's data is looked at when its space is known; addresses are uses.
        const bool data = !f.valu && !(e.inst->src[0].is_vgpr() && r.first == e.inst->src[0].index);
        if (!data) report_undefined(e, n, reports);
      } else if (n < undefined_s_.size() && undefined_s_[n] && !f.plain_copy) {
        undefined_s_[n] = 0;
        const Origin& o = origin_s_[n];
        InstEvent at = e;
        at.pc = o.pc;
        at.program = o.program;
        at.inst = o.inst;
        if (reports.counted(FaultKind::kNeverWritten, o.pc)) continue;
        reports.add(FaultKind::kNeverWritten, at, -1,
                    "the loaded value, used at " + place(*e.program, e.pc) + " (" +
                        name_of(false, n) + "), comes from memory that nothing has written");
      }
    }
  }
}

void WaveCheck::before(const InstEvent& e, const Facts& f, Reports& reports) {
  if (e.inst->op == Op::s_waitcnt) wait(static_cast<uint32_t>(e.inst->imm));
  // Register numbers are not what they seem while s_set_gpr_idx_on is in force.
  const bool plain = !e.state->gpr_idx;
  if (plain) {
    if (pending()) check_pending(e, f, reports);
    check_states(e, f, reports);
    if (undefined_any_) check_undefined(e, f, reports);
  }
  if (fresh_any_) fresh_.fill(0);
  fresh_any_ = false;
  saw_lds_ = saw_global_ = false;
}

void WaveCheck::saw_space(Space space) {
  (space == Space::kLds ? saw_lds_ : saw_global_) = true;
}

bool WaveCheck::lds_pending() const {
  return lds_touched_ && static_cast<int32_t>(lds_touched_ - ds_done_) > 0;
}

void WaveCheck::note_states(const Facts& f, const Inst& i) {
  for (int k = 0; k < f.write_count; ++k) {
    const Registers& r = f.writes[k];
    for (uint32_t n = r.first; n < uint32_t{r.first} + r.count && n < 256; ++n) {
      if (r.vector) {
        valu_wrote_v_[n] = f.valu ? now_ : 0;
      } else if (n < valu_wrote_s_.size()) {
        valu_wrote_s_[n] = f.valu ? now_ : 0;
        if (n == kM0 && f.salu) salu_wrote_m0_ = now_;
      }
    }
  }
  if (f.writes_exec) valu_wrote_exec_ = now_;
  if (f.hwreg_write >= 0) setreg_[f.hwreg_write] = now_;
  if (f.wide_store) {
    stored_ = now_;
    stored_data_ = {i.src[1].index, i.src[1].width, true};
  }
  now_ += f.jump ? 16 : f.states;
}

void WaveCheck::note_loads(const InstEvent& e, const Facts& f) {
  if (f.smem) {
    ++sm_issued_;
    for (int k = 0; k < f.write_count; ++k)
      for (uint32_t n = f.writes[k].first; n < uint32_t{f.writes[k].first} + f.writes[k].count; ++n)
        if (n < sm_of_s_.size()) sm_of_s_[n] = sm_issued_;
    return;
  }
  const bool lds = f.ds || (f.flat && saw_lds_);
  if (f.ds) ++ds_issued_;
  if (f.ds && saw_lds_) lds_touched_ = ds_issued_;
  if (f.flat && saw_lds_) ++sm_issued_;
  if (f.vmem && f.vm_counted) ++vm_issued_;
  if (!f.load || e.exec == 0) return;
  for (int k = 0; k < f.write_count; ++k) {
    for (uint32_t n = f.writes[k].first; n < uint32_t{f.writes[k].first} + f.writes[k].count; ++n) {
      if (n > 255) break;
      if (f.ds) ds_of_[n] = ds_issued_;
      if (f.flat && lds) sm_of_v_[n] = sm_issued_;
      if (f.vmem && (!f.flat || saw_global_)) vm_of_[n] = vm_issued_;
    }
  }
}

void WaveCheck::note_undefined(const InstEvent& e, const Facts& f) {
  if (!undefined_any_) return;
  const Origin here{e.pc, e.program, e.inst};
  for (int k = 0; k < f.write_count; ++k) {
    const Registers& r = f.writes[k];
    for (uint32_t j = 0; j < r.count; ++j) {
      const uint32_t n = r.first + j;
      if (!r.vector) {
        if (n >= undefined_s_.size()) break;
        undefined_s_[n] = f.smem && j < fresh_.size() && fresh_[j] ? 1 : 0;
        if (undefined_s_[n]) origin_s_[n] = here;
        continue;
      }
      if (n > 255) break;
      if (f.valu && k == 0 && (f.plain_copy || f.bits) && e.exec) {
        uint64_t in = 0;
        Origin from;
        for (int s = 0; s < 3; ++s) {
          const Operand& o = e.inst->src[s];
          if (!o.is_vgpr() || o.index + j > 255) continue;
          uint64_t lanes = undefined_v_[o.index + j];
          if (e.inst->op == Op::v_cndmask_b32 && e.inst->src[3].is_sgpr()) {
            const uint64_t chosen = e.state->read64(e.inst->src[3].index);
            lanes &= s == 1 ? chosen : ~chosen;
          }
          if (lanes & e.exec) from = origin_v_[o.index + j];
          in |= lanes;
        }
        undefined_v_[n] = (undefined_v_[n] & ~e.exec) | (in & e.exec);
        if (in & e.exec) origin_v_[n] = from;
        continue;
      }
      const uint64_t fresh = !f.valu && j < fresh_.size() ? fresh_[j] : 0;
      undefined_v_[n] = (undefined_v_[n] & ~e.exec) | fresh;
      if (fresh) origin_v_[n] = here;
    }
  }
}

void WaveCheck::after(const InstEvent& e, const Facts& f, Reports&) {
  if (f.vmem || f.ds || f.smem) note_loads(e, f);
  note_undefined(e, f);
  note_states(f, *e.inst);
}

}  // namespace gfx906::check

#include "check/wave_check.hpp"

#include <algorithm>

#include "decode/program.hpp"

namespace gfx906::check {
namespace {

const Facts kNothing;

std::string name_of(bool vector, uint32_t n) {
  if (vector) return "v" + std::to_string(n);
  if (n == kVcc || n == kVcc + 1) return n == kVcc ? "vcc_lo" : "vcc_hi";
  if (n == kM0) return "m0";
  return "s" + std::to_string(n);
}

// Calls f(register) for those of the range that exist.
template <class F>
void each(const Registers& r, F&& f) {
  const uint32_t end = std::min<uint32_t>(uint32_t{r.first} + r.count, r.vector ? 256 : 192);
  for (uint32_t n = r.first; n < end; ++n) f(n);
}

}  // namespace

void WaveCheck::begin() {
  vm_issued_ = vm_done_ = ds_issued_ = ds_done_ = sm_issued_ = sm_done_ = lds_touched_ = 0;
  watching_ = touched_ = fresh_any_ = saw_lds_ = saw_global_ = false;
  watch_v_ = undefined_any_ = {};
  watch_s_ = undefined_s_ = {};
  fresh_ = {};
  past_.fill({&kNothing, 0});
  at_ = 0;
  now_ = 1000;
}

void WaveCheck::begin_memory(const InstEvent& e) {
  if (e.inst->op == Op::s_waitcnt) wait(static_cast<uint32_t>(e.inst->imm));
  saw_lds_ = saw_global_ = false;
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

namespace {
bool after_done(uint32_t number, uint32_t done) {
  return number && static_cast<int32_t>(number - done) > 0;
}
}  // namespace

bool WaveCheck::late(const Registers& r, uint32_t n) const {
  if (!r.vector) return after_done(sm_of_s_[n], sm_done_);
  return after_done(vm_of_[n], vm_done_) || after_done(ds_of_[n], ds_done_) ||
         after_done(sm_of_v_[n], sm_done_);
}

void WaveCheck::check_pending(const InstEvent& e, const Facts& f, Reports& reports) const {
  const auto look = [&](const Registers& r, bool write) {
    bool told = false;
    each(r, [&](uint32_t n) {
      if (told || !(r.vector ? has(watch_v_, n) : has(watch_s_, n))) return;
      const char* counter = nullptr;
      if (r.vector) {
        // In-order returns overwrite each other in order.
        if (after_done(vm_of_[n], vm_done_) && !(write && f.vmem)) counter = "vmcnt";
        if (after_done(ds_of_[n], ds_done_) && !(write && f.ds)) counter = "lgkmcnt";
        if (after_done(sm_of_v_[n], sm_done_)) counter = "lgkmcnt";
      } else if (after_done(sm_of_s_[n], sm_done_)) {
        counter = "lgkmcnt";
      }
      if (!counter) return;
      told = true;
      if (reports.counted(FaultKind::kMissingWait, e.pc)) return;
      reports.add(FaultKind::kMissingWait, e, -1,
                  name_of(r.vector, n) + (write ? " is overwritten" : " is read") +
                      " while a load into it may still be on its way; it needs an s_waitcnt " +
                      counter);
    });
  };
  for (int k = 0; k < f.read_count; ++k) look(f.reads[k], false);
  for (int k = 0; k < f.write_count; ++k) look(f.writes[k], true);
}

// When the last instruction for which is(facts) holds began, if that is less than `states` wait
// states ago; else 0.
template <class F>
uint64_t WaveCheck::last(uint32_t states, F&& is) const {
  for (size_t back = 1; back <= past_.size(); ++back) {
    const Past& p = past(back);
    if (now_ - p.when - 1 >= states) return 0;
    if (is(*p.facts)) return p.when;
  }
  return 0;
}

// The same for a vector operation that wrote register n and that nothing has overwritten since.
uint64_t WaveCheck::valu_wrote(const Registers& r, uint32_t n, uint32_t states) const {
  bool vector_unit = false;
  const uint64_t when = last(states, [&](const Facts& f) {
    for (int k = 0; k < f.write_count; ++k) {
      const Registers& w = f.writes[k];
      if (w.vector != r.vector || n < w.first || n >= uint32_t{w.first} + w.count) continue;
      vector_unit = f.valu;
      return true;
    }
    return false;
  });
  return vector_unit ? when : 0;
}

void WaveCheck::check_states(const InstEvent& e, const Facts& f, Reports& reports) const {
  const auto need = [&](uint64_t event, uint32_t states, const std::string& what) {
    if (event == 0 || reports.counted(FaultKind::kMissingNop, e.pc)) return;
    reports.add(FaultKind::kMissingNop, e, -1,
                what + ": " + std::to_string(states) + " wait states are needed, there are " +
                    std::to_string(now_ - event - 1));
  };
  const auto range = [&](const Registers& r, uint32_t states, const char* what) {
    each(r, [&](uint32_t n) {
      if (const uint64_t event = valu_wrote(r, n, states))
        need(event, states, name_of(r.vector, n) + " was written by a vector instruction, " + what);
    });
  };
  const auto wrote_exec = [](const Facts& p) { return p.writes_exec; };
  if (f.vmem) {
    for (int k = 0; k < f.read_count; ++k)
      if (!f.reads[k].vector) range(f.reads[k], 5, "a vector memory instruction reads it");
  }
  if (f.dpp) {
    for (int k = 0; k < f.read_count; ++k)
      if (f.reads[k].vector) range(f.reads[k], 2, "a DPP instruction reads it");
    need(last(5, wrote_exec), 5,
         "EXEC was written by a vector instruction before a DPP instruction");
  }
  if (f.div_fmas) range({kVcc, 2, false}, 4, "v_div_fmas reads it");
  if (f.lane_select) {
    const Operand& lane = e.inst->src[1];
    if (lane.is_sgpr()) range({lane.index, 1, false}, 4, "it selects a lane");
  }
  for (const Operand& o : e.inst->src) {
    if (!f.valu || o.kind != OperandKind::kStatus) continue;
    if (o.index == 251) range({kVcc, 2, false}, 5, "vccz is read");
    if (o.index == 252) need(last(5, wrote_exec), 5, "EXEC was written, execz is read");
  }
  if (f.needs_m0)
    need(last(1, [](const Facts& p) { return p.writes_m0; }), 1,
         "M0 was written by a scalar instruction");
  const auto set = [&](int8_t reg) {
    return last(2, [reg](const Facts& p) { return p.hwreg_write == reg; });
  };
  if (f.hwreg_read >= 0) need(set(f.hwreg_read), 2, "s_setreg before s_getreg of the same");
  if (f.hwreg_write >= 0) need(set(f.hwreg_write), 2, "s_setreg twice of the same");
  const Past& before = past(1);
  if (f.valu && before.facts->wide_store && now_ - before.when == 1) {
    const Registers& data = before.facts->store_data;
    for (int k = 0; k < f.write_count; ++k) {
      const Registers& r = f.writes[k];
      if (r.vector && r.first < data.first + data.count && data.first < r.first + r.count)
        need(before.when, 1, "the data of a store of more than 64 bits is overwritten");
    }
  }
}

// An instruction that touches a watched register. Registers that need no more watching are let go.
void WaveCheck::look_closer(const InstEvent& e, const Facts& f, Reports& reports) {
  check_pending(e, f, reports);
  check_undefined(e, f, reports);
  const auto let_go = [&](const Registers& r) {
    each(r, [&](uint32_t n) {
      if (late(r, n)) return;
      if (r.vector && !has(undefined_any_, n)) put(watch_v_, n, false);
      if (!r.vector && !has(undefined_s_, n)) put(watch_s_, n, false);
    });
  };
  const auto of_watched = [&](const Registers& r) {
    each(r, [&](uint32_t n) {
      const bool on = r.vector ? has(watch_v_, n) : has(watch_s_, n);
      if (on) let_go({static_cast<uint16_t>(n), 1, r.vector});
    });
  };
  for (int k = 0; k < f.read_count; ++k) of_watched(f.reads[k]);
  for (int k = 0; k < f.write_count; ++k) of_watched(f.writes[k]);
  uint64_t any = watch_s_[0] | watch_s_[1] | watch_s_[2];
  for (const uint64_t w : watch_v_) any |= w;
  watching_ = any != 0;
}

void WaveCheck::report_undefined(const InstEvent& e, uint32_t n, Reports& reports) {
  const uint64_t lanes = undefined(n) & e.exec;
  if (!lanes) return;
  const Origin o = origin_v_[n];
  put(undefined_any_, n, false);
  InstEvent at = e;
  at.pc = o.pc;
  at.program = o.program;
  at.inst = o.inst;
  if (reports.counted(FaultKind::kNeverWritten, o.pc)) return;
  reports.add(FaultKind::kNeverWritten, at, __builtin_ctzll(lanes),
              "the loaded value, used at " + place(*e.program, e.pc) + " (v" + std::to_string(n) +
                  "), comes from memory that nothing has written");
}

void WaveCheck::report_scalar(const InstEvent& e, uint32_t n, Reports& reports) {
  put(undefined_s_, n, false);
  const Origin& o = origin_s_[n];
  InstEvent at = e;
  at.pc = o.pc;
  at.program = o.program;
  at.inst = o.inst;
  if (reports.counted(FaultKind::kNeverWritten, o.pc)) return;
  reports.add(FaultKind::kNeverWritten, at, -1,
              "the loaded value, used at " + place(*e.program, e.pc) + " (" + name_of(false, n) +
                  "), comes from memory that nothing has written");
}

// Undefined values pass through moves, arithmetic and LDS, since what comes of them is often thrown
// away. They are used where they decide something: as an address, in a comparison, or when a result
// is stored.
void WaveCheck::check_undefined(const InstEvent& e, const Facts& f, Reports& reports) {
  const bool uses = f.valu ? f.compares && !f.forgets : f.vmem || f.ds;
  for (int k = 0; k < f.read_count; ++k) {
    const Registers& r = f.reads[k];
    if (!r.vector) {
      if (f.plain_copy) continue;
      each(r, [&](uint32_t n) {
        if (has(undefined_s_, n)) report_scalar(e, n, reports);
      });
      continue;
    }
    // A store's data is looked at when its space is known; addresses are uses.
    const bool data = !f.valu && !(e.inst->src[0].is_vgpr() && r.first == e.inst->src[0].index);
    if (!uses || data) continue;
    each(r, [&](uint32_t n) {
      if (undefined(n) & e.exec) report_undefined(e, n, reports);
    });
  }
}

bool WaveCheck::lds_pending() const {
  return lds_touched_ && static_cast<int32_t>(lds_touched_ - ds_done_) > 0;
}

void WaveCheck::note_load_of(const InstEvent&, const Facts& f, uint32_t n, bool vector) {
  watching_ = true;
  if (!vector) {
    put(watch_s_, n, true);
    sm_of_s_[n] = sm_issued_;
    return;
  }
  if (!has(watch_v_, n)) {
    put(watch_v_, n, true);
    vm_of_[n] = ds_of_[n] = sm_of_v_[n] = 0;
  }
  if (f.ds) ds_of_[n] = ds_issued_;
  if (f.flat && saw_lds_) sm_of_v_[n] = sm_issued_;
  if (f.vmem && (!f.flat || saw_global_)) vm_of_[n] = vm_issued_;
}

void WaveCheck::note_loads(const InstEvent& e, const Facts& f) {
  if (f.smem) ++sm_issued_;
  if (f.ds) ++ds_issued_;
  if (f.ds && saw_lds_) lds_touched_ = ds_issued_;
  if (f.flat && saw_lds_) ++sm_issued_;
  if (f.vmem && f.vm_counted) ++vm_issued_;
  if (!f.smem && (!f.load || e.exec == 0)) return;
  for (int k = 0; k < f.write_count; ++k) {
    const Registers& r = f.writes[k];
    if (r.vector == f.smem) continue;
    each(r, [&](uint32_t n) { note_load_of(e, f, n, r.vector); });
  }
}

void WaveCheck::set_undefined(uint32_t n, uint64_t lanes, const Origin& from) {
  if (!has(undefined_any_, n)) undefined_v_[n] = 0;
  undefined_v_[n] = lanes;
  put(undefined_any_, n, lanes != 0);
  if (!lanes) return;
  if (from.inst) origin_v_[n] = from;
  watching_ = true;
  if (has(watch_v_, n)) return;
  put(watch_v_, n, true);
  vm_of_[n] = ds_of_[n] = sm_of_v_[n] = 0;
}

// Lanes of a vector operation's result that are undefined because its sources are.
uint64_t WaveCheck::passed_on(const InstEvent& e, const Facts& f, uint32_t dword,
                              Origin& from) const {
  uint64_t in = 0;
  if (!f.plain_copy) {  // any dword of a source may be in it
    for (int k = 0; k < f.read_count; ++k) {
      Registers r = f.reads[k];
      if (!r.vector) continue;
      if ((f.carries_up && dword == 0) || (f.carries_down && dword == 1)) {
        if (dword == 1) r.first = static_cast<uint16_t>(r.first + r.count - 1);
        r.count = 1;
      }
      each(r, [&](uint32_t n) {
        const uint64_t lanes = undefined(n);
        if (lanes & e.exec) from = origin_v_[n];
        in |= lanes;
      });
    }
    return in;
  }
  for (int s = 0; s < 3; ++s) {
    const Operand& o = e.inst->src[s];
    const uint32_t n = o.index + dword;
    const bool scalar = o.is_sgpr() && has(undefined_s_, n);
    if (!scalar && (!o.is_vgpr() || n > 255)) continue;
    uint64_t lanes = scalar ? ~uint64_t{0} : undefined(n);
    if (e.inst->op == Op::v_cndmask_b32 && e.inst->src[3].is_sgpr()) {
      const uint64_t chosen = e.state->read64(e.inst->src[3].index);
      lanes &= s == 1 ? chosen : ~chosen;
    }
    if (lanes & e.exec) from = scalar ? origin_s_[n] : origin_v_[n];
    in |= lanes;
  }
  return in;
}

// Gives a vector operation's result what its sources are; all of them are looked at first, since it
// may lie in their registers.
void WaveCheck::pass_on(const InstEvent& e, const Facts& f) {
  struct Result {
    uint64_t lanes = 0;
    Origin from;
  };
  std::array<Result, 4> results;
  for (int k = 0; k < f.write_count; ++k) {
    const Registers& r = f.writes[k];
    if (!r.vector) continue;
    const uint32_t count = std::min<uint32_t>({r.count, results.size(), 256u - r.first});
    for (uint32_t j = 0; j < count; ++j)
      results[j].lanes = passed_on(e, f, j, results[j].from) & e.exec;
    for (uint32_t j = 0; j < count; ++j) {
      const uint64_t kept = undefined(r.first + j) & ~e.exec;
      set_undefined(r.first + j, kept | results[j].lanes,
                    results[j].lanes ? results[j].from : Origin{});
    }
  }
}

void WaveCheck::note_undefined(const InstEvent& e, const Facts& f) {
  if (f.valu && (f.plain_copy || !f.forgets) && e.exec) pass_on(e, f);
  const Origin here{e.pc, e.program, e.inst};
  for (int k = 0; k < f.write_count; ++k) {
    const Registers& r = f.writes[k];
    each(r, [&](uint32_t n) {
      const uint32_t j = n - r.first;
      const uint64_t fresh = f.special && fresh_any_ && j < fresh_.size() ? fresh_[j] : 0;
      if (!r.vector) {
        const bool on = f.smem && fresh;
        put(undefined_s_, n, on);
        if (!on) return;
        origin_s_[n] = here;
        if (!has(watch_s_, n)) sm_of_s_[n] = 0;
        put(watch_s_, n, true);
        watching_ = true;
        return;
      }
      if (f.valu && (f.plain_copy || !f.forgets) && e.exec) return;  // pass_on
      const uint64_t kept = undefined(n) & ~e.exec;
      set_undefined(n, kept | fresh, fresh ? here : Origin{});
    });
  }
  if (fresh_any_) fresh_.fill(0);
  fresh_any_ = false;
}

}  // namespace gfx906::check

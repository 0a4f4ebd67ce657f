#include "check/group_check.hpp"

#include <algorithm>

namespace gfx906::check {

void GroupCheck::begin(DispatchCheck& owner, const GroupId& id, uint32_t waves,
                       std::span<uint8_t> lds) {
  owner_ = &owner;
  group_ = id.linear;
  waves_.resize(waves);
  for (Wave& w : waves_) {
    w.check.begin();
    w.started = false;
    w.missed = 0;
    w.scratch.clear();
  }
  program_ = nullptr;
  known_.fill({});
  pages_ = {};
  sync_words_.fill(0);
  lds_ = lds;
  shadow_.begin(lds.size(), waves);
  sites_.assign(1, {});
  last_site_ = 0;
  arrived_ = false;
}

void GroupCheck::start(Wave& w, const InstEvent& e) {
  w.started = true;
  w.full = e.exec;
  w.scratch.assign((e.state->scratch_size + 63) / 64, 0);
}

// What has to be known of a memory instruction or a wait before it runs.
void GroupCheck::prepare(Wave& w, const InstEvent& e, const Facts& f) {
  part_ = 0;
  if (f.smem) scalar_alignment(e);
  if (f.hidden_lds) shadow_.all_now_written();
  GlobalRaces& races = *owner_->races;
  if (!races.active()) return;
  const Op op = e.inst->op;
  if (op == Op::s_waitcnt && w.check.stores_pending() && (e.inst->imm & 0xc00f) == 0)
    races.release(group_);
  // The barrier of a cooperative launch; a wave that waits comes here again after the last arrival.
  if (op == Op::ds_gws_barrier) races.release(group_);
  if (op == Op::ds_gws_barrier || op == Op::buffer_wbinvl1_vol || op == Op::buffer_wbinvl1)
    races.acquire(group_);
}

void GroupCheck::alignment(const InstEvent& e, const MemAccess& m, uint64_t lanes) {
  uint64_t need = m.bytes;
  if (!m.atomic) {
    if (owner_->alignment == Alignment::kUnaligned) return;
    if (owner_->alignment == Alignment::kDword) need = std::min<uint64_t>(need, 4);
    if (need == 12) need = 16;
  }
  uint64_t low = 0;
  for (uint64_t rest = lanes; rest; rest &= rest - 1)
    low |= m.addr[static_cast<size_t>(__builtin_ctzll(rest))];
  if (low % need == 0 || reports_.counted(FaultKind::kMisaligned, e.pc)) return;
  for (uint64_t rest = lanes; rest; rest &= rest - 1) {
    const int lane = __builtin_ctzll(rest);
    const uint64_t over = m.addr[static_cast<size_t>(lane)] % need;
    if (over == 0) continue;
    reports_.add(FaultKind::kMisaligned, e, lane,
                 (m.atomic  ? "atomic of "
                  : m.store ? "store of "
                            : "load of ") +
                     std::to_string(m.bytes) + " bytes at an address that is " +
                     std::to_string(over) + " past a multiple of " + std::to_string(need));
    return;
  }
}

// Scalar memory drops the low bits of its address.
void GroupCheck::scalar_alignment(const InstEvent& e) {
  const Inst& i = *e.inst;
  if (!i.src[0].is_sgpr() || i.src[0].width != 2) return;
  uint64_t a = e.state->read64(i.src[0].index) + static_cast<uint64_t>(int64_t{i.imm});
  if (i.soffset.is_sgpr()) a += e.state->sgpr[i.soffset.index];
  if (a % 4 == 0 || reports_.counted(FaultKind::kMisaligned, e.pc)) return;
  reports_.add(FaultKind::kMisaligned, e, -1,
               "scalar access at an address that is " + std::to_string(a % 4) +
                   " past a multiple of 4: the card drops these bits");
}

uint64_t GroupCheck::access(const InstEvent& e, MemAccess& m) {
  Wave& w = waves_[e.wave];
  w.check.saw_space(m.space);
  // Lanes that missed a barrier and are back had gone elsewhere, they had not ended.
  // (Scratch: registers are saved for all lanes, whether active or not.)
  if (w.missed & m.lanes && m.space != Space::kScalar && m.space != Space::kScratch) {
    const uint64_t back = w.missed & m.lanes;
    w.missed = 0;
    if (!reports_.counted(FaultKind::kBarrierDivergence, w.missed_at.pc))
      reports_.add(FaultKind::kBarrierDivergence, w.missed_at, __builtin_ctzll(back),
                   "lanes did not arrive at this barrier; they are active again at " +
                       place(*e.program, e.pc));
  }
  switch (m.space) {
    case Space::kLds:
      return lds(e, m, w);
    case Space::kScratch:
      scratch(e, m, w);
      return m.lanes;
    case Space::kGds:
      return m.lanes;
    default:
      if (m.lds_dma) lds_filled(e, m);
      return global(e, m, w);
  }
}

void GroupCheck::barrier(const InstEvent& e) {
  Wave& w = waves_[e.wave];
  if (waves_.size() > 1 && w.check.lds_pending() &&
      !reports_.counted(FaultKind::kMissingWait, e.pc))
    reports_.add(FaultKind::kMissingWait, e, -1,
                 "an LDS access may not have happened yet when the wave arrives at the barrier; it "
                 "needs an s_waitcnt lgkmcnt");
  w.missed = w.full & ~e.exec;
  if (w.missed) w.missed_at = e;
  if (!arrived_) {
    arrived_ = true;
    first_arrival_ = e;
    return;
  }
  if (first_arrival_.pc == e.pc) return;
  const std::string here = place(*e.program, e.pc),
                    there = place(*first_arrival_.program, first_arrival_.pc);
  if (here == there || reports_.counted(FaultKind::kBarrierDivergence, e.pc)) return;
  reports_.add(FaultKind::kBarrierDivergence, e, -1,
               "the wave waits here while wave " + std::to_string(first_arrival_.wave) +
                   " waits at another barrier, " + there);
}

void GroupCheck::barrier_release() {
  arrived_ = false;
  shadow_.barrier();
}

}  // namespace gfx906::check

#include "check/group_check.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "decode/program.hpp"
#include "exec/dispatch.hpp"

namespace gfx906::check {
namespace {

bool get(const std::vector<uint64_t>& bits, uint64_t at) {
  return at / 64 < bits.size() && bits[at / 64] >> (at % 64) & 1;
}
void set(std::vector<uint64_t>& bits, uint64_t at, bool on) {
  if (at / 64 >= bits.size()) return;
  const uint64_t bit = uint64_t{1} << (at % 64);
  bits[at / 64] = on ? bits[at / 64] | bit : bits[at / 64] & ~bit;
}

}  // namespace

const std::vector<Facts>& DispatchCheck::facts(const Program& p) {
  const std::lock_guard lock(mutex_);
  auto& made = facts_[&p];
  if (!made) made = std::make_unique<std::vector<Facts>>(facts_of(p));
  return *made;
}

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
  lds_ = lds;
  lds_written_.assign((lds.size() + 63) / 64, 0);
  cells_.resize(std::max(cells_.size(), (lds.size() + 3) / 4));
  ++epoch_;
  arrived_ = false;
}

const Facts& GroupCheck::facts(const InstEvent& e) {
  if (program_ != e.program) {
    program_ = e.program;
    facts_ = &owner_->facts(*e.program);
  }
  return (*facts_)[static_cast<size_t>(e.inst - e.program->insts().data())];
}

void GroupCheck::before(const InstEvent& e) {
  Wave& w = waves_[e.wave];
  if (!w.started) {
    w.started = true;
    w.full = e.exec;
    w.scratch.assign((e.state->scratch_size + 63) / 64, 0);
  }
  part_ = 0;
  if (e.inst->op == Op::s_waitcnt && owner_->races->active() && w.check.stores_pending() &&
      (e.inst->imm & 0xc00f) == 0)
    owner_->races->release(group_);
  const Facts& f = facts(e);
  w.check.before(e, f, reports_);
  if (f.smem) scalar_alignment(e);
  if (f.hidden_lds) std::fill(lds_written_.begin(), lds_written_.end(), ~uint64_t{0});
  // The barrier of a cooperative launch; a wave that waits comes here again after the last arrival.
  if (e.inst->op == Op::ds_gws_barrier && owner_->races->active()) {
    owner_->races->release(group_);
    owner_->races->acquire(group_);
  }
  if (e.inst->op == Op::buffer_wbinvl1_vol || e.inst->op == Op::buffer_wbinvl1) {
    if (owner_->races->active()) owner_->races->acquire(group_);
  }
}

void GroupCheck::after(const InstEvent& e) {
  waves_[e.wave].check.after(e, facts(e), reports_);
}

// ---- global memory ----

// Kernel arguments, the dispatch packet and the code object's own image.
bool GroupCheck::own_memory(const InstEvent& e, uint64_t address, Known& k) const {
  const DispatchState& s = *e.state->group->dispatch;
  const auto inside = [&](uint64_t low, uint64_t bytes) {
    if (address < low || address - low >= bytes) return false;
    k.low = low;
    k.high = low + bytes;
    k.region = nullptr;
    return true;
  };
  const KernelInfo& info = e.dispatch->kernel->info();
  const uint64_t kernarg =
      std::max<uint64_t>(info.kernarg_size, e.dispatch->kernarg.size()) / 64 * 64 + 128;
  const std::span<uint8_t> image = e.dispatch->kernel->code_object().image();
  return inside(reinterpret_cast<uint64_t>(s.kernarg.get()), kernarg) ||
         inside(reinterpret_cast<uint64_t>(s.packet.data()), s.packet.size()) ||
         inside(reinterpret_cast<uint64_t>(image.data()), image.size());
}

const GroupCheck::Known* GroupCheck::find(const InstEvent& e, uint64_t address, uint64_t bytes) {
  const uint64_t generation = memory_.generation();
  if (generation != generation_) {
    known_.fill({});
    generation_ = generation;
  }
  const auto holds = [&](const Known& k) {
    return address >= k.low && address < k.high && k.high - address >= bytes;
  };
  for (const Known& k : known_)
    if (holds(k)) return &k;
  Known found;
  if (auto region = memory_.find(address)) {
    found = {region->base(), region->base() + region->bytes(), std::move(region)};
  } else if (!own_memory(e, address, found)) {
    return nullptr;
  }
  if (!holds(found)) return nullptr;
  Known& place = known_[next_known_++ % known_.size()];
  place = std::move(found);
  return &place;
}

// True when the access is let through after all.
bool GroupCheck::report_unknown(const InstEvent& e, const MemAccess& m, int lane) {
  const uint64_t address = m.addr[static_cast<size_t>(lane)];
  std::string text;
  // The last byte tells more where only the end is outside.
  const bool tail = memory_.find(address) != nullptr;
  const auto why = memory_.explain(tail ? address + m.bytes - 1 : address, text);
  if (owner_->served && why == MemoryMap::Unknown::kNowhere) return true;
  const FaultKind kind =
      why == MemoryMap::Unknown::kFreed ? FaultKind::kUseAfterFree : FaultKind::kOutOfBounds;
  if (!reports_.counted(kind, e.pc))
    reports_.add(kind, e, lane,
                 (m.store ? m.atomic ? "atomic of " : "store of " : "load of ") +
                     std::to_string(m.bytes) + " bytes, " + text);
  return false;
}

void GroupCheck::global_load(const InstEvent& e, const MemAccess& m, int lane, const Region& r,
                             Wave& w) {
  const uint64_t a = m.addr[static_cast<size_t>(lane)];
  if (r.all_written(a, m.bytes)) return;
  if (m.atomic) {
    if (!r.any_written(a, m.bytes) && !reports_.counted(FaultKind::kNeverWritten, e.pc))
      reports_.add(FaultKind::kNeverWritten, e, lane, "atomic on memory that nothing has written");
    return;
  }
  const uint64_t bit = m.space == Space::kScalar ? 1 : uint64_t{1} << lane;
  for (uint32_t k = 0; k < m.bytes; k += 4)
    if (!r.any_written(a + k, std::min(4u, m.bytes - k))) w.check.loaded_undefined(k / 4, bit);
}

void GroupCheck::global_store(const InstEvent& e, const MemAccess& m, int lane, Region& r,
                              Wave& w) {
  const uint64_t a = m.addr[static_cast<size_t>(lane)];
  const uint32_t dwords = (m.bytes + 3) / 4;
  uint32_t undefined = 0;
  if (m.space != Space::kScalar && e.inst->src[1].is_vgpr()) {
    for (uint32_t k = 0; k < dwords; ++k)
      undefined |= static_cast<uint32_t>(w.check.undefined(e.inst->src[1].index + k) >> lane & 1)
                   << k;
  }
  if (undefined == 0) return r.write(a, m.bytes);
  if (undefined == (1u << dwords) - 1) {
    w.check.report_undefined(e, e.inst->src[1].index, reports_);
    return r.write(a, m.bytes);
  }
  // A copy of a structure with gaps: the gaps stay as they were.
  for (uint32_t k = 0; k < dwords; ++k)
    if (!(undefined >> k & 1)) r.write(a + 4 * k, 4);
}

void GroupCheck::alignment(const InstEvent& e, const MemAccess& m, int lane) {
  const uint64_t a = m.addr[static_cast<size_t>(lane)];
  if (a % m.bytes == 0 || reports_.counted(FaultKind::kMisaligned, e.pc)) return;
  reports_.add(FaultKind::kMisaligned, e, lane,
               "atomic of " + std::to_string(m.bytes) + " bytes at an address that is " +
                   std::to_string(a % m.bytes) + " past a multiple of that");
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

// Lanes whose stores change what memory holds; the others cannot disturb anybody.
static uint64_t changing(const InstEvent& e, const MemAccess& m, uint64_t lanes, bool high_half) {
  if (!m.store || !e.inst->src[1].is_vgpr()) return lanes;
  uint64_t out = 0;
  for (uint64_t rest = lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    const uint64_t at = m.addr[static_cast<size_t>(l)];
    for (uint32_t k = 0; k < m.bytes; k += 4) {
      uint32_t value = e.state->v(e.inst->src[1].index + k / 4)[l];
      if (high_half) value >>= 16;
      if (std::memcmp(&value, reinterpret_cast<const uint8_t*>(at) + k,
                      std::min(4u, m.bytes - k)) != 0)
        out |= uint64_t{1} << l;
    }
  }
  return out;
}

void GroupCheck::global_races(const InstEvent& e, const MemAccess& m, uint64_t lanes) {
  GlobalRaces& races = *owner_->races;
  const uint64_t changed = changing(e, m, lanes, facts(e).half);
  for (uint64_t rest = lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    const uint64_t first = m.addr[static_cast<size_t>(l)], end = first + m.bytes;
    for (uint64_t at = first & ~uint64_t{3}; at < end; at += 4) {
      const uint64_t low = std::max(first, at) - at, high = std::min(end, at + 4) - at;
      const uint32_t mask = ((1u << high) - 1) & ~((1u << low) - 1);
      const uint64_t other =
          races.access(pages_, group_, at, mask, m.store, changed >> l & 1);
      if (!other || reports_.counted(FaultKind::kGlobalRace, e.pc)) continue;
      char address[24];
      snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(at));
      reports_.add(FaultKind::kGlobalRace, e, l,
                   std::string(m.store ? "store to " : "load from ") + address + ", which " +
                       (other == ~uint64_t{0} ? std::string("other groups")
                                              : "group number " + std::to_string(other - 1)) +
                       (m.store ? " accessed" : " wrote") +
                       " in the same launch without synchronisation by atomics");
    }
  }
}

void GroupCheck::synchronised(const InstEvent&, const MemAccess& m) {
  GlobalRaces& races = *owner_->races;
  if (m.atomic) races.release(group_);
  if (m.load && (m.atomic || m.glc)) races.acquire(group_);
}

uint64_t GroupCheck::global(const InstEvent& e, const MemAccess& m, Wave& w) {
  uint64_t go = m.lanes, watched = 0;
  if (m.lanes == 0) return 0;
  uint64_t low = ~uint64_t{0}, high = 0;
  for (uint64_t rest = m.lanes; rest; rest &= rest - 1) {
    const uint64_t a = m.addr[static_cast<size_t>(__builtin_ctzll(rest))];
    low = std::min(low, a);
    high = std::max(high, a);
  }
  // Mostly all lanes are in one allocation, and a load's surroundings are all written.
  const bool near = high - low < 1 << 20;
  const Known* all = near ? find(e, low, high - low + m.bytes) : nullptr;
  const bool plain = all && !m.atomic;
  const bool quick = plain && !m.store &&
                     (!all->region || all->region->all_written(low, high - low + m.bytes));
  for (uint64_t rest = quick ? 0 : m.lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    if (m.atomic) alignment(e, m, l);
    const Known* k = all ? all : find(e, m.addr[static_cast<size_t>(l)], m.bytes);
    if (!k) {
      if (!report_unknown(e, m, l)) go &= ~(uint64_t{1} << l);
      continue;
    }
    watched |= uint64_t{1} << l;
    if (!k->region) continue;
    if (m.load) global_load(e, m, l, *k->region, w);
    if (m.store) global_store(e, m, l, *k->region, w);
  }
  if (quick) watched = all->region ? m.lanes : 0;
  if (!owner_->races->active()) return go;
  if (m.atomic || m.glc) {
    synchronised(e, m);
  } else if (m.space == Space::kGlobal && watched) {
    global_races(e, m, watched);
  }
  return go;
}

// ---- LDS ----

void GroupCheck::lds_definedness(const InstEvent& e, const MemAccess& m, int lane, Wave& w) {
  const uint64_t a = m.addr[static_cast<size_t>(lane)];
  if (m.load) {
    for (uint32_t k = 0; k < m.bytes; k += 4) {
      bool any = false;
      for (uint32_t b = k; b < std::min(k + 4, m.bytes); ++b) any |= get(lds_written_, a + b);
      if (any) continue;
      if (!m.atomic) {
        w.check.loaded_undefined(part_ + k / 4, uint64_t{1} << lane);
      } else if (!reports_.counted(FaultKind::kNeverWritten, e.pc)) {
        reports_.add(FaultKind::kNeverWritten, e, lane,
                     "atomic on LDS byte " + std::to_string(a) + ", which nothing has written");
      }
    }
  }
  if (!m.store) return;
  const Operand& data = e.inst->src[part_ && e.inst->src[2].is_vgpr() ? 2 : 1];
  for (uint32_t b = 0; b < m.bytes; ++b) {
    const bool undefined = !m.atomic && data.is_vgpr() &&
                           (w.check.undefined(data.index + b / 4) >> lane & 1);
    set(lds_written_, a + b, !undefined);
  }
}

void GroupCheck::lds_race(const InstEvent& e, const MemAccess& m, int lane) {
  const uint64_t first = m.addr[static_cast<size_t>(lane)], end = first + m.bytes;
  const uint16_t me = static_cast<uint16_t>(1u << (e.wave & 15));
  const bool second = part_ != 0;
  for (uint64_t at = first & ~uint64_t{3}; at < end; at += 4) {
    Cell& c = cells_[at / 4];
    if (c.epoch != epoch_) c = Cell{epoch_, 0, 0, 0, 0, 0, 0, nullptr};
    const uint64_t low = std::max(first, at) - at, high = std::min(end, at + 4) - at;
    const uint8_t mask = static_cast<uint8_t>(((1u << high) - 1) & ~((1u << low) - 1));
    bool changes = m.store;
    const Operand& data = e.inst->src[second && e.inst->src[2].is_vgpr() ? 2 : 1];
    if (m.store && !m.atomic && mask == 15 && first % 4 == 0 && data.is_vgpr()) {
      uint32_t have;
      std::memcpy(&have, lds_.data() + at, 4);
      changes = have != e.state->v(data.index + static_cast<uint32_t>(at - first) / 4)[lane];
    }
    const uint16_t writers = c.writers & ~me, readers = c.readers & ~me, atomics = c.atomics & ~me;
    // With bytes of several waves in a dword it isn't known whose each byte is.
    const bool mixed = mask != 15 && (c.writers & (c.writers - 1));
    const bool wrote = writers && (c.written & mask) && !mixed;
    const bool read = readers && (c.read & mask) && !(mask != 15 && (c.readers & (c.readers - 1)));
    const bool race = m.atomic ? wrote
                      : m.store ? changes && (wrote || read || atomics)
                                : wrote;
    if (race && !reports_.counted(FaultKind::kLdsRace, e.pc)) {
      const uint16_t other = wrote ? writers : read ? readers : atomics;
      std::string text = std::string(m.store ? "write of" : "read of") + " LDS byte " +
                         std::to_string(at + low) + ", which wave " +
                         std::to_string(__builtin_ctz(other)) +
                         (wrote ? " wrote" : read ? " read" : " changed by an atomic");
      if (wrote && c.write_program) text += " at " + place(*c.write_program, c.write_pc);
      reports_.add(FaultKind::kLdsRace, e, lane, text + " since the last barrier");
    }
    if (m.atomic) {
      c.atomics |= me;
    } else if (m.store) {
      if (!changes && c.writers) continue;
      c.writers |= me;
      c.written |= mask;
      c.write_pc = e.pc;
      c.write_program = e.program;
    } else {
      c.readers |= me;
      c.read |= mask;
    }
  }
}

uint64_t GroupCheck::lds(const InstEvent& e, const MemAccess& m, Wave& w) {
  uint64_t go = m.lanes;
  for (uint64_t rest = m.lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    const uint64_t a = m.addr[static_cast<size_t>(l)];
    if (m.bytes > lds_.size() || a > lds_.size() - m.bytes) {
      go &= ~(uint64_t{1} << l);
      if (!reports_.counted(FaultKind::kOutOfBounds, e.pc))
        reports_.add(FaultKind::kOutOfBounds, e, l,
                     std::string(m.store ? "write of " : "read of ") + std::to_string(m.bytes) +
                         " bytes at LDS byte " + std::to_string(a) + ", the group has " +
                         std::to_string(lds_.size()));
      continue;
    }
    if (m.atomic) alignment(e, m, l);
    if (waves_.size() > 1) lds_race(e, m, l);
    lds_definedness(e, m, l, w);
  }
  if (e.inst->format == Format::DS) part_ += std::max(1u, m.bytes / 4);
  return go;
}

// buffer_load ... lds puts a dword of each lane behind M0.
void GroupCheck::lds_filled(const InstEvent& e, const MemAccess& m) {
  const uint64_t base = (e.state->sgpr[kM0] & 0xffff) + static_cast<uint32_t>(e.inst->imm);
  for (uint64_t rest = m.lanes; rest; rest &= rest - 1)
    for (uint32_t b = 0; b < 4; ++b)
      set(lds_written_, base + 4 * static_cast<uint64_t>(__builtin_ctzll(rest)) + b, true);
}

// ---- scratch: dwords of a lane lie 256 bytes apart ----

void GroupCheck::scratch(const InstEvent& e, const MemAccess& m, Wave& w) {
  for (uint64_t rest = m.lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    const uint64_t at = m.addr[static_cast<size_t>(l)] - m.scratch_lo, lane = at % 256 / 4 * 4;
    const auto byte = [&](uint32_t b) {
      const uint64_t n = at / 256 * 4 + at % 4 + b;
      return n / 4 * 256 + lane + n % 4;
    };
    if (m.load && !m.atomic) {
      for (uint32_t k = 0; k < m.bytes; k += 4) {
        bool any = false;
        for (uint32_t b = k; b < std::min(k + 4, m.bytes); ++b) any |= get(w.scratch, byte(b));
        if (!any) w.check.loaded_undefined(k / 4, uint64_t{1} << l);
      }
    }
    if (!m.store) continue;
    for (uint32_t b = 0; b < m.bytes; ++b) {
      const bool undefined = !m.atomic && e.inst->src[1].is_vgpr() &&
                             (w.check.undefined(e.inst->src[1].index + b / 4) >> l & 1);
      set(w.scratch, byte(b), !undefined);
    }
  }
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

// ---- barriers ----

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
  ++epoch_;
}

}  // namespace gfx906::check

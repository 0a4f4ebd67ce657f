#include "profile/group_profile.hpp"

#include <algorithm>
#include <bit>

#include "exec/wave.hpp"

namespace gfx906::profile {

void Counters::add(const Counters& o) {
  groups += o.groups, waves += o.waves;
  for (size_t k = 0; k < kClasses; ++k) instructions[k] += o.instructions[k];
  valu_clocks += o.valu_clocks, salu_clocks += o.salu_clocks;
  vmem_clocks += o.vmem_clocks, lds_issue_clocks += o.lds_issue_clocks;
  active_lanes += o.active_lanes;
  lds_accesses += o.lds_accesses, lds_conflict_clocks += o.lds_conflict_clocks;
  lds_clocks += o.lds_clocks;
  l1_clocks += o.l1_clocks, l1_lines += o.l1_lines, l1_hits += o.l1_hits;
  l1_fills += o.l1_fills;
  vector_accesses += o.vector_accesses, access_lines += o.access_lines;
  access_bytes += o.access_bytes;
  l2_lines += o.l2_lines, l2_hits += o.l2_hits, l2_atomic_clocks += o.l2_atomic_clocks;
  again_lines += o.again_lines, scratch_bytes += o.scratch_bytes;
  scalar_loads += o.scalar_loads, scalar_hits += o.scalar_hits;
  wave_clocks += o.wave_clocks, vmem_stall += o.vmem_stall, lgkm_stall += o.lgkm_stall;
  barrier_stall += o.barrier_stall, branch_stall += o.branch_stall;
  group_clocks += o.group_clocks;
}

void GroupProfile::Queue::push(double when) {
  const double before = issued ? done[(issued - 1) % done.size()] : 0;
  done[issued++ % done.size()] = std::max(when, before);
}

double GroupProfile::Queue::until_at_most(uint32_t left) const {
  if (issued <= left || left >= done.size()) return 0;
  return done[(issued - 1 - left) % done.size()];
}

GroupProfile::GroupProfile(const Parameters& p, BehindL1& behind, std::unique_ptr<UnitCaches> unit,
                           uint32_t index, uint32_t half, uint32_t run, uint32_t waves,
                           uint64_t l2_bytes)
    : p_(p),
      behind_(behind),
      index_(index),
      half_(half),
      run_(run),
      unit_(std::move(unit)),
      l2_share_(l2_bytes, 16),
      waves_(waves) {
  sum_.groups = 1;
  sum_.waves = waves;
}

void GroupProfile::before(const InstEvent& e) {
  now_ = {};
  const InstructionCost& cost = cost_of(e.inst->op);
  ++sum_.instructions[static_cast<size_t>(cost.kind)];
  if (is_valu(cost.kind)) {
    sum_.valu_clocks += cost.issue;
    sum_.active_lanes += static_cast<uint64_t>(std::popcount(e.exec));
  } else if (cost.kind == Class::kSalu || cost.kind == Class::kScalarMemory) {
    sum_.salu_clocks += cost.issue;
  } else if (cost.kind >= Class::kVectorLoad && cost.kind <= Class::kVectorAtomic) {
    sum_.vmem_clocks += cost.issue;
  } else if (cost.kind == Class::kLds || cost.kind == Class::kLdsCrossbar) {
    sum_.lds_issue_clocks += cost.issue;
  }
  if (cost.kind == Class::kLdsCrossbar) {
    now_.lds = true;
    now_.lds_clocks = p_.crossbar_clocks;
  }
}

void GroupProfile::count_lds(const MemAccess& m) {
  const LdsClocks c = lds_clocks(m);
  const uint32_t times = m.atomic ? 2 : 1;  // an atomic reads and writes
  ++sum_.lds_accesses;
  sum_.lds_conflict_clocks += uint64_t{c.clocks - c.conflict_free} * times;
  now_.lds = true;
  now_.lds_clocks += c.clocks * times / p_.lds_efficiency;
}

bool GroupProfile::from_behind(uint64_t line, uint32_t wave) {
  const BehindL1::Found found =
      behind_.load(line, index_, half_, run_, waves_[wave].hbm_lines, l2_share_);
  sum_.l2_hits += found == BehindL1::Found::kL2;
  sum_.again_lines += found == BehindL1::Found::kAgain;
  waves_[wave].hbm_lines += found != BehindL1::Found::kL2;
  return found == BehindL1::Found::kL2;
}

void GroupProfile::count_vector(const MemAccess& m, uint32_t wave) {
  const bool scratch = m.space == Space::kScratch;
  // Scratch of different groups is different memory on the card, though not on the host.
  const uint64_t rename = 1ull << 58 | uint64_t{index_} << 32 | uint64_t{wave} << 24;
  coalesce(m, scratch ? m.scratch_lo : 0, scratch ? rename : 0, p_.l1_lookups, lines_);
  now_.vector = true;
  now_.data_clocks += lines_.l1_clocks;
  ++sum_.vector_accesses;
  sum_.access_lines += lines_.lines.size();
  sum_.access_bytes += lines_.bytes;
  if (scratch) sum_.scratch_bytes += lines_.bytes;
  sum_.l1_clocks += lines_.l1_clocks;
  if (!m.load || m.atomic) {
    sum_.l2_lines += lines_.lines.size();
    for (const uint64_t line : lines_.lines) {
      if (m.atomic) from_behind(line, wave);
      behind_.store(line, index_, half_, run_, waves_[wave].hbm_lines, l2_share_);
    }
    // Atomics on one dword go one after another, those on one line share its slice.
    if (m.atomic) sum_.l2_atomic_clocks += static_cast<uint64_t>(std::popcount(m.lanes));
    now_.latency = std::max(now_.latency, p_.l2_latency);
    return;
  }
  sum_.l1_lines += lines_.lines.size();
  for (const uint64_t line : lines_.lines) {
    // A line that the wave has already asked for comes once, however full the cache is.
    const bool asked = waves_[wave].asked.touch(line), held = unit_->l1.touch(line);
    if (asked || (held && !m.glc)) {
      ++sum_.l1_hits;
      now_.latency = std::max(now_.latency, p_.l1_latency);
      continue;
    }
    ++sum_.l2_lines;
    ++sum_.l1_fills;
    const bool in_l2 = from_behind(line, wave);
    now_.latency = std::max(now_.latency, in_l2 ? p_.l2_latency : p_.hbm_latency);
  }
}

void GroupProfile::count_scalar(const MemAccess& m, uint32_t wave) {
  now_.scalar = true;
  for (uint64_t line = m.addr[0] / kLine; line <= (m.addr[0] + std::max(m.bytes, 1u) - 1) / kLine;
       ++line) {
    ++sum_.scalar_loads;
    if (unit_->scalar.touch(line)) {
      ++sum_.scalar_hits;
      now_.latency = std::max(now_.latency, p_.scalar_latency);
      continue;
    }
    ++sum_.l2_lines;
    const bool in_l2 = from_behind(line, wave);
    now_.latency = std::max(now_.latency, in_l2 ? p_.scalar_miss_latency : p_.hbm_latency);
  }
}

void GroupProfile::count_scratch(const MemAccess& m, uint32_t wave) {
  // A lane's dwords lie 256 bytes apart, between those of the other lanes.
  MemAccess part = m;
  part.bytes = std::min(m.bytes, 4u);
  for (uint32_t done = 0; done < m.bytes; done += 4) {
    count_vector(part, wave);
    for (uint64_t& a : part.addr) a += 256;
  }
}

void GroupProfile::access(const InstEvent& e, const MemAccess& m) {
  if (m.lanes == 0) return;
  switch (m.space) {
    case Space::kLds:
      return count_lds(m);
    case Space::kScalar:
      return count_scalar(m, e.wave);
    case Space::kGlobal:
      return count_vector(m, e.wave);
    case Space::kScratch:
      return count_scratch(m, e.wave);
    case Space::kGds:
      return;
  }
}

void GroupProfile::wait(Wave& w, const Inst& i) {
  const uint32_t bits = static_cast<uint32_t>(i.imm);
  const double vector = w.vector.until_at_most((bits & 15) | (bits >> 14 & 3) << 4);
  const double lgkm = w.lgkm.until_at_most(bits >> 8 & 15);
  if (vector > w.clock && vector >= lgkm) {
    sum_.vmem_stall += vector - w.clock;
    w.asked.clear();
    w.clock = vector;
  } else if (lgkm > w.clock) {
    sum_.lgkm_stall += lgkm - w.clock;
    w.clock = lgkm;
  }
}

void GroupProfile::after(const InstEvent& e) {
  Wave& w = waves_[e.wave];
  const InstructionCost& cost = cost_of(e.inst->op);
  w.clock += is_valu(cost.kind) ? cost.issue : 4;
  if (now_.lds) {
    now_.lds_clocks = std::max(now_.lds_clocks, p_.lds_floor);
    sum_.lds_clocks += now_.lds_clocks;
    w.lgkm.push(w.clock + p_.lds_latency + now_.lds_clocks);
  }
  if (now_.scalar) w.lgkm.push(w.clock + now_.latency);
  if (now_.vector) {
    const double last =
        w.vector.issued ? w.vector.done[(w.vector.issued - 1) % w.vector.done.size()] : 0;
    const double done = std::max(last, w.clock + now_.latency) + now_.data_clocks;
    w.vector.push(done);
    if (e.inst->format == Format::FLAT) w.lgkm.push(done);
  }
  if (cost.kind == Class::kWait) {
    if (e.inst->op == Op::s_waitcnt) wait(w, *e.inst);
    if (e.inst->op == Op::s_nop) w.clock += 4.0 * (e.inst->imm & 15);
    if (e.inst->op == Op::s_sleep) w.clock += 64.0 * (e.inst->imm & 127);
    if (e.inst->op == Op::s_barrier) w.at_barrier = true;
  }
  if (cost.kind == Class::kBranch && e.state->ip != e.inst + 1) {
    w.clock += p_.branch_clocks - 4;
    sum_.branch_stall += p_.branch_clocks - 4;
  }
}

void GroupProfile::barrier_release() {
  double last = 0;
  for (const Wave& w : waves_) {
    if (w.at_barrier) last = std::max(last, w.clock);
  }
  last += p_.barrier_clocks;
  for (Wave& w : waves_) {
    if (!w.at_barrier) continue;
    w.at_barrier = false;
    sum_.barrier_stall += last - w.clock;
    w.clock = last;
  }
}

const Counters& GroupProfile::finish() {
  double last = 0;
  for (const Wave& w : waves_) {
    last = std::max(last, w.clock);
    sum_.wave_clocks += w.clock;
  }
  sum_.group_clocks = last;
  return sum_;
}

}  // namespace gfx906::profile

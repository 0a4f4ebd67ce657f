// LDS and scratch: bounds, what has been written, races between the waves of the group.
#include <algorithm>
#include <cstring>

#include "check/group_check.hpp"

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

using Access = LdsShadow::Access;

}  // namespace

// ---- LDS ----

// The second half of a two-address instruction has data of its own.
const Operand& GroupCheck::lds_data(const InstEvent& e) const {
  return e.inst->src[part_ && e.inst->src[2].is_vgpr() ? 2 : 1];
}

// A number for the instruction, for reports on what it wrote.
uint16_t GroupCheck::site(const InstEvent& e) {
  if (sites_[last_site_].pc == e.pc) return last_site_;
  const auto at =
      std::find_if(sites_.begin() + 1, sites_.end(), [&](const Site& s) { return s.pc == e.pc; });
  if (at == sites_.end()) {
    if (sites_.size() > 4096) return 0;
    sites_.push_back({e.pc, e.program});
    return last_site_ = static_cast<uint16_t>(sites_.size() - 1);
  }
  return last_site_ = static_cast<uint16_t>(at - sites_.begin());
}

bool GroupCheck::lds_changes(const InstEvent& e, const MemAccess& m, int lane) const {
  const Operand& data = lds_data(e);
  const uint64_t a = m.addr[static_cast<size_t>(lane)];
  if (m.atomic || !data.is_vgpr() || m.bytes % 4) return true;
  for (uint32_t k = 0; k < m.bytes; k += 4)
    if (std::memcmp(lds_.data() + a + k, &e.state->v(data.index + k / 4)[lane], 4) != 0)
      return true;
  return false;
}

void GroupCheck::lds_race(const InstEvent& e, const MemAccess& m, int lane, Access a) {
  const uint64_t at = m.addr[static_cast<size_t>(lane)];
  if (shadow_.conflicts(a, e.wave, at, m.bytes)) {
    const LdsShadow::Others o = shadow_.others(e.wave, at, m.bytes);
    const bool changes = a != Access::kWrite || lds_changes(e, m, lane);
    if (changes && !reports_.counted(FaultKind::kLdsRace, e.pc)) {
      std::string text = std::string(m.store ? "write of" : "read of") + " LDS byte " +
                         std::to_string(at) + ", which wave " + std::to_string(o.wave) +
                         (o.wrote  ? " wrote"
                          : o.read ? " read"
                                   : " changed by an atomic");
      const Site& s = sites_[o.site];
      if (o.wrote && s.program) text += " at " + place(*s.program, s.pc);
      reports_.add(FaultKind::kLdsRace, e, lane, text + " since the last barrier");
    }
    if (!changes && o.wrote) return;  // what another wave left there already
  }
  shadow_.note(a, e.wave, at, m.bytes, m.store ? site(e) : uint16_t{0});
}

void GroupCheck::lds_races(const InstEvent& e, const MemAccess& m, const Stretch& s) {
  const Access a = m.atomic ? Access::kAtomic : m.store ? Access::kWrite : Access::kRead;
  if (shadow_.note_unless_conflict(a, e.wave, s.at, s.bytes, m.store ? site(e) : uint16_t{0}))
    return;
  for (uint64_t rest = s.lanes; rest; rest &= rest - 1) lds_race(e, m, __builtin_ctzll(rest), a);
}

void GroupCheck::lds_load(const InstEvent& e, const MemAccess& m, const Stretch& s, Wave& w) {
  if (shadow_.all_written(s.at, s.bytes)) return;
  for (uint64_t rest = s.lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    const uint64_t a = m.addr[static_cast<size_t>(l)];
    for (uint32_t k = 0; k < m.bytes; k += 4) {
      if (shadow_.any_written(a + k, std::min(4u, m.bytes - k))) continue;
      if (!m.atomic) {
        w.check.loaded_undefined(part_ + k / 4, uint64_t{1} << l);
      } else if (!reports_.counted(FaultKind::kNeverWritten, e.pc)) {
        reports_.add(FaultKind::kNeverWritten, e, l,
                     "atomic on LDS byte " + std::to_string(a) + ", which nothing has written");
      }
    }
  }
}

void GroupCheck::lds_store(const InstEvent& e, const MemAccess& m, const Stretch& s, Wave& w) {
  const Operand& data = lds_data(e);
  if (m.atomic || !data.is_vgpr() || !w.check.any_undefined(data.index, (m.bytes + 3) / 4))
    return shadow_.set_written(s.at, s.bytes, true);
  for (uint64_t rest = s.lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    const uint64_t a = m.addr[static_cast<size_t>(l)];
    for (uint32_t k = 0; k < m.bytes; k += 4)
      shadow_.set_written(a + k, std::min(4u, m.bytes - k),
                          !(w.check.undefined(data.index + k / 4) >> l & 1));
  }
}

// Lanes whose access lies in the group's LDS; the others are reported.
uint64_t GroupCheck::lds_bounds(const InstEvent& e, const MemAccess& m) {
  uint64_t go = m.lanes, most = 0;
  // Active or not: mostly all are inside.
  for (const uint64_t a : m.addr)
    most |= a > lds_.size() ? ~uint64_t{0} : a + m.bytes > lds_.size();
  if (most == 0) return go;
  for (uint64_t rest = m.lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    const uint64_t a = m.addr[static_cast<size_t>(l)];
    if (m.bytes <= lds_.size() && a <= lds_.size() - m.bytes) continue;
    go &= ~(uint64_t{1} << l);
    if (!reports_.counted(FaultKind::kOutOfBounds, e.pc))
      reports_.add(FaultKind::kOutOfBounds, e, l,
                   std::string(m.store ? "write of " : "read of ") + std::to_string(m.bytes) +
                       " bytes at LDS byte " + std::to_string(a) + ", the group has " +
                       std::to_string(lds_.size()));
  }
  return go;
}

// Reads of all lanes that are in order. Lanes often read what those 16 or 32 before them read, so
// only the first of these are looked at. False: something is to be looked at lane by lane.
bool GroupCheck::lds_quick_read(const InstEvent& e, const MemAccess& m) {
  uint64_t lanes = ~uint64_t{0};
  for (const size_t half : {size_t{32}, size_t{16}}) {
    uint64_t differ = 0;
    for (size_t l = 0; l < half; ++l) differ |= m.addr[l] ^ m.addr[l + half];
    if (differ) break;
    lanes = (uint64_t{1} << half) - 1;
  }
  bool fine = true;
  each_stretch(m, lanes, [&](const Stretch& s) {
    fine &= shadow_.all_written(s.at, s.bytes) &&
            (waves_.size() == 1 ||
             shadow_.note_unless_conflict(Access::kRead, e.wave, s.at, s.bytes, 0));
  });
  return fine;
}

uint64_t GroupCheck::lds(const InstEvent& e, const MemAccess& m, Wave& w) {
  const uint64_t go = lds_bounds(e, m);
  if (go) alignment(e, m, go);
  const bool quick = go == ~uint64_t{0} && m.load && !m.store && lds_quick_read(e, m);
  each_stretch(m, quick ? 0 : go, [&](const Stretch& s) {
    if (waves_.size() > 1) lds_races(e, m, s);
    if (m.load) lds_load(e, m, s, w);
    if (m.store) lds_store(e, m, s, w);
  });
  if (e.inst->format == Format::DS) part_ += std::max(1u, m.bytes / 4);
  return go;
}

// buffer_load ... lds puts a dword of each lane behind M0.
void GroupCheck::lds_filled(const InstEvent& e, const MemAccess& m) {
  const uint64_t base = (e.state->sgpr[kM0] & 0xffff) + static_cast<uint32_t>(e.inst->imm);
  for (uint64_t rest = m.lanes; rest; rest &= rest - 1)
    shadow_.set_written(base + 4 * static_cast<uint64_t>(__builtin_ctzll(rest)), 4, true);
}

// ---- scratch: dwords of a lane lie 256 bytes apart ----

void GroupCheck::scratch_lane(const InstEvent& e, const MemAccess& m, int l, Wave& w) {
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
  if (!m.store) return;
  for (uint32_t b = 0; b < m.bytes; ++b) {
    const bool undefined = !m.atomic && e.inst->src[1].is_vgpr() &&
                           (w.check.undefined(e.inst->src[1].index + b / 4) >> l & 1);
    set(w.scratch, byte(b), !undefined);
  }
}

void GroupCheck::scratch(const InstEvent& e, const MemAccess& m, Wave& w) {
  const bool quiet = !m.store || !e.inst->src[1].is_vgpr() ||
                     !w.check.any_undefined(e.inst->src[1].index, (m.bytes + 3) / 4);
  // The usual case: one place, dword by dword, all lanes side by side.
  bool row = m.lanes == ~uint64_t{0} && m.bytes % 4 == 0 && quiet && !m.atomic;
  const uint64_t at = m.addr[0] - m.scratch_lo;
  uint64_t differ = at % 256;
  for (size_t l = 0; row && l < 64; ++l) differ |= m.addr[l] ^ (m.addr[0] + 4 * l);
  row = row && differ == 0 && (at + 64 * uint64_t{m.bytes}) / 64 <= w.scratch.size();
  for (uint32_t k = 0; row && k < m.bytes / 4; ++k) {
    uint64_t* bits = w.scratch.data() + at / 64 + 4 * k;
    if (m.store) {
      std::fill_n(bits, 4, ~uint64_t{0});
    } else {
      row = (bits[0] & bits[1] & bits[2] & bits[3]) == ~uint64_t{0};
    }
  }
  if (row) return;
  for (uint64_t rest = m.lanes; rest; rest &= rest - 1)
    scratch_lane(e, m, __builtin_ctzll(rest), w);
}

}  // namespace gfx906::check

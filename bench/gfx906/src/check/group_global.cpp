// Global and scalar memory: bounds, what has been written, races between groups.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "check/group_check.hpp"
#include "exec/dispatch.hpp"

namespace gfx906::check {
namespace {

// The lane's store changes what memory holds; else it cannot disturb anybody.
bool changes(const InstEvent& e, const MemAccess& m, int lane, bool high_half) {
  if (!e.inst->src[1].is_vgpr()) return true;
  const uint64_t at = m.addr[static_cast<size_t>(lane)];
  for (uint32_t k = 0; k < m.bytes; k += 4) {
    uint32_t value = e.state->v(e.inst->src[1].index + k / 4)[lane];
    if (high_half) value >>= 16;
    if (std::memcmp(&value, reinterpret_cast<const uint8_t*>(at) + k, std::min(4u, m.bytes - k)))
      return true;
  }
  return false;
}

}  // namespace

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
  if (holds(known_[last_known_])) return &known_[last_known_];
  for (uint32_t n = 0; n < known_.size(); ++n) {
    if (!holds(known_[n])) continue;
    last_known_ = n;
    return &known_[n];
  }
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

// A store of which some lane's data is undefined.
void GroupCheck::global_store(const InstEvent& e, const MemAccess& m, int lane, Region& r,
                              Wave& w) {
  const uint64_t a = m.addr[static_cast<size_t>(lane)];
  const uint32_t dwords = (m.bytes + 3) / 4;
  uint32_t undefined = 0;
  for (uint32_t k = 0; k < dwords; ++k)
    undefined |= static_cast<uint32_t>(w.check.undefined(e.inst->src[1].index + k) >> lane & 1)
                 << k;
  if (undefined == 0) return r.write(a, m.bytes);
  if (undefined == (1u << dwords) - 1) {
    w.check.report_undefined(e, e.inst->src[1].index, reports_);
    return r.write(a, m.bytes);
  }
  // A copy of a structure with gaps: the gaps stay as they were.
  for (uint32_t k = 0; k < dwords; ++k)
    if (!(undefined >> k & 1)) r.write(a + 4 * k, 4);
}

void GroupCheck::global_races(const InstEvent& e, const MemAccess& m, const Stretch& s) {
  GlobalRaces& races = *owner_->races;
  if (m.store ? races.store_all(pages_, group_, s.at, s.bytes)
              : races.load_all(pages_, group_, s.at, s.bytes))
    return;
  for (uint64_t rest = s.lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    const bool changed = m.store && changes(e, m, l, now_->half);
    const uint64_t first = m.addr[static_cast<size_t>(l)], end = first + m.bytes;
    for (uint64_t at = first & ~uint64_t{3}; at < end; at += 4) {
      const uint64_t low = std::max(first, at) - at, high = std::min(end, at + 4) - at;
      const uint32_t mask = ((1u << high) - 1) & ~((1u << low) - 1);
      const uint64_t other = races.access(pages_, group_, at, mask, m.store, changed);
      if (!other || (m.store && is_sync_word(at)) || reports_.counted(FaultKind::kGlobalRace, e.pc))
        continue;
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

void GroupCheck::synchronised(const MemAccess& m) {
  GlobalRaces& races = *owner_->races;
  if (m.atomic) races.release(group_);
  if (m.load && (m.atomic || m.glc)) races.acquire(group_);
  for (uint64_t rest = m.lanes; rest; rest &= rest - 1) {
    const uint64_t first = m.addr[static_cast<size_t>(__builtin_ctzll(rest))] / 4;
    for (uint64_t word = first; word < first + (m.bytes + 3) / 4; ++word) sync_word(word) = word;
  }
}

// A stretch that lies in one allocation.
void GroupCheck::inside(const InstEvent& e, const MemAccess& m, Wave& w, const Stretch& s,
                        const Known& k) {
  if (!k.region) return;
  Region& r = *k.region;
  if (m.load && !r.complete() && !r.all_written(s.at, s.bytes)) {
    for (uint64_t rest = s.lanes; rest; rest &= rest - 1)
      global_load(e, m, __builtin_ctzll(rest), r, w);
  }
  if (m.store) {
    const Operand& data = e.inst->src[1];
    const bool undefined = m.space != Space::kScalar && data.is_vgpr() &&
                           w.check.any_undefined(data.index, (m.bytes + 3) / 4);
    if (!undefined) {
      r.write(s.at, s.bytes);
    } else {
      for (uint64_t rest = s.lanes; rest; rest &= rest - 1)
        global_store(e, m, __builtin_ctzll(rest), r, w);
    }
  }
  if (m.space == Space::kGlobal && !m.atomic && !m.glc && owner_->races->active())
    global_races(e, m, s);
}

// A stretch that does not: lane by lane. Returns those that may go ahead.
uint64_t GroupCheck::stray(const InstEvent& e, const MemAccess& m, Wave& w, const Stretch& s) {
  uint64_t go = s.lanes;
  for (uint64_t rest = s.lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    const uint64_t bit = uint64_t{1} << l, a = m.addr[static_cast<size_t>(l)];
    if (const Known* k = find(e, a, m.bytes)) {
      inside(e, m, w, {a, m.bytes, bit}, *k);
    } else if (!report_unknown(e, m, l)) {
      go &= ~bit;
    }
  }
  return go;
}

uint64_t GroupCheck::global(const InstEvent& e, const MemAccess& m, Wave& w) {
  uint64_t go = m.lanes;
  if (m.lanes == 0) return 0;
  alignment(e, m, m.lanes);
  each_stretch(m, m.lanes, [&](const Stretch& s) {
    if (const Known* k = find(e, s.at, s.bytes)) {
      inside(e, m, w, s, *k);
    } else {
      go &= stray(e, m, w, s) | ~s.lanes;
    }
  });
  if (owner_->races->active() && (m.atomic || m.glc)) synchronised(m);
  return go;
}

}  // namespace gfx906::check

#include "check/lds_shadow.hpp"

#include <algorithm>

namespace gfx906::check {
namespace {

// Calls f(at, mask) for each 64 bytes of the range; stops when it returns true, and says so.
template <class F>
bool each_word(uint64_t at, uint64_t n, F&& f) {
  for (uint64_t end = at + n; at < end;) {
    const uint64_t part = std::min<uint64_t>(end - at, 64 - at % 64);
    const uint64_t mask = (part == 64 ? ~uint64_t{0} : (uint64_t{1} << part) - 1) << (at % 64);
    if (f(at, mask)) return true;
    at += part;
  }
  return false;
}

}  // namespace

void LdsShadow::begin(uint64_t bytes, uint32_t waves) {
  bytes_ = bytes;
  const uint64_t chunks = (bytes + 63) / 64;
  const uint32_t stride = kWaves + 3 * waves;
  if (waves != waves_ || chunks * stride > chunks_.size()) {
    waves_ = waves;
    stride_ = stride;
    chunks_.assign(chunks * stride, 0);
  }
  ++epoch_;
  written_.assign(chunks, 0);
  site_.resize(std::max<size_t>(site_.size(), chunks * 16));
}

bool LdsShadow::all_written(uint64_t at, uint64_t n) const {
  return !each_word(at, n,
                    [&](uint64_t a, uint64_t mask) { return (written_[a / 64] & mask) != mask; });
}
bool LdsShadow::any_written(uint64_t at, uint64_t n) const {
  return each_word(at, n,
                   [&](uint64_t a, uint64_t mask) { return (written_[a / 64] & mask) != 0; });
}
void LdsShadow::set_written(uint64_t at, uint64_t n, bool on) {
  if (at >= bytes_) return;
  each_word(at, std::min(n, bytes_ - at), [&](uint64_t a, uint64_t mask) {
    written_[a / 64] = on ? written_[a / 64] | mask : written_[a / 64] & ~mask;
    return false;
  });
}
void LdsShadow::all_now_written() {
  std::fill(written_.begin(), written_.end(), ~uint64_t{0});
}

void LdsShadow::clear(uint64_t* c) {
  std::fill_n(c, stride_, 0);
  c[kEpoch] = epoch_;
}

// Bytes of the chunk that an access of the wave would conflict on.
uint64_t LdsShadow::conflicting(const uint64_t* c, uint32_t wave, Access a) {
  const uint64_t* mine = c + kWaves + 3 * wave;
  uint64_t found = c[kWroteMany] | (c[kWrote] & ~mine[0]);
  if (a == Access::kWrite)
    found |= c[kReadMany] | (c[kRead] & ~mine[1]) | c[kAtomicMany] | (c[kAtomic] & ~mine[2]);
  return found;
}

void LdsShadow::add(uint64_t* c, uint32_t wave, Access a, uint64_t mask) {
  const uint32_t which = a == Access::kWrite ? 0 : a == Access::kRead ? 1 : 2;
  uint64_t& mine = c[kWaves + 3 * wave + which];
  uint64_t* all = c + kWrote + 2 * which;  // of one wave, then of several
  all[1] |= mask & ~mine & all[0];
  all[0] |= mask;
  mine |= mask;
}

bool LdsShadow::conflicts(Access a, uint32_t wave, uint64_t at, uint64_t n) {
  return each_word(at, n, [&](uint64_t from, uint64_t mask) {
    return (conflicting(chunk(from), wave, a) & mask) != 0;
  });
}

LdsShadow::Others LdsShadow::others(uint32_t wave, uint64_t at, uint64_t n) {
  Others out;
  uint64_t first[3] = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};
  uint32_t who[3] = {};
  each_word(at, n, [&](uint64_t from, uint64_t mask) {
    const uint64_t* c = chunk(from);
    for (uint32_t w = 0; w < waves_; ++w) {
      for (uint32_t k = 0; k < 3 && w != wave; ++k) {
        const uint64_t hit = c[kWaves + 3 * w + k] & mask;
        if (!hit || first[k] != ~uint64_t{0}) continue;
        first[k] = from / 64 * 64 + static_cast<uint64_t>(__builtin_ctzll(hit));
        who[k] = w;
      }
    }
    return false;
  });
  out.wrote = first[0] != ~uint64_t{0};
  out.read = first[1] != ~uint64_t{0};
  out.atomic = first[2] != ~uint64_t{0};
  out.wave = out.wrote ? who[0] : out.read ? who[1] : who[2];
  if (out.wrote) out.site = site_[first[0] / 4];
  return out;
}

void LdsShadow::set_sites(uint64_t at, uint64_t n, uint16_t site) {
  std::fill(site_.begin() + static_cast<long>(at / 4),
            site_.begin() + static_cast<long>((at + n + 3) / 4), site);
}

void LdsShadow::note(Access a, uint32_t wave, uint64_t at, uint64_t n, uint16_t site) {
  each_word(at, n, [&](uint64_t from, uint64_t mask) {
    add(chunk(from), wave, a, mask);
    return false;
  });
  if (a == Access::kWrite) set_sites(at, n, site);
}

bool LdsShadow::note_unless_conflict(Access a, uint32_t wave, uint64_t at, uint64_t n,
                                     uint16_t site) {
  const bool found = each_word(at, n, [&](uint64_t from, uint64_t mask) {
    uint64_t* c = chunk(from);
    if (conflicting(c, wave, a) & mask) return true;
    add(c, wave, a, mask);
    return false;
  });
  if (!found && a == Access::kWrite) set_sites(at, n, site);
  return !found;
}

}  // namespace gfx906::check

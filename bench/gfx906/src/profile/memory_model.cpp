#include "profile/memory_model.hpp"

#include <algorithm>
#include <bit>

namespace gfx906::profile {
namespace {

constexpr uint32_t kBanks = 32;
constexpr size_t kMostLines = 4u << 20;  // remembered per launch; a sample touches far fewer
// Lines of a wave that count as one moment: waves drift apart, so a short phase is no camping
// (chosen by the published int8 matvecs, whose rows all begin on one channel).
constexpr uint64_t kWindow = 128;
constexpr uint64_t kMostWindows = 1024;

// Turns that the lanes [first, last) need: the most distinct dwords in one bank.
uint32_t turns(const MemAccess& m, uint32_t first, uint32_t last, uint32_t dwords) {
  std::array<std::array<uint32_t, 64>, kBanks> wanted;
  std::array<uint8_t, kBanks> count{};
  uint32_t most = 0;
  for (uint32_t l = first; l < last; ++l) {
    if (!(m.lanes >> l & 1)) continue;
    for (uint32_t d = 0; d < dwords; ++d) {
      const uint32_t dword = static_cast<uint32_t>(m.addr[l] / 4) + d, bank = dword % kBanks;
      const auto begin = wanted[bank].begin(), end = begin + count[bank];
      if (std::find(begin, end, dword) != end) continue;
      *end = dword;
      most = std::max<uint32_t>(most, ++count[bank]);
    }
  }
  return most;
}

}  // namespace

LdsClocks lds_clocks(const MemAccess& m) {
  const uint32_t dwords = std::clamp<uint32_t>((m.bytes + 3) / 4, 1, 4);
  const uint32_t lanes = dwords == 1 ? 32 : dwords == 2 ? 16 : 8;
  LdsClocks out;
  for (uint32_t first = 0; first < 64; first += lanes) {
    const uint32_t t = turns(m, first, first + lanes, dwords);
    out.clocks += t;
    out.conflict_free += t != 0;
  }
  return out;
}

void coalesce(const MemAccess& m, uint64_t base, uint64_t rename, uint32_t lookups,
              Coalesced& out) {
  out.lines.clear();
  out.l1_clocks = 0;
  out.bytes = uint64_t{m.bytes} * static_cast<uint64_t>(std::popcount(m.lanes));
  std::array<uint64_t, 32> quarter;
  const uint32_t least = m.bytes > 4 ? 4 : 1;  // clocks of 16 lanes
  for (uint32_t first = 0; first < 64; first += 16) {
    uint32_t n = 0;
    for (uint32_t l = first; l < first + 16; ++l) {
      if (!(m.lanes >> l & 1)) continue;
      const uint64_t from = (m.addr[l] - base) / kLine,
                     to = (m.addr[l] - base + std::max(m.bytes, 1u) - 1) / kLine;
      for (uint64_t line = from; line <= to && n < quarter.size(); ++line) {
        if (n && quarter[n - 1] == line) continue;
        if (std::find(quarter.begin(), quarter.begin() + n, line) == quarter.begin() + n)
          quarter[n++] = line;
      }
    }
    out.l1_clocks += std::max(least, (n + lookups - 1) / lookups);
    for (uint32_t k = 0; k < n; ++k) out.lines.push_back(quarter[k] + rename);
  }
  std::sort(out.lines.begin(), out.lines.end());
  out.lines.erase(std::unique(out.lines.begin(), out.lines.end()), out.lines.end());
}

TagCache::TagCache(uint64_t bytes, uint32_t ways) : ways_(ways) {
  sets_ = std::bit_floor(static_cast<uint32_t>(std::max<uint64_t>(1, bytes / kLine / ways)));
  tags_.assign(size_t{ways_} * sets_, ~0ull);
}

bool TagCache::touch(uint64_t line) {
  uint64_t* set = tags_.data() + (line % sets_) * ways_;
  uint64_t* const end = set + ways_;
  uint64_t* at = std::find(set, end, line);
  const bool hit = at != end;
  if (!hit) at = end - 1;
  std::move_backward(set, at, at + 1);
  *set = line;
  return hit;
}

void TagCache::clear() {
  std::fill(tags_.begin(), tags_.end(), ~0ull);
}

BehindL1::BehindL1(const Parameters& p) : p_(p) {}

void BehindL1::count_channel(uint64_t line, uint32_t run, uint64_t step) {
  const uint32_t channel =
      static_cast<uint32_t>(line * kLine / p_.channel_bytes % p_.channels % 64);
  ++channel_lines_[channel];
  const uint64_t window = step / kWindow;
  if (window < kMostWindows) ++windows_[uint64_t{run} << 32 | window][channel];
}

BehindL1::Found BehindL1::load(uint64_t line, uint32_t group, uint32_t half, uint32_t run,
                               uint64_t step, TagCache& share) {
  const bool own = share.touch(line);
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kMostLines && seen_.find(line) == seen_.end()) {
    truncated_ = true;
    return own ? Found::kL2 : Found::kFirst;
  }
  const auto [at, fresh] = seen_.try_emplace(line);
  Seen& s = at->second;
  if (!fresh && s.last_group != group) s.shared = true;
  s.last_group = group;
  s.loaded = static_cast<uint8_t>(s.loaded | 1u << half);
  if (fresh) {
    s.fetched = true;
    count_channel(line, run, step);
    return Found::kFirst;
  }
  if (own || s.shared) return Found::kL2;
  ++s.again;
  count_channel(line, run, step);
  return Found::kAgain;
}

void BehindL1::store(uint64_t line, uint32_t group, uint32_t half, uint32_t run, uint64_t step,
                     TagCache& share) {
  share.touch(line);
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kMostLines && seen_.find(line) == seen_.end()) {
    truncated_ = true;
    return;
  }
  const auto [at, fresh] = seen_.try_emplace(line);
  Seen& s = at->second;
  if (fresh) s.last_group = group;
  if (!s.stored) count_channel(line, run, step);
  s.stored = static_cast<uint8_t>(s.stored | 1u << half);
}

BehindL1::Footprint BehindL1::loaded() const {
  Footprint f;
  for (const auto& [line, s] : seen_) {
    if (s.fetched) f.first_half += s.loaded & 1, ++f.all;
  }
  return f;
}
uint64_t BehindL1::again() const {
  uint64_t lines = 0;
  for (const auto& [line, s] : seen_) lines += s.shared ? 0 : s.again;
  return lines;
}
BehindL1::Footprint BehindL1::stored() const {
  Footprint f;
  for (const auto& [line, s] : seen_) f.first_half += s.stored & 1, f.all += s.stored != 0;
  return f;
}

// Per moment, the participation ratio of the channels, without the share that random placement of
// few lines would add: (sum h)^2 / (channels * sum h (h - 1)).
double BehindL1::channel_share() const {
  double lines = 0, slots = 0;
  for (const auto& [key, h] : windows_) {
    double sum = 0, pairs = 0;
    for (const uint32_t n : h) sum += n, pairs += static_cast<double>(n) * (n ? n - 1 : 0);
    if (sum < 4.0 * p_.channels || pairs <= 0) continue;
    const double share = std::min(1.0, sum * sum / (p_.channels * pairs));
    lines += sum;
    slots += sum / share;
  }
  return slots > 0 ? lines / slots : 1.0;
}

}  // namespace gfx906::profile

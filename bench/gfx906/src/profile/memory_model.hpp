// Caches, coalescing and LDS banks: which lines an access touches and where they are found.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "machine.hpp"
#include "profile/parameters.hpp"

namespace gfx906::profile {

constexpr uint32_t kLine = 64;  // bytes, in every cache

// Clocks for which one LDS access holds the LDS: 32 banks of 4 bytes; 32 lanes a clock, 16 when
// each has 8 bytes, 8 when 16; lanes of a clock that want different dwords of one bank take turns.
// `conflict_free`: the same with every lane on a bank of its own.
struct LdsClocks {
  uint32_t clocks = 0, conflict_free = 0;
};
LdsClocks lds_clocks(const MemAccess& access);

// The distinct lines of a vector access, and the clocks for which it holds L1: 16 lanes that lie in
// one line take one clock, else the lines of the 16 are looked up a few a clock. Lanes with more
// than a dword come four a clock.
struct Coalesced {
  std::vector<uint64_t> lines;  // line numbers (address / 64), each once
  uint32_t l1_clocks = 0;
  uint64_t bytes = 0;  // asked for by the lanes
};
// `rename`: added to each line number (scratch of one group is not that of another).
void coalesce(const MemAccess& access, uint64_t base, uint64_t rename, uint32_t lookups,
              Coalesced& out);

// A set-associative cache with least-recently-used replacement, tags only.
class TagCache {
 public:
  TagCache(uint64_t bytes, uint32_t ways);
  bool touch(uint64_t line);  // true: it was there; else it is now
  void clear();

 private:
  uint32_t ways_, sets_;
  std::vector<uint64_t> tags_;  // [set][way], the most recent first
};

// The caches of a compute unit. Its groups follow each other, so a group finds what the ones
// before it left; only the first ones find nothing.
struct UnitCaches {
  UnitCaches(uint64_t l1_bytes, uint64_t scalar_bytes) : l1(l1_bytes, 4), scalar(scalar_bytes, 4) {}
  TagCache l1, scalar;
  uint64_t served = 0;  // groups
};

// What lies behind the L1 caches, for all watched groups of a launch. The groups of a launch run
// one after another on the host, but side by side on the card, so a group has only its share of L2
// for lines that it alone uses, while lines that another group fetched are taken to be there.
class BehindL1 {
 public:
  explicit BehindL1(const Parameters& p);

  enum class Found : uint8_t { kL2, kFirst, kAgain };  // again: had been there, and was evicted
  // `run`: which run of neighbouring groups the group belongs to; `half`: 0 or 1, the part of the
  // sample; `step`: how many lines the wave had from HBM before.
  Found load(uint64_t line, uint32_t group, uint32_t half, uint32_t run, uint64_t step,
             TagCache& share);
  void store(uint64_t line, uint32_t group, uint32_t half, uint32_t run, uint64_t step,
             TagCache& share);

  // Distinct lines fetched from (written to) HBM by the first part of the sample and by all of it.
  struct Footprint {
    uint64_t first_half = 0, all = 0;
  };
  Footprint loaded() const;
  Footprint stored() const;
  // Lines fetched anew by the one group that uses them; shared ones are taken to stay in L2.
  uint64_t again() const;
  // The share of the channels that are busy at a time, 1 when the lines spread evenly.
  double channel_share() const;
  const std::array<uint64_t, 64>& channel_lines() const { return channel_lines_; }
  bool truncated() const { return truncated_; }

 private:
  struct Seen {
    uint32_t last_group = 0, again = 0;
    bool shared = false;             // by several groups
    uint8_t loaded = 0, stored = 0;  // bit h: by half h
    bool fetched = false;            // its first access was a load
  };
  void count_channel(uint64_t line, uint32_t run, uint64_t step);

  const Parameters& p_;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Seen> seen_;
  std::unordered_map<uint64_t, std::array<uint32_t, 64>> windows_;  // by run and step
  std::array<uint64_t, 64> channel_lines_{};
  bool truncated_ = false;
};

}  // namespace gfx906::profile

// What the checker remembers of a group's LDS, byte by byte: which bytes have ever been written,
// and which waves have read and written them since the last barrier. Kept in bits, so that a wave's
// whole access is a few operations on words.
#pragma once

#include <cstdint>
#include <vector>

namespace gfx906::check {

class LdsShadow {
 public:
  void begin(uint64_t bytes, uint32_t waves);
  void barrier() { ++epoch_; }

  bool all_written(uint64_t at, uint64_t n) const;
  bool any_written(uint64_t at, uint64_t n) const;
  void set_written(uint64_t at, uint64_t n, bool on);
  void all_now_written();

  // Other waves' accesses of some of these bytes since the last barrier.
  struct Others {
    bool wrote = false, read = false, atomic = false;
    uint32_t wave = 0;  // one of them: a writer, else a reader, else an atomic's
    uint32_t site = 0;  // where it wrote, as note() was told
  };
  enum class Access : uint8_t { kRead, kWrite, kAtomic };
  // What is a conflict: reads and atomics with writes, writes with all.
  bool conflicts(Access a, uint32_t wave, uint64_t at, uint64_t n);
  Others others(uint32_t wave, uint64_t at, uint64_t n);
  void note(Access a, uint32_t wave, uint64_t at, uint64_t n, uint16_t site);
  // Both: notes the access up to where it conflicts. False when it does.
  bool note_unless_conflict(Access a, uint32_t wave, uint64_t at, uint64_t n, uint16_t site);

 private:
  // Per 64 bytes: the epoch it is of, seven words over all waves, three words of each wave.
  enum : uint32_t { kEpoch, kWrote, kWroteMany, kRead, kReadMany, kAtomic, kAtomicMany, kWaves };
  uint64_t* chunk(uint64_t at) {
    uint64_t* c = chunks_.data() + at / 64 * stride_;
    if (c[kEpoch] != epoch_) clear(c);
    return c;
  }
  void clear(uint64_t* c);
  static uint64_t conflicting(const uint64_t* c, uint32_t wave, Access a);
  static void add(uint64_t* c, uint32_t wave, Access a, uint64_t mask);
  void set_sites(uint64_t at, uint64_t n, uint16_t site);
  uint32_t waves_ = 0, stride_ = 0;
  uint64_t epoch_ = 1, bytes_ = 0;
  std::vector<uint64_t> chunks_, written_;
  std::vector<uint16_t> site_;  // per dword: the last write
};

}  // namespace gfx906::check

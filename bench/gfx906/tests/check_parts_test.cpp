// The checker's memory of what was written and of who touched what, against plain ones that look at
// every byte by itself.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "check/lds_shadow.hpp"
#include "check/memory_map.hpp"
#include "check/races.hpp"
#include "check/stretches.hpp"

using namespace gfx906::check;

TEST_CASE("a region knows which bytes were written, and when all were") {
  std::mt19937 random(1);
  const uint64_t base = 0x10000, bytes = 3 * 4096 + 1234;
  for (int round = 0; round < 20; ++round) {
    Region r(base, bytes, false);
    std::vector<bool> written(bytes);
    CHECK_FALSE(r.complete());
    size_t left = bytes;
    for (int n = 0; left; ++n) {
      uint64_t at = random() % bytes, length = std::min<uint64_t>(bytes - at, 1 + random() % 9000);
      if (n == 200) at = 0, length = bytes;
      if (random() % 4 == 0) at = at / 4096 * 4096, length = std::min<uint64_t>(bytes - at, 8192);
      r.write(base + at, length);
      for (uint64_t k = at; k < at + length; ++k) left -= !written[k], written[k] = true;
      REQUIRE(r.complete() == (left == 0));
      const uint64_t from = random() % bytes,
                     size = std::min<uint64_t>(bytes - from, 1 + random() % 300);
      bool all = true, any = false;
      for (uint64_t k = from; k < from + size; ++k) all &= written[k], any |= written[k];
      REQUIRE(r.all_written(base + from, size) == all);
      REQUIRE(r.any_written(base + from, size) == any);
    }
  }
}

TEST_CASE("addresses in the red zone of an allocation are called its own") {
  MemoryMap map;
  const uint64_t base = uint64_t{1} << 40;
  for (const uint64_t bytes : {uint64_t{100}, uint64_t{10} << 20, uint64_t{1} << 30}) {
    map.allocate(base, bytes, true);
    const uint64_t zone = MemoryMap::red_zone(bytes);
    CHECK(zone % 65536 == 0);
    CHECK(zone >= 65536);
    std::string text;
    CHECK(map.explain(base + bytes, text) == MemoryMap::Unknown::kNearby);
    CHECK(text.find(", 0 bytes past the end of an allocation of " + std::to_string(bytes)) !=
          text.npos);
    CHECK(map.explain(base + bytes + zone - 1, text) == MemoryMap::Unknown::kNearby);
    CHECK(map.explain(base + bytes + zone, text) == MemoryMap::Unknown::kNowhere);
    CHECK(map.explain(base - zone, text) == MemoryMap::Unknown::kNearby);
    CHECK(map.explain(base - zone - 1, text) == MemoryMap::Unknown::kNowhere);
    map.release(base);
    CHECK(map.explain(base + 5, text) == MemoryMap::Unknown::kFreed);
  }
}

TEST_CASE("stretches cover each lane's bytes, whatever the pattern") {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    gfx906::MemAccess m;
    m.bytes = 1u << random() % 5;
    const uint64_t lanes = random() % 3 ? ~uint64_t{0} : (uint64_t{random()} << 32 | random());
    const uint32_t step = random() % 3 * m.bytes, wrap = 1u << random() % 7;
    for (size_t l = 0; l < 64; ++l) m.addr[l] = 0x1000 + (l % wrap) * step + (random() % 50 == 0);
    std::map<uint64_t, std::set<uint64_t>> want, have;  // by lane: bytes
    uint64_t seen = 0;
    for (size_t l = 0; l < 64; ++l)
      for (uint64_t k = 0; lanes >> l & 1 && k < m.bytes; ++k) want[l].insert(m.addr[l] + k);
    each_stretch(m, lanes, [&](const Stretch& s) {
      CHECK((seen & s.lanes) == 0);
      seen |= s.lanes;
      std::set<uint64_t> of_lanes;
      for (size_t l = 0; l < 64; ++l)
        if (s.lanes >> l & 1) of_lanes.insert(want[l].begin(), want[l].end());
      // Exactly the bytes of its lanes.
      REQUIRE(of_lanes.size() == s.bytes);
      CHECK(*of_lanes.begin() == s.at);
      CHECK(*of_lanes.rbegin() == s.at + s.bytes - 1);
    });
    CHECK(seen == lanes);
  }
}

// What the shadow should say, byte by byte.
struct PlainLds {
  struct Byte {
    std::set<uint32_t> wrote, read, atomic;
  };
  std::map<uint64_t, Byte> bytes;
  bool conflicts(LdsShadow::Access a, uint32_t wave, uint64_t at, uint64_t n) {
    const auto other = [&](const std::set<uint32_t>& s) { return s.size() > s.count(wave); };
    for (uint64_t k = at; k < at + n; ++k) {
      const Byte& b = bytes[k];
      if (other(b.wrote)) return true;
      if (a == LdsShadow::Access::kWrite && (other(b.read) || other(b.atomic))) return true;
    }
    return false;
  }
  void note(LdsShadow::Access a, uint32_t wave, uint64_t at, uint64_t n) {
    for (uint64_t k = at; k < at + n; ++k) {
      Byte& b = bytes[k];
      (a == LdsShadow::Access::kWrite  ? b.wrote
       : a == LdsShadow::Access::kRead ? b.read
                                       : b.atomic)
          .insert(wave);
    }
  }
};

TEST_CASE("LDS: conflicts between waves, byte by byte, forgotten at barriers") {
  std::mt19937 random(3);
  LdsShadow shadow;
  for (const uint32_t waves : {2u, 16u, 3u}) {
    const uint64_t size = 1000;
    shadow.begin(size, waves);
    PlainLds plain;
    for (int n = 0; n < 4000; ++n) {
      if (random() % 200 == 0) {
        shadow.barrier();
        plain = {};
      }
      const auto a = static_cast<LdsShadow::Access>(random() % 3);
      const uint32_t wave = random() % waves;
      const uint64_t length = 1 + random() % 80, at = random() % (size - length);
      const bool conflict = plain.conflicts(a, wave, at, length);
      REQUIRE(shadow.conflicts(a, wave, at, length) == conflict);
      if (conflict) {
        const LdsShadow::Others o = shadow.others(wave, at, length);
        CHECK((o.wrote || o.read || o.atomic));
        CHECK(o.wave != wave);
        if (random() % 2) continue;  // as a store that changes nothing
        shadow.note(a, wave, at, length, 7);
      } else {
        CHECK(shadow.note_unless_conflict(a, wave, at, length, 7));
      }
      plain.note(a, wave, at, length);
    }
  }
}

TEST_CASE("races in global memory: many dwords at once find what each by itself finds") {
  std::mt19937 random(4);
  RacePages pages;
  for (int round = 0; round < 30; ++round) {
    const uint64_t groups = 2 + random() % 5;
    // Pages that earlier rounds left behind are taken again here.
    GlobalRaces one(pages, groups), many(pages, groups);
    std::vector<GlobalRaces::Cache> of_one(groups), of_many(groups);
    for (int n = 0; n < 400; ++n) {
      const uint64_t g = random() % groups;
      const uint32_t what = random() % 12;
      if (what < 2) {
        what ? one.release(g) : one.acquire(g);
        what ? many.release(g) : many.acquire(g);
        continue;
      }
      const bool store = what < 5;
      const uint64_t at = 0x7000 + random() % 3000 * 4, bytes = 4 + random() % 70 * 4;
      uint64_t want = 0, have = 0;
      for (uint64_t a = at; a < at + bytes; a += 4)
        want += one.access(of_one[g], g, a, 15, store, store) != 0;
      const bool clean = store ? many.store_all(of_many[g], g, at, bytes)
                               : many.load_all(of_many[g], g, at, bytes);
      for (uint64_t a = at; !clean && a < at + bytes; a += 4)
        have += many.access(of_many[g], g, a, 15, store, store) != 0;
      REQUIRE(have == want);
      if (clean) REQUIRE(want == 0);
    }
  }
}

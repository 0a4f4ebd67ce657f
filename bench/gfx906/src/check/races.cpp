#include "check/races.hpp"

#include <immintrin.h>

#include <algorithm>

namespace gfx906::check {
namespace {

// A stamp: group + 1 (22 bits), byte mask (4), several groups (1), time (36). 0: nobody. Never
// negative, so that vectors of them can be compared.
constexpr int kGroupShift = 41, kMaskShift = 37, kManyShift = 36;
constexpr uint64_t kTimeMask = (uint64_t{1} << kManyShift) - 1;
uint64_t stamp(uint64_t group, uint32_t mask, bool many, uint64_t time) {
  return (group + 1) << kGroupShift | uint64_t{mask} << kMaskShift | uint64_t{many} << kManyShift |
         (time & kTimeMask);
}

// Several threads look at a page at once; a stamp lost between two of them is a race not seen.
uint64_t load(const uint64_t& at) {
  return __atomic_load_n(&at, __ATOMIC_RELAXED);
}
void store(uint64_t& at, uint64_t v) {
  __atomic_store_n(&at, v, __ATOMIC_RELAXED);
}

using V = __m256i;
[[gnu::target("avx2")]] inline V all(uint64_t v) {
  return _mm256_set1_epi64x(static_cast<long long>(v));
}
[[gnu::target("avx2")]] inline V get(const uint64_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const V*>(p));
}
[[gnu::target("avx2")]] inline void put(uint64_t* p, V v) {
  _mm256_storeu_si256(reinterpret_cast<V*>(p), v);
}

// True where a stamp is of this dispatch and of another group (me = group + 1).
[[gnu::target("avx2")]] inline V foreign(V stamps, V born, V me) {
  const V time = _mm256_and_si256(stamps, all(kTimeMask));
  const V fresh = _mm256_cmpgt_epi64(time, _mm256_sub_epi64(born, all(1)));
  return _mm256_andnot_si256(_mm256_cmpeq_epi64(_mm256_srli_epi64(stamps, kGroupShift), me), fresh);
}

// The first n dwords of four (n < 4: the others keep what they have).
[[gnu::target("avx2")]] bool load_words(RacePage& page, size_t word, size_t n, uint64_t group,
                                        uint64_t acquired, uint64_t now) {
  const V me = all(group + 1), born = all(page.born);
  for (size_t k = 0; k < n; k += 4) {
    const V found = foreign(get(&page.write[word + k]), born, me);
    const int bits = _mm256_movemask_pd(_mm256_castsi256_pd(found));
    if (bits & (n - k >= 4 ? 15 : (1 << (n - k)) - 1)) return false;
  }
  const V since = all(std::max(page.born, acquired) - 1), time_mask = all(kTimeMask);
  const V fresh = all(stamp(group, 15, false, now)), many_bit = all(uint64_t{1} << kManyShift);
  size_t k = 0;
  for (; k + 4 <= n; k += 4) {
    const V r = get(&page.read[word + k]);
    // A reader that this group has not synchronised with since stays a reader: "many".
    const V recent = _mm256_cmpgt_epi64(_mm256_and_si256(r, time_mask), since);
    const V mine = _mm256_cmpeq_epi64(_mm256_srli_epi64(r, kGroupShift), me);
    const V many =
        _mm256_or_si256(_mm256_and_si256(r, many_bit), _mm256_andnot_si256(mine, many_bit));
    put(&page.read[word + k], _mm256_or_si256(fresh, _mm256_and_si256(many, recent)));
  }
  for (; k < n; ++k) {
    const uint64_t r = page.read[word + k];
    const bool recent = (r & kTimeMask) >= std::max(page.born, acquired);
    const bool many = recent && (r >> kGroupShift != group + 1 || (r >> kManyShift & 1));
    store(page.read[word + k], stamp(group, 15, many, now));
  }
  return true;
}

[[gnu::target("avx2")]] bool store_words(RacePage& page, size_t word, size_t n, uint64_t group,
                                         uint64_t now, bool note) {
  const V me = all(group + 1), born = all(page.born), many_bit = all(uint64_t{1} << kManyShift);
  const V time_mask = all(kTimeMask);
  if (!note) {
    for (size_t k = 0; k < n; k += 4) {
      const V r = get(&page.read[word + k]);
      const V fresh =
          _mm256_cmpgt_epi64(_mm256_and_si256(r, time_mask), _mm256_sub_epi64(born, all(1)));
      const V many = _mm256_cmpeq_epi64(_mm256_and_si256(r, many_bit), many_bit);
      const V found = _mm256_or_si256(
          _mm256_or_si256(foreign(get(&page.write[word + k]), born, me), foreign(r, born, me)),
          _mm256_and_si256(fresh, many));
      const int bits = _mm256_movemask_pd(_mm256_castsi256_pd(found));
      if (bits & (n - k >= 4 ? 15 : (1 << (n - k)) - 1)) return false;
    }
    return true;
  }
  const uint64_t mark = stamp(group, 15, false, now);
  size_t k = 0;
  for (; k + 4 <= n; k += 4) put(&page.write[word + k], all(mark));
  for (; k < n; ++k) store(page.write[word + k], mark);
  return true;
}

}  // namespace

std::unique_ptr<RacePage> RacePages::take() {
  std::unique_ptr<RacePage> page;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      page = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!page) page = std::make_unique<RacePage>();
  page->born = ++time_ & kTimeMask;
  return page;
}

void RacePages::give_back(std::unique_ptr<RacePage> page) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(page));
}

GlobalRaces::GlobalRaces(RacePages& pages, uint64_t groups)
    : pool_(pages),
      time_(pages.time()),
      active_(groups > 1 && groups <= kMostGroups),
      release_(active_ ? groups : 0),
      acquire_(active_ ? groups : 0) {}

GlobalRaces::~GlobalRaces() {
  for (Shard& s : shards_)
    for (auto& [number, page] : s.pages) pool_.give_back(std::move(page));
}

RacePage* GlobalRaces::page_of(Cache& cache, uint64_t number) {
  const size_t slot = number % cache.number.size();
  if (cache.number[slot] == number) return cache.page[slot];
  Shard& s = shards_[number % shards_.size()];
  const std::lock_guard lock(s.mutex);
  auto it = s.pages.find(number);
  if (it == s.pages.end()) {
    if (count_ >= kMostPages) return nullptr;
    ++count_;
    it = s.pages.emplace(number, pool_.take()).first;
  }
  cache.number[slot] = number;
  cache.page[slot] = it->second.get();
  return cache.page[slot];
}

uint64_t GlobalRaces::access(Cache& cache, uint64_t group, uint64_t address, uint32_t mask,
                             bool stores, bool changes) {
  RacePage* page = page_of(cache, address >> 12);
  if (!page) return 0;
  const size_t word = address >> 2 & 1023;
  const uint64_t now = time_.load(std::memory_order_relaxed);
  const auto valid = [&](uint64_t v) { return (v & kTimeMask) >= page->born ? v : 0; };
  const uint64_t w = valid(load(page->write[word])), r = valid(load(page->read[word]));
  uint64_t found = 0;
  const uint64_t writer = w >> kGroupShift;
  if (writer && writer != group + 1 && (w >> kMaskShift & mask) && (!stores || changes) &&
      !ordered(writer - 1, group, w & kTimeMask))
    found = writer;
  const uint64_t reader = r >> kGroupShift;
  if (!stores) {
    // A read later in the same state of things tells nothing new.
    const bool many = reader && (reader != group + 1 || (r >> kManyShift & 1)) &&
                      acquire_[group] <= (r & kTimeMask);
    const uint64_t fresh =
        stamp(group, mask | static_cast<uint32_t>(r >> kMaskShift & 15), many, now);
    if (fresh != r) store(page->read[word], fresh);
    return found;
  }
  if (!found && changes && reader && (r >> kMaskShift & mask)) {
    const bool many = r >> kManyShift & 1;
    const bool safe = many ? acquire_[group] > (r & kTimeMask)
                           : reader == group + 1 || ordered(reader - 1, group, r & kTimeMask);
    if (!safe) found = reader == group + 1 ? ~uint64_t{0} : reader;
  }
  if (changes || !writer) {
    const uint32_t before = writer == group + 1 ? static_cast<uint32_t>(w >> kMaskShift & 15) : 0;
    store(page->write[word], stamp(group, mask | before, false, now));
  }
  return found;
}

// Calls f(page, first word, words) for each page of the range; pages that are not watched are left
// out. False as soon as f says so.
template <class F>
bool GlobalRaces::each_page(Cache& cache, uint64_t address, uint64_t bytes, F&& f) {
  for (uint64_t at = address, end = address + bytes; at < end;) {
    const uint64_t part = std::min(end, (at | 4095) + 1) - at;
    RacePage* page = page_of(cache, at >> 12);
    // Four stamps are read at a time; those of the page's last words have the next array behind.
    if (page && !f(*page, at >> 2 & 1023, part / 4)) return false;
    at += part;
  }
  return true;
}

bool GlobalRaces::load_all(Cache& cache, uint64_t group, uint64_t address, uint64_t bytes) {
  if ((address | bytes) % 4) return false;
  const uint64_t acquired = acquire_[group];
  return each_page(cache, address, bytes, [&](RacePage& page, size_t word, size_t n) {
    // The time is asked for when the page is there: a new page's begins then.
    return load_words(page, word, n, group, acquired, time_.load(std::memory_order_relaxed));
  });
}

bool GlobalRaces::store_all(Cache& cache, uint64_t group, uint64_t address, uint64_t bytes) {
  if ((address | bytes) % 4) return false;
  for (const bool note : {false, true}) {
    const bool free = each_page(cache, address, bytes, [&](RacePage& page, size_t word, size_t n) {
      return store_words(page, word, n, group, time_.load(std::memory_order_relaxed), note);
    });
    if (!free) return false;
  }
  return true;
}

}  // namespace gfx906::check

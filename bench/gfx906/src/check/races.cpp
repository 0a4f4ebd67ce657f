#include "check/races.hpp"

namespace gfx906::check {
namespace {

// A stamp: group + 1 (23 bits), byte mask (4), several groups (1), time (36). 0: nobody.
constexpr int kGroupShift = 41, kMaskShift = 37, kManyShift = 36;
constexpr uint64_t kTimeMask = (uint64_t{1} << kManyShift) - 1;
uint64_t stamp(uint64_t group, uint32_t mask, bool many, uint64_t time) {
  return (group + 1) << kGroupShift | uint64_t{mask} << kMaskShift | uint64_t{many} << kManyShift |
         (time & kTimeMask);
}

}  // namespace

GlobalRaces::GlobalRaces(uint64_t groups)
    : active_(groups > 1 && groups <= kMostGroups),
      release_(active_ ? groups : 0),
      acquire_(active_ ? groups : 0) {}

GlobalRaces::Page* GlobalRaces::page_of(Cache& cache, uint64_t number) {
  const size_t slot = number % cache.number.size();
  if (cache.number[slot] == number) return cache.page[slot];
  Shard& s = shards_[number % shards_.size()];
  const std::lock_guard lock(s.mutex);
  auto it = s.pages.find(number);
  if (it == s.pages.end()) {
    if (count_ >= kMostPages) return nullptr;
    ++count_;
    it = s.pages.emplace(number, std::make_unique<Page>()).first;
  }
  cache.number[slot] = number;
  cache.page[slot] = it->second.get();
  return cache.page[slot];
}

uint64_t GlobalRaces::access(Cache& cache, uint64_t group, uint64_t address, uint32_t mask,
                             bool store, bool changes) {
  Page* page = page_of(cache, address >> 12);
  if (!page) return 0;
  const size_t word = address >> 2 & 1023;
  const uint64_t now = time_.load(std::memory_order_relaxed);
  const uint64_t w = page->write[word].load(std::memory_order_relaxed),
                 r = page->read[word].load(std::memory_order_relaxed);
  uint64_t found = 0;
  const uint64_t writer = w >> kGroupShift;
  if (writer && writer != group + 1 && (w >> kMaskShift & mask) && (!store || changes) &&
      !ordered(writer - 1, group, w & kTimeMask))
    found = writer;
  const uint64_t reader = r >> kGroupShift;
  if (!store) {
    // A read later in the same state of things tells nothing new.
    const bool many = reader && (reader != group + 1 || (r >> kManyShift & 1)) &&
                      acquire_[group] <= (r & kTimeMask);
    const uint64_t fresh =
        stamp(group, mask | static_cast<uint32_t>(r >> kMaskShift & 15), many, now);
    if (fresh != r) page->read[word].store(fresh, std::memory_order_relaxed);
    return found;
  }
  if (!found && changes && reader && (r >> kMaskShift & mask)) {
    const bool many = r >> kManyShift & 1;
    const bool safe = many ? acquire_[group] > (r & kTimeMask)
                           : reader == group + 1 || ordered(reader - 1, group, r & kTimeMask);
    if (!safe) found = reader == group + 1 ? ~uint64_t{0} : reader;
  }
  if (changes || !writer)
    page->write[word].store(stamp(group, mask, false, now), std::memory_order_relaxed);
  return found;
}

}  // namespace gfx906::check

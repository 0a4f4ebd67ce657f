#include "check/memory_map.hpp"

#include <algorithm>
#include <cstdio>

namespace gfx906::check {
namespace {

std::string hex(uint64_t v) {
  char b[24];
  snprintf(b, sizeof b, "0x%llx", static_cast<unsigned long long>(v));
  return b;
}

// Bits [from, from + n) of a word, n up to 64 - from.
uint64_t mask_of(uint64_t from, uint64_t n) {
  return (n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << from;
}

constexpr size_t kWords = 64;  // of a page

}  // namespace

// Stands for every page that one write has filled as a whole.
static std::atomic<uint64_t>* full_page() {
  static std::atomic<uint64_t>* page = [] {
    auto* made = new std::atomic<uint64_t>[kWords + 1];
    for (size_t k = 0; k <= kWords; ++k) made[k] = ~uint64_t{0};
    return made;
  }();
  return page;
}

Region::Region(uint64_t base, uint64_t bytes, bool written)
    : base_(base), bytes_(bytes), left_(written ? 0 : pages()) {
  if (!written) pages_ = std::make_unique<std::atomic<std::atomic<uint64_t>*>[]>(pages());
}

Region::~Region() {
  if (!pages_) return;
  for (uint64_t p = 0; p < pages(); ++p) {
    std::atomic<uint64_t>* page = pages_[p].load();
    if (page != full_page()) delete[] page;
  }
}

std::atomic<uint64_t>* Region::page_for_write(size_t page) {
  std::atomic<uint64_t>* have = pages_[page].load(std::memory_order_acquire);
  if (have) return have;
  auto* made = new std::atomic<uint64_t>[kWords + 1]();
  // What lies behind the end counts as written, so that the last page can become full.
  for (uint64_t at = std::min(kPage, bytes_ - page * kPage); at < kPage; at = (at / 64 + 1) * 64)
    made[at / 64] = mask_of(at % 64, 64 - at % 64);
  if (pages_[page].compare_exchange_strong(have, made)) return made;
  delete[] made;
  return have;
}

// Counts the page once when all of its bytes have been written.
void Region::look_for_full(size_t page) {
  std::atomic<uint64_t>* words = pages_[page].load(std::memory_order_acquire);
  for (size_t k = 0; k < kWords; ++k)
    if (words[k].load(std::memory_order_relaxed) != ~uint64_t{0}) return;
  if (words[kWords].exchange(1) == 0) --left_;
}

void Region::write_part(uint64_t address, uint64_t n) {
  uint64_t at = address - base_;
  while (n) {
    const size_t page = at / kPage;
    if (at % kPage == 0 && (n >= kPage || at + n == bytes_)) {
      std::atomic<uint64_t>* none = nullptr;
      if (pages_[page].compare_exchange_strong(none, full_page())) --left_;
      if (!none || none == full_page()) {
        const uint64_t part = std::min(n, kPage);
        at += part;
        n -= part;
        continue;
      }
    }
    std::atomic<uint64_t>& word = page_for_write(page)[at % kPage / 64];
    const uint64_t part = std::min<uint64_t>(n, 64 - at % 64), mask = mask_of(at % 64, part);
    const uint64_t before = word.load(std::memory_order_relaxed);
    // A word that becomes full may be the page's last one.
    if ((before & mask) != mask &&
        (word.fetch_or(mask, std::memory_order_relaxed) | mask) == ~uint64_t{0})
      look_for_full(page);
    at += part;
    n -= part;
  }
}

template <class F>
bool Region::each_word(uint64_t address, uint64_t n, F&& f) const {
  for (uint64_t at = address - base_; n;) {
    const uint64_t part = std::min<uint64_t>(n, 64 - at % 64);
    const std::atomic<uint64_t>* page = pages_[at / kPage].load(std::memory_order_acquire);
    const uint64_t word = page ? page[at % kPage / 64].load(std::memory_order_relaxed) : 0;
    if (f(word, mask_of(at % 64, part))) return true;
    at += part;
    n -= part;
  }
  return false;
}

bool Region::any_written(uint64_t address, uint64_t n) const {
  return complete() ||
         each_word(address, n, [](uint64_t word, uint64_t mask) { return (word & mask) != 0; });
}

bool Region::all_written(uint64_t address, uint64_t n) const {
  return complete() ||
         !each_word(address, n, [](uint64_t word, uint64_t mask) { return (word & mask) != mask; });
}

void MemoryMap::allocate(uint64_t base, uint64_t bytes, bool written) {
  if (!bytes) return;
  auto region = std::make_shared<Region>(base, bytes, written);
  const std::unique_lock lock(mutex_);
  // Its addresses are no longer freed ones.
  auto it = freed_.upper_bound(base + bytes - 1);
  while (it != freed_.begin()) {
    const auto before = std::prev(it);
    if (before->first + before->second <= base) break;
    it = freed_.erase(before);
  }
  regions_[base] = std::move(region);
  ++generation_;
}

void MemoryMap::release(uint64_t base) {
  const std::unique_lock lock(mutex_);
  const auto it = regions_.find(base);
  if (it == regions_.end()) return;
  if (freed_.size() >= kMostFreed) freed_.erase(freed_.begin());
  freed_[base] = it->second->bytes();
  regions_.erase(it);
  ++generation_;
}

void MemoryMap::write(uint64_t base, uint64_t bytes) {
  const std::shared_ptr<Region> r = find(base);
  if (r) r->write(base, std::min(bytes, r->base() + r->bytes() - base));
}

std::shared_ptr<Region> MemoryMap::find(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  auto it = regions_.upper_bound(address);
  if (it == regions_.begin()) return nullptr;
  --it;
  return it->second->holds(address, 1) ? it->second : nullptr;
}

MemoryMap::Unknown MemoryMap::explain(uint64_t address, std::string& text) const {
  const std::shared_lock lock(mutex_);
  text = "address " + hex(address);
  if (address < 0x10000) {
    text += ", a null pointer";
    return Unknown::kNull;
  }
  if (auto it = freed_.upper_bound(address); it != freed_.begin()) {
    --it;
    if (address - it->first < it->second) {
      text += ", byte " + std::to_string(address - it->first) + " of a freed allocation of " +
              std::to_string(it->second) + " bytes";
      return Unknown::kFreed;
    }
  }
  const auto next = regions_.upper_bound(address);
  const Region* below = next == regions_.begin() ? nullptr : std::prev(next)->second.get();
  const Region* above = next == regions_.end() ? nullptr : next->second.get();
  const uint64_t past = below ? address - (below->base() + below->bytes()) : ~uint64_t{0},
                 before = above ? above->base() - address : ~uint64_t{0};
  const bool near_below = below && past < red_zone(below->bytes()),
             near_above = above && before <= red_zone(above->bytes());
  if (!near_below && !near_above) {
    text += ", in no allocation";
    return Unknown::kNowhere;
  }
  if (near_below && (!near_above || past <= before)) {
    text += ", " + std::to_string(past) + " bytes past the end of an allocation of " +
            std::to_string(below->bytes()) + " bytes";
  } else {
    text += ", " + std::to_string(before) + " bytes before an allocation of " +
            std::to_string(above->bytes()) + " bytes";
  }
  return Unknown::kNearby;
}

}  // namespace gfx906::check

// Texts numbered 0, 1, 2, ... in one block of memory, with the way back from a text to its number.
// A vocabulary of a quarter of a million tokens takes three allocations and about 4 MB instead of
// one string each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace veloce::text {

class TextTable {
 public:
  static constexpr std::int32_t kNone = -1;
  static constexpr std::size_t kMaxBytes = 0xFFFFFFFFu;  // of all texts together

  std::size_t size() const { return ends_.size() - 1; }
  std::size_t bytes() const { return pool_.size(); }

  std::string_view operator[](std::size_t id) const {
    return std::string_view(pool_).substr(ends_[id], ends_[id + 1] - ends_[id]);
  }

  // Memory for that many texts of so many bytes, taken at once.
  void reserve(std::size_t texts, std::size_t text_bytes) {
    pool_.reserve(text_bytes);
    ends_.reserve(texts + 1);
    std::size_t slots = 16;
    while (slots < texts * 2) slots *= 2;
    if (slots > slots_.size()) rehash(slots);
  }

  // Number of a text, kNone if it is not here.
  std::int32_t find(std::string_view text) const {
    return slots_.empty() ? kNone : slots_[locate(text)].id;
  }

  // Number of a text, which is added if it is new.
  std::int32_t add(std::string_view text) {
    if ((size() + 1) * 2 > slots_.size()) rehash(slots_.empty() ? 16 : slots_.size() * 2);
    Slot& slot = slots_[locate(text)];
    if (slot.id != kNone) return slot.id;
    slot = {std::uint32_t(hash(text)), std::int32_t(size())};
    pool_ += text;
    ends_.push_back(std::uint32_t(pool_.size()));
    return slot.id;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = kNone;
  };

  static std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return x ^ (x >> 29);
  }
  static std::uint64_t hash(std::string_view text) {
    std::uint64_t h = text.size() * 0x9E3779B97F4A7C15u;
    std::size_t i = 0;
    for (; i + 8 <= text.size(); i += 8) {
      std::uint64_t word;
      std::memcpy(&word, text.data() + i, 8);
      h = mix(h ^ word) * 0x9E3779B97F4A7C15u;
    }
    std::uint64_t tail = 0;
    if (i < text.size()) std::memcpy(&tail, text.data() + i, text.size() - i);
    return mix(mix(h ^ tail));
  }

  // The slot that holds the text, or the free one where it would go.
  std::size_t locate(std::string_view text) const {
    const std::uint32_t h = std::uint32_t(hash(text));
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = h & mask;
    while (slots_[at].id != kNone &&
           !(slots_[at].hash == h && (*this)[std::size_t(slots_[at].id)] == text))
      at = (at + 1) & mask;
    return at;
  }

  void rehash(std::size_t slots) {
    slots_.assign(slots, Slot());
    const std::size_t mask = slots - 1;
    for (std::size_t id = 0; id < size(); ++id) {
      const std::uint32_t h = std::uint32_t(hash((*this)[id]));
      std::size_t at = h & mask;
      while (slots_[at].id != kNone) at = (at + 1) & mask;
      slots_[at] = {h, std::int32_t(id)};
    }
  }

  std::string pool_;
  std::vector<std::uint32_t> ends_ = {0};
  std::vector<Slot> slots_;
};

}  // namespace veloce::text

#include "hostcall.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "card.hpp"
#include "hooks.hpp"

namespace gfx906::rt {
namespace {

constexpr uint64_t kPackets = 1024;  // a power of two
constexpr uint32_t kServiceCall = 1, kServicePrintf = 2, kServiceMemory = 3;
constexpr size_t kSlabBytes = 2 << 20, kHeapBytes = 128 << 10;  // of the device library's malloc
constexpr size_t kLongestMessage = 1
                                   << 20;  // words; a message without an end must not grow for ever

// A message packet's first slot: flags, count of words in it, and the message's number.
constexpr uint64_t kBegin = 1, kEnd = 2;
unsigned word_count(uint64_t descriptor) {
  return (descriptor >> 5) & 7;
}
uint64_t message_number(uint64_t descriptor) {
  return descriptor >> 8;
}

// Reads the words of a printf one by one.
class Reader {
 public:
  explicit Reader(const std::vector<uint64_t>& words) : words_(words) {}
  uint64_t word() { return at_ < words_.size() ? words_[at_++] : 0; }
  std::string text() {
    const char* base = reinterpret_cast<const char*>(words_.data());
    const size_t end = words_.size() * 8, start = at_ * 8;
    if (start >= end) return "";
    const size_t length = strnlen(base + start, end - start);
    at_ += length / 8 + 1;
    return std::string(base + start, length);
  }

 private:
  const std::vector<uint64_t>& words_;
  size_t at_ = 0;
};

template <class T>
void append_formatted(std::string& out, const std::string& spec, T value) {
  char small[256];
  const int n = std::snprintf(small, sizeof small, spec.c_str(), value);
  if (n < 0) return;
  if (static_cast<size_t>(n) < sizeof small) {
    out.append(small, static_cast<size_t>(n));
    return;
  }
  std::string big(static_cast<size_t>(n) + 1, 0);
  std::snprintf(big.data(), big.size(), spec.c_str(), value);
  big.pop_back();
  out += big;
}

// Kernels use this memory though no program has allocated it.
void announce(const void* base, size_t bytes, MemoryKind kind) {
  if (tools().memory) tools().memory->on_allocate(reinterpret_cast<uint64_t>(base), bytes, kind, 0);
}

// One conversion: `spec` is "%", flags, width and precision without length modifiers.
void convert(std::string spec, char kind, int size, Reader& in, std::string& out) {
  switch (kind) {
    case 'd':
    case 'i': {
      const auto wide = static_cast<int64_t>(in.word());
      // The length modifiers narrow the argument as C does.
      const int64_t value = size == -2   ? static_cast<int8_t>(wide)
                            : size == -1 ? static_cast<int16_t>(wide)
                            : size == 0  ? static_cast<int32_t>(wide)
                                         : wide;
      return append_formatted(out, spec + "lld", static_cast<long long>(value));
    }
    case 'u':
    case 'o':
    case 'x':
    case 'X': {
      const uint64_t wide = in.word();
      const uint64_t value = size == -2   ? static_cast<uint8_t>(wide)
                             : size == -1 ? static_cast<uint16_t>(wide)
                             : size == 0  ? static_cast<uint32_t>(wide)
                                          : wide;
      return append_formatted(out, spec + "ll" + kind, static_cast<unsigned long long>(value));
    }
    case 'c':
      return append_formatted(out, spec + 'c', static_cast<int>(in.word()));
    case 'p':
      return append_formatted(out, spec + 'p', reinterpret_cast<void*>(in.word()));
    case 's':
      return append_formatted(out, spec + 's', in.text().c_str());
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': {
      const uint64_t bits = in.word();
      double value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return append_formatted(out, spec + kind, value);
    }
    default:
      out += spec + kind;  // nothing C knows: shown as it stands
  }
}

}  // namespace

int format_device_printf(const std::vector<uint64_t>& words, std::string& text) {
  Reader in(words);
  const int stream = static_cast<int>(in.word() & 1);
  const std::string format = in.text();
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      text += format[++i];
      continue;
    }
    std::string spec = "%";
    int size = 0;
    for (++i; i < format.size() && std::strchr("-+ #0123456789.*hlLjzt", format[i]) != nullptr;
         ++i) {
      const char c = format[i];
      if (c == '*') {
        spec += std::to_string(static_cast<int32_t>(in.word()));
      } else if (c == 'h') {
        --size;
      } else if (std::strchr("lLjzt", c) != nullptr) {
        ++size;
      } else {
        spec += c;
      }
    }
    if (i < format.size()) convert(std::move(spec), format[i], size, in, text);
  }
  return stream;
}

Hostcall::Hostcall() : headers_(kPackets), payloads_(kPackets) {
  constexpr uint64_t kMask = kPackets - 1;
  // A place on a stack is an index with a tag above it, so that no place is ever 0 (the empty
  // stack).
  uint64_t next = 0;
  for (uint64_t i = 0; i < kPackets; ++i) {
    headers_[i].next = next;
    next = (kMask + 1) | i;
  }
  doorbell_.mailbox = reinterpret_cast<uint64_t>(&mailbox_);
  buffer_ = {headers_.data(), payloads_.data(), &doorbell_, next, 0, kMask};
  announce(this, sizeof *this, MemoryKind::kPinnedHost);
  announce(headers_.data(), kPackets * sizeof(Header), MemoryKind::kPinnedHost);
  announce(payloads_.data(), kPackets * sizeof(Payload), MemoryKind::kPinnedHost);
}

uint64_t Hostcall::buffer_address() const {
  return reinterpret_cast<uint64_t>(&buffer_);
}

Hostcall& Hostcall::of_card(int card) {
  static std::mutex mutex;
  static auto* made = new std::map<int, std::unique_ptr<Hostcall>>;
  const std::lock_guard lock(mutex);
  auto& entry = (*made)[card];
  if (!entry) entry = std::make_unique<Hostcall>();
  return *entry;
}

void Hostcall::serve() {
  const std::lock_guard lock(mutex_);
  uint64_t place = __atomic_exchange_n(&buffer_.ready_stack, 0, __ATOMIC_ACQUIRE);
  while (place != 0) {
    Header& header = headers_[place & buffer_.index_mask];
    Payload& payload = payloads_[place & buffer_.index_mask];
    place = header.next;
    for (unsigned lane = 0; lane < 64; ++lane) {
      if ((header.active_lanes >> lane & 1) != 0) answer(header.service, payload.slots[lane]);
    }
    // From here on the kernel may use the packet again.
    __atomic_store_n(&header.control, header.control & ~1u, __ATOMIC_RELEASE);
  }
}

void Hostcall::answer(uint32_t service, uint64_t* slots) {
  switch (service) {
    case kServiceCall: {
      uint64_t out[2] = {0, 0};
      const auto function = reinterpret_cast<void (*)(uint64_t*, const uint64_t*)>(slots[0]);
      function(out, slots + 1);
      slots[0] = out[0];
      slots[1] = out[1];
      return;
    }
    case kServicePrintf:
      return take_message(slots);
    case kServiceMemory:
      slots[0] = ask_memory(slots[0], slots[1]);
      return;
    default:
      complain("a kernel asked for host service " + std::to_string(service) +
               ", which the simulator lacks");
      slots[0] = 0;
  }
}

// Memory of `bytes`, 0 when there is none; with an address, gives that back. The device library
// finds the slab of 2 MiB that a block lies in, and what is no block, by the address.
uint64_t Hostcall::ask_memory(uint64_t address, uint64_t bytes) {
  if (address != 0) {
    const auto given = given_.find(address);
    if (given == given_.end()) {
      complain("a kernel frees memory that device malloc has not given");
      return 0;
    }
    if (tools().memory) tools().memory->on_free(address, given->second);
    std::free(reinterpret_cast<void*>(address));
    given_.erase(given);
    return 0;
  }
  if (bytes == 0 || bytes > usable_card_memory()) return 0;
  const size_t alignment = bytes < kSlabBytes ? 4096 : kSlabBytes;
  const auto made = reinterpret_cast<uint64_t>(
      std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
  if (made == 0) return 0;
  given_[made] = bytes;
  announce(reinterpret_cast<void*>(made), bytes, MemoryKind::kDevice);
  return made;
}

uint64_t Hostcall::heap_address() {
  const std::lock_guard lock(mutex_);
  if (heap_ == 0) {
    void* made = std::aligned_alloc(4096, kHeapBytes);
    if (made == nullptr) return 0;
    std::memset(made, 0, kHeapBytes);
    announce(made, kHeapBytes, MemoryKind::kPinnedHost);
    heap_ = reinterpret_cast<uint64_t>(made);
  }
  return heap_;
}

void Hostcall::take_message(uint64_t* slots) {
  const uint64_t descriptor = slots[0];
  const uint64_t number = (descriptor & kBegin) != 0 ? next_message_++ : message_number(descriptor);
  auto& words = messages_[number];
  if (words.size() < kLongestMessage)
    words.insert(words.end(), slots + 1, slots + 1 + word_count(descriptor));
  if ((descriptor & kEnd) == 0) {
    slots[0] = (descriptor & 0xfe) | number << 8;
    return;
  }
  std::string text;
  const int stream = format_device_printf(words, text);
  messages_.erase(number);
  std::FILE* file = stream == 0 ? stdout : stderr;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
  slots[0] = text.size();
}

}  // namespace gfx906::rt

#include "card.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "pool.hpp"
#include "stream.hpp"

namespace gfx906::rt {
namespace {

struct ThreadState {
  int card = 0;
  hipError_t last_error = hipSuccess;
  std::unordered_map<int, Stream*> streams;
  // The per-thread streams end with their thread.
  ~ThreadState() {
    for (auto& [index, stream] : streams) Stream::destroy(stream);
  }
};
thread_local ThreadState thread_state;

int wanted_cards() {
  const char* text = std::getenv("GFX906_SIM_CARDS");
  if (text == nullptr || *text == 0) return 1;
  char* end = nullptr;
  const long n = std::strtol(text, &end, 10);
  if (*end != 0 || n < 0 || n > kMaxCards) {
    complain("GFX906_SIM_CARDS=" + std::string(text) + " is not a number from 0 to " +
             std::to_string(kMaxCards) + "; using 1");
    return 1;
  }
  return static_cast<int>(n);
}

// HIP_VISIBLE_DEVICES chooses among the physical cards; all virtual cards are alike, so only the
// count matters.
int visible_cards(int present) {
  const char* text = std::getenv("HIP_VISIBLE_DEVICES");
  if (text == nullptr) text = std::getenv("ROCR_VISIBLE_DEVICES");
  if (text == nullptr) return present;
  int count = 0;
  for (const char* p = text; *p != 0;) {
    char* end = nullptr;
    const long n = std::strtol(p, &end, 10);
    if (end == p || n < 0 || n >= present) break;
    ++count;
    p = *end == ',' ? end + 1 : end;
    if (*end != ',') break;
  }
  return count;
}

}  // namespace

size_t usable_card_memory() {
  static const size_t bytes = [] {
    const char* text = std::getenv("GFX906_SIM_MEMORY_MB");
    if (text == nullptr || *text == 0) return kCardMemory;
    constexpr size_t kMostMegabytes = kCardMemory >> 20;
    char* end = nullptr;
    const long long mb = std::strtoll(text, &end, 10);
    if (*end == 0 && mb >= 1) return std::min(static_cast<size_t>(mb), kMostMegabytes) << 20;
    complain("GFX906_SIM_MEMORY_MB=" + std::string(text) + " is not a number of megabytes; using " +
             std::to_string(kMostMegabytes));
    return kCardMemory;
  }();
  return bytes;
}

Card::Card(int index) : index_(index) {
  null_stream_ = Stream::create(*this, 0, 0, true);
  default_pool = pool = new MemPool(index);
}

Stream* Card::thread_stream() {
  Stream*& stream = thread_state.streams[index_];
  if (stream == nullptr) stream = Stream::create(*this, 0, 0, false);
  return stream;
}

const std::vector<Card*>& cards() {
  static const auto* list = [] {
    auto* made = new std::vector<Card*>;
    const int n = visible_cards(wanted_cards());
    for (int i = 0; i < n; ++i) made->push_back(new Card(i));
    return made;
  }();
  return *list;
}

Card* card(int index) {
  const auto& all = cards();
  return index >= 0 && static_cast<size_t>(index) < all.size() ? all[static_cast<size_t>(index)]
                                                               : nullptr;
}

Card& current_card() {
  return *cards()[static_cast<size_t>(thread_state.card)];
}
int current_card_index() {
  return thread_state.card;
}

bool set_current_card(int index) {
  if (card(index) == nullptr) return false;
  thread_state.card = index;
  return true;
}

hipError_t finish(hipError_t error) {
  if (error != hipSuccess && error != hipErrorNotReady) thread_state.last_error = error;
  return error;
}

hipError_t take_last_error() {
  const hipError_t error = thread_state.last_error;
  thread_state.last_error = hipSuccess;
  return error;
}

hipError_t peek_last_error() {
  return thread_state.last_error;
}

bool verbose() {
  static const bool on = [] {
    const char* text = std::getenv("GFX906_SIM_VERBOSE");
    return text != nullptr && *text != 0 && std::strcmp(text, "0") != 0;
  }();
  return on;
}

void complain(const std::string& message) {
  std::fprintf(stderr, "gfx906-sim: %s\n", message.c_str());
}

}  // namespace gfx906::rt

extern "C" int gfx906_sim_unsupported(const char* name) {
  using namespace gfx906::rt;
  if (verbose())
    complain(std::string(name) + " is not supported by the simulator (hipErrorNotSupported)");
  // hiprtc has its own codes; 11 is HIPRTC_ERROR_INTERNAL_ERROR.
  if (std::strncmp(name, "hiprtc", 6) == 0) return 11;
  return finish(hipErrorNotSupported);
}

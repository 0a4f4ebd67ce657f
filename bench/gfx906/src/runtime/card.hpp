// The virtual cards of this process and the calling thread's view of them: current card, last
// error.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "hip_abi.hpp"

namespace gfx906::rt {

constexpr size_t kCardMemory = 34342961152;  // bytes: the 32 GB MI50 as the driver reports it
constexpr int kMaxCards = 64;
// What a program can get of it: the driver keeps some for itself. GFX906_SIM_MEMORY_MB lowers it.
size_t usable_card_memory();

class Queue;

class Card {
 public:
  explicit Card(int index);
  int index() const { return index_; }
  Stream* null_stream() const { return null_stream_; }
  // The stream hipStreamPerThread names for the calling thread.
  Stream* thread_stream();
  // Sticky error of a kernel that failed, hipSuccess before.
  std::atomic<hipError_t> fault{hipSuccess};
  unsigned flags = 0;
  // hipDeviceSetLimit: stack of a work-item, printf buffer, heap of device malloc, in bytes. The
  // latter two are only remembered: kernels get what they ask for.
  std::array<std::atomic<size_t>, 3> limits{1 << 10, 1 << 20, 4 << 20};

  std::mutex mutex;                            // guards what follows
  std::set<Stream*> streams;                   // all streams of the card, the null stream included
  std::vector<std::shared_ptr<Queue>> queues;  // of these and of destroyed ones that still work
  std::set<int> peers;                         // cards this one may access
  MemPool* default_pool = nullptr;
  MemPool* pool = nullptr;

 private:
  int index_;
  Stream* null_stream_;
};

// All cards; their number is GFX906_SIM_CARDS (1 when unset, 0 is allowed: no card).
const std::vector<Card*>& cards();
Card* card(int index);  // nullptr out of range
Card& current_card();   // of the calling thread; there must be at least one card
int current_card_index();
bool set_current_card(int index);

// Remembers an error for hipGetLastError and returns it.
hipError_t finish(hipError_t error);
hipError_t take_last_error();
hipError_t peek_last_error();

bool verbose();  // GFX906_SIM_VERBOSE is set and not 0
// One line on stderr, with the simulator's name in front.
void complain(const std::string& message);

}  // namespace gfx906::rt

extern "C" int gfx906_sim_unsupported(const char* name);

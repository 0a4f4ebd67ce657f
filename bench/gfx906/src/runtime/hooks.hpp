// What the runtime tells the tools (checker, cost model) beside the executor's own Observer events,
// and how a tool gets into a running program: it implements MemoryListener and/or Observer and is
// put into Tools by install_tools in hooks.cpp, which runs once before the first allocation or
// dispatch.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "../machine.hpp"

namespace gfx906::rt {

enum class MemoryKind { kDevice, kPinnedHost, kRegisteredHost, kManaged, kVirtual, kGlobals };

// Called from API threads and stream workers, in the order in which the memory changes hands;
// thread-safe.
class MemoryListener {
 public:
  virtual ~MemoryListener() = default;
  virtual void on_allocate(uint64_t /*base*/, size_t /*bytes*/, MemoryKind, int /*card*/) {}
  virtual void on_free(uint64_t /*base*/, size_t /*bytes*/) {}
  virtual void on_write(uint64_t /*base*/, size_t /*bytes*/) {
  }  // a copy, a memset or the host filled it
};

struct Tools {
  Observer* observer = nullptr;  // passed to every Executor::run
  MemoryListener* memory = nullptr;
  // Bytes (of whole pages) to be left free around an allocation of this size; nullptr: none.
  size_t (*red_zone)(size_t bytes) = nullptr;
  // Seconds the last dispatch of this thread would take on the card, or a negative number when
  // unknown: the timeline (trace, event times) uses it instead of the host's own time.
  double (*estimate)(bool in_graph) = nullptr;
  void (*flush)() = nullptr;  // at the program's end: write reports
};

// The installed tools; made on first use.
Tools& tools();

// Calls `f` when the program ends, also by quick_exit, but not in a child made by fork: the results
// are its parent's.
template <void (*f)()>
void at_end() {
  static const pid_t owner = getpid();
  constexpr auto end = [] {
    if (getpid() == owner) f();
  };
  std::atexit(end);
  std::at_quick_exit(end);
}

}  // namespace gfx906::rt

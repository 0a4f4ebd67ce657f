// What the checker found: one entry per kind of fault and instruction, with the first occurrence in
// full and a count of the others. Thread-safe and bounded.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "machine.hpp"

namespace gfx906::check {

enum class FaultKind : uint8_t {
  kOutOfBounds,
  kUseAfterFree,
  kMisaligned,
  kNeverWritten,
  kLdsRace,
  kGlobalRace,
  kBarrierDivergence,
  kMissingWait,
  kMissingNop,
};
const char* fault_name(FaultKind kind);  // "out-of-bounds access"

struct Fault {
  FaultKind kind = FaultKind::kOutOfBounds;
  std::string kernel;                   // mangled name
  std::string instruction;              // disassembly
  std::string source;                   // "file:line" or empty
  std::vector<std::string> inlined_at;  // the same of the calls it was inlined through
  std::string detail;
  uint64_t code_offset = 0;  // of the instruction in its function
  std::string function;      // that holds the instruction: the kernel, or what it called
  std::array<uint32_t, 3> group{};
  uint32_t wave = 0;
  int lane = -1;  // -1: the whole wave
  int card = 0;
  uint64_t count = 1;  // instructions that did it
};

class Reports {
 public:
  static constexpr size_t kMost = 256;  // entries; later ones are only counted

  // Counts one more of an entry that exists (or has no room any more); false when it is new.
  bool counted(FaultKind kind, uint64_t pc);
  // Adds the entry and, with `to_stderr`, prints it.
  void add(FaultKind kind, const InstEvent& e, int lane, std::string detail);

  std::vector<Fault> all() const;
  uint64_t total() const { return total_; }
  bool to_stderr = false;

  std::string text() const;  // the entries and a closing line
  std::string json() const;  // {"faults": [...], "total": n, "dropped": n}

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<uint64_t, FaultKind>, size_t> index_;
  std::vector<Fault> faults_;
  std::atomic<uint64_t> total_{0};
  uint64_t dropped_ = 0;
};

std::string describe(const Fault& f);
// "file:line" of an instruction, or its function and offset where there is no debug information.
std::string place(const Program& program, uint64_t pc);

}  // namespace gfx906::check

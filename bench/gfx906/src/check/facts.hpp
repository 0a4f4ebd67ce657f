// What the checker needs to know of an instruction: the registers it reads and writes, the counters
// it moves, the wait states it asks for. Worked out once per instruction.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "decode/inst.hpp"
#include "decode/program.hpp"

namespace gfx906::check {

struct Registers {
  uint16_t first = 0;
  uint8_t count = 0;
  bool vector = false;
};

struct Facts {
  std::array<Registers, 7> reads{};
  std::array<Registers, 3> writes{};
  uint8_t read_count = 0, write_count = 0;
  bool valu = false, salu = false, vmem = false, flat = false, ds = false, smem = false;
  bool load = false;          // gives registers (also returning atomics)
  bool half = false;          // leaves part of its destination as it was (d16)
  bool vm_counted = false;    // moves vmcnt
  bool plain_copy = false;    // moves and selects: dword by dword
  bool carries_up = false;    // a result's low dword comes from its sources' low dwords alone
  bool carries_down = false;  // and its high dword from the high ones
  bool compares = false;      // its result decides what is done
  bool forgets = false;       // picks bytes or lanes: nothing is said about the result
  bool dpp = false, div_fmas = false, lane_select = false, writes_exec = false;
  bool needs_m0 = false;    // one wait state after a scalar write of M0
  bool wide_store = false;  // its data registers must not be overwritten by the next instruction
  bool hidden_lds = false;  // touches LDS without announcing where
  bool jump = false;        // to another function
  int8_t hwreg_read = -1, hwreg_write = -1;
  uint16_t states = 1;     // wait states that it gives
  Registers store_data;    // of a wide store
  bool sensitive = false;  // some instruction before it may be too near
  bool special = false;    // more to do than for a plain vector or scalar operation
  bool writes_m0 = false;  // by the scalar unit
  // Registers read or written, a bit each.
  std::array<uint64_t, 4> vectors{};
  std::array<uint64_t, 3> scalars{};
};

Facts facts_of(const Inst& i);

// The facts of a whole function, by the index of the instruction.
std::vector<Facts> facts_of(const Program& p);

// The facts of each program seen, worked out once. Thread-safe.
class FactBook {
 public:
  const std::vector<Facts>& of(const Program& p);

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<std::vector<Facts>>> pages_;  // by Program::serial
};

}  // namespace gfx906::check

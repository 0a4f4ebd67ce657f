// A function's machine words, decoded once: what the executor runs by index.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "decode/inst.hpp"
#include "status.hpp"

namespace gfx906 {

class CodeObject;

class Program {
 public:
  // Decodes `bytes` bytes of code at host address `base` and binds each instruction to its handler.
  // Instructions that are unknown decode to one word with info == nullptr; running into one is the
  // error, not their presence.
  Program(CodeObject& owner, std::string name, uint64_t base, uint64_t bytes);

  const std::string& name() const { return name_; }
  CodeObject& owner() const { return *owner_; }
  uint64_t serial() const { return serial_; }  // of this process; never that of another program
  uint64_t base() const { return base_; }
  uint64_t size() const { return bytes_; }
  const std::vector<Inst>& insts() const {
    return insts_;
  }  // the last one is a guard: it reports running off the end
  uint64_t address_of(const Inst& i) const { return base_ + i.offset; }
  uint32_t max_vgpr() const {
    return max_vgpr_;
  }  // one more than the highest vector register it names
  // The instruction that starts at the address; nullptr when none does.
  const Inst* at(uint64_t address) const;

 private:
  struct alignas(64) Lanes {
    uint32_t v[128];
  };
  const uint32_t* constant_lanes(uint64_t value);

  CodeObject* owner_;
  std::string name_;
  uint64_t serial_, base_, bytes_;
  uint32_t max_vgpr_ = 0;
  std::vector<Inst> insts_;
  std::vector<uint32_t> index_of_word_;  // ~0: not a start
  std::unordered_map<uint64_t, std::unique_ptr<Lanes>> constants_;
};

}  // namespace gfx906

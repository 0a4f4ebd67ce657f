// The line table of a code object (DWARF 2 to 5, .debug_line): which source line an instruction
// came from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine.hpp"

namespace gfx906 {

// Code that a call was replaced by, and where the call stood.
struct InlinedCall {
  uint64_t low, high;  // addresses as linked
  uint32_t file, line;
};

class LineTable {
 public:
  struct Row {
    uint64_t address;  // as linked
    uint32_t file, line;
    bool end;
  };
  std::vector<std::string> files;
  std::map<uint64_t, uint32_t> first_file;  // of each unit, by its offset in the section
  std::vector<Row> rows;  // sorted by address
  std::vector<InlinedCall> calls;  // a call inside another one comes after it
  std::optional<SourceLine> find(uint64_t address) const;
};

// Empty when the file has no (readable) line table. Compressed sections are not read.
LineTable read_line_table(std::span<const uint8_t> elf);

}  // namespace gfx906

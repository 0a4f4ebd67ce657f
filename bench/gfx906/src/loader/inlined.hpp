// Inlined calls of a code object (DWARF 4 and 5, .debug_info): through which calls the code of an
// inlined function came to its place.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "loader/dwarf.hpp"
#include "loader/dwarf_cursor.hpp"

namespace gfx906 {

// `first_file`: where each unit's files begin in the line table, by the unit's offset there. Units
// that cannot be read give none.
std::vector<InlinedCall> read_inlined_calls(const DwarfSections& sections,
                                            const std::map<uint64_t, uint32_t>& first_file);

}  // namespace gfx906

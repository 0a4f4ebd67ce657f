// Reads the pieces that DWARF sections are made of, and finds the sections.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace gfx906 {

// A read beyond the end sets `bad` and gives 0.
struct Cursor {
  const uint8_t* p;
  const uint8_t* end;
  bool bad = false;
  uint64_t u(int n) {
    if (end - p < n) {
      bad = true;
      return 0;
    }
    uint64_t v = 0;
    std::memcpy(&v, p, static_cast<size_t>(n));
    p += n;
    return v;
  }
  uint64_t uleb() {
    uint64_t v = 0;
    for (int shift = 0; p < end; shift += 7) {
      const uint8_t b = *p++;
      if (shift < 64) v |= static_cast<uint64_t>(b & 127) << shift;
      if (!(b & 128)) return v;
    }
    bad = true;
    return v;
  }
  int64_t sleb() {
    int64_t v = 0;
    for (int shift = 0; p < end;) {
      const uint8_t b = *p++;
      if (shift < 64) v |= static_cast<int64_t>(static_cast<uint64_t>(b & 127) << shift);
      shift += 7;
      if (!(b & 128)) return shift < 64 && (b & 64) ? v | static_cast<int64_t>(~0ull << shift) : v;
    }
    bad = true;
    return v;
  }
  // Names longer than any file system's are cut.
  std::string str() {
    const auto* z = static_cast<const uint8_t*>(std::memchr(p, 0, static_cast<size_t>(end - p)));
    if (!z) {
      bad = true;
      return {};
    }
    constexpr ptrdiff_t kLongest = 4096;
    std::string s(reinterpret_cast<const char*>(p), static_cast<size_t>(std::min(z - p, kLongest)));
    p = z + 1;
    return s;
  }
  void skip(uint64_t n) {
    if (n > static_cast<uint64_t>(end - p)) {
      bad = true;
      p = end;
    } else {
      p += n;
    }
  }
};

using Bytes = std::span<const uint8_t>;

// Empty where the file has none; compressed ones are not read.
struct DwarfSections {
  Bytes line, str, line_str, info, abbrev, ranges, rnglists, addr;
};
DwarfSections find_dwarf_sections(Bytes elf);

}  // namespace gfx906

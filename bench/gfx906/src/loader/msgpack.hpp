// Reads the MessagePack metadata of a code object into a small tree.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "status.hpp"

namespace gfx906 {

struct MsgValue {
  enum class Kind : uint8_t { kNil, kBool, kInt, kString, kArray, kMap } kind = Kind::kNil;
  int64_t integer = 0;  // also the bool
  std::string string;
  std::vector<MsgValue> items;    // of an array or a map
  std::vector<std::string> keys;  // of a map, one for each item

  const MsgValue* find(std::string_view key) const;
  uint64_t uint(std::string_view key, uint64_t fallback = 0) const;
  std::string text(std::string_view key) const;
};

// Errors: kCorrupt with the offset. Depth and sizes are bounded by the input's size.
Result<MsgValue> parse_msgpack(std::span<const uint8_t> bytes);

}  // namespace gfx906

// The file names of a model that is split over several files: PREFIX-00001-of-00004.gguf. Source:
// specs/gguf.md section 4. Names come only from the path the user gave, never from metadata.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace veloce::gguf {

inline constexpr std::uint32_t kMaxParts = 65535;

// The name of part `index` (from 0) of `count`.
inline std::string part_name(std::string_view prefix, std::uint32_t index, std::uint32_t count) {
  char suffix[64];
  std::snprintf(suffix, sizeof suffix, "-%05u-of-%05u.gguf", index + 1, count);
  return std::string(prefix) + suffix;
}

// The prefix of a path that is named exactly as part `index` of `count`; nothing when it is named
// otherwise.
inline std::optional<std::string> part_prefix(std::string_view path, std::uint32_t index,
                                              std::uint32_t count) {
  const std::string suffix = part_name("", index, count);
  if (path.size() <= suffix.size() || !path.ends_with(suffix)) return std::nullopt;
  return std::string(path.substr(0, path.size() - suffix.size()));
}

}  // namespace veloce::gguf

// Where the golden data lies, and how to read it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace veloce::test {

inline std::string env_or(const char* name, const std::string& fallback) {
  const char* v = std::getenv(name);
  return v && *v ? v : fallback;
}
inline std::filesystem::path source_dir() {
  return env_or("VELOCE_SOURCE_DIR", ".");
}

// The small set kept in the tree and the full one beside it, or only the folder that
// VELOCE_GOLDEN_DIR names.
inline std::vector<std::filesystem::path> golden_dirs() {
  namespace fs = std::filesystem;
  const std::string named = env_or("VELOCE_GOLDEN_DIR", "");
  if (!named.empty()) return {named};
  std::vector<fs::path> dirs;
  for (const fs::path& p : {source_dir() / "tests/golden", source_dir() / "../shared/golden"})
    if (fs::is_directory(p)) dirs.push_back(p);
  return dirs;
}
inline std::filesystem::path data_dir() {
  return env_or("VELOCE_DATA_DIR", (source_dir() / "../shared/data").string());
}

inline std::string read_text(const std::filesystem::path& p) {
  std::ifstream f(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}
inline std::vector<float> read_floats(const std::filesystem::path& p) {
  const std::string bytes = read_text(p);
  std::vector<float> v(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.begin() + std::ptrdiff_t(v.size() * sizeof(float)),
            reinterpret_cast<char*>(v.data()));
  return v;
}

}  // namespace veloce::test

// Where the tests find their data: golden folders and vocabularies (VELOCE_GOLDEN_DIR,
// VELOCE_DATA_DIR, or their defaults below and beside the source), and a place to write.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace veloce::test {

inline std::filesystem::path source_dir() {
  const char* dir = std::getenv("VELOCE_SOURCE_DIR");
  return dir != nullptr ? std::filesystem::path(dir) : std::filesystem::current_path();
}

// The roots of golden data: the small set kept in the tree and the full one beside it, so that a
// folder's name may be in both, or only what VELOCE_GOLDEN_DIR names.
inline std::vector<std::filesystem::path> golden_dirs() {
  if (const char* dir = std::getenv("VELOCE_GOLDEN_DIR"); dir != nullptr && *dir != 0) {
    if (std::filesystem::is_directory(dir)) return {dir};
    std::fprintf(stderr, "VELOCE_GOLDEN_DIR: there is no folder \"%s\"\n", dir);
    std::exit(1);
  }
  std::vector<std::filesystem::path> out;
  for (const char* dir : {"tests/golden", "../shared/golden"})
    if (std::filesystem::is_directory(source_dir() / dir)) out.push_back(source_dir() / dir);
  return out;
}

inline std::filesystem::path data_dir() {
  const char* dir = std::getenv("VELOCE_DATA_DIR");
  return dir != nullptr && *dir != 0 ? std::filesystem::path(dir) : source_dir() / "../shared/data";
}

// Files below `root` with this extension, sorted; empty when there is no such folder.
inline std::vector<std::filesystem::path> files_below(const std::filesystem::path& root,
                                                      const std::string& extension) {
  std::vector<std::filesystem::path> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root, ignored))
    if (entry.is_regular_file() && entry.path().extension() == extension)
      out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

// A fresh folder that goes away with its contents.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "veloce-test-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace veloce::test

// What the tests share: loading the code objects beside them, laying out kernel arguments.
#pragma once

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "machine.hpp"

namespace gfx906_test {

inline std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(f), {});
}
inline std::string data_dir() {
  const char* e = std::getenv("GFX906_TEST_DATA");
  return e ? e : GFX906_TEST_DATA_DIR;
}
// nullptr when the file is missing or bad.
inline std::shared_ptr<gfx906::CodeObject> load_kernels(const std::string& name) {
  const auto blobs = gfx906::extract_code_objects(read_file(data_dir() + "/" + name));
  if (!blobs || blobs->empty()) return nullptr;
  auto object = gfx906::CodeObject::load((*blobs)[0].bytes);
  return object ? *object : nullptr;
}

// Kernel arguments, each aligned to its size.
struct Args {
  std::vector<uint8_t> bytes;
  template <class T>
  Args& add(T v) {
    bytes.resize((bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T) + sizeof(T));
    std::memcpy(bytes.data() + bytes.size() - sizeof(T), &v, sizeof(T));
    return *this;
  }
};

}  // namespace gfx906_test

// How to read golden data.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/data_dirs.hpp"

namespace veloce::test {

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

// The golden quant-blocks for the tests of the formats: folders with blocks.json, source.f32 and,
// per type, the packed rows and the floats they stand for.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/data_dirs.hpp"

namespace veloce::test {

// The quant-blocks folders there are.
inline std::vector<std::filesystem::path> quant_block_folders() {
  std::vector<std::filesystem::path> folders;
  for (const auto& root : golden_dirs()) {
    if (std::filesystem::exists(root / "quant-blocks/blocks.json")) {
      folders.push_back(root / "quant-blocks");
    }
  }
  return folders;
}

template <class T>
std::vector<T> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

struct GoldenType {
  std::string name;
  std::uint32_t number;
  std::size_t values, bytes;
};

struct QuantBlocks {
  std::filesystem::path folder;
  std::size_t rows, columns;
  std::vector<GoldenType> types;

  explicit QuantBlocks(const std::filesystem::path& from) : folder(from) {
    const auto json = nlohmann::json::parse(std::ifstream(folder / "blocks.json"));
    rows = json.at("rows");
    columns = json.at("columns");
    for (const auto& t : json.at("types")) {
      types.push_back({t.at("name"), t.at("number"), t.at("block_values"), t.at("block_bytes")});
    }
  }
};

}  // namespace veloce::test

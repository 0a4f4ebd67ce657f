// Saved slots: what is written is read again, by its owner alone, and every damaged byte is
// noticed.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "slot_file.hpp"

using namespace veloce;
using namespace veloce::serve;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "veloce-slots-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

model::ModelInfo small_model() {
  model::ModelInfo info;
  info.architecture = "llama";
  info.vocabulary = 100;
  return info;
}

SlotState state_of(std::size_t tokens, std::size_t bytes) {
  SlotState state;
  for (std::size_t i = 0; i < tokens; ++i) state.tokens.push_back(std::int32_t(i % 100));
  for (std::size_t i = 0; i < bytes; ++i) state.bytes.push_back(std::byte(i * 7));
  return state;
}

}  // namespace

TEST_CASE("a saved slot is read again, empty ones too") {
  const Folder folder;
  const std::string path = (folder.path / "slot").string();
  for (const auto& [tokens, bytes] : {std::pair{0, 0}, {0, 5}, {3, 0}, {20, 1000}}) {
    const SlotState state = state_of(std::size_t(tokens), std::size_t(bytes));
    const auto written = write_slot_file(path, small_model(), "me", state);
    REQUIRE_MESSAGE(written.ok(), written.status().message());
    CHECK(*written == fs::file_size(path));
    const auto read = read_slot_file(path, small_model(), "me", 20);
    REQUIRE_MESSAGE(read.ok(), read.status().message());
    CHECK(read->state.tokens == state.tokens);
    CHECK(read->state.bytes == state.bytes);
    CHECK_FALSE(read_slot_file(path, small_model(), "you", 20).ok());
    CHECK_FALSE(write_slot_file(path, small_model(), "you", state).ok());
    if (tokens > 0) CHECK_FALSE(read_slot_file(path, small_model(), "me", tokens - 1).ok());
    model::ModelInfo other = small_model();
    other.vocabulary = 99;
    CHECK_FALSE(read_slot_file(path, other, "me", 20).ok());
  }
  // One file: what was written beside it is gone.
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
}

TEST_CASE("every damaged byte and every missing end is an error") {
  const Folder folder;
  const std::string path = (folder.path / "slot").string();
  REQUIRE(write_slot_file(path, small_model(), "me", state_of(5, 40)).ok());
  std::string whole;
  {
    std::ifstream in(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto refused = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    return !read_slot_file(path, small_model(), "me", 20).ok();
  };
  CHECK_FALSE(refused(whole));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = char(damaged[i] ^ 0x10);
    CHECK_MESSAGE(refused(damaged), "byte ", i);
    CHECK_MESSAGE(refused(whole.substr(0, i)), "cut at ", i);
  }
  CHECK(refused(whole + "x"));
}

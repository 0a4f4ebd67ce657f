// Split models: all parts from any part's name, and every way a set can be inconsistent.
#include "veloce/gguf/split.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/data_dirs.hpp"
#include "support/gguf_builder.hpp"
#include "veloce/gguf/file.hpp"

using namespace veloce;
using namespace veloce::test;
namespace fs = std::filesystem;

TEST_CASE("names of parts") {
  CHECK(gguf::part_name("dir/x", 0, 4) == "dir/x-00001-of-00004.gguf");
  CHECK(*gguf::part_prefix("dir/x-00002-of-00004.gguf", 1, 4) == "dir/x");
  CHECK(*gguf::part_prefix("x-00001-of-00002-00001-of-00002.gguf", 0, 2) == "x-00001-of-00002");
  CHECK_FALSE(gguf::part_prefix("x-00002-of-00004.gguf", 0, 4));
  CHECK_FALSE(gguf::part_prefix("x-00001-of-00004.gguf", 0, 5));
  CHECK_FALSE(gguf::part_prefix("x-1-of-4.gguf", 0, 4));
  CHECK_FALSE(gguf::part_prefix("-00001-of-00004.gguf", 0, 4));
  CHECK_FALSE(gguf::part_prefix("", 0, 4));
}

TEST_CASE("a split model is the same model, whichever part is named") {
  for (const bool bare_first : {false, true})
    for (const std::uint32_t alignment : {32u, 4096u}) {
      const TempDir dir;
      TinyModel model;
      if (alignment != 32) REQUIRE(model.keys().set_alignment(alignment).ok());
      const auto writer = model.writer();
      REQUIRE(writer.ok());
      const auto names = writer->write_split(dir.file("m"), 40000, bare_first);
      REQUIRE_MESSAGE(names.ok(), names.status().message());
      REQUIRE(names->size() > 2);
      for (const std::string& name : *names) {
        const auto file = gguf::File::open(name);
        REQUIRE_MESSAGE(file.ok(), file.status().message());
        CHECK(file->parts() == names->size());
        CHECK(file->path() == name);
        CHECK(file->architecture() == "llama");
        REQUIRE(file->tensors().size() == model.tensors().size());
        for (const TinyTensor& tensor : model.tensors()) {
          const gguf::TensorInfo* found = file->find_tensor(tensor.name);
          REQUIRE(found != nullptr);
          CHECK((bare_first ? found->part > 0 : found->part >= 0));
          CHECK(std::memcmp(found->data, tensor.values.data(), found->bytes) == 0);
          file->drop(*found);
          file->prefetch(*found);
        }
        CHECK(file->unchanged().ok());
      }
    }
}

namespace {

// Part `index` of a hand-made set of `count`, with one tensor; `change` may spoil its keys.
void write_part(const std::string& path, std::uint32_t index, std::uint32_t count,
                const std::function<void(gguf::Writer&)>& change = {}, std::string tensor = "") {
  static const std::vector<std::byte> kData(64);
  gguf::Writer part;
  part.set("split.no", std::uint16_t(index));
  part.set("split.count", std::uint16_t(count));
  part.set("split.tensors.count", std::int32_t(count));
  if (tensor.empty()) tensor = "t" + std::to_string(index);
  REQUIRE(part.add_tensor(tensor, 0, {16}, kData).ok());
  if (change) change(part);
  REQUIRE(part.write(path).ok());
}

}  // namespace

TEST_CASE("inconsistent sets are refused") {
  const TempDir dir;
  const auto name = [&](std::uint32_t index) { return gguf::part_name(dir.file("x"), index, 3); };
  for (std::uint32_t i = 0; i < 3; ++i) write_part(name(i), i, 3);
  REQUIRE(gguf::File::open(name(0)).ok());
  const auto refused = [&](std::initializer_list<std::string_view> words) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (!fs::exists(name(i))) continue;
      const auto file = gguf::File::open(name(i));
      REQUIRE_FALSE(file.ok());
      CAPTURE(file.status().message());
      for (const auto word : words) CHECK(file.status().message().find(word) != std::string::npos);
    }
  };
  SUBCASE("a part is missing") {
    fs::remove(name(2));
    refused({"x-00003-of-00003.gguf", "No such file"});
  }
  SUBCASE("a part is a directory") {
    fs::remove(name(1));
    fs::create_directory(name(1));
    CHECK_FALSE(gguf::File::open(name(0)).ok());
  }
  SUBCASE("two parts are swapped") {
    fs::rename(name(1), dir.file("y"));
    fs::rename(name(2), name(1));
    fs::rename(dir.file("y"), name(2));
    refused({"of-00003"});
  }
  SUBCASE("a part of another set") {
    write_part(name(1), 1, 4);
    refused({"x-00002-of-00003.gguf"});
  }
  SUBCASE("a part that is not split") {
    write_part(name(1), 1, 3, [](gguf::Writer& w) {
      w.remove("split.no");
      w.remove("split.count");
    });
    CHECK_FALSE(gguf::File::open(name(0)).ok());
  }
  SUBCASE("split.no is missing, too large, negative or a string") {
    write_part(name(1), 1, 3, [](gguf::Writer& w) { w.remove("split.no"); });
    refused({"split.no", "missing"});
    write_part(name(1), 3, 3);
    refused({"split.no", "3"});
    write_part(name(1), 1, 3, [](gguf::Writer& w) { w.set("split.no", std::int32_t(-1)); });
    refused({"split.no", "-1"});
    write_part(name(1), 1, 3, [](gguf::Writer& w) { w.set("split.no", "../../etc/passwd"); });
    refused({"split.no", "string"});
  }
  SUBCASE("split.count is absurd") {
    write_part(name(0), 0, 3, [](gguf::Writer& w) { w.set("split.count", ~std::uint64_t(0)); });
    CHECK_FALSE(gguf::File::open(name(0)).ok());
    write_part(name(0), 0, 3, [](gguf::Writer& w) { w.set("split.count", std::uint16_t(65535)); });
    CHECK_FALSE(gguf::File::open(name(0)).ok());
  }
  SUBCASE("the number of tensors is wrong in one part") {
    write_part(name(1), 1, 3,
               [](gguf::Writer& w) { w.set("split.tensors.count", std::int32_t(4)); });
    refused({"split.tensors.count", "3", "i32 4"});
    write_part(name(1), 1, 3,
               [](gguf::Writer& w) { w.set("split.tensors.count", std::int32_t(-3)); });
    refused({"split.tensors.count", "i32 -3"});
  }
  SUBCASE("one tensor name in two parts") {
    write_part(name(2), 2, 3, {}, "t0");
    refused({"\"t0\"", "same name"});
  }
  SUBCASE("a name without the suffix") {
    fs::rename(name(0), dir.file("model.gguf"));
    const auto file = gguf::File::open(dir.file("model.gguf"));
    REQUIRE_FALSE(file.ok());
    CHECK(file.status().message().find("-00001-of-00003.gguf") != std::string::npos);
  }
}

TEST_CASE("split.count of 0 or 1 is an ordinary file under any name") {
  const TempDir dir;
  for (const std::uint32_t count : {0u, 1u}) {
    write_part(dir.file("any name"), 0, count);
    CHECK(gguf::File::open(dir.file("any name")).ok());
  }
}

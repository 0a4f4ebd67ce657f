// What the writer writes is what the reader reads; and what it refuses to write.
#include "veloce/gguf/writer.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/data_dirs.hpp"
#include "support/gguf_builder.hpp"
#include "veloce/gguf/file.hpp"

using namespace veloce;
using namespace veloce::test;

TEST_CASE("every value type comes back as it was") {
  gguf::Writer out;
  const auto round = [&](auto value) {
    using T = decltype(value);
    out.set("k", value);
    out.set_array("a", std::vector<T>{value, T(0), std::numeric_limits<T>::max(),
                                      std::numeric_limits<T>::lowest()});
    const auto bytes = out.to_bytes();
    REQUIRE(bytes.ok());
    const auto file = gguf::File::from_memory(*bytes, "values");
    REQUIRE_MESSAGE(file.ok(), file.status().message());
    CHECK(*file->metadata().get<T>("k") == value);
    const gguf::Value* array = file->metadata().find("a");
    CHECK(array->element_kind() == gguf::kKindOf<T>);
    CHECK(array->count() == 4);
    const T want[] = {value, T(0), std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()};
    CHECK(std::memcmp(array->bytes().data(), want, sizeof want) == 0);
  };
  round(std::uint8_t(200));
  round(std::int8_t(-100));
  round(std::uint16_t(60000));
  round(std::int16_t(-30000));
  round(std::uint32_t(4000000000));
  round(std::int32_t(-2000000000));
  round(std::uint64_t(1) << 63);
  round(std::numeric_limits<std::int64_t>::min());
  round(1.5f);
  round(-2.5e300);
  out.set("yes", true);
  out.set("text", std::string("a\0b", 3));
  out.set_array("texts", std::vector<std::string>{"", "x", std::string("\0\n\xFF", 3)});
  out.set("gone", 1u);
  out.remove("gone");
  out.remove("never there");
  const auto bytes = out.to_bytes();
  REQUIRE(bytes.ok());
  const auto file = gguf::File::from_memory(*bytes, "values");
  REQUIRE(file.ok());
  CHECK(*file->metadata().get_bool("yes"));
  CHECK(*file->metadata().get_string("text") == std::string_view("a\0b", 3));
  CHECK(*file->metadata().get_string_array("texts") ==
        std::vector<std::string_view>{"", "x", {"\0\n\xFF", 3}});
  CHECK_FALSE(file->metadata().has("gone"));
  CHECK(file->metadata().entries()[0].key == "k");  // replaced in place
}

TEST_CASE("tensors of every type, streamed in pieces") {
  gguf::Writer out;
  std::vector<std::vector<std::byte>> data;
  for (const TypeInfo& type : kTypes) {
    std::vector<std::byte> bytes(type.bytes * 2 * 3 * 5);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte((i * 31 + type.id) & 255);
    data.push_back(std::move(bytes));
  }
  std::size_t i = 0;
  for (const TypeInfo& type : kTypes) {
    const auto& bytes = data[i++];
    REQUIRE(out.add_tensor(std::string(type.name), type.id, {type.values * 2, 3, 5},
                           [&bytes](const gguf::Writer::Sink& sink) {
                             for (std::size_t at = 0; at < bytes.size(); at += 7)
                               if (Status s = sink(std::span(bytes).subspan(
                                       at, std::min<std::size_t>(7, bytes.size() - at)));
                                   !s)
                                 return s;
                             return Status();
                           })
                .ok());
  }
  const TempDir dir;
  REQUIRE(out.write(dir.file("all.gguf")).ok());
  CHECK_FALSE(std::filesystem::exists(dir.file("all.gguf.unfinished")));
  const auto file = gguf::File::open(dir.file("all.gguf"));
  REQUIRE_MESSAGE(file.ok(), file.status().message());
  REQUIRE(file->tensors().size() == data.size());
  for (i = 0; i < data.size(); ++i) {
    const gguf::TensorInfo& tensor = file->tensors()[i];
    CHECK(tensor.name == tensor.type_name());
    CHECK(tensor.rows() == 15);
    REQUIRE(tensor.bytes == data[i].size());
    CHECK(std::memcmp(tensor.data, data[i].data(), tensor.bytes) == 0);
  }
}

TEST_CASE("the writer refuses what no reader would take") {
  gguf::Writer out;
  const std::vector<std::byte> data(64);
  CHECK_FALSE(out.add_tensor("", 0, {16}, data).ok());
  CHECK_FALSE(out.add_tensor(std::string(64, 'n'), 0, {16}, data).ok());
  CHECK_FALSE(out.add_tensor("t", 4, {16}, data).ok());
  CHECK_FALSE(out.add_tensor("t", 0, {0}, data).ok());
  CHECK_FALSE(out.add_tensor("t", 0, {1, 1, 1, 1, 16}, data).ok());
  CHECK_FALSE(out.add_tensor("t", 0, {1ull << 33, 1ull << 33}, data).ok());
  CHECK_FALSE(out.add_tensor("t", 8, {33}, data).ok());
  CHECK_FALSE(out.set_alignment(0).ok());
  CHECK_FALSE(out.set_alignment(48).ok());
  const TempDir dir;
  for (const std::uint64_t length : {15, 17}) {
    gguf::Writer wrong;
    REQUIRE(wrong.add_tensor("t", 0, {length}, data).ok());
    const Status status = wrong.write(dir.file("wrong.gguf"));
    CHECK_FALSE(status.ok());
    CHECK(status.message().find("\"t\"") != std::string::npos);
    CHECK(std::filesystem::is_empty(dir.path()));
  }
  out.set("general.alignment", 64u);
  CHECK_FALSE(out.to_bytes().ok());
  CHECK(out.set_alignment(64).ok());
  CHECK(out.to_bytes().ok());
  CHECK_FALSE(out.write(dir.file("no/such/folder.gguf")).ok());
  // Neither a device nor a folder is replaced, and of a set that fails nothing stays.
  CHECK(out.write("/dev/null").message().find("device") != std::string::npos);
  CHECK(out.write(dir.path().string()).message().find("directory") != std::string::npos);
  REQUIRE(out.add_tensor("good", 0, {16}, data).ok());
  REQUIRE(out.add_tensor("short", 0, {17}, data).ok());
  CHECK_FALSE(out.write_split(dir.file("set"), 64).ok());
  CHECK(std::filesystem::is_empty(dir.path()));
}

// What loads: valid files, ordinary and unusual; typed access to metadata; real vocabularies and
// golden models.
#include "veloce/gguf/file.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "raw_gguf.hpp"
#include "support/data_dirs.hpp"
#include "support/gguf_builder.hpp"

using namespace veloce;
using namespace veloce::test;
using gguf::Kind;

TEST_CASE("typed access accepts what fits and names what does not") {
  const Raw raw = [] {
    Raw out(0, 9);
    out.key("i8", Kind::kI8).put(std::int8_t(-5));
    out.key("u64", Kind::kU64).put(~std::uint64_t(0));
    out.key("i64", Kind::kI64).put(std::int64_t(70000));
    out.key("f32", Kind::kF32).put(0.5f);
    out.key("f64", Kind::kF64).put(0.25);
    out.key("yes", Kind::kBool).put('\2');
    out.key("text", Kind::kString).string("na\xC3\xAFve");
    out.key("bytes", Kind::kArray).put(Kind::kU8).put(std::uint64_t(3)).text("\x01\x02\xFF");
    out.key("none", Kind::kArray).put(Kind::kString).put(std::uint64_t(0));
    return out;
  }();
  const auto file = raw.open();
  REQUIRE(file.ok());
  const gguf::Metadata& m = file->metadata();
  CHECK(*m.get_i64("i8") == -5);
  CHECK(*m.get<std::int8_t>("i8") == -5);
  CHECK(*m.get_u64("u64") == ~std::uint64_t(0));
  CHECK(*m.get_u64("i64") == 70000);
  CHECK(*m.get<int>("i64") == 70000);
  CHECK(*m.get_f64("f32") == 0.5);
  CHECK(*m.get<float>("f64") == 0.25f);
  CHECK(*m.get_bool("yes"));
  CHECK(*m.get_string("text") == "na\xC3\xAFve");
  CHECK(*m.get<std::string>("text") == "na\xC3\xAFve");
  CHECK(*m.get_int_array("bytes") == std::vector<std::int64_t>{1, 2, 255});
  CHECK(m.get_string_array("none")->empty());
  CHECK(*m.get_or<int>("missing", 7) == 7);
  CHECK(*m.get_or<int>("i8", 7) == -5);
  CHECK(*m.get_in<int>("i8", -5, 5) == -5);
  CHECK(m.find("missing") == nullptr);
  CHECK(*m.get_int_per_layer("i8", 2) == std::vector<std::int64_t>{-5, -5});
  CHECK(*m.get_int_per_layer("bytes", 3) == std::vector<std::int64_t>{1, 2, 255});

  const auto says = [](const Status& status, Code code,
                       std::initializer_list<std::string_view> words) {
    CAPTURE(status.message());
    CHECK(int(status.code()) == int(code));
    for (const auto word : words) CHECK(status.message().find(word) != std::string::npos);
  };
  says(m.get_u64("i8").status(), Code::kCorrupt, {"raw.gguf", "\"i8\"", "integer from 0", "i8 -5"});
  says(m.get_i64("u64").status(), Code::kCorrupt, {"\"u64\"", "u64 18446744073709551615"});
  says(m.get<std::uint16_t>("i64").status(), Code::kCorrupt, {"0 to 65535", "i64 70000"});
  says(m.get_f64("i8").status(), Code::kCorrupt, {"a float", "i8 -5"});
  says(m.get_bool("i8").status(), Code::kCorrupt, {"a bool", "i8 -5"});
  says(m.get_string("f32").status(), Code::kCorrupt, {"a string", "f32 0.5"});
  says(m.get_u64("text").status(), Code::kCorrupt, {"string \"na\\xc3\\xafve\""});
  says(m.get_u64("bytes").status(), Code::kCorrupt, {"array of 3 u8"});
  says(m.get_u64("missing").status(), Code::kNotFound,
       {"raw.gguf", "\"missing\"", "missing", "integer"});
  says(m.get_or<int>("text", 1).status(), Code::kCorrupt, {"\"text\""});
  says(m.get_in<int>("i64", 1, 9).status(), Code::kCorrupt, {"from 1 to 9", "i64 70000"});
  says(m.get_string_array("bytes").status(), Code::kCorrupt, {"array of strings", "array of 3 u8"});
  says(m.get_float_array("bytes").status(), Code::kCorrupt, {"array of floats"});
  says(m.get_int_array("i8").status(), Code::kCorrupt, {"array of integers", "i8 -5"});
  says(m.get_int_per_layer("bytes", 4).status(), Code::kCorrupt,
       {"array of 4 integers", "array of 3 u8"});
}

TEST_CASE("valid files that are merely unusual load") {
  SUBCASE("any alignment") {
    for (std::uint32_t alignment = 1; alignment <= gguf::kMaxAlignment; alignment *= 2) {
      TinyModel model;
      REQUIRE(model.keys().set_alignment(alignment).ok());
      const auto bytes = model.bytes();
      REQUIRE(bytes.ok());
      const auto file = gguf::File::from_memory(*bytes, "aligned");
      REQUIRE(file.ok());
      for (const auto& tensor : file->tensors())
        CHECK((tensor.data - bytes->data()) % alignment == 0);
    }
  }
  SUBCASE("tensors in any order, with gaps, and bytes after the end") {
    const Raw raw = Raw(3, 0)
                        .tensor("c", {8}, 0, 256)
                        .tensor("a", {8}, 0, 0)
                        .tensor("b", {2, 2, 2}, 0, 96)
                        .pad()
                        .zeros(256 + 32)
                        .text("the rest of the file");
    const auto file = raw.open();
    REQUIRE(file.ok());
    CHECK(file->tensors()[0].name == "c");
    CHECK(file->find_tensor("b")->dims[2] == 2);
    CHECK(file->find_tensor("b")->data - file->find_tensor("a")->data == 96);
  }
  SUBCASE("no padding after the last tensor, a scalar, 4 dimensions, key of 65535 bytes") {
    const Raw raw = Raw(2, 1)
                        .u32(std::string(65535, 'k'), 1)
                        .tensor("scalar", {}, 0, 0)
                        .tensor("four", {1, 2, 3, 4}, 24, 32)
                        .pad()
                        .zeros(32 + 24);
    const auto file = raw.open();
    REQUIRE(file.ok());
    CHECK(file->find_tensor("scalar")->elements() == 1);
    CHECK(file->find_tensor("scalar")->bytes == 4);
    CHECK(file->find_tensor("four")->rows() == 24);
  }
  SUBCASE("no tensors, no keys, and padding that is not zero") {
    CHECK(Raw(0, 0).open().ok());
    CHECK(Raw(0, 0).text("trailing").open().ok());
    CHECK(Raw(1, 0).tensor("t", {1}, 24, 0).text(std::string(100, 'x')).open().ok());
  }
}

TEST_CASE("views stay valid when the file moves, and dropped pages can be read again") {
  const TempDir dir;
  TinyModel model({.hidden = 256, .layers = 1, .ffn = 512});
  REQUIRE(model.write(dir.file("m.gguf")).ok());
  auto opened = gguf::File::open(dir.file("m.gguf"));
  REQUIRE(opened.ok());
  const std::string_view arch = opened->architecture();
  const gguf::TensorInfo before = *opened->find_tensor("blk.0.ffn_up.weight");
  gguf::File file = *std::move(opened);
  gguf::File other = std::move(file);
  file = std::move(other);
  CHECK(arch == "llama");
  CHECK(file.architecture().data() == arch.data());
  const gguf::TensorInfo* after = file.find_tensor("blk.0.ffn_up.weight");
  CHECK(after->data == before.data);
  file.prefetch(*after);
  file.drop(*after);
  CHECK(std::memcmp(after->data, model.tensor("blk.0.ffn_up.weight").values.data(), after->bytes) ==
        0);
  std::vector<std::byte> part(after->bytes / 2);
  file.drop();
  REQUIRE(file.read(*after, 3, part).ok());
  CHECK(std::memcmp(after->data + 3, part.data(), part.size()) == 0);
  CHECK(file.unchanged().ok());
  std::ofstream(dir.file("m.gguf"), std::ios::app) << "more";
  const Status changed = file.unchanged();
  CHECK_FALSE(changed.ok());
  CHECK(changed.message().find("m.gguf") != std::string::npos);
  std::filesystem::resize_file(dir.file("m.gguf"), 4096);
  const Status shortened = file.read(*after, 3, part);
  CHECK(shortened.code() == Code::kIo);
  CHECK(shortened.message().find("m.gguf") != std::string::npos);
}

TEST_CASE("real vocabularies") {
  const auto files = files_below(data_dir() / "vocab", ".gguf");
  if (files.empty()) MESSAGE("SKIP: no vocabularies in VELOCE_DATA_DIR/vocab");
  for (const auto& path : files) {
    CAPTURE(path.string());
    const auto file = gguf::File::open(path.string());
    REQUIRE_MESSAGE(file.ok(), file.status().message());
    const auto tokens = file->metadata().get_string_array("tokenizer.ggml.tokens");
    REQUIRE(tokens.ok());
    CHECK(tokens->size() > 1000);
    CHECK(file->metadata().get_int_array("tokenizer.ggml.token_type")->size() == tokens->size());
    std::size_t empty = 0;
    for (const auto token : *tokens) empty += token.empty();
    CHECK(empty <= 1);
  }
}

TEST_CASE("golden models, and each copied through the writer") {
  std::vector<std::filesystem::path> files;
  for (const auto& root : golden_dirs())
    for (const auto& path : files_below(root, ".gguf")) files.push_back(path);
  if (files.empty()) MESSAGE("SKIP: no models in the golden folders");
  for (const auto& path : files) {
    CAPTURE(path.string());
    const auto file = gguf::File::open(path.string());
    REQUIRE_MESSAGE(file.ok(), file.status().message());
    CHECK_FALSE(file->architecture().empty());
    CHECK(file->tensor_bytes() > 1000);
    gguf::Writer writer;
    if (file->alignment() != gguf::kDefaultAlignment)
      REQUIRE(writer.set_alignment(std::uint32_t(file->alignment())).ok());
    for (const auto& entry : file->metadata().entries()) writer.set(entry.key, entry.value);
    for (const auto& tensor : file->tensors())
      REQUIRE(writer
                  .add_tensor(std::string(tensor.name), tensor.type,
                              {tensor.dims, tensor.dims + tensor.n_dims},
                              {tensor.data, std::size_t(tensor.bytes)})
                  .ok());
    const auto copy = writer.to_bytes();
    REQUIRE(copy.ok());
    std::ifstream stream(path, std::ios::binary);
    const std::string original{std::istreambuf_iterator<char>(stream), {}};
    // Byte for byte, but for the padding at the end, which not every writer puts.
    const std::size_t common = std::min(original.size(), copy->size());
    CHECK(std::memcmp(original.data(), copy->data(), common) == 0);
    CHECK(copy->size() - common < file->alignment());
    CHECK(original.size() - common < file->alignment());
  }
}

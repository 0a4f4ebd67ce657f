// Files that lie: each is refused with a message that names the file, the record or field, and the
// value.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "raw_gguf.hpp"
#include "support/data_dirs.hpp"
#include "support/gguf_builder.hpp"

using namespace veloce;
using namespace veloce::test;
using gguf::Kind;

namespace {

// The error must hold all the words.
void refused(const Result<gguf::File>& file, std::initializer_list<std::string_view> words,
             Code code = Code::kCorrupt) {
  REQUIRE_FALSE(file.ok());
  const std::string& message = file.status().message();
  CAPTURE(message);
  CHECK(int(file.status().code()) == int(code));
  for (const std::string_view word : words) {
    CAPTURE(word);
    CHECK(message.find(word) != std::string::npos);
  }
  for (const char c : message) REQUIRE((c >= 0x20 && c < 0x7F));
}

Raw one_tensor(std::initializer_list<std::uint64_t> dims, std::uint32_t type, std::uint64_t offset,
               std::size_t data = 4096) {
  return Raw(1, 0).tensor("t", dims, type, offset).pad().zeros(data);
}

constexpr std::uint64_t kHuge[] = {1ull << 20, 1ull << 31, 1ull << 32, (1ull << 62) + 1,
                                   1ull << 63, ~0ull - 7,  ~0ull};

}  // namespace

TEST_CASE("header") {
  refused(Raw().open(), {"raw.gguf", "0 bytes"});
  refused(Raw().text("GGUF").put(std::uint32_t(3)).open(), {"raw.gguf", "8 bytes"});
  refused(Raw().text("GGML").zeros(60).open(), {"raw.gguf", "not a GGUF", "\"GGML\""});
  refused(Raw().text("FUGG").zeros(60).open(), {"\"FUGG\""});
  refused(Raw().text("\x7f\n\"\xff").zeros(60).open(), {"\\x7f\\x0a\\\"\\xff"});
  refused(Raw().text("version https://git-lfs.github.com/spec/v1\noid sha256:00\n").open(),
          {"Git LFS"});
  for (const std::uint32_t version : {0u, 1u, 4u, 0x7FFFFFFFu, 0xFFFFFFFFu})
    refused(Raw(0, 0, version).open(), {"version", std::to_string(version)}, Code::kUnsupported);
  refused(Raw(0, 0, 0x03000000).open(), {"big-endian"}, Code::kUnsupported);
  refused(Raw(0, 0, 0x02000000).open(), {"big-endian"}, Code::kUnsupported);
  CHECK(Raw(0, 0, 3).open().ok());
  CHECK(Raw(0, 0, 2).open().ok());
  for (const std::uint64_t count : kHuge) {
    refused(Raw(0, count).zeros(100).open(), {"metadata count", std::to_string(count)});
    refused(Raw(count, 0).zeros(100).open(), {"tensor count", std::to_string(count)});
  }
  refused(Raw(0, 8).zeros(100).open(), {"metadata count", "8"});
  refused(Raw(5, 0).zeros(100).open(), {"tensor count", "5"});
}

TEST_CASE("keys") {
  for (const std::uint64_t length : kHuge)
    refused(Raw(0, 1).put(length).zeros(64).open(),
            {"metadata record 0", "key length", std::to_string(length)});
  refused(Raw(0, 1).put(std::uint64_t(65)).zeros(64).open(),
          {"metadata record 0", "key of 65 bytes"});
  refused(Raw(0, 1).put(std::uint64_t(65536)).zeros(70000).open(), {"key length", "65536"});
  refused(Raw(0, 1).u32("", 1).zeros(64).open(), {"metadata record 0", "empty"});
  refused(Raw(0, 1).u32(std::string_view("a\0b", 3), 1).open(), {"\"a\\x00b\"", "control"});
  refused(Raw(0, 1).u32("a\nb", 1).open(), {"\"a\\x0ab\"", "control"});
  refused(Raw(0, 2).u32("same", 1).u32("same", 1).open(), {"0 and 1", "same key", "\"same\""});
  refused(Raw(0, 3).u32("same", 1).u32("other", 1).key("same", Kind::kBool).put('\1').open(),
          {"0 and 2", "\"same\""});
}

TEST_CASE("values") {
  for (const std::uint32_t type : {13u, 255u, 0x80000000u, 0xFFFFFFFFu}) {
    refused(Raw(0, 1).key("k", Kind(type)).zeros(64).open(),
            {"\"k\"", "value type", std::to_string(type)});
    refused(Raw(0, 1).key("k", Kind::kArray).put(type).put(std::uint64_t(1)).zeros(64).open(),
            {"\"k\"", "element type", std::to_string(type)});
  }
  refused(Raw(0, 1).key("k", Kind::kArray).put(Kind::kArray).put(std::uint64_t(1)).zeros(64).open(),
          {"\"k\"", "arrays of arrays"});
  for (const std::uint64_t count : kHuge)
    for (std::uint32_t kind = 0; kind < gguf::kKindCount; ++kind) {
      if (Kind(kind) == Kind::kArray) continue;
      refused(Raw(0, 1).key("k", Kind::kArray).put(kind).put(count).zeros(999).open(),
              {"\"k\"", "array count", std::to_string(count), gguf::kind_name(Kind(kind))});
    }
  for (const std::uint64_t length : kHuge) {
    refused(Raw(0, 1).key("k", Kind::kString).put(length).zeros(64).open(),
            {"\"k\"", "string", std::to_string(length)});
    refused(Raw(0, 1)
                .key("k", Kind::kArray)
                .put(Kind::kString)
                .put(std::uint64_t(2))
                .string("x")
                .put(length)
                .zeros(64)
                .open(),
            {"\"k\"", "string 1 of the array"});
  }
  for (const std::uint32_t bad : {0u, 3u, 48u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu, 1u << 21})
    refused(Raw(0, 1).u32("general.alignment", bad).open(),
            {"general.alignment", "power of two", std::to_string(bad)});
  refused(Raw(0, 1).key("general.alignment", Kind::kU64).put(std::uint64_t(32)).open(),
          {"general.alignment", "u32", "u64 32"});
  refused(Raw(0, 1).key("general.alignment", Kind::kString).string("32").open(),
          {"general.alignment", "u32", "string \"32\""});
}

TEST_CASE("tensor records") {
  for (const std::uint64_t length : kHuge)
    refused(Raw(1, 0).put(length).zeros(64).open(),
            {"tensor record 0", "name length", std::to_string(length)});
  refused(Raw(1, 0).tensor("", {1}, 0, 0).pad().zeros(64).open(), {"tensor record 0", "empty"});
  refused(Raw(1, 0).tensor(std::string(64, 'n'), {1}, 0, 0).pad().zeros(64).open(),
          {"name length", "64"});
  CHECK(Raw(1, 0).tensor(std::string(63, 'n'), {1}, 0, 0).pad().zeros(64).open().ok());
  refused(Raw(1, 0).tensor(std::string_view("a\0", 2), {1}, 0, 0).pad().zeros(64).open(),
          {"\"a\\x00\"", "control"});
  refused(Raw(2, 0).tensor("t", {8}, 0, 0).tensor("t", {8}, 0, 32).pad().zeros(64).open(),
          {"0 and 1", "\"t\""});
  refused(one_tensor({1, 1, 1, 1, 1}, 0, 0).open(), {"\"t\"", "number of dimensions", "5"});
  for (const std::uint32_t dims : {5u, 0x80000000u, 0xFFFFFFFFu})
    refused(Raw(1, 0).string("t").put(dims).zeros(4096).open(),
            {"\"t\"", "number of dimensions", std::to_string(dims)});
  refused(one_tensor({4, 0}, 0, 0).open(), {"\"t\"", "dimension 1", "0"});
  refused(one_tensor({~0ull}, 0, 0).open(), {"\"t\"", "dimension 0", "-1"});
  refused(one_tensor({4, 1ull << 63}, 0, 0).open(),
          {"\"t\"", "dimension 1", "-9223372036854775808"});
  refused(one_tensor({1ull << 32, 1ull << 32, 2, 1}, 0, 0).open(),
          {"\"t\"", "product", "4294967296"});
  refused(one_tensor({1ull << 32, 1ull << 31}, 0, 0).open(), {"\"t\"", "product"});
  refused(one_tensor({1ull << 62}, 0, 0).open(), {"\"t\"", "bytes", "overflow"});
  refused(one_tensor({(1ull << 61) - 1, 4}, 0, 0).open(), {"\"t\"", "bytes", "overflow"});
  for (const std::uint32_t type : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u})
    refused(one_tensor({256}, type, 0).open(), {"\"t\"", "id " + std::to_string(type), "retired"},
            Code::kUnsupported);
  for (const std::uint32_t type : {43u, 1000u, 0x80000000u, 0xFFFFFFFFu})
    refused(one_tensor({256}, type, 0).open(), {"\"t\"", "id " + std::to_string(type), "unknown"},
            Code::kUnsupported);
  for (const TypeInfo& type : kTypes) {
    CHECK(one_tensor({type.values}, type.id, 0).open().ok());
    if (type.values > 1)
      refused(one_tensor({type.values + 1, type.values}, type.id, 0).open(),
              {"\"t\"", "multiple of " + std::to_string(type.values), type.name});
  }
}

TEST_CASE("placement of tensors") {
  refused(one_tensor({4}, 0, 1).open(), {"\"t\"", "offset: 1", "alignment 32"});
  refused(one_tensor({4}, 0, 33).open(), {"\"t\"", "offset: 33"});
  CHECK(one_tensor({4}, 0, 4064).open().ok());
  CHECK(one_tensor({1024}, 0, 0).open().ok());
  refused(one_tensor({1025}, 0, 0).open(), {"\"t\"", "offset: 0", "4100", "4096"});
  refused(one_tensor({9}, 0, 4064).open(), {"\"t\"", "offset: 4064", "36"});
  for (const std::uint64_t offset : {1ull << 32, 1ull << 63, ~0ull - 31, ~0ull << 5, 4128ull})
    refused(one_tensor({8}, 0, offset).open(), {"\"t\"", "offset: " + std::to_string(offset)});
  refused(one_tensor({1ull << 61}, 24, 0).open(), {"\"t\"", "size 2305843009213693952"});
  refused(Raw(1, 0).tensor("t", {1}, 0, 0).open(), {"data section", "ends"});
  const auto two = [](std::uint64_t first, std::uint64_t second) {
    return Raw(2, 0)
        .tensor("a", {16}, 0, first)
        .tensor("b", {16}, 0, second)
        .pad()
        .zeros(256)
        .open();
  };
  CHECK(two(0, 64).ok());
  CHECK(two(64, 0).ok());
  CHECK(two(192, 0).ok());
  refused(two(0, 0), {"lies inside"});
  refused(two(0, 32), {"\"b\"", "offset: 32", "lies inside", "\"a\"", "64"});
  refused(two(32, 0), {"\"a\"", "offset: 32", "lies inside", "\"b\""});
}

TEST_CASE("a file cut at any byte is refused, or is whole but for padding") {
  TinyModel model(
      {.hidden = 4, .layers = 1, .heads = 1, .kv_heads = 1, .head_dim = 4, .ffn = 4, .vocab = 261});
  const auto bytes = model.bytes();
  REQUIRE(bytes.ok());
  const auto whole = gguf::File::from_memory(*bytes, "cut.gguf");
  REQUIRE(whole.ok());
  std::size_t needed = 0;  // the end of the last tensor's data
  for (const auto& tensor : whole->tensors())
    needed = std::max(needed, std::size_t(tensor.data - bytes->data()) + tensor.bytes);
  for (std::size_t size = 0; size < bytes->size(); ++size) {
    // A copy that ends where the file ends, so that a sanitizer sees any read beyond it.
    const std::vector<std::byte> cut(bytes->begin(), bytes->begin() + std::ptrdiff_t(size));
    const auto file = gguf::File::from_memory(cut, "cut.gguf");
    CAPTURE(size);
    REQUIRE(file.ok() == (size >= needed));
    if (!file) REQUIRE(file.status().message().find("cut.gguf: ") == 0);
  }
}

TEST_CASE("anything but a regular file is refused at once") {
  const TempDir dir;
  const auto open = [](const std::string& path) { return gguf::File::open(path); };
  const auto begin = std::chrono::steady_clock::now();
  refused(open(dir.path().string()), {dir.path().string(), "directory"}, Code::kInvalidArgument);
  REQUIRE(::mkfifo(dir.file("pipe.gguf").c_str(), 0600) == 0);
  refused(open(dir.file("pipe.gguf")), {"pipe.gguf", "pipe"}, Code::kInvalidArgument);
  refused(open("/dev/zero"), {"/dev/zero", "device"}, Code::kInvalidArgument);
  refused(open("/dev/null"), {"device"}, Code::kInvalidArgument);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  dir.file("s").copy(address.sun_path, sizeof address.sun_path - 1);
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
    refused(open(dir.file("s")), {"socket"}, Code::kInvalidArgument);
  ::close(socket);
  refused(open(dir.file("missing.gguf")), {"missing.gguf", "No such file"}, Code::kNotFound);
  refused(open(dir.file("a\0b.gguf" + std::string(1, '\0'))), {"NUL"}, Code::kInvalidArgument);
  std::ofstream(dir.file("empty.gguf")).close();
  refused(open(dir.file("empty.gguf")), {"empty.gguf", "0 bytes"});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}

TEST_CASE("a sparse file of many gigabytes costs neither time nor memory") {
  const TempDir dir;
  const std::string path = dir.file("sparse.gguf");
  const auto write = [&](const Raw& head) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(head.span().data()),
               std::streamsize(head.span().size()));
    return ::truncate(path.c_str(), off_t(64) << 30) == 0;
  };
  const auto begin = std::chrono::steady_clock::now();
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  for (const std::uint64_t count : {1ull << 20, 1ull << 30, 1ull << 32}) {
    if (!write(Raw(count, 1).key("k", Kind::kArray).put(Kind::kString).put(count))) return;
    CHECK_FALSE(gguf::File::open(path).ok());
    if (!write(Raw(1ull << 20, count))) return;
    CHECK_FALSE(gguf::File::open(path).ok());
  }
  ::getrusage(RUSAGE_SELF, &after);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  // Pages of the file that were looked at count as resident, so this is not zero.
  CHECK(after.ru_maxrss - before.ru_maxrss < 300 * 1024);
}

TEST_CASE("many names with one beginning stay fast") {
  constexpr std::uint32_t kKeys = 60000;
  Raw raw(0, kKeys);
  for (std::uint32_t i = 0; i < kKeys; ++i)
    raw.u32(std::string(200, 'k') + std::to_string(i * 7919u % kKeys), i);
  const auto begin = std::chrono::steady_clock::now();
  const auto file = raw.open();
  REQUIRE(file.ok());
  CHECK(*file->metadata().get<int>(std::string(200, 'k') + "0") == 0);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

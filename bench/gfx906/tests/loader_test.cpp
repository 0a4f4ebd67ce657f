// The loader and decoder on what they should read, and on damaged files: an error or a result,
// never a crash.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <elf.h>
#include <sys/resource.h>

#include <random>

#include "decode/inst.hpp"
#include "kernels.hpp"
#include "loader/dwarf.hpp"
#include "loader/inlined.hpp"
#include "loader/msgpack.hpp"

using namespace gfx906;

namespace {

using Buffer = std::vector<uint8_t>;

template <class T>
void append(Buffer& b, T v) {
  const auto* p = reinterpret_cast<const uint8_t*>(&v);
  b.insert(b.end(), p, p + sizeof v);
}
void append(Buffer& b, const Buffer& more) {
  b.insert(b.end(), more.begin(), more.end());
}
Buffer text(const std::string& s) {
  return {s.begin(), s.end()};
}
Buffer kernels_elf() {
  const auto blobs =
      extract_code_objects(gfx906_test::read_file(gfx906_test::data_dir() + "/kernels.co"));
  REQUIRE(blobs.ok());
  REQUIRE(blobs->size() == 1);
  return (*blobs)[0].bytes;
}
bool says(const Status& s, const char* what) {
  return !s && s.message().find(what) != std::string::npos;
}
// What the process has needed at most so far, in MB.
long most_memory() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  return r.ru_maxrss / 1024;
}

}  // namespace

TEST_CASE("kernels, symbols, metadata of both toolchains' code objects") {
  for (const char* file : {"kernels.co", "kernels-hip5.co"}) {
    CAPTURE(file);
    const auto object = gfx906_test::load_kernels(file);
    REQUIRE(object);
    CHECK(object->abi_version() >= 4);
    CHECK(object->target().find("gfx906") != std::string::npos);
    const Kernel* k = object->find_kernel("axpy");
    REQUIRE(k);
    CHECK(k == object->find_kernel("axpy.kd"));
    REQUIRE(k->info().args.size() >= 4);
    CHECK(k->info().args[0].value_kind == "global_buffer");
    CHECK(k->info().args[3].size == 4);
    CHECK(k->info().explicit_kernarg_size == 28);
    CHECK(k->info().vgpr_alloc % 4 == 0);
    const Occupancy o = occupancy(k->info(), 256);
    CHECK(o.waves_per_simd == 10);
    const Kernel* tile = object->find_kernel("matvec_i8x8");
    REQUIRE(tile);
    CHECK(tile->info().lds_size == 8192);
    CHECK(occupancy(tile->info(), 256, 57344).groups_per_cu == 1);
    const auto text = disassemble(*object, *k);
    REQUIRE(text.ok());
    CHECK(text->find("global_load_dword") != std::string::npos);
    CHECK(text->find("s_endpgm") != std::string::npos);
    CHECK(object->source_line(k->info().entry_address).has_value());
    CHECK_FALSE(object->program_at(16).ok());
  }
}

TEST_CASE("damaged bundles and code objects are errors, not crashes") {
  std::mt19937 rng(1);
  const std::vector<uint8_t> whole =
      gfx906_test::read_file(gfx906_test::data_dir() + "/kernels.co");
  REQUIRE(whole.size() > 4096);
  const auto blobs = extract_code_objects(whole);
  REQUIRE(blobs.ok());
  REQUIRE(blobs->size() == 1);
  CHECK(extract_code_objects(whole, "gfx90a")->empty());
  CHECK(extract_code_objects({}).ok());
  const char* asked = std::getenv("GFX906_LOADER_ROUNDS");
  const int rounds = asked ? std::atoi(asked) : 400;
  for (int round = 0; round < rounds; ++round) {
    std::vector<uint8_t> bad = round % 2 ? (*blobs)[0].bytes : whole;
    if (round % 5 == 0) bad.resize(rng() % bad.size());
    // Mostly the headers, where the sizes and offsets are.
    for (int k = 0; k < 8 && !bad.empty(); ++k) {
      const size_t at = rng() % (rng() % 2 ? std::min<size_t>(bad.size(), 2048) : bad.size());
      bad[at] = static_cast<uint8_t>(rng());
    }
    const auto found = extract_code_objects(bad);
    if (!found) continue;
    for (const CodeObjectBlob& b : *found) {
      const auto object = CodeObject::load(b.bytes);
      if (!object) {
        CHECK_FALSE(object.status().message().empty());
        continue;
      }
      for (const auto& k : (*object)->kernels()) {
        (void)disassemble(**object, *k);
        (void)(*object)->source_line(k->info().entry_address);
        (void)occupancy(k->info(), k->info().max_workgroup_size);
      }
    }
  }
}

TEST_CASE("sizes that are only claimed take no memory") {
  const long before = most_memory();
  Buffer nested;  // arrays in arrays, each as long as what follows would allow
  for (int k = 0; k < 30; ++k) {
    nested.push_back(0xdd);
    append(nested, __builtin_bswap32(1u << 22));
  }
  nested.resize(nested.size() + (1u << 22), 0xc1);
  CHECK(says(parse_msgpack(nested).status(), "MessagePack"));

  Buffer compressed = text("CCOB");  // 4 GB of nothing
  append(compressed, uint16_t{1});
  append(compressed, uint16_t{1});
  append(compressed, ~uint32_t{0});
  compressed.resize(200);
  CHECK(says(extract_code_objects(compressed).status(), "unpacked size"));

  const Buffer elf = kernels_elf();
  Buffer bundle = text("__CLANG_OFFLOAD_BUNDLE__");
  const std::string target = "hipv4-amdgcn-amd-amdhsa--gfx906";
  const uint64_t count = 4000, head = 32 + count * (24 + target.size());
  append(bundle, count);
  for (uint64_t k = 0; k < count; ++k) {
    append(bundle, head);
    append(bundle, uint64_t{elf.size()});
    append(bundle, uint64_t{target.size()});
    append(bundle, text(target));
  }
  append(bundle, elf);
  CHECK(says(extract_code_objects(bundle).status(), "overlap"));
  CHECK(most_memory() - before < 200);
}

TEST_CASE("a kernel whose descriptor asks for more than there is does not start") {
  const Buffer elf = kernels_elf();
  const auto whole = CodeObject::load(elf);
  REQUIRE(whole.ok());
  const uint64_t at = (*whole)->find_kernel("axpy")->info().descriptor_address -
                      reinterpret_cast<uint64_t>((*whole)->image().data());
  const Buffer arguments(28);
  const auto run = [&](size_t field, uint32_t value) {
    Buffer bad = elf;
    std::memcpy(bad.data() + at + field, &value, 4);
    const auto object = CodeObject::load(bad);
    REQUIRE(object.ok());
    Dispatch d;
    d.kernel = (*object)->find_kernel("axpy");
    d.grid = d.block = {64, 1, 1};
    d.kernarg = arguments;
    return Executor::shared().run(d);
  };
  const long before = most_memory();
  for (const uint32_t huge : {131056u + 4, 0x7fffffffu, ~0u}) {
    CHECK(says(run(0, huge), "axpy: LDS of"));
    CHECK(says(run(4, huge), ("axpy: scratch of " + std::to_string(huge) + " bytes").c_str()));
  }
  for (const uint32_t huge : {(1u << 20) + 1, ~0u - 62, ~0u})
    CHECK(says(run(8, huge), "axpy: arguments of"));
  CHECK(most_memory() - before < 200);
}

TEST_CASE("a host program without a section of code objects has none, whatever its texts say") {
  Buffer program = kernels_elf();
  program[18] = EM_X86_64;
  append(program, text("__CLANG_OFFLOAD_BUNDLE__ is how bundles begin"));
  const auto found = extract_code_objects(program);
  REQUIRE(found.ok());
  CHECK(found->empty());
  CHECK(says(extract_code_objects(text("__CLANG_OFFLOAD_BUNDLE__ is how bundles begin")).status(),
             "entry count"));
}

TEST_CASE("parts of a code object that lie over each other are an error") {
  const Buffer elf = kernels_elf();
  Elf64_Ehdr h;
  std::memcpy(&h, elf.data(), sizeof h);
  for (size_t k = 1; k < h.e_shnum; ++k) {
    CAPTURE(k);
    Buffer bad = elf;
    Elf64_Shdr s;
    uint8_t* at = bad.data() + h.e_shoff + k * sizeof s;
    std::memcpy(&s, at, sizeof s);
    if (s.sh_type == SHT_NOBITS) continue;
    s.sh_offset = 0;
    s.sh_size = bad.size();
    std::memcpy(at, &s, sizeof s);
    CHECK(says(CodeObject::load(bad).status(), "overlap"));
  }
  Buffer bad = elf;  // every segment the whole file
  for (size_t k = 0; k < h.e_phnum; ++k) {
    Elf64_Phdr p;
    uint8_t* at = bad.data() + h.e_phoff + k * sizeof p;
    std::memcpy(&p, at, sizeof p);
    p.p_type = PT_LOAD;
    p.p_offset = 0;
    p.p_filesz = bad.size();
    p.p_memsz = std::max<uint64_t>(p.p_memsz, bad.size());
    std::memcpy(at, &p, sizeof p);
  }
  CHECK(says(CodeObject::load(bad).status(), "overlap"));
}

TEST_CASE("debug information that leads nowhere or everywhere ends") {
  // A form that says that its form follows, a million times.
  DwarfSections s;
  const Buffer abbrev = {1, 0x1d, 0, 0x55, 0x16, 0, 0, 0};
  Buffer info;
  append(info, uint32_t{8 + 1000000});
  append(info, uint16_t{4});
  append(info, uint32_t{0});
  append(info, Buffer{8, 1});
  info.resize(12 + 1000000, 0x16);
  s.abbrev = abbrev;
  s.info = info;
  CHECK(read_inlined_calls(s, {}).empty());

  // A line table whose file entries have no fields, and very many of them.
  Buffer elf(sizeof(Elf64_Ehdr)), line;
  append(line, uint32_t{0});
  append(line, uint16_t{5});
  append(line, Buffer{8, 0});
  append(line, uint32_t{0});
  append(line,
         Buffer{4, 1, 1, 0xfb, 14, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0xff, 0xff, 0xff, 0x7f});
  const auto length = static_cast<uint32_t>(line.size() - 4);
  std::memcpy(line.data(), &length, 4);
  Elf64_Ehdr h{};
  h.e_shentsize = sizeof(Elf64_Shdr);
  h.e_shnum = 2;
  h.e_shstrndx = 1;
  Elf64_Shdr sections[2]{};
  sections[0].sh_type = sections[1].sh_type = SHT_PROGBITS;
  sections[0].sh_offset = elf.size();
  sections[0].sh_size = line.size();
  append(elf, line);
  sections[1].sh_offset = elf.size();
  append(elf, text(".debug_line"));
  elf.push_back(0);
  sections[1].sh_size = elf.size() - sections[1].sh_offset;
  h.e_shoff = elf.size();
  append(elf, sections);
  std::memcpy(elf.data(), &h, sizeof h);
  CHECK(read_line_table(elf).files.empty());
}

TEST_CASE("any two words decode to an instruction with a text, or to none") {
  std::mt19937 rng(2);
  int known = 0;
  for (int round = 0; round < 200000; ++round) {
    const uint32_t words[2] = {static_cast<uint32_t>(rng()), static_cast<uint32_t>(rng())};
    const Inst i = decode_one(words, 1 + rng() % 2);
    REQUIRE(i.words >= 1);
    REQUIRE(i.words <= 2);
    REQUIRE_FALSE(to_text(i, 0).empty());
    known += i.info != nullptr;
  }
  CHECK(known > 50000);
}

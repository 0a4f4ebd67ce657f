// The loader and decoder on what they should read, and on damaged files: an error or a result,
// never a crash.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <random>

#include "decode/inst.hpp"
#include "kernels.hpp"

using namespace gfx906;

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
  for (int round = 0; round < 400; ++round) {
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
      for (const auto& k : (*object)->kernels()) (void)disassemble(**object, *k);
    }
  }
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

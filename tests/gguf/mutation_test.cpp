// Thousands of damaged files, the same ones on every run: none may crash the loader, and what it
// accepts must be safe to read. VELOCE_FUZZ_RUNS sets how many (2000 by default).
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "exercise.hpp"
#include "raw_gguf.hpp"
#include "support/gguf_builder.hpp"
#include "support/mutate.hpp"

using namespace veloce;
using namespace veloce::test;

namespace {

// Small files of different make: a whole model, one with every kind of value, one with every type
// of tensor.
std::vector<Bytes> seeds() {
  std::vector<Bytes> out;
  out.push_back(*TinyModel({.hidden = 8,
                            .layers = 1,
                            .heads = 1,
                            .kv_heads = 1,
                            .head_dim = 8,
                            .ffn = 8,
                            .vocab = 261})
                     .bytes());
  gguf::Writer values;
  values.set("u8", std::uint8_t(1));
  values.set("i16", std::int16_t(-1));
  values.set("f64", 1.0);
  values.set("flag", true);
  values.set("text", "some text");
  values.set_array("strings", std::vector<std::string>{"a", "", "ccc"});
  values.set_array("ints", std::vector<std::int32_t>{1, 2, 3});
  values.set_array("floats", std::vector<float>{1, 2, 3});
  values.set("split.count", std::uint16_t(1));
  if (!values.set_alignment(8)) std::abort();
  const Bytes data(4096);
  for (const TypeInfo& type : kTypes)
    if (!values.add_tensor(std::string(type.name), type.id, {type.values, 2},
                           std::span(data).first(type.bytes * 2)))
      std::abort();
  out.push_back(*values.to_bytes());
  const Raw empty(0, 0);
  out.emplace_back(empty.span().begin(), empty.span().end());
  return out;
}

}  // namespace

TEST_CASE("mutated files") {
  const char* runs_text = std::getenv("VELOCE_FUZZ_RUNS");
  const long runs = runs_text != nullptr ? std::atol(runs_text) : 2000;
  const std::vector<Bytes> originals = seeds();
  std::mt19937_64 rng(20240917);
  std::uint64_t checksum = 0;
  long accepted = 0;
  for (const Bytes& original : originals) REQUIRE(exercise(original, checksum));
  for (long run = 0; run < runs; ++run) {
    Bytes bytes = originals[std::size_t(run) % originals.size()];
    for (std::uint64_t n = 1 + rng() % 3; n > 0; --n) mutate(bytes, rng);
    bytes.shrink_to_fit();  // so that a sanitizer sees a read past the end
    accepted += exercise(bytes, checksum);
  }
  MESSAGE("mutated files: " << runs << " read, " << accepted << " accepted (checksum " << checksum
                            << ")");
  CHECK(accepted < runs);
}

// What every format promises beside the goldens: the integer form means the same as decode, codes
// keep their range, quantizers come back near the source, and the lists, the type table and the
// dispatch agree.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "veloce/formats/all.hpp"

namespace veloce::test {
namespace {

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

template <BlockFormat F>
typename F::Block random_block(std::mt19937& random) {
  typename F::Block block;
  auto* bytes = reinterpret_cast<std::uint8_t*>(&block);
  for (std::size_t i = 0; i < F::kBytes; ++i) bytes[i] = std::uint8_t(random());
  return block;
}

template <IntDotFormat F>
void check_law() {
  INFO(F::kName);
  std::mt19937 random(F::kGgufType);
  int lowest = 1000, highest = -1000, wrong = 0;
  for (int round = 0; round < 300; ++round) {
    const auto block = random_block<F>(random);
    float decoded[F::kValues];
    F::decode(block, decoded);
    for (int chunk = 0; chunk < F::kValues / 16; ++chunk) {
      const I8x16 codes = F::unpack16(block, chunk);
      const Affine a = F::affine(block, chunk);
      if (!F::kHasMin) wrong += !same_bits(a.min, 0.0f);
      if (F::kScaleGroup == 32) {
        const Affine first = F::affine(block, chunk & ~1);
        wrong += !same_bits(a.scale, first.scale) || !same_bits(a.min, first.min);
      }
      for (int i = 0; i < 16; ++i) {
        const int code = codes.v[i];
        lowest = std::min(lowest, code);
        highest = std::max(highest, code);
        const float value = a.scale * float(code) - a.min;
        wrong += F::kExactAffine && !same_bits(value, decoded[16 * chunk + i]);
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(lowest == F::kMinCode);
  CHECK(highest == F::kMaxCode);
  static_assert(F::kScaleGroup == 16 || F::kScaleGroup == 32);
  static_assert(F::kValues % F::kScaleGroup == 0);
}

TEST_CASE("scale * code - min is decode, bit for bit, and codes span their range") {
  for_each_format(IntDotFormats{}, []<IntDotFormat F>() { check_law<F>(); });
}

// The largest error of a value relative to the largest value of the row.
template <class F>
double error_bound(float size) {
  std::uint32_t type = F::kGgufType;
  switch (type) {
    case F32::kGgufType:
      return 0;
    case F16::kGgufType:
      return 0x1p-11;
    case BF16::kGgufType:
      return 0x1p-8;
    case Q8_0::kGgufType:
      return 0.0045;
    case IQ4_NL::kGgufType:
    case IQ4_XS::kGgufType:
      return 0.16;
    case Q1_0::kGgufType:
      return 1;
    case Q2_0::kGgufType:
    case TQ1_0::kGgufType:
    case TQ2_0::kGgufType:
      return 0.501;
    // The exponent of the largest value is the block's: 6 must stand for anything below 8.
    case MXFP4::kGgufType:
      return 0.251;
    // Half of the step from 4 to 6 and a rounded scale, whose least value is 2^-9: smaller rows
    // vanish.
    case NVFP4::kGgufType:
      return size < 0.01f ? 1 : 0.25;
  }
  // Little more than a code step: the fits of the K-quants give up range to lower the mean error.
  if constexpr (IntDotFormat<F>) return 2.2 / (F::kMaxCode - F::kMinCode);
  return 0;
}

template <QuantizableFormat F>
void check_round_trip() {
  INFO(F::kName);
  constexpr int kCount = 4 * 256;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const float size : {1e-3f, 1.0f, 300.0f}) {
    std::vector<float> source(kCount), back(kCount);
    for (float& x : source) x = size * normal(random);
    std::vector<typename F::Block> blocks(kCount / F::kValues);
    F::quantize_row(source.data(), blocks.data(), kCount);
    CHECK(first_invalid_block<F>(blocks.data(), blocks.size()) == blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) F::decode(blocks[i], &back[i * F::kValues]);
    float largest = 0, worst = 0;
    for (int i = 0; i < kCount; ++i) {
      largest = std::max(largest, std::fabs(source[i]));
      worst = std::max(worst, std::fabs(source[i] - back[i]));
    }
    CHECK(worst <= error_bound<F>(size) * largest);
  }
}

TEST_CASE("quantizers come back near the source") {
  for_each_format(QuantizableFormats{}, []<QuantizableFormat F>() { check_round_trip<F>(); });
}

// Rows that have broken quantizers elsewhere. The answer may be a block that valid() refuses, but a
// finite row within binary16 gives a valid one, and nothing may be undefined (the sanitizer build
// runs this).
TEST_CASE("quantizers take any row") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float finite[] = {0.0f,   -0.0f, 1e-45f, -1e-45f, 1e-38f,   -1e-30f,
                          1e-16f, 6e-8f, -6e-8f, 1.0f,    -60000.0f};
  const float other[] = {inf, -inf, nan, 3e38f, -3e38f};
  for_each_format(QuantizableFormats{}, [&]<QuantizableFormat F>() {
    INFO(F::kName);
    const auto quantize = [](const std::vector<float>& row) {
      std::vector<typename F::Block> blocks(row.size() / F::kValues);
      F::quantize_row(row.data(), blocks.data(), row.size());
      float out[F::kValues];
      for (const auto& block : blocks) F::decode(block, out);
      return first_invalid_block<F>(blocks.data(), blocks.size()) == blocks.size();
    };
    for (const float x : finite) {
      CHECK(quantize(std::vector<float>(256, x)));
      std::vector<float> single(256, 0.0f);
      single[131] = x;
      CHECK(quantize(single));
    }
    for (const float x : other) {
      quantize(std::vector<float>(256, x));
      std::vector<float> single(256, 1.0f);
      single[131] = x;
      quantize(single);
    }
  });
}

TEST_CASE("a zero row quantizes to zeros") {
  for_each_format(QuantizableFormats{}, []<QuantizableFormat F>() {
    INFO(F::kName);
    const std::vector<float> zeros(256, 0.0f);
    std::vector<typename F::Block> blocks(256 / F::kValues);
    F::quantize_row(zeros.data(), blocks.data(), 256);
    float out[F::kValues];
    F::decode(blocks.back(), out);
    for (float v : out) CHECK(v == 0.0f);
  });
}

TEST_CASE("valid refuses every scale field that is not finite, and nothing else") {
  for_each_format(AllFormats{}, []<BlockFormat F>() {
    INFO(F::kName);
    std::mt19937 random(11);
    for (int round = 0; round < 2000; ++round) {
      const auto block = random_block<F>(random);
      float out[F::kValues];
      F::decode(block, out);
      bool finite = true;
      for (float v : out) finite = finite && std::isfinite(v);
      // A code of 0 turns an infinite scale into NaN, so decode shows every broken field. The large
      // scales of MXFP4 are legal although they overflow.
      if (!std::same_as<F, MXFP4>) CHECK(F::valid(block) == finite);
    }
    typename F::Block zero{};
    CHECK(F::valid(zero));
  });
}

TEST_CASE("the scales of the 4-bit floats") {
  for (int e = 0; e < 256; ++e) {
    MXFP4::Block block{};
    block.e = std::uint8_t(e);
    CHECK(MXFP4::valid(block) == (e != 255));
  }
  // What the byte stands for (twice its halved form) comes back as the byte.
  for (int byte = 0; byte < 0x78; ++byte) {
    CHECK(int(NVFP4::float_to_ue4m3(2 * ue4m3_half_to_float(std::uint8_t(byte)))) == byte);
  }
  const float inf = std::numeric_limits<float>::infinity();
  for (float x : {448.0f, 1e30f, inf}) CHECK(NVFP4::float_to_ue4m3(x) == 0x7E);
  for (float x :
       {0.0f, -0.0f, -1.0f, -inf, 1e-30f, 0x1p-11f, std::numeric_limits<float>::quiet_NaN()}) {
    CHECK(NVFP4::float_to_ue4m3(x) == 0);
  }
  CHECK(NVFP4::float_to_ue4m3(0x1p-10f) == 1);  // half of the least value, rounded up
  CHECK(NVFP4::float_to_ue4m3(1.0625f) == 0x39);
}

TEST_CASE("dispatch finds the format, passes its answer on, and names what it lacks") {
  using Some = FormatList<Q4_0, Q8_0>;
  const auto name = []<BlockFormat F>() -> Result<std::string> { return std::string(F::kName); };
  CHECK(*dispatch_format(8, Some{}, name) == "Q8_0");
  CHECK(*dispatch_format(2, Some{}, name) == "Q4_0");

  const auto fail = []<BlockFormat F>() -> Status { return {Code::kIo, std::string(F::kName)}; };
  CHECK(dispatch_format(8, Some{}, fail).code() == Code::kIo);

  const auto message = [&](std::uint32_t id) {
    const auto r = dispatch_format(id, Some{}, name);
    CHECK(r.status().code() == Code::kUnsupported);
    return r.status().message();
  };
  CHECK(message(12) == "tensor type 12 (Q4_K) is not supported here; supported are: Q4_0, Q8_0");
  CHECK(message(4).find("4 (a type that GGUF no longer uses)") != std::string::npos);
  CHECK(message(4000000000u).find("4000000000 (not a GGUF type)") != std::string::npos);
  // The list in the message is the whole one, however far the search went.
  CHECK(message(0).find("Q4_0, Q8_0") != std::string::npos);
}

TEST_CASE("the type table") {
  std::set<std::uint32_t> ids;
  for (const TypeInfo& type : kTypes) {
    CHECK(ids.insert(type.id).second);
    CHECK(find_type(type.id) == &type);
    CHECK(find_type(type.name) == &type);
    CHECK(!retired_type(type.id));
    CHECK(AllFormats::contains(type.id) == type.weight);
  }
  for (std::uint32_t id : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 255u, 0xFFFFFFFFu}) {
    CHECK(find_type(id) == nullptr);
  }
  CHECK(find_type("iq2_xxs")->id == 16);
  CHECK(find_type("Q4_k")->bytes == 144);
  CHECK(find_type("Q4") == nullptr);
  CHECK(find_type("") == nullptr);
  CHECK(find_type(std::uint32_t{15})->bytes == 292);
}

}  // namespace
}  // namespace veloce::test

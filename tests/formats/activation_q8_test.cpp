// The 8-bit activation blocks: the rule at its edges.
#include "veloce/formats/activation_q8.hpp"

#include <doctest/doctest.h>

#include <cfenv>
#include <random>
#include <vector>

namespace veloce::test {
namespace {

// The rule in other words: division in double decides, except where the binary32 product rounds
// differently.
void check_block(const float* x, int count, const ActivationQ8& block) {
  float amax = 0;
  for (int i = 0; i < count; ++i) amax = std::max(amax, std::fabs(x[i]));
  CHECK(block.scale == amax / 127.0f);
  const float inverse = 1.0f / block.scale;
  int sums[2] = {0, 0};
  for (int i = 0; i < 32; ++i) {
    const int expected = i < count ? int(std::nearbyint(x[i] * inverse)) : 0;
    CHECK(int(block.q[i]) == expected);
    sums[i / 16] += block.q[i];
  }
  CHECK(block.sums[0] == sums[0]);
  CHECK(block.sums[1] == sums[1]);
}

TEST_CASE("codes, sums and tails of random rows of any size") {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const std::size_t n : {1u, 15u, 16u, 17u, 31u, 32u, 33u, 64u, 200u}) {
    for (const float size : {1e-30f, 1e-4f, 1.0f, 1e30f}) {
      std::vector<float> x(n);
      for (float& v : x) v = size * normal(random);
      std::vector<ActivationQ8> blocks(activation_blocks(n));
      quantize_activation_row(x.data(), n, blocks.data());
      for (std::size_t i = 0; i < n; i += 32) {
        check_block(&x[i], int(std::min<std::size_t>(32, n - i)), blocks[i / 32]);
      }
    }
  }
  CHECK(activation_blocks(0) == 0);
}

TEST_CASE("ties go to the even code, the largest value is 127") {
  float x[32] = {127, -127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 126.5f, -0.0f};
  const ActivationQ8 b = quantize_activation_block(x, 32);
  CHECK(b.scale == 1.0f);
  const int expected[] = {127, -127, 0, 2, 2, 0, -2, -2, 126, 0};
  for (int i = 0; i < 10; ++i) CHECK(int(b.q[i]) == expected[i]);
}

TEST_CASE("no magnitude leaves the code range") {
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    const std::uint32_t bits = random() & 0x7FFFFFFFu;
    const float x[1] = {std::bit_cast<float>(bits)};
    const ActivationQ8 b = quantize_activation_block(x, 1);
    if (bits >= kActivationInfinityBits) {
      CHECK((std::isnan(b.scale) && b.q[0] == 0));
    } else if (bits < kActivationZeroBits) {
      CHECK((b.scale == 0.0f && b.q[0] == 0));
    } else {
      CHECK(b.q[0] == 127);
    }
  }
}

TEST_CASE("an infinity or a NaN anywhere makes the block NaN, and only its block") {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    for (int at : {0, 17, 31}) {
      std::vector<float> x(64, 1.0f);
      x[at] = bad;
      ActivationQ8 b[2];
      quantize_activation_row(x.data(), 64, b);
      CHECK(std::isnan(b[0].scale));
      for (int q : b[0].q) CHECK(q == 0);
      CHECK((b[0].sums[0] == 0 && b[0].sums[1] == 0));
      CHECK(b[1].q[0] == 127);
      CHECK(b[1].sums[1] == 16 * 127);
    }
  }
}

}  // namespace
}  // namespace veloce::test

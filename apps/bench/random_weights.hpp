// Random weights in any tensor type, without quantizing: random codes, and scale fields chosen so
// that the decoded values have mean near zero and a given standard deviation. Every block is one
// that a loader's checks accept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "veloce/core/status.hpp"

namespace veloce::bench {

// xoshiro256** (Blackman and Vigna, 2018, public domain): the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t next() {
    const std::uint64_t result = rotated(state_[1] * 5, 7) * 9, shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotated(state_[3], 45);
    return result;
  }
  // Near-normal, mean 0, deviation 1: the sum of four uniform 16-bit numbers.
  float normal() {
    const std::uint64_t bits = next();
    const std::uint32_t sum = std::uint32_t(bits & 0xFFFF) + std::uint32_t((bits >> 16) & 0xFFFF) +
                              std::uint32_t((bits >> 32) & 0xFFFF) + std::uint32_t(bits >> 48);
    return (float(sum) - 131070.0f) * (1.0f / 37837.3f);  // sqrt(4 * (2^32 - 1) / 12)
  }

 private:
  static std::uint64_t rotated(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
  std::uint64_t state_[4];
};

class RandomWeights {
 public:
  // kUnsupported for a type that weights do not come in.
  static Result<RandomWeights> make(std::uint32_t type, double deviation, std::uint64_t seed);

  // Bytes of a block; fill() takes whole blocks.
  std::size_t block_bytes() const { return block_bytes_; }
  void fill(std::span<std::byte> out);

 private:
  RandomWeights(std::uint32_t type, std::size_t block_bytes, std::uint64_t seed)
      : type_(type), block_bytes_(block_bytes), random_(seed) {}

  Status calibrate(double deviation);
  void fill_floats(std::span<std::byte> out);
  void set_scale(std::byte* block, bool negative) const;

  std::uint32_t type_;
  std::size_t block_bytes_;
  Random random_;
  double scale_ =
      1.0;  // of F32, F16 and BF16: the deviation; else the value of a block's scale field
  // The fields as they are written into every block.
  std::uint16_t scale_half_ = 0, min_half_ = 0;
  std::uint8_t scale_byte_ = 0;
};

}  // namespace veloce::bench

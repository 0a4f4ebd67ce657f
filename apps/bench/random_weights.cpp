#include "random_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "veloce/core/numeric.hpp"
#include "veloce/formats/all.hpp"

namespace veloce::bench {
namespace {

// Where a block keeps its binary16 scale, and its binary16 minimum where it has one. `min_ratio` is
// the minimum that brings the mean of random codes to zero, in units of the scale. Offsets:
// specs/quants.md.
struct ScaleField {
  std::uint32_t type;
  int scale_at, min_at;
  double min_ratio;
};

constexpr ScaleField kScaleFields[] = {
    {Q4_0::kGgufType, 0, -1, 0},    {Q4_1::kGgufType, 0, 2, -7.5},  {Q5_0::kGgufType, 0, -1, 0},
    {Q5_1::kGgufType, 0, 2, -15.5}, {Q8_0::kGgufType, 0, -1, 0},    {Q2_K::kGgufType, 80, 82, 1.5},
    {Q3_K::kGgufType, 108, -1, 0},  {Q4_K::kGgufType, 0, 2, 7.5},   {Q5_K::kGgufType, 0, 2, 15.5},
    {Q6_K::kGgufType, 208, -1, 0},  {IQ2_XXS::kGgufType, 0, -1, 0}, {IQ2_XS::kGgufType, 0, -1, 0},
    {IQ3_XXS::kGgufType, 0, -1, 0}, {IQ1_S::kGgufType, 0, -1, 0},   {IQ4_NL::kGgufType, 0, -1, 0},
    {IQ3_S::kGgufType, 0, -1, 0},   {IQ2_S::kGgufType, 0, -1, 0},   {IQ4_XS::kGgufType, 0, -1, 0},
    {TQ1_0::kGgufType, 52, -1, 0},  {TQ2_0::kGgufType, 64, -1, 0},  {Q1_0::kGgufType, 0, -1, 0},
    {Q2_0::kGgufType, 0, -1, 0},
};

const ScaleField* find_scale_field(std::uint32_t type) {
  for (const ScaleField& field : kScaleFields)
    if (field.type == type) return &field;
  return nullptr;
}

bool is_float(std::uint32_t type) {
  return type == F32::kGgufType || type == F16::kGgufType || type == BF16::kGgufType;
}

// The UE4M3 code whose value is nearest to `scale`.
std::uint8_t nearest_ue4m3(double scale) {
  std::uint8_t best = 1;
  for (std::uint8_t code = 1; code < 0x7F; ++code)
    if (std::abs(ue4m3_half_to_float(code) - scale) < std::abs(ue4m3_half_to_float(best) - scale))
      best = code;
  return best;
}

// The root mean square of what the blocks stand for.
Result<double> root_mean_square(std::uint32_t type, std::span<const std::byte> blocks) {
  return dispatch_format(type, AllFormats{}, [&]<BlockFormat F>() -> Result<double> {
    double sum = 0;
    const std::size_t count = blocks.size() / F::kBytes;
    for (std::size_t i = 0; i < count; ++i) {
      typename F::Block block;
      std::memcpy(&block, blocks.data() + i * F::kBytes, F::kBytes);
      float values[F::kValues];
      F::decode(block, values);
      for (const float value : values) sum += double(value) * double(value);
    }
    return std::sqrt(sum / double(count * F::kValues));
  });
}

}  // namespace

Random::Random(std::uint64_t seed) {
  // splitmix64, as the generator's authors advise for seeding.
  for (std::uint64_t& word : state_) {
    seed += 0x9E3779B97F4A7C15u;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    word = z ^ (z >> 31);
  }
}

Result<RandomWeights> RandomWeights::make(std::uint32_t type, double deviation,
                                          std::uint64_t seed) {
  const TypeInfo* known = find_type(type);
  if (known == nullptr || !known->weight)
    return Status(Code::kUnsupported, "type: " + describe_type(type) + " is not a type of weights");
  RandomWeights out(type, known->bytes, seed);
  if (Status s = out.calibrate(deviation); !s) return s;
  return out;
}

// Decodes a sample with the scale 1 to learn what the scale must be.
Status RandomWeights::calibrate(double deviation) {
  scale_ = deviation;
  if (is_float(type_)) return {};
  const ScaleField* field = find_scale_field(type_);
  const auto set = [&](double scale) {
    scale_ = scale;
    scale_half_ = float_to_half(float(scale));
    min_half_ = float_to_half(float(scale * (field != nullptr ? field->min_ratio : 0.0)));
    if (type_ == NVFP4::kGgufType) scale_byte_ = nearest_ue4m3(scale);
    if (type_ == MXFP4::kGgufType)  // the code of 2^(e - 128)
      scale_byte_ = std::uint8_t(std::clamp(128 + int(std::lround(std::log2(scale))), 1, 254));
  };
  set(1.0);
  constexpr std::size_t kSample = 512;
  std::vector<std::byte> sample(kSample * block_bytes_);
  fill(sample);
  const Result<double> measured = root_mean_square(type_, sample);
  if (!measured) return measured.status();
  set(deviation / *measured);
  return {};
}

void RandomWeights::fill_floats(std::span<std::byte> out) {
  const float deviation = float(scale_);
  for (std::size_t at = 0; at < out.size(); at += block_bytes_) {
    const float value = random_.normal() * deviation;
    if (type_ == F32::kGgufType) {
      std::memcpy(&out[at], &value, sizeof value);
    } else {
      const std::uint16_t bits =
          type_ == F16::kGgufType ? float_to_half(value) : float_to_bf16(value);
      std::memcpy(&out[at], &bits, sizeof bits);
    }
  }
}

void RandomWeights::fill(std::span<std::byte> out) {
  if (is_float(type_)) return fill_floats(out);
  for (std::size_t at = 0; at < out.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t bits = random_.next();
    std::memcpy(&out[at], &bits, std::min(sizeof bits, out.size() - at));
  }
  for (std::size_t at = 0; at < out.size(); at += block_bytes_)
    set_scale(&out[at], random_.next() >> 63);
}

// A block without a minimum may have a negative scale, which takes away what bias its codes have.
void RandomWeights::set_scale(std::byte* block, bool negative) const {
  if (const ScaleField* field = find_scale_field(type_)) {
    const bool has_min = field->min_at >= 0;
    const std::uint16_t scale = std::uint16_t(scale_half_ | (negative && !has_min ? 0x8000 : 0));
    std::memcpy(block + field->scale_at, &scale, sizeof scale);
    if (has_min) std::memcpy(block + field->min_at, &min_half_, sizeof min_half_);
  } else if (type_ == IQ1_M::kGgufType) {
    // The scale's four nibbles are the top nibbles of four 16-bit words.
    const std::uint16_t scale = std::uint16_t(scale_half_ | (negative ? 0x8000 : 0));
    for (int word = 0; word < 4; ++word) {
      std::byte& top = block[48 + 2 * word + 1];
      top = (top & std::byte{0x0F}) | std::byte(((scale >> (4 * word)) & 15) << 4);
    }
  } else if (type_ == MXFP4::kGgufType) {
    block[0] = std::byte(scale_byte_);
  } else if (type_ == NVFP4::kGgufType) {
    std::fill_n(block, 4, std::byte(scale_byte_));
  }
}

}  // namespace veloce::bench

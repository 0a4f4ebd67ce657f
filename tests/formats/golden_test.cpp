// Every format against rows that another engine packed: decode gives its floats bit for bit, and
// the quantizers give its bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "formats/quant_blocks.hpp"
#include "veloce/formats/all.hpp"

namespace veloce::test {
namespace {

std::uint32_t bits_of(float f) {
  return std::bit_cast<std::uint32_t>(f);
}

template <BlockFormat F>
void check_decode(const QuantBlocks& golden, const GoldenType& type) {
  const auto packed = read_file<typename F::Block>(golden.folder / (type.name + ".bytes"));
  const auto expected = read_file<float>(golden.folder / (type.name + ".f32"));
  REQUIRE(expected.size() == golden.rows * golden.columns);
  REQUIRE(packed.size() * F::kValues == expected.size());
  std::vector<float> decoded(expected.size());
  for (std::size_t i = 0; i < packed.size(); ++i) {
    F::decode(packed[i], decoded.data() + i * F::kValues);
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (bits_of(decoded[i]) != bits_of(expected[i]) && ++wrong == 1) {
      MESSAGE(type.name << " value " << i << ": " << decoded[i] << ", expected " << expected[i]);
    }
  }
  CHECK_MESSAGE(wrong == 0, type.name << ": " << wrong << " of " << expected.size());
  CHECK(first_invalid_block<F>(packed.data(), packed.size()) == packed.size());
}

template <QuantizableFormat F>
void check_quantize(const QuantBlocks& golden, const GoldenType& type) {
  const auto source = read_file<float>(golden.folder / "source.f32");
  const auto expected = read_file<std::uint8_t>(golden.folder / (type.name + ".bytes"));
  std::vector<typename F::Block> blocks(source.size() / F::kValues);
  F::quantize_row(source.data(), blocks.data(), source.size());
  REQUIRE(blocks.size() * F::kBytes == expected.size());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(blocks.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (bytes[i] != expected[i] && ++wrong <= 3) {
      MESSAGE(type.name << " block " << i / F::kBytes << " byte " << i % F::kBytes << ": "
                        << int(bytes[i]) << ", expected " << int(expected[i]));
    }
  }
  CHECK_MESSAGE(wrong == 0, type.name << ": " << wrong << " of " << expected.size() << " bytes");
}

TEST_CASE("golden rows decode to the same floats, and the source quantizes to the same rows") {
  const auto folders = quant_block_folders();
  if (folders.empty()) {
    std::printf("SKIP golden quant-blocks: no folder with a blocks.json\n");
    return;
  }
  int decoded = 0, quantized = 0;
  for (const auto& folder : folders) {
    const QuantBlocks golden(folder);
    for (const GoldenType& type : golden.types) {
      const Status status =
          dispatch_format(type.number, AllFormats{}, [&]<BlockFormat F>() -> Status {
            CHECK(find_type(std::string_view(type.name)) == find_type(type.number));
            CHECK(type.values == std::size_t(F::kValues));
            CHECK(type.bytes == F::kBytes);
            check_decode<F>(golden, type);
            ++decoded;
            if constexpr (QuantizableFormat<F>) {
              check_quantize<F>(golden, type);
              ++quantized;
            }
            return {};
          });
      CHECK_MESSAGE(status.ok(), status.message());
    }
  }
  std::printf("golden quant-blocks: %d types decoded, %d quantized\n", decoded, quantized);
}

}  // namespace
}  // namespace veloce::test

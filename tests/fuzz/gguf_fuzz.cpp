// libFuzzer target of the GGUF loader. Build with clang and -DVELOCE_BUILD_FUZZERS=ON, run with a
// folder of small GGUF files as the corpus.
#include <cstddef>
#include <cstdint>
#include <span>

#include "gguf/exercise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t checksum = 0;
  veloce::test::exercise(std::as_bytes(std::span(data, size)), checksum);
  return 0;
}

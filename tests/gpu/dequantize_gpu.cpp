// Every format's dequantization on the GPU against decode on the CPU: the same bits, on random
// bytes. Exit 0: equal; 77: no card (CTest calls that skipped).
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "veloce/formats/all.hpp"
#include "veloce/gpu/dequantize.hpp"

using namespace veloce;

namespace {

template <BlockFormat F>
bool same_on_gpu(std::mt19937& rng, std::size_t count) {
  std::vector<typename F::Block> blocks(count);
  for (auto& block : blocks) do {
      for (std::size_t i = 0; i < sizeof block; ++i)
        reinterpret_cast<unsigned char*>(&block)[i] = static_cast<unsigned char>(rng());
    } while (!F::valid(block));
  std::vector<float> expected(count * F::kValues), got(expected.size(), -1.0f);
  for (std::size_t i = 0; i < count; ++i) F::decode(blocks[i], expected.data() + i * F::kValues);
  Result<gpu::Buffer> in = gpu::Buffer::create(count * sizeof(typename F::Block));
  Result<gpu::Buffer> out = gpu::Buffer::create(got.size() * sizeof(float));
  Status s = !in ? in.status() : !out ? out.status() : Status();
  if (s.ok()) s = in->upload(blocks.data(), in->size());
  if (s.ok()) s = gpu::dequantize<F>(in->data(), count, static_cast<float*>(out->data()));
  if (s.ok()) s = gpu::synchronize();
  if (s.ok()) s = out->download(got.data(), out->size());
  if (!s) {
    std::printf("%s: %s\n", std::string(F::kName).c_str(), s.message().c_str());
    return false;
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    wrong += std::memcmp(&got[i], &expected[i], sizeof(float)) != 0;
  std::printf("%-8s %zu values, %zu differ\n", std::string(F::kName).c_str(), got.size(), wrong);
  return wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (gpu::device_count() == 0) {
    std::puts("SKIP: no GPU");
    return 77;
  }
  const unsigned seed = argc > 1 ? unsigned(std::atoi(argv[1])) : std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 rng(seed);
  bool ok = !gpu::dequantize<Q4_K>(nullptr, 1, nullptr).ok();
  for_each_format(AllFormats{}, [&]<class F>() { ok = same_on_gpu<F>(rng, 333) && ok; });
  std::puts(ok ? "all formats give the same bits" : "FAILED");
  return ok ? 0 : 1;
}

// Expands packed weights to floats on the GPU: out[i] = value i, bit for bit what the format's
// decode gives on the CPU.
//
// One lane takes 16 values: a chunk's codes and its scale and min (formats/format.hpp, whose law
// makes scale * code - min exact). Consecutive lanes take consecutive chunks, so a wave writes 64 x
// 64 bytes in order and reads the blocks of 1024 values. Floor on gfx906: (bytes of the blocks + 4
// bytes a value) / 870 GB/s. Needs contraction off
// (-ffp-contract=off, nvcc: -fmad=false), which the build sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "veloce/core/status.hpp"
#include "veloce/formats/format.hpp"

#if defined(VELOCE_GPU_COMPILER)
#include "veloce/gpu/runtime.hpp"
#endif

namespace veloce::gpu {

// `blocks` and `out` are device memory; `count` blocks become count * F::kValues floats. Does not
// wait for the result. Errors: kInvalidArgument for a null pointer or a count beyond the grid, else
// the runtime's.
template <BlockFormat F>
Status dequantize(const void* blocks, std::size_t count, float* out);

#if defined(VELOCE_GPU_COMPILER)

inline constexpr int kDequantizeLanes = 256;

template <BlockFormat F>
__global__ void __launch_bounds__(kDequantizeLanes)
    dequantize_kernel(const typename F::Block* blocks, std::size_t count, float* out) {
  const std::size_t item = std::size_t(blockIdx.x) * kDequantizeLanes + threadIdx.x;
  if constexpr (IntDotFormat<F>) {
    constexpr int kChunks = F::kValues / 16;
    if (item >= count * kChunks) return;
    const typename F::Block& block = blocks[item / kChunks];
    const int chunk = int(item % kChunks);
    const I8x16 codes = F::unpack16(block, chunk);
    const Affine a = F::affine(block, chunk);
    for (int i = 0; i < 16; ++i) {
      const float product = a.scale * float(codes.v[i]);
      out[item * 16 + i] = F::kHasMin ? product - a.min : product;
    }
  } else {
    if (item < count) F::decode(blocks[item], out + item * F::kValues);
  }
}

template <BlockFormat F>
Status dequantize(const void* blocks, std::size_t count, float* out) {
  if (count == 0) return {};
  if (blocks == nullptr || out == nullptr)
    return Status(Code::kInvalidArgument,
                  "dequantize: " + std::string(blocks == nullptr ? "blocks" : "out") + " is null");
  const std::size_t items = IntDotFormat<F> ? count * (F::kValues / 16) : count;
  const std::size_t groups = (items + kDequantizeLanes - 1) / kDequantizeLanes;
  if (groups > 0x7FFFFFFF)
    return Status(Code::kInvalidArgument, "dequantize: count = " + std::to_string(count) +
                                              " blocks need more than 2^31 - 1 work-groups");
  dequantize_kernel<F><<<dim3(unsigned(groups)), dim3(kDequantizeLanes)>>>(
      static_cast<const typename F::Block*>(blocks), count, out);
  return launched("dequantize");
}

#endif

}  // namespace veloce::gpu

// The operands of the CPU matmul, independent of the instruction set: packed weights and tiled
// activations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace veloce::cpu {

// A weight matrix of `rows` x `k` in the layout of cpu/pack/layout.hpp. A view: the weights' owner
// frees the memory.
struct PackedMatrix {
  std::uint32_t type = 0;  // GGUF type id
  int rows = 0, k = 0;
  std::size_t group_bytes = 0;  // one group of 16 rows
  const std::byte* data = nullptr;
  float scale = 1;  // of the product, before a bias is added

  int groups() const { return (rows + 15) / 16; }
  std::size_t bytes() const { return group_bytes * std::size_t(groups()); }
};

// Columns of activations are kept in tiles of up to 8 side by side, so that a kernel reads one
// stream. Tile t starts at column 8t; its width is 8 but for the last one. All arrays: [row of the
// quantity][column of the tile].
inline constexpr int kTileColumns = 8;

// 8-bit activations (formats/activation_q8.hpp): q is [k/4][w][4], scale [k/32][w]. Sums of the
// codes of 16 and of 32 values, as integers and multiplied with the scale.
struct ActivationsQ8 {
  int k = 0, n = 0;
  std::int8_t* q = nullptr;
  float* scale = nullptr;
  std::int32_t* sum16 = nullptr;
  std::int32_t* sum32 = nullptr;
  float* scaled_sum16 = nullptr;
  float* scaled_sum32 = nullptr;

  // Bytes of storage for k values (a multiple of 32) in n columns, and the arrays placed in it.
  static std::size_t bytes(std::size_t k, std::size_t n) {
    return n * (k + k / 32 * 12 + k / 16 * 8);
  }
  static ActivationsQ8 place(std::byte* memory, int k, int n) {
    ActivationsQ8 a;
    a.k = k;
    a.n = n;
    const std::size_t blocks = std::size_t(k) / 32 * n;
    a.scale = reinterpret_cast<float*>(memory);
    a.scaled_sum32 = a.scale + blocks;
    a.sum32 = reinterpret_cast<std::int32_t*>(a.scaled_sum32 + blocks);
    a.sum16 = a.sum32 + blocks;
    a.scaled_sum16 = reinterpret_cast<float*>(a.sum16 + 2 * blocks);
    a.q = reinterpret_cast<std::int8_t*>(a.scaled_sum16 + 2 * blocks);
    return a;
  }
};

// Binary32 activations: x is [k][w] per tile.
struct ActivationsF32 {
  int k = 0, n = 0;
  float* x = nullptr;
};

// What becomes of an output element (row r, column c).
enum class Finish {
  kStore,   // out[c * stride + r] = y
  kAdd,     // out[c * stride + r] += y
  kSwiGlu,  // out[c * stride + r] = silu(y) * y2, y2 of the second matrix
};

// y = W x for all columns. Exactly one kind of activations is set. Columns of `out` are `stride`
// floats apart. With Finish::kSwiGlu `second` has the shape of `weights`.
struct Matmul {
  const PackedMatrix* weights = nullptr;
  const PackedMatrix* second = nullptr;
  const ActivationsQ8* q8 = nullptr;
  const ActivationsF32* f32 = nullptr;
  Finish finish = Finish::kStore;
  const float* bias =
      nullptr;  // rows floats (padded to 16), added to y before it is finished; may be null
  const float* second_bias = nullptr;  // the same for `second`
  float* out = nullptr;
  std::size_t stride = 0;
  // How far ahead of the unpacking the weights' stream is prefetched, in bytes; 0 leaves it to the
  // hardware. Addresses past the weights are only hinted at, never read.
  std::size_t read_ahead = 0;
  std::byte* scratch = nullptr;  // matmul_scratch_bytes() of this worker's own
};

// The best read_ahead for a matrix. Measured on a Zen 5 core, generation with a model of 1.1 B
// weights on one thread: Q6_K 31 tokens/s with 4 KiB, 38 with 8, 37 with 16; Q4_K 49, 57, 55. Small
// matrices, of which a worker takes a few groups at a time, lose by reading far beyond them: a
// model of 0.1 B weights on two threads is 8 % slower with 8 KiB.
inline std::size_t best_read_ahead(const PackedMatrix& m) {
  return m.bytes() >= (std::size_t(1) << 20) ? 8192 : 4096;
}

// Scratch of one worker for matrices of up to k values a row and n columns: an unpacked group and
// its accumulators.
inline std::size_t matmul_scratch_bytes(std::size_t k, std::size_t n) {
  const std::size_t padded = (k + 255) / 256 * 256;
  const std::size_t int_panel = padded * 16 + padded / 16 * 128, float_panel = padded * 64;
  return (int_panel > float_panel ? int_panel : float_panel) + n * 64 + 4096;
}

}  // namespace veloce::cpu

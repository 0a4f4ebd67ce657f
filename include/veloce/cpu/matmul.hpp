// The CPU matmul: all workers share the row groups of a matrix; within a group every column is
// finished by one worker.
//
// Up to kDirectColumns columns the packed weights are unpacked in registers and used at once
// (decode: the weights' bytes are the floor). With more, a worker unpacks a group into a panel in
// its own cache once and runs all tiles of columns over it (prompts: the byte dots are the floor),
// so that a slow format costs no more than a fast one there.
#pragma once

#include <type_traits>

#include "veloce/cpu/pool.hpp"
#include "veloce/cpu/tile_kernels.hpp"
#include "veloce/formats/all.hpp"

namespace veloce::cpu::VELOCE_ISA_NS {

inline constexpr int kDirectColumns = 4;

using FloatTile = void (*)(const std::byte* w, int k, const float* x, float* acc);

// Row i of a float format's layout, [k][16] elements, as floats.
template <veloce::BlockFormat F>
VELOCE_INLINE F32 float_row(const std::byte* p, int i) {
  const std::byte* row = p + std::size_t(i) * 16 * F::kBytes;
  if constexpr (std::is_same_v<F, veloce::F32>)
    return load(reinterpret_cast<const float*>(row));
  else if constexpr (std::is_same_v<F, veloce::F16>)
    return from_half(reinterpret_cast<const std::uint16_t*>(row));
  else
    return from_bf16(reinterpret_cast<const std::uint16_t*>(row));
}

template <veloce::BlockFormat F, int W>
void float_format_tile(const std::byte* w, int k, const float* x, float* acc) {
  float_tile<W>([w](int i) { return float_row<F>(w, i); }, k, x, acc);
}

// What the driver needs of a format.
struct FormatKernels {
  std::uint32_t type;
  // Integer formats.
  void (*direct[kDirectColumns])(const std::byte* group, int k, const TileQ8&, float* acc);
  void (*unpack)(const std::byte* group, int k, const Panel&);
  void (*tile[kTileColumns])(const Panel&, int k, const TileQ8&, float* acc);
  void (*expand)(const std::byte* group, int k, float* out);
  // Float formats.
  FloatTile float_tile[kTileColumns];
};

template <veloce::BlockFormat F>
constexpr FormatKernels kernels_of() {
  if constexpr (veloce::IntDotFormat<F>) {
    using T = TraitsOf<F>;
    return {F::kGgufType,
            {direct_tile<F, 1>, direct_tile<F, 2>, direct_tile<F, 3>, direct_tile<F, 4>},
            unpack_panel<F>,
            {panel_tile<T, 1>, panel_tile<T, 2>, panel_tile<T, 3>, panel_tile<T, 4>,
             panel_tile<T, 5>, panel_tile<T, 6>, panel_tile<T, 7>, panel_tile<T, 8>},
            expand_group<F>,
            {}};
  } else {
    return {F::kGgufType,
            {},
            nullptr,
            {},
            nullptr,
            {float_format_tile<F, 1>, float_format_tile<F, 2>, float_format_tile<F, 3>,
             float_format_tile<F, 4>, float_format_tile<F, 5>, float_format_tile<F, 6>,
             float_format_tile<F, 7>, float_format_tile<F, 8>}};
  }
}

template <class... Fs>
const FormatKernels* find_kernels(veloce::FormatList<Fs...>, std::uint32_t type) {
  static constexpr FormatKernels kTable[] = {kernels_of<Fs>()...};
  for (const FormatKernels& k : kTable)
    if (k.type == type) return &k;
  return nullptr;
}

inline const FormatKernels* find_kernels(std::uint32_t type) {
  return find_kernels(veloce::AllFormats{}, type);
}

// The products of one group with all columns, handed tile by tile to emit(first column, width,
// acc[width][16]).
template <class Emit>
VELOCE_INLINE void group_products(const FormatKernels& f, const std::byte* group, const Matmul& op,
                                  float* acc, Emit emit) {
  const int k = op.weights->k;
  if (op.q8 && f.unpack) {
    const int n = op.q8->n;
    if (n <= kDirectColumns) {
      f.direct[n - 1](group, k, tile_of(*op.q8, 0, op.read_ahead), acc);
      emit(0, n, acc);
      return;
    }
    const Panel panel = panel_in(op.scratch, k);
    f.unpack(group, k, panel);
    for (int c = 0; c < n; c += kTileColumns) {
      const int w = n - c < kTileColumns ? n - c : kTileColumns;
      f.tile[w - 1](panel, k, tile_of(*op.q8, c / kTileColumns), acc);
      emit(c, w, acc);
    }
    return;
  }
  const FormatKernels& kernels = f.expand ? *find_kernels(veloce::F32::kGgufType) : f;
  if (f.expand) {
    f.expand(group, k, reinterpret_cast<float*>(op.scratch));
    group = op.scratch;
  }
  const int n = op.f32->n;
  for (int c = 0; c < n; c += kTileColumns) {
    const int w = n - c < kTileColumns ? n - c : kTileColumns;
    kernels.float_tile[w - 1](group, k, op.f32->x + std::size_t(c) * std::size_t(k), acc);
    emit(c, w, acc);
  }
}

// Runs the op on all workers. No barrier at the end.
inline void matmul(Worker& worker, const Matmul& op) {
  const PackedMatrix& w = *op.weights;
  const FormatKernels& first = *find_kernels(w.type);
  const FormatKernels* second = op.second ? find_kernels(op.second->type) : nullptr;
  const int n = op.q8 && first.unpack ? op.q8->n : op.f32->n;
  // The accumulators of a group (all columns of the gate for SwiGLU) lie behind the panel.
  float* acc =
      reinterpret_cast<float*>(op.scratch + matmul_scratch_bytes(std::size_t(w.k), std::size_t(n)) -
                               std::size_t(n) * 64 - 1024);
  alignas(64) float up[kTileColumns * 16];
  auto share = worker.share(w.groups());
  for (int begin, end; share.next(begin, end);)
    for (int g = begin; g < end; ++g) {
      const int row = 16 * g, rows = w.rows - row < 16 ? w.rows - row : 16;
      const auto scaled_with_bias = [row](F32 y, const PackedMatrix& m, const float* bias) {
        y = mul(y, set1(m.scale));
        return bias ? add(y, load(bias + row)) : y;
      };
      const auto finish = [&](int c, const float* y, auto combine) {
        float* out = op.out + std::size_t(c) * op.stride + row;
        if (rows == 16) {
          store(out, combine(load(y), out));
        } else {
          alignas(64) float old[16] = {}, result[16];
          for (int r = 0; r < rows; ++r) old[r] = out[r];
          store(result, combine(load(y), old));
          for (int r = 0; r < rows; ++r) out[r] = result[r];
        }
      };
      const std::byte* group = w.data + std::size_t(g) * w.group_bytes;
      if (op.finish == Finish::kSwiGlu) {
        Matmul gate = op;
        group_products(first, group, gate, up, [&](int c, int width, const float* y) {
          std::memcpy(acc + 16 * std::size_t(c), y, std::size_t(width) * 64);
        });
        gate.weights = op.second;
        group_products(*second, op.second->data + std::size_t(g) * op.second->group_bytes, gate, up,
                       [&](int c, int width, const float* y) {
                         for (int i = 0; i < width; ++i) {
                           const float* gates = acc + 16 * std::size_t(c + i);
                           finish(c + i, y + 16 * i, [&](F32 v, const float*) {
                             return mul(silu(scaled_with_bias(load(gates), w, op.bias)),
                                        scaled_with_bias(v, *op.second, op.second_bias));
                           });
                         }
                       });
      } else {
        group_products(first, group, op, up, [&](int c, int width, const float* y) {
          for (int i = 0; i < width; ++i) {
            if (op.finish == Finish::kAdd)
              finish(c + i, y + 16 * i, [&](F32 v, const float* old) {
                return add(load(old), scaled_with_bias(v, w, op.bias));
              });
            else
              finish(c + i, y + 16 * i,
                     [&](F32 v, const float*) { return scaled_with_bias(v, w, op.bias); });
          }
        });
      }
    }
}

}  // namespace veloce::cpu::VELOCE_ISA_NS

// The CPU matvec (and GEMM) as a library call: one format and one K at a time, at the level this
// unit is compiled for (cpu/isa.hpp), without the run-time tables of cpu/kernels.hpp. Needs nothing
// but the headers and std::thread.
//
//   cpu::matvec(weights, x, y);                                   // one column, this thread
//   cpu::matvec<Q4_K, Dim<4096>>(args, workspace, &pool);         // columns, strides, bias, float
//   or 8-bit activations
//
// Reduction order, paths and their bits: cpu/tile_kernels.hpp. With a static K every loop over K
// has a constant length; instances are made where they are called, so a program has those it names
// and no others.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "veloce/cpu/activations.hpp"
#include "veloce/cpu/matmul.hpp"
#include "veloce/cpu/packed_weights.hpp"
#include "veloce/cpu/pool.hpp"
#include "veloce/ops/matvec.hpp"

namespace veloce::cpu {

// Scratch memory of cpu::matvec, kept by the caller so that repeated calls allocate nothing. One
// call at a time.
class MatvecWorkspace {
 public:
  // At least `bytes`, aligned to 64; null if there is no memory.
  std::byte* reserve(std::size_t bytes) {
    if (bytes <= size_) return memory_.get();
    memory_.reset(
        static_cast<std::byte*>(::operator new(bytes, std::align_val_t(64), std::nothrow)));
    size_ = memory_ ? bytes : 0;
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

namespace VELOCE_ISA_NS {
namespace detail {

// The kernels of one format with K folded in: "flatten" inlines the bodies, and with them the
// constant.
template <BlockFormat F, class K>
struct MatvecKernels {
  static constexpr bool kInteger = IntDotFormat<F>;

  template <int W>
  __attribute__((flatten)) static void direct(const std::byte* group, K k, const TileQ8& a,
                                              float* out) {
    direct_tile<F, W>(group, k.value(), a, out);
  }
  __attribute__((flatten)) static void unpack(const std::byte* group, K k, const Panel& p) {
    unpack_panel<F>(group, k.value(), p);
  }
  template <int W>
  __attribute__((flatten)) static void panel(const Panel& p, K k, const TileQ8& a, float* out) {
    panel_tile<TraitsOf<F>, W>(p, k.value(), a, out);
  }
  template <int W>
  __attribute__((flatten)) static void floats(const std::byte* group, K k, const float* x,
                                              float* out) {
    if constexpr (kInteger)
      float_format_tile<veloce::F32, W>(group, k.value(), x, out);
    else
      float_format_tile<F, W>(group, k.value(), x, out);
  }

  // fn<W>() for the width w in 1 .. Max.
  template <int Max, class Fn>
  static void at_width(int w, Fn fn) {
    const auto try_width = [&]<int W>() {
      if (w == W) fn.template operator()<W>();
    };
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (try_width.template operator()<I + 1>(), ...);
    }
    (std::make_integer_sequence<int, Max>{});
  }

  // All columns of one group of sixteen rows; emit(column, width, sums[width][16]).
  template <class Emit>
  static void run(const std::byte* group, K k, const ActivationsQ8* q8, const ActivationsF32& f32,
                  std::size_t read_ahead, std::byte* scratch, Emit emit) {
    alignas(64) float sums[kTileColumns * 16];
    if constexpr (kInteger) {
      if (q8 && q8->n <= kDirectColumns) {
        at_width<kDirectColumns>(
            q8->n, [&]<int W>() { direct<W>(group, k, tile_of(*q8, 0, read_ahead), sums); });
        emit(0, q8->n, sums);
        return;
      }
      if (q8) {
        const Panel p = panel_in(scratch, k.value());
        unpack(group, k, p);
        for (int c = 0; c < q8->n; c += kTileColumns) {
          const int w = q8->n - c < kTileColumns ? q8->n - c : kTileColumns;
          at_width<kTileColumns>(
              w, [&]<int W>() { panel<W>(p, k, tile_of(*q8, c / kTileColumns), sums); });
          emit(c, w, sums);
        }
        return;
      }
      expand_group<F>(group, k.value(), reinterpret_cast<float*>(scratch));
      group = scratch;
    }
    for (int c = 0; c < f32.n; c += kTileColumns) {
      const int w = f32.n - c < kTileColumns ? f32.n - c : kTileColumns;
      at_width<kTileColumns>(w, [&]<int W>() {
        floats<W>(group, k, f32.x + std::size_t(c) * std::size_t(k.value()), sums);
      });
      emit(c, w, sums);
    }
  }
};

}  // namespace detail

// Status: what check() says, or kOutOfMemory. With a pool its team shares the rows; the bits are
// the same either way.
template <class F, class K>
Status matvec(const MatvecArgs<PackedView<F, K>>& a, MatvecWorkspace& workspace,
              Pool* pool = nullptr) {
  if (Status s = check(a); !s) return s;
  const PackedMatrix& m = a.weights.matrix();
  K k;
  if constexpr (!K::kStatic) k = K(m.k);
  const std::size_t n = std::size_t(a.columns), threads = pool ? std::size_t(pool->size()) : 1;
  const std::size_t x_stride = veloce::detail::stride_or(a.x_stride, std::size_t(m.k));
  const std::size_t y_stride = veloce::detail::stride_or(a.y_stride, std::size_t(m.rows));
  const bool rounded = IntDotFormat<F> && a.activations == ActivationType::kQ8;
  const auto aligned = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::size_t tiles =
      aligned(rounded ? ActivationsQ8::bytes(std::size_t(m.k), n) : 4 * std::size_t(m.k) * n);
  const std::size_t each = aligned(matmul_scratch_bytes(std::size_t(m.k), 0));
  std::byte* memory = workspace.reserve(tiles + threads * each);
  if (memory == nullptr)
    return Status(
        Code::kOutOfMemory,
        "matvec: no memory for " + std::to_string(tiles + threads * each) + " bytes of workspace");
  const ActivationsQ8 q8 = rounded ? ActivationsQ8::place(memory, m.k, a.columns) : ActivationsQ8();
  const ActivationsF32 f32{m.k, a.columns, reinterpret_cast<float*>(memory)};
  const auto prepare = [&](int begin, int end) {
    for (int c = begin; c < end; ++c)
      if (rounded)
        quantize_column(a.x + std::size_t(c) * x_stride, q8, c);
      else
        place_column(a.x + std::size_t(c) * x_stride, f32, c);
  };
  const auto multiply = [&](int begin, int end, std::size_t worker) {
    for (int g = begin; g < end; ++g) {
      const int row = kGroupRows * g, rows = m.rows - row < kGroupRows ? m.rows - row : kGroupRows;
      detail::MatvecKernels<F, K>::run(
          m.data + std::size_t(g) * m.group_bytes, k, rounded ? &q8 : nullptr, f32,
          best_read_ahead(m), memory + tiles + worker * each,
          [&](int column, int width, const float* sums) {
            for (int c = 0; c < width; ++c) {
              float* y = a.y + std::size_t(column + c) * y_stride + row;
              for (int r = 0; r < rows; ++r)
                y[r] = a.bias ? sums[16 * c + r] + a.bias[row + r] : sums[16 * c + r];
            }
          });
    }
  };
  if (pool == nullptr) {
    prepare(0, a.columns);
    multiply(0, m.groups(), 0);
    return {};
  }
  pool->run([&](Worker& w) {
    auto columns = w.share(a.columns);
    for (int begin, end; columns.next(begin, end);) prepare(begin, end);
    w.barrier();
    auto groups = w.share(m.groups());
    for (int begin, end; groups.next(begin, end);) multiply(begin, end, std::size_t(w.index()));
  });
  return {};
}

// One column: x has k floats, y gets rows floats.
template <class F, class K>
Status matvec(const PackedWeights<F, K>& weights, const float* x, float* y,
              ActivationType activations = ActivationType::kQ8) {
  MatvecWorkspace workspace;
  MatvecArgs<PackedView<F, K>> a{.weights = weights, .x = x, .y = y};
  a.activations = activations;
  return matvec(a, workspace);
}

}  // namespace VELOCE_ISA_NS

// The level of this unit. Units of one program may be compiled for different levels.
using VELOCE_ISA_NS::matvec;

}  // namespace veloce::cpu

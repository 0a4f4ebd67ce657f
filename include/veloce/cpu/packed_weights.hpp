// A weight matrix that owns its memory, in the CPU backend's layout: what cpu::matvec multiplies
// with.
//
//   auto w = cpu::PackedWeights<Q4_K>::pack(bytes, rows, Dim<>(k));          // k known at run time
//   auto w = cpu::PackedWeights<Q4_K, Dim<4096>>::pack(bytes, rows);         // k in the type:
//   loops of constant length
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "veloce/cpu/packing.hpp"
#include "veloce/ops/matvec.hpp"

namespace veloce::cpu {

template <class F, class KDim = Dim<>>
class PackedWeights : MatrixTypes<F, KDim> {
 public:
  using Format = F;
  using K = KDim;
  PackedWeights() = default;

  // Packs `rows` rows of k values that stand one after the other as in a GGUF file. The bytes are
  // not needed afterwards. Errors: kInvalidArgument naming the field and the figures, kOutOfMemory,
  // kCorrupt for NaN or infinity in a block.
  static Result<PackedWeights> pack(std::span<const std::byte> gguf_rows, int rows,
                                    KDim k = KDim()) {
    const int n = k.value();
    if (rows < 1) return wrong("rows = " + std::to_string(rows) + ": must be at least 1");
    if (n < 1 || n % F::kValues != 0)
      return wrong("k = " + std::to_string(n) + ": must be a positive multiple of " +
                   std::to_string(F::kValues) + ", the block of " + std::string(F::kName));
    const std::size_t row = row_bytes<F>(std::size_t(n));
    if (gguf_rows.size() != row * std::size_t(rows))
      return wrong(std::to_string(gguf_rows.size()) + " bytes given, " + std::to_string(rows) +
                   " rows of " + std::to_string(n) + " values in " + std::string(F::kName) +
                   " take " + std::to_string(row * std::size_t(rows)));
    if (const BadBlock bad = find_bad_block<F>(gguf_rows.data(), n, 0, std::size_t(rows));
        bad.found)
      return Status(Code::kCorrupt, "PackedWeights: row " + std::to_string(bad.row) + " block " +
                                        std::to_string(bad.block) +
                                        ": NaN or infinity in the weights");
    PackedWeights w;
    w.k_ = k;
    w.view_ = {F::kGgufType, rows, n, packed_group_bytes<F>(n), nullptr};
    w.memory_.reset(static_cast<std::byte*>(
        ::operator new(w.view_.bytes(), std::align_val_t(64), std::nothrow)));
    if (!w.memory_)
      return Status(Code::kOutOfMemory,
                    "PackedWeights: no memory for " + std::to_string(w.view_.bytes()) + " bytes");
    for (int g = 0; g < w.view_.groups(); ++g)
      pack_group<F>(gguf_rows.data(), rows, n, g,
                    w.memory_.get() + std::size_t(g) * w.view_.group_bytes);
    w.view_.data = w.memory_.get();
    return w;
  }

  int rows() const { return view_.rows; }
  int k() const { return k_.value(); }
  const void* data() const { return view_.data; }
  std::size_t bytes() const { return view_.bytes(); }
  // For the kernels; valid as long as this object.
  const PackedMatrix& view() const { return view_; }

 private:
  static Status wrong(const std::string& what) {
    return Status(Code::kInvalidArgument, "PackedWeights: " + what);
  }
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  PackedMatrix view_;
  KDim k_;
};

// The same matrix as an operand: cheap to copy into MatvecArgs.
template <class F, class KDim = Dim<>>
class PackedView {
 public:
  using Format = F;
  using K = KDim;
  PackedView() = default;
  PackedView(const PackedWeights<F, KDim>& w)
      : view_(w.view()) {}  // NOLINT(google-explicit-constructor)

  int rows() const { return view_.rows; }
  int k() const {
    if constexpr (KDim::kStatic)
      return KDim::value();
    else
      return view_.k;
  }
  const void* data() const { return view_.data; }
  const PackedMatrix& matrix() const { return view_; }

 private:
  PackedMatrix view_;
};

}  // namespace veloce::cpu

// The small CPU ops of ops/: norm, rotation, softmax, gate, sums and products, top-k, embedding; at
// the level this unit is compiled for. Single-threaded: they are a step's small change. The
// engine's fused forms are in cpu/attention.hpp and cpu/matmul.hpp.
#pragma once

#include <algorithm>
#include <cstring>

#include "veloce/cpu/activations.hpp"
#include "veloce/cpu/attention.hpp"
#include "veloce/cpu/simd.hpp"
#include "veloce/ops/elementwise.hpp"
#include "veloce/ops/embed.hpp"
#include "veloce/ops/rms_norm.hpp"
#include "veloce/ops/rope.hpp"
#include "veloce/ops/softmax.hpp"
#include "veloce/ops/top_k.hpp"

namespace veloce::cpu {
namespace VELOCE_ISA_NS {
namespace detail {

// fn(vector a, vector b) over n floats, sixteen at a time; the rest through a padded buffer.
template <class Fn>
void map_floats(const ElementwiseArgs& a, Fn fn) {
  std::size_t i = 0;
  for (; i + 16 <= a.n; i += 16) store(a.y + i, fn(load(a.a + i), load(a.b + i)));
  if (i == a.n) return;
  alignas(64) float x[16] = {}, z[16] = {}, out[16];
  std::memcpy(x, a.a + i, (a.n - i) * sizeof(float));
  std::memcpy(z, a.b + i, (a.n - i) * sizeof(float));
  store(out, fn(load(x), load(z)));
  std::memcpy(a.y + i, out, (a.n - i) * sizeof(float));
}

}  // namespace detail

inline Status add(const ElementwiseArgs& a) {
  if (Status s = check(a); !s) return s;
  detail::map_floats(a, [](F32 x, F32 z) { return add(x, z); });
  return {};
}

inline Status mul(const ElementwiseArgs& a) {
  if (Status s = check(a); !s) return s;
  detail::map_floats(a, [](F32 x, F32 z) { return mul(x, z); });
  return {};
}

inline Status swiglu(const ElementwiseArgs& a) {
  if (Status s = check(a); !s) return s;
  detail::map_floats(a, [](F32 gate, F32 up) { return mul(silu(gate), up); });
  return {};
}

inline Status rms_norm(const RmsNormArgs& a) {
  if (Status s = check(a); !s) return s;
  for (int r = 0; r < a.rows; ++r) {
    const std::size_t at = std::size_t(r) * std::size_t(a.k);
    rms_norm_row(a.x + at, a.weight, a.k, a.epsilon, a.y + at);
  }
  return {};
}

inline Status rope(const RopeArgs& a) {
  if (Status s = check(a); !s) return s;
  for (int c = 0; c < a.columns; ++c)
    for (int h = 0; h < a.heads; ++h)
      rotate(a.x + (std::size_t(c) * std::size_t(a.heads) + std::size_t(h)) * std::size_t(a.dim),
             a.cos_sin + std::size_t(c) * std::size_t(a.rotated), a.rotated, a.neox);
  return {};
}

// The sum runs in sixteen lanes (element mod 16), then across by sum_lanes.
inline Status softmax(const SoftmaxArgs& a) {
  if (Status s = check(a); !s) return s;
  for (int r = 0; r < a.rows; ++r) {
    const float* x = a.x + std::size_t(r) * std::size_t(a.n);
    float* y = a.y + std::size_t(r) * std::size_t(a.n);
    const float top = *std::max_element(x, x + a.n);
    F32 total = zero_f32();
    for (int i = 0; i < a.n; i += 16) {
      const std::size_t count = std::size_t(a.n - i < 16 ? a.n - i : 16);
      alignas(64) float part[16];
      std::fill_n(part, 16, -__builtin_inff());
      std::memcpy(part, x + i, count * sizeof(float));
      F32 p = exp(mul(sub(load(part), set1(top)), set1(a.scale)));
      store(part, p);
      for (std::size_t j = count; j < 16; ++j) part[j] = 0;
      total = veloce::cpu::VELOCE_ISA_NS::add(total, load(part));
      std::memcpy(y + i, part, count * sizeof(float));
    }
    const float sum = sum_lanes(total);
    for (int i = 0; i < a.n; ++i) y[i] /= sum;
  }
  return {};
}

// Partial sort by a heap of k: n log k.
inline Status top_k(const TopKArgs& a) {
  if (Status s = check(a); !s) return s;
  // Before: the larger value, NaN last, then the lower index.
  const auto before = [x = a.x](std::int32_t i, std::int32_t j) {
    const bool bad_i = x[i] != x[i], bad_j = x[j] != x[j];
    if (bad_i || bad_j) return bad_i == bad_j ? i < j : bad_j;
    return x[i] != x[j] ? x[i] > x[j] : i < j;
  };
  for (int i = 0; i < a.k; ++i) a.indices[i] = i;
  std::make_heap(a.indices, a.indices + a.k, before);
  for (int i = a.k; i < a.n; ++i)
    if (before(i, a.indices[0])) {
      std::pop_heap(a.indices, a.indices + a.k, before);
      a.indices[a.k - 1] = i;
      std::push_heap(a.indices, a.indices + a.k, before);
    }
  std::sort_heap(a.indices, a.indices + a.k, before);
  if (a.values)
    for (int i = 0; i < a.k; ++i) a.values[i] = a.x[a.indices[i]];
  return {};
}

template <class F, class K>
Status embed(const EmbedArgs<GgufMatrix<F, K>>& a) {
  if (Status s = check(a); !s) return s;
  for (int i = 0; i < a.count; ++i) {
    const auto* block = a.table.row(a.ids[i]);
    float* y = a.y + std::size_t(i) * std::size_t(a.table.k());
    for (int b = 0; b < a.table.k(); b += F::kValues) F::decode(*block++, y + b);
  }
  return {};
}

}  // namespace VELOCE_ISA_NS

using VELOCE_ISA_NS::add;
using VELOCE_ISA_NS::embed;
using VELOCE_ISA_NS::mul;
using VELOCE_ISA_NS::rms_norm;
using VELOCE_ISA_NS::rope;
using VELOCE_ISA_NS::softmax;
using VELOCE_ISA_NS::swiglu;
using VELOCE_ISA_NS::top_k;

}  // namespace veloce::cpu

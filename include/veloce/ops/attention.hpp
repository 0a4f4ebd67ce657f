// Causal attention with grouped heads, for new positions of one sequence.
//
//   out[i][h] = sum over j of p[j] * v[j][h / group],  p = softmax over j of scale * (q[i][h] .
//   k[j][h / group]) j runs over 0 .. keys - queries + i: the last `queries` keys belong to the
//   queries themselves.
// group = heads / kv_heads query heads share a key head.
#pragma once

#include <cstddef>

#include "veloce/ops/check.hpp"
#include "veloce/ops/cost.hpp"

namespace veloce {

struct AttentionArgs {
  int heads = 0, kv_heads = 0, dim = 0;
  int queries = 0;           // new positions
  int keys = 0;              // all positions, the new ones included
  float scale = 0;           // usually 1 / sqrt(dim)
  const float* q = nullptr;  // [queries][heads][dim]
  const float* k = nullptr;  // [keys][kv_heads][dim]
  const float* v = nullptr;  // [keys][kv_heads][dim]
  float* out = nullptr;      // [queries][heads][dim]
};

inline Status check(const AttentionArgs& a) {
  return detail::ArgChecker("attention")
      .at_least("heads", a.heads, 1)
      .at_least("kv_heads", a.kv_heads, 1)
      .rule(a.kv_heads >= 1 && a.heads % a.kv_heads == 0, "kv_heads", std::to_string(a.kv_heads),
            "must divide the " + std::to_string(a.heads) + " heads")
      .at_least("dim", a.dim, 1)
      .at_least("queries", a.queries, 1)
      .rule(a.keys >= a.queries, "keys", std::to_string(a.keys),
            "must include the " + std::to_string(a.queries) + " queries")
      .finite("scale", a.scale)
      .not_null("q", a.q)
      .not_null("k", a.k)
      .not_null("v", a.v)
      .not_null("out", a.out)
      .status();
}

inline Cost cost(const AttentionArgs& a) {
  const std::uint64_t n = std::uint64_t(a.queries), past = std::uint64_t(a.keys) - n;
  const std::uint64_t pairs = (n * past + n * (n + 1) / 2) * std::uint64_t(a.heads);
  return {
      4 * std::uint64_t(a.dim) *
          (2 * n * std::uint64_t(a.heads) + 2 * std::uint64_t(a.keys) * std::uint64_t(a.kv_heads)),
      pairs * (4 * std::uint64_t(a.dim) + 3)};
}

}  // namespace veloce

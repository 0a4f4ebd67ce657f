// Oracle of ops/attention.hpp: all scores, the softmax over them, the weighted sum; in binary64.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "veloce/ops/attention.hpp"

namespace veloce::ref {

inline Status attention(const AttentionArgs& a) {
  if (Status s = check(a); !s) return s;
  const int group = a.heads / a.kv_heads, dim = a.dim;
  std::vector<double> p(std::size_t(a.keys));
  for (int i = 0; i < a.queries; ++i)
    for (int h = 0; h < a.heads; ++h) {
      const int sees = a.keys - a.queries + i + 1;
      const float* q =
          a.q + (std::size_t(i) * std::size_t(a.heads) + std::size_t(h)) * std::size_t(dim);
      const auto key_head = [&](const float* all, int j) {
        return all + (std::size_t(j) * std::size_t(a.kv_heads) + std::size_t(h / group)) *
                         std::size_t(dim);
      };
      double top = -INFINITY, total = 0;
      for (int j = 0; j < sees; ++j) {
        double score = 0;
        for (int d = 0; d < dim; ++d) score += double(q[d]) * double(key_head(a.k, j)[d]);
        p[std::size_t(j)] = double(a.scale) * score;
        top = std::max(top, p[std::size_t(j)]);
      }
      for (int j = 0; j < sees; ++j) total += p[std::size_t(j)] = std::exp(p[std::size_t(j)] - top);
      for (int d = 0; d < dim; ++d) {
        double sum = 0;
        for (int j = 0; j < sees; ++j) sum += p[std::size_t(j)] * double(key_head(a.v, j)[d]);
        a.out[(std::size_t(i) * std::size_t(a.heads) + std::size_t(h)) * std::size_t(dim) +
              std::size_t(d)] = float(sum / total);
      }
    }
  return {};
}

}  // namespace veloce::ref

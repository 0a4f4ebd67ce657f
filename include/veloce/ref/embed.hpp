// Oracle of ops/embed.hpp.
#pragma once

#include "veloce/ops/embed.hpp"

namespace veloce::ref {

template <BlockFormat F, class K>
Status embed(const EmbedArgs<GgufMatrix<F, K>>& a) {
  if (Status s = check(a); !s) return s;
  for (int i = 0; i < a.count; ++i)
    for (int b = 0; b < a.table.k() / F::kValues; ++b)
      F::decode(a.table.row(a.ids[i])[b],
                a.y + std::size_t(i) * std::size_t(a.table.k()) + std::size_t(b) * F::kValues);
  return {};
}

}  // namespace veloce::ref

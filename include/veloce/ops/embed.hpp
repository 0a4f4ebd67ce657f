// Rows of a matrix by number, as floats: the embedding of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "veloce/ops/matvec.hpp"

namespace veloce {

template <WeightMatrix M>
struct EmbedArgs {
  M table;                            // rows() tokens of k() values
  const std::int32_t* ids = nullptr;  // `count` row numbers
  int count = 0;
  float* y = nullptr;  // [count][k]
};

template <WeightMatrix M>
Status check(const EmbedArgs<M>& a) {
  detail::ArgChecker c("embed");
  c.at_least("table.rows", a.table.rows(), 1)
      .at_least("table.k", a.table.k(), 1)
      .multiple("table.k", a.table.k(), M::Format::kValues,
                "the block of " + std::string(M::Format::kName))
      .at_least("count", a.count, 1)
      .not_null("table", a.table.data())
      .not_null("ids", a.ids)
      .not_null("y", a.y);
  if (Status s = c.status(); !s) return s;
  for (int i = 0; i < a.count; ++i)
    if (a.ids[i] < 0 || a.ids[i] >= a.table.rows())
      return Status(Code::kInvalidArgument,
                    "embed: ids[" + std::to_string(i) + "] = " + std::to_string(a.ids[i]) +
                        ": the table has " + std::to_string(a.table.rows()) + " rows");
  return {};
}

template <WeightMatrix M>
Cost cost(const EmbedArgs<M>& a) {
  const std::uint64_t n = std::uint64_t(a.count), k = std::uint64_t(a.table.k());
  return {n * (row_bytes<typename M::Format>(k) + 4 * k), 2 * n * k};
}

}  // namespace veloce

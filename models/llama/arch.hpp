// The `llama` family (Llama 1 to 3, SmolLM, Mistral and their like): what sets it apart from the
// other dense transformers. Formulas and tensor names: specs/qwen38.md F.1.
#pragma once

#include <string_view>

namespace veloce::models {

struct Llama {
  static constexpr std::string_view kGgufName = "llama";
  static constexpr bool kNeoxRope =
      false;  // pairs (2i, 2i + 1): the converter permuted the rows of Q and K
  static constexpr bool kHeadNorm = false;  // no norm of the heads' queries and keys
};

}  // namespace veloce::models

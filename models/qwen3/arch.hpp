// The dense `qwen3` family. As llama, but queries and keys are normalised head by head before they
// are rotated, and rotation pairs are the halves of a head. Formulas and tensor names:
// specs/qwen38.md F.2.
#pragma once

#include <string_view>

namespace veloce::models {

struct Qwen3 {
  static constexpr std::string_view kGgufName = "qwen3";
  static constexpr bool kNeoxRope = true;
  static constexpr bool kHeadNorm = true;
};

}  // namespace veloce::models

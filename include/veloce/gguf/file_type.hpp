// The label that `general.file_type` gives a file (specs/gguf.md section 6). Only a label: the
// truth is each tensor's type.
#pragma once

#include <cstdint>
#include <string_view>

namespace veloce::gguf {

// The usual name of a file type, without the "guessed" bit; empty for one that is unknown or
// retired.
constexpr std::string_view file_type_name(std::uint64_t id) {
  struct Entry {
    std::uint64_t id;
    std::string_view name;
  };
  constexpr Entry kNames[] = {{0, "F32"},        {1, "F16"},     {2, "Q4_0"},    {3, "Q4_1"},
                              {7, "Q8_0"},       {8, "Q5_0"},    {9, "Q5_1"},    {10, "Q2_K"},
                              {11, "Q3_K_S"},    {12, "Q3_K_M"}, {13, "Q3_K_L"}, {14, "Q4_K_S"},
                              {15, "Q4_K_M"},    {16, "Q5_K_S"}, {17, "Q5_K_M"}, {18, "Q6_K"},
                              {19, "IQ2_XXS"},   {20, "IQ2_XS"}, {21, "Q2_K_S"}, {22, "IQ3_XS"},
                              {23, "IQ3_XXS"},   {24, "IQ1_S"},  {25, "IQ4_NL"}, {26, "IQ3_S"},
                              {27, "IQ3_M"},     {28, "IQ2_S"},  {29, "IQ2_M"},  {30, "IQ4_XS"},
                              {31, "IQ1_M"},     {32, "BF16"},   {36, "TQ1_0"},  {37, "TQ2_0"},
                              {38, "MXFP4_MOE"}, {39, "NVFP4"},  {40, "Q1_0"},   {41, "Q2_0"}};
  for (const Entry& e : kNames)
    if (e.id == (id & ~std::uint64_t(1024))) return e.name;
  return {};
}

}  // namespace veloce::gguf

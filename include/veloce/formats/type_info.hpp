// The tensor types that GGUF numbers: names, ids and block sizes, known at run time without any
// format's code (specs/quants.md section 1). Retired and unassigned ids are not here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace veloce {

struct TypeInfo {
  std::string_view name;  // the GGUF spelling
  std::uint32_t id;
  std::uint32_t values;  // values in a block
  std::uint32_t bytes;   // bytes of a block
  bool weight;  // a type that weights come in; the others are plain numbers or activation formats
};

inline constexpr TypeInfo kTypes[] = {
    {"F32", 0, 1, 4, true},         {"F16", 1, 1, 2, true},         {"Q4_0", 2, 32, 18, true},
    {"Q4_1", 3, 32, 20, true},      {"Q5_0", 6, 32, 22, true},      {"Q5_1", 7, 32, 24, true},
    {"Q8_0", 8, 32, 34, true},      {"Q8_1", 9, 32, 36, false},     {"Q2_K", 10, 256, 84, true},
    {"Q3_K", 11, 256, 110, true},   {"Q4_K", 12, 256, 144, true},   {"Q5_K", 13, 256, 176, true},
    {"Q6_K", 14, 256, 210, true},   {"Q8_K", 15, 256, 292, false},  {"IQ2_XXS", 16, 256, 66, true},
    {"IQ2_XS", 17, 256, 74, true},  {"IQ3_XXS", 18, 256, 98, true}, {"IQ1_S", 19, 256, 50, true},
    {"IQ4_NL", 20, 32, 18, true},   {"IQ3_S", 21, 256, 110, true},  {"IQ2_S", 22, 256, 82, true},
    {"IQ4_XS", 23, 256, 136, true}, {"I8", 24, 1, 1, false},        {"I16", 25, 1, 2, false},
    {"I32", 26, 1, 4, false},       {"I64", 27, 1, 8, false},       {"F64", 28, 1, 8, false},
    {"IQ1_M", 29, 256, 56, true},   {"BF16", 30, 1, 2, true},       {"TQ1_0", 34, 256, 54, true},
    {"TQ2_0", 35, 256, 66, true},   {"MXFP4", 39, 32, 17, true},    {"NVFP4", 40, 64, 36, true},
    {"Q1_0", 41, 128, 18, true},    {"Q2_0", 42, 64, 18, true},
};

// The type with this GGUF id; null for a retired or unassigned one.
constexpr const TypeInfo* find_type(std::uint32_t id) {
  for (const TypeInfo& type : kTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

// The type of this name, upper or lower case alike ("q4_k" is Q4_K); null if there is none.
constexpr const TypeInfo* find_type(std::string_view name) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; };
  for (const TypeInfo& type : kTypes) {
    if (type.name.size() != name.size()) continue;
    bool same = true;
    for (std::size_t i = 0; i < name.size(); ++i) same = same && upper(name[i]) == type.name[i];
    if (same) return &type;
  }
  return nullptr;
}

// Ids that GGUF files once used and that readers refuse: Q4_2, Q4_3 and the layouts interleaved for
// one machine.
constexpr bool retired_type(std::uint32_t id) {
  return id == 4 || id == 5 || (id >= 31 && id <= 33) || (id >= 36 && id <= 38);
}

// For messages: "12 (Q4_K)", "4 (a type that GGUF no longer uses)", "99 (not a GGUF type)".
inline std::string describe_type(std::uint32_t id) {
  const TypeInfo* type = find_type(id);
  const std::string what = type               ? std::string(type->name)
                           : retired_type(id) ? "a type that GGUF no longer uses"
                                              : "not a GGUF type";
  return std::to_string(id) + " (" + what + ")";
}

}  // namespace veloce

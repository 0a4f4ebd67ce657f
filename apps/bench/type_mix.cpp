#include "type_mix.hpp"

#include "veloce/formats/all.hpp"

namespace veloce::bench {
namespace {

using gguf::synthetic::Role;
using gguf::synthetic::Shape;
using gguf::synthetic::TensorPlan;

struct Mix {
  std::string_view name;
  std::uint32_t base, file_type;
};

constexpr Mix kMixes[] = {
    {"Q2_K_S", Q2_K::kGgufType, 21},     {"Q2_K_M", Q2_K::kGgufType, 10},
    {"Q3_K_S", Q3_K::kGgufType, 11},     {"Q3_K_M", Q3_K::kGgufType, 12},
    {"Q3_K_L", Q3_K::kGgufType, 13},     {"Q4_K_S", Q4_K::kGgufType, 14},
    {"Q4_K_M", Q4_K::kGgufType, 15},     {"Q5_K_S", Q5_K::kGgufType, 16},
    {"Q5_K_M", Q5_K::kGgufType, 17},     {"IQ2_M", IQ2_S::kGgufType, 29},
    {"IQ3_XS", IQ3_S::kGgufType, 22},    {"IQ3_M", IQ3_S::kGgufType, 27},
    {"IQ4_XS_M", IQ4_XS::kGgufType, 30},
};

// general.file_type of a file that is all of one type (specs/gguf.md section 6).
struct FileType {
  std::uint32_t type, file_type;
};
constexpr FileType kFileTypes[] = {
    {F32::kGgufType, 0},      {F16::kGgufType, 1},     {Q4_0::kGgufType, 2},
    {Q4_1::kGgufType, 3},     {Q8_0::kGgufType, 7},    {Q5_0::kGgufType, 8},
    {Q5_1::kGgufType, 9},     {Q2_K::kGgufType, 10},   {Q3_K::kGgufType, 12},
    {Q4_K::kGgufType, 15},    {Q5_K::kGgufType, 17},   {Q6_K::kGgufType, 18},
    {IQ2_XXS::kGgufType, 19}, {IQ2_XS::kGgufType, 20}, {IQ3_XXS::kGgufType, 23},
    {IQ1_S::kGgufType, 24},   {IQ4_NL::kGgufType, 25}, {IQ3_S::kGgufType, 26},
    {IQ2_S::kGgufType, 28},   {IQ4_XS::kGgufType, 30}, {IQ1_M::kGgufType, 31},
    {BF16::kGgufType, 32},    {TQ1_0::kGgufType, 36},  {TQ2_0::kGgufType, 37},
    {MXFP4::kGgufType, 38},   {NVFP4::kGgufType, 39},  {Q1_0::kGgufType, 40},
    {Q2_0::kGgufType, 41},
};

bool same_ignoring_case(std::string_view a, std::string_view b) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (upper(a[i]) != upper(b[i])) return false;
  return true;
}

// The layers that the "M" mixes favour: the first and the last eighth, and every third between.
bool is_favoured(std::uint32_t layer, std::uint32_t layers) {
  const std::uint32_t eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

// The type that stands in for one whose blocks do not divide the row.
std::uint32_t substitute(std::uint32_t type) {
  switch (type) {
    case Q4_K::kGgufType:
      return Q5_0::kGgufType;
    case Q5_K::kGgufType:
      return Q5_1::kGgufType;
    case Q6_K::kGgufType:
      return Q8_0::kGgufType;
    case TQ1_0::kGgufType:
    case TQ2_0::kGgufType:
    case Q1_0::kGgufType:
    case Q2_0::kGgufType:
      return Q4_0::kGgufType;
    default:
      return IQ4_NL::kGgufType;
  }
}

}  // namespace

Result<TypeMix> TypeMix::find(std::string_view name) {
  TypeMix out;
  if (const TypeInfo* type = find_type(name); type != nullptr && type->weight) {
    out.name_ = type->name;
    out.base_ = type->id;
    for (const FileType& entry : kFileTypes)
      if (entry.type == type->id) out.file_type_ = entry.file_type;
    return out;
  }
  std::string known;
  for (const TypeInfo& type : kTypes)
    if (type.weight) known += std::string(type.name) + ", ";
  for (const Mix& mix : kMixes) {
    if (same_ignoring_case(mix.name, name)) {
      out.name_ = mix.name;
      out.base_ = mix.base;
      out.file_type_ = mix.file_type;
      out.pure_ = false;
      return out;
    }
    known += (&mix == kMixes ? "and the mixes " : ", ") + std::string(mix.name);
  }
  return Status(Code::kInvalidArgument,
                "type: " + gguf::in_quotes(name) + " is unknown; there are " + known);
}

std::uint32_t TypeMix::type_of(const TensorPlan& tensor, const Shape& shape) const {
  if (tensor.role == Role::kNorm) return F32::kGgufType;
  std::uint32_t type = pure_ ? base_ : wanted(tensor, shape);
  const auto fits = [&](std::uint32_t id) { return tensor.dims[0] % find_type(id)->values == 0; };
  if (!fits(type)) type = substitute(type);
  return fits(type) ? type : std::uint32_t(F16::kGgufType);
}

std::uint32_t TypeMix::wanted(const TensorPlan& tensor, const Shape& shape) const {
  const bool two_bits = base_ == Q2_K::kGgufType || base_ == IQ2_S::kGgufType;
  switch (tensor.role) {
    case Role::kOutput:
      return name_ == "IQ2_M" ? Q5_K::kGgufType : Q6_K::kGgufType;
    case Role::kEmbedding:
      if (shape.tied) return Q6_K::kGgufType;  // it is the output too
      return name_ == "IQ2_M" ? std::uint32_t(IQ3_S::kGgufType) : base_;
    case Role::kValue:
      return wanted_value(tensor.layer, shape.heads / shape.kv_heads >= 4,
                          is_favoured(tensor.layer, shape.layers));
    case Role::kDown:
      return wanted_down(tensor.layer, shape.layers, is_favoured(tensor.layer, shape.layers));
    case Role::kAttnOutput:
      if (name_ == "Q3_K_M" || name_ == "IQ3_M") return Q4_K::kGgufType;
      if (name_ == "Q3_K_L") return Q5_K::kGgufType;
      if (two_bits) return base_ == Q2_K::kGgufType ? Q3_K::kGgufType : IQ3_S::kGgufType;
      return base_;
    default:
      return base_;
  }
}

std::uint32_t TypeMix::wanted_value(std::uint32_t layer, bool grouped, bool more) const {
  if (name_ == "Q4_K_M" || name_ == "Q5_K_M") return more ? std::uint32_t(Q6_K::kGgufType) : base_;
  if (name_ == "Q4_K_S") return layer < 4 ? std::uint32_t(Q5_K::kGgufType) : base_;
  if (name_ == "Q3_K_M") return layer < 2 ? Q5_K::kGgufType : Q4_K::kGgufType;
  if (name_ == "Q3_K_L" || name_ == "IQ4_XS_M") return Q5_K::kGgufType;
  if (name_ == "Q2_K_M" || name_ == "Q2_K_S") return grouped ? Q4_K::kGgufType : Q3_K::kGgufType;
  if (name_ == "IQ3_M" || name_ == "IQ2_M") return Q4_K::kGgufType;
  return base_;
}

std::uint32_t TypeMix::wanted_down(std::uint32_t layer, std::uint32_t layers, bool more) const {
  const bool early = layer < layers / 8;
  if (name_ == "Q4_K_M" || name_ == "Q5_K_M") return more ? std::uint32_t(Q6_K::kGgufType) : base_;
  if (name_ == "Q4_K_S" || name_ == "IQ4_XS_M")
    return early ? std::uint32_t(Q5_K::kGgufType) : base_;
  if (name_ == "Q3_K_M")
    return layer < layers / 16 ? std::uint32_t(Q5_K::kGgufType)
           : more              ? std::uint32_t(Q4_K::kGgufType)
                               : base_;
  if (name_ == "Q3_K_L") return Q5_K::kGgufType;
  if (name_ == "Q2_K_M") return Q3_K::kGgufType;
  if (name_ == "Q2_K_S" || name_ == "IQ3_M") return early ? std::uint32_t(Q4_K::kGgufType) : base_;
  if (name_ == "IQ2_M") return early ? std::uint32_t(IQ3_S::kGgufType) : base_;
  return base_;
}

}  // namespace veloce::bench

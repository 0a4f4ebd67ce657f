// Which type each tensor of a model gets: one type for all matrices, or one of the usual mixes,
// which spend more bits where it matters most (values, down projections, the output) and are known
// by names such as Q4_K_M.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "veloce/core/status.hpp"
#include "veloce/formats/type_info.hpp"
#include "veloce/gguf/synthetic.hpp"

namespace veloce::bench {

class TypeMix {
 public:
  // A GGUF type name ("Q4_K": that type for every matrix) or a mix name ("Q4_K_M"), in either case.
  // kInvalidArgument lists what there is.
  static Result<TypeMix> find(std::string_view name);

  // The type of a tensor. A type whose blocks do not divide the row length gives way to one of
  // 32-value blocks, and that to F16, as the usual tools do.
  std::uint32_t type_of(const gguf::synthetic::TensorPlan& tensor,
                        const gguf::synthetic::Shape& shape) const;

  std::string_view name() const { return name_; }
  std::uint32_t file_type() const { return file_type_; }  // general.file_type

 private:
  std::uint32_t wanted(const gguf::synthetic::TensorPlan& tensor,
                       const gguf::synthetic::Shape& shape) const;
  std::uint32_t wanted_value(std::uint32_t layer, bool grouped, bool more) const;
  std::uint32_t wanted_down(std::uint32_t layer, std::uint32_t layers, bool more) const;

  std::string_view name_;
  std::uint32_t base_ = 0;  // the type of most matrices
  std::uint32_t file_type_ = 0;
  bool pure_ = true;
};

}  // namespace veloce::bench

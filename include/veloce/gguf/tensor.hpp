// One tensor of a GGUF file as the loader hands it out: checked sizes and where its bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "veloce/formats/type_info.hpp"

namespace veloce::gguf {

// Views into the file: valid as long as the File. The loader has checked that the type is known,
// that rows are whole blocks, that the sizes do not overflow and that data .. data + bytes lies
// inside the file.
struct TensorInfo {
  std::string_view name;
  std::uint32_t type = 0;  // GGUF type id; find_type() knows it
  int n_dims = 0;          // as written in the file, 0 ... 4
  std::uint64_t dims[4] = {1, 1, 1,
                           1};  // fastest-varying first: dims[0] is the row length; all >= 1
  std::uint64_t bytes = 0;
  const std::byte* data =
      nullptr;   // aligned to nothing better than the file's general.alignment (may be 1)
  int part = 0;  // which file of a split model

  std::uint64_t rows() const { return dims[1] * dims[2] * dims[3]; }
  std::uint64_t elements() const { return dims[0] * rows(); }
  std::uint64_t row_bytes() const { return bytes / rows(); }
  std::string_view type_name() const {
    const TypeInfo* known = find_type(type);
    return known != nullptr ? known->name : std::string_view("unknown");
  }
  // For messages: "[4096, 512]".
  std::string shape() const {
    std::string text = "[";
    for (int i = 0; i < n_dims; ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
    return text + "]";
  }
};

}  // namespace veloce::gguf

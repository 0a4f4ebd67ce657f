// Reads everything there is to read in a GGUF image, for the fuzzers: whatever was accepted must be
// safe to use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "veloce/gguf/file.hpp"

namespace veloce::test {

// True when the loader took the bytes. The checksum's only purpose is that the reads happen.
inline bool exercise(std::span<const std::byte> bytes, std::uint64_t& checksum) {
  const auto file = gguf::File::from_memory(bytes, "fuzz");
  if (!file) {
    checksum += file.status().message().size();
    return false;
  }
  for (const auto& entry : file->metadata().entries()) {
    checksum += entry.value.describe().size();
    const gguf::Metadata& m = file->metadata();
    checksum += m.get_i64(entry.key).ok() + m.get_f64(entry.key).ok() + m.get_bool(entry.key).ok();
    if (const auto text = m.get_string(entry.key)) checksum += text->size();
    if (const auto strings = m.get_string_array(entry.key))
      for (const auto text : *strings) checksum += text.empty() ? 0 : std::uint8_t(text.back());
    if (const auto ints = m.get_int_array(entry.key)) checksum += ints->size();
    if (const auto floats = m.get_float_array(entry.key)) checksum += floats->size();
    checksum += m.get_int_per_layer(entry.key, 4).ok();
  }
  for (const auto& tensor : file->tensors()) {
    if (file->find_tensor(tensor.name) != &tensor) __builtin_trap();
    if (tensor.row_bytes() * tensor.rows() != tensor.bytes) __builtin_trap();
    checksum += std::uint64_t(tensor.data[0]) + std::uint64_t(tensor.data[tensor.bytes - 1]);
    checksum += tensor.shape().size() + tensor.type_name().size();
    file->drop(tensor);
  }
  return true;
}

}  // namespace veloce::test

// GGUF bytes laid down field by field, so that any field can lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "veloce/gguf/file.hpp"

namespace veloce::test {

class Raw {
 public:
  Raw() = default;
  // Magic, version and counts.
  Raw(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
    text("GGUF").put(version).put(tensors).put(keys);
  }

  template <class T>
  Raw& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Raw& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  Raw& string(std::string_view value) { return put(std::uint64_t(value.size())).text(value); }
  Raw& key(std::string_view name, gguf::Kind kind) { return string(name).put(std::uint32_t(kind)); }
  Raw& u32(std::string_view name, std::uint32_t value) {
    return key(name, gguf::Kind::kU32).put(value);
  }
  Raw& tensor(std::string_view name, std::initializer_list<std::uint64_t> dims, std::uint32_t type,
              std::uint64_t offset) {
    string(name).put(std::uint32_t(dims.size()));
    for (const std::uint64_t dim : dims) put(dim);
    return put(type).put(offset);
  }
  Raw& pad(std::size_t alignment = 32) {
    while (bytes_.size() % alignment != 0) bytes_ += '\0';
    return *this;
  }
  Raw& zeros(std::size_t count) {
    bytes_.append(count, '\0');
    return *this;
  }

  std::string& bytes() { return bytes_; }
  std::span<const std::byte> span() const { return std::as_bytes(std::span(bytes_)); }
  // The File views these bytes.
  Result<gguf::File> open() const { return gguf::File::from_memory(span(), "raw.gguf"); }

 private:
  std::string bytes_;
};

}  // namespace veloce::test

// Writes GGUF files: metadata, tensor records and tensor data, in one file or split over several.
// Tensor data is asked for while the file is written, so that a model larger than memory can be
// made. Format: specs/gguf.md.
#pragma once

#include <sys/stat.h>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/formats/type_info.hpp"
#include "veloce/gguf/cursor.hpp"
#include "veloce/gguf/mapping.hpp"
#include "veloce/gguf/parse.hpp"
#include "veloce/gguf/split.hpp"
#include "veloce/gguf/value.hpp"

namespace veloce::gguf {

// The value type that a C++ type is stored as.
template <class T>
inline constexpr Kind kKindOf = Kind::kArray;
template <>
inline constexpr Kind kKindOf<std::uint8_t> = Kind::kU8;
template <>
inline constexpr Kind kKindOf<std::int8_t> = Kind::kI8;
template <>
inline constexpr Kind kKindOf<std::uint16_t> = Kind::kU16;
template <>
inline constexpr Kind kKindOf<std::int16_t> = Kind::kI16;
template <>
inline constexpr Kind kKindOf<std::uint32_t> = Kind::kU32;
template <>
inline constexpr Kind kKindOf<std::int32_t> = Kind::kI32;
template <>
inline constexpr Kind kKindOf<float> = Kind::kF32;
template <>
inline constexpr Kind kKindOf<bool> = Kind::kBool;
template <>
inline constexpr Kind kKindOf<std::uint64_t> = Kind::kU64;
template <>
inline constexpr Kind kKindOf<std::int64_t> = Kind::kI64;
template <>
inline constexpr Kind kKindOf<double> = Kind::kF64;

template <class T>
concept ScalarValue = kKindOf<T>
!= Kind::kArray;

class Writer {
 public:
  // Takes the next bytes of what is being written.
  using Sink = std::function<Status(std::span<const std::byte>)>;
  // Gives a tensor's bytes to the sink, in order and in pieces of any size; exactly as many as the
  // tensor has.
  using Source = std::function<Status(const Sink&)>;

  // Sets a key to a value, stored as exactly this type; a key set before is replaced in its place.
  template <ScalarValue T>
  void set(std::string_view key, T value) {
    std::string record = begin_value(kKindOf<T>);
    put(record, value);
    store(key, std::move(record));
  }
  void set(std::string_view key, std::string_view value) {
    std::string record = begin_value(Kind::kString);
    put_string(record, value);
    store(key, std::move(record));
  }
  void set(std::string_view key, const char* value) { set(key, std::string_view(value)); }
  // A value of another file.
  void set(std::string_view key, const Value& value);

  template <ScalarValue T>
  void set_array(std::string_view key, std::span<const T> values) {
    std::string record = begin_array(kKindOf<T>, values.size());
    for (const T& value : values) put(record, value);
    store(key, std::move(record));
  }
  template <ScalarValue T>
  void set_array(std::string_view key, const std::vector<T>& values) {
    set_array(key, std::span<const T>(values));
  }
  template <class Text>
  requires std::convertible_to<const Text&, std::string_view>
  void set_array(std::string_view key, const std::vector<Text>& values) {
    std::string record = begin_array(Kind::kString, values.size());
    for (const Text& value : values) put_string(record, value);
    store(key, std::move(record));
  }

  void remove(std::string_view key);

  // Where tensors may begin; sets general.alignment. A power of two from 1 to 2^20; 32 when never
  // called.
  Status set_alignment(std::uint32_t alignment);

  // Adds a tensor after those added before. dims: fastest-varying first, at most four.
  // kInvalidArgument for a name, type or shape that a reader would refuse.
  Status add_tensor(std::string name, std::uint32_t type, std::vector<std::uint64_t> dims,
                    Source source);
  // The same with data that the caller keeps alive until it is written.
  Status add_tensor(std::string name, std::uint32_t type, std::vector<std::uint64_t> dims,
                    std::span<const std::byte> data);

  // Writes one file. It appears under its name only when it is whole; on an error nothing stays.
  Status write(const std::string& path) const;
  // Writes PREFIX-00001-of-0000N.gguf and so on, each with at most `part_bytes` of tensor data (but
  // at least one tensor); with `bare_first` the first part has the metadata alone. Gives the names.
  Result<std::vector<std::string>> write_split(const std::string& prefix, std::uint64_t part_bytes,
                                               bool bare_first = false) const;
  Result<std::vector<std::byte>> to_bytes() const;

 private:
  struct Key {
    std::string name, record;  // record: type and value as in the file
  };
  struct Tensor {
    std::string name;
    std::uint32_t type;
    std::vector<std::uint64_t> dims;
    std::uint64_t bytes;
    Source source;
  };

  template <class T>
  static void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void put_string(std::string& out, std::string_view text) {
    put(out, std::uint64_t(text.size()));
    out += text;
  }
  static std::string begin_value(Kind kind) {
    std::string record;
    put(record, std::uint32_t(kind));
    return record;
  }
  static std::string begin_array(Kind element, std::uint64_t count) {
    std::string record = begin_value(Kind::kArray);
    put(record, std::uint32_t(element));
    put(record, count);
    return record;
  }
  std::uint64_t padding(std::uint64_t position) const {
    return (alignment_ - position % alignment_) % alignment_;
  }

  void store(std::string_view key, std::string record);
  Status check_alignment_key() const;
  std::string head(const std::vector<Key>& keys, std::span<const Tensor> tensors) const;
  Status emit(const std::vector<Key>& keys, std::span<const Tensor> tensors,
              const Sink& sink) const;
  Status emit_file(const std::string& path, const std::vector<Key>& keys,
                   std::span<const Tensor> tensors) const;
  std::vector<std::span<const Tensor>> split_tensors(std::uint64_t part_bytes,
                                                     bool bare_first) const;

  std::uint32_t alignment_ = kDefaultAlignment;
  std::vector<Key> keys_;
  std::unordered_map<std::string, std::size_t> key_index_;
  std::vector<Tensor> tensors_;
};

inline void Writer::store(std::string_view key, std::string record) {
  const auto [at, fresh] = key_index_.try_emplace(std::string(key), keys_.size());
  if (fresh)
    keys_.push_back({std::string(key), std::move(record)});
  else
    keys_[at->second].record = std::move(record);
}

inline void Writer::set(std::string_view key, const Value& value) {
  const std::string_view bytes(reinterpret_cast<const char*>(value.bytes().data()),
                               value.bytes().size());
  if (value.kind() == Kind::kString) return set(key, bytes);
  std::string record = value.is_array() ? begin_array(value.element_kind(), value.count())
                                        : begin_value(value.kind());
  record += bytes;
  store(key, std::move(record));
}

inline void Writer::remove(std::string_view key) {
  const auto at = key_index_.find(std::string(key));
  if (at == key_index_.end()) return;
  keys_.erase(keys_.begin() + std::ptrdiff_t(at->second));
  key_index_.clear();
  for (std::size_t i = 0; i < keys_.size(); ++i) key_index_[keys_[i].name] = i;
}

inline Status Writer::set_alignment(std::uint32_t alignment) {
  if (!std::has_single_bit(alignment) || alignment > kMaxAlignment)
    return {Code::kInvalidArgument, "alignment: " + std::to_string(alignment) +
                                        " is not a power of two from 1 to " +
                                        std::to_string(kMaxAlignment)};
  alignment_ = alignment;
  set("general.alignment", alignment);
  return {};
}

inline Status Writer::add_tensor(std::string name, std::uint32_t type,
                                 std::vector<std::uint64_t> dims, Source source) {
  const auto refuse = [&](const std::string& what) {
    return Status(Code::kInvalidArgument, "tensor " + in_quotes(name) + ": " + what);
  };
  if (name.empty() || name.size() > kMaxTensorNameLength || !detail::is_clean(name))
    return refuse("the name must have 1 to " + std::to_string(kMaxTensorNameLength) +
                  " bytes and no control characters");
  const TypeInfo* known = find_type(type);
  if (known == nullptr) return refuse("type id " + std::to_string(type) + " is unknown");
  if (dims.size() > 4)
    return refuse(std::to_string(dims.size()) + " dimensions, at most 4 are allowed");
  std::uint64_t elements = 1, bytes = 0;
  for (const std::uint64_t dim : dims)
    if (dim == 0 || __builtin_mul_overflow(elements, dim, &elements) ||
        elements > std::uint64_t(INT64_MAX))
      return refuse("dimension " + std::to_string(dim) + " is zero or makes the product overflow");
  if ((dims.empty() ? 1 : dims[0]) % known->values != 0)
    return refuse("row length " + std::to_string(dims.empty() ? 1 : dims[0]) +
                  " is not a multiple of " + std::to_string(known->values) +
                  ", the block of type " + std::string(known->name));
  if (__builtin_mul_overflow(elements / known->values, std::uint64_t(known->bytes), &bytes))
    return refuse("its bytes overflow");
  tensors_.push_back({std::move(name), type, std::move(dims), bytes, std::move(source)});
  return {};
}

inline Status Writer::add_tensor(std::string name, std::uint32_t type,
                                 std::vector<std::uint64_t> dims, std::span<const std::byte> data) {
  return add_tensor(std::move(name), type, std::move(dims),
                    [data](const Sink& sink) { return sink(data); });
}

// Everything before the data section, padded.
inline std::string Writer::head(const std::vector<Key>& keys,
                                std::span<const Tensor> tensors) const {
  std::string out = "GGUF";
  put(out, std::uint32_t(3));
  put(out, std::uint64_t(tensors.size()));
  put(out, std::uint64_t(keys.size()));
  for (const Key& key : keys) {
    put_string(out, key.name);
    out += key.record;
  }
  std::uint64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    put_string(out, tensor.name);
    put(out, std::uint32_t(tensor.dims.size()));
    for (const std::uint64_t dim : tensor.dims) put(out, dim);
    put(out, tensor.type);
    put(out, offset);
    offset += tensor.bytes + padding(tensor.bytes);
  }
  if (!tensors.empty()) out.append(padding(out.size()), '\0');
  return out;
}

inline Status Writer::emit(const std::vector<Key>& keys, std::span<const Tensor> tensors,
                           const Sink& sink) const {
  const std::string begin = head(keys, tensors);
  if (Status s = sink(std::as_bytes(std::span(begin))); !s) return s;
  const std::vector<std::byte> zeros(alignment_);
  for (const Tensor& tensor : tensors) {
    std::uint64_t written = 0;
    const auto wrong_size = [&](const char* what) {
      return Status(Code::kInvalidArgument, "tensor " + in_quotes(tensor.name) +
                                                ": its source gave " + what + " than " +
                                                std::to_string(tensor.bytes) + " bytes");
    };
    Status given = tensor.source([&](std::span<const std::byte> bytes) {
      if (bytes.size() > tensor.bytes - written) return wrong_size("more");
      written += bytes.size();
      return sink(bytes);
    });
    if (!given) return given;
    if (written != tensor.bytes) return wrong_size("fewer");
    if (Status s = sink(std::span(zeros).first(padding(tensor.bytes))); !s) return s;
  }
  return {};
}

inline Status Writer::emit_file(const std::string& path, const std::vector<Key>& keys,
                                std::span<const Tensor> tensors) const {
  struct stat existing {};
  if (::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode))
    return {Code::kInvalidArgument, path + ": is " + detail::file_kind(existing.st_mode) +
                                        ", which will not be replaced by a file"};
  const std::string unfinished = path + ".unfinished";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(unfinished.c_str(), "wb"),
                                                       &std::fclose);
  if (file == nullptr) return detail::os_error(unfinished, "create");
  std::setvbuf(file.get(), nullptr, _IOFBF, 1 << 20);
  Status status = emit(keys, tensors, [&](std::span<const std::byte> bytes) {
    if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
      return detail::os_error(unfinished, "write");
    return Status();
  });
  if (std::fclose(file.release()) != 0 && status.ok())
    status = detail::os_error(unfinished, "write");
  if (status.ok() && std::rename(unfinished.c_str(), path.c_str()) != 0)
    status = detail::os_error(path, "create");
  if (!status.ok()) std::remove(unfinished.c_str());
  return status;
}

// The layout follows set_alignment(); a key that says otherwise would make the file unreadable.
inline Status Writer::check_alignment_key() const {
  std::string want = begin_value(Kind::kU32);
  put(want, alignment_);
  const auto at = key_index_.find("general.alignment");
  if (at == key_index_.end() ? alignment_ == kDefaultAlignment : keys_[at->second].record == want)
    return {};
  return {Code::kInvalidArgument,
          "general.alignment: set or removed as a key; use set_alignment()"};
}

inline Status Writer::write(const std::string& path) const {
  if (Status s = check_alignment_key(); !s) return s;
  return emit_file(path, keys_, tensors_);
}

inline Result<std::vector<std::byte>> Writer::to_bytes() const {
  if (Status s = check_alignment_key(); !s) return s;
  std::vector<std::byte> out;
  const Status status = emit(keys_, tensors_, [&](std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return Status();
  });
  if (!status) return status;
  return out;
}

inline std::vector<std::span<const Writer::Tensor>> Writer::split_tensors(std::uint64_t part_bytes,
                                                                          bool bare_first) const {
  std::vector<std::span<const Tensor>> parts;
  if (bare_first) parts.emplace_back();
  const std::span<const Tensor> all(tensors_);
  std::size_t begin = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t room = part_bytes > bytes ? part_bytes - bytes : 0;
    if (i > begin && all[i].bytes > room) {
      parts.push_back(all.subspan(begin, i - begin));
      begin = i;
      bytes = 0;
    }
    bytes += all[i].bytes;
  }
  if (begin < all.size() || parts.empty()) parts.push_back(all.subspan(begin));
  return parts;
}

inline Result<std::vector<std::string>> Writer::write_split(const std::string& prefix,
                                                            std::uint64_t part_bytes,
                                                            bool bare_first) const {
  if (Status s = check_alignment_key(); !s) return s;
  const auto parts = split_tensors(part_bytes, bare_first);
  if (parts.size() > kMaxParts)
    return Status(Code::kInvalidArgument, "part size: " + std::to_string(part_bytes) +
                                              " bytes would make " + std::to_string(parts.size()) +
                                              " parts, at most " + std::to_string(kMaxParts) +
                                              " are allowed");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Writer keys;  // this part's metadata: the model's own only in the first
    if (i == 0) {
      keys.keys_ = keys_;
      keys.key_index_ = key_index_;
    } else if (alignment_ != kDefaultAlignment) {
      keys.set("general.alignment", alignment_);
    }
    keys.set("split.no", std::uint16_t(i));
    keys.set("split.count", std::uint16_t(parts.size()));
    keys.set("split.tensors.count", std::int32_t(tensors_.size()));
    names.push_back(part_name(prefix, std::uint32_t(i), std::uint32_t(parts.size())));
    if (Status s = emit_file(names.back(), keys.keys_, parts[i]); !s) {
      names.pop_back();
      for (const std::string& name : names) std::remove(name.c_str());
      return s;
    }
  }
  return names;
}

}  // namespace veloce::gguf

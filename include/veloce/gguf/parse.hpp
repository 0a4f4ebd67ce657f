// The hardened reading of one GGUF file's bytes: header, metadata records, tensor records,
// placement of the data. Every length, count and offset is checked against what the file still has
// before it is used, so memory stays below a small multiple of the file's size and time is linear
// in it (n log n in the number of names). Rules: specs/gguf.md section 8; the numbers of the rules
// are not repeated here.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/formats/type_info.hpp"
#include "veloce/gguf/cursor.hpp"
#include "veloce/gguf/metadata.hpp"
#include "veloce/gguf/tensor.hpp"
#include "veloce/gguf/value.hpp"

namespace veloce::gguf {

inline constexpr std::uint32_t kDefaultAlignment = 32;
inline constexpr std::uint64_t kMaxAlignment = 1u << 20;
inline constexpr std::uint64_t kMaxKeys = 1u << 20;
inline constexpr std::uint64_t kMaxTensors = 1u << 20;
inline constexpr std::uint64_t kMaxKeyLength = 65535;
inline constexpr std::uint64_t kMaxTensorNameLength = 63;
inline constexpr std::uint64_t kMaxStringLength = 1u << 30;
inline constexpr std::uint64_t kMaxArrayCount = 1u << 30;
// Strings in all arrays of a file together: forty times the largest vocabularies, and a bound on
// the time that a huge sparse file full of empty strings can take.
inline constexpr std::uint64_t kMaxArrayStrings = 1u << 24;

// What one file holds; the views point into the parsed bytes.
struct ParsedFile {
  std::uint32_t version = 0;
  std::uint64_t alignment = kDefaultAlignment;
  std::uint64_t data_start = 0;  // where tensor offsets count from
  Metadata metadata;
  std::vector<TensorInfo> tensors;  // in the order of the file
};

namespace detail {

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, const std::string& file)
      : bytes_(bytes), file_(file), cursor_(bytes) {}

  Result<ParsedFile> run() {
    if (Status s = header(); !s) return s;
    if (Status s = metadata(); !s) return s;
    if (Status s = tensor_records(); !s) return s;
    if (Status s = place_tensors(); !s) return s;
    return std::move(out_);
  }

 private:
  Status header();
  Status metadata();
  Status key(std::string_view& out);
  Status value(Value& out);
  Status array(Value& out);
  Status alignment();
  Status tensor_records();
  Status tensor(TensorInfo& out, std::uint64_t& offset);
  Status tensor_shape(TensorInfo& out);
  Status tensor_size(TensorInfo& out, std::uint32_t type_id);
  Status place_tensors();
  Status no_overlap();

  Status corrupt(const std::string& what) const {
    return {Code::kCorrupt, file_ + ": " + context_ + what};
  }
  Status cut_off(const std::string& field) const {
    return corrupt("the file ends inside the " + field + " (at byte " +
                   std::to_string(cursor_.position()) + ", " + std::to_string(cursor_.remaining()) +
                   " bytes left)");
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
  Cursor cursor_;
  std::string context_;  // which record is being read; begins every message
  std::uint64_t key_count_ = 0, tensor_count_ = 0, array_strings_ = 0;
  std::vector<std::uint64_t> offsets_;
  ParsedFile out_;
};

// Text that may be shown to people and used as a name: no control bytes.
inline bool is_clean(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

inline Status Parser::header() {
  constexpr std::string_view kLfsPointer = "version https://git-lfs";
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  if (text.substr(0, kLfsPointer.size()) == kLfsPointer)
    return corrupt("is a Git LFS pointer, not the model itself; fetch it with git lfs pull");
  if (text.size() >= 4 && text.substr(0, 4) != "GGUF")
    return corrupt("is not a GGUF file: it begins with " + in_quotes(text.substr(0, 4)) +
                   ", not with \"GGUF\"");
  if (bytes_.size() < 24)
    return corrupt("is too short for a GGUF header: " + std::to_string(bytes_.size()) +
                   " bytes, not 24 or more");
  std::uint32_t magic = 0;
  cursor_.read(magic);
  cursor_.read(out_.version);
  cursor_.read(tensor_count_);
  cursor_.read(key_count_);
  if ((out_.version & 0xFFFF) == 0 && out_.version != 0)
    return {Code::kUnsupported, file_ + ": is a big-endian GGUF file (version reads as " +
                                    std::to_string(out_.version) +
                                    "); only little-endian files are supported"};
  if (out_.version != 2 && out_.version != 3)
    return {Code::kUnsupported, file_ + ": version: " + std::to_string(out_.version) +
                                    " is not supported, only 2 and 3"};
  const std::uint64_t left = cursor_.remaining();
  // 14 and 24 bytes: the smallest records there can be.
  if (key_count_ > kMaxKeys || key_count_ > left / 14)
    return corrupt("metadata count: " + std::to_string(key_count_) + " records cannot be in the " +
                   std::to_string(left) + " bytes that follow (limit " + std::to_string(kMaxKeys) +
                   ")");
  if (tensor_count_ > kMaxTensors || tensor_count_ > left / 24)
    return corrupt("tensor count: " + std::to_string(tensor_count_) + " records cannot be in the " +
                   std::to_string(left) + " bytes that follow (limit " +
                   std::to_string(kMaxTensors) + ")");
  return {};
}

inline Status Parser::metadata() {
  std::vector<Metadata::Entry> entries;
  entries.reserve(key_count_);
  for (std::uint64_t i = 0; i < key_count_; ++i) {
    context_ = "metadata record " + std::to_string(i) + ": ";
    Metadata::Entry entry;
    if (Status s = key(entry.key); !s) return s;
    context_ = "metadata record " + std::to_string(i) + " (" + in_quotes(entry.key) + "): ";
    if (Status s = value(entry.value); !s) return s;
    entries.push_back(entry);
  }
  context_.clear();
  out_.metadata = Metadata(file_, std::move(entries));
  const auto all = out_.metadata.entries();
  const auto order = out_.metadata.by_key();
  for (std::size_t i = 1; i < order.size(); ++i)
    if (all[order[i]].key == all[order[i - 1]].key)
      return corrupt("metadata records " + std::to_string(std::min(order[i], order[i - 1])) +
                     " and " + std::to_string(std::max(order[i], order[i - 1])) +
                     " have the same key " + in_quotes(all[order[i]].key));
  return alignment();
}

inline Status Parser::key(std::string_view& out) {
  std::uint64_t length = 0;
  Cursor ahead = cursor_;
  if (!ahead.read(length)) return cut_off("length of the key");
  if (length == 0) return corrupt("the key is empty");
  if (length > kMaxKeyLength)
    return corrupt("key length: " + std::to_string(length) + " is above the limit of " +
                   std::to_string(kMaxKeyLength));
  if (!cursor_.read_string(out)) return cut_off("key of " + std::to_string(length) + " bytes");
  if (!is_clean(out)) return corrupt("the key " + in_quotes(out) + " has control characters");
  return {};
}

inline Status Parser::value(Value& out) {
  std::uint32_t type = 0;
  if (!cursor_.read(type)) return cut_off("value type");
  if (type >= kKindCount)
    return corrupt("value type: " + std::to_string(type) + " is unknown (0 to 12 are known)");
  const Kind kind = Kind(type);
  if (kind == Kind::kArray) return array(out);
  if (kind == Kind::kString) {
    std::string_view text;
    std::uint64_t length = 0;
    Cursor ahead = cursor_;
    if (!ahead.read(length)) return cut_off("length of the string");
    if (length > kMaxStringLength)
      return corrupt("string length: " + std::to_string(length) + " is above the limit of " +
                     std::to_string(kMaxStringLength));
    if (!cursor_.read_string(text))
      return cut_off("string of " + std::to_string(length) + " bytes");
    out = Value(kind, kind, 1, std::as_bytes(std::span(text)));
    return {};
  }
  const std::byte* begin = cursor_.here();
  const std::uint32_t bytes = kind_bytes(kind);
  if (!cursor_.skip(bytes)) return cut_off("value of type " + std::string(kind_name(kind)));
  out = Value(kind, kind, 1, {begin, bytes});
  return {};
}

inline Status Parser::array(Value& out) {
  std::uint32_t type = 0;
  std::uint64_t count = 0;
  if (!cursor_.read(type)) return cut_off("element type of the array");
  if (type >= kKindCount || Kind(type) == Kind::kArray)
    return corrupt("array element type: " + std::to_string(type) +
                   (type == std::uint32_t(Kind::kArray) ? " (arrays of arrays) is not allowed"
                                                        : " is unknown"));
  if (!cursor_.read(count)) return cut_off("count of the array");
  const Kind element = Kind(type);
  const std::uint64_t least = element == Kind::kString ? 8 : kind_bytes(element);
  if (count > kMaxArrayCount || count > cursor_.remaining() / least)
    return corrupt("array count: " + std::to_string(count) + " elements of type " +
                   std::string(kind_name(element)) + " cannot be in the " +
                   std::to_string(cursor_.remaining()) + " bytes that follow (limit " +
                   std::to_string(kMaxArrayCount) + ")");
  const std::byte* begin = cursor_.here();
  if (element != Kind::kString) {
    cursor_.skip(count * least);
  } else {
    if (count > kMaxArrayStrings - array_strings_)
      return corrupt("array count: " + std::to_string(count) +
                     " strings, with those before, are above the limit of " +
                     std::to_string(kMaxArrayStrings));
    array_strings_ += count;
    std::string_view text;
    for (std::uint64_t i = 0; i < count; ++i)
      if (!cursor_.read_string(text))
        return cut_off("string " + std::to_string(i) + " of the array");
  }
  out = Value(Kind::kArray, element, count, {begin, std::size_t(cursor_.here() - begin)});
  return {};
}

inline Status Parser::alignment() {
  constexpr std::string_view kKey = "general.alignment";
  const Value* value = out_.metadata.find(kKey);
  if (value == nullptr) return {};
  if (value->kind() != Kind::kU32)
    return out_.metadata.mismatch(kKey, "a value of type u32", *value);
  out_.alignment = *value->u64();
  if (!std::has_single_bit(out_.alignment) || out_.alignment > kMaxAlignment)
    return out_.metadata.mismatch(kKey, "a power of two from 1 to " + std::to_string(kMaxAlignment),
                                  *value);
  return {};
}

inline Status Parser::tensor_records() {
  out_.tensors.reserve(tensor_count_);
  offsets_.reserve(tensor_count_);
  for (std::uint64_t i = 0; i < tensor_count_; ++i) {
    context_ = "tensor record " + std::to_string(i) + ": ";
    TensorInfo info;
    std::uint64_t offset = 0;
    if (Status s = tensor(info, offset); !s) return s;
    out_.tensors.push_back(info);
    offsets_.push_back(offset);
  }
  context_.clear();
  return {};
}

inline Status Parser::tensor(TensorInfo& out, std::uint64_t& offset) {
  std::uint64_t length = 0;
  Cursor ahead = cursor_;
  if (!ahead.read(length)) return cut_off("length of the name");
  if (length == 0) return corrupt("the name is empty");
  if (length > kMaxTensorNameLength)
    return corrupt("name length: " + std::to_string(length) + " is above the limit of " +
                   std::to_string(kMaxTensorNameLength));
  if (!cursor_.read_string(out.name))
    return cut_off("name of " + std::to_string(length) + " bytes");
  if (!is_clean(out.name))
    return corrupt("the name " + in_quotes(out.name) + " has control characters");
  context_.replace(context_.size() - 2, 2, " (" + in_quotes(out.name) + "): ");
  if (Status s = tensor_shape(out); !s) return s;
  std::uint32_t type_id = 0;
  if (!cursor_.read(type_id)) return cut_off("type");
  if (!cursor_.read(offset)) return cut_off("offset");
  return tensor_size(out, type_id);
}

inline Status Parser::tensor_shape(TensorInfo& out) {
  std::uint32_t n_dims = 0;
  if (!cursor_.read(n_dims)) return cut_off("number of dimensions");
  if (n_dims > 4)
    return corrupt("number of dimensions: " + std::to_string(n_dims) + " is above the limit of 4");
  out.n_dims = int(n_dims);
  std::uint64_t elements = 1;
  for (std::uint32_t d = 0; d < n_dims; ++d) {
    if (!cursor_.read(out.dims[d])) return cut_off("dimension " + std::to_string(d));
    if (out.dims[d] == 0 || out.dims[d] > std::uint64_t(INT64_MAX))
      return corrupt("dimension " + std::to_string(d) + ": " +
                     std::to_string(std::bit_cast<std::int64_t>(out.dims[d])) + " is not positive");
    if (__builtin_mul_overflow(elements, out.dims[d], &elements) ||
        elements > std::uint64_t(INT64_MAX))
      return corrupt("dimensions: the product of " + out.shape() + " overflows");
  }
  return {};
}

inline Status Parser::tensor_size(TensorInfo& out, std::uint32_t type_id) {
  const TypeInfo* type = find_type(type_id);
  if (type == nullptr)
    return {Code::kUnsupported, file_ + ": " + context_ + "type: id " + std::to_string(type_id) +
                                    (retired_type(type_id) ? " is a retired type" : " is unknown")};
  out.type = type_id;
  if (out.dims[0] % type->values != 0)
    return corrupt("dimension 0: " + std::to_string(out.dims[0]) + " is not a multiple of " +
                   std::to_string(type->values) + ", the block of type " + std::string(type->name));
  if (__builtin_mul_overflow(out.elements() / type->values, std::uint64_t(type->bytes), &out.bytes))
    return corrupt("dimensions: the bytes of " + out.shape() + " in type " +
                   std::string(type->name) + " overflow");
  return {};
}

inline Status Parser::place_tensors() {
  // The cursor is at most the file's size and the alignment at most 2^20: no overflow.
  out_.data_start = (cursor_.position() + out_.alignment - 1) / out_.alignment * out_.alignment;
  if (out_.tensors.empty()) return {};
  if (out_.data_start > bytes_.size())
    return corrupt("data section: the file ends at byte " + std::to_string(bytes_.size()) +
                   ", before the data begins at byte " + std::to_string(out_.data_start));
  const std::uint64_t room = bytes_.size() - out_.data_start;
  for (std::size_t i = 0; i < out_.tensors.size(); ++i) {
    TensorInfo& tensor = out_.tensors[i];
    context_ = "tensor record " + std::to_string(i) + " (" + in_quotes(tensor.name) + "): ";
    if (offsets_[i] % out_.alignment != 0)
      return corrupt("offset: " + std::to_string(offsets_[i]) +
                     " is not a multiple of the alignment " + std::to_string(out_.alignment));
    if (offsets_[i] > room || tensor.bytes > room - offsets_[i])
      return corrupt("offset: " + std::to_string(offsets_[i]) + " and size " +
                     std::to_string(tensor.bytes) + " do not fit into the " + std::to_string(room) +
                     " bytes of the data section");
    tensor.data = bytes_.data() + out_.data_start + offsets_[i];
  }
  context_.clear();
  return no_overlap();
}

inline Status Parser::no_overlap() {
  std::vector<std::uint32_t> order(out_.tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return offsets_[a] < offsets_[b]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::uint32_t before = order[i - 1], after = order[i];
    if (offsets_[before] + out_.tensors[before].bytes > offsets_[after])
      return corrupt("tensor record " + std::to_string(after) + " (" +
                     in_quotes(out_.tensors[after].name) +
                     "): offset: " + std::to_string(offsets_[after]) + " lies inside tensor " +
                     in_quotes(out_.tensors[before].name) + ", which ends at " +
                     std::to_string(offsets_[before] + out_.tensors[before].bytes));
  }
  return {};
}

}  // namespace detail

// Reads one file's bytes. `file` is what messages call it. Uniqueness of tensor names is checked by
// File, over all parts of a split model. Errors: kCorrupt (contradicts the format), kUnsupported
// (version, byte order, tensor type).
inline Result<ParsedFile> parse(std::span<const std::byte> bytes, const std::string& file) {
  return detail::Parser(bytes, file).run();
}

}  // namespace veloce::gguf

// A GGUF model file, or all files of a split model: metadata and tensors, mapped into memory and
// not copied.
//
//   auto file = veloce::gguf::File::open("model.gguf");
//   if (!file) return report(file.status());
//   for (const auto& tensor : file->tensors()) ...
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/gguf/mapping.hpp"
#include "veloce/gguf/metadata.hpp"
#include "veloce/gguf/parse.hpp"
#include "veloce/gguf/split.hpp"
#include "veloce/gguf/tensor.hpp"

namespace veloce::gguf {

// Movable; views handed out (strings, values, tensor data) stay valid until the File is destroyed,
// also when it moves. All const members may be called from several threads at once.
class File {
 public:
  // Opens a file; of a split model any part may be named, and all parts must lie beside it. Errors
  // name file, record, field and value: kNotFound, kIo, kInvalidArgument (a directory, pipe or
  // device), kCorrupt, kUnsupported.
  static Result<File> open(const std::string& path);

  // The same from bytes that the caller keeps alive and unchanged; `name` is what messages call
  // them. One part only.
  static Result<File> from_memory(std::span<const std::byte> bytes, std::string name);

  const std::string& path() const { return path_; }  // as it was given to open()
  std::size_t parts() const { return alignments_.size(); }
  std::uint64_t alignment(std::size_t part = 0) const { return alignments_[part]; }

  // Of a split model: the metadata of its first part.
  const Metadata& metadata() const { return metadata_; }
  // The value of general.architecture; empty when the file does not have it.
  std::string_view architecture() const {
    const Value* value = metadata_.find("general.architecture");
    return value != nullptr ? value->string().value_or(std::string_view()) : std::string_view();
  }

  // In the order of the file, part after part.
  std::span<const TensorInfo> tensors() const { return tensors_; }
  // Null when there is none of this name.
  const TensorInfo* find_tensor(std::string_view name) const {
    const auto at =
        std::lower_bound(by_name_.begin(), by_name_.end(), name,
                         [&](std::uint32_t i, std::string_view n) { return tensors_[i].name < n; });
    return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
  }
  std::uint64_t tensor_bytes() const {
    std::uint64_t sum = 0;
    for (const TensorInfo& tensor : tensors_) sum += tensor.bytes;
    return sum;
  }

  // An error when a file's size or time is no longer what it was when it was opened: to be asked
  // before long reads.
  Status unchanged() const {
    for (const Mapping& mapping : mappings_)
      if (Status s = mapping.unchanged(); !s) return s;
    return {};
  }
  // Gives back the resident pages of a tensor (after its weights were repacked); its data can still
  // be read.
  void drop(const TensorInfo& tensor) const {
    if (!mappings_.empty()) mappings_[std::size_t(tensor.part)].drop(tensor.data, tensor.bytes);
  }
  // Gives back all resident pages, of metadata too.
  void drop() const {
    for (const Mapping& mapping : mappings_)
      mapping.drop(mapping.bytes().data(), mapping.bytes().size());
  }
  // Copies out.size() bytes of a tensor, from byte `offset` of its data on, without touching the
  // mapping: what is read now and then during use costs no resident memory. The range must lie in
  // the tensor. kIo: the file can no longer be read there.
  Status read(const TensorInfo& tensor, std::uint64_t offset, std::span<std::byte> out) const {
    if (!mappings_.empty())
      return mappings_[std::size_t(tensor.part)].read(tensor.data + offset, out);
    std::copy_n(tensor.data + offset, out.size(), out.data());
    return {};
  }
  // Starts reading a tensor's pages ahead.
  void prefetch(const TensorInfo& tensor) const {
    if (!mappings_.empty()) mappings_[std::size_t(tensor.part)].prefetch(tensor.data, tensor.bytes);
  }

 private:
  struct Part {
    Mapping mapping;
    ParsedFile parsed;
    std::uint32_t index = 0, count = 1;  // split.no and split.count
  };

  File() = default;
  static Result<Part> open_part(const std::string& path);
  static Status read_split_keys(Part& part);
  static Result<std::vector<Part>> open_all(const std::string& path);
  static Status check_total(const std::vector<Part>& parts);
  void take(ParsedFile parsed, int part);
  Status index_tensors();

  std::string path_;
  std::vector<Mapping> mappings_;  // empty for from_memory()
  std::vector<std::uint64_t> alignments_;
  Metadata metadata_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::uint32_t> by_name_;
};

inline Result<File> File::open(const std::string& path) {
  Result<std::vector<Part>> parts = open_all(path);
  if (!parts) return parts.status();
  File file;
  file.path_ = path;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    file.take(std::move((*parts)[i].parsed), int(i));
    file.mappings_.push_back(std::move((*parts)[i].mapping));
  }
  if (Status s = file.index_tensors(); !s) return s;
  return file;
}

inline Result<File> File::from_memory(std::span<const std::byte> bytes, std::string name) {
  Result<ParsedFile> parsed = parse(bytes, name);
  if (!parsed) return parsed.status();
  File file;
  file.path_ = std::move(name);
  file.take(*std::move(parsed), 0);
  if (Status s = file.index_tensors(); !s) return s;
  return file;
}

inline Result<File::Part> File::open_part(const std::string& path) {
  Result<Mapping> mapping = Mapping::open(path);
  if (!mapping) return mapping.status();
  Result<ParsedFile> parsed = parse(mapping->bytes(), path);
  if (!parsed) return parsed.status();
  Part part{*std::move(mapping), *std::move(parsed)};
  if (Status s = read_split_keys(part); !s) return s;
  return part;
}

inline Status File::read_split_keys(Part& part) {
  const Metadata& keys = part.parsed.metadata;
  const auto count = keys.get_in_or<std::uint32_t>("split.count", 0, kMaxParts, 1);
  if (!count) return count.status();
  if (*count <= 1) return {};
  const auto index = keys.get_in<std::uint32_t>("split.no", 0, *count - 1);
  if (!index) return index.status();
  part.count = *count;
  part.index = *index;
  return {};
}

inline Result<std::vector<File::Part>> File::open_all(const std::string& path) {
  Result<Part> named = open_part(path);
  if (!named) return named.status();
  const std::uint32_t count = named->count, named_index = named->index;
  std::vector<Part> parts;
  if (count <= 1) {
    parts.push_back(*std::move(named));
    return parts;
  }
  const auto prefix = part_prefix(path, named_index, count);
  if (!prefix)
    return Status(Code::kCorrupt, path + ": is part " + std::to_string(named_index + 1) + " of " +
                                      std::to_string(count) +
                                      " of a split model, but its name does not end with " +
                                      in_quotes(part_name("", named_index, count)) +
                                      " as the other parts' names need");
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i == named_index) continue;
    const std::string name = part_name(*prefix, i, count);
    Result<Part> part = open_part(name);
    if (!part) return part.status();
    if (part->count != count || part->index != i)
      return Status(Code::kCorrupt, name + ": split.no and split.count: is part " +
                                        std::to_string(part->index) + " of " +
                                        std::to_string(part->count) + ", expected " +
                                        std::to_string(i) + " of " + std::to_string(count));
    parts.push_back(*std::move(part));
  }
  parts.insert(parts.begin() + std::ptrdiff_t(named_index), *std::move(named));
  if (Status s = check_total(parts); !s) return s;
  return parts;
}

inline Status File::check_total(const std::vector<Part>& parts) {
  constexpr std::string_view kKey = "split.tensors.count";
  std::uint64_t total = 0;
  for (const Part& part : parts) total += part.parsed.tensors.size();
  for (const Part& part : parts) {
    const Metadata& keys = part.parsed.metadata;
    const auto claimed = keys.get_or<std::uint64_t>(kKey, total);
    if (!claimed) return claimed.status();
    if (*claimed != total)
      return keys.mismatch(kKey, std::to_string(total) + ", the tensors in all parts",
                           *keys.find(kKey));
  }
  return {};
}

inline void File::take(ParsedFile parsed, int part) {
  if (part == 0) metadata_ = std::move(parsed.metadata);
  alignments_.push_back(parsed.alignment);
  for (TensorInfo& tensor : parsed.tensors) {
    tensor.part = part;
    tensors_.push_back(tensor);
  }
}

inline Status File::index_tensors() {
  by_name_ = sorted_index(tensors_, [](const TensorInfo& tensor) { return tensor.name; });
  for (std::size_t i = 1; i < by_name_.size(); ++i) {
    const std::uint32_t first = std::min(by_name_[i - 1], by_name_[i]),
                        second = std::max(by_name_[i - 1], by_name_[i]);
    if (tensors_[first].name == tensors_[second].name)
      return {Code::kCorrupt, path_ + ": tensors " + std::to_string(first) + " and " +
                                  std::to_string(second) + " have the same name " +
                                  in_quotes(tensors_[first].name)};
  }
  return {};
}

}  // namespace veloce::gguf

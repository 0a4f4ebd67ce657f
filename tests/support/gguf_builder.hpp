// Tiny models with random F32 weights that load and run, and that can be broken in any one place: a
// hyper-parameter, a vocabulary array, a tensor's shape, a single weight. For tests of what loaders
// refuse and of whole engines.
//
//   TinyModel model;                                     // llama, 2 layers, hidden 64
//   model.keys().set("llama.block_count", 1u << 31);     // one lie
//   model.tensor("blk.0.ffn_up.weight").values[7] = NAN; // or one bad weight
//   auto path = model.write(dir.file("broken.gguf"));
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/gguf/synthetic.hpp"
#include "veloce/gguf/writer.hpp"

namespace veloce::test {

struct TinyTensor {
  std::string name;
  std::vector<std::uint64_t> dims;  // fastest-varying first
  std::vector<float> values;        // F32; ignored when `raw` is not empty
  std::uint32_t type = 0;
  std::vector<std::byte> raw;  // bytes of a tensor of another type

  // Another shape, filled again; the loader finds a whole tensor of the wrong shape.
  void reshape(std::vector<std::uint64_t> to) {
    dims = std::move(to);
    std::uint64_t count = 1;
    for (const std::uint64_t dim : dims) count *= dim;
    values.resize(count, 0.01f);
  }
};

class TinyModel {
 public:
  explicit TinyModel(gguf::synthetic::Shape shape = {}, std::uint32_t seed = 1)
      : shape_(std::move(shape)) {
    gguf::synthetic::set_metadata(keys_, shape_, "tiny " + shape_.arch, 0);
    std::mt19937 rng(seed);
    for (auto& plan : gguf::synthetic::plan_tensors(shape_)) {
      TinyTensor tensor{std::move(plan.name), std::move(plan.dims), {}, 0, {}};
      std::uint64_t count = 1;
      for (const std::uint64_t dim : tensor.dims) count *= dim;
      const bool norm = plan.role == gguf::synthetic::Role::kNorm;
      std::normal_distribution<float> weight(norm ? 1.0f : 0.0f,
                                             norm ? 0.1f : 1.0f / std::sqrt(float(tensor.dims[0])));
      tensor.values.resize(count);
      for (float& value : tensor.values) value = weight(rng);
      tensors_.push_back(std::move(tensor));
    }
  }

  const gguf::synthetic::Shape& shape() const { return shape_; }
  // Metadata to set, replace or remove.
  gguf::Writer& keys() { return keys_; }
  std::string key(std::string_view name) const { return shape_.arch + "." + std::string(name); }

  std::vector<TinyTensor>& tensors() { return tensors_; }
  // The tensor of this name, which must exist.
  TinyTensor& tensor(std::string_view name) {
    for (TinyTensor& tensor : tensors_)
      if (tensor.name == name) return tensor;
    std::abort();
  }
  void remove_tensor(std::string_view name) {
    std::erase_if(tensors_, [&](const TinyTensor& tensor) { return tensor.name == name; });
  }

  // A writer with everything in it; it views this model's tensors.
  Result<gguf::Writer> writer() const {
    gguf::Writer out = keys_;
    for (const TinyTensor& tensor : tensors_) {
      const auto data =
          tensor.raw.empty() ? std::as_bytes(std::span(tensor.values)) : std::span(tensor.raw);
      if (Status s = out.add_tensor(tensor.name, tensor.type, tensor.dims, data); !s) return s;
    }
    return out;
  }
  Result<std::vector<std::byte>> bytes() const {
    const auto out = writer();
    if (!out) return out.status();
    return out->to_bytes();
  }
  Status write(const std::string& path) const {
    const auto out = writer();
    if (!out) return out.status();
    return out->write(path);
  }

 private:
  gguf::synthetic::Shape shape_;
  gguf::Writer keys_;
  std::vector<TinyTensor> tensors_;
};

}  // namespace veloce::test

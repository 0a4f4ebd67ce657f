// The weights of a model in memory: packed matrices and float vectors in one arena, filled from a
// GGUF file.
//
// Two passes over the same list: plan() adds tensors and counts bytes before anything is taken,
// load() packs them on all threads and gives the file's pages back as it goes, so that the peak is
// one copy plus one tensor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/cpu/packing.hpp"
#include "veloce/cpu/pool.hpp"
#include "veloce/gguf/file.hpp"
#include "veloce/model/arena.hpp"

namespace veloce::model {

class Weights {
 public:
  explicit Weights(const gguf::File& file) : file_(&file) {}

  // Plans the matrix `name` of rows x k for `target`. A missing optional tensor leaves target->data
  // null.
  Status plan_matrix(const std::string& name, int rows, int k, bool optional,
                     cpu::PackedMatrix* target) {
    const gguf::TensorInfo* t = file_->find_tensor(name);
    if (t == nullptr) return optional ? Status() : missing(name);
    if (Status s = check_shape(*t, std::uint64_t(k), std::uint64_t(rows)); !s) return s;
    if (!AllFormats::contains(t->type))
      return Status(Code::kUnsupported, file_->path() + ": tensor \"" + name + "\" has type " +
                                            describe_type(t->type) +
                                            "; supported are: " + AllFormats::names());
    target->type = t->type;
    target->rows = rows;
    target->k = k;
    target->group_bytes = std::size_t(16) * t->row_bytes();
    if (Status s = read_scale(name, &target->scale); !s) return s;
    items_.push_back({t, target, nullptr, bytes_});
    bytes_ += (target->bytes() + 63) / 64 * 64;
    return {};
  }

  // Plans a vector of n floats (stored as F32, F16 or BF16), padded to a multiple of 16. Missing
  // and optional: null.
  Status plan_vector(const std::string& name, int n, bool optional, const float** target) {
    const gguf::TensorInfo* t = file_->find_tensor(name);
    if (t == nullptr) return optional ? Status() : missing(name);
    if (Status s = check_shape(*t, std::uint64_t(n), 1); !s) return s;
    if (!FloatFormats::contains(t->type))
      return Status(Code::kUnsupported, file_->path() + ": tensor \"" + name + "\" has type " +
                                            describe_type(t->type) + "; a vector is " +
                                            FloatFormats::names());
    items_.push_back({t, nullptr, target, bytes_});
    bytes_ += (std::size_t(n) * 4 + 127) / 64 * 64;
    return {};
  }

  // Plans nothing but the check of a tensor that stays in the file.
  void plan_check(const gguf::TensorInfo& t) { items_.push_back({&t, nullptr, nullptr, bytes_}); }

  std::size_t bytes() const { return bytes_; }

  // Packs everything that was planned. `check`: refuse NaN and infinity. progress as in
  // EngineOptions.
  Status load(cpu::Pool& pool, bool check, const std::function<bool(float)>& progress) {
    Result<Arena> arena = Arena::create(bytes_, "the weights");
    if (!arena) return arena.status();
    arena_ = *std::move(arena);
    std::uint64_t total = 1, done = 0;
    for (const Item& item : items_) total += item.tensor->bytes;
    for (const Item& item : items_) {
      if (progress && !progress(float(double(done) / double(total))))
        return Status(Code::kCancelled, "loading was cancelled");
      if (item.matrix || item.vector || check) {
        file_->prefetch(*item.tensor);
        if (Status s = item.matrix   ? load_matrix(pool, item, check)
                       : item.vector ? load_vector(item, check)
                                     : check_rows(pool, *item.tensor);
            !s)
          return s;
        file_->drop(*item.tensor);
      }
      done += item.tensor->bytes;
    }
    if (progress && !progress(1.0f)) return Status(Code::kCancelled, "loading was cancelled");
    return file_->unchanged();
  }

 private:
  struct Item {
    const gguf::TensorInfo* tensor;
    cpu::PackedMatrix* matrix;
    const float** vector;
    std::size_t offset;
  };

  Status missing(const std::string& name) const {
    return Status(Code::kNotFound, file_->path() + ": tensor \"" + name + "\" is missing");
  }
  Status check_shape(const gguf::TensorInfo& t, std::uint64_t k, std::uint64_t rows) const {
    if (t.dims[0] == k && t.rows() == rows && t.dims[2] == 1 && t.dims[3] == 1) return {};
    return Status(Code::kCorrupt, file_->path() + ": tensor \"" + std::string(t.name) +
                                      "\" has shape " + t.shape() + ", expected [" +
                                      std::to_string(k) +
                                      (rows > 1 ? ", " + std::to_string(rows) : "") + "]");
  }
  // "x.weight" may have a companion "x.scale", one float that multiplies the product (files of
  // NVFP4 weights; specs/quants.md, NVFP4). "x.input_scale" concerns engines with FP4 activations.
  Status read_scale(const std::string& weight, float* scale) const {
    const std::string_view suffix = "weight";
    if (!weight.ends_with(suffix)) return {};
    const gguf::TensorInfo* t =
        file_->find_tensor(weight.substr(0, weight.size() - suffix.size()) + "scale");
    if (t == nullptr) return {};
    if (Status s = check_shape(*t, 1, 1); !s) return s;
    if (!FloatFormats::contains(t->type))
      return Status(Code::kUnsupported, file_->path() + ": tensor \"" + std::string(t->name) +
                                            "\" has type " + describe_type(t->type) +
                                            "; a scale is " + FloatFormats::names());
    if (Status s = cpu::dequantize_row(t->type, t->data, 1, scale); !s) return s;
    return *scale - *scale == 0.0f ? Status() : bad_value(*t, 0, 0);
  }
  Status bad_value(const gguf::TensorInfo& t, std::size_t row, std::size_t block) const {
    return Status(Code::kCorrupt, file_->path() + ": tensor \"" + std::string(t.name) + "\" row " +
                                      std::to_string(row) + " block " + std::to_string(block) +
                                      ": NaN or infinity in the weights");
  }

  Status load_matrix(cpu::Pool& pool, const Item& item, bool check) {
    const gguf::TensorInfo& t = *item.tensor;
    cpu::PackedMatrix& m = *item.matrix;
    std::byte* out = arena_.data() + item.offset;
    return dispatch_format(t.type, AllFormats{}, [&]<BlockFormat F>() -> Status {
      FirstError error;
      pool.run([&](cpu::Worker& w) {
        auto share = w.share(m.groups(), 4);
        for (int begin, end; share.next(begin, end);)
          for (int g = begin; g < end && !error.found(); ++g) {
            const std::size_t first = std::size_t(g) * 16,
                              last = std::min<std::size_t>(first + 16, std::size_t(m.rows));
            if (check && has_bad_block<F>(t, m.k, first, last, error)) break;
            cpu::pack_group<F>(t.data, m.rows, m.k, g, out + std::size_t(g) * m.group_bytes);
          }
      });
      m.data = out;
      return error.status;
    });
  }

  Status check_rows(cpu::Pool& pool, const gguf::TensorInfo& t) {
    return dispatch_format(t.type, AllFormats{}, [&]<BlockFormat F>() -> Status {
      FirstError error;
      pool.run([&](cpu::Worker& w) {
        auto share = w.share(int(t.rows()), 64);
        for (int begin, end; share.next(begin, end);)
          if (!error.found())
            (void)has_bad_block<F>(t, int(t.dims[0]), std::size_t(begin), std::size_t(end), error);
      });
      return error.status;
    });
  }

  // What a team keeps of its errors.
  struct FirstError {
    std::atomic<bool> set{false};
    std::mutex mutex;
    Status status;
    bool found() const { return set.load(std::memory_order_relaxed); }
  };
  template <BlockFormat F>
  bool has_bad_block(const gguf::TensorInfo& t, int k, std::size_t first, std::size_t last,
                     FirstError& error) const {
    const cpu::BadBlock bad = cpu::find_bad_block<F>(t.data, k, first, last);
    if (!bad.found) return false;
    const std::lock_guard lock(error.mutex);
    if (error.status.ok()) error.status = bad_value(t, bad.row, bad.block);
    error.set.store(true, std::memory_order_relaxed);
    return true;
  }

  Status load_vector(const Item& item, bool check) {
    const gguf::TensorInfo& t = *item.tensor;
    auto* out = reinterpret_cast<float*>(arena_.data() + item.offset);
    if (Status s = cpu::dequantize_row(t.type, t.data, int(t.dims[0]), out); !s) return s;
    for (std::size_t i = 0; check && i < t.dims[0]; ++i)
      if (!(out[i] - out[i] == 0.0f)) return bad_value(t, 0, i);
    *item.vector = out;
    return {};
  }

  const gguf::File* file_;
  std::vector<Item> items_;
  std::size_t bytes_ = 0;
  Arena arena_;
};

}  // namespace veloce::model

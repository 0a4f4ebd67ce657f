// Keys and values of all sequences: the state piece of attention layers (append, truncate, copy,
// serialize, restore).
//
// Each sequence owns a fixed range of memory, layer after layer, in the layout of cpu/kv_types.hpp.
// The pages are taken when the engine is loaded (memory()), so that a server that started does not
// run out of memory under load. "Append" is the attention op writing at length(); advance() makes
// it count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/cpu/kv_types.hpp"
#include "veloce/model/arena.hpp"

namespace veloce::model {

// FNV-1a, to recognise damaged or foreign state. Not a defence against forgery.
inline std::uint64_t fnv1a(const void* data, std::size_t n,
                           std::uint64_t h = 0xCBF29CE484222325ull) {
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < n; ++i) h = (h ^ p[i]) * 0x100000001B3ull;
  return h;
}

class KvCache {
 public:
  struct Shape {
    int layers = 0, kv_heads = 0, dim = 0, context = 0, sequences = 0;
    cpu::KvType k_type = cpu::KvType::kF16, v_type = cpu::KvType::kF16;
    std::uint64_t model = 0;  // fingerprint of the weights that the state belongs to

    std::size_t positions() const { return (std::size_t(context) + 15) / 16 * 16; }
    std::size_t k_head() const { return positions() * cpu::kv_bytes(k_type, dim); }
    std::size_t v_head() const { return positions() * cpu::kv_bytes(v_type, dim); }
    std::size_t layer_bytes() const { return (k_head() + v_head()) * std::size_t(kv_heads); }
    std::size_t sequence_bytes() const {
      return (layer_bytes() * std::size_t(layers) + 63) / 64 * 64;
    }
    std::size_t bytes() const { return sequence_bytes() * std::size_t(sequences); }
  };

  static Result<KvCache> create(const Shape& shape) {
    KvCache c;
    c.shape_ = shape;
    Result<Arena> arena = Arena::create(shape.bytes(), "the key-value cache");
    if (!arena) return arena.status();
    c.arena_ = *std::move(arena);
    c.length_.assign(std::size_t(shape.sequences), 0);
    return c;
  }

  const Shape& shape() const { return shape_; }
  // All of the state, to be touched once after create().
  std::span<std::byte> memory() const { return {arena_.data(), shape_.bytes()}; }
  int length(int sequence) const { return length_[std::size_t(sequence)]; }
  void advance(int sequence, int count) { length_[std::size_t(sequence)] += count; }
  void truncate(int sequence, int length) { length_[std::size_t(sequence)] = length; }

  cpu::KvView view(int sequence, int layer) const {
    std::byte* base = arena_.data() + std::size_t(sequence) * shape_.sequence_bytes() +
                      std::size_t(layer) * shape_.layer_bytes();
    return {base,
            base + shape_.k_head() * std::size_t(shape_.kv_heads),
            shape_.k_head(),
            shape_.v_head(),
            shape_.k_type,
            shape_.v_type};
  }

  void copy(int from, int to, int length) {
    for (int l = 0; l < shape_.layers; ++l) {
      const cpu::KvView a = view(from, l), b = view(to, l);
      for (int h = 0; h < shape_.kv_heads; ++h) {
        std::memcpy(b.k + std::size_t(h) * b.k_head, a.k + std::size_t(h) * a.k_head,
                    key_bytes(length));
        std::memcpy(b.v + std::size_t(h) * b.v_head, a.v + std::size_t(h) * a.v_head,
                    value_bytes(length));
      }
    }
    length_[std::size_t(to)] = length;
  }

  std::vector<std::byte> serialize(int sequence) const {
    const int n = length(sequence);
    std::vector<std::byte> out(sizeof(Header) + payload_bytes(n));
    std::byte* at = out.data() + sizeof(Header);
    for (int l = 0; l < shape_.layers; ++l) {
      const cpu::KvView v = view(sequence, l);
      for (int h = 0; h < shape_.kv_heads; ++h) {
        std::memcpy(at, v.k + std::size_t(h) * v.k_head, key_bytes(n));
        clear_unused_lanes(at, n);
        at += key_bytes(n);
        std::memcpy(at, v.v + std::size_t(h) * v.v_head, value_bytes(n));
        at += value_bytes(n);
      }
    }
    Header header = header_for(n);
    header.checksum = fnv1a(out.data() + sizeof(Header), out.size() - sizeof(Header));
    std::memcpy(out.data(), &header, sizeof header);
    return out;
  }

  Status restore(int sequence, std::span<const std::byte> bytes) {
    Header header;
    if (bytes.size() < sizeof header)
      return Status(Code::kCorrupt, "saved state: too short for a header");
    std::memcpy(&header, bytes.data(), sizeof header);
    const auto differs = [](const char* field, std::uint64_t found, std::uint64_t wanted) {
      return Status(Code::kInvalidArgument, std::string("saved state: ") + field + " is " +
                                                std::to_string(found) + ", this engine has " +
                                                std::to_string(wanted));
    };
    const Header mine = header_for(0);
    if (header.magic != mine.magic)
      return Status(Code::kCorrupt, "saved state: not a Veloce state");
    if (header.model != mine.model) return differs("model", header.model, mine.model);
    if (header.layers != mine.layers) return differs("layers", header.layers, mine.layers);
    if (header.kv_heads != mine.kv_heads)
      return differs("kv_heads", header.kv_heads, mine.kv_heads);
    if (header.dim != mine.dim) return differs("head_dim", header.dim, mine.dim);
    if (header.k_type != mine.k_type) return differs("key cache type", header.k_type, mine.k_type);
    if (header.v_type != mine.v_type)
      return differs("value cache type", header.v_type, mine.v_type);
    if (header.length > std::uint32_t(shape_.context))
      return Status(Code::kInvalidArgument, "saved state: length " + std::to_string(header.length) +
                                                " exceeds the context of " +
                                                std::to_string(shape_.context));
    const int n = int(header.length);
    if (bytes.size() != sizeof header + payload_bytes(n))
      return Status(Code::kCorrupt, "saved state: " + std::to_string(bytes.size()) +
                                        " bytes, expected " +
                                        std::to_string(sizeof header + payload_bytes(n)));
    if (fnv1a(bytes.data() + sizeof header, bytes.size() - sizeof header) != header.checksum)
      return Status(Code::kCorrupt, "saved state: checksum does not match");
    const std::byte* at = bytes.data() + sizeof header;
    for (int l = 0; l < shape_.layers; ++l) {
      const cpu::KvView v = view(sequence, l);
      for (int h = 0; h < shape_.kv_heads; ++h) {
        std::memcpy(v.k + std::size_t(h) * v.k_head, at, key_bytes(n));
        at += key_bytes(n);
        std::memcpy(v.v + std::size_t(h) * v.v_head, at, value_bytes(n));
        at += value_bytes(n);
      }
    }
    length_[std::size_t(sequence)] = n;
    return {};
  }

 private:
  struct Header {
    std::uint64_t magic, model, checksum;
    std::uint32_t length, layers, kv_heads, dim, k_type, v_type;
  };
  static_assert(sizeof(Header) == 48);

  Header header_for(int n) const {
    return {0x3130564B434C4556ull /* "VELCKV01" */,
            shape_.model,
            0,
            std::uint32_t(n),
            std::uint32_t(shape_.layers),
            std::uint32_t(shape_.kv_heads),
            std::uint32_t(shape_.dim),
            std::uint32_t(shape_.k_type),
            std::uint32_t(shape_.v_type)};
  }
  std::size_t key_bytes(int n) const {
    return (std::size_t(n) + 15) / 16 * 16 * cpu::kv_bytes(shape_.k_type, shape_.dim);
  }
  std::size_t value_bytes(int n) const {
    return std::size_t(n) * cpu::kv_bytes(shape_.v_type, shape_.dim);
  }
  std::size_t payload_bytes(int n) const {
    return (key_bytes(n) + value_bytes(n)) * std::size_t(shape_.layers) *
           std::size_t(shape_.kv_heads);
  }
  // The last key tile may hold positions that were given up: equal states must give equal bytes.
  void clear_unused_lanes(std::byte* keys, int n) const {
    const std::size_t used = std::size_t(n) % 16;
    if (used == 0) return;
    const std::size_t dim = std::size_t(shape_.dim);
    std::byte* tile = keys + std::size_t(n) / 16 * 16 * cpu::kv_bytes(shape_.k_type, shape_.dim);
    const auto clear = [&](std::byte* rows, std::size_t count, std::size_t size) {
      for (std::size_t d = 0; d < count; ++d)
        std::memset(rows + (d * 16 + used) * size, 0, (16 - used) * size);
    };
    switch (shape_.k_type) {
      case cpu::KvType::kF32:
        clear(tile, dim, 4);
        break;
      case cpu::KvType::kQ8_0:
        clear(tile, dim, 1);
        clear(tile + dim * 16, dim / 32, 2);
        break;
      default:
        clear(tile, dim, 2);
    }
  }

  Shape shape_;
  Arena arena_;
  std::vector<int> length_;
};

}  // namespace veloce::model

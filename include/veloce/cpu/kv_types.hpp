// How the CPU backend stores keys and values of one sequence and layer, independent of the
// instruction set.
//
// Keys are kept in tiles of 16 positions with the positions side by side ([dim][16]), so that a
// score is one lane's running sum over the head's dimensions; values are kept row by row
// ([position][dim]), so that an output dimension is one lane's running sum over the positions.
// Neither ever needs a sum across lanes.
//   F32, F16, BF16   elements as they are
//   Q8_0             int8 codes in the same order, then binary16 scales for 32 dimensions of a
//   position:
//                    keys [dim/32][16] after the tile's codes, values [dim/32] after the row's
//                    codes; dim is a multiple of 32
// A dim that is no multiple of 16 is stored in the room of the next one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "veloce/config.hpp"

namespace veloce::cpu {

enum class KvType { kF32, kF16, kBF16, kQ8_0 };

inline constexpr int kKeyTile = 16;
// Positions whose scores are normalised together; chunks are combined in order. Part of the
// reduction order.
inline constexpr int kChunk = 256;

// Numbers that a head of `dim` takes in the cache and in scratch: whole vectors of 16.
constexpr int padded_head(int dim) {
  return (dim + 15) / 16 * 16;
}

// Bytes of one position of one head.
constexpr std::size_t kv_bytes(KvType type, int dim) {
  const std::size_t d = std::size_t(padded_head(dim));
  switch (type) {
    case KvType::kF32:
      return d * 4;
    case KvType::kQ8_0:
      return d + d / 32 * 2;
    default:
      return d * 2;
  }
}

// One sequence's keys and values of one layer: heads one after the other, each with room for all
// positions (a multiple of 16).
struct KvView {
  std::byte* k = nullptr;
  std::byte* v = nullptr;
  std::size_t k_head = 0, v_head = 0;  // bytes from head to head
  KvType k_type = KvType::kF16, v_type = KvType::kF16;
};

// Columns first .. first + count - 1 of the batch continue one sequence from `position`.
struct Span {
  int first = 0, count = 0, position = 0;
  KvView kv;
};

// The attention of one layer for a batch. q, k, v: columns of heads * dim (kv_heads * dim) floats,
// `stride` apart; q and k are rotated in place first. out: columns of heads * dim floats, heads *
// dim apart.
struct Attention {
  int heads = 0, kv_heads = 0, dim = 0;
  float scale = 0;
  float* q = nullptr;
  float* k = nullptr;
  const float* v = nullptr;
  std::size_t q_stride = 0, k_stride = 0, v_stride = 0;
  const float* q_norm = nullptr;  // weights of an RMS norm over each head, or null
  const float* k_norm = nullptr;
  float norm_epsilon = 0;
  const float* rope = nullptr;  // [column][rotated / 2] pairs {cos, sin}
  int rotated = 0;              // dimensions of a head that turn
  bool neox = false;            // pairs (i, i + rotated / 2) and not (2i, 2i + 1)
  const Span* spans =
      nullptr;  // in order of `first`, together all columns; a sequence has one span at most
  int span_count = 0, columns = 0;
  std::size_t kv_offset = 0;  // bytes from the spans' views to this layer's
  float* out = nullptr;
  std::byte* scratch = nullptr;  // attention_scratch_bytes() of this worker's own
  float* partials = nullptr;     // attention_partials() floats, shared by the team
  std::size_t partials_size = 0;
};

// (query, head) pairs of a work item; a group of more heads than this to a key head is refused by
// the models.
inline constexpr int kAttentionBlockRows = 64;

inline std::size_t attention_scratch_bytes(int dim) {
  const std::size_t d = std::size_t(padded_head(dim));
  return (2 * kChunk * d + 8 * kChunk + 16 * d + kAttentionBlockRows * (d + 2)) * sizeof(float);
}

// Floats for splitting a few long sequences over the team: `items` work items of up to `context`
// positions.
inline std::size_t attention_partials(int items, int dim, int context) {
  return std::size_t(items) * (std::size_t(context) / kChunk + 1) * kAttentionBlockRows *
         (std::size_t(padded_head(dim)) + 2);
}

}  // namespace veloce::cpu

// Causal attention with grouped heads on the CPU.
//
// Reduction order of an output element, fixed and the same for every batch: positions are taken in chunks of kChunk.
// In a chunk: score = scale * (sum over the head's dimensions in order); m = largest score; p = exp(score - m);
// l = sum of p in sixteen lanes (position mod 16), then sum_lanes; o = sum of p * value in order of position. Chunks are
// merged in order: m' = max, o' = o exp(m - m') + o_c exp(m_c - m'), l likewise; the result is o / l. A position that a
// query may not see has p = 0 exactly, so looking at a whole tile changes nothing.
//
// Work items are (sequence, key head, block of queries). A few long sequences are split by chunk as well, and the parts
// are merged in a second phase, in the same order.
#pragma once

#include "veloce/cpu/activations.hpp"
#include "veloce/cpu/kv_store.hpp"
#include "veloce/cpu/pool.hpp"

namespace veloce::cpu::VELOCE_ISA_NS {

inline constexpr int kAttentionRows = 8;   // (query, head) pairs that share a pass over keys and values

inline void rotate(float* x, const float* cos_sin, int rotated, bool neox) {
  const int half = rotated / 2;
  for (int i = 0; i < half; ++i) {
    const int a = neox ? i : 2 * i, b = neox ? i + half : 2 * i + 1;
    const float c = cos_sin[2 * i], s = cos_sin[2 * i + 1], x0 = x[a], x1 = x[b];
    // The fused form is spelled out: GCC 12.2 fuses x0 * c -+ x1 * s by itself where it vectorises pairs, even with
    // contraction off (GCC bug 107647), and the levels would differ.
    x[a] = __builtin_fmaf(x0, c, -(x1 * s));
    x[b] = __builtin_fmaf(x0, s, x1 * c);
  }
}

VELOCE_INLINE KvView layer_view(const Attention& a, const Span& span) {
  KvView kv = span.kv;
  kv.k += a.kv_offset;
  kv.v += a.kv_offset;
  return kv;
}

// Norm and rotation of one column's query heads that belong to key head h, and of the key itself, which goes to the
// cache with its value.
inline void prepare_head(const Attention& a, const Span& span, int column, int h) {
  const int group = a.heads / a.kv_heads, dim = a.dim;
  const float* rope = a.rope + std::size_t(column) * std::size_t(a.rotated);
  float* q = a.q + std::size_t(column) * a.q_stride + std::size_t(h) * std::size_t(group * dim);
  for (int i = 0; i < group; ++i, q += dim) {
    if (a.q_norm) rms_norm_row(q, a.q_norm, dim, a.norm_epsilon, q);
    rotate(q, rope, a.rotated, a.neox);
  }
  float* k = a.k + std::size_t(column) * a.k_stride + std::size_t(h) * std::size_t(dim);
  if (a.k_norm) rms_norm_row(k, a.k_norm, dim, a.norm_epsilon, k);
  rotate(k, rope, a.rotated, a.neox);
  const int position = span.position + (column - span.first);
  const KvView kv = layer_view(a, span);
  store_key(kv, h, position, k, dim);
  store_value(kv, h, position, a.v + std::size_t(column) * a.v_stride + std::size_t(h) * std::size_t(dim), dim);
}

// Scores of R rows against T key tiles. q: [dim][R].
template <int R, int T>
VELOCE_INLINE void score_tiles(const float* q, const float* keys, int dim, float scale, float* scores) {
  F32 acc[R][T];
  for (int r = 0; r < R; ++r)
    for (int t = 0; t < T; ++t) acc[r][t] = zero_f32();
  for (int d = 0; d < dim; ++d) {
    F32 k[T];
    for (int t = 0; t < T; ++t) k[t] = load(keys + (std::size_t(t) * std::size_t(dim) + std::size_t(d)) * 16);
VELOCE_UNROLL(8)
    for (int r = 0; r < R; ++r)
VELOCE_UNROLL(8)
      for (int t = 0; t < T; ++t) acc[r][t] = fma(k[t], set1(q[d * R + r]), acc[r][t]);
  }
  for (int r = 0; r < R; ++r)
    for (int t = 0; t < T; ++t) store(scores + r * kChunk + 16 * t, mul(acc[r][t], set1(scale)));
}

// o[r][d..] += sum of p * value over `count` positions, for D vectors of dimensions.
template <int R, int D>
VELOCE_INLINE void weigh_values(const float* p, const float* values, int count, int dim, float* o) {
  F32 acc[R][D];
  for (int r = 0; r < R; ++r)
    for (int d = 0; d < D; ++d) acc[r][d] = zero_f32();
  for (int i = 0; i < count; ++i) {
    F32 v[D];
    for (int d = 0; d < D; ++d) v[d] = load(values + std::size_t(i) * std::size_t(dim) + 16 * d);
VELOCE_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      const F32 w = set1(p[r * kChunk + i]);
      for (int d = 0; d < D; ++d) acc[r][d] = fma(v[d], w, acc[r][d]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int d = 0; d < D; ++d) store(o + r * dim + 16 * d, acc[r][d]);
}

// The running result of R rows: o is not yet divided by l.
struct Running {
  float* m;
  float* l;
  float* o;  // [rows][dim]
};

// exp(x) of one number, by the same steps as in the vectors.
VELOCE_INLINE float exp_one(float x) {
  alignas(64) float v[16];
  store(v, exp(set1(x)));
  return v[0];
}

inline void merge_chunk(const Running& into, const Running& chunk, int row, int dim, bool first) {
  float* o = into.o + row * dim;
  const float* c = chunk.o + row * dim;
  if (first) {
    into.m[row] = chunk.m[row];
    into.l[row] = chunk.l[row];
    std::memcpy(o, c, std::size_t(dim) * 4);
    return;
  }
  const float m = into.m[row] > chunk.m[row] ? into.m[row] : chunk.m[row];
  const float a = exp_one(into.m[row] - m), b = exp_one(chunk.m[row] - m);
  into.m[row] = m;
  into.l[row] = into.l[row] * a + chunk.l[row] * b;
  for (int d = 0; d < dim; d += 16)
    store(o + d, add(mul(load(o + d), set1(a)), mul(load(c + d), set1(b))));
}

// One chunk for R rows. q: [dim][R]; visible[r]: positions of the chunk that row r may see (>= 1).
template <int R>
void chunk_rows(const float* q, const float* keys, const float* values, int dim, float scale, const int* visible,
                float* scores, const Running& out) {
  int most = 0;
  for (int r = 0; r < R; ++r) most = visible[r] > most ? visible[r] : most;
  const int tiles = (most + 15) / 16;
  constexpr int T = R == 1 ? 8 : R <= 3 ? 4 : 2;
  int t = 0;
  for (; t + T <= tiles; t += T) score_tiles<R, T>(q, keys + std::size_t(t) * std::size_t(dim) * 16, dim, scale, scores + 16 * t);
  for (; t < tiles; ++t) score_tiles<R, 1>(q, keys + std::size_t(t) * std::size_t(dim) * 16, dim, scale, scores + 16 * t);
  for (int r = 0; r < R; ++r) {
    float* s = scores + r * kChunk;
    for (int i = visible[r]; i < 16 * tiles; ++i) s[i] = -__builtin_inff();
    F32 m = load(s);
    for (int i = 1; i < tiles; ++i) m = max(m, load(s + 16 * i));
    out.m[r] = max_lanes(m);
    const F32 top = set1(out.m[r]);
    F32 l = zero_f32();
    for (int i = 0; i < tiles; ++i) {
      const F32 p = exp(sub(load(s + 16 * i), top));
      store(s + 16 * i, p);
      l = add(l, p);
    }
    out.l[r] = sum_lanes(l);
  }
  constexpr int D = R <= 6 ? 4 : 2;
  int d = 0;
  for (; d + 16 * D <= dim; d += 16 * D) weigh_values<R, D>(scores, values + d, most, dim, out.o + d);
  for (; d < dim; d += 16) weigh_values<R, 1>(scores, values + d, most, dim, out.o + d);
}

using ChunkRows = void (*)(const float*, const float*, const float*, int, float, const int*, float*, const Running&);
inline constexpr ChunkRows kChunkRows[kAttentionRows] = {chunk_rows<1>, chunk_rows<2>, chunk_rows<3>, chunk_rows<4>,
                                                         chunk_rows<5>, chunk_rows<6>, chunk_rows<7>, chunk_rows<8>};

// A worker's buffers.
struct AttentionScratch {
  float *keys, *values, *scores, *q, *o;
  Running total;  // of the block at hand
  AttentionScratch(std::byte* p, int dim_int) {
    const std::size_t dim = std::size_t(dim_int);
    keys = reinterpret_cast<float*>(p);
    values = keys + kChunk * dim;
    scores = values + kChunk * dim;
    q = scores + std::size_t(kAttentionRows) * kChunk;
    o = q + kAttentionRows * dim;
    total.m = o + kAttentionRows * dim;
    total.l = total.m + kAttentionBlockRows;
    total.o = total.l + kAttentionBlockRows;
  }
};

// Rows are numbered (column of the block, query head of the group), row = column * group + head.
struct RowBlock {
  int column, count, head;  // first column of the batch, columns, key head
};

// One chunk of positions for all rows of a block; results go to `into`, row by row.
inline void attend_chunk(const Attention& a, const Span& span, const RowBlock& b, int chunk, AttentionScratch& s,
                         const Running& into, bool merge) {
  const int group = a.heads / a.kv_heads, dim = a.dim, begin = chunk * kChunk;
  const int last = span.position + (b.column - span.first) + b.count;  // positions the last column sees
  const int length = last - begin < kChunk ? last - begin : kChunk;
  const KvView kv = layer_view(a, span);
  const float* keys = read_keys(kv, b.head, begin, (length + 15) / 16, dim, s.keys);
  const float* values = read_values(kv, b.head, begin, length, dim, s.values);
  const int rows = b.count * group;
  float m[kAttentionRows], l[kAttentionRows];
  for (int row = 0; row < rows;) {
    int visible[kAttentionRows], ids[kAttentionRows], n = 0;
    for (; n < kAttentionRows && row < rows; ++row) {
      const int sees = span.position + (b.column - span.first) + row / group + 1 - begin;
      if (sees <= 0) continue;
      visible[n] = sees < kChunk ? sees : kChunk;
      ids[n++] = row;
    }
    if (n == 0) continue;
    for (int i = 0; i < n; ++i) {
      const float* q = a.q + std::size_t(b.column + ids[i] / group) * a.q_stride +
                       std::size_t(b.head * group + ids[i] % group) * std::size_t(dim);
      for (int d = 0; d < dim; ++d) s.q[d * n + i] = q[d];
    }
    const Running part{m, l, s.o};
    kChunkRows[n - 1](s.q, keys, values, dim, a.scale, visible, s.scores, part);
    for (int i = 0; i < n; ++i) {
      const Running target{into.m + ids[i], into.l + ids[i], into.o + ids[i] * dim};
      merge_chunk(target, {m + i, l + i, s.o + i * dim}, 0, dim, !merge || chunk == 0);
    }
  }
}

// Columns that one work item takes of a span.
inline int block_columns(const Attention& a) {
  const int group = a.heads / a.kv_heads;
  return group >= kAttentionBlockRows ? 1 : kAttentionBlockRows / group;
}

// A numbered walk over the blocks of all spans and key heads: item -> (span, block).
struct Item {
  const Span* span;
  RowBlock block;
};
inline int count_items(const Attention& a) {
  int items = 0;
  for (int i = 0; i < a.span_count; ++i)
    items += (a.spans[i].count + block_columns(a) - 1) / block_columns(a) * a.kv_heads;
  return items;
}
inline Item find_item(const Attention& a, int index) {
  const int columns = block_columns(a);
  const Span* span = a.spans;
  for (;; ++span) {
    const int here = (span->count + columns - 1) / columns * a.kv_heads;
    if (index < here) break;
    index -= here;
  }
  // The late blocks of a prompt are the long ones: hand them out first.
  const int blocks = (span->count + columns - 1) / columns, at = blocks - 1 - index / a.kv_heads;
  const int first = at * columns;
  return {span, {span->first + first, span->count - first < columns ? span->count - first : columns, index % a.kv_heads}};
}

inline int chunks_seen(const Item& item) {
  const int last = item.span->position + (item.block.column - item.span->first) + item.block.count;
  return (last + kChunk - 1) / kChunk;
}

inline void finish_block(const Attention& a, const RowBlock& b, const Running& r) {
  const int group = a.heads / a.kv_heads;
  for (int row = 0; row < b.count * group; ++row) {
    const int column = b.column + row / group, head = b.head * group + row % group;
    float* out = a.out + (std::size_t(column) * std::size_t(a.heads) + std::size_t(head)) * std::size_t(a.dim);
    for (int d = 0; d < a.dim; d += 16) store(out + d, div(load(r.o + row * a.dim + d), set1(r.l[row])));
  }
}

// Phase one of the split form: every (item, chunk) on its own into the partials; phase two merges in order of chunks.
inline void attend_split(Worker& worker, const Attention& a, AttentionScratch& s, int items) {
  const int rows = block_columns(a) * (a.heads / a.kv_heads);
  const auto partial = [&](int part) {
    float* base = a.partials + std::size_t(part) * std::size_t(rows) * (std::size_t(a.dim) + 2);
    return Running{base, base + rows, base + 2 * rows};
  };
  int parts = 0;
  for (int i = 0; i < items; ++i) parts += chunks_seen(find_item(a, i));
  auto share = worker.share(parts);
  for (int begin, end; share.next(begin, end);)
    for (int part = begin; part < end; ++part) {
      int chunk = part, i = 0;
      for (; chunk >= chunks_seen(find_item(a, i)); ++i) chunk -= chunks_seen(find_item(a, i));
      const Item item = find_item(a, i);
      attend_chunk(a, *item.span, item.block, chunk, s, partial(part), false);
    }
  worker.barrier();
  auto merges = worker.share(items);
  for (int begin, end; merges.next(begin, end);)
    for (int i = begin; i < end; ++i) {
      int part = 0;
      for (int j = 0; j < i; ++j) part += chunks_seen(find_item(a, j));
      const Item item = find_item(a, i);
      const int group = a.heads / a.kv_heads;
      for (int row = 0; row < item.block.count * group; ++row) {
        const int sees = item.span->position + (item.block.column - item.span->first) + row / group + 1;
        for (int c = 0; c * kChunk < sees; ++c) merge_chunk(s.total, partial(part + c), row, a.dim, c == 0);
      }
      finish_block(a, item.block, s.total);
    }
}

// Norms, rotates, stores keys and values, attends. No barrier at the end.
inline void attention(Worker& worker, const Attention& a) {
  const int dim = a.dim, items = count_items(a);
  AttentionScratch s(a.scratch, dim);
  bool one_each = true;
  int parts = 0;
  for (int i = 0; i < a.span_count; ++i) one_each &= a.spans[i].count == 1;
  for (int i = 0; i < items && items < 2 * worker.count(); ++i) parts += chunks_seen(find_item(a, i));
  const std::size_t part_floats = std::size_t(block_columns(a) * (a.heads / a.kv_heads)) * (std::size_t(dim) + 2);
  const bool split = worker.count() > 1 && parts > items && std::size_t(parts) * part_floats <= a.partials_size;
  if (!one_each || split) {
    auto share = worker.share(a.columns);
    for (int begin, end; share.next(begin, end);)
      for (int c = begin; c < end; ++c) {
        const Span* span = a.spans;
        while (c >= span->first + span->count) ++span;
        for (int h = 0; h < a.kv_heads; ++h) prepare_head(a, *span, c, h);
      }
    worker.barrier();
  }
  if (split) return attend_split(worker, a, s, items);
  auto share = worker.share(items);
  for (int begin, end; share.next(begin, end);)
    for (int i = begin; i < end; ++i) {
      const Item item = find_item(a, i);
      // A lone token's key is seen by nobody else, so its head is prepared by whoever attends with it.
      if (one_each) prepare_head(a, *item.span, item.block.column, item.block.head);
      for (int c = 0; c < chunks_seen(item); ++c) attend_chunk(a, *item.span, item.block, c, s, s.total, true);
      finish_block(a, item.block, s.total);
    }
}

}  // namespace veloce::cpu::VELOCE_ISA_NS

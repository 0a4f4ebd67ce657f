// Causal attention with grouped heads on the CPU.
//
// Reduction order of an output element, fixed and the same for every batch: positions are taken in
// chunks of kChunk. In a chunk: score = scale * (sum over the head's dimensions in order); m =
// largest score; p = exp(score - m); l = sum of p in sixteen lanes (position mod 16), then
// sum_lanes; o = sum of p * value in order of position. Chunks are merged in order: m' = max, o' =
// o exp(m - m') + o_c exp(m_c - m'), l likewise; the result is o / l. A position that a query may
// not see has p = 0 exactly, so looking at a whole tile changes nothing.
//
// Work items are (sequence, key head, block of queries). A few long sequences are split by chunk as
// well, and the parts are merged in a second phase, in the same order.
#pragma once

#include "veloce/cpu/activations.hpp"
#include "veloce/cpu/kv_store.hpp"
#include "veloce/cpu/pool.hpp"

namespace veloce::cpu::VELOCE_ISA_NS {

inline constexpr int kAttentionRows =
    8;  // (query, head) pairs that share a pass over keys and values

inline void rotate(float* x, const float* cos_sin, int rotated, bool neox) {
  const int half = rotated / 2;
  for (int i = 0; i < half; ++i) {
    const int a = neox ? i : 2 * i, b = neox ? i + half : 2 * i + 1;
    const float c = cos_sin[2 * i], s = cos_sin[2 * i + 1], x0 = x[a], x1 = x[b];
    // The fused form is spelled out: GCC 12.2 fuses x0 * c -+ x1 * s by itself where it vectorises
    // pairs, even with contraction off (GCC bug 107647), and the levels would differ.
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

// Norm and rotation of one column's query heads that belong to key head h, and of the key itself,
// which goes to the cache with its value.
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
  store_value(kv, h, position,
              a.v + std::size_t(column) * a.v_stride + std::size_t(h) * std::size_t(dim), dim);
}

// Scores of R rows against T key tiles from `tile` on. q: [dim][R].
template <int R, int T, class K>
VELOCE_INLINE void score_tiles(const float* q, const K& keys, int tile, float scale,
                               float* scores) {
  F32 acc[R][T];
  for (int r = 0; r < R; ++r)
    for (int t = 0; t < T; ++t) acc[r][t] = zero_f32();
  for (int d = 0; d < keys.dim; ++d) {
    F32 k[T];
    for (int t = 0; t < T; ++t) k[t] = keys.at(tile + t, d);
    VELOCE_UNROLL(8)
    for (int r = 0; r < R; ++r) VELOCE_UNROLL(8)
    for (int t = 0; t < T; ++t) acc[r][t] = fma(k[t], set1(q[d * R + r]), acc[r][t]);
  }
  for (int r = 0; r < R; ++r)
    for (int t = 0; t < T; ++t)
      store(scores + r * kChunk + 16 * (tile + t), mul(acc[r][t], set1(scale)));
}

template <int R, KvType Type>
void score_rows(const float* q, const Keys<Type>& keys, int tiles, float scale, float* scores) {
  constexpr int T = R == 1 ? 8 : R <= 3 ? 4 : 2;
  int t = 0;
  for (; t + T <= tiles; t += T) score_tiles<R, T>(q, keys, t, scale, scores);
  for (; t < tiles; ++t) score_tiles<R, 1>(q, keys, t, scale, scores);
}

// o[r][d..] = sum of p * value over `count` positions, for D vectors of dimensions from d on.
template <int R, int D, class V>
VELOCE_INLINE void weigh_values(const float* p, const V& values, int count, int d, float* o) {
  F32 acc[R][D];
  for (int r = 0; r < R; ++r)
    for (int i = 0; i < D; ++i) acc[r][i] = zero_f32();
  for (int n = 0; n < count; ++n) {
    F32 v[D];
    for (int i = 0; i < D; ++i) v[i] = values.at(n, d + 16 * i);
    VELOCE_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      const F32 w = set1(p[r * kChunk + n]);
      for (int i = 0; i < D; ++i) acc[r][i] = fma(v[i], w, acc[r][i]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int i = 0; i < D; ++i) store(o + r * padded_head(values.dim) + d + 16 * i, acc[r][i]);
}

template <int R, KvType Type>
void weigh_rows(const float* p, const Values<Type>& values, int count, float* o) {
  constexpr int D = R <= 6 ? 4 : 2;
  int d = 0;
  for (; d + 16 * D <= padded_head(values.dim); d += 16 * D)
    weigh_values<R, D>(p, values, count, d, o);
  for (; d < values.dim; d += 16) weigh_values<R, 1>(p, values, count, d, o);
}

// The running result of R rows: o is not yet divided by l.
struct Running {
  float* m;
  float* l;
  float* o;  // [rows][padded_head(dim)]
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

// p = exp(score - largest) and l for R rows; what a row may not see gets p = 0. visible[r]:
// positions of the chunk that row r may see (>= 1).
inline void normalise_rows(int rows, const int* visible, int tiles, float* scores, float* m,
                           float* l) {
  for (int r = 0; r < rows; ++r) {
    float* s = scores + r * kChunk;
    for (int i = visible[r]; i < 16 * tiles; ++i) s[i] = -__builtin_inff();
    F32 top = load(s);
    for (int i = 1; i < tiles; ++i) top = max(top, load(s + 16 * i));
    m[r] = max_lanes(top);
    top = set1(m[r]);
    F32 sum = zero_f32();
    for (int i = 0; i < tiles; ++i) {
      const F32 p = exp(sub(load(s + 16 * i), top));
      store(s + 16 * i, p);
      sum = add(sum, p);
    }
    l[r] = sum_lanes(sum);
  }
}

template <KvType Type>
using ScoreRows = void (*)(const float*, const Keys<Type>&, int, float, float*);
template <KvType Type>
using WeighRows = void (*)(const float*, const Values<Type>&, int, float*);
template <KvType Type>
inline constexpr ScoreRows<Type> kScoreRows[kAttentionRows] = {
    score_rows<1, Type>, score_rows<2, Type>, score_rows<3, Type>, score_rows<4, Type>,
    score_rows<5, Type>, score_rows<6, Type>, score_rows<7, Type>, score_rows<8, Type>};
template <KvType Type>
inline constexpr WeighRows<Type> kWeighRows[kAttentionRows] = {
    weigh_rows<1, Type>, weigh_rows<2, Type>, weigh_rows<3, Type>, weigh_rows<4, Type>,
    weigh_rows<5, Type>, weigh_rows<6, Type>, weigh_rows<7, Type>, weigh_rows<8, Type>};

// A worker's buffers.
struct AttentionScratch {
  float *keys, *values, *scores, *q, *o;
  Running total;  // of the block at hand
  AttentionScratch(std::byte* p, int dim_int) {
    const std::size_t dim = std::size_t(padded_head(dim_int));
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

// Rows of a block that share one pass over keys and values.
struct RowPass {
  int count = 0;
  int rows[kAttentionRows], visible[kAttentionRows];
};

// The next up to kAttentionRows rows from `row` on that see something of the chunk at `begin`;
// moves `row` past them.
inline RowPass next_pass(const Attention& a, const Span& span, const RowBlock& b, int begin,
                         int& row) {
  const int group = a.heads / a.kv_heads;
  RowPass pass;
  for (; pass.count < kAttentionRows && row < b.count * group; ++row) {
    const int sees = span.position + (b.column - span.first) + row / group + 1 - begin;
    if (sees <= 0) continue;
    pass.visible[pass.count] = sees < kChunk ? sees : kChunk;
    pass.rows[pass.count++] = row;
  }
  return pass;
}

// One chunk of positions for all rows of a block; results go to `into`, row by row, merged with
// what is there from the chunks before, or (merge false) on their own.
inline void attend_chunk(const Attention& a, const Span& span, const RowBlock& b, int chunk,
                         AttentionScratch& s, const Running& into, bool merge) {
  const int group = a.heads / a.kv_heads, dim = a.dim, room = padded_head(dim);
  const int begin = chunk * kChunk;
  const int last =
      span.position + (b.column - span.first) + b.count;  // positions the last column sees
  const int length = last - begin < kChunk ? last - begin : kChunk;
  const KvView kv = layer_view(a, span);
  const std::byte* k = keys_from(kv, b.head, begin, dim);
  const std::byte* v = values_from(kv, b.head, begin, dim);
  KvType k_type = kv.k_type, v_type = kv.v_type;
  if (b.count * group > kAttentionRows) {  // several passes: convert once
    if (k_type != KvType::kF32) {
      with_kv_type(k_type, [&]<KvType T>() {
        copy_keys(Keys<T>{k, dim}, (length + 15) / 16, s.keys);
      });
      k = reinterpret_cast<const std::byte*>(s.keys);
      k_type = KvType::kF32;
    }
    if (v_type != KvType::kF32) {
      with_kv_type(v_type, [&]<KvType T>() { copy_values(Values<T>{v, dim}, length, s.values); });
      v = reinterpret_cast<const std::byte*>(s.values);
      v_type = KvType::kF32;
    }
  }
  for (int row = 0; row < b.count * group;) {
    const RowPass pass = next_pass(a, span, b, begin, row);
    const int n = pass.count;
    if (n == 0) continue;
    int most = 0;
    for (int i = 0; i < n; ++i) {
      most = pass.visible[i] > most ? pass.visible[i] : most;
      const float* q = a.q + std::size_t(b.column + pass.rows[i] / group) * a.q_stride +
                       std::size_t(b.head * group + pass.rows[i] % group) * std::size_t(dim);
      for (int d = 0; d < dim; ++d) s.q[d * n + i] = q[d];
    }
    const int tiles = (most + 15) / 16;
    float m[kAttentionRows], l[kAttentionRows];
    with_kv_type(k_type, [&]<KvType T>() {
      kScoreRows<T>[n - 1](s.q, Keys<T>{k, dim}, tiles, a.scale, s.scores);
    });
    normalise_rows(n, pass.visible, tiles, s.scores, m, l);
    with_kv_type(v_type, [&]<KvType T>() {
      kWeighRows<T>[n - 1](s.scores, Values<T>{v, dim}, most, s.o);
    });
    for (int i = 0; i < n; ++i) {
      const int r = pass.rows[i];
      merge_chunk({into.m + r, into.l + r, into.o + r * room}, {m + i, l + i, s.o + i * room}, 0,
                  room, !merge || chunk == 0);
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
  return {span,
          {span->first + first, span->count - first < columns ? span->count - first : columns,
           index % a.kv_heads}};
}

inline int chunks_seen(const Item& item) {
  const int last = item.span->position + (item.block.column - item.span->first) + item.block.count;
  return (last + kChunk - 1) / kChunk;
}

inline void finish_block(const Attention& a, const RowBlock& b, const Running& r) {
  const int group = a.heads / a.kv_heads;
  for (int row = 0; row < b.count * group; ++row) {
    const int column = b.column + row / group, head = b.head * group + row % group;
    float* out = a.out + (std::size_t(column) * std::size_t(a.heads) + std::size_t(head)) *
                             std::size_t(a.dim);
    for (int d = 0; d < a.dim; d += 16) {
      const F32 y = div(load(r.o + row * padded_head(a.dim) + d), set1(r.l[row]));
      if (d + 16 <= a.dim) {
        store(out + d, y);
      } else {
        alignas(64) float last[16];
        store(last, y);
        std::memcpy(out + d, last, std::size_t(a.dim - d) * sizeof(float));
      }
    }
  }
}

// Phase one of the split form: every (item, chunk) on its own into the partials; phase two merges
// in order of chunks.
inline void attend_split(Worker& worker, const Attention& a, AttentionScratch& s, int items) {
  const int rows = block_columns(a) * (a.heads / a.kv_heads);
  const auto partial = [&](int part) {
    float* base =
        a.partials + std::size_t(part) * std::size_t(rows) * (std::size_t(padded_head(a.dim)) + 2);
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
        const int sees =
            item.span->position + (item.block.column - item.span->first) + row / group + 1;
        for (int c = 0; c * kChunk < sees; ++c)
          merge_chunk(s.total, partial(part + c), row, padded_head(a.dim), c == 0);
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
  for (int i = 0; i < items && items < 2 * worker.count(); ++i)
    parts += chunks_seen(find_item(a, i));
  const std::size_t part_floats =
      std::size_t(block_columns(a) * (a.heads / a.kv_heads)) * (std::size_t(padded_head(dim)) + 2);
  const bool split =
      worker.count() > 1 && parts > items && std::size_t(parts) * part_floats <= a.partials_size;
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
      // A lone token's key is seen by nobody else, so its head is prepared by whoever attends with
      // it.
      if (one_each) prepare_head(a, *item.span, item.block.column, item.block.head);
      for (int c = 0; c < chunks_seen(item); ++c)
        attend_chunk(a, *item.span, item.block, c, s, s.total, true);
      finish_block(a, item.block, s.total);
    }
}

}  // namespace veloce::cpu::VELOCE_ISA_NS

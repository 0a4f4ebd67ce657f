// LDS instructions: reads, writes, atomics, lane exchanges.
#include "exec/lanes/access.hpp"
#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {

u64 announce(WaveView& w, const Inst& i, Space space, bool load, bool store, bool atomic,
             bool returns, u32 bytes, u64 lanes, const u64* addr) {
  MemAccess m;
  m.space = space;
  m.load = load;
  m.store = store;
  m.atomic = atomic;
  m.returns = returns;
  m.lds_dma = i.lds;
  m.glc = i.glc;
  m.slc = i.slc;
  m.bytes = bytes;
  m.lanes = lanes;
  for (int l = 0; l < 64; ++l) m.addr[static_cast<size_t>(l)] = addr[l];
  m.lds_base = reinterpret_cast<u64>(w.lds);
  m.scratch_lo = reinterpret_cast<u64>(w.scratch);
  m.scratch_hi = m.scratch_lo + w.scratch_size;
  return w.trace->observer->on_memory(w.trace->event, m) & lanes;
}

namespace {

// Byte offsets in LDS of each lane; those outside the allocation read 0 and write nothing, as on
// the card.
LANE_INLINE u64 offsets(WaveView& w, const Inst& i, u32 add, u32 bytes, u32* out) {
  const u32* a = w.v(i.src[0].index);
  alignas(64) u32 ok[64];
  const u32 size = w.lds_size;
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    out[l] = a[l] + add;
    ok[l] = size >= bytes && out[l] <= size - bytes ? ~0u : 0;
  }
  return pack(ok);
}

LANE_INLINE u64 seen(WaveView& w, const Inst& i, bool load, bool store, bool atomic, bool returns,
                     u32 bytes, u64 lanes, const u32* at) {
  if (!w.trace) return lanes;
  for (int l = 0; l < 64; ++l) w.addr[l] = at[l];
  return announce(w, i, Space::kLds, load, store, atomic, returns, bytes, lanes, w.addr);
}

// Reads W dwords (or a narrower value) per lane into consecutive registers.
template <int W>
const Inst* read_wide(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  alignas(64) u32 at[64];
  const u64 exec = w.exec();
  const u64 inside = offsets(w, i, static_cast<u32>(i.imm), 4 * W, at);
  const u64 go = seen(w, i, true, false, false, true, 4 * W, exec, at) & inside;
  u32* d = dst_lanes(w, i);
  if (go == ~0ull) {
    for (int l = 0; l < 64; ++l) {
      u32 v[W];
      __builtin_memcpy(v, w.lds + at[l], 4 * W);
      for (int k = 0; k < W; ++k) d[64 * k + l] = v[k];
    }
    return p + 1;
  }
  for (u64 m = exec; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    u32 v[W] = {};
    if (go >> l & 1) __builtin_memcpy(v, w.lds + at[l], 4 * W);
    for (int k = 0; k < W; ++k) d[64 * k + l] = v[k];
  }
  return p + 1;
}

// kHalf: 0 whole register, 1 low half, 2 high half.
template <class T, int kHalf>
const Inst* read_narrow(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  alignas(64) u32 at[64];
  const u64 exec = w.exec();
  const u64 inside = offsets(w, i, static_cast<u32>(i.imm), sizeof(T), at);
  const u64 go = seen(w, i, true, false, false, true, sizeof(T), exec, at) & inside;
  u32* d = dst_lanes(w, i);
  for (u64 m = exec; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    T v = 0;
    if (go >> l & 1) __builtin_memcpy(&v, w.lds + at[l], sizeof(T));
    d[l] = place_half(static_cast<u32>(static_cast<i32>(v)), kHalf);
  }
  return p + 1;
}

template <int W, int kStride>
const Inst* read_two(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  alignas(64) u32 at[2][64];
  const u64 exec = w.exec();
  u64 go[2];
  for (int h = 0; h < 2; ++h) {
    const u32 off = (h ? i.offset1 : static_cast<u32>(i.imm)) * 4 * W * kStride;
    const u64 inside = offsets(w, i, off, 4 * W, at[h]);
    go[h] = seen(w, i, true, false, false, true, 4 * W, exec, at[h]) & inside;
  }
  u32* d = dst_lanes(w, i);
  for (u64 m = exec; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    u32 v[2 * W] = {};
    for (int h = 0; h < 2; ++h) {
      if (go[h] >> l & 1) __builtin_memcpy(v + W * h, w.lds + at[h][l], 4 * W);
    }
    for (int k = 0; k < 2 * W; ++k) d[64 * k + l] = v[k];
  }
  return p + 1;
}

// kBytes below 4: a byte or short from the low (kHigh: high) half.
template <int kBytes, bool kHigh>
const Inst* write_lds(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  alignas(64) u32 at[64];
  const u64 exec = w.exec();
  const u64 inside = offsets(w, i, static_cast<u32>(i.imm), kBytes, at);
  const u64 go = seen(w, i, false, true, false, false, kBytes, exec, at) & inside & exec;
  const u32* s = w.v(i.src[1].index);
  for (u64 m = go; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    u32 v[4];
    for (int k = 0; k < (kBytes + 3) / 4; ++k) v[k] = s[64 * k + l];
    if (kHigh) v[0] >>= 16;
    __builtin_memcpy(w.lds + at[l], v, kBytes);
  }
  return p + 1;
}

template <int W, int kStride>
const Inst* write_two(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  alignas(64) u32 at[64];
  const u64 exec = w.exec();
  for (int h = 0; h < 2; ++h) {
    const u32 off = (h ? i.offset1 : static_cast<u32>(i.imm)) * 4 * W * kStride;
    const u64 inside = offsets(w, i, off, 4 * W, at);
    const u64 go = seen(w, i, false, true, false, false, 4 * W, exec, at) & inside & exec;
    const u32* s = w.v(i.src[1 + h].index);
    for (u64 m = go; m; m &= m - 1) {
      const int l = __builtin_ctzll(m);
      u32 v[W];
      for (int k = 0; k < W; ++k) v[k] = s[64 * k + l];
      __builtin_memcpy(w.lds + at[l], v, 4 * W);
    }
  }
  return p + 1;
}

// LDS belongs to one host thread, so its atomics need no host atomics; lanes go in order.
template <class T, Atomic A>
const Inst* atomic_lds(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  alignas(64) u32 at[64];
  const u64 exec = w.exec();
  const bool returns = i.dst.kind != OperandKind::kNone;
  const u64 inside = offsets(w, i, static_cast<u32>(i.imm), sizeof(T), at);
  const u64 go = seen(w, i, true, true, true, returns, sizeof(T), exec, at) & inside & exec;
  constexpr bool two =
      A == Atomic::kCmpSwap || A == Atomic::kFCmpSwap || A == Atomic::kMskOr || A == Atomic::kWrap;
  for (u64 m = exec; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    T old = 0;
    if (go >> l & 1) {
      __builtin_memcpy(&old, w.lds + at[l], sizeof(T));
      // The compare forms have their comparand first, the new value second.
      const T first = get<T>(w.v(i.src[1].index), l),
              second = two ? get<T>(w.v(i.src[2].index), l) : 0;
      constexpr bool compare = A == Atomic::kCmpSwap || A == Atomic::kFCmpSwap;
      const T now = atomic_apply(A, old, compare ? second : first, compare ? first : second);
      __builtin_memcpy(w.lds + at[l], &now, sizeof(T));
    }
    if (returns) put(dst_lanes(w, i), l, old);
  }
  return p + 1;
}

// Exchanges two places, each with its own data.
template <class T, int kStride>
const Inst* exchange_two(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  alignas(64) u32 at[2][64];
  const u64 exec = w.exec();
  u64 go[2];
  for (int h = 0; h < 2; ++h) {
    const u32 off =
        (h ? i.offset1 : static_cast<u32>(i.imm)) * static_cast<u32>(sizeof(T)) * kStride;
    const u64 inside = offsets(w, i, off, sizeof(T), at[h]);
    go[h] = seen(w, i, true, true, true, true, sizeof(T), exec, at[h]) & inside;
  }
  for (u64 m = exec; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    T old[2] = {}, data[2] = {get<T>(w.v(i.src[1].index), l), get<T>(w.v(i.src[2].index), l)};
    for (int h = 0; h < 2; ++h) {
      if (!(go[h] >> l & 1)) continue;
      __builtin_memcpy(&old[h], w.lds + at[h][l], sizeof(T));
      __builtin_memcpy(w.lds + at[h][l], &data[h], sizeof(T));
    }
    for (int h = 0; h < 2; ++h) put(dst_lanes(w, i) + h * 16 * sizeof(T), l, old[h]);
  }
  return p + 1;
}

// The data is a second LDS word, at a distance in dwords that the offset field gives (or the first
// one plus itself).
template <class T, Atomic A, bool kWrite>
const Inst* source_in_lds(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u64 exec = w.exec();
  const u32* a = w.v(i.src[0].index);
  const i32 step = i.imm >> 15 & 1 ? static_cast<i32>(static_cast<u32>(i.imm) << 17) >> 17 : i.imm;
  for (u64 m = exec; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    const u32 at = a[l], from = at + 4 * static_cast<u32>(step);
    if (at > w.lds_size - sizeof(T) || from > w.lds_size - sizeof(T) || w.lds_size < sizeof(T))
      continue;
    T old, data;
    __builtin_memcpy(&old, w.lds + at, sizeof(T));
    __builtin_memcpy(&data, w.lds + from, sizeof(T));
    const T now = kWrite ? data : atomic_apply(A, old, data, T{0});
    __builtin_memcpy(w.lds + at, &now, sizeof(T));
  }
  return p + 1;
}

// ---- lane exchange ----

const Inst* swizzle(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u64 exec = w.exec();
  const u32 mode = static_cast<u32>(i.imm);
  const u32* s = w.v(i.src[0].index);
  alignas(64) u32 out[64];
  for (int l = 0; l < 64; ++l) {
    int from;
    if (mode >> 15 == 0) {
      from = (l & 32) | (static_cast<int>(((static_cast<u32>(l) & 31 & mode) | (mode >> 5 & 31)) ^
                                          (mode >> 10 & 31)));
    } else if ((mode & 0xc000) == 0xc000) {  // rotate within 32 lanes; the mask holds bits in place
      const int n = static_cast<int>(mode >> 5 & 31), mask = static_cast<int>(mode & 31);
      const int moved = mode >> 10 & 1 ? l - n : l + n;
      from = (l & 32) | (l & mask) | (moved & 31 & ~mask);
    } else {
      from = (l & ~3) | static_cast<int>(mode >> (2 * (l & 3)) & 3);
    }
    out[l] = exec >> from & 1 ? s[from] : 0;  // a lane that is off gives 0
  }
  merge(dst_lanes(w, i), out, exec);
  return p + 1;
}

const Inst* bpermute(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u64 exec = w.exec();
  const u32 *a = w.v(i.src[0].index), *s = w.v(i.src[1].index);
  alignas(64) u32 out[64];
  const u32 add = static_cast<u32>(i.imm);
  if (exec == ~0ull) {
    for (int l = 0; l < 64; ++l) out[l] = s[(a[l] + add) >> 2 & 63];
  } else {
    for (int l = 0; l < 64; ++l) {
      const u32 from = (a[l] + add) >> 2 & 63;
      out[l] = exec >> from & 1 ? s[from] : 0;
    }
  }
  merge(dst_lanes(w, i), out, exec);
  return p + 1;
}

const Inst* permute(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u64 exec = w.exec();
  const u32 *a = w.v(i.src[0].index), *s = w.v(i.src[1].index);
  alignas(64) u32 out[64] = {};
  for (u64 m = exec; m; m &= m - 1) {  // of several writers the highest lane wins
    const int l = __builtin_ctzll(m);
    out[(a[l] + static_cast<u32>(i.imm)) >> 2 & 63] = s[l];
  }
  merge(dst_lanes(w, i), out, exec);
  return p + 1;
}

// Counters at M0's base: the value before goes to all lanes.
template <bool kAppend>
const Inst* append(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u64 exec = w.exec();
  const u32 at = (w.sgpr[kM0] & 0xffff) + static_cast<u32>(i.imm),
            n = static_cast<u32>(__builtin_popcountll(exec));
  u32 old = 0;
  alignas(64) u32 where[64];
  fill(where, at);
  u64 go = 1;
  if (w.trace) go = seen(w, i, true, true, true, true, 4, 1, where);
  if (go & 1 && w.lds_size >= 4 && at <= w.lds_size - 4) {
    __builtin_memcpy(&old, w.lds + at, 4);
    const u32 now = kAppend ? old + n : old - n;
    __builtin_memcpy(w.lds + at, &now, 4);
  }
  alignas(64) u32 out[64];
  fill(out, old);
  merge(dst_lanes(w, i), out, exec);
  return p + 1;
}

// Addressed by lane number and M0 alone.
template <bool kWrite>
const Inst* add_tid(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u32 base = (w.sgpr[kM0] & 0xffff) + static_cast<u32>(i.imm);
  for (u64 m = w.exec(); m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    const u32 at = base + 4 * static_cast<u32>(l);
    const bool ok = w.lds_size >= 4 && at <= w.lds_size - 4;
    if (kWrite) {
      if (ok) __builtin_memcpy(w.lds + at, w.v(i.src[1].index) + l, 4);
    } else {
      u32 v = 0;
      if (ok) __builtin_memcpy(&v, w.lds + at, 4);
      dst_lanes(w, i)[l] = v;
    }
  }
  return p + 1;
}

// Each half of the 64-bit place is exchanged if the top bit of its data says so.
const Inst* exchange_if(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  alignas(64) u32 at[64];
  const u64 exec = w.exec();
  const u64 inside = offsets(w, i, static_cast<u32>(i.imm), 8, at);
  const u64 go = seen(w, i, true, true, true, true, 8, exec, at) & inside;
  for (u64 m = exec; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    u32 old[2] = {}, now[2];
    if (go >> l & 1) {
      __builtin_memcpy(old, w.lds + at[l], 8);
      for (int k = 0; k < 2; ++k)
        now[k] = atomic_apply<u32>(Atomic::kCondSwap, old[k], w.v(i.src[1].index)[64 * k + l], 0);
      __builtin_memcpy(w.lds + at[l], now, 8);
    }
    for (int k = 0; k < 2; ++k) dst_lanes(w, i)[64 * k + l] = old[k];
  }
  return p + 1;
}

const Inst* nothing(WaveView&, const Inst* p) {
  return p + 1;
}

Handler special(ExecFn f) {
  Handler h;
  h.shape = Shape::kSpecial;
  h.special = f;
  return h;
}

template <Atomic A>
void both(Table& t, Op a32, Op r32, Op a64, Op r64) {
  t[a32] = t[r32] = special(atomic_lds<u32, A>);
  t[a64] = t[r64] = special(atomic_lds<u64, A>);
}
template <Atomic A>
void from_lds(Table& t, Op o32, Op o64) {
  t[o32] = special(source_in_lds<u32, A, false>);
  if (o64 != Op::kUnknown) t[o64] = special(source_in_lds<u64, A, false>);
}

void add_atomics(Table& t) {
  both<Atomic::kAdd>(t, Op::ds_add_u32, Op::ds_add_rtn_u32, Op::ds_add_u64, Op::ds_add_rtn_u64);
  both<Atomic::kSub>(t, Op::ds_sub_u32, Op::ds_sub_rtn_u32, Op::ds_sub_u64, Op::ds_sub_rtn_u64);
  both<Atomic::kRSub>(t, Op::ds_rsub_u32, Op::ds_rsub_rtn_u32, Op::ds_rsub_u64,
                      Op::ds_rsub_rtn_u64);
  both<Atomic::kInc>(t, Op::ds_inc_u32, Op::ds_inc_rtn_u32, Op::ds_inc_u64, Op::ds_inc_rtn_u64);
  both<Atomic::kDec>(t, Op::ds_dec_u32, Op::ds_dec_rtn_u32, Op::ds_dec_u64, Op::ds_dec_rtn_u64);
  both<Atomic::kSMin>(t, Op::ds_min_i32, Op::ds_min_rtn_i32, Op::ds_min_i64, Op::ds_min_rtn_i64);
  both<Atomic::kSMax>(t, Op::ds_max_i32, Op::ds_max_rtn_i32, Op::ds_max_i64, Op::ds_max_rtn_i64);
  both<Atomic::kUMin>(t, Op::ds_min_u32, Op::ds_min_rtn_u32, Op::ds_min_u64, Op::ds_min_rtn_u64);
  both<Atomic::kUMax>(t, Op::ds_max_u32, Op::ds_max_rtn_u32, Op::ds_max_u64, Op::ds_max_rtn_u64);
  both<Atomic::kAnd>(t, Op::ds_and_b32, Op::ds_and_rtn_b32, Op::ds_and_b64, Op::ds_and_rtn_b64);
  both<Atomic::kOr>(t, Op::ds_or_b32, Op::ds_or_rtn_b32, Op::ds_or_b64, Op::ds_or_rtn_b64);
  both<Atomic::kXor>(t, Op::ds_xor_b32, Op::ds_xor_rtn_b32, Op::ds_xor_b64, Op::ds_xor_rtn_b64);
  both<Atomic::kMskOr>(t, Op::ds_mskor_b32, Op::ds_mskor_rtn_b32, Op::ds_mskor_b64,
                       Op::ds_mskor_rtn_b64);
  both<Atomic::kCmpSwap>(t, Op::ds_cmpst_b32, Op::ds_cmpst_rtn_b32, Op::ds_cmpst_b64,
                         Op::ds_cmpst_rtn_b64);
  both<Atomic::kFCmpSwap>(t, Op::ds_cmpst_f32, Op::ds_cmpst_rtn_f32, Op::ds_cmpst_f64,
                          Op::ds_cmpst_rtn_f64);
  both<Atomic::kFMin>(t, Op::ds_min_f32, Op::ds_min_rtn_f32, Op::ds_min_f64, Op::ds_min_rtn_f64);
  both<Atomic::kFMax>(t, Op::ds_max_f32, Op::ds_max_rtn_f32, Op::ds_max_f64, Op::ds_max_rtn_f64);
  t[Op::ds_add_f32] = t[Op::ds_add_rtn_f32] = special(atomic_lds<u32, Atomic::kFAdd>);
  t[Op::ds_wrxchg_rtn_b32] = special(atomic_lds<u32, Atomic::kSwap>);
  t[Op::ds_wrxchg_rtn_b64] = special(atomic_lds<u64, Atomic::kSwap>);
  t[Op::ds_wrap_rtn_b32] = special(atomic_lds<u32, Atomic::kWrap>);
  t[Op::ds_wrxchg2_rtn_b32] = special(exchange_two<u32, 1>);
  t[Op::ds_wrxchg2st64_rtn_b32] = special(exchange_two<u32, 64>);
  t[Op::ds_wrxchg2_rtn_b64] = special(exchange_two<u64, 1>);
  t[Op::ds_wrxchg2st64_rtn_b64] = special(exchange_two<u64, 64>);
  from_lds<Atomic::kAdd>(t, Op::ds_add_src2_u32, Op::ds_add_src2_u64);
  from_lds<Atomic::kSub>(t, Op::ds_sub_src2_u32, Op::ds_sub_src2_u64);
  from_lds<Atomic::kRSub>(t, Op::ds_rsub_src2_u32, Op::ds_rsub_src2_u64);
  from_lds<Atomic::kInc>(t, Op::ds_inc_src2_u32, Op::ds_inc_src2_u64);
  from_lds<Atomic::kDec>(t, Op::ds_dec_src2_u32, Op::ds_dec_src2_u64);
  from_lds<Atomic::kSMin>(t, Op::ds_min_src2_i32, Op::ds_min_src2_i64);
  from_lds<Atomic::kSMax>(t, Op::ds_max_src2_i32, Op::ds_max_src2_i64);
  from_lds<Atomic::kUMin>(t, Op::ds_min_src2_u32, Op::ds_min_src2_u64);
  from_lds<Atomic::kUMax>(t, Op::ds_max_src2_u32, Op::ds_max_src2_u64);
  from_lds<Atomic::kAnd>(t, Op::ds_and_src2_b32, Op::ds_and_src2_b64);
  from_lds<Atomic::kOr>(t, Op::ds_or_src2_b32, Op::ds_or_src2_b64);
  from_lds<Atomic::kXor>(t, Op::ds_xor_src2_b32, Op::ds_xor_src2_b64);
  from_lds<Atomic::kFMin>(t, Op::ds_min_src2_f32, Op::ds_min_src2_f64);
  from_lds<Atomic::kFMax>(t, Op::ds_max_src2_f32, Op::ds_max_src2_f64);
  from_lds<Atomic::kFAdd>(t, Op::ds_add_src2_f32, Op::kUnknown);
  t[Op::ds_write_src2_b32] = special(source_in_lds<u32, Atomic::kNone, true>);
  t[Op::ds_write_src2_b64] = special(source_in_lds<u64, Atomic::kNone, true>);
}

}  // namespace

void add_lds(Table& t) {
  add_atomics(t);
  t[Op::ds_condxchg32_rtn_b64] = special(exchange_if);
  t[Op::ds_nop] = special(nothing);
  t[Op::ds_read_b32] = special(read_wide<1>);
  t[Op::ds_read_b64] = special(read_wide<2>);
  t[Op::ds_read_b96] = special(read_wide<3>);
  t[Op::ds_read_b128] = special(read_wide<4>);
  t[Op::ds_read2_b32] = special(read_two<1, 1>);
  t[Op::ds_read2st64_b32] = special(read_two<1, 64>);
  t[Op::ds_read2_b64] = special(read_two<2, 1>);
  t[Op::ds_read2st64_b64] = special(read_two<2, 64>);
  t[Op::ds_read_u8] = special(read_narrow<u8, 0>);
  t[Op::ds_read_i8] = special(read_narrow<int8_t, 0>);
  t[Op::ds_read_u16] = special(read_narrow<u16, 0>);
  t[Op::ds_read_i16] = special(read_narrow<i16, 0>);
  t[Op::ds_read_u8_d16] = special(read_narrow<u8, 1>);
  t[Op::ds_read_u8_d16_hi] = special(read_narrow<u8, 2>);
  t[Op::ds_read_i8_d16] = special(read_narrow<int8_t, 1>);
  t[Op::ds_read_i8_d16_hi] = special(read_narrow<int8_t, 2>);
  t[Op::ds_read_u16_d16] = special(read_narrow<u16, 1>);
  t[Op::ds_read_u16_d16_hi] = special(read_narrow<u16, 2>);
  t[Op::ds_write_b8] = special(write_lds<1, false>);
  t[Op::ds_write_b16] = special(write_lds<2, false>);
  t[Op::ds_write_b8_d16_hi] = special(write_lds<1, true>);
  t[Op::ds_write_b16_d16_hi] = special(write_lds<2, true>);
  t[Op::ds_write_b32] = special(write_lds<4, false>);
  t[Op::ds_write_b64] = special(write_lds<8, false>);
  t[Op::ds_write_b96] = special(write_lds<12, false>);
  t[Op::ds_write_b128] = special(write_lds<16, false>);
  t[Op::ds_write2_b32] = special(write_two<1, 1>);
  t[Op::ds_write2st64_b32] = special(write_two<1, 64>);
  t[Op::ds_write2_b64] = special(write_two<2, 1>);
  t[Op::ds_write2st64_b64] = special(write_two<2, 64>);
  t[Op::ds_swizzle_b32] = special(swizzle);
  t[Op::ds_bpermute_b32] = special(bpermute);
  t[Op::ds_permute_b32] = special(permute);
  t[Op::ds_append] = special(append<true>);
  t[Op::ds_consume] = special(append<false>);
  t[Op::ds_read_addtid_b32] = special(add_tid<false>);
  t[Op::ds_write_addtid_b32] = special(add_tid<true>);
}

}  // namespace gfx906::GFX906_LANES_NS

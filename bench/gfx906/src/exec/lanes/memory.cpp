// Vector memory: global, flat, scratch and buffer accesses and atomics.
#include "exec/lanes/access.hpp"
#include "exec/lanes/buffer.hpp"
#include "exec/lanes/lanes.hpp"
#include "exec/scalar_read.hpp"

namespace gfx906 {
const Inst* fault_text(WaveView& w, const Inst* i, Code code, const char* what);
}

namespace gfx906::GFX906_LANES_NS {
namespace {

// What an opcode does; FLAT, GLOBAL, SCRATCH and MUBUF number them alike.
struct MemOp {
  bool load = false, store = false;
  u32 bytes = 4;  // per lane
  bool sign = false;
  int half = 0;  // 1: low half of the register only, 2: high half only
  Atomic atomic = Atomic::kNone;
};
constexpr MemOp mem_op(u32 code) {
  MemOp m;
  if (code >= 64) {
    constexpr Atomic kOps[] = {Atomic::kSwap, Atomic::kCmpSwap, Atomic::kAdd,  Atomic::kSub,
                               Atomic::kSMin, Atomic::kUMin,    Atomic::kSMax, Atomic::kUMax,
                               Atomic::kAnd,  Atomic::kOr,      Atomic::kXor,  Atomic::kInc,
                               Atomic::kDec};
    m.atomic = kOps[(code & 31) % 13];
    m.bytes = code >= 96 ? 8 : 4;
    m.load = m.store = true;
    return m;
  }
  constexpr u32 kLoad[] = {1, 1, 2, 2, 4, 8, 12, 16};
  if (code < 24) {
    m.load = true;
    m.bytes = kLoad[code - 16];
    m.sign = code == 17 || code == 19;
  } else if (code < 32) {
    m.store = true;
    m.bytes = code < 26 ? 1 : code < 28 ? 2 : (code - 27) * 4;
    m.half = code == 25 || code == 27 ? 2 : 0;
  } else {
    m.load = true;
    m.bytes = code < 36 ? 1 : 2;
    m.sign = code == 34 || code == 35;
    m.half = code & 1 ? 2 : 1;
  }
  return m;
}

// Where each lane's access goes. Scratch is swizzled: consecutive dwords of a lane lie 256 bytes
// apart.
struct Places {
  u64 lanes = 0;    // active
  u64 zero = 0;     // active, but out of range: a load gives 0, a store does nothing
  u64 lds = 0;      // in LDS (flat): addr is the offset
  u64 scratch = 0;  // addr is the lane's byte offset in its scratch
};

LANE_INLINE u8* scratch_byte(const WaveView& w, int lane, u64 offset, u32 k) {
  const u64 at = offset + k;
  return w.scratch + (at >> 2) * 256 + static_cast<u64>(lane) * 4 + (at & 3);
}
void scratch_copy(const WaveView& w, int lane, u64 offset, u32 bytes, u8* out) {
  for (u32 k = 0; k < bytes; ++k) out[k] = *scratch_byte(w, lane, offset, k);
}
void scratch_store(const WaveView& w, int lane, u64 offset, u32 bytes, const u8* in) {
  for (u32 k = 0; k < bytes; ++k) *scratch_byte(w, lane, offset, k) = in[k];
}

// Announces each space's part of the access and takes out the lanes the observer holds back.
void observe(WaveView& w, const Inst& i, const MemOp& m, Places& at) {
  const bool atomic = m.atomic != Atomic::kNone, returns = i.dst.kind != OperandKind::kNone;
  const u64 parts[3] = {at.lanes & ~(at.zero | at.lds | at.scratch), at.lds, at.scratch};
  constexpr Space kSpaces[3] = {Space::kGlobal, Space::kLds, Space::kScratch};
  for (int s = 0; s < 3; ++s) {
    if (!parts[s]) continue;
    alignas(64) u64 host[64];
    const u64* shown = w.addr;
    if (s == 2) {
      for (int l = 0; l < 64; ++l)
        host[l] = reinterpret_cast<u64>(scratch_byte(w, l, w.addr[l], 0));
      shown = host;
    }
    const u64 go =
        announce(w, i, kSpaces[s], m.load, m.store, atomic, returns, m.bytes, parts[s], shown);
    at.zero |= parts[s] & ~go;
  }
}

// Scratch offsets beyond the wave's scratch are a fault of the kernel, LDS ones read 0.
bool check_places(const WaveView& w, u32 bytes, Places& at) {
  for (u64 m = at.scratch & ~at.zero; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    if (w.addr[l] + bytes > w.scratch_size / 64) return false;
  }
  for (u64 m = at.lds; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    if (w.lds_size < bytes || w.addr[l] > w.lds_size - bytes) at.zero |= 1ull << l;
  }
  return true;
}

LANE_INLINE u32 widen(const u8* v, const MemOp& m) {
  u32 x = 0;
  if (m.bytes == 1) {
    x = m.sign ? static_cast<u32>(static_cast<i32>(static_cast<int8_t>(v[0]))) : v[0];
  } else {
    u16 h;
    __builtin_memcpy(&h, v, 2);
    x = m.sign ? static_cast<u32>(static_cast<i32>(static_cast<i16>(h))) : h;
  }
  return x;
}

void do_load(WaveView& w, const Inst& i, const MemOp& m, const Places& at) {
  u32* d = dst_lanes(w, i);
  for (u64 rest = at.lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    alignas(4) u8 v[16] = {};
    if (!(at.zero >> l & 1)) {
      if (at.scratch >> l & 1) {
        scratch_copy(w, l, w.addr[l], m.bytes, v);
      } else {
        const u8* p = at.lds >> l & 1 ? w.lds + w.addr[l] : reinterpret_cast<const u8*>(w.addr[l]);
        __builtin_memcpy(v, p, m.bytes);
      }
    }
    if (m.bytes < 4) {
      d[l] = place_half(widen(v, m), m.half);
    } else {
      for (u32 k = 0; k < m.bytes / 4; ++k)
        __builtin_memcpy(&d[64 * k + static_cast<u32>(l)], v + 4 * k, 4);
    }
  }
}

// buffer_load ... lds: lane l's dword goes to LDS at M0 + offset + 4 * l.
void do_load_lds(WaveView& w, const Inst& i, const MemOp& m, const Places& at) {
  for (u64 rest = at.lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    alignas(4) u8 v[16] = {};
    if (!(at.zero >> l & 1)) __builtin_memcpy(v, reinterpret_cast<const u8*>(w.addr[l]), m.bytes);
    u32 x;
    if (m.bytes < 4) {
      x = widen(v, m);
    } else {
      __builtin_memcpy(&x, v, 4);
    }
    const u32 to = (w.sgpr[kM0] & 0xffff) + static_cast<u32>(i.imm) + 4 * static_cast<u32>(l);
    if (w.lds_size >= 4 && to <= w.lds_size - 4) __builtin_memcpy(w.lds + to, &x, 4);
  }
}

void do_store(WaveView& w, const Inst& i, const MemOp& m, const Places& at) {
  const u32* s = w.v(i.src[1].index);
  for (u64 rest = at.lanes & ~at.zero; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    u32 v[4] = {};
    for (u32 k = 0; k < (m.bytes + 3) / 4; ++k) v[k] = s[64 * k + static_cast<u32>(l)];
    if (m.half == 2) v[0] >>= 16;
    if (at.scratch >> l & 1) {
      scratch_store(w, l, w.addr[l], m.bytes, reinterpret_cast<const u8*>(v));
    } else {
      u8* p = at.lds >> l & 1 ? w.lds + w.addr[l] : reinterpret_cast<u8*>(w.addr[l]);
      __builtin_memcpy(p, v, m.bytes);
    }
  }
}

template <class T>
void do_atomic(WaveView& w, const Inst& i, const MemOp& m, const Places& at) {
  const u32* s = w.v(i.src[1].index);
  const bool returns = i.dst.kind != OperandKind::kNone;
  for (u64 rest = at.lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    T old = 0;
    if (!(at.zero >> l & 1)) {
      const T data = get<T>(s, l);
      const T cmp = m.atomic == Atomic::kCmpSwap ? get<T>(s + 16 * sizeof(T), l) : 0;
      void* p = at.lds >> l & 1       ? w.lds + w.addr[l]
                : at.scratch >> l & 1 ? scratch_byte(w, l, w.addr[l], 0)
                                      : reinterpret_cast<u8*>(w.addr[l]);
      old = atomic_memory<T>(m.atomic, p, data, cmp);
    }
    if (returns) put(dst_lanes(w, i), l, old);
  }
}

const Inst* perform(WaveView& w, const Inst* p, const MemOp& m, Places& at) {
  const Inst& i = *p;
  w.polls += i.glc || m.atomic != Atomic::kNone;
  if ((at.lds | at.scratch) && !check_places(w, m.bytes, at)) {
    return fault_text(w, p, Code::kFault, "access beyond the end of the wave's scratch memory");
  }
  if (w.trace) observe(w, i, m, at);
  if (m.atomic != Atomic::kNone) {
    if (m.bytes == 4) {
      do_atomic<u32>(w, i, m, at);
    } else {
      do_atomic<u64>(w, i, m, at);
    }
  } else if (m.load) {
    i.lds ? do_load_lds(w, i, m, at) : do_load(w, i, m, at);
  } else {
    do_store(w, i, m, at);
  }
  if (i.tfe && m.load) clear_status(w, i);
  return p + 1;
}

// ---- addresses ----

LANE_INLINE void global_addresses(WaveView& w, const Inst& i) {
  const u64 imm = static_cast<u64>(static_cast<i64>(i.imm));
  const u32* a = w.v(i.src[0].index);
  if (i.src[3].kind == OperandKind::kSgpr) {
    const u64 base = w.read64(i.src[3].index) + imm;
    LANES_IVDEP
    for (int l = 0; l < 64; ++l) w.addr[l] = base + a[l];
  } else {
    LANES_IVDEP
    for (int l = 0; l < 64; ++l) w.addr[l] = (a[l] | static_cast<u64>(a[64 + l]) << 32) + imm;
  }
}

// All lanes on and each reading the word after its neighbour's: one copy.
LANE_INLINE bool consecutive(const WaveView& w, u64 step) {
  u64 differ = 0;
  const u64 first = w.addr[0];
  for (int l = 0; l < 64; ++l) differ |= w.addr[l] ^ (first + step * static_cast<u64>(l));
  return differ == 0;
}

// Loads of W dwords, the case worth speed.
template <int W>
const Inst* global_load(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u64 exec = w.exec();
  global_addresses(w, i);
  if (w.trace || i.glc) {
    Places at;
    at.lanes = exec;
    return perform(w, p, mem_op(i.info->opcode), at);
  }
  u32* d = dst_lanes(w, i);
  if (exec == ~0ull) {
    if (W == 1 && consecutive(w, 4)) {
      __builtin_memcpy(d, reinterpret_cast<const void*>(w.addr[0]), 256);
      return p + 1;
    }
    for (int l = 0; l < 64; ++l) {
      u32 v[W];
      __builtin_memcpy(v, reinterpret_cast<const void*>(w.addr[l]), 4 * W);
      for (int k = 0; k < W; ++k) d[64 * k + l] = v[k];
    }
    return p + 1;
  }
  for (u64 rest = exec; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    u32 v[W];
    __builtin_memcpy(v, reinterpret_cast<const void*>(w.addr[l]), 4 * W);
    for (int k = 0; k < W; ++k) d[64 * k + l] = v[k];
  }
  return p + 1;
}

const Inst* global_any(WaveView& w, const Inst* p) {
  global_addresses(w, *p);
  Places at;
  at.lanes = w.exec();
  return perform(w, p, mem_op(p->info->opcode), at);
}

const Inst* flat_any(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  Places at;
  at.lanes = w.exec();
  const u32* a = w.v(i.src[0].index);
  constexpr u32 kSharedHigh = static_cast<u32>(kSharedAperture >> 32),
                kPrivateHigh = static_cast<u32>(kPrivateAperture >> 32);
  alignas(64) u32 lds[64], scratch[64];
  for (int l = 0; l < 64; ++l) {
    const u64 full =
        (a[l] | static_cast<u64>(a[64 + l]) << 32) + static_cast<u64>(static_cast<i64>(i.imm));
    const u32 high = static_cast<u32>(full >> 32);
    lds[l] = high == kSharedHigh ? ~0u : 0;
    scratch[l] = high == kPrivateHigh ? ~0u : 0;
    w.addr[l] = lds[l] | scratch[l] ? full & 0xffffffffu : full;
  }
  at.lds = pack(lds) & at.lanes;
  at.scratch = pack(scratch) & at.lanes;
  // Private addresses are offsets from FLAT_SCRATCH, which points into this wave's own scratch.
  if (at.scratch) {
    const u64 bias = (w.read64(kFlatScratch) - reinterpret_cast<u64>(w.scratch)) / 64;
    for (int l = 0; l < 64; ++l) w.addr[l] += at.scratch >> l & 1 ? bias : 0;
  }
  return perform(w, p, mem_op(i.info->opcode), at);
}

const Inst* scratch_any(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  Places at;
  at.lanes = at.scratch = w.exec();
  const u64 bias = (w.read64(kFlatScratch) - reinterpret_cast<u64>(w.scratch)) / 64;
  const u32 base =
      (i.src[3].kind == OperandKind::kSgpr ? w.sgpr[i.src[3].index] : 0) + static_cast<u32>(i.imm);
  for (int l = 0; l < 64; ++l) {
    const u32 a = i.src[0].kind == OperandKind::kVgpr ? w.v(i.src[0].index)[l] : 0;
    w.addr[l] = static_cast<u64>(a + base) + bias;
  }
  return perform(w, p, mem_op(i.info->opcode), at);
}

const Inst* buffer_any(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const MemOp m = mem_op(i.info->opcode);
  const Resource r(w.sgpr + i.src[3].index);
  const u32 soffset = buffer_soffset(w, i);
  Places at;
  at.lanes = w.exec();
  // The wave's own scratch, addressed through its resource: swizzled by dwords over the 64 lanes.
  const u64 low = reinterpret_cast<u64>(w.scratch);
  const bool scratch = r.swizzle && r.add_tid && w.scratch && r.base + soffset >= low &&
                       r.base + soffset <= low + w.scratch_size;
  if (scratch) {
    at.scratch = at.lanes;
    const u32* offset = i.offen ? w.v(i.src[0].index) + (i.idxen ? 64 : 0) : nullptr;
    const u64 bias = (r.base + soffset - low) / 64;
    for (int l = 0; l < 64; ++l)
      w.addr[l] = bias + ((offset ? offset[l] : 0) + static_cast<u32>(i.imm));
  } else {
    at.zero = buffer_addresses(w, i, r, m.bytes) & at.lanes;
  }
  return perform(w, p, m, at);
}

const Inst* cache_control(WaveView&, const Inst* p) {
  return p + 1;
}

Handler special(ExecFn f) {
  Handler h;
  h.shape = Shape::kSpecial;
  h.special = f;
  return h;
}

// `first` is the operation of opcode `from`; those up to `to` follow it in the enumeration.
void range(Table& t, Op first, Op last, ExecFn f) {
  for (size_t k = static_cast<size_t>(first); k <= static_cast<size_t>(last); ++k)
    t.of[k] = special(f);
}

}  // namespace

void add_memory(Table& t) {
  range(t, Op::global_load_ubyte, Op::global_atomic_dec_x2, global_any);
  range(t, Op::flat_load_ubyte, Op::flat_atomic_dec_x2, flat_any);
  range(t, Op::scratch_load_ubyte, Op::scratch_load_short_d16_hi, scratch_any);
  range(t, Op::buffer_load_ubyte, Op::buffer_load_short_d16_hi, buffer_any);
  range(t, Op::buffer_atomic_swap, Op::buffer_atomic_dec_x2, buffer_any);
  t[Op::buffer_wbinvl1] = t[Op::buffer_wbinvl1_vol] = special(cache_control);
  t[Op::global_load_dword] = special(global_load<1>);
  t[Op::global_load_dwordx2] = special(global_load<2>);
  t[Op::global_load_dwordx3] = special(global_load<3>);
  t[Op::global_load_dwordx4] = special(global_load<4>);
}

}  // namespace gfx906::GFX906_LANES_NS

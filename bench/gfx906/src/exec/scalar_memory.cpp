// Scalar memory: loads, stores, atomics, the clocks and cache controls.
#include <chrono>
#include <string>

#include "exec/scalar.hpp"
#include "exec/wave.hpp"

namespace gfx906 {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;

u64 offset_of(const WaveView& w, const Inst& i) {
  u64 o = static_cast<u64>(static_cast<int64_t>(i.imm));
  if (i.soffset.kind == OperandKind::kSgpr) o += w.sgpr[i.soffset.index];
  return o;
}

bool allowed(WaveView& w, const Inst& i, u64 address, u32 bytes, bool load, bool store,
             bool atomic) {
  if (!w.trace) return true;
  MemAccess m;
  m.space = Space::kScalar;
  m.load = load;
  m.store = store;
  m.atomic = atomic;
  m.returns = load;
  m.glc = i.glc;
  m.bytes = bytes;
  m.lanes = 1;
  m.addr[0] = address;
  return w.trace->observer->on_memory(w.trace->event, m) & 1;
}

const Inst* load(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u64 address = (w.read64(i.src[0].index) + offset_of(w, i)) & ~3ull;
  const u32 n = i.dst.width;
  w.polls += i.glc;
  if (!allowed(w, i, address, 4 * n, true, false, false)) {
    for (u32 k = 0; k < n; ++k) w.sgpr[i.dst.index + k] = 0;
    return p + 1;
  }
  std::memcpy(w.sgpr + i.dst.index, reinterpret_cast<const void*>(address), 4 * n);
  return p + 1;
}

// The resource of a scalar buffer access: base, and a size in bytes that bounds it.
u64 buffer_bytes(const u32* r) {
  const u32 stride = r[1] >> 16 & 0x3fff;
  return stride ? u64{stride} * r[2] : r[2];
}
const Inst* buffer_load(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u32* r = w.sgpr + i.src[0].index;
  const u64 base = r[0] | static_cast<u64>(r[1] & 0xffff) << 32, offset = offset_of(w, i) & ~3ull,
            bytes = buffer_bytes(r);
  const u32 n = i.dst.width;
  u32 v[16] = {};
  for (u32 k = 0; k < n; ++k) {
    const u64 at = offset + 4 * k;
    if (at + 4 <= bytes && allowed(w, i, base + at, 4, true, false, false))
      std::memcpy(v + k, reinterpret_cast<const void*>(base + at), 4);
  }
  std::memcpy(w.sgpr + i.dst.index, v, 4 * n);
  return p + 1;
}
template <bool kBuffer>
const Inst* store(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u32* r = w.sgpr + i.src[0].index;
  const u64 base =
      kBuffer ? (r[0] | static_cast<u64>(r[1] & 0xffff) << 32) : w.read64(i.src[0].index);
  const u64 offset = offset_of(w, i) & ~3ull;
  const u32 bytes = 4u * i.dst.width;
  if (kBuffer && offset + bytes > buffer_bytes(r)) return p + 1;
  const u64 address = (base + offset) & ~3ull;
  if (allowed(w, i, address, bytes, false, true, false))
    std::memcpy(reinterpret_cast<void*>(address), w.sgpr + i.dst.index, bytes);
  return p + 1;
}

template <class T>
T changed(u32 op, T old, T data, T compare) {
  using S = std::make_signed_t<T>;
  switch (op) {
    case 0:
      return data;
    case 1:
      return old == compare ? data : old;
    case 2:
      return old + data;
    case 3:
      return old - data;
    case 4:
      return static_cast<S>(old) < static_cast<S>(data) ? old : data;
    case 5:
      return old < data ? old : data;
    case 6:
      return static_cast<S>(old) > static_cast<S>(data) ? old : data;
    case 7:
      return old > data ? old : data;
    case 8:
      return old & data;
    case 9:
      return old | data;
    case 10:
      return old ^ data;
    case 11:
      return old >= data ? 0 : old + 1;
    default:
      return old == 0 || old > data ? data : old - 1;
  }
}
template <class T>
const Inst* atomic(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  // Opcodes 64.. address through a buffer resource, 128.. directly; 32 more for the 64-bit ones.
  const bool buffer = i.info->opcode < 128;
  const u32 op = i.info->opcode & 31;
  const u32* r = w.sgpr + i.src[0].index;
  const u64 base =
      buffer ? (r[0] | static_cast<u64>(r[1] & 0xffff) << 32) : w.read64(i.src[0].index);
  const u64 offset = offset_of(w, i);
  T data, compare = 0;
  std::memcpy(&data, w.sgpr + i.dst.index, sizeof(T));
  if (op == 1) std::memcpy(&compare, w.sgpr + i.dst.index + sizeof(T) / 4, sizeof(T));
  ++w.polls;
  T old = 0;
  const u64 address = (base + offset) & ~static_cast<u64>(sizeof(T) - 1);
  if ((!buffer || offset + sizeof(T) <= buffer_bytes(r)) &&
      allowed(w, i, address, sizeof(T), true, true, true)) {
    T* at = reinterpret_cast<T*>(address);
    old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(at, &old, changed(op, old, data, compare), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
  }
  if (i.glc) std::memcpy(w.sgpr + i.dst.index, &old, sizeof(T));
  return p + 1;
}

uint64_t nanoseconds() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}
// The core clock at 1.725 GHz, and the constant 25 MHz one.
const Inst* memtime(WaveView& w, const Inst* p) {
  w.write64(p->dst.index, nanoseconds() * 69 / 40);
  return p + 1;
}
const Inst* memrealtime(WaveView& w, const Inst* p) {
  w.write64(p->dst.index, nanoseconds() / 40);
  return p + 1;
}
const Inst* next(WaveView&, const Inst* p) {
  return p + 1;
}

}  // namespace

ExecFn scalar_memory_handler(Op op) {
  const std::string_view name = mnemonic(op);
  if (name.starts_with("s_load_")) return load;
  if (name.starts_with("s_buffer_load_")) return buffer_load;
  if (name.starts_with("s_store_")) return store<false>;
  if (name.starts_with("s_buffer_store_")) return store<true>;
  if (name.starts_with("s_atomic_") || name.starts_with("s_buffer_atomic_"))
    return name.ends_with("_x2") ? atomic<u64> : atomic<u32>;
  if (name.starts_with("s_dcache") || name.starts_with("s_atc_probe")) return next;
  if (op == Op::s_memtime) return memtime;
  if (op == Op::s_memrealtime) return memrealtime;
  return nullptr;
}

}  // namespace gfx906

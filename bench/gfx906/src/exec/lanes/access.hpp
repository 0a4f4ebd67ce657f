// Memory accesses of a wave: what an instruction does per lane, announced to an observer before it
// happens.
#pragma once

#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {

enum class Atomic : uint8_t {
  kNone,
  kSwap,
  kCmpSwap,
  kAdd,
  kSub,
  kSMin,
  kUMin,
  kSMax,
  kUMax,
  kAnd,
  kOr,
  kXor,
  kInc,
  kDec,
  kRSub,
  kMskOr,
  kFAdd,
  kFMin,
  kFMax,
  kFCmpSwap,
  kWrap,
  kCondSwap
};

// Atomically applies the operation to memory; returns the value before. `cmp` is the comparand of
// the swaps, the mask of mskor.
template <class T>
LANE_INLINE T atomic_apply(Atomic op, T old, T data, T cmp) {
  using S = std::make_signed_t<T>;
  switch (op) {
    case Atomic::kSwap:
      return data;
    case Atomic::kCmpSwap:
      return old == cmp ? data : old;
    case Atomic::kAdd:
      return old + data;
    case Atomic::kSub:
      return old - data;
    case Atomic::kRSub:
      return data - old;
    case Atomic::kSMin:
      return static_cast<S>(old) < static_cast<S>(data) ? old : data;
    case Atomic::kUMin:
      return old < data ? old : data;
    case Atomic::kSMax:
      return static_cast<S>(old) > static_cast<S>(data) ? old : data;
    case Atomic::kUMax:
      return old > data ? old : data;
    case Atomic::kAnd:
      return old & data;
    case Atomic::kOr:
      return old | data;
    case Atomic::kXor:
      return old ^ data;
    case Atomic::kInc:
      return old >= data ? 0 : old + 1;
    case Atomic::kDec:
      return old == 0 || old > data ? data : old - 1;
    case Atomic::kMskOr:
      return (old & ~data) | cmp;
    case Atomic::kWrap:
      return old >= data ? old - data : old + cmp;
    case Atomic::kCondSwap:
      return data >> (8 * sizeof(T) - 1) ? data & ~(T{1} << (8 * sizeof(T) - 1)) : old;
    default:
      break;
  }
  using F = std::conditional_t<sizeof(T) == 4, float, double>;
  const F a = std::bit_cast<F>(old), b = std::bit_cast<F>(data);
  switch (op) {
    case Atomic::kFAdd:
      return std::bit_cast<T>(a + b);
    case Atomic::kFMin:
      return std::bit_cast<T>(b < a || a != a ? b : a);
    case Atomic::kFMax:
      return std::bit_cast<T>(b > a || a != a ? b : a);
    case Atomic::kFCmpSwap:
      return a == std::bit_cast<F>(cmp) ? data : old;
    default:
      return old;
  }
}
template <class T>
T atomic_memory(Atomic op, void* at, T data, T cmp) {
  T* p = static_cast<T*>(at);
  T old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, atomic_apply(op, old, data, cmp), false,
                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
  return old;
}

// Lanes that may go on after the observer has seen the access.
u64 announce(WaveView& w, const Inst& i, Space space, bool load, bool store, bool atomic,
             bool returns, u32 bytes, u64 lanes, const u64* addr);

// A loaded value in its register: whole (0), in the low half (1) or the high half (2). The other
// half becomes 0: with ECC on its registers, as these cards have it, the chip cannot keep part of
// one that memory writes.
LANE_INLINE u32 place_half(u32 x, int half) {
  return half == 0 ? x : half == 1 ? x & 0xffff : x << 16;
}

// TFE: the register after the data tells which part of a sparse resource was missing. Nothing ever
// is.
LANE_INLINE void clear_status(WaveView& w, const Inst& i) {
  if (i.dst.kind != OperandKind::kVgpr) return;
  u32* status = dst_lanes(w, i) + 64 * (i.dst.width - 1);
  for (u64 rest = w.exec(); rest; rest &= rest - 1) status[__builtin_ctzll(rest)] = 0;
}

}  // namespace gfx906::GFX906_LANES_NS

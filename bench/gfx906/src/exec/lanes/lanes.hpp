// What the lane loops are made of. Every file of this folder is compiled once per host instruction
// set, in a namespace of its own; no inline function of the standard library may be emitted from
// here, since the linker could then choose its AVX-512 copy for all.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "exec/wave.hpp"

namespace gfx906::GFX906_LANES_NS {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

#define LANES_IVDEP _Pragma("GCC ivdep")
#if defined(__clang__)
#undef LANES_IVDEP
#define LANES_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#endif
#define LANE_INLINE inline __attribute__((always_inline))

// A value of lane l in rows of 64: 64-bit values have their high halves in the next row.
template <class T>
LANE_INLINE T get(const u32* p, int l) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(static_cast<u64>(p[l]) | static_cast<u64>(p[64 + l]) << 32);
  } else {
    return std::bit_cast<T>(p[l]);
  }
}
template <class T>
LANE_INLINE void put(u32* p, int l, T v) {
  if constexpr (sizeof(T) == 8) {
    const u64 x = std::bit_cast<u64>(v);
    p[l] = static_cast<u32>(x);
    p[64 + l] = static_cast<u32>(x >> 32);
  } else {
    p[l] = std::bit_cast<u32>(v);
  }
}

// Lane masks between their two forms: a bit per lane, a word (0 or ~0) per lane.
LANE_INLINE u64 pack(const u32* words) {
  u64 m = 0;
#if defined(__AVX512F__)
  for (int k = 0; k < 4; ++k) {
    const __m512i v = _mm512_load_si512(words + 16 * k);
    m |= static_cast<u64>(_mm512_test_epi32_mask(v, v)) << (16 * k);
  }
#else
  for (int k = 0; k < 8; ++k) {
    const __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(words + 8 * k));
    m |= static_cast<u64>(static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(v)))) << (8 * k);
  }
#endif
  return m;
}
LANE_INLINE void expand(u64 mask, u32* words) {
#if defined(__AVX512F__)
  for (int k = 0; k < 4; ++k) {
    _mm512_store_si512(words + 16 * k,
                       _mm512_maskz_set1_epi32(static_cast<__mmask16>(mask >> (16 * k)), -1));
  }
#else
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  for (int k = 0; k < 8; ++k) {
    const __m256i b = _mm256_set1_epi32(static_cast<int>(mask >> (8 * k) & 255));
    _mm256_store_si256(reinterpret_cast<__m256i*>(words + 8 * k),
                       _mm256_cmpeq_epi32(_mm256_and_si256(b, bit), bit));
  }
#endif
}

// d = mask ? t : d, one row.
LANE_INLINE void merge(u32* d, const u32* t, u64 mask) {
#if defined(__AVX512F__)
  for (int k = 0; k < 4; ++k) {
    _mm512_mask_store_epi32(d + 16 * k, static_cast<__mmask16>(mask >> (16 * k)),
                            _mm512_load_si512(t + 16 * k));
  }
#else
  alignas(64) u32 m[64];
  expand(mask, m);
  for (int l = 0; l < 64; ++l) d[l] = (d[l] & ~m[l]) | (t[l] & m[l]);
#endif
}
LANE_INLINE void fill(u32* d, u32 v) {
  for (int l = 0; l < 64; ++l) d[l] = v;
}

// A source operand as lanes.
const u32* scalar_lanes(WaveView& w, const Inst& i, int s);
LANE_INLINE const u32* lanes_of(WaveView& w, const Inst& i, int s) {
  if (i.src[s].kind == OperandKind::kVgpr) return w.vgpr + static_cast<size_t>(i.src[s].index) * 64;
  if (i.src[s].kind == OperandKind::kConstant) return i.lanes[s];
  return scalar_lanes(w, i, s);
}
LANE_INLINE u32* dst_lanes(WaveView& w, const Inst& i) {
  return w.vgpr + static_cast<size_t>(i.dst.index) * 64;
}

// ---- f16 as its 16 bits ----

LANE_INLINE float half_to_float(u32 h) {
  const u32 mag = (h & 0x7fff) << 13;
  // 2^112 moves the exponent; a denormal becomes normal exactly.
  const u32 scaled = std::bit_cast<u32>(std::bit_cast<float>(mag) * 0x1p112f);
  const u32 special = mag + 0x70000000u;  // infinity and NaN: all exponent bits
  return std::bit_cast<float>((mag >= 0x0f800000u ? special : scaled) | (h & 0x8000) << 16);
}

// Round to nearest even; NaN keeps its sign and the top of its payload, made quiet.
LANE_INLINE u32 float_to_half(float f) {
  const u32 x = std::bit_cast<u32>(f), sign = x >> 16 & 0x8000, mag = x & 0x7fffffff;
  // Small results: adding 0.5 puts the rounding point of f16 denormals at the last bit.
  const u32 small = std::bit_cast<u32>(std::bit_cast<float>(mag) + 0.5f) - 0x3f000000u;
  const u32 normal = (mag - 0x38000000u + 0xfffu + (mag >> 13 & 1)) >> 13;
  const u32 nan = 0x7e00u | (mag >> 13 & 0x3ff);
  u32 r = mag < 0x38800000u ? small : normal;
  r = mag >= 0x477ff000u ? 0x7c00u : r;
  r = mag > 0x7f800000u ? nan : r;
  return r | sign;
}

// The exact sum or product of two halves rounded to odd in f32, so that float_to_half rounds it
// once: s is the f32 result, err what it missed.
LANE_INLINE float to_odd(float s, float err) {
  const u32 bits = std::bit_cast<u32>(s);
  const bool inexact = err != 0 && !(bits & 1) && (bits & 0x7f800000u) != 0x7f800000u;
  const bool away = (err > 0) == (s > 0);
  return std::bit_cast<float>(inexact ? (away ? bits + 1 : bits - 1) : bits);
}

// ---- NaN rules: a NaN operand is passed on quiet, the first one first; an invalid operation gives
// 0x7fc00000 ----

LANE_INLINE bool nan32(u32 x) {
  return (x & 0x7fffffffu) > 0x7f800000u;
}
LANE_INLINE bool nan64(u64 x) {
  return (x & ~(1ull << 63)) > 0x7ff0000000000000ull;
}
LANE_INLINE bool nan16(u32 x) {
  return (x & 0x7fff) > 0x7c00;
}
LANE_INLINE bool snan32(u32 x) {
  return nan32(x) && !(x & 0x400000u);
}
LANE_INLINE bool snan16(u32 x) {
  return nan16(x) && !(x & 0x200);
}
LANE_INLINE bool snan64(u64 x) {
  return nan64(x) && !(x >> 51 & 1);
}

LANE_INLINE float settle(float r, float a, float b) {
  const u32 ua = std::bit_cast<u32>(a), ub = std::bit_cast<u32>(b);
  const u32 n = nan32(ua) ? ua | 0x400000u : nan32(ub) ? ub | 0x400000u : 0x7fc00000u;
  return r != r ? std::bit_cast<float>(n) : r;
}
LANE_INLINE float settle(float r, float a, float b, float c) {
  const u32 ua = std::bit_cast<u32>(a), ub = std::bit_cast<u32>(b), uc = std::bit_cast<u32>(c);
  const u32 n = nan32(ua)   ? ua | 0x400000u
                : nan32(ub) ? ub | 0x400000u
                : nan32(uc) ? uc | 0x400000u
                            : 0x7fc00000u;
  return r != r ? std::bit_cast<float>(n) : r;
}
LANE_INLINE double settle(double r, double a, double b, double c = 0) {
  constexpr u64 q = 1ull << 51;
  const u64 ua = std::bit_cast<u64>(a), ub = std::bit_cast<u64>(b), uc = std::bit_cast<u64>(c);
  const u64 n = nan64(ua)   ? ua | q
                : nan64(ub) ? ub | q
                : nan64(uc) ? uc | q
                            : 0x7ff8000000000000ull;
  return r != r ? std::bit_cast<double>(n) : r;
}

// ---- MODE ----

LANE_INLINE float flush(float x) {  // a denormal becomes a zero of its sign
  const u32 u = std::bit_cast<u32>(x);
  return std::bit_cast<float>((u & 0x7f800000u) ? u : u & 0x80000000u);
}
LANE_INLINE double flush(double x) {
  const u64 u = std::bit_cast<u64>(x);
  return std::bit_cast<double>((u & 0x7ff0000000000000ull) ? u : u & (1ull << 63));
}
LANE_INLINE u32 flush16(u32 h) {
  return (h & 0x7c00) ? h : h & 0x8000;
}

// Sets the host's rounding mode from MODE's code (0 even, 1 up, 2 down, 3 toward zero) for its
// lifetime.
class Rounding {
 public:
  LANE_INLINE explicit Rounding(u32 mode) : saved_(_mm_getcsr()) {
    static constexpr u32 kHost[] = {0x0000, 0x4000, 0x2000, 0x6000};
    _mm_setcsr((saved_ & ~0x6000u) | kHost[mode & 3]);
  }
  LANE_INLINE ~Rounding() { _mm_setcsr(saved_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  u32 saved_;
};

// ---- Lane loops from lane functions ----

// F: a lambda without captures.
template <class F, class D, class A>
void lanes1(u32* d, const u32* a, const u32*, const u32*, LaneContext&) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) put<D>(d, l, F{}(get<A>(a, l)));
}
template <class F, class D, class A, class B>
void lanes2(u32* d, const u32* a, const u32* b, const u32*, LaneContext&) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) put<D>(d, l, F{}(get<A>(a, l), get<B>(b, l)));
}
template <class F, class D, class A, class B, class C>
void lanes3(u32* d, const u32* a, const u32* b, const u32* c, LaneContext&) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) put<D>(d, l, F{}(get<A>(a, l), get<B>(b, l), get<C>(c, l)));
}

LANE_INLINE Handler value(CoreFn f, NumType source = NumType::kInt,
                          NumType result = NumType::kInt) {
  Handler h;
  h.core = f;
  h.shape = Shape::kValue;
  h.source = source;
  h.result = result;
  return h;
}
// Handlers of plain lane functions on the given types: result, then sources.
template <class D, class A, class F>
Handler of1(F) {
  return value(lanes1<F, D, A>);
}
template <class D, class A, class B, class F>
Handler of2(F) {
  return value(lanes2<F, D, A, B>);
}
template <class D, class A, class B, class C, class F>
Handler of3(F) {
  return value(lanes3<F, D, A, B, C>);
}

// The table of one host instruction set, and the parts it is put together from.
struct Table {
  Handler of[static_cast<size_t>(Op::kCount)];
  Handler& operator[](Op op) { return of[static_cast<size_t>(op)]; }
};
void add_integer(Table& t);
void add_integer3(Table& t);
void add_compare(Table& t);
void add_float32(Table& t);
void add_float64(Table& t);
void add_float16(Table& t);
void add_convert(Table& t);
void add_packed(Table& t);
void add_special(Table& t);
void add_lds(Table& t);
void add_memory(Table& t);
void add_formats(Table& t);

}  // namespace gfx906::GFX906_LANES_NS

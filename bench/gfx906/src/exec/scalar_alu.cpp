// SOP1, SOP2, SOPC and the arithmetic of SOPK.
#include <bit>
#include <unordered_map>

#include "exec/scalar.hpp"
#include "exec/scalar_read.hpp"

namespace gfx906 {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

template <class T>
T source(const WaveView& w, const Inst* p, int s) {
  const Operand& o = p->src[s];
  if (o.kind == OperandKind::kSgpr) {
    if constexpr (sizeof(T) == 8) return static_cast<T>(w.read64(o.index));
    return static_cast<T>(w.sgpr[o.index]);
  }
  return static_cast<T>(read_scalar64(w, *p, s));
}
template <class T>
void result(WaveView& w, const Inst* p, T v) {
  if constexpr (sizeof(T) == 8) {
    w.write64(p->dst.index, static_cast<u64>(v));
  } else {
    w.sgpr[p->dst.index] = static_cast<u32>(v);
  }
}

// D = F(A, B, scc); F may change scc. kNonZero: scc becomes D != 0.
template <class D, class A, class B, class F, bool kNonZero>
const Inst* sop2(WaveView& w, const Inst* p) {
  const D d = F{}(source<A>(w, p, 0), source<B>(w, p, 1), w.scc);
  if (kNonZero) w.scc = d != 0;
  result(w, p, d);
  return p + 1;
}
template <class D, class A, class F, bool kNonZero>
const Inst* sop1(WaveView& w, const Inst* p) {
  const D d = F{}(source<A>(w, p, 0));
  if (kNonZero) w.scc = d != 0;
  result(w, p, d);
  return p + 1;
}
template <class A, class B, class F>
const Inst* sopc(WaveView& w, const Inst* p) {
  w.scc = F{}(source<A>(w, p, 0), source<B>(w, p, 1)) ? 1 : 0;
  return p + 1;
}
template <class F, bool kSigned>
const Inst* sopk_compare(WaveView& w, const Inst* p) {
  const i64 a = kSigned ? static_cast<i64>(static_cast<i32>(w.sgpr[p->dst.index]))
                        : static_cast<i64>(w.sgpr[p->dst.index]);
  const i64 b = kSigned ? p->imm : static_cast<uint16_t>(p->imm);
  w.scc = F{}(a, b) ? 1 : 0;
  return p + 1;
}
// D = EXEC; EXEC = F(S0, EXEC); kWrite: D = the new EXEC instead.
template <class F, bool kWrite>
const Inst* save_exec(WaveView& w, const Inst* p) {
  const u64 s = source<u64>(w, p, 0), old = w.exec(), now = F{}(s, old);
  w.write64(kExec, now);
  w.write64(p->dst.index, kWrite ? now : old);
  w.scc = now != 0;
  return p + 1;
}

u64 whole_quads(u64 v) {
  u64 r = 0;
  for (int q = 0; q < 16; ++q) r |= v >> (4 * q) & 15 ? 15ull << (4 * q) : 0;
  return r;
}
u64 quad_mask(u64 v) {
  u64 r = 0;
  for (int q = 0; q < 16; ++q) r |= v >> (4 * q) & 15 ? 1ull << q : 0;
  return r;
}
u64 reverse(u64 v, int bits) {
  u64 r = 0;
  for (int k = 0; k < bits; ++k) r |= (v >> k & 1) << (bits - 1 - k);
  return r;
}
template <class T>
u32 first_bit(T v) {
  return v ? static_cast<u32>(std::countr_zero(v)) : ~0u;
}
template <class T>
u32 leading(T v) {
  return v ? static_cast<u32>(std::countl_zero(v)) : ~0u;
}

template <class T>
T extract(T value, u32 field, bool sign) {
  constexpr u32 bits = 8 * sizeof(T);
  const u32 offset = field & (bits - 1), width = field >> 16 & 127;
  if (width == 0) return 0;
  using S = std::make_signed_t<T>;
  if (sign) {
    const T shifted = static_cast<T>(static_cast<S>(value) >> offset);
    if (width >= bits) return shifted;
    return static_cast<T>(static_cast<S>(shifted << (bits - width)) >> (bits - width));
  }
  const T shifted = value >> offset;
  return width >= bits ? shifted : shifted & ((T{1} << width) - 1);
}

const Inst* cmov32(WaveView& w, const Inst* p) {
  if (w.scc) result(w, p, source<u32>(w, p, 0));
  return p + 1;
}
const Inst* cmov64(WaveView& w, const Inst* p) {
  if (w.scc) result(w, p, source<u64>(w, p, 0));
  return p + 1;
}
template <bool kSet, class T>
const Inst* bit_set(WaveView& w, const Inst* p) {
  const u32 bit = source<u32>(w, p, 0) & (8 * sizeof(T) - 1);
  T v = sizeof(T) == 8 ? static_cast<T>(w.read64(p->dst.index))
                       : static_cast<T>(w.sgpr[p->dst.index]);
  v = kSet ? v | T{1} << bit : v & ~(T{1} << bit);
  result(w, p, v);
  return p + 1;
}
template <class T, bool kDst>
const Inst* move_relative(WaveView& w, const Inst* p) {
  const u32 by = w.sgpr[kM0], from = p->src[0].index + (kDst ? 0 : by),
            to = p->dst.index + (kDst ? by : 0);
  const u32 n = sizeof(T) / 4;
  if (from + n > 104 || to + n > 104)
    return fault(w, p, Code::kFault,
                 "relative scalar register is out of range (M0 is " + std::to_string(by) + ")");
  if (!kDst || p->src[0].kind == OperandKind::kSgpr) {
    for (u32 k = 0; k < n; ++k) w.sgpr[to + k] = w.sgpr[from + k];
  } else {
    const u64 v = read_scalar64(w, *p, 0);
    for (u32 k = 0; k < n; ++k) w.sgpr[to + k] = static_cast<u32>(v >> (32 * k));
  }
  return p + 1;
}

const Inst* movk(WaveView& w, const Inst* p) {
  return w.sgpr[p->dst.index] = static_cast<u32>(p->imm), p + 1;
}
const Inst* cmovk(WaveView& w, const Inst* p) {
  if (w.scc) w.sgpr[p->dst.index] = static_cast<u32>(p->imm);
  return p + 1;
}
const Inst* addk(WaveView& w, const Inst* p) {
  const i64 r = static_cast<i64>(static_cast<i32>(w.sgpr[p->dst.index])) + p->imm;
  w.scc = r != static_cast<i32>(r);
  w.sgpr[p->dst.index] = static_cast<u32>(r);
  return p + 1;
}
const Inst* mulk(WaveView& w, const Inst* p) {
  return w.sgpr[p->dst.index] *= static_cast<u32>(p->imm), p + 1;
}

using Map = std::unordered_map<Op, ExecFn>;

template <class D, class A, class B, bool kNonZero, class F>
ExecFn two(F) {
  return sop2<D, A, B, F, kNonZero>;
}
template <class D, class A, bool kNonZero, class F>
ExecFn one(F) {
  return sop1<D, A, F, kNonZero>;
}
template <class A, class B, class F>
ExecFn cmp(F) {
  return sopc<A, B, F>;
}

void add_sums(Map& m) {
  m[Op::s_add_u32] = two<u32, u32, u32, false>([](u32 a, u32 b, u32& scc) {
    const u32 r = a + b;
    scc = r < a;
    return r;
  });
  m[Op::s_sub_u32] = two<u32, u32, u32, false>([](u32 a, u32 b, u32& scc) {
    scc = a < b;
    return a - b;
  });
  m[Op::s_add_i32] = two<u32, u32, u32, false>([](u32 a, u32 b, u32& scc) {
    const u32 r = a + b;
    scc = ((a ^ r) & (b ^ r)) >> 31;
    return r;
  });
  m[Op::s_sub_i32] = two<u32, u32, u32, false>([](u32 a, u32 b, u32& scc) {
    const u32 r = a - b;
    scc = ((a ^ b) & (a ^ r)) >> 31;
    return r;
  });
  m[Op::s_addc_u32] = two<u32, u32, u32, false>([](u32 a, u32 b, u32& scc) {
    const u64 r = static_cast<u64>(a) + b + scc;
    scc = static_cast<u32>(r >> 32);
    return static_cast<u32>(r);
  });
  m[Op::s_subb_u32] = two<u32, u32, u32, false>([](u32 a, u32 b, u32& scc) {
    const u64 take = static_cast<u64>(b) + scc;
    scc = a < take;
    return static_cast<u32>(a - take);
  });
  m[Op::s_min_i32] = two<u32, i32, i32, false>([](i32 a, i32 b, u32& scc) {
    scc = a < b;
    return static_cast<u32>(scc ? a : b);
  });
  m[Op::s_min_u32] = two<u32, u32, u32, false>([](u32 a, u32 b, u32& scc) {
    scc = a < b;
    return scc ? a : b;
  });
  m[Op::s_max_i32] = two<u32, i32, i32, false>([](i32 a, i32 b, u32& scc) {
    scc = a > b;
    return static_cast<u32>(scc ? a : b);
  });
  m[Op::s_max_u32] = two<u32, u32, u32, false>([](u32 a, u32 b, u32& scc) {
    scc = a > b;
    return scc ? a : b;
  });
  m[Op::s_mul_i32] = two<u32, u32, u32, false>([](u32 a, u32 b, u32&) { return a * b; });
  m[Op::s_mul_hi_u32] = two<u32, u32, u32, false>(
      [](u32 a, u32 b, u32&) { return static_cast<u32>((static_cast<u64>(a) * b) >> 32); });
  m[Op::s_mul_hi_i32] = two<u32, i32, i32, false>(
      [](i32 a, i32 b, u32&) { return static_cast<u32>((static_cast<i64>(a) * b) >> 32); });
  m[Op::s_absdiff_i32] = two<u32, i32, i32, true>([](i32 a, i32 b, u32&) {
    return a > b ? static_cast<u32>(a) - static_cast<u32>(b)
                 : static_cast<u32>(b) - static_cast<u32>(a);
  });
  const auto shift_add = [](auto n) {
    return two<u32, u32, u32, false>([](u32 a, u32 b, u32& scc) {
      const u64 r = (static_cast<u64>(a) << decltype(n)::value) + b;
      scc = r > 0xffffffffu;
      return static_cast<u32>(r);
    });
  };
  m[Op::s_lshl1_add_u32] = shift_add(std::integral_constant<int, 1>{});
  m[Op::s_lshl2_add_u32] = shift_add(std::integral_constant<int, 2>{});
  m[Op::s_lshl3_add_u32] = shift_add(std::integral_constant<int, 3>{});
  m[Op::s_lshl4_add_u32] = shift_add(std::integral_constant<int, 4>{});
}

template <class T>
void add_logic(Map& m, Op and_, Op or_, Op xor_, Op andn2, Op orn2, Op nand, Op nor, Op xnor,
               Op select, Op not_, Op wqm, Op quad) {
  m[and_] = two<T, T, T, true>([](T a, T b, u32&) { return static_cast<T>(a & b); });
  m[or_] = two<T, T, T, true>([](T a, T b, u32&) { return static_cast<T>(a | b); });
  m[xor_] = two<T, T, T, true>([](T a, T b, u32&) { return static_cast<T>(a ^ b); });
  m[andn2] = two<T, T, T, true>([](T a, T b, u32&) { return static_cast<T>(a & ~b); });
  m[orn2] = two<T, T, T, true>([](T a, T b, u32&) { return static_cast<T>(a | ~b); });
  m[nand] = two<T, T, T, true>([](T a, T b, u32&) { return static_cast<T>(~(a & b)); });
  m[nor] = two<T, T, T, true>([](T a, T b, u32&) { return static_cast<T>(~(a | b)); });
  m[xnor] = two<T, T, T, true>([](T a, T b, u32&) { return static_cast<T>(~(a ^ b)); });
  m[select] = two<T, T, T, false>([](T a, T b, u32& scc) { return scc ? a : b; });
  m[not_] = one<T, T, true>([](T a) { return static_cast<T>(~a); });
  m[wqm] = one<T, T, true>([](T a) { return static_cast<T>(whole_quads(a)); });
  m[quad] = one<T, T, true>([](T a) { return static_cast<T>(quad_mask(a)); });
}

void add_shifts(Map& m) {
  m[Op::s_lshl_b32] = two<u32, u32, u32, true>([](u32 a, u32 b, u32&) { return a << (b & 31); });
  m[Op::s_lshr_b32] = two<u32, u32, u32, true>([](u32 a, u32 b, u32&) { return a >> (b & 31); });
  m[Op::s_ashr_i32] =
      two<u32, i32, u32, true>([](i32 a, u32 b, u32&) { return static_cast<u32>(a >> (b & 31)); });
  m[Op::s_lshl_b64] = two<u64, u64, u32, true>([](u64 a, u32 b, u32&) { return a << (b & 63); });
  m[Op::s_lshr_b64] = two<u64, u64, u32, true>([](u64 a, u32 b, u32&) { return a >> (b & 63); });
  m[Op::s_ashr_i64] =
      two<u64, i64, u32, true>([](i64 a, u32 b, u32&) { return static_cast<u64>(a >> (b & 63)); });
  m[Op::s_bfm_b32] = two<u32, u32, u32, false>(
      [](u32 a, u32 b, u32&) { return ((1u << (a & 31)) - 1) << (b & 31); });
  m[Op::s_bfm_b64] = two<u64, u32, u32, false>(
      [](u32 a, u32 b, u32&) { return ((1ull << (a & 63)) - 1) << (b & 63); });
  m[Op::s_bfe_u32] =
      two<u32, u32, u32, true>([](u32 a, u32 b, u32&) { return extract(a, b, false); });
  m[Op::s_bfe_i32] =
      two<u32, u32, u32, true>([](u32 a, u32 b, u32&) { return extract(a, b, true); });
  m[Op::s_bfe_u64] =
      two<u64, u64, u32, true>([](u64 a, u32 b, u32&) { return extract(a, b, false); });
  m[Op::s_bfe_i64] =
      two<u64, u64, u32, true>([](u64 a, u32 b, u32&) { return extract(a, b, true); });
  m[Op::s_pack_ll_b32_b16] =
      two<u32, u32, u32, false>([](u32 a, u32 b, u32&) { return (a & 0xffff) | b << 16; });
  m[Op::s_pack_lh_b32_b16] = two<u32, u32, u32, false>(
      [](u32 a, u32 b, u32&) { return (a & 0xffff) | (b & 0xffff0000u); });
  m[Op::s_pack_hh_b32_b16] =
      two<u32, u32, u32, false>([](u32 a, u32 b, u32&) { return a >> 16 | (b & 0xffff0000u); });
}

void add_one_operand(Map& m) {
  m[Op::s_mov_b32] = one<u32, u32, false>([](u32 a) { return a; });
  m[Op::s_mov_b64] = one<u64, u64, false>([](u64 a) { return a; });
  m[Op::s_cmov_b32] = cmov32;
  m[Op::s_cmov_b64] = cmov64;
  m[Op::s_brev_b32] = one<u32, u32, false>([](u32 a) { return static_cast<u32>(reverse(a, 32)); });
  m[Op::s_brev_b64] = one<u64, u64, false>([](u64 a) { return reverse(a, 64); });
  m[Op::s_bcnt0_i32_b32] =
      one<u32, u32, true>([](u32 a) { return static_cast<u32>(32 - std::popcount(a)); });
  m[Op::s_bcnt0_i32_b64] =
      one<u32, u64, true>([](u64 a) { return static_cast<u32>(64 - std::popcount(a)); });
  m[Op::s_bcnt1_i32_b32] =
      one<u32, u32, true>([](u32 a) { return static_cast<u32>(std::popcount(a)); });
  m[Op::s_bcnt1_i32_b64] =
      one<u32, u64, true>([](u64 a) { return static_cast<u32>(std::popcount(a)); });
  m[Op::s_ff0_i32_b32] = one<u32, u32, false>([](u32 a) { return first_bit(~a); });
  m[Op::s_ff0_i32_b64] = one<u32, u64, false>([](u64 a) { return first_bit(~a); });
  m[Op::s_ff1_i32_b32] = one<u32, u32, false>([](u32 a) { return first_bit(a); });
  m[Op::s_ff1_i32_b64] = one<u32, u64, false>([](u64 a) { return first_bit(a); });
  m[Op::s_flbit_i32_b32] = one<u32, u32, false>([](u32 a) { return leading(a); });
  m[Op::s_flbit_i32_b64] = one<u32, u64, false>([](u64 a) { return leading(a); });
  m[Op::s_flbit_i32] = one<u32, u32, false>([](u32 a) { return leading(a >> 31 ? ~a : a); });
  m[Op::s_flbit_i32_i64] = one<u32, u64, false>([](u64 a) { return leading(a >> 63 ? ~a : a); });
  m[Op::s_sext_i32_i8] = one<u32, u32, false>(
      [](u32 a) { return static_cast<u32>(static_cast<i32>(static_cast<int8_t>(a))); });
  m[Op::s_sext_i32_i16] = one<u32, u32, false>(
      [](u32 a) { return static_cast<u32>(static_cast<i32>(static_cast<int16_t>(a))); });
  m[Op::s_abs_i32] = one<u32, u32, true>([](u32 a) { return a >> 31 ? 0u - a : a; });
  m[Op::s_bitset0_b32] = bit_set<false, u32>;
  m[Op::s_bitset1_b32] = bit_set<true, u32>;
  m[Op::s_bitset0_b64] = bit_set<false, u64>;
  m[Op::s_bitset1_b64] = bit_set<true, u64>;
  m[Op::s_bitreplicate_b64_b32] = one<u64, u32, false>([](u32 a) {
    u64 r = 0;
    for (int k = 0; k < 32; ++k) r |= a >> k & 1 ? 3ull << (2 * k) : 0;
    return r;
  });
  m[Op::s_movrels_b32] = move_relative<u32, false>;
  m[Op::s_movrels_b64] = move_relative<u64, false>;
  m[Op::s_movreld_b32] = move_relative<u32, true>;
  m[Op::s_movreld_b64] = move_relative<u64, true>;
}

template <bool kWrite, class F>
ExecFn saving(F) {
  return save_exec<F, kWrite>;
}

void add_save_exec(Map& m) {
  m[Op::s_and_saveexec_b64] = saving<false>([](u64 s, u64 e) { return s & e; });
  m[Op::s_or_saveexec_b64] = saving<false>([](u64 s, u64 e) { return s | e; });
  m[Op::s_xor_saveexec_b64] = saving<false>([](u64 s, u64 e) { return s ^ e; });
  m[Op::s_andn2_saveexec_b64] = saving<false>([](u64 s, u64 e) { return s & ~e; });
  m[Op::s_orn2_saveexec_b64] = saving<false>([](u64 s, u64 e) { return s | ~e; });
  m[Op::s_nand_saveexec_b64] = saving<false>([](u64 s, u64 e) { return ~(s & e); });
  m[Op::s_nor_saveexec_b64] = saving<false>([](u64 s, u64 e) { return ~(s | e); });
  m[Op::s_xnor_saveexec_b64] = saving<false>([](u64 s, u64 e) { return ~(s ^ e); });
  m[Op::s_andn1_saveexec_b64] = saving<false>([](u64 s, u64 e) { return ~s & e; });
  m[Op::s_orn1_saveexec_b64] = saving<false>([](u64 s, u64 e) { return ~s | e; });
  m[Op::s_andn1_wrexec_b64] = saving<true>([](u64 s, u64 e) { return ~s & e; });
  m[Op::s_andn2_wrexec_b64] = saving<true>([](u64 s, u64 e) { return s & ~e; });
}

template <class F>
ExecFn cmpk_i(F) {
  return sopk_compare<F, true>;
}
template <class F>
ExecFn cmpk_u(F) {
  return sopk_compare<F, false>;
}

void add_compares(Map& m) {
  const auto eq = [](auto a, auto b) { return a == b; };
  const auto ne = [](auto a, auto b) { return a != b; };
  const auto gt = [](auto a, auto b) { return a > b; };
  const auto ge = [](auto a, auto b) { return a >= b; };
  const auto lt = [](auto a, auto b) { return a < b; };
  const auto le = [](auto a, auto b) { return a <= b; };
  m[Op::s_cmp_eq_i32] = m[Op::s_cmp_eq_u32] = cmp<u32, u32>(eq);
  m[Op::s_cmp_lg_i32] = m[Op::s_cmp_lg_u32] = cmp<u32, u32>(ne);
  m[Op::s_cmp_gt_i32] = cmp<i32, i32>(gt);
  m[Op::s_cmp_ge_i32] = cmp<i32, i32>(ge);
  m[Op::s_cmp_lt_i32] = cmp<i32, i32>(lt);
  m[Op::s_cmp_le_i32] = cmp<i32, i32>(le);
  m[Op::s_cmp_gt_u32] = cmp<u32, u32>(gt);
  m[Op::s_cmp_ge_u32] = cmp<u32, u32>(ge);
  m[Op::s_cmp_lt_u32] = cmp<u32, u32>(lt);
  m[Op::s_cmp_le_u32] = cmp<u32, u32>(le);
  m[Op::s_cmp_eq_u64] = cmp<u64, u64>(eq);
  m[Op::s_cmp_lg_u64] = cmp<u64, u64>(ne);
  m[Op::s_bitcmp0_b32] = cmp<u32, u32>([](u32 a, u32 b) { return !(a >> (b & 31) & 1); });
  m[Op::s_bitcmp1_b32] = cmp<u32, u32>([](u32 a, u32 b) { return a >> (b & 31) & 1; });
  m[Op::s_bitcmp0_b64] = cmp<u64, u32>([](u64 a, u32 b) { return !(a >> (b & 63) & 1); });
  m[Op::s_bitcmp1_b64] = cmp<u64, u32>([](u64 a, u32 b) { return a >> (b & 63) & 1; });
  m[Op::s_cmpk_eq_i32] = cmpk_i(eq);
  m[Op::s_cmpk_lg_i32] = cmpk_i(ne);
  m[Op::s_cmpk_gt_i32] = cmpk_i(gt);
  m[Op::s_cmpk_ge_i32] = cmpk_i(ge);
  m[Op::s_cmpk_lt_i32] = cmpk_i(lt);
  m[Op::s_cmpk_le_i32] = cmpk_i(le);
  m[Op::s_cmpk_eq_u32] = cmpk_u(eq);
  m[Op::s_cmpk_lg_u32] = cmpk_u(ne);
  m[Op::s_cmpk_gt_u32] = cmpk_u(gt);
  m[Op::s_cmpk_ge_u32] = cmpk_u(ge);
  m[Op::s_cmpk_lt_u32] = cmpk_u(lt);
  m[Op::s_cmpk_le_u32] = cmpk_u(le);
}

Map make_map() {
  Map m;
  add_sums(m);
  add_logic<u32>(m, Op::s_and_b32, Op::s_or_b32, Op::s_xor_b32, Op::s_andn2_b32, Op::s_orn2_b32,
                 Op::s_nand_b32, Op::s_nor_b32, Op::s_xnor_b32, Op::s_cselect_b32, Op::s_not_b32,
                 Op::s_wqm_b32, Op::s_quadmask_b32);
  add_logic<u64>(m, Op::s_and_b64, Op::s_or_b64, Op::s_xor_b64, Op::s_andn2_b64, Op::s_orn2_b64,
                 Op::s_nand_b64, Op::s_nor_b64, Op::s_xnor_b64, Op::s_cselect_b64, Op::s_not_b64,
                 Op::s_wqm_b64, Op::s_quadmask_b64);
  add_shifts(m);
  add_one_operand(m);
  add_save_exec(m);
  add_compares(m);
  m[Op::s_movk_i32] = movk;
  m[Op::s_cmovk_i32] = cmovk;
  m[Op::s_addk_i32] = addk;
  m[Op::s_mulk_i32] = mulk;
  return m;
}

}  // namespace

ExecFn scalar_alu_handler(Op op) {
  static const Map map = make_map();
  const auto it = map.find(op);
  return it == map.end() ? nullptr : it->second;
}

}  // namespace gfx906

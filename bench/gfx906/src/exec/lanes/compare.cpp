// Comparisons (v_cmp, v_cmpx) and number classes.
#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {
namespace {

// Condition codes in opcode order. Floats: f lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru;
// integers: f lt eq le gt ne ge t.
template <int C, class T>
LANE_INLINE bool holds(T a, T b) {
  switch (C) {
    case 0:
      return false;
    case 1:
      return a < b;
    case 2:
      return a == b;
    case 3:
      return a <= b;
    case 4:
      return a > b;
    case 6:
      return a >= b;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (C) {
      case 5:
        return a < b || a > b;
      case 7:
        return a == a && b == b;
      case 8:
        return a != a || b != b;
      case 9:
        return !(a >= b);
      case 10:
        return !(a < b || a > b);
      case 11:
        return !(a > b);
      case 12:
        return !(a <= b);
      case 13:
        return !(a == b);
      case 14:
        return !(a < b);
      default:
        return true;
    }
  } else {
    return C == 5 ? a != b : true;
  }
}

struct Half {};
template <class T, bool kFlush>
LANE_INLINE auto operand(const u32* p, int l) {
  if constexpr (std::is_same_v<T, Half>) {
    return half_to_float(kFlush ? flush16(p[l] & 0xffff) : p[l] & 0xffff);
  } else if constexpr (std::is_floating_point_v<T>) {
    return kFlush ? flush(get<T>(p, l)) : get<T>(p, l);
  } else if constexpr (sizeof(T) == 2) {
    return static_cast<T>(p[l]);
  } else {
    return get<T>(p, l);
  }
}

template <int C, class T, bool kFlush>
LANE_INLINE u64 compare_rows(const u32* a, const u32* b) {
  alignas(64) u32 out[64];
  LANES_IVDEP
  for (int l = 0; l < 64; ++l)
    out[l] = holds<C>(operand<T, kFlush>(a, l), operand<T, kFlush>(b, l)) ? ~0u : 0;
  return pack(out);
}

template <int C, class T>
void compare(u32*, const u32* a, const u32* b, const u32*, LaneContext& x) {
  constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, Half>;
  if constexpr (is_float) {
    const u32 keeps = std::is_same_v<T, float> ? kDenormIn32 : kDenormIn16_64;
    if (!x.fp_default && !(x.mode & keeps)) {
      x.mask_out = compare_rows<C, T, true>(a, b);
      return;
    }
  }
  x.mask_out = compare_rows<C, T, false>(a, b);
}

// Bits: 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8
// +normal, 9 +inf.
template <class U, int kExp, int kMant>
LANE_INLINE u32 class_bit(U v) {
  const bool negative = v >> (kExp + kMant) & 1;
  const U e = v >> kMant & ((U{1} << kExp) - 1), m = v & ((U{1} << kMant) - 1);
  const bool top = e == (U{1} << kExp) - 1;
  const bool quiet = v >> (kMant - 1) & 1;
  const int kind = top ? (m ? -1 : 3)
                   : e ? 2
                   : m ? 1
                       : 0;  // 0 zero, 1 denormal, 2 normal, 3 infinite
  return kind < 0 ? (quiet ? 2u : 1u) : 1u << (negative ? 5 - kind : 6 + kind);
}
template <class U, int kExp, int kMant>
void classify(u32*, const u32* a, const u32* b, const u32*, LaneContext& x) {
  alignas(64) u32 out[64];
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) out[l] = class_bit<U, kExp, kMant>(get<U>(a, l)) & b[l] ? ~0u : 0;
  x.mask_out = pack(out);
}

Handler compare_handler(CoreFn f, bool also_exec, NumType source) {
  Handler h = value(f, source);
  h.shape = also_exec ? Shape::kCompareX : Shape::kCompare;
  return h;
}

// The 16 or 8 conditions of a type follow each other in the enumeration, v_cmp before v_cmpx.
template <class T, int... C>
void add_conditions(Table& t, Op first, Op first_x, NumType source,
                    std::integer_sequence<int, C...>) {
  ((t.of[static_cast<size_t>(first) + C] = compare_handler(compare<C, T>, false, source)), ...);
  ((t.of[static_cast<size_t>(first_x) + C] = compare_handler(compare<C, T>, true, source)), ...);
}
template <class T>
void add_type(Table& t, Op first, Op first_x, NumType source) {
  constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, Half>;
  add_conditions<T>(t, first, first_x, source, std::make_integer_sequence < int,
                    is_float ? 16 : 8 > ());
}
void add_class(Table& t, Op op, Op op_x, CoreFn f, NumType source) {
  t[op] = compare_handler(f, false, source);
  t[op_x] = compare_handler(f, true, source);
}

}  // namespace

void add_compare(Table& t) {
  static_assert(static_cast<int>(Op::v_cmp_tru_f32) - static_cast<int>(Op::v_cmp_f_f32) == 15);
  add_type<Half>(t, Op::v_cmp_f_f16, Op::v_cmpx_f_f16, NumType::kF16);
  add_type<float>(t, Op::v_cmp_f_f32, Op::v_cmpx_f_f32, NumType::kF32);
  add_type<double>(t, Op::v_cmp_f_f64, Op::v_cmpx_f_f64, NumType::kF64);
  add_type<i16>(t, Op::v_cmp_f_i16, Op::v_cmpx_f_i16, NumType::kInt);
  add_type<u16>(t, Op::v_cmp_f_u16, Op::v_cmpx_f_u16, NumType::kInt);
  add_type<i32>(t, Op::v_cmp_f_i32, Op::v_cmpx_f_i32, NumType::kInt);
  add_type<u32>(t, Op::v_cmp_f_u32, Op::v_cmpx_f_u32, NumType::kInt);
  add_type<i64>(t, Op::v_cmp_f_i64, Op::v_cmpx_f_i64, NumType::kInt);
  add_type<u64>(t, Op::v_cmp_f_u64, Op::v_cmpx_f_u64, NumType::kInt);
  add_class(t, Op::v_cmp_class_f16, Op::v_cmpx_class_f16, classify<u32, 5, 10>, NumType::kF16);
  add_class(t, Op::v_cmp_class_f32, Op::v_cmpx_class_f32, classify<u32, 8, 23>, NumType::kF32);
  add_class(t, Op::v_cmp_class_f64, Op::v_cmpx_class_f64, classify<u64, 11, 52>, NumType::kF64);
}

}  // namespace gfx906::GFX906_LANES_NS

// Conversions. Float to integer saturates; NaN gives 0.
#include "exec/lanes/float_math.hpp"
#include "exec/lanes/half_math.hpp"
#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {
namespace {

template <class F>
Handler from_f32(F) {
  return value(lanes1<F, u32, float>, NumType::kF32);
}
template <class F>
Handler to_f32(F) {
  return value(lanes1<F, float, u32>, NumType::kInt, NumType::kF32);
}

LANE_INLINE i32 to_i32(float a) {
  const float c = a < -2147483648.0f ? -2147483648.0f : a > 2147483520.0f ? 2147483520.0f : a;
  const i32 r = static_cast<i32>(a != a ? 0.0f : c);
  return a >= 2147483648.0f ? 0x7fffffff : r;
}
LANE_INLINE u32 to_u32(float a) {
  const float c = a > 0 ? (a < 4294967040.0f ? a : 4294967040.0f) : 0.0f;  // also NaN to 0
  // By halves, since the host's signed conversion is the fast one.
  const bool big = c >= 2147483648.0f;
  const u32 r =
      static_cast<u32>(static_cast<i32>(big ? c - 2147483648.0f : c)) + (big ? 0x80000000u : 0u);
  return a >= 4294967296.0f ? ~0u : r;
}
LANE_INLINE i32 to_i32(double a) {
  const double c = a < -2147483648.0 ? -2147483648.0 : a > 2147483647.0 ? 2147483647.0 : a;
  return static_cast<i32>(a != a ? 0.0 : c);
}
LANE_INLINE u32 to_u32(double a) {
  const double c = a > 0 ? (a < 4294967295.0 ? a : 4294967295.0) : 0.0;
  return static_cast<u32>(static_cast<i64>(c));
}

// f32 results of integers need MODE's rounding.
template <bool kSigned>
__attribute__((noinline)) void int_to_f32_loop(u32* d, const u32* a) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l)
    put(d, l, kSigned ? static_cast<float>(static_cast<i32>(a[l])) : static_cast<float>(a[l]));
}
template <bool kSigned>
void int_to_f32(u32* d, const u32* a, const u32*, const u32*, LaneContext& x) {
  if (x.fp_default) {
    LANES_IVDEP
    for (int l = 0; l < 64; ++l)
      put(d, l, kSigned ? static_cast<float>(static_cast<i32>(a[l])) : static_cast<float>(a[l]));
    return;
  }
  const Rounding rounding(x.mode & kRound32);
  int_to_f32_loop<kSigned>(d, a);
}

void f16_from_f32(u32* d, const u32* a, const u32*, const u32*, LaneContext& x) {
  if (x.fp_default) {
    LANES_IVDEP
    for (int l = 0; l < 64; ++l) d[l] = float_to_half(get<float>(a, l));
    return;
  }
  const HalfMode m{x.mode};
  for (int l = 0; l < 64; ++l) {
    const float v = get<float>(a, l);
    d[l] = m.out(static_cast<double>(x.mode & kDenormIn32 ? v : flush(v)), 0);
  }
}
void f32_from_f16(u32* d, const u32* a, const u32*, const u32*, LaneContext& x) {
  const HalfMode m{x.fp_default ? static_cast<u32>(kDenormIn16_64) : x.mode};
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const u32 h = m.in(a[l] & 0xffff);
    d[l] = std::bit_cast<u32>(half_to_float(h)) | (nan16(h) ? 0x400000u : 0u);
  }
}
__attribute__((noinline)) void f32_from_f64_loop(u32* d, const u32* a, bool in, bool out) {
  for (int l = 0; l < 64; ++l) {
    double v = get<double>(a, l);
    if (in) v = flush(v);
    const float r = static_cast<float>(v);
    put(d, l, out ? flush(r) : r);
  }
}
void f32_from_f64(u32* d, const u32* a, const u32*, const u32*, LaneContext& x) {
  const Rounding rounding(x.mode & kRound32);
  f32_from_f64_loop(d, a, !(x.mode & kDenormIn16_64), !(x.mode & kDenormOut32));
}
void f64_from_f32(u32* d, const u32* a, const u32*, const u32*, LaneContext& x) {
  for (int l = 0; l < 64; ++l) {
    const float v = get<float>(a, l);
    put(d, l, static_cast<double>(x.mode & kDenormIn32 ? v : flush(v)));
  }
}

template <bool kSigned>
void int_from_f16(u32* d, const u32* a, const u32*, const u32*, LaneContext&) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const float v = half_to_float(a[l] & 0xffff);
    const i32 r = to_i32(v), lo = kSigned ? -32768 : 0, hi = kSigned ? 32767 : 65535;
    d[l] = static_cast<u32>(r < lo ? lo : r > hi ? hi : r) & 0xffff;
  }
}
template <bool kSigned>
void f16_from_int(u32* d, const u32* a, const u32*, const u32*, LaneContext& x) {
  if (x.fp_default) {
    LANES_IVDEP
    for (int l = 0; l < 64; ++l)
      d[l] = float_to_half(kSigned ? static_cast<float>(static_cast<i16>(a[l]))
                                   : static_cast<float>(a[l] & 0xffff));
    return;
  }
  const HalfMode m{x.mode};
  for (int l = 0; l < 64; ++l)
    d[l] = m.out(
        kSigned ? static_cast<double>(static_cast<i16>(a[l])) : static_cast<double>(a[l] & 0xffff),
        0);
}

// Normalised 16-bit integers: round(v * 32767) or round(v * 65535), v clamped to [-1, 1] or [0, 1].
LANE_INLINE u32 norm16(float v, bool is_signed) {
  const float lo = is_signed ? -1.0f : 0.0f;
  const float c = v > lo ? (v < 1.0f ? v : 1.0f) : v == v ? lo : 0.0f;
  return static_cast<u32>(static_cast<i32>(
             round_even(static_cast<double>(c) * (is_signed ? 32767.0 : 65535.0)))) &
         0xffff;
}
template <bool kSigned>
void norm_from_f16(u32* d, const u32* a, const u32*, const u32*, LaneContext&) {
  for (int l = 0; l < 64; ++l) d[l] = norm16(half_to_float(a[l] & 0xffff), kSigned);
}
template <bool kSigned>
void pknorm_f32(u32* d, const u32* a, const u32* b, const u32*, LaneContext&) {
  for (int l = 0; l < 64; ++l)
    d[l] = norm16(get<float>(a, l), kSigned) | norm16(get<float>(b, l), kSigned) << 16;
}
template <bool kSigned>
void pknorm_f16(u32* d, const u32* a, const u32* b, const u32*, LaneContext&) {
  for (int l = 0; l < 64; ++l) {
    d[l] = norm16(half_to_float(a[l] & 0xffff), kSigned) |
           norm16(half_to_float(b[l] & 0xffff), kSigned) << 16;
  }
}

// Round toward zero whatever MODE says; overflow gives the largest number, denormals are kept as
// MODE says.
void pkrtz(u32* d, const u32* a, const u32* b, const u32*, LaneContext& x) {
  const HalfMode m{(x.mode & ~static_cast<u32>(kRound16_64)) | 3u << 2};
  for (int l = 0; l < 64; ++l) d[l] = m.out(get<float>(a, l), 0) | m.out(get<float>(b, l), 0) << 16;
}

// One byte of c replaced by a as an unsigned integer, rounded to nearest even and saturated.
void pk_u8(u32* d, const u32* a, const u32* b, const u32* c, LaneContext&) {
  LANES_IVDEP
  for (int l = 0; l < 64; ++l) {
    const float v = round_even(get<float>(a, l));
    const u32 n = static_cast<u32>(static_cast<i32>(v > 0 ? (v < 255 ? v : 255.0f) : 0.0f)),
              s = 8 * (b[l] & 3);
    d[l] = (c[l] & ~(255u << s)) | n << s;
  }
}
void pkaccum_u8(u32* d, const u32* a, const u32* b, const u32* c, LaneContext& x) {
  pk_u8(d, a, b, c, x);
}

}  // namespace

void add_convert(Table& t) {
  t[Op::v_cvt_i32_f32] = from_f32([](float a) { return static_cast<u32>(to_i32(a)); });
  t[Op::v_cvt_u32_f32] = from_f32([](float a) { return to_u32(a); });
  t[Op::v_cvt_rpi_i32_f32] = from_f32([](float a) {
    return static_cast<u32>(to_i32(__builtin_floor(static_cast<double>(a) + 0.5)));
  });
  t[Op::v_cvt_flr_i32_f32] =
      from_f32([](float a) { return static_cast<u32>(to_i32(__builtin_floorf(a))); });
  t[Op::v_cvt_f32_i32] = value(int_to_f32<true>, NumType::kInt, NumType::kF32);
  t[Op::v_cvt_f32_u32] = value(int_to_f32<false>, NumType::kInt, NumType::kF32);
  t[Op::v_cvt_f32_ubyte0] =
      to_f32([](u32 a) { return static_cast<float>(static_cast<i32>(a & 255)); });
  t[Op::v_cvt_f32_ubyte1] =
      to_f32([](u32 a) { return static_cast<float>(static_cast<i32>(a >> 8 & 255)); });
  t[Op::v_cvt_f32_ubyte2] =
      to_f32([](u32 a) { return static_cast<float>(static_cast<i32>(a >> 16 & 255)); });
  t[Op::v_cvt_f32_ubyte3] =
      to_f32([](u32 a) { return static_cast<float>(static_cast<i32>(a >> 24)); });
  // The low four bits, signed, as sixteenths.
  t[Op::v_cvt_off_f32_i4] =
      to_f32([](u32 a) { return static_cast<float>(static_cast<i32>(a << 28) >> 28) * 0.0625f; });
  t[Op::v_cvt_f16_f32] = value(f16_from_f32, NumType::kF32, NumType::kF16);
  t[Op::v_cvt_f32_f16] = value(f32_from_f16, NumType::kF16, NumType::kF32);
  t[Op::v_cvt_f32_f64] = value(f32_from_f64, NumType::kF64, NumType::kF32);
  t[Op::v_cvt_f64_f32] = value(f64_from_f32, NumType::kF32, NumType::kF64);
  t[Op::v_cvt_i32_f64] =
      value(lanes1<decltype([](double a) { return to_i32(a); }), i32, double>, NumType::kF64);
  t[Op::v_cvt_u32_f64] =
      value(lanes1<decltype([](double a) { return to_u32(a); }), u32, double>, NumType::kF64);
  t[Op::v_cvt_f64_i32] =
      value(lanes1<decltype([](i32 a) { return static_cast<double>(a); }), double, i32>,
            NumType::kInt, NumType::kF64);
  t[Op::v_cvt_f64_u32] =
      value(lanes1<decltype([](u32 a) { return static_cast<double>(a); }), double, u32>,
            NumType::kInt, NumType::kF64);
  t[Op::v_cvt_u16_f16] = value(int_from_f16<false>, NumType::kF16);
  t[Op::v_cvt_i16_f16] = value(int_from_f16<true>, NumType::kF16);
  t[Op::v_cvt_f16_u16] = value(f16_from_int<false>, NumType::kInt, NumType::kF16);
  t[Op::v_cvt_f16_i16] = value(f16_from_int<true>, NumType::kInt, NumType::kF16);
  t[Op::v_cvt_norm_i16_f16] = value(norm_from_f16<true>, NumType::kF16);
  t[Op::v_cvt_norm_u16_f16] = value(norm_from_f16<false>, NumType::kF16);
  t[Op::v_cvt_pknorm_i16_f32] = value(pknorm_f32<true>, NumType::kF32);
  t[Op::v_cvt_pknorm_u16_f32] = value(pknorm_f32<false>, NumType::kF32);
  t[Op::v_cvt_pknorm_i16_f16] = value(pknorm_f16<true>, NumType::kF16);
  t[Op::v_cvt_pknorm_u16_f16] = value(pknorm_f16<false>, NumType::kF16);
  t[Op::v_cvt_pkrtz_f16_f32] = value(pkrtz, NumType::kF32, NumType::kPacked);
  t[Op::v_cvt_pk_u8_f32] = value(pk_u8, NumType::kF32);
  t[Op::v_cvt_pkaccum_u8_f32] = value(pkaccum_u8, NumType::kF32);
  t[Op::v_cvt_pkaccum_u8_f32].accumulate = true;
}

}  // namespace gfx906::GFX906_LANES_NS

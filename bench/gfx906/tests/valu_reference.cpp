#include "valu_reference.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace gfx906_test {

float as_f32(uint64_t v) {
  return std::bit_cast<float>(static_cast<uint32_t>(v));
}
double as_f64(uint64_t v) {
  return std::bit_cast<double>(v);
}
double as_f16(uint64_t v) {
  const int e = static_cast<int>(v >> 10 & 31), m = static_cast<int>(v & 1023);
  const double s = v & 0x8000 ? -1.0 : 1.0;
  if (e == 31)
    return m ? std::numeric_limits<double>::quiet_NaN()
             : s * std::numeric_limits<double>::infinity();
  return s * (e ? std::ldexp(1024.0 + m, e - 25) : std::ldexp(static_cast<double>(m), -24));
}

// By searching for the two neighbours: slow and obvious.
uint16_t round_f16(__float128 v) {
  const bool negative = v < 0 || (v == 0 && std::signbit(static_cast<double>(v)));
  const __float128 x = negative ? -v : v;
  const uint16_t sign = negative ? 0x8000 : 0;
  if (x >= 65520) return sign | 0x7c00;
  uint16_t low = 0, high = 0x7c00;
  while (high - low > 1) {
    const auto mid = static_cast<uint16_t>((low + high) / 2);
    (static_cast<__float128>(as_f16(mid)) <= x ? low : high) = mid;
  }
  const __float128 down = x - static_cast<__float128>(as_f16(low));
  const __float128 up =
      (high == 0x7c00 ? static_cast<__float128>(65536) : static_cast<__float128>(as_f16(high))) - x;
  const bool take_high = up < down || (up == down && low % 2);
  return sign | (take_high ? high : low);
}

namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using i128 = __int128;
using f128 = __float128;

Want bits(u64 v) {
  return {v, false, 0};
}
u64 f32(float v) {
  return std::bit_cast<u32>(v);
}
u64 f64(double v) {
  return std::bit_cast<u64>(v);
}

// ---- NaN handling of each type ----
bool is_nan(u64 v, int size) {
  if (size == 2) return (v & 0x7fff) > 0x7c00;
  return size == 4 ? (v & 0x7fffffff) > 0x7f800000 : (v & ~(1ull << 63)) > 0x7ff0000000000000ull;
}
u64 quiet(u64 v, int size) {
  return v | (size == 2 ? 0x200ull : size == 4 ? 0x400000ull : 1ull << 51);
}
bool signalling(u64 v, int size) {
  return is_nan(v, size) && quiet(v, size) != v;
}
u64 default_nan(int size) {
  return size == 2 ? 0x7e00 : size == 4 ? 0x7fc00000 : 0x7ff8000000000000ull;
}
u64 narrow(u64 v, int size) {
  return size == 2 ? v & 0xffff : size == 4 ? v & 0xffffffff : v;
}

// The value of an operation of n operands; F sees f128 values and its result is rounded once.
template <class F>
Reference arithmetic(int size, int n, F f, double tolerance = 0) {
  return [=](const Lane& l) -> Want {
    const u64 s[3] = {narrow(l.a, size), narrow(l.b, size), narrow(l.c, size)};
    f128 x[3] = {};
    for (int k = 0; k < n; ++k) {
      if (is_nan(s[k], size)) return bits(quiet(s[k], size));
      x[k] = size == 2 ? as_f16(s[k]) : size == 4 ? as_f32(s[k]) : as_f64(s[k]);
    }
    const f128 r = f(x[0], x[1], x[2]);
    if (r != r) return bits(default_nan(size));
    Want w;
    w.value = size == 2   ? round_f16(r)
              : size == 4 ? f32(static_cast<float>(r))
                          : f64(static_cast<double>(r));
    w.tolerance = tolerance;
    return w;
  };
}

u64 pick(u64 a, u64 b, int size, bool max, bool ieee) {
  a = narrow(a, size), b = narrow(b, size);
  if (ieee && signalling(a, size)) return quiet(a, size);
  if (ieee && signalling(b, size)) return quiet(b, size);
  if (is_nan(a, size)) return b;
  if (is_nan(b, size)) return a;
  const double x = size == 2   ? as_f16(a)
                   : size == 4 ? as_f32(a)
                               : as_f64(a),
               y = size == 2   ? as_f16(b)
                   : size == 4 ? as_f32(b)
                               : as_f64(b);
  if (x == 0 && y == 0) return max ? a & b : a | b;
  return (max ? x > y : x < y) ? a : b;
}
u64 median(u64 a, u64 b, u64 c, int size, bool ieee) {
  if (is_nan(narrow(a, size), size) || is_nan(narrow(b, size), size) ||
      is_nan(narrow(c, size), size)) {
    return pick(pick(a, b, size, false, ieee), c, size, false, ieee);
  }
  const auto real = [&](u64 v) {
    return size == 2 ? as_f16(narrow(v, size)) : static_cast<double>(as_f32(v));
  };
  const u64 top = pick(pick(a, b, size, true, ieee), c, size, true, ieee);
  if (real(top) == real(a)) return pick(b, c, size, true, ieee);
  if (real(top) == real(b)) return pick(a, c, size, true, ieee);
  return pick(a, b, size, true, ieee);
}

constexpr i64 kMinI32 = -2147483648ll, kMaxI32 = 2147483647ll, kMaxU32 = 4294967295ll;
using Table = std::map<std::string, Reference>;

// The same shapes for the three float types.
void add_floats(Table& t, int size) {
  const std::string suffix = size == 2 ? "_f16" : size == 4 ? "_f32" : "_f64";
  const auto put = [&](const std::string& name, Reference r) {
    t["v_" + name + suffix] = std::move(r);
  };
  put("add", arithmetic(size, 2, [](f128 a, f128 b, f128) { return a + b; }));
  put("mul", arithmetic(size, 2, [](f128 a, f128 b, f128) { return a * b; }));
  // 113 bits hold the exact f16 sum; the wider ones can span more, so the C library's fma is the
  // reference there.
  if (size == 2) {
    put("fma", arithmetic(size, 3, [](f128 a, f128 b, f128 c) { return a * b + c; }));
  } else {
    put("fma", [size](const Lane& l) -> Want {
      for (const u64 v : {l.a, l.b, l.c}) {
        if (is_nan(narrow(v, size), size)) return bits(quiet(narrow(v, size), size));
      }
      const double r = size == 4 ? std::fmaf(as_f32(l.a), as_f32(l.b), as_f32(l.c))
                                 : std::fma(as_f64(l.a), as_f64(l.b), as_f64(l.c));
      return bits(r != r ? default_nan(size) : size == 4 ? f32(static_cast<float>(r)) : f64(r));
    });
  }
  put("rcp", arithmetic(
                 size, 1, [](f128 a, f128, f128) { return 1 / a; }, 1.2e-7));
  for (const bool max : {false, true}) {
    put(max ? "max" : "min",
        [=](const Lane& l) { return bits(pick(l.a, l.b, size, max, l.ieee)); });
    if (size == 8) continue;
    put(max ? "max3" : "min3", [=](const Lane& l) {
      return bits(pick(pick(l.a, l.b, size, max, l.ieee), l.c, size, max, l.ieee));
    });
  }
  const auto unary = [&](const char* name, double (*f)(double)) {
    put(name, arithmetic(size, 1, [f](f128 a, f128, f128) {
          return static_cast<f128>(f(static_cast<double>(a)));
        }));
  };
  unary("floor", std::floor);
  unary("ceil", std::ceil);
  unary("trunc", std::trunc);
  unary("rndne", [](double v) { return std::nearbyint(v); });
  put("fract", arithmetic(size, 1, [size](f128 a, f128, f128) {
        const f128 r = a - static_cast<f128>(std::floor(static_cast<double>(a)));
        const f128 top = 1 - static_cast<f128>(std::ldexp(1.0, size == 2   ? -11
                                                               : size == 4 ? -24
                                                                           : -53));
        return r > top ? top : r;
      }));
  put("frexp_mant", [=](const Lane& l) -> Want {
    const u64 v = narrow(l.a, size);
    const double x = size == 2 ? as_f16(v) : size == 4 ? as_f32(v) : as_f64(v);
    if (is_nan(v, size)) return bits(quiet(v, size));
    if (std::isinf(x)) return bits(v);
    int e;
    const double m = std::frexp(x, &e);
    return bits(size == 2 ? round_f16(m) : size == 4 ? f32(static_cast<float>(m)) : f64(m));
  });
  const auto exponent = [=](const Lane& l) -> Want {
    const u64 v = narrow(l.a, size);
    const double x = size == 2 ? as_f16(v) : size == 4 ? as_f32(v) : as_f64(v);
    int e = 0;
    if (std::isfinite(x)) std::frexp(x, &e);
    return bits(size == 2 ? static_cast<u16>(e) : static_cast<u32>(e));
  };
  t[size == 2   ? "v_frexp_exp_i16_f16"
    : size == 4 ? "v_frexp_exp_i32_f32"
                : "v_frexp_exp_i32_f64"] = exponent;
  put("ldexp", [=](const Lane& l) -> Want {
    const u64 v = narrow(l.a, size);
    if (is_nan(v, size)) return bits(quiet(v, size));
    const int e = size == 2 ? static_cast<int>(static_cast<i16>(l.b)) : static_cast<i32>(l.b);
    if (size == 2)
      return bits(
          round_f16(static_cast<f128>(std::ldexp(as_f16(v), std::max(-200, std::min(200, e))))));
    if (size == 4) return bits(f32(std::ldexp(as_f32(v), std::max(-2000, std::min(2000, e)))));
    return bits(f64(std::ldexp(as_f64(v), std::max(-9000, std::min(9000, e)))));
  });
}

double sign_of(u64 v, int size) {
  return v >> (8 * size - 1) & 1 ? -1.0 : 1.0;
}

void add_float_only(Table& t) {
  for (const int size : {2, 4}) {
    const std::string suffix = size == 2 ? "_f16" : "_f32";
    t["v_sub" + suffix] = arithmetic(size, 2, [](f128 a, f128 b, f128) { return a - b; });
    t["v_subrev" + suffix] = arithmetic(size, 2, [](f128 a, f128 b, f128) { return b - a; });
    t["v_med3" + suffix] = [=](const Lane& l) { return bits(median(l.a, l.b, l.c, size, l.ieee)); };
    const double tol = size == 2 ? 1.1e-3 : 1.3e-7;
    const auto near = [&](const char* name, double (*f)(double)) {
      t["v_" + std::string(name) + suffix] = arithmetic(
          size, 1, [f](f128 a, f128, f128) { return static_cast<f128>(f(static_cast<double>(a))); },
          tol);
    };
    near("sqrt", [](double v) { return std::sqrt(v); });
    near("rsq", [](double v) { return 1 / std::sqrt(v); });
    near("exp", [](double v) { return std::exp2(v); });
    near("log", [](double v) { return std::log2(v); });
    near("sin", [](double v) {
      return std::isinf(v)        ? NAN
             : std::fabs(v) > 256 ? 0.0
                                  : std::sin(2 * M_PI * (v - std::nearbyint(v)));
    });
    near("cos", [](double v) {
      return std::isinf(v)        ? NAN
             : std::fabs(v) > 256 ? 1.0
                                  : std::cos(2 * M_PI * (v - std::nearbyint(v)));
    });
  }
  t["v_rcp_iflag_f32"] = t["v_rcp_f32"];
  t["v_exp_legacy_f32"] = t["v_exp_f32"];
  t["v_log_legacy_f32"] = t["v_log_f32"];
  t["v_fma_legacy_f16"] = t["v_fma_f16"];
  t["v_sqrt_f64"] = arithmetic(
      8, 1, [](f128 a, f128, f128) { return static_cast<f128>(std::sqrt(static_cast<double>(a))); },
      1e-12);
  t["v_rsq_f64"] = arithmetic(
      8, 1,
      [](f128 a, f128, f128) { return 1 / static_cast<f128>(std::sqrt(static_cast<double>(a))); },
      1e-12);
  t["v_rcp_f16"] = arithmetic(
      2, 1, [](f128 a, f128, f128) { return 1 / a; }, 1.1e-3);
  t["v_fmac_f32"] = [&, fma = t["v_fma_f32"]](const Lane& l) {
    Lane m = l;
    m.c = l.old;
    return fma(m);
  };
  t["v_mul_legacy_f32"] = [mul = t["v_mul_f32"]](const Lane& l) {
    return as_f32(l.a) == 0 || as_f32(l.b) == 0 ? bits(0) : mul(l);
  };
  // mad: flushes denormals, rounds twice.
  const auto flush32 = [](u64 v) { return (v & 0x7f800000) ? v & 0xffffffff : v & 0x80000000; };
  const auto flush16 = [](u64 v) { return (v & 0x7c00) ? v & 0xffff : v & 0x8000; };
  const auto mad32 = [flush32, add = t["v_add_f32"], mul = t["v_mul_f32"]](const Lane& l) -> Want {
    Lane m = l;
    m.a = flush32(l.a), m.b = flush32(l.b);
    Lane s;
    s.a = flush32(mul(m).value);
    s.b = flush32(l.c);
    return bits(flush32(add(s).value));
  };
  t["v_mad_f32"] = t["v_madmk_f32"] = t["v_madak_f32"] = mad32;
  t["v_mac_f32"] = [mad32](const Lane& l) {
    Lane m = l;
    m.c = l.old;
    return mad32(m);
  };
  t["v_mad_legacy_f32"] = [mad32, flush32](const Lane& l) {
    if (as_f32(flush32(l.a)) != 0 && as_f32(flush32(l.b)) != 0) return mad32(l);
    const u64 c = flush32(l.c);
    return bits(is_nan(c, 4) ? quiet(c, 4) : c);
  };
  const auto mad16 = [flush16, add = t["v_add_f16"], mul = t["v_mul_f16"]](const Lane& l) -> Want {
    Lane m = l;
    m.a = flush16(l.a), m.b = flush16(l.b);
    Lane s;
    s.a = flush16(mul(m).value);
    s.b = flush16(l.c);
    return bits(flush16(add(s).value));
  };
  t["v_mad_f16"] = t["v_mad_legacy_f16"] = t["v_madmk_f16"] = t["v_madak_f16"] = mad16;
  t["v_mac_f16"] = [mad16](const Lane& l) {
    Lane m = l;
    m.c = l.old;
    return mad16(m);
  };
}

void add_division(Table& t) {
  const auto fixup = [](int size) {
    return [size](const Lane& l) -> Want {
      const u64 den = narrow(l.b, size), num = narrow(l.c, size), q = narrow(l.a, size);
      const auto real = [&](u64 v) {
        return size == 2 ? as_f16(v) : size == 4 ? as_f32(v) : as_f64(v);
      };
      const bool negative = sign_of(den, size) * sign_of(num, size) < 0;
      const u64 top = 1ull << (8 * size - 1), s = negative ? top : 0,
                inf = size == 2   ? 0x7c00
                      : size == 4 ? 0x7f800000
                                  : 0x7ff0000000000000ull;
      if (is_nan(num, size)) return bits(quiet(num, size));
      if (is_nan(den, size)) return bits(quiet(den, size));
      const double d = real(den), n = real(num);
      if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n)))
        return bits(default_nan(size) | top);
      if (d == 0 || std::isinf(n)) return bits(s | inf);
      if (std::isinf(d) || n == 0) return bits(s);
      const int shift = size == 4 ? 23 : 52, mask = size == 4 ? 255 : 2047;
      if (size != 2) {
        const int gap = static_cast<int>(num >> shift & static_cast<u64>(mask)) -
                        static_cast<int>(den >> shift & static_cast<u64>(mask));
        if (gap < (size == 4 ? -150 : -1075)) return bits(s);
      }
      return bits(is_nan(q, size) ? s | inf : s | (q & (top - 1)));
    };
  };
  t["v_div_fixup_f16"] = t["v_div_fixup_legacy_f16"] = fixup(2);
  t["v_div_fixup_f32"] = fixup(4);
  t["v_div_fixup_f64"] = fixup(8);
  // With VCC the sum is scaled by 2^64 or 2^-64 (2^128), by the size of the quotient estimate, and
  // rounded once.
  for (const int size : {4, 8}) {
    t[size == 4 ? "v_div_fmas_f32" : "v_div_fmas_f64"] =
        [size, fma = t[size == 4 ? "v_fma_f32" : "v_fma_f64"]](const Lane& l) -> Want {
      const Want w = fma(l);
      if (!l.in || is_nan(w.value, size)) return w;
      const auto real = [&](u64 v) -> f128 {
        return size == 4 ? static_cast<f128>(as_f32(v)) : static_cast<f128>(as_f64(v));
      };
      const f128 c = real(l.c), power = (c < 0 ? -c : c) >= 2 ? 1 : -1;
      f128 r = real(l.a) * real(l.b) + c;
      for (int k = 0; k < (size == 4 ? 64 : 128); ++k) r = power > 0 ? r * 2 : r / 2;
      Want out = bits(size == 4 ? f32(static_cast<float>(r)) : f64(static_cast<double>(r)));
      out.tolerance =
          size == 4 ? 6e-8 : 1.2e-16;  // 113 bits do not hold every sum: a last bit may differ
      return out;
    };
  }
}

void add_conversions(Table& t) {
  const auto to_int = [](double v, i64 lo, i64 hi) {
    return v != v                         ? 0
           : v <= static_cast<double>(lo) ? lo
           : v >= static_cast<double>(hi) ? hi
                                          : static_cast<i64>(v);
  };
  t["v_cvt_i32_f32"] = [=](const Lane& l) {
    return bits(static_cast<u32>(to_int(as_f32(l.a), kMinI32, kMaxI32)));
  };
  t["v_cvt_u32_f32"] = [=](const Lane& l) {
    return bits(static_cast<u32>(to_int(as_f32(l.a), 0, kMaxU32)));
  };
  t["v_cvt_i32_f64"] = [=](const Lane& l) {
    return bits(static_cast<u32>(to_int(as_f64(l.a), kMinI32, kMaxI32)));
  };
  t["v_cvt_u32_f64"] = [=](const Lane& l) {
    return bits(static_cast<u32>(to_int(as_f64(l.a), 0, kMaxU32)));
  };
  t["v_cvt_i16_f16"] = [=](const Lane& l) {
    return bits(static_cast<u16>(to_int(as_f16(l.a), -32768, 32767)));
  };
  t["v_cvt_u16_f16"] = [=](const Lane& l) {
    return bits(static_cast<u16>(to_int(as_f16(l.a), 0, 65535)));
  };
  t["v_cvt_rpi_i32_f32"] = [=](const Lane& l) {
    return bits(static_cast<u32>(
        to_int(std::floor(static_cast<double>(as_f32(l.a)) + 0.5), kMinI32, kMaxI32)));
  };
  t["v_cvt_flr_i32_f32"] = [=](const Lane& l) {
    return bits(
        static_cast<u32>(to_int(std::floor(static_cast<double>(as_f32(l.a))), kMinI32, kMaxI32)));
  };
  t["v_cvt_f32_i32"] = [](const Lane& l) {
    return bits(f32(static_cast<float>(static_cast<double>(static_cast<i32>(l.a)))));
  };
  t["v_cvt_f32_u32"] = [](const Lane& l) {
    return bits(f32(static_cast<float>(static_cast<double>(static_cast<u32>(l.a)))));
  };
  t["v_cvt_f64_i32"] = [](const Lane& l) { return bits(f64(static_cast<i32>(l.a))); };
  t["v_cvt_f64_u32"] = [](const Lane& l) { return bits(f64(static_cast<u32>(l.a))); };
  t["v_cvt_f16_i16"] = [](const Lane& l) { return bits(round_f16(static_cast<i16>(l.a))); };
  t["v_cvt_f16_u16"] = [](const Lane& l) { return bits(round_f16(static_cast<u16>(l.a))); };
  for (int k = 0; k < 4; ++k) {
    t["v_cvt_f32_ubyte" + std::to_string(k)] = [k](const Lane& l) {
      return bits(f32(static_cast<float>(l.a >> (8 * k) & 255)));
    };
  }
  t["v_cvt_off_f32_i4"] = [](const Lane& l) {
    return bits(f32((static_cast<float>(l.a & 15) - (l.a & 8 ? 16 : 0)) / 16));
  };
  t["v_cvt_f16_f32"] = [](const Lane& l) -> Want {
    const float v = as_f32(l.a);
    if (v != v) return bits((l.a >> 16 & 0x8000) | 0x7e00 | (l.a >> 13 & 0x3ff));
    return bits(round_f16(v));
  };
  t["v_cvt_f32_f16"] = [](const Lane& l) -> Want {
    if (is_nan(l.a & 0xffff, 2))
      return bits((l.a & 0x8000) << 16 | 0x7fc00000 | (l.a & 0x3ff) << 13);
    return bits(f32(static_cast<float>(as_f16(l.a))));
  };
  t["v_cvt_f32_f64"] = [](const Lane& l) {
    return is_nan(l.a, 8) ? bits((l.a >> 32 & 0x80000000) | 0x7fc00000 | (l.a >> 29 & 0x3fffff))
                          : bits(f32(static_cast<float>(as_f64(l.a))));
  };
  t["v_cvt_f64_f32"] = [](const Lane& l) {
    return is_nan(l.a & 0xffffffff, 4)
               ? bits((l.a & 0x80000000) << 32 | 0x7ff8000000000000ull | (l.a & 0x3fffff) << 29)
               : bits(f64(as_f32(l.a)));
  };
  const auto norm = [](double v, bool is_signed) -> u32 {
    if (v != v) return 0;
    const double c = std::max(is_signed ? -1.0 : 0.0, std::min(1.0, v));
    return static_cast<u16>(static_cast<i32>(std::nearbyint(c * (is_signed ? 32767 : 65535))));
  };
  for (const bool s : {true, false}) {
    const std::string kind = s ? "i16" : "u16";
    t["v_cvt_norm_" + kind + "_f16"] = [=](const Lane& l) { return bits(norm(as_f16(l.a), s)); };
    t["v_cvt_pknorm_" + kind + "_f16"] = [=](const Lane& l) {
      return bits(norm(as_f16(l.a), s) | norm(as_f16(l.b), s) << 16);
    };
    t["v_cvt_pknorm_" + kind + "_f32"] = [=](const Lane& l) {
      return bits(norm(as_f32(l.a), s) | norm(as_f32(l.b), s) << 16);
    };
  }
  const auto rtz = [](u64 raw) -> u32 {
    const float v = as_f32(raw);
    if (v != v) return static_cast<u32>((raw >> 16 & 0x8000) | 0x7e00 | (raw >> 13 & 0x3ff));
    const u32 s = raw >> 16 & 0x8000;
    const double x = std::fabs(v);
    if (std::isinf(x)) return s | 0x7c00;
    if (x >= 65504) return s | 0x7bff;
    u16 low = 0, high = 0x7c00;
    while (high - low > 1) {
      const auto mid = static_cast<u16>((low + high) / 2);
      (as_f16(mid) <= x ? low : high) = mid;
    }
    return s | low;
  };
  t["v_cvt_pkrtz_f16_f32"] = [=](const Lane& l) { return bits(rtz(l.a) | rtz(l.b) << 16); };
  t["v_cvt_pk_u8_f32"] = [](const Lane& l) {
    const double v = as_f32(l.a);
    const u32 n = v != v ? 0 : static_cast<u32>(std::max(0.0, std::min(255.0, std::nearbyint(v)))),
              s = 8 * (l.b % 4);
    return bits((static_cast<u32>(l.c) & ~(255u << s)) | n << s);
  };
}

void add_compares(Table& t) {
  static constexpr const char* kFloat[] = {"f", "lt",  "eq",  "le",  "gt",  "lg",  "ge",  "o",
                                           "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"};
  static constexpr const char* kInt[] = {"f", "lt", "eq", "le", "gt", "ne", "ge", "t"};
  // The code's bits: 1 less, 2 equal, 4 greater; from 8 on inverted, true for NaN.
  for (const char* x : {"v_cmp_", "v_cmpx_"}) {
    for (const int size : {2, 4, 8}) {
      const char* type = size == 2 ? "16" : size == 4 ? "32" : "64";
      for (int c = 0; c < 16; ++c) {
        t[x + std::string(kFloat[c]) + "_f" + type] = [=](const Lane& l) -> Want {
          const auto real = [&](u64 v) {
            return size == 2 ? as_f16(v & 0xffff) : size == 4 ? as_f32(v) : as_f64(v);
          };
          const double a = real(l.a), b = real(l.b);
          const int relation = a < b ? 1 : a == b ? 2 : a > b ? 4 : 0;
          const int base = c < 8 ? c : 15 - c;
          return {0, c < 8 ? (relation & base) != 0 : (relation & base) == 0, 0};
        };
      }
      for (int c = 0; c < 8; ++c) {
        for (const bool s : {true, false}) {
          t[x + std::string(kInt[c]) + (s ? "_i" : "_u") + type] = [=](const Lane& l) -> Want {
            const auto value = [&](u64 v) -> i128 {
              if (size == 2)
                return s ? static_cast<i128>(static_cast<i16>(v))
                         : static_cast<i128>(static_cast<u16>(v));
              if (size == 4)
                return s ? static_cast<i128>(static_cast<i32>(v))
                         : static_cast<i128>(static_cast<u32>(v));
              return s ? static_cast<i128>(static_cast<i64>(v)) : static_cast<i128>(v);
            };
            const i128 a = value(l.a), b = value(l.b);
            const int relation = a < b ? 1 : a == b ? 2 : 4;
            return {0, (relation & c) != 0, 0};
          };
        }
      }
      t[x + std::string("class_f") + type] = [=](const Lane& l) -> Want {
        const u64 v = narrow(l.a, size);
        const double d = size == 2 ? as_f16(v) : size == 4 ? as_f32(v) : as_f64(v);
        const double smallest = size == 2 ? 0x1p-14 : size == 4 ? 0x1p-126 : 0x1p-1022;
        const bool neg = sign_of(v, size) < 0;
        int bit;
        if (is_nan(v, size))
          bit = signalling(v, size) ? 0 : 1;
        else if (std::isinf(d))
          bit = neg ? 2 : 9;
        else if (d == 0)
          bit = neg ? 5 : 6;
        else if (std::fabs(d) < smallest)
          bit = neg ? 4 : 7;
        else
          bit = neg ? 3 : 8;
        return {0, (l.b >> bit & 1) != 0, 0};
      };
    }
  }
}

Table make() {
  Table t;
  for (const int size : {2, 4, 8}) add_floats(t, size);
  add_float_only(t);
  add_division(t);
  add_integer_references(t);
  add_conversions(t);
  add_compares(t);
  return t;
}

}  // namespace

const std::map<std::string, Reference>& references() {
  static const Table table = make();
  return table;
}

}  // namespace gfx906_test

// Operand and result modifiers: SDWA, DPP, op_sel, neg/abs, omod, clamp, MODE's rounding and
// denormals; lane moves; mixed-precision and f16 dot products.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <bit>
#include <cfenv>
#include <cmath>

#include "lane_machine.hpp"
#include "valu_reference.hpp"

using namespace gfx906;
using gfx906_test::LaneMachine;
using gfx906_test::Values;

namespace {

uint32_t code(Format f, Op op) {
  for (uint32_t n = 0; n < 1024; ++n) {
    const OpInfo* o = find_opcode(f, n);
    if (o && o->op == op) return n;
  }
  FAIL("no opcode");
  return 0;
}
uint32_t vop1(Op op, uint32_t d, uint32_t src0) {
  return 0x7e000000u | d << 17 | code(Format::VOP1, op) << 9 | src0;
}
uint32_t vop2(Op op, uint32_t d, uint32_t src0, uint32_t v1) {
  return code(Format::VOP2, op) << 25 | d << 17 | v1 << 9 | src0;
}
struct Vop3 {
  uint32_t abs = 0, op_sel = 0, clamp = 0, omod = 0, neg = 0;
};
std::array<uint32_t, 2> vop3(Op op, uint32_t d, uint32_t a, uint32_t b, uint32_t c, Vop3 m) {
  return {
      0xd0000000u | code(Format::VOP3, op) << 16 | m.clamp << 15 | m.op_sel << 11 | m.abs << 8 | d,
      a | b << 9 | c << 18 | m.omod << 27 | m.neg << 29};
}
struct Packed {
  uint32_t op_sel = 0, op_sel_hi = 7, neg_lo = 0, neg_hi = 0, clamp = 0;
};
std::array<uint32_t, 2> vop3p(Op op, uint32_t d, uint32_t a, uint32_t b, uint32_t c, Packed m) {
  return {0xd3800000u | code(Format::VOP3P, op) << 16 | m.clamp << 15 | (m.op_sel_hi >> 2) << 14 |
              m.op_sel << 11 | m.neg_hi << 8 | d,
          a | b << 9 | c << 18 | (m.op_sel_hi & 3) << 27 | m.neg_lo << 29};
}
constexpr uint32_t v(uint32_t n) {
  return 256 + n;
}
float f(uint32_t u) {
  return std::bit_cast<float>(u);
}
uint32_t u(float x) {
  return std::bit_cast<uint32_t>(x);
}
void fill(LaneMachine& m, Values& values, std::initializer_list<uint32_t> regs) {
  for (const uint32_t r : regs) {
    for (int l = 0; l < 64; ++l) m.v(r)[l] = values.u32();
  }
}

uint32_t select(uint32_t x, uint32_t sel, bool sign) {
  if (sel < 4) {
    const uint32_t b = x >> (8 * sel) & 255;
    return sign ? static_cast<uint32_t>(static_cast<int8_t>(b)) : b;
  }
  if (sel < 6) {
    const uint32_t h = x >> (16 * (sel - 4)) & 65535;
    return sign ? static_cast<uint32_t>(static_cast<int16_t>(h)) : h;
  }
  return x;
}
uint32_t deposit(uint32_t r, uint32_t old, uint32_t sel, uint32_t unused) {
  if (sel == 6) return r;
  const uint32_t width = sel < 4 ? 8 : 16, shift = sel < 4 ? 8 * sel : 16 * (sel - 4);
  uint32_t out = 0;
  for (uint32_t k = 0; k < 32; ++k) {
    uint32_t bit;
    if (k >= shift && k < shift + width)
      bit = r >> (k - shift) & 1;
    else if (unused == 2)
      bit = old >> k & 1;
    else if (unused == 1 && k >= shift + width)
      bit = r >> (width - 1) & 1;
    else
      bit = 0;
    out |= bit << k;
  }
  return out;
}

}  // namespace

TEST_CASE("SDWA: every select of sources and destination") {
  Values values(1);
  LaneMachine m;
  for (uint32_t dst = 0; dst < 7; ++dst) {
    for (uint32_t unused = 0; unused < 3; ++unused) {
      for (uint32_t s0 = 0; s0 < 7; ++s0) {
        for (uint32_t s1 = 0; s1 < 7; ++s1) {
          const uint32_t sext = static_cast<uint32_t>(values.any()) & 3;
          fill(m, values, {10, 20, 30});
          std::vector<uint32_t> old(m.v(10), m.v(10) + 64);
          const uint64_t exec = values.any();
          m.set_exec(exec);
          const uint32_t sdwa = 20 | dst << 8 | unused << 11 | s0 << 16 | (sext & 1) << 19 |
                                s1 << 24 | (sext >> 1) << 27;
          REQUIRE(m.run({vop2(Op::v_add_u32, 10, 249, 30), sdwa}));
          for (int l = 0; l < 64; ++l) {
            const uint32_t sum =
                select(m.v(20)[l], s0, sext & 1) + select(m.v(30)[l], s1, sext >> 1);
            REQUIRE(m.v(10)[l] == (exec >> l & 1
                                       ? deposit(sum, old[static_cast<size_t>(l)], dst, unused)
                                       : old[static_cast<size_t>(l)]));
          }
        }
      }
    }
  }
}

TEST_CASE("SDWA: float modifiers, scalar sources, compares") {
  Values values(2);
  LaneMachine m;
  fill(m, values, {20, 30});
  // v_mul_f32_sdwa v10, -|v20|, v30
  REQUIRE(m.run(
      {vop2(Op::v_mul_f32, 10, 249, 30), 20 | 6 << 8 | 6 << 16 | 1u << 20 | 1u << 21 | 6u << 24}));
  for (int l = 0; l < 64; ++l) {
    const float want = -std::fabs(f(m.v(20)[l])) * f(m.v(30)[l]);
    if (want == want)
      REQUIRE(m.v(10)[l] == u(want));
    else
      REQUIRE(std::isnan(f(m.v(10)[l])));
  }
  m.wave().sgpr[7] = 0x01020304;
  REQUIRE(m.run({vop2(Op::v_and_b32, 10, 249, 30),
                 7 | 6 << 8 | 2 << 16 | 1u << 23 | 6u << 24}));  // src0 = byte 2 of s7
  for (int l = 0; l < 64; ++l) REQUIRE(m.v(10)[l] == (2 & m.v(30)[l]));
  m.set_exec(0x00ff00ff00ff00ffull);
  // v_cmp_eq_u32_sdwa s[40:41], v20 byte 0, v30 byte 0
  REQUIRE(m.run({0x7c000000u | code(Format::VOPC, Op::v_cmp_eq_u32) << 17 | 30 << 9 | 249,
                 20 | 40 << 8 | 1u << 15 | 0 << 16 | 0u << 24}));
  for (int l = 0; l < 64; ++l) {
    const bool on = 0x00ff00ff00ff00ffull >> l & 1;
    REQUIRE((m.wave().read64(40) >> l & 1) == (on && (m.v(20)[l] & 255) == (m.v(30)[l] & 255)));
  }
}

namespace {
// The source lane of a DPP control, or -1.
int dpp_source(uint32_t c, int l) {
  const int row = l / 16 * 16, k = l % 16, n = static_cast<int>(c & 15);
  if (c <= 0xff) return l / 4 * 4 + static_cast<int>(c >> (2 * (l % 4)) & 3);
  if (c >= 0x101 && c <= 0x10f) return k + n > 15 ? -1 : l + n;
  if (c >= 0x111 && c <= 0x11f) return k < n ? -1 : l - n;
  if (c >= 0x121 && c <= 0x12f) return row + (k + 16 - n) % 16;
  if (c == 0x130) return l == 63 ? -1 : l + 1;
  if (c == 0x134) return (l + 1) % 64;
  if (c == 0x138) return l - 1;
  if (c == 0x13c) return (l + 63) % 64;
  if (c == 0x140) return row + 15 - k;
  if (c == 0x141) return l / 8 * 8 + 7 - l % 8;
  if (c == 0x142) return l < 16 ? -1 : row - 1;
  if (c == 0x143) return l < 32 ? -1 : 31;
  return -2;
}
}  // namespace

TEST_CASE("DPP: every control, masks, bound control, disabled lanes") {
  Values values(3);
  LaneMachine m;
  int controls = 0;
  for (uint32_t c = 0; c < 0x200; ++c) {
    if (dpp_source(c, 40) == -2) {
      REQUIRE_FALSE(m.run({vop1(Op::v_mov_b32, 10, 250), 20 | c << 8 | 0xff000000u}));
      continue;
    }
    if (c < 0x100 && c % 5) continue;
    ++controls;
    for (int round = 0; round < 4; ++round) {
      fill(m, values, {10, 20, 30});
      const std::vector<uint32_t> old(m.v(10), m.v(10) + 64);
      const uint64_t exec = round & 1 ? values.any() : ~0ull;
      const uint32_t rows = round & 2 ? static_cast<uint32_t>(values.any() & 15) : 15,
                     banks = round & 2 ? static_cast<uint32_t>(values.any() & 15) : 15;
      const bool bound = values.any() & 1;
      m.set_exec(exec);
      REQUIRE(m.run({vop2(Op::v_add_u32, 10, 250, 30),
                     20 | c << 8 | (bound ? 1u << 19 : 0) | banks << 24 | rows << 28}));
      for (int l = 0; l < 64; ++l) {
        const int s = dpp_source(c, l);
        const bool valid = s >= 0 && exec >> s & 1;
        const bool write =
            exec >> l & 1 && rows >> (l / 16) & 1 && banks >> (l % 16 / 4) & 1 && (valid || bound);
        const uint32_t moved = valid ? m.v(20)[s] : 0;
        CAPTURE(c);
        REQUIRE(m.v(10)[l] == (write ? moved + m.v(30)[l] : old[static_cast<size_t>(l)]));
      }
    }
  }
  CHECK(controls > 90);
}

TEST_CASE("VOP3: neg, abs, omod, clamp") {
  Values values(4);
  LaneMachine m;
  for (int round = 0; round < 200; ++round) {
    fill(m, values, {20, 30, 40});
    Vop3 mod{static_cast<uint32_t>(values.any() & 7), 0, static_cast<uint32_t>(values.any() & 1),
             static_cast<uint32_t>(values.any() & 3), static_cast<uint32_t>(values.any() & 7)};
    const bool ieee = values.any() & 1, flush = values.any() & 1, dx10 = values.any() & 1;
    m.wave().mode = 0xc0 | (flush ? 0u : 0x30u) | (ieee ? 1u << 9 : 0u) | (dx10 ? 1u << 8 : 0u);
    const auto w = vop3(Op::v_fma_f32, 10, v(20), v(30), v(40), mod);
    REQUIRE(m.run({w[0], w[1]}));
    for (int l = 0; l < 64; ++l) {
      float s[3] = {f(m.v(20)[l]), f(m.v(30)[l]), f(m.v(40)[l])};
      for (int k = 0; k < 3; ++k) {
        if (mod.abs >> k & 1) s[k] = std::fabs(s[k]);
        if (mod.neg >> k & 1) s[k] = -s[k];
        if (flush && std::fabs(s[k]) < 0x1p-126f) s[k] = std::copysign(0.0f, s[k]);
      }
      float r = std::fmaf(s[0], s[1], s[2]);
      const auto flushed = [&](float x) {
        return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
      };
      if (flush) r = flushed(r);
      if (mod.omod && !ieee && flush)
        r = flushed(r * (mod.omod == 1 ? 2.0f : mod.omod == 2 ? 4.0f : 0.5f));
      if (mod.clamp)
        r = r != r ? (dx10 ? 0.0f : r) : r < 0 ? 0.0f : r > 1 ? 1.0f : r == 0 ? 0.0f : r;
      if (r != r)
        REQUIRE(std::isnan(f(m.v(10)[l])));
      else
        REQUIRE(m.v(10)[l] == u(r));
    }
  }
}

TEST_CASE("MODE: rounding of f32, f64 and f16") {
  Values values(5);
  LaneMachine m;
  constexpr int kHost[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (uint32_t mode = 0; mode < 4; ++mode) {
    for (int round = 0; round < 20; ++round) {
      fill(m, values, {20, 30});
      for (int l = 0; l < 64; ++l) m.set64(50, l, values.u64()), m.set64(60, l, values.u64());
      m.wave().mode = 0x3f0 | mode | mode << 2;
      REQUIRE(m.run({vop2(Op::v_add_f32, 10, v(20), 30)}));
      REQUIRE(m.run({vop2(Op::v_mul_f16, 11, v(20), 30)}));
      const auto w = vop3(Op::v_mul_f64, 12, v(50), v(60), 0, {});
      REQUIRE(m.run({w[0], w[1]}));
      for (int l = 0; l < 64; ++l) {
        std::fesetround(kHost[mode]);
        volatile float a = f(m.v(20)[l]), b = f(m.v(30)[l]), s = a + b;
        volatile double p = std::bit_cast<double>(m.v64(50, l)),
                        q = std::bit_cast<double>(m.v64(60, l)), t = p * q;
        std::fesetround(FE_TONEAREST);
        if (s == s) REQUIRE(m.v(10)[l] == u(s));
        if (t == t) REQUIRE(m.v64(12, l) == std::bit_cast<uint64_t>(static_cast<double>(t)));
        const double exact =
            gfx906_test::as_f16(m.v(20)[l] & 0xffff) * gfx906_test::as_f16(m.v(30)[l] & 0xffff);
        const double got = gfx906_test::as_f16(m.v(11)[l] & 0xffff);
        if (!(std::fabs(exact) < 65504)) continue;
        INFO("exact " << exact << " got " << got << " mode " << mode);
        if (mode == 1) REQUIRE(got >= exact);
        if (mode == 2) REQUIRE(got <= exact);
        if (mode == 3) REQUIRE(std::fabs(got) <= std::fabs(exact));
        const double ulp =
            std::max(0x1p-24, std::ldexp(1.0, std::ilogb(exact == 0 ? 0x1p-24 : exact) - 10));
        if (std::isfinite(got)) REQUIRE(std::fabs(got - exact) < ulp);
      }
    }
  }
}

TEST_CASE("op_sel: halves of sources and destination; the other half stays") {
  Values values(6);
  LaneMachine m;
  for (uint32_t sel = 0; sel < 16; ++sel) {
    fill(m, values, {10, 20, 30, 40});
    const std::vector<uint32_t> old(m.v(10), m.v(10) + 64);
    const auto w = vop3(Op::v_mad_u16, 10, v(20), v(30), v(40), {.op_sel = sel});
    REQUIRE(m.run({w[0], w[1]}));
    for (int l = 0; l < 64; ++l) {
      const auto half = [&](uint32_t r, uint32_t k) {
        return m.v(r)[l] >> (sel >> k & 1 ? 16 : 0) & 0xffff;
      };
      const uint32_t r = (half(20, 0) * half(30, 1) + half(40, 2)) & 0xffff,
                     o = old[static_cast<size_t>(l)];
      REQUIRE(m.v(10)[l] == (sel & 8 ? (o & 0xffff) | r << 16 : (o & 0xffff0000) | r));
    }
  }
}

TEST_CASE("packed f16: half selects, signs, clamp") {
  Values values(7);
  LaneMachine m;
  for (int round = 0; round < 300; ++round) {
    fill(m, values, {20, 30, 40});
    const auto r3 = [&] { return static_cast<uint32_t>(values.any() & 7); };
    const Packed p{r3(), r3(), r3(), r3(), static_cast<uint32_t>(values.any() & 1)};
    const auto w = vop3p(Op::v_pk_fma_f16, 10, v(20), v(30), v(40), p);
    REQUIRE(m.run({w[0], w[1]}));
    for (int l = 0; l < 64; ++l) {
      for (int half = 0; half < 2; ++half) {
        double s[3];
        const uint32_t regs[3] = {20, 30, 40}, sel = half ? p.op_sel_hi : p.op_sel,
                       neg = half ? p.neg_hi : p.neg_lo;
        for (uint32_t k = 0; k < 3; ++k) {
          s[k] = gfx906_test::as_f16(m.v(regs[k])[l] >> (sel >> k & 1 ? 16 : 0) & 0xffff);
          if (neg >> k & 1) s[k] = -s[k];
        }
        const __float128 exact = static_cast<__float128>(s[0]) * s[1] + s[2];
        const uint32_t got = m.v(10)[l] >> (16 * half) & 0xffff;
        if (exact != exact) {
          REQUIRE((p.clamp ? got == 0 : std::isnan(gfx906_test::as_f16(got))));
          continue;
        }
        uint16_t want = gfx906_test::round_f16(exact);
        if (p.clamp)
          want = gfx906_test::as_f16(want) < 0 || want == 0x8000 ? 0
                 : gfx906_test::as_f16(want) > 1                 ? 0x3c00
                                                                 : want;
        // The sign of an exact zero follows IEEE's sum; the wide type agrees unless both addends
        // are zero.
        if ((want & 0x7fff) == 0)
          REQUIRE((got & 0x7fff) == 0);
        else
          REQUIRE(got == want);
      }
    }
  }
}

TEST_CASE("v_fma_mix: f32 and f16 operands, low and high results") {
  Values values(8);
  LaneMachine m;
  for (int round = 0; round < 300; ++round) {
    fill(m, values, {10, 20, 30, 40});
    const std::vector<uint32_t> old(m.v(10), m.v(10) + 64);
    const auto r3 = [&] { return static_cast<uint32_t>(values.any() & 7); };
    const Packed p{r3(), r3(), r3(), r3(), 0};  // neg_hi stands for abs
    const int kind = round % 3;
    const auto w = vop3p(kind == 0   ? Op::v_fma_mix_f32
                         : kind == 1 ? Op::v_fma_mixlo_f16
                                     : Op::v_fma_mixhi_f16,
                         10, v(20), v(30), v(40), p);
    REQUIRE(m.run({w[0], w[1]}));
    for (int l = 0; l < 64; ++l) {
      float s[3];
      const uint32_t regs[3] = {20, 30, 40};
      for (uint32_t k = 0; k < 3; ++k) {
        const uint32_t raw = m.v(regs[k])[l];
        s[k] = p.op_sel_hi >> k & 1 ? static_cast<float>(gfx906_test::as_f16(
                                          raw >> (p.op_sel >> k & 1 ? 16 : 0) & 0xffff))
                                    : f(raw);
        if (p.neg_hi >> k & 1) s[k] = std::fabs(s[k]);
        if (p.neg_lo >> k & 1) s[k] = -s[k];
      }
      const float r = std::fmaf(s[0], s[1], s[2]);
      const uint32_t got = m.v(10)[l], o = old[static_cast<size_t>(l)];
      if (kind == 0) {
        if (r == r)
          REQUIRE(got == u(r));
        else
          REQUIRE(std::isnan(f(got)));
        continue;
      }
      REQUIRE((kind == 1 ? got >> 16 : got & 0xffff) == (kind == 1 ? o >> 16 : o & 0xffff));
      const uint32_t half = kind == 1 ? got & 0xffff : got >> 16;
      if (r == r)
        REQUIRE(half == gfx906_test::round_f16(r));
      else
        REQUIRE(std::isnan(gfx906_test::as_f16(half)));
    }
  }
}

TEST_CASE("v_dot2_f32_f16 on numbers whose sum is exact") {
  LaneMachine m;
  for (int l = 0; l < 64; ++l) {
    m.v(20)[l] = gfx906_test::round_f16(l - 20) |
                 static_cast<uint32_t>(gfx906_test::round_f16(0.5 * l)) << 16;
    m.v(30)[l] = gfx906_test::round_f16(3) | static_cast<uint32_t>(gfx906_test::round_f16(-7))
                                                 << 16;
    m.v(40)[l] = u(1000.25f);
  }
  const auto w = vop3p(Op::v_dot2_f32_f16, 10, v(20), v(30), v(40), {});
  REQUIRE(m.run({w[0], w[1]}));
  for (int l = 0; l < 64; ++l)
    REQUIRE(f(m.v(10)[l]) == static_cast<float>((l - 20) * 3 - 3.5 * l + 1000.25));
}

TEST_CASE("v_div_scale and friends divide correctly rounded") {
  Values values(9);
  LaneMachine m;
  for (int round = 0; round < 100; ++round) {
    fill(m, values, {20, 21});      // numerator, denominator
    for (int l = 0; l < 64; ++l) {  // the sequence is made for f32 denormals kept within
      m.v(20)[l] = (m.v(20)[l] & 0x807fffff) | static_cast<uint32_t>(1 + values.any() % 253) << 23;
      m.v(21)[l] = (m.v(21)[l] & 0x807fffff) | static_cast<uint32_t>(1 + values.any() % 253) << 23;
    }
    const auto step = [&](std::array<uint32_t, 2> w) { REQUIRE(m.run({w[0], w[1]})); };
    const auto scale = [&](uint32_t d, uint32_t s0, uint32_t sdst) {
      step({0xd0000000u | code(Format::VOP3, Op::v_div_scale_f32) << 16 | sdst << 8 | d,
            v(s0) | v(21) << 9 | v(20) << 18});
    };
    scale(1, 21, 40);
    scale(2, 20, kVcc);
    REQUIRE(m.run({vop1(Op::v_rcp_f32, 3, v(1))}));
    step(vop3(Op::v_fma_f32, 4, v(1), v(3), 242, {.neg = 1}));  // 1 - d * r
    step(vop3(Op::v_fma_f32, 3, v(4), v(3), v(3), {}));
    step(vop3(Op::v_mul_f32, 5, v(2), v(3), 0, {}));
    step(vop3(Op::v_fma_f32, 6, v(1), v(5), v(2), {.neg = 1}));
    step(vop3(Op::v_fma_f32, 5, v(6), v(3), v(5), {}));
    step(vop3(Op::v_fma_f32, 6, v(1), v(5), v(2), {.neg = 1}));
    step(vop3(Op::v_div_fmas_f32, 6, v(6), v(3), v(5), {}));
    step(vop3(Op::v_div_fixup_f32, 7, v(6), v(21), v(20), {}));
    for (int l = 0; l < 64; ++l) {
      const float want = f(m.v(20)[l]) / f(m.v(21)[l]);
      INFO(f(m.v(20)[l]) << " / " << f(m.v(21)[l]));
      REQUIRE(f(m.v(7)[l]) == want);
    }
  }
}

TEST_CASE("moves between lanes and scalars") {
  Values values(10);
  LaneMachine m;
  fill(m, values, {20, 21});
  m.set_exec(0xf0);
  REQUIRE(m.run({vop1(Op::v_readfirstlane_b32, 33, v(20))}));
  CHECK(m.wave().sgpr[33] == m.v(20)[4]);
  m.set_exec(0);
  REQUIRE(m.run({vop1(Op::v_readfirstlane_b32, 33, v(20))}));
  CHECK(m.wave().sgpr[33] == m.v(20)[0]);
  m.wave().sgpr[5] = 64 + 17;
  auto w = vop3(Op::v_readlane_b32, 34, v(20), 5, 0, {});
  REQUIRE(m.run({w[0], w[1]}));
  CHECK(m.wave().sgpr[34] == m.v(20)[17]);
  w = vop3(Op::v_writelane_b32, 21, 34, 128 + 3, 0, {});
  REQUIRE(m.run({w[0], w[1]}));
  CHECK(m.v(21)[3] == m.v(20)[17]);
  m.set_exec(~0ull);
  const std::vector<uint32_t> a(m.v(20), m.v(20) + 64), b(m.v(21), m.v(21) + 64);
  REQUIRE(m.run({vop1(Op::v_swap_b32, 20, v(21))}));
  CHECK(std::equal(a.begin(), a.end(), m.v(21)));
  CHECK(std::equal(b.begin(), b.end(), m.v(20)));
  // The lane's number by v_mbcnt.
  w = vop3(Op::v_mbcnt_lo_u32_b32, 10, 193, 128, 0, {});
  REQUIRE(m.run({w[0], w[1]}));
  w = vop3(Op::v_mbcnt_hi_u32_b32, 10, 193, v(10), 0, {});
  REQUIRE(m.run({w[0], w[1]}));
  for (int l = 0; l < 64; ++l) REQUIRE(m.v(10)[l] == static_cast<uint32_t>(l));
}

TEST_CASE("constants: inline numbers in each operand type, literals") {
  LaneMachine m;
  for (int l = 0; l < 64; ++l) m.v(20)[l] = 0, m.set64(22, l, 0);
  REQUIRE(m.run({vop2(Op::v_add_f32, 10, 248, 20)}));
  CHECK(m.v(10)[5] == 0x3e22f983);
  REQUIRE(m.run({vop2(Op::v_add_f16, 10, 242, 20)}));
  CHECK(m.v(10)[5] == 0x3c00);
  auto w = vop3(Op::v_add_f64, 10, 244, v(22), 0, {});
  REQUIRE(m.run({w[0], w[1]}));
  CHECK(m.v64(10, 7) == std::bit_cast<uint64_t>(2.0));
  REQUIRE(m.run({vop2(Op::v_add_u32, 10, 208, 20)}));
  CHECK(m.v(10)[5] == static_cast<uint32_t>(-16));
  REQUIRE(m.run({vop2(Op::v_add_u32, 10, 255, 20), 0xdeadbeef}));
  CHECK(m.v(10)[5] == 0xdeadbeef);
  w = vop3(Op::v_lshlrev_b64, 10, 130, 193, 0, {});
  REQUIRE(m.run({w[0], w[1]}));
  CHECK(m.v64(10, 9) == ~3ull);
  for (int l = 0; l < 64; ++l) m.v(20)[l] = u(3.0f), m.v(30)[l] = u(5.0f);
  REQUIRE(m.run({vop2(Op::v_madmk_f32, 10, v(20), 30), u(2.0f)}));
  CHECK(f(m.v(10)[3]) == 11.0f);
  REQUIRE(m.run({vop2(Op::v_madak_f32, 10, v(20), 30), u(2.0f)}));
  CHECK(f(m.v(10)[3]) == 17.0f);
}

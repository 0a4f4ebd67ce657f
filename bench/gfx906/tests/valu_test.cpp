// Every VALU opcode of the encodings VOP1, VOP2, VOPC, VOP3 and VOP3P on random and edge operands,
// against valu_reference.cpp, under full and partial EXEC and with clamp where the result is an
// integer.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <set>
#include <string>

#include "lane_machine.hpp"
#include "valu_reference.hpp"

using namespace gfx906;
using gfx906_test::Lane;
using gfx906_test::LaneMachine;
using gfx906_test::Values;
using gfx906_test::Want;

namespace {

constexpr uint32_t kDst = 10, kA = 20, kB = 30, kC = 40, kMaskIn = 44, kSdst = 50;

// Results that are no plain function of the lane's operands; they have cases of their own here or
// elsewhere.
const std::set<std::string> kElsewhere = {"v_nop",
                                          "v_clrexcp",
                                          "v_readfirstlane_b32",
                                          "v_readlane_b32",
                                          "v_writelane_b32",
                                          "v_swap_b32",
                                          "v_mbcnt_lo_u32_b32",
                                          "v_mbcnt_hi_u32_b32",
                                          "v_screen_partition_4se_b32",
                                          "v_fma_mix_f32",
                                          "v_fma_mixlo_f16",
                                          "v_fma_mixhi_f16",
                                          "v_dot2_f32_f16",
                                          "v_div_scale_f32",
                                          "v_div_scale_f64",
                                          "v_trig_preop_f64",
                                          "v_cubeid_f32",
                                          "v_cubesc_f32",
                                          "v_cubetc_f32",
                                          "v_cubema_f32",
                                          "v_mqsad_u32_u8",
                                          "v_cvt_pkaccum_u8_f32"};

std::vector<uint32_t> encode(const OpInfo& o, bool clamp) {
  const uint32_t n = o.opcode;
  switch (o.format) {
    case Format::VOP1:
      return {0x7e000000u | kDst << 17 | n << 9 | (256 + kA)};
    case Format::VOP2: {
      std::vector<uint32_t> w{n << 25 | kDst << 17 | kB << 9 | (256 + kA)};
      return w;
    }
    case Format::VOPC:
      return {0x7c000000u | n << 17 | kB << 9 | (256 + kA)};
    case Format::VOP3: {
      const bool carry = o.flags & kCarryOut, compare = n < 256;
      const uint32_t w0 = 0xd0000000u | n << 16 | (clamp ? 0x8000u : 0u) |
                          (carry ? kSdst << 8 : 0u) | (compare ? kSdst : kDst);
      const uint32_t c = o.flags & kVccIn ? kMaskIn : o.src[2] ? 256 + kC : 0;
      return {w0, (o.src[0] ? 256 + kA : 0) | (o.src[1] ? (256 + kB) << 9 : 0) | c << 18};
    }
    default:
      return {0xd3800000u | n << 16 | kDst | 1u << 14 | (clamp ? 0x8000u : 0u),
              (256 + kA) | (256 + kB) << 9 | (o.src[2] ? (256 + kC) << 18 : 0) | 3u << 27};
  }
}

bool close(uint64_t got, uint64_t want, double tolerance, int size) {
  if (got == want) return true;
  if (tolerance == 0) return false;
  const auto real = [&](uint64_t v) {
    return size == 2   ? gfx906_test::as_f16(v)
           : size == 8 ? gfx906_test::as_f64(v)
                       : static_cast<double>(gfx906_test::as_f32(v));
  };
  const double g = real(got), w = real(want);
  if (std::isnan(g) || std::isnan(w)) return std::isnan(g) && std::isnan(w);
  if (std::isinf(w) || std::isinf(g)) return false;
  // Denormal results of the 32-bit approximations are zero; near zero sine and cosine are absolute.
  const double tiny = size == 2 ? 0x1p-24 : size == 4 ? 0x1.1p-126 : 0;
  return std::fabs(g - w) <= tolerance * std::fabs(w) + std::max(tiny, tolerance * 1e-9);
}

uint64_t operand(LaneMachine& m, uint32_t reg, int width, int lane) {
  return width == 2 ? m.v64(reg, lane) : m.v(reg)[lane];
}

// The approximations flush denormal inputs of f32.
bool skip_lane(const std::string& name, const Lane& l) {
  static const std::set<std::string> kFlush = {
      "v_rcp_f32", "v_rcp_iflag_f32",  "v_rsq_f32",        "v_sqrt_f32", "v_exp_f32",
      "v_log_f32", "v_exp_legacy_f32", "v_log_legacy_f32", "v_sin_f32",  "v_cos_f32"};
  return kFlush.contains(name) && (l.a & 0x7f800000) == 0 && (l.a & 0x7fffff) != 0;
}

void check_opcode(const OpInfo& o, const gfx906_test::Reference& f, Values& values, bool clamp,
                  bool partial) {
  LaneMachine m;
  const std::string name(mnemonic(o.op));
  const uint64_t exec = partial ? values.any() : ~0ull, mask_in = values.any();
  for (int l = 0; l < 64; ++l) {
    for (const auto& [reg, width] : {std::pair<uint32_t, int>(kDst, o.flags & kDstSgpr ? 0 : o.dst),
                                     {kA, o.src[0]},
                                     {kB, o.src[1]},
                                     {kC, o.src[2]}}) {
      if (width == 2)
        m.set64(reg, l, values.u64());
      else
        m.v(reg)[l] = values.u32();
    }
    // Shifts and exponents are mostly small numbers.
    if (values.any() % 2 && o.src[1] == 1)
      m.v(kB)[l] = values.any() % 4 == 0
                       ? m.v(kB)[l]
                       : static_cast<uint32_t>(static_cast<int32_t>(values.any() % 200) - 100);
    if (name.find("ldexp") == std::string::npos && values.any() % 2 && o.src[1] == 1)
      m.v(kB)[l] = values.u32();
  }
  std::vector<Lane> lanes(64);
  for (int l = 0; l < 64; ++l) {
    Lane& x = lanes[static_cast<size_t>(l)];
    x.a = operand(m, kA, o.src[0], l);
    x.b = operand(m, kB, o.src[1], l);
    x.c = operand(m, kC, o.src[2], l);
    x.old = operand(m, kDst, o.dst, l);
    x.in = mask_in >> l & 1;
    x.clamp = clamp;
    if (name == "v_div_fmas_f32" || name == "v_div_fmas_f64") x.in = mask_in >> l & 1;
  }
  m.wave().write64(kMaskIn, mask_in);
  m.wave().write64(kVcc, mask_in);
  m.set_exec(exec);
  const std::vector<uint32_t> w = encode(o, clamp);
  REQUIRE_MESSAGE((w.size() == 1 ? m.run({w[0]}) : m.run({w[0], w[1]})), o.text);
  const bool x_compare = name.starts_with("v_cmpx");
  const uint64_t out = m.wave().read64(o.format == Format::VOP3 ? kSdst : kVcc);
  if (x_compare) REQUIRE(m.wave().exec() == out);
  const int size = name.find("16") != std::string::npos && o.dst == 1 ? 2 : o.dst == 2 ? 8 : 4;
  // The gfx9 three-operand 16-bit forms keep the register's high half.
  static const std::set<std::string> kKeep = {
      "v_add_i16",  "v_sub_i16",  "v_mad_u16",  "v_mad_i16",      "v_min3_u16", "v_max3_u16",
      "v_med3_u16", "v_min3_i16", "v_max3_i16", "v_med3_i16",     "v_min3_f16", "v_max3_f16",
      "v_med3_f16", "v_fma_f16",  "v_mad_f16",  "v_div_fixup_f16"};
  const bool keep = kKeep.contains(name), has_value = o.dst && !(o.flags & kDstSgpr);
  const int compare_as = size == 2 && name.starts_with("v_cvt_f32") ? 4 : size;
  int wrong = 0;
  for (int l = 0; l < 64; ++l) {
    const Lane& x = lanes[static_cast<size_t>(l)];
    const bool on = exec >> l & 1;
    const Want want = f(x);
    const uint64_t got = has_value ? operand(m, kDst, o.dst, l) : 0;
    const uint64_t expect = !on ? x.old : want.value | (keep ? x.old & 0xffff0000 : 0);
    bool ok = !has_value || close(got, expect, on ? want.tolerance : 0, compare_as) ||
              (on && skip_lane(name, x));
    if (o.flags & (kDstSgpr | kCarryOut)) ok = ok && (out >> l & 1) == (on && want.out);
    if (ok) continue;
    ++wrong;
    MESSAGE(std::string(o.text) << " lane " << l << " clamp " << clamp << std::hex << " a " << x.a
                                << " b " << x.b << " c " << x.c << " old " << x.old << " in "
                                << x.in << " got " << got << " want " << expect << " mask "
                                << (out >> l & 1) << " want " << want.out);
  }
  REQUIRE(wrong == 0);
}

bool embedded_constant(Op op) {
  return op == Op::v_madmk_f32 || op == Op::v_madak_f32 || op == Op::v_madmk_f16 ||
         op == Op::v_madak_f16;
}

void check_format(Format format) {
  int checked = 0;
  std::set<std::string> missing;
  for (uint32_t n = 0; n < 1024; ++n) {
    const OpInfo* o = find_opcode(format, n);
    if (!o || embedded_constant(o->op)) continue;
    const std::string name(mnemonic(o->op));
    const auto f = gfx906_test::references().find(name);
    if (f == gfx906_test::references().end()) {
      if (!kElsewhere.contains(name)) missing.insert(name);
      continue;
    }
    ++checked;
    Values values(n * 7919 + static_cast<uint32_t>(format));
    const bool integer = name.ends_with("32") || name.ends_with("16") || name.ends_with("_i8") ||
                         name.ends_with("_u8") || name.ends_with("_i4") || name.ends_with("_u4");
    const bool has_clamp = (format == Format::VOP3 || format == Format::VOP3P) && o->dst == 1 &&
                           integer && name.find("_f") == std::string::npos;
    for (int round = 0; round < 24; ++round)
      check_opcode(*o, f->second, values, has_clamp && round % 2, round % 4 == 3);
  }
  std::string list;
  for (const std::string& s : missing) list += " " + s;
  CHECK_MESSAGE(missing.empty(), "no reference for:" << list);
  MESSAGE(checked << " opcodes checked");
}

}  // namespace

TEST_CASE("VOP1") {
  check_format(Format::VOP1);
}
TEST_CASE("VOP2") {
  check_format(Format::VOP2);
}
TEST_CASE("VOPC") {
  check_format(Format::VOPC);
}
TEST_CASE("VOP3") {
  check_format(Format::VOP3);
}
TEST_CASE("VOP3P") {
  check_format(Format::VOP3P);
}

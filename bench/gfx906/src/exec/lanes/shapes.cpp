// Runs a VALU lane loop: brings the sources into lanes, applies modifiers (neg, abs, op_sel, SDWA,
// DPP), calls the loop, applies omod and clamp, and writes the result under EXEC.
#include "exec/lanes/shapes.hpp"
#include "exec/lanes/float_math.hpp"
#include "exec/lanes/half_math.hpp"
#include "exec/lanes/half_wide.hpp"
#include "exec/lanes/lanes.hpp"
#include "exec/scalar_read.hpp"

namespace gfx906::GFX906_LANES_NS {

const u32* scalar_lanes(WaveView& w, const Inst& i, int s) {
  const u64 v = read_scalar64(w, i, s);
  u32* t = w.tmp[s];
  fill(t, static_cast<u32>(v));
  if (i.src[s].width == 2) fill(t + 64, static_cast<u32>(v >> 32));
  return t;
}

namespace {

constexpr u64 kAll = ~0ull;
constexpr u32 kFpDefault = kDenormIn32 | kDenormOut32 | kDenormIn16_64 | kDenormOut16_64;

LANE_INLINE LaneContext context(const WaveView& w, const Inst& i, u64 exec) {
  LaneContext x;
  x.mode = w.mode;
  x.exec = exec;
  x.inst = &i;
  x.fp_default = (w.mode & (0xff | kFp16Ovfl)) == kFpDefault;
  return x;
}

// ---- plain forms ----

template <int N, int W, bool kMask>
const Inst* plain(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u64 exec = w.exec();
  const u32* a = N > 0 ? lanes_of(w, i, 0) : nullptr;
  const u32* b = N > 1 ? lanes_of(w, i, 1) : nullptr;
  const u32* c = N > 2 ? lanes_of(w, i, 2) : nullptr;
  LaneContext x = context(w, i, exec);
  if (kMask) x.mask_in = i.src[3].kind == OperandKind::kSgpr ? w.read64(i.src[3].index) : w.vcc();
  u32* d = dst_lanes(w, i);
  const auto core = reinterpret_cast<CoreFn>(i.core);
  if (exec == kAll) {
    core(d, a, b, c, x);
  } else {
    core(w.result, a, b, c, x);
    for (int k = 0; k < W; ++k) merge(d + 64 * k, w.result + 64 * k, exec);
  }
  if (kMask && i.sdst.kind != OperandKind::kNone) w.write64(i.sdst.index, x.mask_out & exec);
  return p + 1;
}

// v_mac, v_fmac: the destination is the third source.
const Inst* plain_accumulate(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u64 exec = w.exec();
  const u32 *a = lanes_of(w, i, 0), *b = lanes_of(w, i, 1);
  LaneContext x = context(w, i, exec);
  u32* d = dst_lanes(w, i);
  const auto core = reinterpret_cast<CoreFn>(i.core);
  if (exec == kAll) {
    core(d, a, b, d, x);
  } else {
    core(w.result, a, b, d, x);
    merge(d, w.result, exec);
  }
  return p + 1;
}

template <bool kX>
const Inst* plain_compare(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const u64 exec = w.exec();
  LaneContext x = context(w, i, exec);
  const u32 *a = lanes_of(w, i, 0), *b = lanes_of(w, i, 1);
  reinterpret_cast<CoreFn>(i.core)(nullptr, a, b, nullptr, x);
  w.write64(i.sdst.index, x.mask_out & exec);
  if (kX) w.write64(kExec, x.mask_out & exec);
  return p + 1;
}

// ---- modifiers on sources ----

struct DppTable {
  int8_t from[0x144][64];
  DppTable() {
    for (int c = 0; c < 0x144; ++c) {
      for (int l = 0; l < 64; ++l) from[c][l] = static_cast<int8_t>(source(c, l));
    }
  }
  static int source(int c, int l) {
    const int row = l & ~15, in = l & 15, n = c & 15;
    if (c < 0x100) return (l & ~3) | (c >> (2 * (l & 3)) & 3);
    if (c < 0x110) return in + n < 16 ? l + n : -1;
    if (c < 0x120) return in - n >= 0 ? l - n : -1;
    if (c < 0x130) return row | ((in - n) & 15);
    switch (c) {
      case 0x130:
        return l < 63 ? l + 1 : -1;
      case 0x134:
        return (l + 1) & 63;
      case 0x138:
        return l > 0 ? l - 1 : -1;
      case 0x13c:
        return (l - 1) & 63;
      case 0x140:
        return row | (15 - in);
      case 0x141:
        return (l & ~7) | (7 - (l & 7));
      case 0x142:
        return row ? row - 1 : -1;
      case 0x143:
        return l >= 32 ? 31 : -1;
      default:
        return -1;
    }
  }
};
const DppTable kDpp;

// Lanes that row_mask and bank_mask let write.
u64 dpp_enabled(const Inst& i) {
  u64 m = 0;
  for (int row = 0; row < 4; ++row) {
    for (int bank = 0; bank < 4; ++bank) {
      if (i.row_mask >> row & 1 && i.bank_mask >> bank & 1) m |= 15ull << (16 * row + 4 * bank);
    }
  }
  return m;
}

// Moves lanes; returns those that have a source. A source lane that EXEC turns off does not exist.
u64 dpp_move(u32* t, const u32* src, const Inst& i, u64 exec) {
  const int8_t* from = kDpp.from[i.dpp_ctrl];
  u64 valid = 0;
  alignas(64) u32 out[64];
  for (int l = 0; l < 64; ++l) {
    const int s = from[l];
    const bool ok = s >= 0 && exec >> s & 1;
    out[l] = ok ? src[s] : 0;
    valid |= static_cast<u64>(ok) << l;
  }
  for (int l = 0; l < 64; ++l) t[l] = out[l];
  return valid;
}

void sdwa_select(u32* t, const u32* src, u32 sel, bool sign) {
  const u32 shift = sel < 4   ? 8 * sel
                    : sel < 6 ? 16 * (sel - 4)
                              : 0,
            width = sel < 4   ? 8
                    : sel < 6 ? 16
                              : 32;
  for (int l = 0; l < 64; ++l) {
    const u32 v = src[l] >> shift << (32 - width);
    t[l] = sign ? static_cast<u32>(static_cast<i32>(v) >> (32 - width)) : v >> (32 - width);
  }
}

// The sign bits that neg and abs act on.
void sign_modify(u32* t, const u32* src, NumType type, bool neg, bool abs) {
  const u32 bit = type == NumType::kF16 ? 0x8000u : 0x80000000u;
  const int row = type == NumType::kF64 ? 64 : 0;
  if (row) {
    for (int l = 0; l < 64; ++l) t[l] = src[l];
  }
  for (int l = 0; l < 64; ++l) {
    u32 v = src[row + l];
    if (abs) v &= ~bit;
    if (neg) v ^= bit;
    t[row + l] = v;
  }
}

const u32* packed_source(WaveView& w, const Inst& i, int s, const u32* src) {
  const bool lo = i.op_sel >> s & 1, hi = i.op_sel_hi >> s & 1, nl = i.neg >> s & 1,
             nh = i.neg_hi >> s & 1;
  if (s == 2 && i.op >= Op::v_dot2_f32_f16) {  // the 32-bit accumulator of a dot product
    if (i.op != Op::v_dot2_f32_f16 || (!nl && !nh)) return src;
    sign_modify(w.tmp[s], src, NumType::kF32, nl, nh);
    return w.tmp[s];
  }
  if (!lo && hi && !nl && !nh) return src;
  const u32 flip = (nl ? 0x8000u : 0u) | (nh ? 0x80000000u : 0u);
  for (int l = 0; l < 64; ++l) {
    const u32 v = src[l];
    w.tmp[s][l] = ((lo ? v >> 16 : v & 0xffff) | (hi ? v & 0xffff0000u : v << 16)) ^ flip;
  }
  return w.tmp[s];
}

const u32* mix_source(WaveView& w, const Inst& i, int s, const u32* src) {
  const bool half = i.op_sel_hi >> s & 1, high = i.op_sel >> s & 1, neg = i.neg >> s & 1,
             abs = i.abs >> s & 1;
  if (!half && !neg && !abs) return src;
  const bool flush_half = !(w.mode & kDenormIn16_64);
  const u32 clear = abs ? 0x7fffffffu : ~0u, flip = neg ? 0x80000000u : 0u;
  u32* t = w.tmp[s];
  if (!half) {
    for (int l = 0; l < 64; ++l) t[l] = (src[l] & clear) ^ flip;
    return t;
  }
  const u32 shift = high ? 16 : 0;
  if (flush_half) {
    for (int l = 0; l < 64; ++l)
      t[l] = std::bit_cast<u32>(half_to_float(flush16(src[l] >> shift & 0xffff)));
  } else {
    widen_halves(t, src, shift);
  }
  if (neg || abs) {
    for (int l = 0; l < 64; ++l) t[l] = (t[l] & clear) ^ flip;
  }
  return t;
}

bool is_ldexp(Op op) {
  return op == Op::v_ldexp_f16 || op == Op::v_ldexp_f32 || op == Op::v_ldexp_f64;
}

// Source s with all its modifiers; `valid` loses the lanes that a DPP move leaves without one.
const u32* prepared(WaveView& w, const Inst& i, const Handler& h, int s, u64 exec, u64& valid) {
  const u32* src = lanes_of(w, i, s);
  u32* t = w.tmp[s];
  if (h.source == NumType::kMix) return mix_source(w, i, s, src);
  if (i.format == Format::VOP3P)
    return h.source == NumType::kPacked ? packed_source(w, i, s, src) : src;
  if (i.ext == Extension::kDpp && s == 0) {
    valid &= dpp_move(t, src, i, exec);
    src = t;
  } else if (i.ext == Extension::kSdwa && s < 2 && (i.sel[s] != 6 || i.sext >> s & 1)) {
    sdwa_select(t, src, i.sel[s], i.sext >> s & 1);
    src = t;
  } else if (i.format == Format::VOP3 && i.op_sel >> s & 1) {
    for (int l = 0; l < 64; ++l) t[l] = src[l] >> 16;
    src = t;
  }
  const bool neg = i.neg >> s & 1, abs = i.abs >> s & 1;
  if ((neg || abs) && h.source != NumType::kInt && !(s == 1 && is_ldexp(i.op))) {
    sign_modify(t, src, h.source, neg, abs);
    src = t;
  }
  return src;
}

// ---- modifiers on results ----

template <class T>
LANE_INLINE T finish(T v, u32 omod, bool clamp, bool nan_to_zero) {
  constexpr float kScale[] = {1.0f, 2.0f, 4.0f, 0.5f};
  if (omod) v = flush(v * static_cast<T>(kScale[omod]));
  if (clamp) {
    if (v != v) return nan_to_zero ? T(0) : v;
    v = v > T(0) ? (v < T(1) ? v : T(1)) : T(0);
  }
  return v;
}

// omod has no effect under the IEEE bit or where the result's denormals are kept.
void finish_result(u32* r, const Handler& h, const Inst& i, u32 mode) {
  const bool narrow = h.result == NumType::kF32;
  const bool can_omod = !(mode & kIeee) && !(mode & (narrow ? kDenormOut32 : kDenormOut16_64));
  const u32 omod = can_omod ? i.omod : 0;
  const bool nan_to_zero = mode & kDx10Clamp;
  if (!omod && !i.clamp) return;
  switch (h.result) {
    case NumType::kF32:
      for (int l = 0; l < 64; ++l) put(r, l, finish(get<float>(r, l), omod, i.clamp, nan_to_zero));
      break;
    case NumType::kF64:
      for (int l = 0; l < 64; ++l) put(r, l, finish(get<double>(r, l), omod, i.clamp, nan_to_zero));
      break;
    case NumType::kF16:
      for (int l = 0; l < 64; ++l)
        r[l] = float_to_half(finish(half_to_float(r[l] & 0xffff), omod, i.clamp, nan_to_zero));
      break;
    case NumType::kPacked:
      for (int l = 0; l < 64; ++l) {
        r[l] = float_to_half(finish(half_to_float(r[l] & 0xffff), 0, i.clamp, nan_to_zero)) |
               float_to_half(finish(half_to_float(r[l] >> 16), 0, i.clamp, nan_to_zero)) << 16;
      }
      break;
    default:
      break;
  }
}

// Puts a partial result into place within the old contents of the register.
void place_half(u32* r, const u32* old, bool high) {
  for (int l = 0; l < 64; ++l)
    r[l] = high ? (old[l] & 0xffff) | r[l] << 16 : (old[l] & 0xffff0000u) | (r[l] & 0xffff);
}
void place_sdwa(u32* r, const u32* old, const Inst& i) {
  const u32 sel = i.dst_sel;
  if (sel == 6) return;
  const u32 shift = sel < 4 ? 8 * sel : 16 * (sel - 4), width = sel < 4 ? 8 : 16;
  const u32 field = ((1u << width) - 1) << shift;
  for (int l = 0; l < 64; ++l) {
    u32 v = r[l] << shift & field;
    if (i.dst_unused == 2) {
      v |= old[l] & ~field;
    } else if (i.dst_unused == 1 && v >> (shift + width - 1) & 1) {
      v |= shift + width < 32 ? ~0u << (shift + width) : 0u;
    }
    r[l] = v;
  }
}

// ---- any form ----

const Inst* modified(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const Handler& h = handler_of(i.op);
  const u64 exec = w.exec();
  u64 valid = kAll;
  const u32* s[3] = {};
  for (int k = 0; k < 3; ++k) {
    if (i.src[k].kind != OperandKind::kNone) s[k] = prepared(w, i, h, k, exec, valid);
  }
  u64 write = exec;
  if (i.ext == Extension::kDpp) {
    write &= dpp_enabled(i);
    if (!i.bound_ctrl) write &= valid;
  }
  LaneContext x = context(w, i, exec);
  x.mask_in = i.src[3].kind == OperandKind::kSgpr ? w.read64(i.src[3].index) : w.vcc();
  if (h.accumulate) s[2] = dst_lanes(w, i);
  const auto core = reinterpret_cast<CoreFn>(i.core);
  if (h.shape != Shape::kValue) {
    core(nullptr, s[0], s[1], nullptr, x);
    w.write64(i.sdst.index, x.mask_out & write);
    if (h.shape == Shape::kCompareX) w.write64(kExec, x.mask_out & write);
    return p + 1;
  }
  core(w.result, s[0], s[1], s[2], x);
  if (h.result != NumType::kInt) finish_result(w.result, h, i, w.mode);
  u32* d = dst_lanes(w, i);
  if (i.ext == Extension::kSdwa) {
    place_sdwa(w.result, d, i);
  } else if (h.keep_high) {
    place_half(w.result, d, i.op_sel >> 3 & 1 || i.op == Op::v_fma_mixhi_f16);
  }
  for (int k = 0; k < i.dst.width; ++k) merge(d + 64 * k, w.result + 64 * k, write);
  if (i.sdst.kind != OperandKind::kNone) w.write64(i.sdst.index, x.mask_out & write);
  return p + 1;
}

bool needs_modified(const Inst& i, const Handler& h) {
  if (i.ext != Extension::kNone || h.keep_high || i.omod) return true;
  if (i.clamp && h.result != NumType::kInt) return true;
  if (h.source == NumType::kMix) return true;
  if (i.format == Format::VOP3P) {
    if (h.source != NumType::kPacked) return false;
    const int n = i.src[2].kind != OperandKind::kNone ? 3 : 2;
    const u32 all = (1u << n) - 1;
    const u32 first = i.op >= Op::v_dot2_f32_f16 ? 3u : all;
    return (i.op_sel & first) || (i.op_sel_hi & first) != first || i.neg & all || i.neg_hi & all;
  }
  return i.neg || i.abs || i.op_sel;
}

template <int W, bool kMask>
ExecFn plain_for(int sources) {
  return sources == 3   ? plain<3, W, kMask>
         : sources == 2 ? plain<2, W, kMask>
         : sources == 1 ? plain<1, W, kMask>
                        : plain<0, W, kMask>;
}

}  // namespace

ExecFn choose_exec(const Inst& i, const Handler& h) {
  if (h.shape == Shape::kSpecial) return h.special;
  if (h.shape == Shape::kNone) return nullptr;
  if (needs_modified(i, h)) return modified;
  if (h.shape == Shape::kCompare) return plain_compare<false>;
  if (h.shape == Shape::kCompareX) return plain_compare<true>;
  if (h.accumulate) return plain_accumulate;
  int n = 0;
  for (int s = 0; s < 3; ++s) n = i.src[s].kind != OperandKind::kNone ? s + 1 : n;
  const bool mask = i.sdst.kind != OperandKind::kNone || i.src[3].kind != OperandKind::kNone ||
                    i.op == Op::v_div_fmas_f32 || i.op == Op::v_div_fmas_f64;
  switch (i.dst.width) {
    case 2:
      return mask ? plain_for<2, true>(n) : plain_for<2, false>(n);
    case 4:
      return plain_for<4, false>(n);
    default:
      return mask ? plain_for<1, true>(n) : plain_for<1, false>(n);
  }
}

}  // namespace gfx906::GFX906_LANES_NS

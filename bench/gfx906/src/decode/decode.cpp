// From machine words to Inst, by the tables in opcodes/.
#include <array>
#include <bit>
#include <string>
#include <unordered_map>

#include "decode/inst.hpp"
#include "machine.hpp"

namespace gfx906 {
namespace {

constexpr OpInfo kOps[] = {
#define OP(format, opcode, name, text, d, s0, s1, s2, flags) \
  OpInfo{Format::format, opcode, Op::name, text, d, {s0, s1, s2}, flags},
#include "decode/opcodes/ds.inc"
#include "decode/opcodes/scalar.inc"
#include "decode/opcodes/vmem.inc"
#include "decode/opcodes/vop1.inc"
#include "decode/opcodes/vop2.inc"
#include "decode/opcodes/vop3.inc"
#include "decode/opcodes/vop3p.inc"
#include "decode/opcodes/vopc.inc"
#undef OP
};

constexpr std::string_view kNames[] = {
    "unknown",
#define MNEMONIC(name) #name,
#include "decode/opcodes/mnemonics.inc"
#undef MNEMONIC
};

struct Index {
  std::array<std::array<const OpInfo*, 1024>, static_cast<size_t>(Format::kNone)> by_code{};
  std::unordered_map<std::string_view, Op> by_name;
  Index() {
    for (const OpInfo& o : kOps) by_code[static_cast<size_t>(o.format)][o.opcode] = &o;
    for (size_t i = 1; i < std::size(kNames); ++i) by_name[kNames[i]] = static_cast<Op>(i);
  }
};
const Index& index() {
  static const Index table;
  return table;
}

constexpr uint32_t bits(uint32_t w, int lo, int n) {
  return (w >> lo) & ((1u << n) - 1);
}

// How a constant is widened for an operand: the ISA's inline floats depend on the operand's type.
enum class Type : uint8_t { kB32, kB64, kF16, kF64, kPacked };

Type operand_type(const Inst& i, int s) {
  const std::string_view name = mnemonic(i.op);
  const uint8_t width = i.info->src[s];
  if (i.format == Format::SOP1 || i.format == Format::SOP2 || i.format == Format::SOPC) {
    return width == 2 ? Type::kB64 : Type::kB32;
  }
  if (i.format == Format::VOP3P) {
    if (name.starts_with("v_fma_mix")) return (i.op_sel_hi >> s) & 1 ? Type::kF16 : Type::kB32;
    if (name.starts_with("v_dot2_f32_f16")) return s < 2 ? Type::kPacked : Type::kB32;
    if (name.starts_with("v_dot")) return Type::kB32;
    return Type::kPacked;
  }
  if (width == 2) return name.find("f64") != name.npos ? Type::kF64 : Type::kB64;
  // A conversion's operand type is the last part of its name; ldexp's second operand is an integer.
  if (name.starts_with("v_ldexp") && s == 1) return name.ends_with("f16") ? Type::kF16 : Type::kB32;
  if (name.starts_with("v_cvt_"))
    return name.ends_with("_f16") || name.ends_with("16") ? Type::kF16 : Type::kB32;
  if (name.starts_with("v_cmp_class_f16") || name.starts_with("v_cmpx_class_f16"))
    return Type::kF16;
  if (name.starts_with("v_mad_u32_u16") || name.starts_with("v_mad_i32_i16"))
    return s < 2 ? Type::kF16 : Type::kB32;
  if (name.ends_with("_f16") || name.ends_with("_u16") || name.ends_with("_i16") ||
      name.ends_with("_b16")) {
    return Type::kF16;
  }
  return Type::kB32;
}

// The value of inline constant `code` (128-248) for an operand of the type.
uint64_t inline_constant(uint32_t code, Type type) {
  if (code >= 128 && code <= 208) {
    const int64_t v =
        code <= 192 ? static_cast<int64_t>(code) - 128 : 192 - static_cast<int64_t>(code);
    return static_cast<uint64_t>(v);
  }
  static constexpr double kValue[] = {0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0};
  static constexpr uint16_t kHalf[] = {0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000,
                                       0xC000, 0x4400, 0xC400, 0x3118};
  const bool inv_2pi = code == 248;
  if (type == Type::kF64 || type == Type::kB64) {
    return inv_2pi ? 0x3fc45f306dc9c882ull : std::bit_cast<uint64_t>(kValue[code - 240]);
  }
  if (type == Type::kF16 || type == Type::kPacked) return kHalf[code - 240];
  return inv_2pi ? 0x3e22f983u : std::bit_cast<uint32_t>(static_cast<float>(kValue[code - 240]));
}

// Fills src[s] from a 9-bit (VALU) or 8-bit (SALU) source code.
bool set_source(Inst& i, int s, uint32_t code, uint8_t width, uint32_t next_word) {
  Operand& o = i.src[s];
  o.width = width;
  if (code >= 256) {
    o = {OperandKind::kVgpr, width, static_cast<uint16_t>(code - 256)};
    return true;
  }
  o.index = static_cast<uint16_t>(code);
  if (code < 128) {
    o.kind = OperandKind::kSgpr;
    return code != 125;
  }
  const Type type = operand_type(i, s);
  if (code <= 208 || (code >= 240 && code <= 248)) {
    o.kind = OperandKind::kConstant;
    i.constant[s] = inline_constant(code, type);
    return true;
  }
  switch (code) {
    case 235:
      o.kind = OperandKind::kConstant;
      i.constant[s] = kSharedAperture;
      break;
    case 236:
      o.kind = OperandKind::kConstant;
      i.constant[s] = kSharedAperture | 0xffffffffu;
      break;
    case 237:
      o.kind = OperandKind::kConstant;
      i.constant[s] = kPrivateAperture;
      break;
    case 238:
      o.kind = OperandKind::kConstant;
      i.constant[s] = kPrivateAperture | 0xffffffffu;
      break;
    case 239:
      o.kind = OperandKind::kConstant;
      i.constant[s] = 0;
      break;  // POPS exiting wave id: no graphics here
    case 251:
    case 252:
    case 253:
      o.kind = OperandKind::kStatus;
      break;
    case 254:
      o.kind = OperandKind::kLdsDirect;
      break;
    case 255:
      o.kind = OperandKind::kConstant;
      i.has_literal = true;
      i.literal = next_word;
      i.words = 2;
      i.constant[s] =
          type == Type::kF64 ? static_cast<uint64_t>(next_word) << 32
          : type == Type::kB64
              ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(next_word)))
              : next_word;
      break;
    default:
      return false;
  }
  // A 32-bit operand reads the high half of an aperture: its base is a multiple of 4 GiB.
  if (width == 1 && code >= 235 && code <= 238) i.constant[s] >>= 32;
  return true;
}

Operand scalar(uint32_t n, uint8_t width) {
  return {OperandKind::kSgpr, width, static_cast<uint16_t>(n)};
}
Operand vector(uint32_t n, uint8_t width) {
  return {OperandKind::kVgpr, width, static_cast<uint16_t>(n)};
}

bool start(Inst& i, Format format, uint32_t opcode) {
  i.info = find_opcode(format, opcode);
  if (!i.info) return false;
  i.format = format;
  i.op = i.info->op;
  return true;
}

bool decode_sop(Inst& i, uint32_t w, uint32_t next) {
  const uint32_t top9 = w >> 23;
  if (top9 == 0b101111101) {
    if (!start(i, Format::SOP1, bits(w, 8, 8))) return false;
    if (i.info->dst) i.dst = scalar(bits(w, 16, 7), i.info->dst);
    return !i.info->src[0] || set_source(i, 0, bits(w, 0, 8), i.info->src[0], next);
  }
  if (top9 == 0b101111110) {
    if (!start(i, Format::SOPC, bits(w, 16, 7))) return false;
    if (i.op == Op::s_set_gpr_idx_on) {
      i.imm = static_cast<int32_t>(bits(w, 8, 8));
      return set_source(i, 0, bits(w, 0, 8), 1, next);
    }
    return set_source(i, 0, bits(w, 0, 8), i.info->src[0], next) &&
           set_source(i, 1, bits(w, 8, 8), i.info->src[1], next);
  }
  if (top9 == 0b101111111) {
    if (!start(i, Format::SOPP, bits(w, 16, 7))) return false;
    i.imm = static_cast<int16_t>(w);
    return true;
  }
  if (w >> 28 == 0b1011) {
    if (!start(i, Format::SOPK, bits(w, 23, 5))) return false;
    i.imm = static_cast<int16_t>(w);
    i.dst = scalar(bits(w, 16, 7), i.info->dst ? i.info->dst : 1);
    if (i.op == Op::s_setreg_imm32_b32) {
      i.dst = {};
      i.words = 2;
      i.literal = next;
      i.has_literal = true;
    }
    return true;
  }
  if (!start(i, Format::SOP2, bits(w, 23, 7))) return false;
  i.dst = scalar(bits(w, 16, 7), i.info->dst);
  return set_source(i, 0, bits(w, 0, 8), i.info->src[0], next) &&
         set_source(i, 1, bits(w, 8, 8), i.info->src[1], next);
}

bool decode_smem(Inst& i, uint32_t w, uint32_t w1) {
  if (!start(i, Format::SMEM, bits(w, 18, 8))) return false;
  i.words = 2;
  i.glc = bits(w, 16, 1);
  i.nv = bits(w, 15, 1);
  i.soffset_en = bits(w, 14, 1);
  i.imm_en = bits(w, 17, 1);
  if (i.info->dst) i.dst = scalar(bits(w, 6, 7), i.info->dst);
  if (!i.info->src[0]) return true;  // the clock and the caches have no address
  i.src[0] = scalar(bits(w, 0, 6) * 2, i.info->src[0]);
  if (i.imm_en) {
    i.imm = static_cast<int32_t>(w1 << 11) >> 11;
    if (i.soffset_en) i.soffset = scalar(bits(w1, 25, 7), 1);
  } else {
    i.soffset = scalar(i.soffset_en ? bits(w1, 25, 7) : bits(w1, 0, 7), 1);
  }
  return true;
}

bool decode_sdwa(Inst& i, uint32_t x, uint32_t& src0) {
  i.ext = Extension::kSdwa;
  i.words = 2;
  src0 = bits(x, 23, 1) ? bits(x, 0, 8) : 256 + bits(x, 0, 8);
  if (i.format == Format::VOPC) {
    i.sdst = scalar(bits(x, 15, 1) ? bits(x, 8, 7) : 106, 2);
  } else {
    i.dst_sel = static_cast<uint8_t>(bits(x, 8, 3));
    i.dst_unused = static_cast<uint8_t>(bits(x, 11, 2));
    i.clamp = bits(x, 13, 1);
    i.omod = static_cast<uint8_t>(bits(x, 14, 2));
  }
  i.sel[0] = static_cast<uint8_t>(bits(x, 16, 3));
  i.sel[1] = static_cast<uint8_t>(bits(x, 24, 3));
  i.sext = static_cast<uint8_t>(bits(x, 19, 1) | bits(x, 27, 1) << 1);
  i.neg = static_cast<uint8_t>(bits(x, 20, 1) | bits(x, 28, 1) << 1);
  i.abs = static_cast<uint8_t>(bits(x, 21, 1) | bits(x, 29, 1) << 1);
  return i.sel[0] < 7 && i.sel[1] < 7 && i.dst_sel < 7 && i.dst_unused < 3;
}

void decode_dpp(Inst& i, uint32_t x, uint32_t& src0) {
  i.ext = Extension::kDpp;
  i.words = 2;
  src0 = 256 + bits(x, 0, 8);
  i.dpp_ctrl = static_cast<uint16_t>(bits(x, 8, 9));
  i.bound_ctrl = bits(x, 19, 1);
  i.neg = static_cast<uint8_t>(bits(x, 20, 1) | bits(x, 22, 1) << 1);
  i.abs = static_cast<uint8_t>(bits(x, 21, 1) | bits(x, 23, 1) << 1);
  i.bank_mask = static_cast<uint8_t>(bits(x, 24, 4));
  i.row_mask = static_cast<uint8_t>(bits(x, 28, 4));
}

bool dpp_ctrl_known(uint32_t c) {
  return c < 0x100 || (c > 0x100 && c < 0x110) || (c > 0x110 && c < 0x120) ||
         (c > 0x120 && c < 0x130) || c == 0x130 || c == 0x134 || c == 0x138 || c == 0x13c ||
         (c >= 0x140 && c <= 0x143);
}

bool decode_vop12c(Inst& i, uint32_t w, uint32_t next) {
  const bool vop1 = w >> 25 == 0b0111111, vopc = w >> 25 == 0b0111110;
  const uint32_t opcode = vop1 ? bits(w, 9, 8) : vopc ? bits(w, 17, 8) : bits(w, 25, 6);
  if (!start(i, vop1 ? Format::VOP1 : vopc ? Format::VOPC : Format::VOP2, opcode)) return false;
  const OpInfo& o = *i.info;
  uint32_t src0 = bits(w, 0, 9);
  if (vopc) i.sdst = scalar(106, 2);
  uint32_t src1 = bits(w, 9, 8) + 256;
  if (src0 == 249) {
    if (!decode_sdwa(i, next, src0)) return false;
    if (bits(next, 31, 1)) src1 -= 256;
  } else if (src0 == 250) {
    decode_dpp(i, next, src0);
    if (!dpp_ctrl_known(i.dpp_ctrl)) return false;
  }
  if (!vopc) {
    i.dst = o.flags & kDstSgpr ? scalar(bits(w, 17, 8), o.dst) : vector(bits(w, 17, 8), o.dst);
    if (!o.dst) i.dst = {};
  }
  if (o.flags & kCarryOut) i.sdst = scalar(106, 2);
  if (o.flags & kVccIn) i.src[3] = scalar(106, 2);
  if (o.src[0] && !set_source(i, 0, src0, o.src[0], next)) return false;
  if (!vop1 && !set_source(i, 1, src1, o.src[1], next)) return false;
  // The two forms with an embedded constant: madmk puts it in the middle, madak last.
  if (i.op == Op::v_madmk_f32 || i.op == Op::v_madmk_f16 || i.op == Op::v_madak_f32 ||
      i.op == Op::v_madak_f16) {
    const bool mk = i.op == Op::v_madmk_f32 || i.op == Op::v_madmk_f16;
    i.words = 2;
    i.literal = next;
    i.has_literal = true;
    if (mk) i.src[2] = i.src[1];
    const int k = mk ? 1 : 2;
    i.src[k] = {OperandKind::kConstant, 1, 255};
    i.constant[k] = next;
  }
  return true;
}

bool decode_vop3(Inst& i, uint32_t w, uint32_t x) {
  const bool packed = w >> 23 == 0b110100111;
  if (!start(i, packed ? Format::VOP3P : Format::VOP3, packed ? bits(w, 16, 7) : bits(w, 16, 10)))
    return false;
  i.words = 2;
  const OpInfo& o = *i.info;
  const bool compare = o.flags & kDstSgpr && o.opcode < 256 && !packed;
  if (compare) {
    i.sdst = scalar(bits(w, 0, 8), 2);
  } else if (o.dst) {
    i.dst = o.flags & kDstSgpr ? scalar(bits(w, 0, 8), o.dst) : vector(bits(w, 0, 8), o.dst);
  }
  i.clamp = bits(w, 15, 1);
  i.neg = static_cast<uint8_t>(bits(x, 29, 3));
  if (packed) {
    i.op_sel = static_cast<uint8_t>(bits(w, 11, 3));
    i.op_sel_hi = static_cast<uint8_t>(bits(x, 27, 2) | bits(w, 14, 1) << 2);
    i.neg_hi = static_cast<uint8_t>(bits(w, 8, 3));
    if (i.op == Op::v_fma_mix_f32 || i.op == Op::v_fma_mixlo_f16 || i.op == Op::v_fma_mixhi_f16) {
      i.abs = i.neg_hi;
      i.neg_hi = 0;
    }
  } else {
    i.omod = static_cast<uint8_t>(bits(x, 27, 2));
    if (o.flags & kCarryOut) {
      i.sdst = scalar(bits(w, 8, 7), 2);
    } else {
      i.abs = static_cast<uint8_t>(bits(w, 8, 3));
      i.op_sel = static_cast<uint8_t>(bits(w, 11, 4));
    }
  }
  const int count = o.src[2] ? 3 : o.src[1] ? 2 : o.src[0] ? 1 : 0;
  for (int s = 0; s < count; ++s) {
    const uint32_t code = bits(x, 9 * s, 9);
    if (code == 255 || !set_source(i, s, code, o.src[s], 0)) return false;
  }
  if (o.flags & kVccIn) {
    i.src[3] = i.src[2];
    i.src[2] = {};
  }
  // v_mac and v_fmac add to their destination.
  return true;
}

bool decode_ds(Inst& i, uint32_t w, uint32_t x) {
  if (!start(i, Format::DS, bits(w, 17, 8))) return false;
  i.words = 2;
  const OpInfo& o = *i.info;
  i.gds = bits(w, 16, 1);
  if (o.flags & kTwoOffsets) {
    i.imm = static_cast<int32_t>(bits(w, 0, 8));
    i.offset1 = static_cast<uint8_t>(bits(w, 8, 8));
  } else {
    i.imm = static_cast<int32_t>(bits(w, 0, 16));
  }
  if (o.src[0]) i.src[0] = vector(bits(x, 0, 8), o.src[0]);
  if (o.src[1]) i.src[1] = vector(bits(x, 8, 8), o.src[1]);
  if (o.src[2]) i.src[2] = vector(bits(x, 16, 8), o.src[2]);
  if (o.dst) i.dst = vector(bits(x, 24, 8), o.dst);
  return true;
}

bool is_atomic_code(uint32_t opcode) {
  return opcode >= 64;
}

bool decode_buffer(Inst& i, uint32_t w, uint32_t x) {
  const bool typed = w >> 26 == 0b111010;
  if (!start(i, typed ? Format::MTBUF : Format::MUBUF, typed ? bits(w, 15, 4) : bits(w, 18, 7)))
    return false;
  i.words = 2;
  i.imm = static_cast<int32_t>(bits(w, 0, 12));
  i.offen = bits(w, 12, 1);
  i.idxen = bits(w, 13, 1);
  i.glc = bits(w, 14, 1);
  i.slc = typed ? bits(x, 22, 1) : bits(w, 17, 1);
  i.lds = !typed && bits(w, 16, 1);
  i.tfe = bits(x, 23, 1);
  if (typed) {
    i.dfmt = static_cast<uint8_t>(bits(w, 19, 4));
    i.nfmt = static_cast<uint8_t>(bits(w, 23, 3));
  }
  if (!i.info->dst && !i.info->src[1]) return true;  // cache control
  if (i.offen || i.idxen) i.src[0] = vector(bits(x, 0, 8), i.offen && i.idxen ? 2 : 1);
  const bool store = mnemonic(i.op).find("store") != std::string_view::npos;
  const bool atomic = !typed && is_atomic_code(i.info->opcode);
  const Operand data = vector(bits(x, 8, 8), i.info->dst);
  if (store || atomic) i.src[1] = data;
  if (atomic && i.glc) {
    const bool cmp = mnemonic(i.op).find("cmpswap") != std::string_view::npos;
    i.dst = data;
    if (cmp) i.dst.width /= 2;
  } else if (!store && !atomic && !i.lds) {
    i.dst = data;
  }
  if (i.tfe && i.dst.kind != OperandKind::kNone) ++i.dst.width;  // a status register follows
  i.src[3] = scalar(bits(x, 16, 5) * 4, 4);
  const uint32_t so = bits(x, 24, 8);
  if (so < 128) {
    i.soffset = scalar(so, 1);
  } else if (so <= 208) {
    i.soffset = {OperandKind::kConstant, 1, static_cast<uint16_t>(so)};
    i.constant[2] = inline_constant(so, Type::kB32);
  } else {
    return false;
  }
  return true;
}

bool decode_flat(Inst& i, uint32_t w, uint32_t x) {
  const uint32_t seg = bits(w, 14, 2);
  if (seg == 3) return false;
  const Format format = seg == 0 ? Format::FLAT : seg == 1 ? Format::SCRATCH : Format::GLOBAL;
  if (!start(i, format, bits(w, 18, 7))) return false;
  i.words = 2;
  i.slc = bits(w, 17, 1);
  i.glc = bits(w, 16, 1);
  i.lds = bits(w, 13, 1);
  i.imm = seg == 0 ? static_cast<int32_t>(bits(w, 0, 12)) : static_cast<int32_t>(w << 19) >> 19;
  i.nv = bits(x, 23, 1);
  const uint32_t saddr = bits(x, 16, 7);
  const bool has_saddr = seg != 0 && saddr != 0x7f;
  if (has_saddr) i.src[3] = scalar(saddr, seg == 1 ? 1 : 2);
  if (!(seg == 1 && has_saddr)) i.src[0] = vector(bits(x, 0, 8), seg == 1 || has_saddr ? 1 : 2);
  if (i.info->src[1]) i.src[1] = vector(bits(x, 8, 8), i.info->src[1]);
  const bool atomic = is_atomic_code(i.info->opcode);
  if (i.info->dst && (!atomic || i.glc)) i.dst = vector(bits(x, 24, 8), i.info->dst);
  return true;
}

bool decode_any(Inst& i, uint32_t w, uint32_t x, bool have_next) {
  if (!(w >> 31)) return decode_vop12c(i, w, x);
  if (w >> 30 == 2) return decode_sop(i, w, x);
  if (!have_next) return false;
  switch (w >> 26) {
    case 0b110000:
      return decode_smem(i, w, x);
    case 0b110100:
      return decode_vop3(i, w, x);
    case 0b110110:
      return decode_ds(i, w, x);
    case 0b110111:
      return decode_flat(i, w, x);
    case 0b111000:
    case 0b111010:
      return decode_buffer(i, w, x);
    default:
      return false;
  }
}

}  // namespace

const OpInfo* find_opcode(Format format, uint32_t opcode) {
  if (format >= Format::kNone || opcode >= 1024) return nullptr;
  return index().by_code[static_cast<size_t>(format)][opcode];
}

std::string_view mnemonic(Op op) {
  return kNames[static_cast<size_t>(op)];
}

Op find_mnemonic(std::string_view name) {
  const auto it = index().by_name.find(name);
  return it == index().by_name.end() ? Op::kUnknown : it->second;
}

Inst decode_one(const uint32_t* words, uint32_t available) {
  Inst i;
  const uint32_t w = words[0], x = available > 1 ? words[1] : 0;
  if (!decode_any(i, w, x, available > 1) || i.words > available) i = Inst{};
  i.word[0] = w;
  i.word[1] = i.words > 1 ? x : 0;
  return i;
}

bool is_branch(const Inst& i) {
  return (i.format == Format::SOPP &&
          (i.op == Op::s_branch || mnemonic(i.op).starts_with("s_cbranch"))) ||
         i.op == Op::s_call_b64;
}

bool is_terminator(const Inst& i) {
  return mnemonic(i.op).starts_with("s_endpgm");
}

}  // namespace gfx906

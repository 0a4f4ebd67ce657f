// Instructions as text, in the spelling of LLVM's disassembler.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "decode/program.hpp"
#include "machine.hpp"

namespace gfx906 {
namespace {

std::string hex(uint64_t v) {
  char b[24];
  snprintf(b, sizeof b, "0x%llx", static_cast<unsigned long long>(v));
  return b;
}

std::string range(const char* prefix, uint32_t first, uint32_t width) {
  const std::string a = std::to_string(first);
  if (width <= 1) return prefix + a;
  return std::string(prefix) + "[" + a + ":" + std::to_string(first + width - 1) + "]";
}

std::string scalar_name(uint32_t n, uint32_t width) {
  static constexpr const char* kPairs[] = {"flat_scratch", "xnack_mask", "vcc"};
  if (n < 102) return range("s", n, width);
  if (n < 108) {
    const std::string base = kPairs[(n - 102) / 2];
    return width == 2 ? base : base + (n % 2 ? "_hi" : "_lo");
  }
  if (n < 124) return range("ttmp", n - 108, width);
  if (n == 124) return "m0";
  if (n == 126) return width == 2 ? "exec" : "exec_lo";
  if (n == 127) return "exec_hi";
  return "s?" + std::to_string(n);
}

// A literal that could have been an inline constant is printed like one.
std::string literal_name(const Inst& i, int s) {
  const auto v = static_cast<int32_t>(i.literal);
  const bool embedded =
      i.format == Format::VOP2 && i.src[s].index == 255 && i.info->src[2] == 0 && s == 2;
  if (!embedded && i.src[s].width == 1 && v >= -16 && v <= 64) return std::to_string(v);
  return hex(i.literal);
}

std::string constant_name(const Inst& i, int s) {
  const uint32_t code = i.src[s].index;
  static constexpr const char* kFloats[] = {"0.5", "-0.5", "1.0", "-1.0",
                                            "2.0", "-2.0", "4.0", "-4.0"};
  if (code >= 128 && code <= 192) return std::to_string(code - 128);
  if (code > 192 && code <= 208) return std::to_string(192 - static_cast<int>(code));
  if (code >= 240 && code <= 247) return kFloats[code - 240];
  switch (code) {
    case 248:
      return i.constant[s] >> 32 ? "0.15915494309189532" : "0.15915494";
    case 235:
      return "src_shared_base";
    case 236:
      return "src_shared_limit";
    case 237:
      return "src_private_base";
    case 238:
      return "src_private_limit";
    case 239:
      return "src_pops_exiting_wave_id";
    default:
      return literal_name(i, s);
  }
}

std::string operand_name(const Inst& i, int s) {
  const Operand& o = i.src[s];
  switch (o.kind) {
    case OperandKind::kVgpr:
      return range("v", o.index, o.width);
    case OperandKind::kSgpr:
      return scalar_name(o.index, o.width);
    case OperandKind::kConstant:
      return constant_name(i, s);
    case OperandKind::kStatus:
      return o.index == 251 ? "src_vccz" : o.index == 252 ? "src_execz" : "src_scc";
    case OperandKind::kLdsDirect:
      return "src_lds_direct";
    default:
      return "off";
  }
}

std::string register_name(const Operand& o) {
  return o.is_vgpr() ? range("v", o.index, o.width) : scalar_name(o.index, o.width);
}

std::string list(const char* name, uint32_t bits, int count) {
  std::string t = std::string(" ") + name + ":[";
  for (int k = 0; k < count; ++k) t += std::string(k ? "," : "") + ((bits >> k) & 1 ? "1" : "0");
  return t + "]";
}

std::string modified(const Inst& i, int s) {
  std::string t = operand_name(i, s);
  if (i.ext == Extension::kSdwa && (i.sext >> s) & 1) t = "sext(" + t + ")";
  if ((i.abs >> s) & 1) t = "|" + t + "|";
  if (i.format == Format::VOP3P && i.op != Op::v_fma_mix_f32 && i.op != Op::v_fma_mixlo_f16 &&
      i.op != Op::v_fma_mixhi_f16)
    return t;
  return (i.neg >> s) & 1 ? "-" + t : t;
}

std::string dpp_text(const Inst& i) {
  const uint32_t c = i.dpp_ctrl;
  std::string t;
  if (c < 0x100) {
    t = " quad_perm:[" + std::to_string(c & 3) + "," + std::to_string(c >> 2 & 3) + "," +
        std::to_string(c >> 4 & 3) + "," + std::to_string(c >> 6) + "]";
  } else if (c < 0x130) {
    static constexpr const char* kRow[] = {" row_shl:", " row_shr:", " row_ror:"};
    t = kRow[(c >> 4) & 3] + std::to_string(c & 15);
  } else {
    switch (c) {
      case 0x130:
        t = " wave_shl:1";
        break;
      case 0x134:
        t = " wave_rol:1";
        break;
      case 0x138:
        t = " wave_shr:1";
        break;
      case 0x13c:
        t = " wave_ror:1";
        break;
      case 0x140:
        t = " row_mirror";
        break;
      case 0x141:
        t = " row_half_mirror";
        break;
      case 0x142:
        t = " row_bcast:15";
        break;
      default:
        t = " row_bcast:31";
    }
  }
  t += " row_mask:" + hex(i.row_mask) + " bank_mask:" + hex(i.bank_mask);
  return i.bound_ctrl ? t + " bound_ctrl:1" : t;
}

std::string sdwa_text(const Inst& i) {
  static constexpr const char* kSel[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                         "WORD_0", "WORD_1", "DWORD"};
  static constexpr const char* kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  std::string t;
  if (i.format != Format::VOPC)
    t = std::string(" dst_sel:") + kSel[i.dst_sel] + " dst_unused:" + kUnused[i.dst_unused];
  t += std::string(" src0_sel:") + kSel[i.sel[0]];
  if (i.info->src[1]) t += std::string(" src1_sel:") + kSel[i.sel[1]];
  return t;
}

std::string valu_text(const Inst& i) {
  std::string name = i.info->text;
  if (i.ext != Extension::kNone) {
    name = std::string(mnemonic(i.op)) + (i.ext == Extension::kSdwa ? "_sdwa" : "_dpp");
  }
  std::string t = name;
  const char* sep = " ";
  const auto put = [&](const std::string& o) {
    t += sep + o;
    sep = ", ";
  };
  if (i.dst.kind != OperandKind::kNone) put(register_name(i.dst));
  if (i.sdst.kind != OperandKind::kNone) put(register_name(i.sdst));
  int count = 0;
  for (int s = 0; s < 3; ++s) {
    if (i.src[s].kind == OperandKind::kNone) continue;
    ++count;
    put(modified(i, s));
  }
  if (i.src[3].kind != OperandKind::kNone) put(register_name(i.src[3]));
  if (i.format == Format::VOP3P) {
    const bool mix =
        i.op == Op::v_fma_mix_f32 || i.op == Op::v_fma_mixlo_f16 || i.op == Op::v_fma_mixhi_f16;
    const uint32_t all = (1u << count) - 1;
    if (i.op_sel & all) t += list("op_sel", i.op_sel, count);
    if (mix ? (i.op_sel_hi & all) != 0 : (i.op_sel_hi & all) != all)
      t += list("op_sel_hi", i.op_sel_hi, count);
    if (!mix && i.neg & all) t += list("neg_lo", i.neg, count);
    if (!mix && i.neg_hi & all) t += list("neg_hi", i.neg_hi, count);
  } else if (i.op_sel) {
    // The fourth bit stands for the destination.
    t += list("op_sel", (i.op_sel & ((1u << count) - 1)) | (i.op_sel >> 3) << count, count + 1);
  }
  if (i.clamp) t += " clamp";
  static constexpr const char* kOmod[] = {"", " mul:2", " mul:4", " div:2"};
  t += kOmod[i.omod];
  if (i.ext == Extension::kSdwa) t += sdwa_text(i);
  if (i.ext == Extension::kDpp) t += dpp_text(i);
  return t;
}

std::string hwreg_text(const Inst& i) {
  static constexpr const char* kName[] = {
      nullptr,        "HW_REG_MODE",      "HW_REG_STATUS",    "HW_REG_TRAPSTS",
      "HW_REG_HW_ID", "HW_REG_GPR_ALLOC", "HW_REG_LDS_ALLOC", "HW_REG_IB_STS"};
  const uint32_t v = static_cast<uint16_t>(i.imm), id = v & 63, offset = v >> 6 & 31,
                 size = (v >> 11) + 1;
  std::string t = "hwreg(";
  if (id >= 1 && id <= 7) {
    t += kName[id];
  } else if (id == 15) {
    t += "HW_REG_SH_MEM_BASES";
  } else {
    t += std::to_string(id);
  }
  if (offset || size != 32) t += ", " + std::to_string(offset) + ", " + std::to_string(size);
  return t + ")";
}

std::string gpr_idx_text(uint32_t mode) {
  static constexpr const char* kMode[] = {"SRC0", "SRC1", "SRC2", "DST"};
  if (mode > 15) return hex(mode);
  std::string t;
  for (int k = 0; k < 4; ++k) {
    if (mode >> k & 1) t += (t.empty() ? "" : ",") + std::string(kMode[k]);
  }
  return "gpr_idx(" + t + ")";
}

std::string waitcnt_text(uint32_t v) {
  const uint32_t vm = (v & 15) | (v >> 14 & 3) << 4, exp = v >> 4 & 7, lgkm = v >> 8 & 15;
  const bool all_max = vm == 63 && exp == 7 && lgkm == 15;
  std::string t;
  const auto put = [&](const char* n, uint32_t x, uint32_t max) {
    if (x != max || all_max)
      t += (t.empty() ? "" : " ") + std::string(n) + "(" + std::to_string(x) + ")";
  };
  put("vmcnt", vm, 63);
  put("expcnt", exp, 7);
  put("lgkmcnt", lgkm, 15);
  return t;
}

std::string sendmsg_text(uint32_t v) {
  static constexpr const char* kMsg[] = {
      nullptr,           "MSG_INTERRUPT",       "MSG_GS",
      "MSG_GS_DONE",     "MSG_SAVEWAVE",        "MSG_STALL_WAVE_GEN",
      "MSG_HALT_WAVES",  "MSG_ORDERED_PS_DONE", "MSG_EARLY_PRIM_DEALLOC",
      "MSG_GS_ALLOC_REQ"};
  const uint32_t id = v & 15;
  if (id >= 1 && id <= 9 && !(v >> 4)) return std::string("sendmsg(") + kMsg[id] + ")";
  return "sendmsg(" + std::to_string(id) + ", " + std::to_string(v >> 4 & 7) + ", " +
         std::to_string(v >> 8 & 3) + ")";
}

std::string sopp_text(const Inst& i) {
  const auto v = static_cast<uint16_t>(i.imm);
  const std::string name = i.info->text;
  switch (i.op) {
    case Op::s_waitcnt:
      return name + " " + waitcnt_text(v);
    case Op::s_sendmsg:
    case Op::s_sendmsghalt:
      return name + " " + sendmsg_text(v);
    case Op::s_set_gpr_idx_mode:
      return name + " " + gpr_idx_text(v);
    case Op::s_endpgm:
      return v ? name + " " + std::to_string(v) : name;
    case Op::s_barrier:
    case Op::s_icache_inv:
    case Op::s_ttracedata:
    case Op::s_set_gpr_idx_off:
    case Op::s_wakeup:
    case Op::s_endpgm_saved:
    case Op::s_endpgm_ordered_ps_done:
      return name;
    default:
      return name + " " + std::to_string(v);
  }
}

std::string salu_text(const Inst& i) {
  std::string t = i.info->text;
  const char* sep = " ";
  const auto put = [&](const std::string& o) {
    t += sep + o;
    sep = ", ";
  };
  if (i.format == Format::SOPK) {
    if (i.op == Op::s_setreg_b32) return t + " " + hwreg_text(i) + ", " + register_name(i.dst);
    if (i.op == Op::s_setreg_imm32_b32) return t + " " + hwreg_text(i) + ", " + hex(i.literal);
    put(register_name(i.dst));
    if (i.op == Op::s_getreg_b32) {
      put(hwreg_text(i));
    } else if (i.op == Op::s_call_b64 || i.op == Op::s_cbranch_i_fork) {
      put(std::to_string(static_cast<uint16_t>(i.imm)));
    } else {
      put(hex(static_cast<uint16_t>(i.imm)));
    }
    return t;
  }
  if (i.dst.kind != OperandKind::kNone) put(register_name(i.dst));
  for (int s = 0; s < 2; ++s) {
    if (i.src[s].kind != OperandKind::kNone) put(operand_name(i, s));
  }
  if (i.op == Op::s_set_gpr_idx_on) put(gpr_idx_text(static_cast<uint32_t>(i.imm)));
  return t;
}

std::string smem_text(const Inst& i) {
  std::string t = i.info->text;
  if (!i.info->src[0] && !i.info->dst) return t;
  const char* sep = " ";
  if (i.dst.kind != OperandKind::kNone) {
    t += sep + (i.op == Op::s_atc_probe || i.op == Op::s_atc_probe_buffer
                    ? std::to_string(i.dst.index)
                    : register_name(i.dst));
    sep = ", ";
  }
  if (i.src[0].kind == OperandKind::kNone) return t;
  t += sep + register_name(i.src[0]);
  if (i.soffset.kind != OperandKind::kNone) {
    t += ", " + register_name(i.soffset);
    if (i.imm_en) t += " offset:" + hex(static_cast<uint32_t>(i.imm));
  } else if (i.imm < 0) {
    t += ", -" + hex(static_cast<uint32_t>(-i.imm));
  } else {
    t += ", " + hex(static_cast<uint32_t>(i.imm));
  }
  return i.glc ? t + " glc" : t;
}

std::string swizzle_text(uint32_t v) {
  const auto n = [](uint32_t x) { return std::to_string(x); };
  if (v == 0) return "";
  if ((v >> 8) == 0x80) {
    return " offset:swizzle(QUAD_PERM," + n(v & 3) + "," + n(v >> 2 & 3) + "," + n(v >> 4 & 3) +
           "," + n(v >> 6 & 3) + ")";
  }
  if (v >= 0xc000 && (v & 0x801f) >= 0x8000 && (v >> 14) == 3 && !(v & 0x381f)) {
    return " offset:swizzle(ROTATE," + n(v >> 10 & 1) + "," + n(v >> 5 & 31) + ")";
  }
  if (!(v & 0x8000)) {
    const uint32_t and_mask = v & 31, or_mask = v >> 5 & 31, xor_mask = v >> 10;
    const auto pow2 = [](uint32_t x) { return x && !(x & (x - 1)); };
    if (and_mask == 31 && or_mask == 0 && pow2(xor_mask))
      return " offset:swizzle(SWAP," + n(xor_mask) + ")";
    if (and_mask == 31 && or_mask == 0 && xor_mask > 0 && pow2(xor_mask + 1))
      return " offset:swizzle(REVERSE," + n(xor_mask + 1) + ")";
    const uint32_t group = 32 - and_mask;
    if (and_mask < 31 && pow2(group) && group > 1 && or_mask < group && xor_mask == 0) {
      return " offset:swizzle(BROADCAST," + n(group) + "," + n(or_mask) + ")";
    }
    std::string mask;
    for (uint32_t bit = 16; bit; bit >>= 1) {
      const bool a = and_mask & bit, o = or_mask & bit, x = xor_mask & bit;
      mask += !a ? (o != x ? "1" : "0") : o ? (x ? "0" : "1") : x ? "i" : "p";
    }
    return " offset:swizzle(BITMASK_PERM,\"" + mask + "\")";
  }
  return " offset:" + n(v);
}

std::string ds_text(const Inst& i) {
  std::string t = i.info->text;
  const char* sep = " ";
  for (const Operand* o : {&i.dst, &i.src[0], &i.src[1], &i.src[2]}) {
    if (o->kind == OperandKind::kNone) continue;
    t += sep + register_name(*o);
    sep = ", ";
  }
  if (i.op == Op::ds_swizzle_b32) {
    t += swizzle_text(static_cast<uint32_t>(i.imm));
  } else if (i.info->flags & kTwoOffsets) {
    if (i.imm) t += " offset0:" + std::to_string(i.imm);
    if (i.offset1) t += " offset1:" + std::to_string(i.offset1);
  } else if (i.imm) {
    t += " offset:" + std::to_string(i.imm);
  }
  return i.gds ? t + " gds" : t;
}

std::string format_text(const Inst& i) {
  static constexpr const char* kData[] = {
      "INVALID",     "8",        "16",          "8_8",        "32",      "16_16",
      "10_11_11",    "11_11_10", "10_10_10_2",  "2_10_10_10", "8_8_8_8", "32_32",
      "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
  static constexpr const char* kNum[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                         "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
  if (i.dfmt == 1 && i.nfmt == 0) return "";
  if (i.nfmt == 0) return std::string(" format:[BUF_DATA_FORMAT_") + kData[i.dfmt] + "]";
  if (i.dfmt == 1) return std::string(" format:[BUF_NUM_FORMAT_") + kNum[i.nfmt] + "]";
  return std::string(" format:[BUF_DATA_FORMAT_") + kData[i.dfmt] + ",BUF_NUM_FORMAT_" +
         kNum[i.nfmt] + "]";
}

std::string buffer_text(const Inst& i) {
  std::string t = i.info->text;
  if (i.src[3].kind == OperandKind::kNone) return t;
  const Operand& data = i.src[1].kind != OperandKind::kNone ? i.src[1] : i.dst;
  t += " ";
  if (!i.lds) t += register_name(data) + ", ";
  t += (i.src[0].kind == OperandKind::kNone ? "off" : register_name(i.src[0])) + ", " +
       register_name(i.src[3]) + ", ";
  if (i.soffset.is_sgpr()) {
    t += scalar_name(i.soffset.index, 1);
  } else {
    const int code = i.soffset.index;
    t += std::to_string(code <= 192 ? code - 128 : 192 - code);
  }
  if (i.format == Format::MTBUF) t += format_text(i);
  if (i.idxen) t += " idxen";
  if (i.offen) t += " offen";
  if (i.imm) t += " offset:" + std::to_string(i.imm);
  if (i.glc) t += " glc";
  if (i.slc) t += " slc";
  if (i.tfe) t += " tfe";
  if (i.lds) t += " lds";
  return t;
}

std::string flat_text(const Inst& i) {
  std::string t = i.info->text;
  const char* sep = " ";
  const auto put = [&](const std::string& o) {
    t += sep + o;
    sep = ", ";
  };
  if (i.dst.kind != OperandKind::kNone) put(register_name(i.dst));
  put(i.src[0].kind == OperandKind::kNone ? "off" : register_name(i.src[0]));
  if (i.src[1].kind != OperandKind::kNone) put(register_name(i.src[1]));
  if (i.format != Format::FLAT)
    put(i.src[3].kind == OperandKind::kNone ? "off" : register_name(i.src[3]));
  if (i.imm) t += " offset:" + std::to_string(i.imm);
  if (i.glc) t += " glc";
  if (i.slc) t += " slc";
  return t;
}

}  // namespace

std::string to_text(const Inst& i, uint64_t) {
  if (!i.info) return ".long " + hex(i.word[0]);
  switch (i.format) {
    case Format::SOPP:
      return sopp_text(i);
    case Format::SOP1:
    case Format::SOP2:
    case Format::SOPC:
    case Format::SOPK:
      return salu_text(i);
    case Format::SMEM:
      return smem_text(i);
    case Format::DS:
      return ds_text(i);
    case Format::MUBUF:
    case Format::MTBUF:
      return buffer_text(i);
    case Format::FLAT:
    case Format::SCRATCH:
    case Format::GLOBAL:
      return flat_text(i);
    default:
      return valu_text(i);
  }
}

Result<std::string> disassemble(CodeObject& object, const Kernel& kernel) {
  const Result<const Program*> program = object.program_at(kernel.info().entry_address);
  if (!program) return program.status();
  std::string out;
  char line[64];
  for (const Inst& i : (*program)->insts()) {
    if (i.offset >= (*program)->size()) break;
    snprintf(line, sizeof line, "%08x: %08x", i.offset, i.word[0]);
    out += line;
    if (i.words > 1) {
      snprintf(line, sizeof line, " %08x", i.has_literal ? i.literal : i.word[1]);
      out += line;
    } else {
      out += "         ";
    }
    out += "  " + to_text(i, (*program)->address_of(i)) + "\n";
  }
  return out;
}

}  // namespace gfx906

// One decoded gfx906 instruction, and the table of opcodes it is decoded by.
#pragma once

#include <cstdint>
#include <string_view>

namespace gfx906 {

enum class Format : uint8_t {
  SOP1,
  SOP2,
  SOPK,
  SOPC,
  SOPP,
  SMEM,
  VOP1,
  VOP2,
  VOPC,
  VOP3,
  VOP3P,
  DS,
  MUBUF,
  MTBUF,
  FLAT,
  SCRATCH,
  GLOBAL,
  kNone
};

// One entry per mnemonic; the encodings of one operation (VOP2 and VOP3, say) share it.
enum class Op : uint16_t {
  kUnknown,
#define MNEMONIC(name) name,
#include "decode/opcodes/mnemonics.inc"
#undef MNEMONIC
  kCount
};

enum OpFlags : uint16_t {
  kDstSgpr = 1,     // the destination is scalar (readlane, compares)
  kCarryOut = 2,    // a second, scalar destination: vcc in VOP2, sdst in VOP3
  kVccIn = 4,       // a lane mask as last source: vcc in VOP2, src2 in VOP3
  kTwoOffsets = 8,  // DS: two 8-bit offsets
  kNoOffset = 16,
  kGdsOnly = 32,
};

struct OpInfo {
  Format format;
  uint16_t opcode;
  Op op;
  const char* text;  // as LLVM prints it, with _e32 or _e64
  uint8_t dst,
      src[3];  // widths in dwords; 0 = absent (memory formats: src[0] address, src[1], src[2] data)
  uint16_t flags;
};
const OpInfo* find_opcode(Format format,
                          uint32_t opcode);  // nullptr when gfx906 has no such opcode
std::string_view mnemonic(Op op);            // "v_add_f32"
Op find_mnemonic(std::string_view name);     // kUnknown when there is none

enum class OperandKind : uint8_t {
  kNone,
  kVgpr,
  kSgpr,  // index = its number in the encoding: s0-101, flat_scratch 102, vcc 106, ttmp0-11 108, m0
          // 124, exec 126
  kConstant,  // value in Inst::constant
  kStatus,    // 251 vccz, 252 execz, 253 scc
  kLdsDirect,
};

struct Operand {
  OperandKind kind = OperandKind::kNone;
  uint8_t width = 0;   // dwords
  uint16_t index = 0;  // register number
  bool is_vgpr() const { return kind == OperandKind::kVgpr; }
  bool is_sgpr() const { return kind == OperandKind::kSgpr; }
};

// What modifies the operands beyond the plain encoding.
enum class Extension : uint8_t { kNone, kSdwa, kDpp };

struct Inst {
  // Bound by the executor (exec/): what runs the instruction, and the lane loop it runs.
  void* exec = nullptr;
  void* core = nullptr;
  const uint32_t* lanes[3] =
      {};  // sources that are constants: 64 equal lanes (two such rows when 64 bits wide)

  const OpInfo* info = nullptr;  // nullptr: unknown words
  Op op = Op::kUnknown;
  Format format = Format::kNone;
  Extension ext = Extension::kNone;
  uint8_t words = 1;  // length in dwords

  Operand dst, sdst;  // sdst: carry out, compare result, lane mask
  Operand src[4];  // VALU/SALU: in order, src[3] = the lane mask in; memory: [0] address, [1] data,
                   // [2] data 2, [3] resource or scalar base
  Operand soffset;  // MUBUF, SMEM
  uint64_t constant[3] = {};
  uint32_t literal = 0;
  bool has_literal = false;

  // VOP3, VOP3P, SDWA and DPP modifiers, bit i for source i.
  uint8_t neg = 0, abs = 0, neg_hi = 0, op_sel = 0, op_sel_hi = 0, sext = 0;
  uint8_t omod = 0;  // 1: *2, 2: *4, 3: /2
  bool clamp = false;
  // SDWA: 0-3 byte, 4-5 word, 6 dword; dst_unused 0 pad, 1 sign-extend, 2 preserve.
  uint8_t sel[2] = {6, 6}, dst_sel = 6, dst_unused = 0;
  // DPP
  uint16_t dpp_ctrl = 0;
  uint8_t row_mask = 0xf, bank_mask = 0xf;
  bool bound_ctrl = false;

  int32_t imm = 0;      // simm16, memory offset (bytes), DS offset0
  uint8_t offset1 = 0;  // DS
  bool glc = false, slc = false, lds = false, gds = false, idxen = false, offen = false,
       tfe = false, nv = false;
  bool soffset_en = false, imm_en = false;  // SMEM
  uint8_t dfmt = 0, nfmt = 0;               // MTBUF

  uint32_t word[2] = {};  // raw
  uint32_t offset = 0;    // bytes from the start of its program
  int32_t target = -1;    // branches: index of the target in its program, or -1
};

// Decodes the instruction at `words` (at most `available` dwords, at least 1). Unknown words give
// an Inst with info == nullptr and words == 1. Constants, operands and modifiers are resolved;
// exec, core, lanes and target are not.
Inst decode_one(const uint32_t* words, uint32_t available);

bool is_branch(const Inst& i);      // s_branch, s_cbranch_*, s_call_b64: imm is the word offset
bool is_terminator(const Inst& i);  // s_endpgm*

}  // namespace gfx906

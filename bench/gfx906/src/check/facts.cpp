#include "check/facts.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "exec/wave.hpp"

namespace gfx906::check {
namespace {

bool any_prefix(std::string_view name, std::initializer_list<std::string_view> list) {
  for (const std::string_view p : list)
    if (name.starts_with(p)) return true;
  return false;
}

void add(std::array<Registers, 7>& list, uint8_t& n, const Operand& o) {
  if (n == list.size() || (!o.is_vgpr() && !o.is_sgpr())) return;
  list[n++] = {o.index, std::max<uint8_t>(o.width, 1), o.is_vgpr()};
}
void add(std::array<Registers, 3>& list, uint8_t& n, const Operand& o) {
  if (n == list.size() || (!o.is_vgpr() && !o.is_sgpr())) return;
  list[n++] = {o.index, std::max<uint8_t>(o.width, 1), o.is_vgpr()};
}

void vector_alu(Facts& f, const Inst& i, std::string_view name) {
  f.valu = true;
  for (const Operand& o : i.src) add(f.reads, f.read_count, o);
  if (any_prefix(name, {"v_mac_", "v_fmac_", "v_dot2c", "v_dot4c", "v_dot8c", "v_pk_fmac"}) ||
      (i.ext == Extension::kSdwa && i.dst_unused == 2))
    add(f.reads, f.read_count, i.dst);
  f.div_fmas = name.starts_with("v_div_fmas");
  if (f.div_fmas) add(f.reads, f.read_count, {OperandKind::kSgpr, 2, kVcc});
  add(f.writes, f.write_count, i.dst);
  add(f.writes, f.write_count, i.sdst);
  f.writes_exec = name.starts_with("v_cmpx");
  f.dpp = i.ext == Extension::kDpp;
  f.lane_select = i.op == Op::v_readlane_b32 || i.op == Op::v_writelane_b32;
  if (i.op == Op::v_swap_b32) {
    add(f.reads, f.read_count, i.dst);
    add(f.writes, f.write_count, i.src[0]);
  }
  const bool plain = i.ext == Extension::kNone;
  f.plain_copy = plain && (i.op == Op::v_mov_b32 || i.op == Op::v_cndmask_b32);
  // Compilers use the wide multiply-add for 32-bit results too, with anything in the high addend.
  f.carries_up = any_prefix(name, {"v_mad_u64_u32", "v_mad_i64_i32", "v_lshlrev_b64"});
  f.carries_down = any_prefix(name, {"v_lshrrev_b64", "v_ashrrev_i64"});
  f.compares = name.starts_with("v_cmp");
  f.forgets = any_prefix(name, {"v_readlane", "v_readfirstlane", "v_writelane", "v_swap", "v_perm",
                                "v_bfi", "v_align", "v_nop", "v_mov", "v_cndmask"}) ||
              i.ext != Extension::kNone;
}

void scalar_alu(Facts& f, const Inst& i, std::string_view name) {
  f.salu = true;
  add(f.reads, f.read_count, i.src[0]);
  add(f.reads, f.read_count, i.src[1]);
  const bool reads_dst = any_prefix(
      name, {"s_cmpk_", "s_setreg_b32", "s_addk", "s_mulk", "s_cmovk", "s_cmov", "s_bitset"});
  const bool writes = !any_prefix(name, {"s_cmpk_", "s_setreg"});
  if (reads_dst) add(f.reads, f.read_count, i.dst);
  if (writes) add(f.writes, f.write_count, i.dst);
  f.plain_copy = any_prefix(name, {"s_mov_b", "s_cselect", "s_cmov"});
  f.needs_m0 = any_prefix(name, {"s_movrel", "s_sendmsg"});
  f.jump = any_prefix(name, {"s_setpc", "s_swappc", "s_call"});
  if (name.starts_with("s_getreg")) f.hwreg_read = static_cast<int8_t>(i.imm & 63);
  if (name.starts_with("s_setreg")) f.hwreg_write = static_cast<int8_t>(i.imm & 63);
  if (i.op == Op::s_nop) f.states = static_cast<uint16_t>((i.imm & 15) + 1);
}

void memory(Facts& f, const Inst& i, std::string_view name) {
  for (const Operand& o : i.src) add(f.reads, f.read_count, o);
  add(f.reads, f.read_count, i.soffset);
  if (i.format == Format::SMEM) {
    f.smem = true;
    const bool atomic = name.find("atomic") != name.npos;
    if (atomic || name.find("store") != name.npos) add(f.reads, f.read_count, i.dst);
    f.load = name.find("load") != name.npos || name.starts_with("s_mem") || (atomic && i.glc);
    if (f.load) add(f.writes, f.write_count, i.dst);
    return;
  }
  add(f.writes, f.write_count, i.dst);
  f.load = i.dst.kind != OperandKind::kNone;
  f.half = name.find("d16") != name.npos;
  if (i.format == Format::DS) {
    f.ds = true;
    f.hidden_lds = name.find("addtid") != name.npos || name.find("src2") != name.npos;
    f.needs_m0 = i.gds || name.starts_with("ds_gws") || name.find("addtid") != name.npos;
    return;
  }
  f.vmem = true;
  f.flat = i.format == Format::FLAT;
  f.vm_counted = !name.starts_with("buffer_wbinvl1");
  f.needs_m0 = i.lds;
  const bool stores = !f.load || name.find("atomic") != name.npos;
  const bool buffer = i.format == Format::MUBUF || i.format == Format::MTBUF;
  f.wide_store = stores && i.src[1].width > 2 && !(buffer && i.soffset.is_sgpr());
  if (f.wide_store) f.store_data = {i.src[1].index, i.src[1].width, true};
}

void mark(Facts& f, const Registers& r) {
  for (uint32_t n = r.first; n < uint32_t{r.first} + r.count; ++n) {
    if (r.vector && n < 256) f.vectors[n / 64] |= uint64_t{1} << (n % 64);
    if (!r.vector && n < 192) f.scalars[n / 64] |= uint64_t{1} << (n % 64);
  }
}

// What follows from the rest.
void summarise(Facts& f, const Inst& i) {
  for (int k = 0; k < f.read_count; ++k) mark(f, f.reads[k]);
  for (int k = 0; k < f.write_count; ++k) {
    const Registers& r = f.writes[k];
    mark(f, r);
    f.writes_m0 |= f.salu && !r.vector && r.first <= kM0 && kM0 < r.first + r.count;
  }
  bool scalar_read = false, status_read = false;
  for (int k = 0; k < f.read_count; ++k) scalar_read |= !f.reads[k].vector;
  for (const Operand& o : i.src) status_read |= o.kind == OperandKind::kStatus;
  f.sensitive = (f.vmem && scalar_read) || f.dpp || f.div_fmas || f.lane_select ||
                (f.valu && status_read) || f.needs_m0 || f.hwreg_read >= 0 || f.hwreg_write >= 0;
  f.special = f.vmem || f.ds || f.smem || i.op == Op::s_waitcnt;
}

}  // namespace

Facts facts_of(const Inst& i) {
  Facts f;
  if (!i.info) return f;
  const std::string_view name = mnemonic(i.op);
  switch (i.format) {
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
    case Format::VOP3:
    case Format::VOP3P:
      vector_alu(f, i, name);
      break;
    case Format::SOP1:
    case Format::SOP2:
    case Format::SOPK:
    case Format::SOPC:
    case Format::SOPP:
      scalar_alu(f, i, name);
      break;
    default:
      memory(f, i, name);
  }
  summarise(f, i);
  return f;
}

std::vector<Facts> facts_of(const Program& p) {
  std::vector<Facts> all;
  all.reserve(p.insts().size());
  for (const Inst& i : p.insts()) all.push_back(facts_of(i));
  return all;
}

const std::vector<Facts>& FactBook::of(const Program& p) {
  const std::lock_guard lock(mutex_);
  auto& made = pages_[p.serial()];
  if (!made) made = std::make_unique<std::vector<Facts>>(facts_of(p));
  return *made;
}

}  // namespace gfx906::check

// Branches, calls, waits, messages, hardware registers.
#include <ctime>
#include <unordered_map>

#include "decode/program.hpp"
#include "exec/dispatch.hpp"
#include "exec/scalar.hpp"
#include "exec/scalar_read.hpp"

namespace gfx906 {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;

const Inst* next(WaveView&, const Inst* p) {
  return p + 1;
}

// Leaves the run loop; the wave goes on at `to` when its status is running again.
const Inst* stop(WaveView& w, WaveStatus status, const Inst* to) {
  w.status = status;
  w.ip = to;
  return nullptr;
}

template <class F>
const Inst* branch(WaveView& w, const Inst* p) {
  if (!F{}(w)) return p + 1;
  if (!p->core) return fault(w, p, Code::kFault, "branch to an address outside its function");
  return static_cast<const Inst*>(p->core);
}
template <class F>
ExecFn when(F) {
  return branch<F>;
}

const Inst* jump(WaveView& w, const Inst* p, u64 address) {
  const Program* program = w.program;
  if (address - program->base() >= program->size()) {
    const Result<const Program*> found = program->owner().program_at(address);
    if (!found) return fault(w, p, found.status().code(), found.status().message());
    program = *found;
    if (program->max_vgpr() > w.vgpr_count) {
      return fault(w, p, Code::kFault,
                   "called function " + program->name() + " uses " +
                       std::to_string(program->max_vgpr()) + " VGPRs, the kernel has " +
                       std::to_string(w.vgpr_count));
    }
  }
  const Inst* to = program->at(address);
  if (!to) return fault(w, p, Code::kFault, "jump into the middle of an instruction");
  w.program = program;
  return to;
}
u64 address_after(const WaveView& w, const Inst* p) {
  return w.program->address_of(*p) + 4ull * p->words;
}

const Inst* getpc(WaveView& w, const Inst* p) {
  w.write64(p->dst.index, address_after(w, p));
  return p + 1;
}
const Inst* setpc(WaveView& w, const Inst* p) {
  return jump(w, p, read_scalar64(w, *p, 0));
}
const Inst* swappc(WaveView& w, const Inst* p) {
  const u64 to = read_scalar64(w, *p, 0);
  w.write64(p->dst.index, address_after(w, p));
  return jump(w, p, to);
}
const Inst* call(WaveView& w, const Inst* p) {
  w.write64(p->dst.index, address_after(w, p));
  return jump(w, p, address_after(w, p) + static_cast<u64>(static_cast<int64_t>(p->imm) * 4));
}

const Inst* end_program(WaveView& w, const Inst* p) {
  return stop(w, WaveStatus::kEnded, p);
}
const Inst* barrier(WaveView& w, const Inst* p) {
  if (w.group->live == 1 && !w.trace) return p + 1;
  return stop(w, WaveStatus::kBarrier, p + 1);
}
const Inst* sleep_wave(WaveView& w, const Inst* p) {
  return stop(w, WaveStatus::kSleeping, p + 1);
}

const Inst* trap(WaveView& w, const Inst* p) {
  if (p->imm == 3) return p + 1;  // a debugger's breakpoint; there is none
  return fault(w, p, Code::kFault,
               p->imm == 2 ? "the kernel stopped itself (trap 2: abort, assert or unreachable code)"
                           : "trap " + std::to_string(p->imm));
}
const Inst* halt(WaveView& w, const Inst* p) {
  return p->imm & 1 ? fault(w, p, Code::kFault, "the wave halted itself and nothing can wake it")
                    : p + 1;
}
const Inst* send_message(WaveView& w, const Inst* p) {
  const Dispatch& d = *w.group->dispatch->dispatch;
  if ((p->imm & 15) == 1 && d.on_interrupt) d.on_interrupt(w.sgpr[kM0]);
  return p + 1;
}

// ---- register indexing: VGPR numbers are offset by M0[7:0] for the operands that M0[15:12] names
// ----

const Inst* index_on(WaveView& w, const Inst* p) {
  w.sgpr[kM0] = (w.sgpr[kM0] & 0xffff0f00u) | (read_scalar(w, *p, 0) & 255) |
                static_cast<u32>(p->imm & 15) << 12;
  w.gpr_idx = true;
  w.mode |= kGprIdxEn;
  return stop(w, WaveStatus::kRunning, p + 1);  // the run loop changes over
}
const Inst* index_off(WaveView& w, const Inst* p) {
  w.gpr_idx = false;
  w.mode &= ~static_cast<u32>(kGprIdxEn);
  return p + 1;
}
const Inst* index_mode(WaveView& w, const Inst* p) {
  w.sgpr[kM0] = (w.sgpr[kM0] & 0xffff0fffu) | static_cast<u32>(p->imm & 15) << 12;
  return p + 1;
}
const Inst* skip_vector(WaveView& w, const Inst* p) {
  const bool on = read_scalar(w, *p, 0) >> (read_scalar(w, *p, 1) & 31) & 1;
  if (on) return fault(w, p, Code::kUnsupported, "vector skip mode");
  w.mode &= ~static_cast<u32>(kVskip);
  return p + 1;
}

// ---- hardware registers ----

enum HwReg : u32 {
  kMode = 1,
  kStatus = 2,
  kTrapSts = 3,
  kHwId = 4,
  kGprAlloc = 5,
  kLdsAlloc = 6,
  kIbSts = 7,
  kShMemBases = 15
};

u32 read_register(const WaveView& w, u32 id) {
  const GroupState& g = *w.group;
  switch (id) {
    case kMode:
      return w.mode;
    case kStatus: {
      const u32 scc = w.scc & 1, execz = w.exec() == 0, vccz = w.vcc() == 0;
      return scc | 1u << 16 | execz << 9 | vccz << 10 | (g.waves.size() > 1 ? 1u << 11 : 0u);
    }
    case kHwId: {
      const u32 unit = static_cast<u32>(g.id.linear % g.dispatch->dispatch->compute_units);
      return (w.index / 4 & 15) | (w.index & 3) << 4 | (unit % 16) << 8 | (unit / 16 & 3) << 13;
    }
    case kGprAlloc:
      return (w.vgpr_count / 4 - 1) << 8;
    case kLdsAlloc:
      return (w.lds_size / 512) << 12;
    case kShMemBases:
      return static_cast<u32>(kPrivateAperture >> 48) | static_cast<u32>(kSharedAperture >> 48)
                                                            << 16;
    default:
      return 0;
  }
}
const Inst* get_register(WaveView& w, const Inst* p) {
  const u32 v = static_cast<uint16_t>(p->imm), offset = v >> 6 & 31, size = (v >> 11) + 1;
  const u32 mask = size >= 32 ? ~0u : (1u << size) - 1;
  w.sgpr[p->dst.index] = read_register(w, v & 63) >> offset & mask;
  return p + 1;
}
const Inst* set_register(WaveView& w, const Inst* p) {
  const u32 v = static_cast<uint16_t>(p->imm), offset = v >> 6 & 31, size = (v >> 11) + 1;
  const u32 mask = (size >= 32 ? ~0u : (1u << size) - 1) << offset;
  const u32 value = p->op == Op::s_setreg_imm32_b32 ? p->literal : w.sgpr[p->dst.index];
  if ((v & 63) == kMode) w.mode = (w.mode & ~mask) | (value << offset & mask);
  return p + 1;
}

// ---- global wave sync: barriers and semaphores over a whole dispatch ----

GwsResource& gws_resource(const WaveView& w, const Inst* p) {
  return w.group->dispatch->gws[((w.sgpr[kM0] >> 16 & 63) + static_cast<u32>(p->imm)) & 63];
}
u32 gws_value(const WaveView& w, const Inst* p) {
  const u64 exec = w.exec();
  return w.v(p->src[0].index)[exec ? __builtin_ctzll(exec) : 0];
}

const Inst* gws_init(WaveView& w, const Inst* p) {
  const std::lock_guard lock(w.group->dispatch->gws_mutex);
  GwsResource& r = gws_resource(w, p);
  r.count = gws_value(w, p);
  r.arrived = 0;
  return p + 1;
}
const Inst* gws_barrier(WaveView& w, const Inst* p) {
  const std::lock_guard lock(w.group->dispatch->gws_mutex);
  GwsResource& r = gws_resource(w, p);
  if (w.gws_wait) {  // arrived before: gone on when a new round has begun
    if (r.round == w.gws_wait - 1) return stop(w, WaveStatus::kSleeping, p);
    w.gws_wait = 0;
    return p + 1;
  }
  if (++r.arrived >= gws_value(w, p) + 1) {
    r.arrived = 0;
    ++r.round;
    return p + 1;
  }
  w.gws_wait = r.round + 1;
  return stop(w, WaveStatus::kSleeping, p);
}
const Inst* gws_signal(WaveView& w, const Inst* p) {
  const std::lock_guard lock(w.group->dispatch->gws_mutex);
  gws_resource(w, p).count += p->op == Op::ds_gws_sema_br ? gws_value(w, p) : 1;
  return p + 1;
}
const Inst* gws_wait(WaveView& w, const Inst* p) {
  const std::lock_guard lock(w.group->dispatch->gws_mutex);
  GwsResource& r = gws_resource(w, p);
  const bool released = w.gws_wait && r.releases != w.gws_wait - 1;
  if (!released && r.count == 0) {
    if (!w.gws_wait) w.gws_wait = r.releases + 1;
    return stop(w, WaveStatus::kSleeping, p);
  }
  if (!released) --r.count;
  w.gws_wait = 0;
  return p + 1;
}
const Inst* gws_release(WaveView& w, const Inst* p) {
  const std::lock_guard lock(w.group->dispatch->gws_mutex);
  ++gws_resource(w, p).releases;
  return p + 1;
}

using Map = std::unordered_map<Op, ExecFn>;

Map make_map() {
  Map m;
  for (const Op op : {Op::s_nop, Op::s_waitcnt, Op::s_setprio, Op::s_icache_inv, Op::s_incperflevel,
                      Op::s_decperflevel, Op::s_ttracedata, Op::s_wakeup, Op::s_setkill}) {
    m[op] = next;
  }
  m[Op::s_endpgm] = m[Op::s_endpgm_saved] = end_program;
  m[Op::s_barrier] = barrier;
  m[Op::s_sleep] = sleep_wave;
  m[Op::s_trap] = trap;
  m[Op::s_sethalt] = halt;
  m[Op::s_sendmsg] = m[Op::s_sendmsghalt] = send_message;
  m[Op::s_branch] = when([](const WaveView&) { return true; });
  m[Op::s_cbranch_scc0] = when([](const WaveView& w) { return w.scc == 0; });
  m[Op::s_cbranch_scc1] = when([](const WaveView& w) { return w.scc != 0; });
  m[Op::s_cbranch_vccz] = when([](const WaveView& w) { return w.vcc() == 0; });
  m[Op::s_cbranch_vccnz] = when([](const WaveView& w) { return w.vcc() != 0; });
  m[Op::s_cbranch_execz] = when([](const WaveView& w) { return w.exec() == 0; });
  m[Op::s_cbranch_execnz] = when([](const WaveView& w) { return w.exec() != 0; });
  for (const Op op : {Op::s_cbranch_cdbgsys, Op::s_cbranch_cdbguser, Op::s_cbranch_cdbgsys_or_user,
                      Op::s_cbranch_cdbgsys_and_user}) {
    m[op] = next;  // no debugger is attached
  }
  m[Op::s_getpc_b64] = getpc;
  m[Op::s_setpc_b64] = setpc;
  m[Op::s_swappc_b64] = swappc;
  m[Op::s_call_b64] = call;
  m[Op::s_getreg_b32] = get_register;
  m[Op::s_setreg_b32] = m[Op::s_setreg_imm32_b32] = set_register;
  m[Op::s_set_gpr_idx_on] = index_on;
  m[Op::s_set_gpr_idx_off] = index_off;
  m[Op::s_set_gpr_idx_mode] = index_mode;
  m[Op::s_set_gpr_idx_idx] = [](WaveView& w, const Inst* p) -> const Inst* {
    w.sgpr[kM0] = (w.sgpr[kM0] & ~255u) | (read_scalar(w, *p, 0) & 255);
    return p + 1;
  };
  m[Op::s_setvskip] = skip_vector;
  m[Op::ds_gws_init] = gws_init;
  m[Op::ds_gws_barrier] = gws_barrier;
  m[Op::ds_gws_sema_v] = m[Op::ds_gws_sema_br] = gws_signal;
  m[Op::ds_gws_sema_p] = gws_wait;
  m[Op::ds_gws_sema_release_all] = gws_release;
  return m;
}

}  // namespace

ExecFn control_handler(Op op) {
  static const Map map = make_map();
  const auto it = map.find(op);
  return it == map.end() ? nullptr : it->second;
}

}  // namespace gfx906

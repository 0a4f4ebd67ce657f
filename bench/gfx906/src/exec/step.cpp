// Steps a work-group: its waves in turn, each until it blocks or its share is used up.
#include <algorithm>

#include "decode/program.hpp"
#include "exec/dispatch.hpp"

namespace gfx906 {
namespace {

constexpr uint64_t kQuantum =
    4096;  // wave instructions before the next wave of the group gets its turn
constexpr uint32_t kPollLimit = 64;  // polls of memory after which a group is taken to be waiting

ExecFn exec_of(const Inst* p) {
  return reinterpret_cast<ExecFn>(p->exec);
}

void run_fast(WaveView& w, uint64_t n) {
  const Inst* ip = w.ip;
  const uint64_t all = n;
  do {
    w.ip = ip;  // for the report of a memory fault
    ip = exec_of(ip)(w, ip);
    --n;
  } while (ip && n);
  if (ip) w.ip = ip;
  w.count += all - n;
}

// One instruction with its vector registers offset by M0, as s_set_gpr_idx_on asks.
const Inst* run_indexed(WaveView& w, const Inst* p) {
  if (p->format < Format::VOP1 || p->format > Format::VOP3P) return exec_of(p)(w, p);
  Inst moved = *p;
  const uint32_t by = w.sgpr[kM0] & 255, which = w.sgpr[kM0] >> 12 & 15;
  const auto shift = [&](Operand& o, uint32_t bit) {
    if (!(which >> bit & 1) || !o.is_vgpr()) return true;
    o.index = static_cast<uint16_t>(o.index + by);
    return o.index + std::max<uint32_t>(o.width, 1) <= w.vgpr_count;
  };
  const bool ok = shift(moved.src[0], 0) && shift(moved.src[1], 1) && shift(moved.src[2], 2) &&
                  shift(moved.dst, 3);
  if (!ok)
    return fault(w, p, Code::kFault,
                 "indexed vector register is out of range (index " + std::to_string(by) + ")");
  const Inst* next = exec_of(p)(w, &moved);
  return next == &moved + 1 ? p + 1 : next ? p + 1 : nullptr;
}

void observe_one(WaveView& w, const Inst* p) {
  Trace& t = *w.trace;
  t.event.wave = w.index;
  t.event.inst = p;
  t.event.program = w.program;
  t.event.pc = w.program->address_of(*p);
  t.event.exec = w.exec();
  t.event.state = &w;
  t.observer->on_instruction(t.event);
}

// Indexed or observed: one instruction at a time.
void run_slow(WaveView& w, uint64_t n) {
  for (; n && w.status == WaveStatus::kRunning; --n) {
    const Inst* p = w.ip;
    if (!w.trace && !w.gpr_idx) return;
    if (w.trace) observe_one(w, p);
    const Inst* next = w.gpr_idx ? run_indexed(w, p) : exec_of(p)(w, p);
    ++w.count;
    if (next) w.ip = next;
    if (!w.trace) continue;
    Trace& t = *w.trace;
    t.observer->on_after(t.event);
    if (w.status == WaveStatus::kBarrier) t.observer->on_barrier(t.event);
    if (w.status == WaveStatus::kEnded) t.observer->on_wave_end(t.event);
  }
}

void run_wave(WaveView& w, uint64_t n) {
  const uint64_t end = w.count + n;
  while (w.status == WaveStatus::kRunning && w.count < end) {
    if (w.trace || w.gpr_idx) {
      run_slow(w, end - w.count);
    } else {
      run_fast(w, end - w.count);
    }
  }
}

void release_barrier(GroupState& g) {
  for (WaveView* w : g.waves) {
    if (w->status == WaveStatus::kBarrier) w->status = WaveStatus::kRunning;
  }
  g.at_barrier = 0;
  if (g.observed) g.trace.observer->on_barrier_release(*g.dispatch->dispatch, g.id);
}

}  // namespace

StepResult step_group(GroupState& g, uint64_t budget) {
  const uint64_t limit = g.instructions + budget;
  g.waiting = false;
  for (WaveView* w : g.waves) w->polls = 0;
  while (g.live) {
    bool ran = false, slept = false;
    uint32_t polls = 0;
    for (WaveView* w : g.waves) {
      if (w->status == WaveStatus::kSleeping) {  // slept through a turn
        w->status = WaveStatus::kRunning;
        slept = true;
      }
      if (w->status != WaveStatus::kRunning) continue;
      const uint64_t before = w->count;
      w->running = true;
      run_wave(*w, kQuantum);
      w->running = false;
      g.instructions += w->count - before;
      polls += w->polls;
      switch (w->status) {
        case WaveStatus::kFaulted:
          return StepResult::kFault;
        case WaveStatus::kEnded:
          --g.live;
          ran = true;
          break;
        case WaveStatus::kBarrier:
          ++g.at_barrier;
          ran = true;
          break;
        case WaveStatus::kSleeping:
          slept = true;
          break;
        default:
          ran = true;
      }
    }
    if (g.at_barrier && g.at_barrier == g.live) {
      release_barrier(g);
      ran = true;
    }
    if (!g.live) break;
    if ((slept && !ran) || polls > kPollLimit) {
      g.waiting = true;
      return StepResult::kYield;
    }
    if (g.instructions >= limit) return StepResult::kYield;
  }
  return StepResult::kDone;
}

}  // namespace gfx906

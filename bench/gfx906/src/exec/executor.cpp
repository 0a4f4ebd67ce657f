// The pool of host threads that runs the groups of all dispatches.
#include <csetjmp>
#include <csignal>
#include <list>
#include <thread>

#include <xmmintrin.h>

#include "decode/program.hpp"
#include "exec/bind.hpp"
#include "exec/dispatch.hpp"

namespace gfx906 {
namespace {

// ---- memory faults of kernels: the host's own fault, caught in the thread that runs the group
// ----

struct FaultFrame {
  sigjmp_buf jump;
  volatile uint64_t address = 0;
};
thread_local FaultFrame* current_frame = nullptr;
struct sigaction previous_segv, previous_bus;

void on_fault(int signal, siginfo_t* info, void* context) {
  if (current_frame) {
    current_frame->address = reinterpret_cast<uint64_t>(info->si_addr);
    siglongjmp(current_frame->jump, 1);
  }
  const struct sigaction& old = signal == SIGSEGV ? previous_segv : previous_bus;
  if (old.sa_flags & SA_SIGINFO) {
    old.sa_sigaction(signal, info, context);
  } else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
    old.sa_handler(signal);
  } else {
    sigaction(signal, &old, nullptr);  // not a kernel's: let it happen again
  }
}

// A host program may have put its own handler in place since the last dispatch; ours passes on what
// is not a kernel's.
void install_fault_handlers() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (const auto& [signal, previous] :
       {std::pair(SIGSEGV, &previous_segv), std::pair(SIGBUS, &previous_bus)}) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault) continue;
    *previous = now;
    struct sigaction a {};
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&a.sa_mask);
    sigaction(signal, &a, nullptr);
  }
}

// The host reports address 0 for addresses that no memory can have; the lanes' own addresses tell
// more.
std::string describe_fault(const WaveView& w, uint64_t address) {
  char text[160];
  snprintf(text, sizeof text, "memory fault at address 0x%llx",
           static_cast<unsigned long long>(address));
  std::string out = text;
  if (w.ip->format < Format::MUBUF || w.ip->format == Format::kNone) return out;
  const uint64_t exec = w.exec();
  for (int l = 0; l < 64; ++l) {
    const bool hit =
        address ? w.addr[l] <= address && address - w.addr[l] < 16 : w.addr[l] >> 47 != 0;
    if (!(exec >> l & 1) || !hit) continue;
    snprintf(text, sizeof text, " (lane %d: 0x%llx)", l,
             static_cast<unsigned long long>(w.addr[l]));
    return out + text;
  }
  return out;
}

// The error of the wave that a memory fault interrupted. Kept out of the function with sigsetjmp.
[[gnu::noinline]] void record_fault(GroupState& g, uint64_t address) {
  for (WaveView* w : g.waves) {
    if (w->status == WaveStatus::kRunning && w->running) {
      fault(*w, w->ip, Code::kFault, describe_fault(*w, address));
      return;
    }
  }
  char text[64];
  snprintf(text, sizeof text, "memory fault at address 0x%llx",
           static_cast<unsigned long long>(address));
  g.error = Status(Code::kFault, text);
}

StepResult guarded_step(GroupState& g, uint64_t budget) {
  FaultFrame frame;
  const unsigned csr = _mm_getcsr();
  if (sigsetjmp(frame.jump, 1) == 0) {
    current_frame = &frame;
    const StepResult r = step_group(g, budget);
    current_frame = nullptr;
    return r;
  }
  current_frame = nullptr;
  _mm_setcsr(csr);
  record_fault(g, frame.address);
  return StepResult::kFault;
}

}  // namespace

struct Executor::Impl {
  std::mutex mutex;
  std::condition_variable work;
  std::list<DispatchState*> active;  // the front is served next
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<GroupState>> spare;
  uint64_t slice = 1u << 16;
  bool quit = false;

  GroupState* take();
  GroupState* take_from(DispatchState& s);
  void loop();
  void settle(GroupState* g, StepResult r, uint64_t ran);
  void retire(DispatchState& s);
};

// A group of the dispatch to run next: those set aside in their order, with a new one now and then,
// so that kernels whose groups wait for later ones progress while others keep few groups in memory.
GroupState* Executor::Impl::take_from(DispatchState& s) {
  const bool can_start = !s.stopping && s.next < s.total && s.resident < s.resident_limit;
  if (can_start &&
      (s.suspended.empty() || s.suspended.front()->waiting || s.resumes_until_new == 0)) {
    GroupState* g;
    if (spare.empty()) {
      g = new GroupState;
    } else {
      g = spare.back().release();
      spare.pop_back();
    }
    g->dispatch = &s;
    g->waves.clear();
    g->id.linear = s.next++;
    ++s.resident;
    s.resumes_until_new = static_cast<uint32_t>(s.suspended.size());
    return g;
  }
  if (s.suspended.empty()) return nullptr;
  if (s.resumes_until_new) --s.resumes_until_new;
  GroupState* g = s.suspended.front();
  s.suspended.pop_front();
  return g;
}

GroupState* Executor::Impl::take() {
  for (size_t n = active.size(); n; --n) {
    DispatchState* s = active.front();
    active.splice(active.end(), active, active.begin());
    if (GroupState* g = take_from(*s)) return g;
  }
  return nullptr;
}

void Executor::Impl::retire(DispatchState& s) {
  --s.resident;
  const bool all = s.stopping ? s.resident == 0 : s.done == s.total;
  if (all) s.finished.notify_all();
}

// Called with the mutex held.
void Executor::Impl::settle(GroupState* g, StepResult r, uint64_t ran) {
  DispatchState& s = *g->dispatch;
  s.stats.wave_instructions += ran;
  if (r == StepResult::kFault && s.status.ok()) s.status = g->error;
  if (s.dispatch->cancel && *s.dispatch->cancel && s.status.ok()) {
    s.status =
        Status(Code::kCancelled, "kernel " + s.dispatch->kernel->info().name + ": cancelled");
  }
  if (!s.status.ok()) s.stopping = true;
  if (s.stopping) {
    for (GroupState* other : s.suspended) {
      spare.emplace_back(other);
      --s.resident;
    }
    s.suspended.clear();
  } else if (r == StepResult::kYield) {
    s.suspended.push_back(g);
    return;
  }
  ++s.done;
  ++s.stats.groups;
  s.stats.waves += g->waves.size();
  if (spare.size() < 64) {
    spare.emplace_back(g);
  } else {
    delete g;
  }
  retire(s);
}

void Executor::Impl::loop() {
  std::unique_lock lock(mutex);
  uint32_t idle = 0;
  while (!quit) {
    GroupState* g = take();
    if (!g) {
      work.wait(lock);
      continue;
    }
    DispatchState& s = *g->dispatch;
    lock.unlock();
    StepResult r = StepResult::kDone;
    bool skip = false;
    if (g->waves.empty()) {
      start_group(*g, s, g->id.linear);
      const GroupMode mode =
          s.observer ? s.observer->group_mode(*s.dispatch, g->id) : GroupMode::kFast;
      skip = mode == GroupMode::kSkip;
      g->observed = mode == GroupMode::kObserve;
      if (g->observed) {
        g->trace.observer = s.observer;
        g->trace.event = {};
        g->trace.event.dispatch = s.dispatch;
        g->trace.event.group = g->id;
        for (WaveView* w : g->waves) w->trace = &g->trace;
        s.observer->on_group_begin(*s.dispatch, g->id, static_cast<uint32_t>(g->waves.size()),
                                   {g->lds.get(), g->lds_size});
      }
    }
    const uint64_t before = g->instructions;
    if (!skip) r = guarded_step(*g, slice);
    const uint64_t ran = g->instructions - before;
    if (g->observed && r != StepResult::kYield) s.observer->on_group_end(*s.dispatch, g->id);
    // A thread that only meets waiting groups lets the host program run.
    idle = r == StepResult::kYield && g->waiting ? idle + 1 : 0;
    if (idle > 16) std::this_thread::yield();
    if (idle > 4096) std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock.lock();
    settle(g, r, ran);
  }
}

Executor::Executor(const ExecutorOptions& options) : impl_(std::make_unique<Impl>()) {
  host_isa(options.isa);
  impl_->slice = std::max(1024u, options.slice);
  uint32_t n = options.threads ? options.threads : std::thread::hardware_concurrency();
  if (n == 0) n = 1;
  for (uint32_t k = 0; k < n; ++k) impl_->threads.emplace_back([this] { impl_->loop(); });
}

Executor::~Executor() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->quit = true;
  }
  impl_->work.notify_all();
  for (std::thread& t : impl_->threads) t.join();
}

Status Executor::run(const Dispatch& dispatch, Observer* observer, RunStats* stats) {
  if (host_isa() == HostIsa::kNone)
    return Status(Code::kUnsupported, "the simulator needs a host with AVX2 and FMA");
  install_fault_handlers();
  DispatchState s;
  if (const Status p = prepare(s, dispatch); !p) return p;
  s.observer = observer;
  if (observer) observer->on_dispatch_begin(dispatch);
  {
    std::unique_lock lock(impl_->mutex);
    impl_->active.push_back(&s);
    impl_->work.notify_all();
    s.finished.wait(lock, [&] { return s.stopping ? s.resident == 0 : s.done == s.total; });
    impl_->active.remove(&s);
  }
  if (observer) observer->on_dispatch_end(dispatch, s.status, s.stats);
  if (stats) *stats = s.stats;
  return s.status;
}

Executor& Executor::shared() {
  // Never destroyed: threads of a host program may still be inside at its exit.
  static Executor* executor = new Executor;
  return *executor;
}

const char* Executor::isa() const {
  return isa_name(host_isa());
}

}  // namespace gfx906

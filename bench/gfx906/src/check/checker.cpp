#include "check/checker.hpp"

namespace gfx906::check {

namespace {
std::atomic<uint64_t> next_serial{1};
}

thread_local constinit Checker::Last Checker::last_;

Checker::Checker() : serial_(next_serial++) {}
Checker::~Checker() = default;

void Checker::on_dispatch_begin(const Dispatch& d) {
  auto made = std::make_unique<DispatchCheck>();
  made->dispatch = &d;
  uint64_t groups = 1;
  for (size_t i = 0; i < 3; ++i) groups *= (d.grid[i] - 1) / d.block[i] + 1;
  made->races = std::make_unique<GlobalRaces>(pages_, groups);
  made->facts = &facts_;
  made->alignment = alignment;
  made->served = d.hostcall_buffer || d.printf_buffer || d.multigrid_sync > 1 || d.heap ||
                 d.default_queue || d.queue;
  const std::lock_guard lock(mutex_);
  dispatches_[&d] = std::move(made);
}

void Checker::on_dispatch_end(const Dispatch& d, const Status&, const RunStats&) {
  const std::lock_guard lock(mutex_);
  // Groups are left here when the dispatch was stopped.
  for (const auto& [linear, g] : groups_[&d]) {
    g->dispatch = nullptr;
    idle_.push_back(g);
  }
  groups_.erase(&d);
  dispatches_.erase(&d);
}

void Checker::on_group_begin(const Dispatch& d, const GroupId& id, uint32_t waves,
                             std::span<uint8_t> lds) {
  GroupCheck* g;
  DispatchCheck* owner;
  {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      all_.push_back(std::make_unique<GroupCheck>(memory_, reports_));
      idle_.push_back(all_.back().get());
    }
    g = idle_.back();
    idle_.pop_back();
    owner = dispatches_[&d].get();
    groups_[&d][id.linear] = g;
  }
  g->begin(*owner, id, waves, lds);
  g->linear = id.linear;
  g->dispatch = &d;
}

void Checker::on_group_end(const Dispatch& d, const GroupId& id) {
  GroupCheck* g = group(d, id.linear);
  const std::lock_guard lock(mutex_);
  g->dispatch = nullptr;
  groups_[&d].erase(id.linear);
  idle_.push_back(g);
}

GroupCheck* Checker::find_group(const Dispatch& d, uint64_t linear) {
  const std::lock_guard lock(mutex_);
  last_ = {serial_, groups_[&d][linear]};
  return last_.group;
}

void Checker::on_instruction(const InstEvent& e) {
  group(*e.dispatch, e.group.linear)->before(e);
}
uint64_t Checker::on_memory(const InstEvent& e, MemAccess& m) {
  return group(*e.dispatch, e.group.linear)->access(e, m);
}
void Checker::on_after(const InstEvent& e) {
  group(*e.dispatch, e.group.linear)->after(e);
}
void Checker::on_barrier(const InstEvent& e) {
  group(*e.dispatch, e.group.linear)->barrier(e);
}
void Checker::on_barrier_release(const Dispatch& d, const GroupId& g) {
  group(d, g.linear)->barrier_release();
}

}  // namespace gfx906::check

#include "profile/profiler.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>

namespace gfx906::profile {
namespace {

std::string key_of(const Dispatch& d) {
  std::string key = d.kernel->info().name;
  const auto add = [&](uint32_t v) { key += '/' + std::to_string(v); };
  for (int k = 0; k < 3; ++k) add(d.grid[k]), add(d.block[k]);
  add(d.dynamic_lds);
  add(d.compute_units);
  return key;
}

// The arguments that a kernel's work may depend on: those that are not pointers.
std::string scalars_of(const Dispatch& d) {
  std::string text = "|";
  for (const ArgInfo& a : d.kernel->info().args) {
    if (a.kind != ArgKind::kByValue || a.size > 64) continue;
    if (size_t{a.offset} + a.size > d.kernarg.size()) continue;
    text.append(reinterpret_cast<const char*>(d.kernarg.data()) + a.offset, a.size);
  }
  return text;
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

uint64_t groups_of(const Dispatch& d) {
  uint64_t n = 1;
  for (int k = 0; k < 3; ++k) n *= (d.grid[k] + d.block[k] - 1) / std::max(1u, d.block[k]);
  return n;
}

// Ends each thread's memory of which group it serves.
std::atomic<uint64_t> epoch{1};
struct Served {
  uint64_t at = 0;
  const void* profiler = nullptr;
  const Dispatch* dispatch = nullptr;
  uint64_t linear = 0;
  GroupProfile* group = nullptr;
};
thread_local Served served;

struct Last {
  const void* profiler = nullptr;
  double seconds = -1, graph_seconds = -1;
};
thread_local Last last;

}  // namespace

// A dispatch under way.
struct Profiler::Launch {
  explicit Launch(const Parameters& p) : behind(p) {}
  bool watch = false, skip_others = false;
  uint64_t total = 1;
  uint32_t waves = 1;
  uint32_t per_run = 1, runs = 1;
  uint64_t known_key = 0;
  Occupancy occupancy;
  uint64_t l1_bytes = 0, l2_bytes = 0, groups_per_unit = 1;
  BehindL1 behind;
  std::mutex mutex;
  std::vector<std::unique_ptr<UnitCaches>> idle;  // compute units without a group
  std::unordered_map<uint64_t, std::unique_ptr<GroupProfile>> groups;  // by linear number
  Counters sum;
  std::atomic<uint64_t> instructions{0};
  uint64_t first_half = 0;  // of these, in the first half of the sample

  // The place of a group in the sample, or -1.
  int64_t place(uint64_t linear) const {
    if (!watch) return -1;
    if (runs == 1) return linear < per_run ? static_cast<int64_t>(linear) : -1;
    const uint64_t stride = total / runs, run = linear / stride;
    if (run >= runs || linear % stride >= per_run) return -1;
    return static_cast<int64_t>(run * per_run + linear % stride);
  }
  uint32_t sampled() const { return per_run * runs; }
  bool in_second_half(int64_t place_) const { return place_ * 2 >= int64_t{sampled()}; }
  // Instructions of a group of the launch over those of a watched one: groups that find nothing to
  // do may be rarer in the sample than in the launch, or more frequent.
  double relative_work(const RunStats& ran) const {
    const double watched = static_cast<double>(instructions.load(std::memory_order_relaxed)) /
                           static_cast<double>(std::max<uint64_t>(1, sum.groups));
    const double all = static_cast<double>(ran.wave_instructions) /
                       static_cast<double>(std::max<uint64_t>(1, ran.groups));
    return watched > 0 && all > 0 ? all / watched : 1;
  }

  // Called with the mutex held.
  std::unique_ptr<UnitCaches> take_unit(const Parameters& p) {
    if (idle.empty()) return std::make_unique<UnitCaches>(l1_bytes, p.scalar_cache_bytes);
    std::unique_ptr<UnitCaches> unit = std::move(idle.back());
    idle.pop_back();
    if (++unit->served < groups_per_unit) return unit;
    return std::make_unique<UnitCaches>(l1_bytes, p.scalar_cache_bytes);
  }
};

Profiler::Profiler(const Parameters& p, const Sampling& s) : p_(p), sampling_(s) {}
Profiler::~Profiler() = default;

Profiler::Launch* Profiler::launch_of(const Dispatch& d) const {
  const std::lock_guard lock(mutex_);
  const auto at = launches_.find(&d);
  return at == launches_.end() ? nullptr : at->second.get();
}

GroupProfile* Profiler::group_of(const Dispatch& d, const GroupId& id) const {
  const uint64_t now = epoch.load(std::memory_order_acquire);
  if (served.at == now && served.profiler == this && served.dispatch == &d &&
      served.linear == id.linear) {
    return served.group;
  }
  Launch* launch = launch_of(d);
  if (launch == nullptr) return nullptr;
  const std::lock_guard lock(launch->mutex);
  const auto at = launch->groups.find(id.linear);
  GroupProfile* group = at == launch->groups.end() ? nullptr : at->second.get();
  served = {now, this, &d, id.linear, group};
  return group;
}

KernelRecord& Profiler::record_of(const Dispatch& d, const Launch& launch) {
  constexpr size_t kMostRecords = 4096;
  const std::string scalars = scalars_of(d);
  auto at = records_.find(key_of(d) + scalars);
  if (at == records_.end())
    at = records_.try_emplace(records_.size() < kMostRecords ? key_of(d) + scalars : key_of(d))
             .first;
  KernelRecord& r = at->second;
  if (r.name.empty()) {
    if (records_.size() < kMostRecords) r.scalars = hex(scalars.substr(1));
    r.sample.total_groups = launch.total;
    r.info = d.kernel->info();
    r.name = r.info.name;
    r.grid = d.grid;
    r.block = d.block;
    r.dynamic_lds = d.dynamic_lds;
  }
  return r;
}

void Profiler::on_dispatch_begin(const Dispatch& d) {
  auto launch = std::make_unique<Launch>(p_);
  Launch& l = *launch;
  l.total = groups_of(d);
  // The groups of a cooperative launch may wait for each other.
  l.skip_others = sampling_.skip_others && !d.cooperative;
  const uint32_t threads = d.block[0] * d.block[1] * d.block[2];
  l.waves = std::max(1u, (threads + 63) / 64);
  l.occupancy = occupancy(d.kernel->info(), threads, d.dynamic_lds);
  l.known_key = std::hash<std::string>{}(key_of(d) + scalars_of(d));
  if (l.total <= sampling_.groups) {
    l.per_run = static_cast<uint32_t>(l.total);
  } else {
    l.runs = std::max(1u, sampling_.runs);
    l.per_run = std::max(1u, sampling_.groups / l.runs);
  }
  const uint64_t cus = std::max(1u, d.compute_units);
  const uint64_t per_cu =
      std::clamp<uint64_t>((l.total + cus - 1) / cus, 1, std::max(1u, l.occupancy.groups_per_cu));
  // Half of L1, not 1/n: resident groups share lines, and do not load all at once (chosen by the
  // published q8_0 matvec).
  l.l1_bytes = p_.l1_bytes / std::min<uint64_t>(per_cu, 2);
  l.groups_per_unit = (l.total + cus - 1) / cus;
  l.l2_bytes = p_.l2_bytes / std::min(l.total, per_cu * cus);
  const std::lock_guard lock(mutex_);
  Known& known = known_[l.known_key];
  const uint64_t nth = ++known.launches;
  l.watch = nth <= sampling_.launches || std::has_single_bit(nth) || known.seconds < 0;
  launches_[&d] = std::move(launch);
}

void Profiler::on_dispatch_end(const Dispatch& d, const Status& status, const RunStats& ran) {
  const std::lock_guard lock(mutex_);
  const auto at = launches_.find(&d);
  if (at == launches_.end()) return;
  const std::unique_ptr<Launch> launch = std::move(at->second);
  launches_.erase(at);
  epoch.fetch_add(1, std::memory_order_acq_rel);
  KernelRecord& record = record_of(d, *launch);
  Known& known = known_[launch->known_key];
  ++record.launches;
  if (launch->sum.groups != 0) {
    ++record.watched;
    LaunchSample& s = record.sample;
    s.counters = launch->sum;
    s.counters.again_lines = launch->behind.again();
    s.loaded = launch->behind.loaded();
    s.stored = launch->behind.stored();
    s.first_half_groups = static_cast<double>(launch->sum.groups * launch->first_half) /
                          static_cast<double>(std::max<uint64_t>(1, launch->instructions));
    s.channel_share = launch->behind.channel_share();
    s.truncated = launch->behind.truncated();
    s.total_groups = launch->total;
    if (status && !launch->skip_others) s.work = launch->relative_work(ran);
    s.waves_per_group = launch->waves;
    s.compute_units = d.compute_units;
    s.occupancy = launch->occupancy;
    record.estimate = estimate(s, p_);
    known.seconds = record.estimate.seconds;
    known.graph_seconds = record.estimate.graph_seconds;
  }
  last = {this, known.seconds, known.graph_seconds};
  if (known.seconds > 0) record.seconds += known.seconds;
}

double Profiler::seconds(bool in_graph) const {
  if (last.profiler != this) return -1;
  return in_graph ? last.graph_seconds : last.seconds;
}

GroupMode Profiler::group_mode(const Dispatch& d, const GroupId& id) {
  Launch* launch = launch_of(d);
  if (launch == nullptr) return GroupMode::kFast;
  const GroupMode other = launch->skip_others ? GroupMode::kSkip : GroupMode::kFast;
  if (launch->place(id.linear) < 0) return other;
  const bool enough = launch->instructions.load(std::memory_order_relaxed) > sampling_.instructions;
  return enough ? other : GroupMode::kObserve;
}

void Profiler::on_group_begin(const Dispatch& d, const GroupId& id, uint32_t waves,
                              std::span<uint8_t>) {
  Launch* launch = launch_of(d);
  if (launch == nullptr) return;
  const int64_t place = launch->place(id.linear);
  if (place < 0) return;
  const auto index = static_cast<uint32_t>(place);
  const uint32_t half = launch->in_second_half(place);
  const std::lock_guard lock(launch->mutex);
  auto group =
      std::make_unique<GroupProfile>(p_, launch->behind, launch->take_unit(p_), index, half,
                                     index / launch->per_run, waves, launch->l2_bytes);
  launch->groups[id.linear] = std::move(group);
  epoch.fetch_add(1, std::memory_order_acq_rel);
}

void Profiler::on_group_end(const Dispatch& d, const GroupId& id) {
  Launch* launch = launch_of(d);
  if (launch == nullptr) return;
  const std::lock_guard lock(launch->mutex);
  const auto at = launch->groups.find(id.linear);
  if (at == launch->groups.end()) return;
  const Counters& counters = at->second->finish();
  launch->sum.add(counters);
  uint64_t ran = 0;
  for (const uint64_t n : counters.instructions) ran += n;
  launch->instructions.fetch_add(ran, std::memory_order_relaxed);
  if (!launch->in_second_half(launch->place(id.linear))) launch->first_half += ran;
  launch->idle.push_back(at->second->take_unit());
  launch->groups.erase(at);
  epoch.fetch_add(1, std::memory_order_acq_rel);
}

void Profiler::on_instruction(const InstEvent& e) {
  if (GroupProfile* g = group_of(*e.dispatch, e.group)) g->before(e);
}
uint64_t Profiler::on_memory(const InstEvent& e, MemAccess& m) {
  if (GroupProfile* g = group_of(*e.dispatch, e.group)) g->access(e, m);
  return m.lanes;
}
void Profiler::on_after(const InstEvent& e) {
  if (GroupProfile* g = group_of(*e.dispatch, e.group)) g->after(e);
}
void Profiler::on_barrier_release(const Dispatch& d, const GroupId& id) {
  if (GroupProfile* g = group_of(d, id)) g->barrier_release();
}

std::vector<KernelRecord> Profiler::records() const {
  std::vector<KernelRecord> out;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, record] : records_) out.push_back(record);
  std::sort(out.begin(), out.end(),
            [](const KernelRecord& a, const KernelRecord& b) { return a.seconds > b.seconds; });
  return out;
}
std::string Profiler::json() const {
  return to_json(records(), p_, sampling_);
}
std::string Profiler::table() const {
  return to_table(records(), p_);
}

}  // namespace gfx906::profile

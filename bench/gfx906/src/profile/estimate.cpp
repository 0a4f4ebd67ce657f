#include "profile/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace gfx906::profile {
namespace {

// Lines of the whole launch, from those of the sample and of its first half: what the second half
// added is what further groups add. Data that all groups share is thus counted once. A half that
// did hardly any of the work says nothing.
double whole_footprint(const BehindL1::Footprint& f, double first_groups, double groups,
                       double total) {
  if (groups <= 0) return 0;
  const double all = static_cast<double>(f.all), rest = groups - first_groups;
  if (total <= groups) return all * total / groups;
  const double per_group = rest > 0.1 * groups && first_groups > 0
                               ? (all - static_cast<double>(f.first_half)) / rest
                               : all / groups;
  return all + per_group * (total - groups);
}

// The share of the pins' rate that a mix of reads and writes gets.
double hbm_rate(double read, double write, double channel_share, const Parameters& p) {
  const double rarer = std::min(read, write) / std::max(read + write, 1.0);
  return p.hbm_peak * (p.hbm_efficiency - p.hbm_turnaround * rarer) * channel_share;
}

void name_limit(Estimate& e, double exec, double floor) {
  const double issue = std::max({e.valu, e.salu, e.vmem, e.lds_issue});
  const std::pair<double, const char*> all[] = {
      {issue, "issue"}, {e.lds, "LDS"},         {e.l1, "L1"},          {e.l2, "L2"},
      {e.hbm, "HBM"},   {e.latency, "latency"}, {e.dispatch, "launch"}};
  e.limit = std::max_element(std::begin(all), std::end(all), [](const auto& a, const auto& b) {
              return a.first < b.first;
            })->second;
  if (e.start > exec || e.seconds <= floor) e.limit = "launch";
}

}  // namespace

Estimate estimate(const LaunchSample& s, const Parameters& p) {
  Estimate e;
  const Counters& c = s.counters;
  e.start = p.start_seconds;
  if (c.groups == 0) {
    e.seconds = p.floor_seconds;
    e.graph_seconds = p.graph_floor_seconds;
    e.limit = "launch";
    return e;
  }
  // The ramp is the way to memory and back; a kernel that reads none has no ramp.
  if (c.vector_accesses == 0) e.start = 0;
  // As many groups like the watched ones as do the launch's work.
  const double n = static_cast<double>(c.groups),
               total = std::max(1.0, static_cast<double>(s.total_groups) * s.work);
  const double cus = std::max(1u, s.compute_units), hz = p.clock_hz;
  // The fullest compute unit and its fullest SIMD decide.
  const double groups_cu = std::ceil(total / cus);
  const double waves_simd = std::ceil(groups_cu * s.waves_per_group / p.simds);
  const double waves = std::max<double>(1, static_cast<double>(c.waves));
  const auto simd = [&](uint64_t clocks) {
    return static_cast<double>(clocks) / waves * waves_simd / hz;
  };
  const auto cu = [&](double clocks) { return clocks / n * groups_cu / hz; };
  e.valu = simd(c.valu_clocks) / p.valu_efficiency;
  e.salu = simd(c.salu_clocks);
  e.vmem = simd(c.vmem_clocks);
  e.lds_issue = simd(c.lds_issue_clocks);
  e.lds = cu(c.lds_clocks);
  // L1 looks up lines, and takes one a clock from L2.
  e.l1 = cu(static_cast<double>(std::max(c.l1_clocks, c.l1_fills))) / p.l1_efficiency;

  const double scale = total / n;
  e.l2_bytes = static_cast<double>(c.l2_lines) * kLine * scale;
  e.l2 = (static_cast<double>(c.l2_lines) + static_cast<double>(c.l2_atomic_clocks)) * scale /
         (p.l2_slices * hz * p.l2_efficiency);
  const double first = s.first_half_groups;
  e.hbm_read_bytes = kLine * (whole_footprint(s.loaded, first, n, total) +
                              static_cast<double>(c.again_lines) * scale);
  e.hbm_write_bytes = kLine * whole_footprint(s.stored, first, n, total);
  e.hbm = (e.hbm_read_bytes + e.hbm_write_bytes) /
          hbm_rate(e.hbm_read_bytes, e.hbm_write_bytes, s.channel_share, p);

  // Groups that fit side by side overlap their waits; the others come after them.
  const double resident = std::max<double>(1, s.occupancy.groups_per_cu);
  e.latency = c.group_clocks / n * std::max(1.0, groups_cu / resident) / hz;
  e.waves_per_simd = std::min(waves_simd, std::ceil(resident * s.waves_per_group / p.simds));

  e.dispatch =
      p.wave_start_clocks * static_cast<double>(s.total_groups) * s.waves_per_group / (4 * hz);

  double sum = 0;
  const double all[] = {e.valu, e.salu, e.vmem, e.lds_issue, e.lds,
                        e.l1,   e.l2,   e.hbm,  e.latency,   e.dispatch};
  const double slowest = std::max(1e-12, *std::max_element(std::begin(all), std::end(all)));
  for (const double t : all) sum += std::pow(t / slowest, p.overlap_power);
  const double exec = slowest * std::pow(sum, 1 / p.overlap_power);
  e.seconds = std::max(p.floor_seconds, e.start + exec);
  e.graph_seconds = std::max(p.graph_floor_seconds, e.start + exec);

  const double stall = c.vmem_stall + c.lgkm_stall + c.barrier_stall;
  const double all_stalls = stall / waves * waves_simd / hz;
  const double busy = std::max({e.valu, e.salu, e.lds, e.l1});
  if (all_stalls > 0) e.stalls_hidden = std::clamp(1 - (exec - busy) / all_stalls, 0.0, 1.0);
  name_limit(e, exec, p.floor_seconds);
  return e;
}

}  // namespace gfx906::profile

// The reports of the cost model: JSON for programs, a table for people.
#include <cxxabi.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "profile/profiler.hpp"

namespace gfx906::profile {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\u%04x", static_cast<unsigned>(c));
      out += hex;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// Members of one JSON object, in order.
class Object {
 public:
  Object& text(const char* name, const std::string& value) { return raw(name, quoted(value)); }
  Object& number(const char* name, double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", value);
    return raw(name, digits);
  }
  Object& count(const char* name, uint64_t value) { return raw(name, std::to_string(value)); }
  Object& flag(const char* name, bool value) { return raw(name, value ? "true" : "false"); }
  Object& raw(const char* name, const std::string& value) {
    body_ += body_.empty() ? "" : ",";
    body_ += quoted(name) + ":" + value;
    return *this;
  }
  std::string str() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

std::string triple(const std::array<uint32_t, 3>& v) {
  return "[" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + "]";
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string out = status == 0 && text ? text : name;
  std::free(text);
  return out;
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

std::string parameters_json(const Parameters& p) {
  return Object()
      .number("clock_hz", p.clock_hz)
      .number("hbm_peak_bytes_per_second", p.hbm_peak)
      .number("hbm_efficiency", p.hbm_efficiency)
      .number("hbm_turnaround", p.hbm_turnaround)
      .number("valu_efficiency", p.valu_efficiency)
      .number("lds_efficiency", p.lds_efficiency)
      .number("l1_efficiency", p.l1_efficiency)
      .number("l2_efficiency", p.l2_efficiency)
      .number("l1_latency_clocks", p.l1_latency)
      .number("l2_latency_clocks", p.l2_latency)
      .number("hbm_latency_clocks", p.hbm_latency)
      .number("lds_latency_clocks", p.lds_latency)
      .number("scalar_latency_clocks", p.scalar_latency)
      .number("scalar_miss_latency_clocks", p.scalar_miss_latency)
      .number("branch_clocks", p.branch_clocks)
      .number("lds_floor_clocks", p.lds_floor)
      .number("crossbar_clocks", p.crossbar_clocks)
      .number("wave_start_clocks", p.wave_start_clocks)
      .number("start_seconds", p.start_seconds)
      .number("floor_seconds", p.floor_seconds)
      .number("graph_floor_seconds", p.graph_floor_seconds)
      .count("l1_lookups_per_clock", p.l1_lookups)
      .number("overlap_power", p.overlap_power)
      .str();
}

// Counts per launch, extrapolated from the sample.
std::string counts_json(const LaunchSample& s) {
  const Counters& c = s.counters;
  const double scale =
      ratio(static_cast<double>(s.total_groups) * s.work, static_cast<double>(c.groups));
  const auto whole = [&](auto v) { return static_cast<double>(v) * scale; };
  Object classes;
  for (size_t k = 0; k < kClasses; ++k)
    classes.number(name_of(static_cast<Class>(k)), whole(c.instructions[k]));
  uint64_t valu = 0;
  for (size_t k = 0; k <= static_cast<size_t>(Class::kDot); ++k) valu += c.instructions[k];
  return Object()
      .raw("instructions", classes.str())
      .number("valu_issue_clocks", whole(c.valu_clocks))
      .number("salu_issue_clocks", whole(c.salu_clocks))
      .number("vmem_issue_clocks", whole(c.vmem_clocks))
      .number("lds_issue_clocks", whole(c.lds_issue_clocks))
      .number("valu_active_lanes",
              ratio(static_cast<double>(c.active_lanes), static_cast<double>(valu)))
      .number("lds_clocks", whole(c.lds_clocks))
      .number("lds_accesses", whole(c.lds_accesses))
      .number("lds_bank_conflict_clocks", whole(c.lds_conflict_clocks))
      .number("vector_accesses", whole(c.vector_accesses))
      .number("lines_per_access",
              ratio(static_cast<double>(c.access_lines), static_cast<double>(c.vector_accesses)))
      .number("line_use", ratio(static_cast<double>(c.access_bytes),
                                static_cast<double>(c.access_lines) * kLine))
      .number("l1_clocks", whole(c.l1_clocks))
      .number("l1_hit_rate", ratio(static_cast<double>(c.l1_hits), static_cast<double>(c.l1_lines)))
      .number("l2_lines", whole(c.l2_lines))
      .number("l2_hit_rate", ratio(static_cast<double>(c.l2_hits), static_cast<double>(c.l2_lines)))
      .number("scalar_hit_rate",
              ratio(static_cast<double>(c.scalar_hits), static_cast<double>(c.scalar_loads)))
      .number("scratch_bytes", whole(c.scratch_bytes))
      .number("again_bytes", whole(c.again_lines) * kLine)
      .str();
}

// Clocks per wave, on a card that it has for itself.
std::string waits_json(const LaunchSample& s, const Estimate& e) {
  const Counters& c = s.counters;
  const double waves = static_cast<double>(c.waves);
  return Object()
      .number("wave_clocks", ratio(c.wave_clocks, waves))
      .number("memory", ratio(c.vmem_stall, waves))
      .number("lds_and_scalar", ratio(c.lgkm_stall, waves))
      .number("barrier", ratio(c.barrier_stall, waves))
      .number("branch", ratio(c.branch_stall, waves))
      .number("hidden_by_other_waves", e.stalls_hidden)
      .str();
}

std::string seconds_json(const Estimate& e) {
  return Object()
      .number("valu", e.valu)
      .number("salu", e.salu)
      .number("vmem_issue", e.vmem)
      .number("lds_issue", e.lds_issue)
      .number("lds", e.lds)
      .number("l1", e.l1)
      .number("l2", e.l2)
      .number("hbm", e.hbm)
      .number("dispatch", e.dispatch)
      .number("latency", e.latency)
      .number("start", e.start)
      .str();
}

std::string kernel_json(const KernelRecord& r) {
  const Estimate& e = r.estimate;
  const LaunchSample& s = r.sample;
  const std::string occupied = Object()
                                   .count("waves_per_simd", s.occupancy.waves_per_simd)
                                   .count("groups_per_cu", s.occupancy.groups_per_cu)
                                   .text("limit", s.occupancy.limit)
                                   .number("waves_per_simd_present", e.waves_per_simd)
                                   .str();
  return Object()
      .text("name", demangled(r.name))
      .text("symbol", r.name)
      .text("scalar_arguments", r.scalars)
      .raw("grid", triple(r.grid))
      .raw("block", triple(r.block))
      .count("vgprs", r.info.vgpr_count)
      .count("sgprs", r.info.sgpr_count)
      .count("lds_bytes", r.info.lds_size + r.dynamic_lds)
      .count("scratch_bytes_per_lane", r.info.scratch_size)
      .count("code_bytes", r.info.code_size)
      .count("launches", r.launches)
      .count("watched_launches", r.watched)
      .count("groups", s.total_groups)
      .count("watched_groups", s.counters.groups)
      .number("work_of_a_group_over_a_watched_one", s.work)
      .flag("footprint_truncated", s.truncated)
      .number("total_seconds", r.seconds)
      .number("seconds", e.seconds)
      .number("seconds_in_a_graph", e.graph_seconds)
      .text("limit", e.limit)
      .raw("resource_seconds", seconds_json(e))
      .raw("occupancy", occupied)
      .number("hbm_read_bytes", e.hbm_read_bytes)
      .number("hbm_write_bytes", e.hbm_write_bytes)
      .number("hbm_bytes_per_second", ratio(e.hbm_read_bytes + e.hbm_write_bytes, e.seconds))
      .number("channel_share", s.channel_share)
      .raw("counts", counts_json(s))
      .raw("waits", waits_json(s, e))
      .str();
}

}  // namespace

const std::vector<std::string>& assumptions() {
  static const std::vector<std::string> text = {
      "the engine clock stays at its peak: no power or thermal limit",
      "L2 holds nothing of earlier launches",
      "lines that two watched groups touch are fetched from HBM once; further groups add as many "
      "new "
      "lines as the second half of the sample did",
      "a resident group has half of L1, and its share of L2 for the lines that it alone touches",
      "the watched groups stand for all groups of a launch, in proportion to the instructions that "
      "all ran (one for one with --sample-only), and a launch stands for later ones of "
      "the same kernel, shape and scalar arguments (watched again on the 4th, 8th, 16th ... time)",
      "polling loops count as often as the host happened to run them",
      "the instruction cache always hits",
      "HBM channels interleave every 256 bytes of the address, without hashing",
      "resources overlap: time = start + (sum of t^p)^(1/p) over them, never below the launch "
      "floor",
  };
  return text;
}

std::string to_json(const std::vector<KernelRecord>& records, const Parameters& p,
                    const Sampling& s) {
  std::string list, kernels;
  for (const std::string& a : assumptions()) list += (list.empty() ? "" : ",") + quoted(a);
  double seconds = 0;
  uint64_t launches = 0;
  for (const KernelRecord& r : records) {
    kernels += (kernels.empty() ? "\n  " : ",\n  ") + kernel_json(r);
    seconds += r.seconds;
    launches += r.launches;
  }
  const std::string sampling = Object()
                                   .count("groups", s.groups)
                                   .count("runs", s.runs)
                                   .count("instructions", s.instructions)
                                   .count("launches", s.launches)
                                   .str();
  return Object()
             .raw("parameters", parameters_json(p))
             .raw("assumptions", "[" + list + "]")
             .raw("sampling", sampling)
             .count("launches", launches)
             .number("kernel_seconds", seconds)
             .raw("kernels", "[" + kernels + "]")
             .str() +
         "\n";
}

std::string to_table(const std::vector<KernelRecord>& records, const Parameters&) {
  std::string out =
      "  total ms  launches    us each  limit    issue%  LDS%   L1%   L2%  HBM%  lat%   GB/s  w/S  "
      "kernel\n";
  double total = 0;
  for (const KernelRecord& r : records) {
    const Estimate& e = r.estimate;
    const auto percent = [&](double t) { return 100 * ratio(t, e.seconds); };
    const double issue = std::max({e.valu, e.salu, e.vmem, e.lds_issue});
    char line[256];
    std::snprintf(line, sizeof line,
                  "%10.3f %9llu %10.2f  %-8s %5.0f %5.0f %5.0f %5.0f %5.0f %5.0f %6.0f %4.0f  ",
                  r.seconds * 1e3, static_cast<unsigned long long>(r.launches), e.seconds * 1e6,
                  e.limit, percent(issue), percent(e.lds), percent(e.l1), percent(e.l2),
                  percent(e.hbm), percent(e.latency),
                  ratio(e.hbm_read_bytes + e.hbm_write_bytes, e.seconds) * 1e-9, e.waves_per_simd);
    out +=
        line + demangled(r.name).substr(0, 100) + " <" + triple(r.grid) + triple(r.block) + ">\n";
    total += r.seconds;
  }
  char line[96];
  std::snprintf(line, sizeof line, "%10.3f ms of kernels by the model (MI50)\n", total * 1e3);
  return out + line;
}

}  // namespace gfx906::profile

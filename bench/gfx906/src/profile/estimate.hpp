// From what a sample of groups did to the time of the whole launch.
#pragma once

#include <cstdint>

#include "machine.hpp"
#include "profile/group_profile.hpp"

namespace gfx906::profile {

// What the sample of a launch says, and how large the launch is.
struct LaunchSample {
  Counters counters;  // sums over the watched groups
  BehindL1::Footprint loaded, stored;
  double first_half_groups = 0;  // watched groups of the sample's first half, by their work
  double channel_share = 1;
  bool truncated = false;
  uint64_t total_groups = 1;
  double work = 1;  // of a group of the launch, on average, over that of a watched one
  uint32_t waves_per_group = 1;
  uint32_t compute_units = 60;
  Occupancy occupancy;
};

// Seconds each resource would need alone.
struct Estimate {
  double valu = 0, salu = 0, vmem = 0, lds_issue = 0;  // issue slots of the SIMDs
  double lds = 0, l1 = 0, l2 = 0, hbm = 0, latency = 0;
  double dispatch = 0;       // starting the waves
  double start = 0;          // fixed part of a launch
  double seconds = 0;        // the estimate, for a launch in a stream
  double graph_seconds = 0;  // and as a node of a graph
  const char* limit = "";    // "issue", "LDS", "L1", "L2", "HBM", "latency", "launch"
  double hbm_read_bytes = 0, hbm_write_bytes = 0, l2_bytes = 0;
  double waves_per_simd = 0;  // that are there, on the fullest compute unit
  double stalls_hidden = 1;   // share of the waves' own waiting that other waves cover
};

Estimate estimate(const LaunchSample& sample, const Parameters& p);

}  // namespace gfx906::profile

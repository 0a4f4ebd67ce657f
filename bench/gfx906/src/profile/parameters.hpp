// Every number of the cost model that is not counted: the chip's rates and what was fitted on
// published measurements of real cards. `fitted` in the comments names the figure; the others are
// the chip's own data or planning values. The program gfx906-cost-figures holds the figures and
// judges the model on those that nothing was fitted on.
#pragma once

#include <cstdint>

namespace gfx906::profile {

struct Parameters {
  // The chip.
  double clock_hz = 1.725e9;           // engine clock
  uint32_t simds = 4;                  // per compute unit
  uint32_t l1_bytes = 16384;           // vector cache of a compute unit
  uint32_t l2_bytes = 4u << 20;        // of the chip
  uint32_t l2_slices = 16;             // 64 B per clock each
  uint32_t scalar_cache_bytes = 5461;  // 16 KiB shared by three compute units: a third
  uint32_t channels = 32;              // HBM2 channels
  uint32_t channel_bytes = 256;        // consecutive bytes of one channel (likely, not published)
  double hbm_peak = 1024e9;            // bytes per second

  // Shares of the peaks that real kernels reach.
  double valu_efficiency = 0.97;  // fitted: f32 FMA on a 64-CU die at 1.73 GHz, 13.8 TFLOP/s
  double hbm_efficiency = 0.86;   // fitted: long stream read, 870 GB/s
  double hbm_turnaround = 0.26;   // share lost per share of the rarer direction; fitted: copy
  double lds_efficiency = 0.85;   // fitted: ds_read_b128, 11.2 TB/s
  double l1_efficiency = 0.95;
  double l2_efficiency = 0.85;

  // Distinct lines that L1 looks up per clock, for the four lanes it serves when they do not lie in
  // one line: AMD's notes on memory coalescing for this family (four lanes a clock).
  uint32_t l1_lookups = 4;

  // Latencies in clocks, without load.
  double l1_latency = 130;
  double l2_latency = 300;
  double hbm_latency = 550;  // fitted: about 500 measured, 500-700 taken for planning
  double lds_latency = 64;
  double scalar_latency = 60;        // scalar cache hit
  double scalar_miss_latency = 250;  // and miss, served by L2
  double branch_clocks = 16;         // a taken branch
  double barrier_clocks = 12;

  // The least an LDS instruction occupies the LDS of its compute unit, in clocks, and a cross-lane
  // one (ds_bpermute_b32 and the like); fitted: ds_bpermute_b32, 965 G exchanges/s.
  double lds_floor = 6.0;
  double crossbar_clocks = 6.6;

  // A launch. t = start + N/BW is the law seen for short streams; a small kernel never takes less
  // than the floor from the one before to the one after.
  double start_seconds = 2.6e-6;        // fitted: 8.4 MB read in 12.3 us
  double floor_seconds = 4.2e-6;        // fitted: 1300 small kernels in 5.8 ms
  double graph_floor_seconds = 1.2e-6;  // between nodes of a graph; fitted: 8 in 17.8 us
  double wave_start_clocks = 1;         // of each of the four shader engines, per wave

  // How sharply the slowest resource hides the others: exec = (sum t^p)^(1/p).
  double overlap_power = 8;
};

// What to watch of a large launch.
struct Sampling {
  uint32_t groups = 64;               // at most this many groups of a launch, in runs of neighbours
  uint32_t runs = 4;                  // spread over the launch
  uint64_t instructions = 8'000'000;  // watched per launch; the groups after that run unwatched
  uint32_t launches = 2;  // of one kernel, shape and scalar arguments; then the 4th, 8th, 16th ...
  // Groups that are not watched do not run, but in cooperative launches: for estimates without
  // results.
  bool skip_others = false;
};

}  // namespace gfx906::profile

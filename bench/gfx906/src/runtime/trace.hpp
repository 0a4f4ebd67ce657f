// The timeline of a program: each launch, copy and fill on all cards, written as a Chrome trace
// (chrome://tracing, Perfetto) to GFX906_SIM_TRACE at the program's end, and the modelled clock
// behind it.
#pragma once

#include <cstdint>

#include "work.hpp"

namespace gfx906::rt {

// True when times come from the cost model instead of this host's clock.
bool modelled_time();

// The calling host thread's place on the modelled clock, in seconds.
double host_model_time();
void advance_host(double seconds);
void host_waits_until(double model_time);

// Stands in every API function: between two of them the modelled clock goes on by the processor
// time that the host program itself used, on this host (not with GFX906_SIM_NO_HOST_TIME).
class HostCall {
 public:
  HostCall();
  ~HostCall();
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;
};

// Modelled costs of what is not a kernel (published MI50 measurements; see the README's table).
constexpr double kLaunchIssueSeconds = 5e-6;     // host time of one launch call
constexpr double kGraphNodeIssueSeconds = 5e-7;  // the same per node of a replayed graph
constexpr double kWakeSeconds = 3e-6;  // until a waiting host thread knows that work has ended
constexpr double kKernelFloorSeconds = 4e-6;  // device time between two small kernels of a stream
constexpr double kCopyFloorSeconds = 10e-6;
constexpr double kPcieBytesPerSecond = 12e9;
constexpr double kDeviceBytesPerSecond = 870e9;

double copy_model_seconds(uint64_t bytes, int source_card, int target_card);

// Seconds since the process began to use cards, on the host's clock.
double host_clock();

// Opens the file that GFX906_SIM_TRACE names, unless it is open.
void open_trace();

// Adds one finished piece of work. start and end in seconds of the clock in use.
void trace_work(int card, int queue, const WorkReport& report, double start, double end);

}  // namespace gfx906::rt

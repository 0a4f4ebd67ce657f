// veloce-bench kernel: times one op of the CPU backend in one shape, against what the machine gives
// at best.
//
// Before timing, the result is compared with the scalar oracle (ref/), so that a fast wrong kernel
// cannot win. Operands are cycled through copies that together exceed the last-level cache. A
// sample is a few runs in a row, so that it takes milliseconds; the row gives the median and the
// spread of at least 30 of them.
//
// Limit and ratio: the time at which the bytes that must be moved (ops/cost.hpp) come at the
// measured bandwidth, and the time at which the operations are done at the measured rate of byte
// dots or float multiply-adds; the larger of both is the floor, and the ratio is floor / median.
#pragma once

#include <string>
#include <vector>

#include "bench/kernel_case.hpp"
#include "bench/machine_probe.hpp"

namespace CLI {
class App;
}

namespace veloce::bench {

struct KernelBenchOptions {
  KernelShape shape;
  std::vector<std::string> formats = {"Q4_K"};
  std::vector<int> columns = {1};
  int threads = 0, samples = 31;
  std::string output = "table";  // table, json, csv
  bool check = true;
};

struct KernelRow {
  std::string op, format, shape, limit;  // limit: "memory", "dots" or "fma"
  int threads = 0, samples = 0, copies = 0;
  Cost cost;
  double median = 0, fastest = 0, slowest = 0;  // seconds
  double gigabytes() const { return double(cost.bytes) / median * 1e-9; }
  double gigaops() const { return double(cost.operations) / median * 1e-9; }
  double ratio = 0;
};

// Times the case; `ceilings` give limit and ratio.
KernelRow time_case(KernelCase& c, cpu::Pool& pool, int samples, const Ceilings& ceilings);

// Adds the subcommand "kernel". It throws CLI::RuntimeError after printing what went wrong.
void add_kernel_bench(CLI::App& app);

}  // namespace veloce::bench

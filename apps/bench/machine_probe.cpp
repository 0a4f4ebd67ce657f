#include "bench/machine_probe.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>

#include "veloce/model/arena.hpp"

namespace veloce::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Shortest time of `runs` runs of work(worker) on all workers.
template <class Work>
double best_seconds(cpu::Pool& pool, int runs, Work work) {
  double best = 1e30;
  for (int r = 0; r < runs; ++r) {
    const Clock::time_point begin = Clock::now();
    pool.run(work);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

}  // namespace

std::size_t last_level_cache_bytes() {
  std::size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream in("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::size_t size = 0;
    char unit = 0;
    if (!(in >> size)) continue;
    in >> unit;
    largest = std::max(largest, size << (unit == 'K'   ? 10
                                         : unit == 'M' ? 20
                                         : unit == 'G' ? 30
                                                       : 0));
  }
  return largest > 0 ? largest : std::size_t(32) << 20;
}

Ceilings measure_ceilings(cpu::Pool& pool, const cpu::Kernels& kernels) {
  Ceilings c;
  const double workers = pool.size();
  std::atomic<std::int64_t> sink{0};
  const int rounds = kernels.isa == cpu::Isa::kPortable ? 1 << 16 : 1 << 20;
  c.int8_dots =
      workers * rounds * double(kernels.probe_int8_operations) /
      best_seconds(pool, 7, [&](cpu::Worker&) { sink += kernels.probe_int8_dots(rounds); });
  c.float_fmas =
      workers * rounds * double(kernels.probe_float_operations) /
      best_seconds(pool, 7, [&](cpu::Worker&) { sink += kernels.probe_float_fmas(rounds); });

  const std::size_t half = std::clamp<std::size_t>(2 * last_level_cache_bytes(),
                                                   std::size_t(64) << 20, std::size_t(512) << 20);
  const std::size_t share = half / std::size_t(pool.size()) / 4096 * 4096;
  Result<model::Arena> arena = model::Arena::create(2 * half, "the bandwidth probes");
  if (!arena) return c;
  std::byte* from = arena->data();
  std::byte* to = from + half;
  std::memset(from, 1, 2 * half);
  c.read = workers * double(share) / best_seconds(pool, 7, [&](cpu::Worker& w) {
             sink += kernels.probe_read(from + std::size_t(w.index()) * share, share);
           });
  c.copy = 2 * workers * double(share) / best_seconds(pool, 7, [&](cpu::Worker& w) {
             const std::size_t at = std::size_t(w.index()) * share;
             std::memcpy(to + at, from + at, share);
           });
  return c;
}

}  // namespace veloce::bench

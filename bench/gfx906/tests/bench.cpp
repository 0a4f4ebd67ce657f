// Speed of the simulator: wave instructions per second on integer-dot kernels.
//   gfx906-bench [THREADS] [SECONDS]
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels.hpp"

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Processor time of all threads: what counts when the machine is shared.
double cpu_seconds() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  return static_cast<double>(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

}  // namespace

int main(int argc, char** argv) {
  gfx906::ExecutorOptions options;
  options.threads = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 1;
  const double budget = argc > 2 ? std::atof(argv[2]) : 1.0;
  gfx906::Executor executor(options);
  const auto object = gfx906_test::load_kernels("kernels.co");
  if (!object) {
    std::fprintf(stderr, "no kernels\n");
    return 1;
  }
  const int rows = 4096, k16 = 256;
  std::vector<uint8_t> w(static_cast<size_t>(rows) * k16 * 16),
      x(static_cast<size_t>(8) * k16 * 16);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<uint8_t>(i * 7 + i / 13);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 5 + 3);
  std::vector<int> y(static_cast<size_t>(rows) * 8);
  for (const char* name : {"matvec_i8", "matvec_i8x8"}) {
    gfx906::Dispatch d;
    d.kernel = object->find_kernel(name);
    const bool wide = std::strcmp(name, "matvec_i8x8") == 0;
    d.block = {256, 1, 1};
    d.grid = {static_cast<uint32_t>(wide ? rows : rows * 64), 1, 1};
    gfx906_test::Args args;
    args.add(w.data()).add(x.data()).add(y.data()).add(k16);
    d.kernarg = args.bytes;
    uint64_t instructions = 0, runs = 0;
    const double begin = seconds(), cpu_begin = cpu_seconds();
    double now;
    do {
      gfx906::RunStats stats;
      const gfx906::Status s = executor.run(d, nullptr, &stats);
      if (!s) {
        std::fprintf(stderr, "%s\n", s.message().c_str());
        return 1;
      }
      instructions += stats.wave_instructions;
      ++runs;
      now = seconds();
    } while (now - begin < budget);
    const double cpu = cpu_seconds() - cpu_begin;
    std::printf(
        "%-12s %s, %u threads: %.1f M wave instructions/s, %.1f per second of processor time; %llu "
        "per run, %llu runs\n",
        name, executor.isa(), options.threads,
        static_cast<double>(instructions) / (now - begin) * 1e-6,
        static_cast<double>(instructions) / cpu * 1e-6,
        static_cast<unsigned long long>(instructions / runs),
        static_cast<unsigned long long>(runs));
  }
  return 0;
}

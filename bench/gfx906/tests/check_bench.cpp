// What --check costs: processor time of kernels run plainly and under the checker, and the ratio.
//   gfx906-check-bench [SECONDS]
#include <sys/resource.h>

#include <cmath>
#include <cstdio>

#include "check/checker.hpp"
#include "kernels.hpp"

namespace {

using gfx906::Dispatch;
using gfx906_test::Args;

double cpu_seconds() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  return static_cast<double>(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

struct Case {
  const char *file, *kernel, *what;
  uint32_t groups_x, groups_y;
  Args args;
};

// Wave instructions per second of processor time.
double speed(gfx906::Executor& executor, const Dispatch& d, gfx906::Observer* observer,
             double budget) {
  uint64_t instructions = 0;
  const double begin = cpu_seconds();
  double now;
  do {
    gfx906::RunStats stats;
    const gfx906::Status s = executor.run(d, observer, &stats);
    if (!s) {
      std::fprintf(stderr, "%s\n", s.message().c_str());
      return 0;
    }
    instructions += stats.wave_instructions;
    now = cpu_seconds();
  } while (now - begin < budget);
  return static_cast<double>(instructions) / (now - begin);
}

}  // namespace

int main(int argc, char** argv) {
  const double budget = argc > 1 ? std::atof(argv[1]) : 0.5;
  gfx906::ExecutorOptions options;
  options.threads = 1;
  gfx906::Executor executor(options);
  std::vector<uint8_t> a(size_t{64} << 20, 3), b(size_t{16} << 20, 5), c(size_t{16} << 20);
  const auto io = [&](auto... more) {
    Args args;
    args.add(a.data()).add(b.data()).add(c.data());
    (args.add(more), ...);
    return args;
  };
  const auto out = [&](int n) { return Args().add(c.data()).add(n); };
  const Case cases[] = {
      {"kernels.co", "matvec_i8", "int8 matvec, a row a wave", 512, 1, io(256)},
      {"kernels.co", "matvec_i8x8", "int8, 8 columns in LDS, a row a lane", 8, 1, io(256)},
      {"cost.co", "matvec_chunks", "q8_0 matvec, 68 bytes a lane", 256, 1, io(64)},
      {"cost.co", "weighted_good", "weighted sum of 6 rows", 4, 64, io(6)},
      {"cost.co", "copy_x4", "copy", 64, 1, Args().add(a.data()).add(c.data()).add(1 << 19)},
      {"cost.co", "fma_f32", "f32 FMA", 16, 1, out(10)},
      {"cost.co", "lds_b128", "LDS reads", 16, 1, out(20)},
      {"cost.co", "exchange_lds", "exchange by LDS and barrier", 16, 1, out(100)},
  };
  double logs = 0;
  int n = 0;
  std::printf("%-40s %12s %12s %7s\n", "kernel", "plain M/s", "checked M/s", "times");
  for (const Case& k : cases) {
    const auto object = gfx906_test::load_kernels(k.file);
    const gfx906::Kernel* kernel = object ? object->find_kernel(k.kernel) : nullptr;
    if (!kernel) {
      std::fprintf(stderr, "no kernel %s\n", k.kernel);
      return 1;
    }
    gfx906::check::Checker checker;
    for (const auto* v : {&a, &b, &c})
      checker.allocated(reinterpret_cast<uint64_t>(v->data()), v->size(), false);
    for (const auto* v : {&a, &b})
      checker.written(reinterpret_cast<uint64_t>(v->data()), v->size());
    Dispatch d;
    d.kernel = kernel;
    d.block = {256, 1, 1};
    d.grid = {k.groups_x * 256, k.groups_y, 1};
    d.kernarg = k.args.bytes;
    const double plain = speed(executor, d, nullptr, budget);
    const double checked = speed(executor, d, &checker, budget);
    std::printf("%-40s %12.2f %12.2f %7.1f\n", k.what, plain * 1e-6, checked * 1e-6,
                plain / checked);
    if (checker.reports().total() != 0) std::printf("%s", checker.reports().text().c_str());
    logs += std::log(plain / checked);
    ++n;
  }
  std::printf("geometric mean: %.1f times\n", std::exp(logs / n));
  return 0;
}

#include "cost_figures.hpp"

#include <sys/mman.h>

#include "kernels.hpp"
#include "profile/profiler.hpp"

namespace gfx906_test {
namespace {

using gfx906::Dispatch;
using gfx906::profile::KernelRecord;
using gfx906::profile::Parameters;
using gfx906::profile::Profiler;
using gfx906::profile::Sampling;

// Memory that takes space only where it is touched.
class Lazy {
 public:
  explicit Lazy(size_t bytes) : bytes_(bytes) {
    base_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~Lazy() { munmap(base_, bytes_); }
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;
  uint8_t* get() const { return static_cast<uint8_t*>(base_); }

 private:
  void* base_;
  size_t bytes_;
};

struct Die {
  uint32_t compute_units = 60;
  double clock = 1.725e9;
};
constexpr Die kMi50{}, kBigDie{64, 1.73e9};

class Bench {
 public:
  explicit Bench(std::shared_ptr<gfx906::CodeObject> object) : object_(std::move(object)) {}

  // The model's record of one launch; groups that it does not watch are not run.
  KernelRecord estimate(const char* kernel, uint32_t groups_x, uint32_t groups_y, uint32_t threads,
                        const Args& args, const Die& die = kMi50) {
    Parameters p;
    p.clock_hz = die.clock;
    Sampling s;
    s.skip_others = true;
    Profiler profiler(p, s);
    Dispatch d;
    d.kernel = object_->find_kernel(kernel);
    d.block = {threads, 1, 1};
    d.grid = {groups_x * threads, groups_y, 1};
    d.kernarg = args.bytes;
    d.compute_units = die.compute_units;
    const gfx906::Status status = gfx906::Executor::shared().run(d, &profiler);
    const auto records = profiler.records();
    return status && !records.empty() ? records[0] : KernelRecord{};
  }

  void add(const char* what, const char* source, const char* unit, double low, double high,
           bool fitted, double value, const KernelRecord& r) {
    figures.push_back({what, source, unit, low, high, fitted, value, r.estimate.limit});
  }
  // Work per second in units of `unit`.
  void add_rate(const char* what, const char* source, const char* unit, double low, double high,
                bool fitted, double work, const KernelRecord& r) {
    add(what, source, unit, low, high, fitted, work / r.estimate.seconds, r);
  }
  std::vector<Figure> figures;

 private:
  std::shared_ptr<gfx906::CodeObject> object_;
};

// Kernels bound by HBM.
void streams(Bench& b) {
  const size_t bytes = 1u << 30;
  const Lazy a(bytes), c(bytes);
  const uint32_t groups = 60 * 8;
  Args x4, x1, copy;
  x4.add(a.get()).add(c.get()).add(static_cast<int>(bytes / 16));
  x1.add(a.get()).add(c.get()).add(static_cast<int>(bytes / 4));
  copy.add(a.get()).add(c.get()).add(static_cast<int>(bytes / 16));
  b.add_rate("stream read, 16 bytes a lane", "SK", "GB/s", 867, 873, true, bytes * 1e-9,
             b.estimate("read_x4", groups, 1, 256, x4));
  b.add_rate("stream read, 4 bytes a lane", "SK", "GB/s", 814, 814, false, bytes * 1e-9,
             b.estimate("read_x1", groups, 1, 256, x1));
  b.add_rate("stream read, 64-CU die", "EX", "GB/s", 880, 892, false, bytes * 1e-9,
             b.estimate("read_x4", 64 * 8, 1, 256, x4, kBigDie));
  b.add_rate("copy, both directions, 64-CU die", "EX", "GB/s", 713, 718, true, bytes * 2e-9,
             b.estimate("copy_x4", 64 * 8, 1, 256, copy, kBigDie));
}

void matvecs(Bench& b) {
  const Lazy w(1u << 30), x(1u << 20), y(1u << 20);
  const auto args = [&](int length) {
    return Args().add(w.get()).add(x.get()).add(y.get()).add(length);
  };
  const auto micro = [](const KernelRecord& r) { return r.estimate.seconds * 1e6; };
  KernelRecord r = b.estimate("matvec_lanes", 2048 / 4, 1, 256, args(256));
  b.add("int8 matvec, 8.4 MB, lanes side by side", "CV", "us", 12.3, 12.3, true, micro(r), r);
  r = b.estimate("matvec_chunks", 1928 / 4, 1, 256, args(64));
  b.add("q8_0 matvec, 8.4 MB, 68 bytes a lane", "CV", "us", 15.3, 15.3, true, micro(r), r);
  r = b.estimate("matvec_lanes", 65536 / 4, 1, 256, args(1024));
  b.add_rate("int8 matvec, 1 GB", "CV: 82 % of 870", "GB/s", 700, 750, true, 65536.0 * 16384e-9, r);
}

void weighted_sums(Bench& b) {
  const Lazy rows(size_t{2048} * 10 * 16384), weight(1u << 20), out(2048 * 16384);
  struct Case {
    int experts;
    double good, camping;
  };
  for (const Case& c : {Case{6, 311, 771}, Case{8, 397, 992}, Case{10, 507, 1206}}) {
    const Args args = Args().add(rows.get()).add(weight.get()).add(out.get()).add(c.experts);
    const std::string n = std::to_string(c.experts);
    KernelRecord r = b.estimate("weighted_good", 4, 2048, 256, args);
    b.add(("weighted sum of " + n + " rows, good order").c_str(), "CV", "us", c.good, c.good, false,
          r.estimate.seconds * 1e6, r);
    r = b.estimate("weighted_camping", 2048, 4, 256, args);
    b.add(("weighted sum of " + n + " rows, few channels").c_str(), "CV", "us", c.camping,
          c.camping, false, r.estimate.seconds * 1e6, r);
  }
}

void arithmetic(Bench& b) {
  const uint32_t groups = 60 * 40;
  const int n = 40;
  const Lazy out(64u << 20);
  const Args args = Args().add(out.get()).add(n);
  const double lanes = 256.0 * groups * n;
  const auto rate = [&](const char* kernel, const Die& die) {
    return b.estimate(kernel, die.compute_units * 40, 1, 256, args, die);
  };
  b.add_rate("f32 FMA, 64-CU die", "EX", "TFLOP/s", 13.8, 13.8, true, lanes * 64 / 60 * 256 * 2e-12,
             rate("fma_f32", kBigDie));
  b.add_rate("f64 FMA", "data sheet", "TFLOP/s", 6.6, 6.7, false, lanes * 128 * 2e-12,
             rate("fma_f64", kMi50));
  b.add_rate("dot4 int8", "data sheet", "TOP/s", 53, 53, false, lanes * 256 * 8e-12,
             rate("dot4", kMi50));
}

void local_memory(Bench& b) {
  const uint32_t groups = 60 * 40;
  const int n = 100;
  const Lazy out(64u << 20);
  const Args args = Args().add(out.get()).add(n);
  const double lanes = 256.0 * groups * n;
  const auto rate = [&](const char* kernel) { return b.estimate(kernel, groups, 1, 256, args); };
  b.add_rate("LDS read, 4 bytes a lane", "SK", "TB/s", 1.9, 3.9, false, lanes * 32 * 4e-12,
             rate("lds_b32"));
  b.add_rate("LDS read, 8 bytes a lane", "SK", "TB/s", 4.3, 8.8, true, lanes * 32 * 8e-12,
             rate("lds_b64"));
  b.add_rate("LDS read, 16 bytes a lane", "SK", "TB/s", 9.5, 11.2, true, lanes * 32 * 16e-12,
             rate("lds_b128"));
  b.add_rate("lane exchange by ds_bpermute", "SK", "G/s", 962, 970, true, lanes * 32 * 1e-9,
             rate("exchange_bpermute"));
  b.add_rate("lane exchange by LDS and barrier", "SK", "G/s", 906, 906, false, lanes * 1e-9,
             rate("exchange_lds"));
}

// A ring through 64 MB, each step to another line.
void small_ones(Bench& b) {
  KernelRecord r = b.estimate("empty", 1, 1, 64, Args());
  b.add("small kernel, from one to the next", "EX", "us", 4.0, 4.46, true, r.estimate.seconds * 1e6,
        r);
  const Lazy next(64u << 20), out(4096);
  auto* p = reinterpret_cast<uint32_t*>(next.get());
  const uint32_t count = (64u << 20) / 4, steps = 4000, stride = 4099 * 16;
  for (uint32_t k = 0, at = 0; k < steps; ++k) at = p[at] = (at + stride) % count;
  r = b.estimate("chase", 1, 1, 1,
                 Args().add(next.get()).add(out.get()).add(static_cast<int>(steps)));
  b.add("latency of HBM", "MG", "clocks", 500, 500, true,
        r.estimate.seconds * Parameters{}.clock_hz / steps, r);
}

}  // namespace

std::vector<Figure> cost_figures() {
  const auto object = load_kernels("cost.co");
  if (!object) return {};
  Bench b(object);
  streams(b);
  matvecs(b);
  weighted_sums(b);
  arithmetic(b);
  local_memory(b);
  small_ones(b);
  return b.figures;
}

}  // namespace gfx906_test

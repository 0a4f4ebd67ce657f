#include "bench/kernel_bench.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/build_info.hpp"
#include "common/engine_flags.hpp"

namespace veloce::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Op {
  const char* name;
  MakeCase make;
  bool has_format;
};
constexpr Op kOps[] = {
    {"matvec", make_matmul_case, true},       {"matmul", make_matmul_case, true},
    {"attention", make_attention_case, true}, {"rms_norm", make_rms_norm_case, false},
    {"quantize", make_quantize_case, false},  {"embed", make_embed_case, true}};

const Op* find_op(const std::string& name) {
  for (const Op& op : kOps)
    if (name == op.name) return &op;
  return nullptr;
}

// Seconds for `runs` runs one after the other, from copy `copy` on.
double time_runs(KernelCase& c, cpu::Pool& pool, int runs, int& copy) {
  const int first = copy;
  copy = (copy + runs) % c.copies();
  const Clock::time_point begin = Clock::now();
  pool.run([&, first](cpu::Worker& w) {
    for (int r = 0; r < runs; ++r) {
      c.run(w, (first + r) % c.copies());
      w.barrier();
    }
  });
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void print_header(const Ceilings& c, const KernelBenchOptions& o, int threads,
                  const std::string& isa) {
  if (o.output == "csv") {
    std::printf(
        "op,format,shape,isa,threads,bytes,operations,median_us,fastest_us,slowest_us,gb_per_s,gop_"
        "per_s,limit,ratio\n");
  } else if (o.output == "table") {
    std::printf(
        "%s, %s, %d threads, veloce %s\nceilings: copy %.1f GB/s, read %.1f GB/s, byte dots %.0f "
        "Gop/s, float %.0f Gop/s\n\n",
        apps::processor_name().c_str(), isa.c_str(), threads, apps::build_commit().c_str(),
        c.copy * 1e-9, c.read * 1e-9, c.int8_dots * 1e-9, c.float_fmas * 1e-9);
    std::printf("| %-9s | %-7s | %-28s | %10s | %21s | %7s | %8s | %-6s | %7s |\n", "op", "format",
                "shape", "median us", "fastest, slowest us", "GB/s", "Gop/s", "limit", "ratio");
    std::printf(
        "| --------- | ------- | ---------------------------- | ---------: | --------------------: "
        "| ------: | -------: | ------ | ------: |\n");
  }
}

nlohmann::ordered_json as_json(const KernelRow& r) {
  nlohmann::ordered_json j;
  j["op"] = r.op;
  j["format"] = r.format;
  j["shape"] = r.shape;
  j["threads"] = r.threads;
  j["samples"] = r.samples;
  j["copies"] = r.copies;
  j["bytes"] = r.cost.bytes;
  j["operations"] = r.cost.operations;
  j["median_us"] = r.median * 1e6;
  j["fastest_us"] = r.fastest * 1e6;
  j["slowest_us"] = r.slowest * 1e6;
  j["gb_per_s"] = r.gigabytes();
  j["gop_per_s"] = r.gigaops();
  j["limit"] = r.limit;
  j["ratio"] = r.ratio;
  return j;
}

void print_row(const KernelRow& r, const std::string& output, const std::string& isa) {
  if (output == "csv")
    std::printf("%s,%s,%s,%s,%d,%llu,%llu,%.3f,%.3f,%.3f,%.3f,%.3f,%s,%.4f\n", r.op.c_str(),
                r.format.c_str(), r.shape.c_str(), isa.c_str(), r.threads,
                static_cast<unsigned long long>(r.cost.bytes),
                static_cast<unsigned long long>(r.cost.operations), r.median * 1e6, r.fastest * 1e6,
                r.slowest * 1e6, r.gigabytes(), r.gigaops(), r.limit.c_str(), r.ratio);
  else if (output == "table")
    std::printf(
        "| %-9s | %-7s | %-28s | %10.2f | %9.2f, %10.2f | %7.2f | %8.1f | %-6s | %5.1f %% |\n",
        r.op.c_str(), r.format.c_str(), r.shape.c_str(), r.median * 1e6, r.fastest * 1e6,
        r.slowest * 1e6, r.gigabytes(), r.gigaops(), r.limit.c_str(), 100 * r.ratio);
  std::fflush(stdout);
}

void print_json(const std::vector<KernelRow>& rows, const Ceilings& c, const std::string& isa) {
  nlohmann::ordered_json j;
  j["build_commit"] = apps::build_commit();
  j["cpu_info"] = apps::processor_name();
  j["isa"] = isa;
  j["ceilings"] = {{"copy_gb_per_s", c.copy * 1e-9},
                   {"read_gb_per_s", c.read * 1e-9},
                   {"int8_gop_per_s", c.int8_dots * 1e-9},
                   {"float_gop_per_s", c.float_fmas * 1e-9}};
  j["rows"] = nlohmann::ordered_json::array();
  for (const KernelRow& r : rows) j["rows"].push_back(as_json(r));
  std::printf("%s\n", j.dump(2).c_str());
}

Status bench(const KernelBenchOptions& o) {
  const Op* op = find_op(o.shape.op);
  if (!op) return Status(Code::kInvalidArgument, "no op is named '" + o.shape.op + "'");
  const cpu::Kernels& kernels = cpu::best_kernels();
  cpu::Pool pool(o.threads > 0 ? o.threads : cpu::available_cores());
  const std::size_t working_set = 2 * last_level_cache_bytes();
  const std::string isa = cpu::isa_name(kernels.isa);
  const Ceilings ceilings = measure_ceilings(pool, kernels);
  print_header(ceilings, o, pool.size(), isa);
  std::vector<KernelRow> rows;
  for (const std::string& format : op->has_format ? o.formats : std::vector<std::string>{"F32"})
    for (const int n : o.columns) {
      KernelShape shape = o.shape;
      shape.format = format;
      shape.n = n;
      Result<std::unique_ptr<KernelCase>> c = op->make(shape, kernels, pool, working_set);
      if (!c) return c.status();
      if (o.check)
        if (Status s = (*c)->check(pool); !s) return s;
      KernelRow row = time_case(**c, pool, o.samples, ceilings);
      row.op = op->name;
      row.format = format;
      print_row(row, o.output, isa);
      rows.push_back(row);
    }
  if (o.output == "json") print_json(rows, ceilings, isa);
  return {};
}

}  // namespace

Result<int> copies_for(std::size_t one, std::size_t working_set) {
  const std::size_t memory =
      std::size_t(::sysconf(_SC_PHYS_PAGES)) * std::size_t(::sysconf(_SC_PAGE_SIZE));
  if (one > memory / 4)
    return Status(Code::kOutOfMemory, "the operands take " + std::to_string(one) +
                                          " bytes; this machine has " + std::to_string(memory));
  const std::size_t wanted = (working_set + one - 1) / std::max<std::size_t>(one, 1) + 1;
  return int(std::clamp<std::size_t>(wanted, 1, 4096));
}

Status compare(const char* op, std::size_t row, std::size_t column, double got, double want,
               double bound) {
  if (std::fabs(got - want) <= bound) return {};
  char text[200];
  std::snprintf(
      text, sizeof text,
      "%s is wrong at row %zu, column %zu: %.9g, the reference has %.9g (allowed difference %.3g)",
      op, row, column, got, want, bound);
  return Status(Code::kInternal, text);
}

KernelRow time_case(KernelCase& c, cpu::Pool& pool, int samples, const Ceilings& ceilings) {
  constexpr double kSampleSeconds = 2e-3;
  int copy = 0;
  time_runs(c, pool, c.copies(), copy);  // brings every page into being
  double first = time_runs(c, pool, 1, copy);
  first = std::min(first, time_runs(c, pool, 1, copy));
  const int runs = int(std::clamp(kSampleSeconds / std::max(first, 1e-9), 1.0, 1e5));
  std::vector<double> seconds;
  for (int s = 0; s < samples; ++s) seconds.push_back(time_runs(c, pool, runs, copy) / runs);
  std::sort(seconds.begin(), seconds.end());
  KernelRow row;
  row.shape = c.shape();
  row.threads = pool.size();
  row.samples = samples;
  row.copies = c.copies();
  row.cost = c.cost();
  row.median =
      samples % 2 ? seconds[std::size_t(samples / 2)]
                  : (seconds[std::size_t(samples / 2)] + seconds[std::size_t(samples / 2 - 1)]) / 2;
  row.fastest = seconds.front();
  row.slowest = seconds.back();
  const double moving = double(row.cost.bytes) / ceilings.bandwidth();
  const double computing =
      double(row.cost.operations) /
      (c.arithmetic() == Arithmetic::kInt8 ? ceilings.int8_dots : ceilings.float_fmas);
  row.limit = moving >= computing ? "memory" : c.arithmetic() == Arithmetic::kInt8 ? "dots" : "fma";
  row.ratio = std::max(moving, computing) / row.median;
  return row;
}

void add_kernel_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "kernel", "Time one op of the CPU backend against the machine's measured ceilings");
  auto o = std::make_shared<KernelBenchOptions>();
  std::vector<std::string> names;
  for (const Op& op : kOps) names.push_back(op.name);
  command->add_option("op", o->shape.op, "matvec or matmul, attention, rms_norm, quantize, embed")
      ->required()
      ->check(CLI::IsMember(names));
  command
      ->add_option("--format", o->formats,
                   "GGUF types of the weights (attention: of the cache), comma-separated")
      ->delimiter(',')
      ->capture_default_str();
  const auto number = [&](const std::string& flag, int& target, int most, const std::string& help) {
    command->add_option(flag, target, help)->check(CLI::Range(1, most))->capture_default_str();
  };
  number("--m", o->shape.m, 1 << 22, "Rows of the weights (embed: of the table)");
  number("--k", o->shape.k, 1 << 20, "Values of a row");
  command->add_option("--n", o->columns, "Columns (attention: new positions), comma-separated")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  number("--heads", o->shape.heads, 1 << 12, "attention: query heads");
  number("--kv-heads", o->shape.kv_heads, 1 << 12, "attention: key heads");
  number("--dim", o->shape.dim, 1 << 10, "attention: values of a head");
  number("--keys", o->shape.keys, 1 << 22, "attention: positions, the new ones included");
  command->add_flag("--f32", o->shape.float_activations, "matmul: activations stay floats");
  command->add_option("-t,--threads", o->threads, "Threads (0: one a core)")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_option("-r,--samples", o->samples, "Measured samples")
      ->check(CLI::Range(30, 1 << 20))
      ->capture_default_str();
  command->add_flag("--check,!--no-check", o->check,
                    "Compare with the scalar reference first (on)");
  command->add_option("-o,--output", o->output, "table, json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->capture_default_str();
  command->callback([o] {
    if (const Status s = bench(*o); !s) throw CLI::RuntimeError(apps::fail(s.message()));
  });
}

}  // namespace veloce::bench

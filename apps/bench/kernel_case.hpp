// One op in one shape, ready to be checked and timed: what veloce-bench kernel needs to know of it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "veloce/core/status.hpp"
#include "veloce/cpu/kernels.hpp"
#include "veloce/ops/cost.hpp"

namespace veloce::bench {

struct KernelShape {
  std::string op = "matvec", format = "Q4_K";
  int m = 4096, k = 4096, n = 1;
  bool float_activations = false;
  // attention
  int heads = 32, kv_heads = 8, dim = 128, keys = 4096;
};

// Which of the machine's ceilings the op's arithmetic runs against.
enum class Arithmetic { kInt8, kFloat };

class KernelCase {
 public:
  virtual ~KernelCase() = default;
  virtual std::string shape() const = 0;  // "4096x4096 n=1"
  virtual Cost cost() const = 0;          // of one run
  virtual Arithmetic arithmetic() const = 0;
  // Runs once on copy 0 and compares with the oracle.
  virtual Status check(cpu::Pool& pool) = 0;
  // Copies of the operands; together beyond the caches. run() takes one of them.
  virtual int copies() const = 0;
  virtual void run(cpu::Worker& worker, int copy) = 0;
};

// Makers of the cases. `working_set`: bytes that the copies together should at least take.
using MakeCase = Result<std::unique_ptr<KernelCase>> (*)(const KernelShape&, const cpu::Kernels&,
                                                         cpu::Pool&, std::size_t working_set);
Result<std::unique_ptr<KernelCase>> make_matmul_case(const KernelShape&, const cpu::Kernels&,
                                                     cpu::Pool&, std::size_t working_set);
Result<std::unique_ptr<KernelCase>> make_attention_case(const KernelShape&, const cpu::Kernels&,
                                                        cpu::Pool&, std::size_t working_set);
Result<std::unique_ptr<KernelCase>> make_rms_norm_case(const KernelShape&, const cpu::Kernels&,
                                                       cpu::Pool&, std::size_t working_set);
Result<std::unique_ptr<KernelCase>> make_quantize_case(const KernelShape&, const cpu::Kernels&,
                                                       cpu::Pool&, std::size_t working_set);
Result<std::unique_ptr<KernelCase>> make_embed_case(const KernelShape&, const cpu::Kernels&,
                                                    cpu::Pool&, std::size_t working_set);

// Number of copies for a working set, given the bytes of one. Refuses shapes beyond half the
// machine's memory.
Result<int> copies_for(std::size_t one, std::size_t working_set);

// kInternal naming the op, the place and both values, if |got - want| is beyond the bound or not a
// number.
Status compare(const char* op, std::size_t row, std::size_t column, double got, double want,
               double bound);

}  // namespace veloce::bench

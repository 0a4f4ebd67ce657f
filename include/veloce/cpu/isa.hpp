// Which instruction set this translation unit's CPU kernels are compiled for, and the choice among them at run time.
//
// The kernels are templates over sixteen logical lanes, written once (cpu/*.hpp). A unit compiled with plain flags gets
// the portable level; -mavx2 -mfma -mf16c -mbmi2 gets AVX2; the AVX-512 flags below get AVX-512 with VNNI and VBMI.
// Each level lives in a namespace of its own, so that units with different flags can be linked into one program
// (models/common/cpu_*.cpp do that, and cpu/kernels.hpp picks at run time). All levels give the same bits.
#pragma once

// Unrolls the next loop n times where a step is a register. The portable level keeps its loops: there a step is an
// array, and unrolling would only cost compile time.
#if defined(__AVX2__)
#define VELOCE_PRAGMA(x) _Pragma(#x)
#define VELOCE_UNROLL(n) VELOCE_PRAGMA(GCC unroll n)
#else
#define VELOCE_UNROLL(n)
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && \
    defined(__AVX512VNNI__) && defined(__AVX512VBMI__)
#define VELOCE_ISA_AVX512 1
#define VELOCE_ISA_NS avx512
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define VELOCE_ISA_AVX2 1
#define VELOCE_ISA_NS avx2
#else
#define VELOCE_ISA_NS portable
#endif

namespace veloce::cpu {

enum class Isa { kPortable, kAvx2, kAvx512 };

inline const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::kAvx512: return "AVX-512 VNNI";
    case Isa::kAvx2: return "AVX2";
    default: return "portable";
  }
}

// The best level this processor and operating system can run.
inline Isa detect_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni") &&
      __builtin_cpu_supports("avx512vbmi")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::kAvx2;
#endif
  return Isa::kPortable;
}

}  // namespace veloce::cpu

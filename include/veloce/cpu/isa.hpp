// Which instruction set this translation unit's CPU kernels are compiled for, and the choice among
// them at run time.
//
// The kernels are templates over sixteen logical lanes, written once (cpu/*.hpp). A unit compiled
// with plain flags gets the portable level; -mavx2 -mfma -mf16c -mbmi2 gets AVX2; the AVX-512 flags
// below get AVX-512 with VNNI and VBMI. Each level lives in a namespace of its own, so that units
// with different flags can be linked into one program (models/common/cpu_*.cpp do that, and
// cpu/kernels.hpp picks at run time). All levels give the same bits.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

// Unrolls the next loop n times where a step is a register. The portable level keeps its loops:
// there a step is an array, and unrolling would only cost compile time.
#if defined(__AVX2__)
#define VELOCE_PRAGMA(x) _Pragma(#x)
#define VELOCE_UNROLL(n) VELOCE_PRAGMA(GCC unroll n)
#else
#define VELOCE_UNROLL(n)
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512DQ__) && defined(__AVX512VNNI__) && defined(__AVX512VBMI__)
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
    case Isa::kAvx512:
      return "AVX-512 VNNI";
    case Isa::kAvx2:
      return "AVX2";
    default:
      return "portable";
  }
}

// What the units of a level are compiled with beyond plain x86-64 (models/CMakeLists.txt, and the
// macros above), as far as a processor with AVX2 can lack it. A test compares the list with the
// compiler's flags.
struct CpuFeatures {
  bool avx2 = false, fma = false, f16c = false, bmi = false, bmi2 = false, popcnt = false;
  bool avx512f = false, avx512bw = false, avx512vl = false, avx512dq = false, avx512vnni = false,
       avx512vbmi = false;
};

// The best level of a processor with these features.
constexpr Isa best_isa(const CpuFeatures& has) {
  if (!(has.avx2 && has.fma && has.f16c && has.bmi && has.bmi2 && has.popcnt))
    return Isa::kPortable;
  const bool wide = has.avx512f && has.avx512bw && has.avx512vl && has.avx512dq && has.avx512vnni &&
                    has.avx512vbmi;
  return wide ? Isa::kAvx512 : Isa::kAvx2;
}

// What this processor has and the operating system lets be used.
inline CpuFeatures detect_features() {
  CpuFeatures has;
#if defined(__x86_64__)
  __builtin_cpu_init();
  has.avx2 = __builtin_cpu_supports("avx2");
  has.fma = __builtin_cpu_supports("fma");
  has.bmi = __builtin_cpu_supports("bmi");
  has.bmi2 = __builtin_cpu_supports("bmi2");
  has.popcnt = __builtin_cpu_supports("popcnt");
  has.avx512f = __builtin_cpu_supports("avx512f");
  has.avx512bw = __builtin_cpu_supports("avx512bw");
  has.avx512vl = __builtin_cpu_supports("avx512vl");
  has.avx512dq = __builtin_cpu_supports("avx512dq");
  has.avx512vnni = __builtin_cpu_supports("avx512vnni");
  has.avx512vbmi = __builtin_cpu_supports("avx512vbmi");
  // clang 14's builtin does not know this one. It needs no state beyond that of AVX.
  unsigned a = 0, b = 0, c = 0, d = 0;
  has.f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1u) != 0;
#endif
  return has;
}

// The best level this processor and operating system can run.
inline Isa detect_isa() {
  return best_isa(detect_features());
}

}  // namespace veloce::cpu

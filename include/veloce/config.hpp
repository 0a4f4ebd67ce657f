// Compiler facts. No other header tests compiler macros (cpu/isa.hpp tests instruction-set macros).
#pragma once

#define VELOCE_VERSION "0.1.0"

#if defined(__HIPCC__) || defined(__CUDACC__)
#define VELOCE_GPU_COMPILER 1
#define VELOCE_HD __host__ __device__
#define VELOCE_DEVICE __device__
#else
#define VELOCE_HD
#define VELOCE_DEVICE
#endif

#define VELOCE_INLINE inline __attribute__((always_inline))
#define VELOCE_NOINLINE __attribute__((noinline))

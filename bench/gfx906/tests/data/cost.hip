// Kernels with published speeds on an MI50, for judging the cost model. Compiled by build_cost.sh; the code object is kept
// beside, so that the comparison needs no compiler.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void __launch_bounds__(256)

// A grid of 256-thread groups walks over n vectors; what is read is summed up so that no load can be left out.
KERNEL read_x4(const uint4* __restrict__ a, unsigned* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x, step = gridDim.x * 256;
  unsigned s = 0;
  for (; i + 3 * step < n; i += 4 * step) {
    uint4 u = a[i], v = a[i + step], w = a[i + 2 * step], x = a[i + 3 * step];
    s ^= u.x ^ u.y ^ u.z ^ u.w ^ v.x ^ v.y ^ v.z ^ v.w ^ w.x ^ w.y ^ w.z ^ w.w ^ x.x ^ x.y ^ x.z ^ x.w;
  }
  if (s == 0x12345678) out[threadIdx.x] = s;
}
KERNEL read_x1(const unsigned* __restrict__ a, unsigned* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x, step = gridDim.x * 256;
  unsigned s = 0;
  for (; i + 3 * step < n; i += 4 * step) s ^= a[i] ^ a[i + step] ^ a[i + 2 * step] ^ a[i + 3 * step];
  if (s == 0x12345678) out[threadIdx.x] = s;
}
KERNEL copy_x4(const uint4* __restrict__ a, uint4* __restrict__ b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x, step = gridDim.x * 256;
  for (; i + step < n; i += 2 * step) {
    uint4 u = a[i], v = a[i + step];
    b[i] = u;
    b[i + step] = v;
  }
}

// One dependent load after another.
extern "C" __global__ void chase(const unsigned* __restrict__ next, unsigned* out, int n) {
  unsigned i = 0;
  for (int k = 0; k < n; ++k) i = next[i + (threadIdx.x >> 10)];
  out[threadIdx.x] = i;
}

extern "C" __global__ void empty() {}

#define REPEAT8(x) x x x x x x x x
#define REPEAT64(x) REPEAT8(REPEAT8(x))
KERNEL fma_f32(float* out, int n) {
  float a = threadIdx.x, b = 1.0001f, c = 0, d = 1, e = 2, f = 3;
  for (int k = 0; k < n; ++k)
    asm volatile(REPEAT8(REPEAT8("v_fma_f32 %0, %4, %5, %0\n v_fma_f32 %1, %4, %5, %1\n"
                                 "v_fma_f32 %2, %4, %5, %2\n v_fma_f32 %3, %4, %5, %3\n"))
                 : "+v"(c), "+v"(d), "+v"(e), "+v"(f)
                 : "v"(a), "v"(b));
  out[blockIdx.x * 256 + threadIdx.x] = c + d + e + f;
}
KERNEL fma_f64(double* out, int n) {
  double a = threadIdx.x, b = 1.0001, c = 0, d = 1;
  for (int k = 0; k < n; ++k)
    asm volatile(REPEAT64("v_fma_f64 %0, %2, %3, %0\n v_fma_f64 %1, %2, %3, %1\n")
                 : "+v"(c), "+v"(d)
                 : "v"(a), "v"(b));
  out[blockIdx.x * 256 + threadIdx.x] = c + d;
}
KERNEL dot4(int* out, int n) {
  int a = threadIdx.x, b = 0x01020304, c = 0, d = 1, e = 2, f = 3;
  for (int k = 0; k < n; ++k)
    asm volatile(REPEAT8(REPEAT8("v_dot4_i32_i8 %0, %4, %5, %0\n v_dot4_i32_i8 %1, %4, %5, %1\n"
                                 "v_dot4_i32_i8 %2, %4, %5, %2\n v_dot4_i32_i8 %3, %4, %5, %3\n"))
                 : "+v"(c), "+v"(d), "+v"(e), "+v"(f)
                 : "v"(a), "v"(b));
  out[blockIdx.x * 256 + threadIdx.x] = c + d + e + f;
}

// LDS reads of 4, 8 and 16 bytes a lane, eight under way at a time.
#define LDS_READ(name, type, op)                                                                       \
  KERNEL name(type* out, int n) {                                                                      \
    __shared__ type t[512];                                                                            \
    t[threadIdx.x] = t[threadIdx.x + 256] = type{};                                                    \
    __syncthreads();                                                                                   \
    unsigned at = (unsigned)(size_t)(__attribute__((address_space(3))) type*)(t + threadIdx.x);        \
    type a, b, c, d;                                                                                   \
    for (int k = 0; k < n; ++k)                                                                        \
      asm volatile(REPEAT8(op " %0, %4\n" op " %1, %4\n" op " %2, %4\n" op " %3, %4\n"                 \
                              "s_waitcnt lgkmcnt(4)\n") "s_waitcnt lgkmcnt(0)\n"                       \
                   : "=&v"(a), "=&v"(b), "=&v"(c), "=&v"(d)                                            \
                   : "v"(at));                                                                         \
    out[blockIdx.x * 256 + threadIdx.x] = a;                                                           \
  }
LDS_READ(lds_b32, int, "ds_read_b32")
typedef int vec2 __attribute__((ext_vector_type(2)));
typedef int vec4 __attribute__((ext_vector_type(4)));
LDS_READ(lds_b64, vec2, "ds_read_b64")
LDS_READ(lds_b128, vec4, "ds_read_b128")

// Lane exchanges: by ds_bpermute, and by a store to LDS, a barrier and a load.
KERNEL exchange_bpermute(int* out, int n) {
  int a = threadIdx.x, b = 1, c = 2, d = 3, at = (threadIdx.x ^ 1) * 4;
  for (int k = 0; k < n; ++k)
    asm volatile(REPEAT8("ds_bpermute_b32 %0, %4, %0\n ds_bpermute_b32 %1, %4, %1\n"
                         "ds_bpermute_b32 %2, %4, %2\n ds_bpermute_b32 %3, %4, %3\n"
                         "s_waitcnt lgkmcnt(0)\n")
                 : "+v"(a), "+v"(b), "+v"(c), "+v"(d)
                 : "v"(at));
  out[blockIdx.x * 256 + threadIdx.x] = a + b + c + d;
}
KERNEL exchange_lds(int* out, int n) {
  __shared__ int t[2][256];  // in turns, so that one barrier an exchange is enough
  int a = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    t[k & 1][threadIdx.x] = a;
    __syncthreads();
    a += t[k & 1][threadIdx.x ^ 65];
  }
  out[blockIdx.x * 256 + threadIdx.x] = a;
}

__device__ inline int dot16(int4 a, int4 b, int s) {
  s = __builtin_amdgcn_sdot4(a.x, b.x, s, false);
  s = __builtin_amdgcn_sdot4(a.y, b.y, s, false);
  s = __builtin_amdgcn_sdot4(a.z, b.z, s, false);
  return __builtin_amdgcn_sdot4(a.w, b.w, s, false);
}
__device__ inline int wave_sum(int s) {
  for (int o = 32; o; o >>= 1) s += __shfl_xor(s, o);
  return s;
}
// One matrix row a wave, a wave's lanes side by side in it: k16 vectors of 16 bytes a row.
KERNEL matvec_lanes(const int4* __restrict__ w, const int4* __restrict__ x, int* y, int k16) {
  int row = blockIdx.x * 4 + threadIdx.x / 64, lane = threadIdx.x & 63, s = 0;
#pragma unroll 4
  for (int i = lane; i < k16; i += 64) s = dot16(w[(size_t)row * k16 + i], x[i], s);
  s = wave_sum(s);
  if (lane == 0) y[row] = s;
}
// q8_0 with 34-byte blocks: each lane takes a pair of blocks, 68 bytes, by dwords.
KERNEL matvec_chunks(const unsigned* __restrict__ w, const int* __restrict__ x, float* y, int pairs) {
  int row = blockIdx.x * 4 + threadIdx.x / 64, lane = threadIdx.x & 63;
  float s = 0;
  for (int i = lane; i < pairs; i += 64) {
    const unsigned* p = w + ((size_t)row * pairs + i) * 17;
    unsigned v[17];
#pragma unroll
    for (int k = 0; k < 17; ++k) v[k] = p[k];
    int a = 0, b = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) a = __builtin_amdgcn_sdot4(__builtin_amdgcn_alignbyte(v[k + 1], v[k], 2), x[i * 16 + k], a, false);
#pragma unroll
    for (int k = 0; k < 8; ++k) b = __builtin_amdgcn_sdot4(v[9 + k], x[i * 16 + 8 + k], b, false);
    s += (float)a * (float)(v[0] & 0xffff) + (float)b * (float)(v[8] >> 16);
  }
  for (int o = 32; o; o >>= 1) s += __shfl_xor(s, o);
  if (lane == 0) y[row] = s;
}

// Sum of `experts` rows of 4096 floats per token, weighted. Grid x: 4 column chunks of a row, y: tokens; or the other way
// round, which makes neighbouring groups start a power of two apart.
template <bool kSwapped>
__device__ inline void weighted(const float4* __restrict__ rows, const float* __restrict__ weight, float4* out, int experts) {
  int chunk = kSwapped ? blockIdx.y : blockIdx.x, token = kSwapped ? blockIdx.x : blockIdx.y;
  int at = chunk * 256 + threadIdx.x;
  float4 s{};
  for (int e = 0; e < experts; ++e) {
    float4 v = rows[((size_t)token * experts + e) * 1024 + at];
    float f = weight[token * experts + e];
    s.x += f * v.x, s.y += f * v.y, s.z += f * v.z, s.w += f * v.w;
  }
  out[(size_t)token * 1024 + at] = s;
}
KERNEL weighted_good(const float4* rows, const float* weight, float4* out, int experts) {
  weighted<false>(rows, weight, out, experts);
}
KERNEL weighted_camping(const float4* rows, const float* weight, float4* out, int experts) {
  weighted<true>(rows, weight, out, experts);
}

// Only the first groups have something to do, as with tiles of a routed expert that few tokens chose.
KERNEL few_busy(const float4* __restrict__ a, float4* out, int busy, int n) {
  if ((int)blockIdx.x >= busy) return;
  float4 s{};
  for (int k = 0; k < n; ++k) {
    float4 v = a[((size_t)blockIdx.x * n + k) * 256 + threadIdx.x];
    s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
  }
  out[blockIdx.x * 256 + threadIdx.x] = s;
}

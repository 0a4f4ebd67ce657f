// Kernels of the executor's tests and benchmark. Rebuilt by tests/data/build.sh; the code objects are kept beside, so that
// the tests need no compiler.
#include <hip/hip_runtime.h>

extern "C" __global__ void axpy(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * 2.0f + b[i] / 3.0f;
}

// One wave a row: y[row] = sum of products of signed bytes.
extern "C" __global__ void matvec_i8(const int4* __restrict__ w, const int4* __restrict__ x, int* y, int k16) {
  int row = blockIdx.x * (blockDim.x / 64) + threadIdx.x / 64, lane = threadIdx.x & 63;
  int s = 0;
  for (int i = lane; i < k16; i += 64) {
    int4 a = w[(size_t)row * k16 + i], b = x[i];
    s = __builtin_amdgcn_sdot4(a.x, b.x, s, false);
    s = __builtin_amdgcn_sdot4(a.y, b.y, s, false);
    s = __builtin_amdgcn_sdot4(a.z, b.z, s, false);
    s = __builtin_amdgcn_sdot4(a.w, b.w, s, false);
  }
  for (int o = 32; o; o >>= 1) s += __shfl_xor(s, o);
  if (lane == 0) y[row] = s;
}

// Several columns of x in LDS for one pass over w: the shape of a small matrix product, where dot products dominate.
extern "C" __global__ void matvec_i8x8(const int4* __restrict__ w, const int4* __restrict__ x, int* y, int k16) {
  __shared__ int4 t[8 * 64];
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int s[8] = {};
  for (int k = 0; k < k16; k += 64) {
    __syncthreads();
    for (int i = threadIdx.x; i < 8 * 64; i += blockDim.x) t[i] = x[(size_t)(i / 64) * k16 + k + i % 64];
    __syncthreads();
    for (int i = 0; i < 64; ++i) {
      int4 a = w[(size_t)row * k16 + k + i];
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        int4 b = t[c * 64 + i];
        s[c] = __builtin_amdgcn_sdot4(a.x, b.x, s[c], false);
        s[c] = __builtin_amdgcn_sdot4(a.y, b.y, s[c], false);
        s[c] = __builtin_amdgcn_sdot4(a.z, b.z, s[c], false);
        s[c] = __builtin_amdgcn_sdot4(a.w, b.w, s[c], false);
      }
    }
  }
  for (int c = 0; c < 8; ++c) y[(size_t)row * 8 + c] = s[c];
}

extern "C" __global__ void reduce(const float* a, float* out, int n) {
  __shared__ float t[256];
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += a[i];
  t[threadIdx.x] = s;
  __syncthreads();
  for (int o = 128; o; o >>= 1) {
    if (threadIdx.x < o) t[threadIdx.x] += t[threadIdx.x + o];
    __syncthreads();
  }
  if (!threadIdx.x) out[0] = t[0];
}

// Every group waits for all of them, without sleeping.
extern "C" __global__ void grid_wait(int* count, int n, int* out) {
  if (threadIdx.x == 0) {
    __hip_atomic_fetch_add(count, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    while (__hip_atomic_load(count, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < n) {
    }
    out[blockIdx.x] = __hip_atomic_load(count, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}

// Two of these on two cards pass a number back and forth `rounds` times.
extern "C" __global__ void ping_pong(int* mine, int* other, int rounds, int first) {
  if (threadIdx.x) return;
  for (int r = 0; r < rounds; ++r) {
    if (first) __hip_atomic_store(other, 2 * r + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    int want = first ? 2 * r + 2 : 2 * r + 1;
    while (__hip_atomic_load(mine, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) < want) __builtin_amdgcn_s_sleep(1);
    if (!first) __hip_atomic_store(other, 2 * r + 2, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
}

__device__ int table_value = 7;
__constant__ int coefficients[4] = {3, 5, 7, 11};

// Scratch: a private array indexed at run time, and a call through a pointer.
__device__ __noinline__ int twice(int v) { return v * 2 + table_value; }
__device__ __noinline__ int thrice(int v) { return v * 3 + coefficients[v & 3]; }
extern "C" __global__ void private_memory(const int* index, int* out, int n) {
  int a[40];
  for (int i = 0; i < 40; ++i) a[i] = i * i + threadIdx.x;
  int i = threadIdx.x;
  int (*volatile f)(int) = index[i] & 1 ? twice : thrice;
  for (int k = 0; k < n; ++k) a[(index[i] + k) % 40] += k;
  out[i] = f(a[index[i] % 40]) + a[39 - index[i] % 40];
}

extern "C" __global__ void sizes(unsigned* out) {
  extern __shared__ unsigned dynamic[];
  dynamic[threadIdx.x] = threadIdx.x + 1;
  __syncthreads();
  unsigned i = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    out[4 * i] = gridDim.x * 10000 + gridDim.y * 100 + gridDim.z;
    out[4 * i + 1] = blockDim.x * 10000 + blockDim.y * 100 + blockDim.z;
    out[4 * i + 2] = blockIdx.x * 10000 + blockIdx.y * 100 + blockIdx.z;
    out[4 * i + 3] = dynamic[blockDim.x - 1];
  }
}

extern "C" __global__ void crash(int* p) { p[threadIdx.x] = 1; }
extern "C" __global__ void stop() { __builtin_trap(); }

extern "C" __global__ void double_math(const double* a, const double* b, double* c, int n) {
  int i = threadIdx.x;
  if (i < n) c[i] = a[i] / b[i] + sqrt(a[i]) + sin(b[i]) + exp(-a[i]) + fmod(a[i], b[i]);
}
extern "C" __global__ void float_math(const float* a, const float* b, float* c, int n) {
  int i = threadIdx.x;
  if (i < n) c[i] = a[i] / b[i] + sqrtf(a[i]) + sinf(b[i]) + expf(-a[i]) + logf(a[i]) + powf(a[i], b[i]) + tanhf(b[i]);
}

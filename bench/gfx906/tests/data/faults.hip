// One kernel per kind of fault that the checker finds; the line at fault is marked. Rebuilt by build.sh.
#include <hip/hip_runtime.h>

extern "C" __global__ void store_outside(int* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  p[i] = i;  // FAULT store_outside
}
extern "C" __global__ void load_outside(const int* p, int* out) {
  int i = threadIdx.x;
  out[i] = p[i + 1];  // FAULT load_outside
}
extern "C" __global__ void after_free(int* p) {
  p[threadIdx.x] = 3;  // FAULT after_free
}
extern "C" __global__ void null_pointer(int* p) {
  p[threadIdx.x] = 3;  // FAULT null_pointer
}
extern "C" __global__ void lds_outside(int* out, int at) {
  __shared__ int t[64];
  t[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = t[threadIdx.x + at];  // FAULT lds_outside
}

__device__ __forceinline__ int next_of(const int* p, int i) {
  return p[i + 1];  // FAULT inlined_outside
}
__device__ __forceinline__ int twice_next(const int* p, int i) {
  return 2 * next_of(p, i);  // CALLER inner
}
extern "C" __global__ void inlined_outside(const int* p, int* out) {
  out[threadIdx.x] = twice_next(p, threadIdx.x);  // CALLER outer
}

extern "C" __global__ void misaligned_atomic(char* p) {
  __hip_atomic_fetch_add((int*)(p + 2) + threadIdx.x, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  // FAULT misaligned_atomic
}
extern "C" __global__ void misaligned_scalar(const char* p, int* out) {
  int x;
  asm volatile("s_load_dword %0, %1, 0x2\n s_waitcnt lgkmcnt(0)" : "=&s"(x) : "s"(p));  // FAULT misaligned_scalar
  out[threadIdx.x] = x;
}

extern "C" __global__ void use_unwritten(const int* p, int* out) {
  int x = p[threadIdx.x];  // FAULT use_unwritten
  out[threadIdx.x] = x * 3;
}
extern "C" __global__ void copy_unwritten(const int* p, int* out) {
  out[threadIdx.x] = p[threadIdx.x];  // FAULT copy_unwritten
}
extern "C" __global__ void compare_unwritten(const int* p, int* out) {
  int x = p[threadIdx.x];  // FAULT compare_unwritten
  if (x * 3 > 7) out[threadIdx.x] = 1;
}
extern "C" __global__ void scalar_unwritten(const int* p, int* out) {
  int x = p[2];  // FAULT scalar_unwritten
  out[threadIdx.x] = x + threadIdx.x;
}
extern "C" __global__ void scalar_copy_unwritten(const int* p, int* out) {
  int x = p[blockIdx.x];  // FAULT scalar_copy_unwritten
  out[threadIdx.x] = x;
}
extern "C" __global__ void scalar_choice_unwritten(const int* p, int* out) {
  int x = p[blockIdx.x];  // FAULT scalar_choice_unwritten
  out[threadIdx.x] = threadIdx.x < 5 ? x : threadIdx.x;
}
extern "C" __global__ void lds_unwritten(int* out) {
  __shared__ int t[64];
  if (threadIdx.x < 32) t[threadIdx.x] = 1;
  __syncthreads();
  int x = t[threadIdx.x];  // FAULT lds_unwritten
  out[threadIdx.x] = x * 5;
}
extern "C" __global__ void scratch_unwritten(int* out) {
  volatile int a[8];
  a[0] = 1;
  int x = a[threadIdx.x & 7];  // FAULT scratch_unwritten
  out[threadIdx.x] = x * 7;
}

extern "C" __global__ void lds_race(int* out) {
  __shared__ int t[128];
  t[threadIdx.x] = 0;
  __syncthreads();
  t[threadIdx.x] = threadIdx.x + 1, out[threadIdx.x] = t[127 - threadIdx.x];  // FAULT lds_race
}
extern "C" __global__ void lds_write_race(int* out) {
  __shared__ int t[64];
  t[threadIdx.x & 63] = threadIdx.x + 1;  // FAULT lds_write_race
  __syncthreads();
  out[threadIdx.x] = t[threadIdx.x & 63];
}
extern "C" __global__ void group_race(int* p) {
  p[blockIdx.x * 64 + threadIdx.x] = p[((blockIdx.x + 1) % gridDim.x) * 64 + threadIdx.x] + 1;  // FAULT group_race
}

extern "C" __global__ void divergent_barrier(int* out) {
  if (threadIdx.x % 64 < 32) __builtin_amdgcn_s_barrier();  // FAULT divergent_barrier
  out[threadIdx.x] = 1;
}
extern "C" __global__ void two_barriers(int* out) {
  if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0) {
    out[0] = 1;
    asm volatile("s_barrier ; of the first wave");
  } else {
    out[1] = 2;
    asm volatile("s_barrier ; of the others");  // FAULT two_barriers
  }
}

extern "C" __global__ void no_wait_global(const int* p, int* out) {
  int x;
  asm volatile("global_load_dword %0, %1, off\n v_add_u32 %0, 1, %0\n s_waitcnt vmcnt(0)" : "=&v"(x) : "v"(p + threadIdx.x));  // FAULT no_wait_global
  out[threadIdx.x] = x;
}
// Two loads and a wait that lets the second one be late.
extern "C" __global__ void short_wait(const int* p, int* out) {
  int x, y;
  asm volatile("global_load_dword %0, %2, off\n global_load_dword %1, %2, off offset:4\n s_waitcnt vmcnt(1)\n v_add_u32 %0, %0, %1\n s_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p + threadIdx.x));  // FAULT short_wait
  out[threadIdx.x] = x;
}
extern "C" __global__ void no_wait_lds(int* out) {
  int x;
  __shared__ int t[64];
  t[threadIdx.x] = 1;
  __syncthreads();
  asm volatile("ds_read_b32 %0, %1\n v_add_u32 %0, 1, %0\n s_waitcnt lgkmcnt(0)" : "=&v"(x) : "v"(threadIdx.x * 4));  // FAULT no_wait_lds
  out[threadIdx.x] = x + t[threadIdx.x];
}
extern "C" __global__ void no_wait_scalar(const int* p, int* out) {
  int x;
  asm volatile("s_load_dword %0, %1, 0x0\n s_add_u32 %0, %0, 1\n s_waitcnt lgkmcnt(0)" : "=&s"(x) : "s"(p));  // FAULT no_wait_scalar
  out[threadIdx.x] = x;
}
extern "C" __global__ void no_wait_barrier(int* out) {
  __shared__ int t[128];
  t[threadIdx.x] = 0;
  __syncthreads();
  asm volatile("ds_write_b32 %0, %1\n s_barrier\n s_waitcnt lgkmcnt(0)" : : "v"(threadIdx.x * 4), "v"(5));  // FAULT no_wait_barrier
  out[threadIdx.x] = ((volatile int*)t)[threadIdx.x];
}

extern "C" __global__ void nop_scalar_address(int* p, int* out) {
  int x, low = (int)(size_t)p, high = (int)((size_t)p >> 32);
  asm volatile("v_readfirstlane_b32 s20, %1\n v_readfirstlane_b32 s21, %2\n global_load_dword %0, %3, s[20:21]\n s_waitcnt vmcnt(0)" : "=&v"(x) : "v"(low), "v"(high), "v"(0) : "s20", "s21");  // FAULT nop_scalar_address
  out[threadIdx.x] = x;
}
extern "C" __global__ void nop_div_fmas(float* out) {
  float x, y = threadIdx.x;
  asm volatile("v_cmp_eq_f32 vcc, %1, %1\n v_div_fmas_f32 %0, %1, %1, %1" : "=v"(x) : "v"(y) : "vcc");  // FAULT nop_div_fmas
  out[threadIdx.x] = x;
}
extern "C" __global__ void nop_dpp(int* out) {
  int x, y;
  asm volatile("v_mov_b32 %0, %2\n v_mov_b32_dpp %1, %0 row_mirror row_mask:0xf bank_mask:0xf" : "=&v"(x), "=&v"(y) : "v"((int)threadIdx.x));  // FAULT nop_dpp
  out[threadIdx.x] = x + y;
}
extern "C" __global__ void nop_exec_dpp(int* out) {
  int y;
  asm volatile("s_mov_b64 s[20:21], exec\n v_cmpx_eq_u32 vcc, %1, %1\n s_nop 1\n v_mov_b32_dpp %0, %1 row_mirror row_mask:0xf bank_mask:0xf\n s_mov_b64 exec, s[20:21]" : "=&v"(y) : "v"((int)threadIdx.x) : "vcc", "s20", "s21");  // FAULT nop_exec_dpp
  out[threadIdx.x] = y;
}
extern "C" __global__ void nop_lane_select(int* out) {
  int x;
  asm volatile("v_readfirstlane_b32 s20, %1\n s_nop 2\n v_readlane_b32 %0, %1, s20" : "=s"(x) : "v"((int)threadIdx.x) : "s20");  // FAULT nop_lane_select
  out[threadIdx.x] = x;
}
extern "C" __global__ void nop_m0(int* out) {
  int x;
  asm volatile("s_mov_b32 s20, 9\n s_mov_b32 m0, 0\n s_movrels_b32 %0, s20" : "=s"(x) : : "s20");  // FAULT nop_m0
  out[threadIdx.x] = x;
}
extern "C" __global__ void nop_setreg(int* out) {
  int x;
  asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0\n s_getreg_b32 %0, hwreg(HW_REG_MODE, 0, 2)" : "=s"(x));  // FAULT nop_setreg
  out[threadIdx.x] = x;
}
extern "C" __global__ void nop_store_data(int4* out) {
  asm volatile("v_mov_b32 v20, 1\n v_mov_b32 v21, 2\n v_mov_b32 v22, 3\n v_mov_b32 v23, 4\n global_store_dwordx4 %0, v[20:23], off\n v_mov_b32 v22, 0" : : "v"(out + threadIdx.x) : "v20", "v21", "v22", "v23", "memory");  // FAULT nop_store_data
}

// ---- what must not be reported ----

extern "C" __global__ void right_waits(const int* p, int* out) {
  int x, y, z;
  asm volatile(
      "global_load_dword %0, %3, off\n global_load_dword %1, %3, off offset:4\n s_waitcnt vmcnt(1)\n"
      "v_add_u32 %0, %0, 1\n s_waitcnt vmcnt(0)\n v_add_u32 %0, %0, %1\n v_mov_b32 %1, %0\n s_nop 1\n"
      "v_mov_b32_dpp %2, %1 row_mirror row_mask:0xf bank_mask:0xf\n"
      "v_cmp_eq_u32 vcc, %1, %1\n s_nop 3\n v_div_fmas_f32 %2, %1, %1, %1\n"
      "s_mov_b32 m0, 0\n s_nop 0\n s_movrels_b32 s20, s20"
      : "=&v"(x), "=&v"(y), "=&v"(z) : "v"(p + threadIdx.x) : "vcc", "s20");
  out[threadIdx.x] = x + y + z;
}
// The last group adds up what the others left: ordered by an atomic.
extern "C" __global__ void last_group(const int* in, int* partial, int* count, int* out) {
  __shared__ int t[128];
  __shared__ int last;
  t[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  for (int o = 64; o; o >>= 1) {
    if (threadIdx.x < o) t[threadIdx.x] += t[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = t[0];
    __threadfence();
    last = atomicAdd(count, 1) == (int)gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  int s = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += 128) s += partial[i];
  atomicAdd(out, s);
}
// A flag stored by one group and awaited by the others.
extern "C" __global__ void flag(int* data, int* ready, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) {
      data[0] = 42;
      __hip_atomic_store(ready, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    } else {
      while (!__hip_atomic_load(ready, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) __builtin_amdgcn_s_sleep(1);
      out[blockIdx.x] = data[0];
    }
  }
}
// Turns that one store passes on, by a lock, by tickets and from group to group: machine code shows plain stores.
extern "C" __global__ void turns(int* lock, int* ticket, int* turn, int* value) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1)) __builtin_amdgcn_s_sleep(1);
    __threadfence();
    value[0] += 1;
    __hip_atomic_store(lock, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    int mine = atomicAdd(ticket, 1);
    while (__hip_atomic_load(ticket + 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != mine) __builtin_amdgcn_s_sleep(1);
    value[1] += 1;
    __hip_atomic_store(ticket + 1, mine + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != (int)blockIdx.x) __builtin_amdgcn_s_sleep(1);
  }
  __syncthreads();
  value[2 + threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) __hip_atomic_store(turn, (int)blockIdx.x + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
// The clock is read while a load into the registers that its empty address field names is under way.
extern "C" __global__ void clock_beside_load(const long* p, long* out) {
  long t, x;
  asm volatile("s_load_dwordx2 s[0:1], %2, 0x0\n\ts_memtime %0\n\ts_waitcnt lgkmcnt(0)\n\ts_mov_b64 %1, s[0:1]"
               : "=&s"(t), "=s"(x) : "s"(p) : "s0", "s1");
  out[threadIdx.x] = t + x;
}
// No lane chooses the scalar that was never written.
extern "C" __global__ void scalar_not_chosen(const int* p, int* out, int n) {
  int x = p[blockIdx.x];
  out[threadIdx.x] = (int)threadIdx.x >= n ? x : threadIdx.x;
}
// A plain store in place of an atomic is a race all the same.
extern "C" __global__ void atomic_and_plain(int* p) {
  if (blockIdx.x & 1)
    atomicAdd(p, 1);
  else
    p[0] = blockIdx.x;  // FAULT atomic_and_plain
}
// All lanes compute on what only some have written, and only those store.
extern "C" __global__ void thrown_away(int* out, int n) {
  __shared__ int t[128];
  int i = threadIdx.x, y;
  if (i < n) t[i] = i;
  __syncthreads();
  int x = ((volatile int*)t)[i];
  asm volatile("v_mul_u32_u24 %0, %1, 5\n v_add_u32 %0, %0, %1" : "=&v"(y) : "v"(x));
  if (i < n) out[i] = y;
}
// 32-bit results of a 64-bit operation whose sources' other halves were never written.
extern "C" __global__ void other_half(const int* in, int* out) {
  int i = threadIdx.x, a, b, c;
  int x = ((const volatile int*)in)[i];
  asm volatile(
      "v_mov_b32 v20, %3\n v_mov_b32 v21, %4\n"
      "v_mad_u64_u32 v[22:23], vcc, %3, 5, v[20:21]\n"  // v22 of v20 alone
      "v_mov_b32 %0, v22\n"
      "v_lshlrev_b64 v[22:23], 3, v[20:21]\n"  // the same
      "v_mov_b32 %1, v22\n"
      "v_mov_b32 v20, %4\n v_mov_b32 v21, %3\n"
      "v_lshrrev_b64 v[20:21], 2, v[20:21]\n"  // v21 of v21 alone, in place
      "v_mov_b32 %2, v21\n"
      : "=&v"(a), "=&v"(b), "=&v"(c)
      : "v"(i), "v"(x)
      : "v20", "v21", "v22", "v23", "vcc");
  out[i] = a + b + c;
}
// Their high halves do depend on both, also where the result takes the place of a source.
extern "C" __global__ void high_half_unwritten(const int* in, int* out) {
  int i = threadIdx.x, y;
  int x = ((const volatile int*)in)[i];  // FAULT high_half_unwritten
  asm volatile(
      "v_mov_b32 v20, %1\n v_mov_b32 v21, %2\n"
      "v_mad_u64_u32 v[21:22], vcc, %1, 5, v[20:21]\n"
      "v_mov_b32 %0, v22\n"
      : "=&v"(y)
      : "v"(i), "v"(x)
      : "v20", "v21", "v22", "vcc");
  out[i] = y;
}
extern "C" __global__ void low_half_unwritten(const int* in, int* out) {
  int i = threadIdx.x, y;
  int x = ((const volatile int*)in)[i];  // FAULT low_half_unwritten
  asm volatile(
      "v_mov_b32 v20, %1\n v_mov_b32 v21, %2\n"
      "v_lshrrev_b64 v[22:23], 2, v[20:21]\n"
      "v_mov_b32 %0, v22\n"
      : "=&v"(y)
      : "v"(i), "v"(x)
      : "v20", "v21", "v22", "v23");
  out[i] = y;
}
// Lanes that end before a barrier, a padded structure that is copied, private arrays, half-dword tiles.
struct Padded {
  int a;
  double b;
};
extern "C" __global__ void odds_and_ends(const Padded* in, Padded* out, int n) {
  __shared__ short t[256];
  int i = threadIdx.x;
  if (i >= n) return;
  Padded p = in[i];
  int a[9];
  for (int k = 0; k < 9; ++k) a[k] = k * i;
  t[2 * (i % 128)] = (short)a[i % 9];
  __syncthreads();
  p.b += t[2 * ((i + 1) % n % 128)];
  out[i] = p;
}

// A program with faults, for the checker: each kernel does one thing wrong at the line marked for it. It runs on
// all the same, since the checker holds the accesses back.
#include <hip/hip_runtime.h>

#include <cstdio>

#include "check.hpp"

__global__ void just_past(int* p, int n) {
  p[n + threadIdx.x] = 1;  // FAULT just_past
}
__global__ void far_past(int* p, int n) {
  p[n + 9000 + threadIdx.x] = 1;  // FAULT far_past
}
__global__ void before_start(const int* p, int* out) {
  out[threadIdx.x] = p[(int)threadIdx.x - 100];  // FAULT before_start
}
__global__ void freed(int* p) {
  p[threadIdx.x] = 1;  // FAULT freed
}
__global__ void freed_before_next(int* p) {
  p[threadIdx.x] = 1;  // FAULT freed_before_next
}
__global__ void unwritten(const int* p, int* out) {
  int x = p[threadIdx.x];  // FAULT unwritten
  out[threadIdx.x] = x * 3;
}
__device__ __forceinline__ int inlined(const int* p, int i) {
  return p[i + 1];  // FAULT in_inlined
}
__global__ void in_inlined(const int* p, int* out) {
  out[threadIdx.x] = inlined(p, threadIdx.x) * 2;  // CALLER in_inlined
}

int main(int argc, char**) {
  const int n = 1000;  // not a multiple of a page
  int* a = upload(std::vector<int>(n, 5));
  int* b = upload(std::vector<int>(n, 6));
  int* c = upload(std::vector<int>(64, 7));
  int* nothing = device_array<int>(64);
  int* gone = device_array<int>(n);
  HIP(hipFree(gone));
  // Allocations of the same size that follow do not take the place of what was freed.
  int* first = device_array<int>(n);
  HIP(hipFree(first));
  int* next = upload(std::vector<int>(n, 8));
  hipLaunchKernelGGL(just_past, 1, 64, 0, 0, a, n);
  hipLaunchKernelGGL(just_past, 1, 64, 0, 0, b, n);
  hipLaunchKernelGGL(far_past, 1, 64, 0, 0, a, n);
  hipLaunchKernelGGL(before_start, 1, 64, 0, 0, b, c);
  hipLaunchKernelGGL(freed, 1, 64, 0, 0, gone);
  hipLaunchKernelGGL(freed_before_next, 1, 64, 0, 0, first);
  hipLaunchKernelGGL(unwritten, 1, 64, 0, 0, nothing, c);
  hipLaunchKernelGGL(in_inlined, 1, 64, 0, 0, c, a);
  HIP(hipDeviceSynchronize());
  // Neither array is changed by the others' faults, except where a kernel wrote its own results.
  for (const int x : download(b, n)) EQUAL(x, 6);
  for (const int x : download(next, n)) EQUAL(x, 8);
  std::puts("ran to its end");
  if (argc > 1) std::quick_exit(0);
  return 0;
}

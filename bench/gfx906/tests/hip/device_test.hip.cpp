// Devices: properties, attributes, peer access, limits, errors; run with two cards.
#include <cstring>

#include "check.hpp"

__device__ __noinline__ int sum_to(int n, const volatile int* zero) {
  volatile int keep[8];
  keep[n & 7] = n;
  return n <= 0 ? *zero : sum_to(n - 1, zero) + keep[n & 7];
}
__global__ void recurse(int* out, int depth) {
  const volatile int zero = 0;
  out[threadIdx.x] = sum_to(depth, (const volatile int*)&zero);
}

void limits() {
  constexpr hipLimit_t kStack = hipLimit_t(0);
  size_t stack = 0;
  HIP(hipDeviceGetLimit(&stack, kStack));
  EQUAL(stack, 1024);
#if HIP_VERSION_MAJOR >= 6
  HIP(hipDeviceSetLimit(hipLimitMallocHeapSize, size_t{64} << 20));
  size_t heap = 0;
  HIP(hipDeviceGetLimit(&heap, hipLimitMallocHeapSize));
  EQUAL(heap, size_t{64} << 20);
  HIP_FAILS(hipDeviceSetLimit(kStack, 131056 + 1), hipErrorInvalidValue);
  HIP_FAILS(hipDeviceSetLimit(hipLimit_t(77), 1), hipErrorUnsupportedLimit);
  HIP(hipDeviceSetLimit(kStack, 131056));
  HIP(hipDeviceGetLimit(&stack, kStack));
  EQUAL(stack, 131056);
  const int depth = 1000;
#else
  const int depth = 100;  // these compilers give a kernel that recurses 16 KiB
#endif
  int* out = device_array<int>(64);
  recurse<<<1, 64>>>(out, depth);
  for (const int x : download(out, 64)) EQUAL(x, depth * (depth + 1) / 2);
}

int main() {
  limits();
  int count = 0;
  HIP(hipGetDeviceCount(&count));
  EQUAL(count, 2);
  hipDeviceProp_t p;
  HIP(hipGetDeviceProperties(&p, 1));
  EQUAL(std::string(p.gcnArchName), std::string("gfx906:sramecc+:xnack-"));
  EQUAL(p.warpSize, 64);
  EQUAL(p.multiProcessorCount, 60);
  EQUAL(p.sharedMemPerBlock, 65536);
  EQUAL(p.maxThreadsPerBlock, 1024);
  EQUAL(p.totalGlobalMem >> 30, 31);
  EQUAL(p.clockRate, 1725000);
  EQUAL(p.memoryBusWidth, 4096);
  EQUAL(p.cooperativeLaunch, 1);
  EQUAL(p.isLargeBar, 1);
  EQUAL(p.major * 10 + p.minor, 90);
  int value = 0;
  HIP(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0));
  EQUAL(value, 64);
  HIP(hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0));
  EQUAL(value, p.multiProcessorCount);
  HIP(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, 0));
  EQUAL(value, 65536);
  char bus[20], bus2[20];
  HIP(hipDeviceGetPCIBusId(bus, sizeof bus, 0));
  HIP(hipDeviceGetPCIBusId(bus2, sizeof bus2, 1));
  TRUE_(std::strcmp(bus, bus2) != 0);
  int found = -1;
  HIP(hipDeviceGetByPCIBusId(&found, bus2));
  EQUAL(found, 1);
  HIP_FAILS(hipSetDevice(2), hipErrorInvalidDevice);
  HIP_FAILS(hipGetDeviceProperties(&p, -1), hipErrorInvalidDevice);

  int can = 0;
  HIP(hipDeviceCanAccessPeer(&can, 0, 1));
  EQUAL(can, 1);
  HIP(hipDeviceCanAccessPeer(&can, 1, 1));
  EQUAL(can, 0);
  HIP(hipDeviceEnablePeerAccess(1, 0));
  HIP_FAILS(hipDeviceEnablePeerAccess(1, 0), hipErrorPeerAccessAlreadyEnabled);
  HIP(hipDeviceDisablePeerAccess(1));
  HIP_FAILS(hipDeviceDisablePeerAccess(1), hipErrorPeerAccessNotEnabled);

  // The last error stays until it is asked for.
  (void)hipSetDevice(99);
  EQUAL(hipPeekAtLastError(), hipErrorInvalidDevice);
  EQUAL(hipGetLastError(), hipErrorInvalidDevice);
  EQUAL(hipGetLastError(), hipSuccess);
  EQUAL(std::string(hipGetErrorString(hipErrorOutOfMemory)), std::string("out of memory"));
  EQUAL(std::string(hipGetErrorName(hipErrorInvalidValue)), std::string("hipErrorInvalidValue"));

  size_t before = 0, after = 0, total = 0;
  HIP(hipMemGetInfo(&before, &total));
  void* block = nullptr;
  HIP(hipMalloc(&block, size_t{8} << 30));  // virtual memory: nothing of the host is used
  HIP(hipMemGetInfo(&after, &total));
  EQUAL(before - after, size_t{8} << 30);
  void* more = nullptr;
  HIP_FAILS(hipMalloc(&more, size_t{30} << 30), hipErrorOutOfMemory);
  HIP(hipFree(block));
  HIP(hipMemGetInfo(&after, &total));
  EQUAL(before, after);

  hipIpcMemHandle_t handle;
  HIP_FAILS(hipIpcGetMemHandle(&handle, block), hipErrorNotSupported);
  std::puts("ok");
}

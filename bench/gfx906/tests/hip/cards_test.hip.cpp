// Several cards: own globals, peer copies, kernels that write to the other card, kernels that wait
// for each other through peer memory, a cooperative grid, and virtual memory. Run with two cards.
#include "check.hpp"

#if HIP_VERSION_MAJOR >= 6
#include <hip/hip_cooperative_groups.h>
__device__ void grid_sync(int*, int) {
  cooperative_groups::this_grid().sync();
}
#else
// The cooperative groups of Debian's HIP 5.2 do not compile: a barrier by hand, which as well needs
// all groups resident.
__device__ void grid_sync(int* arrived, int groups) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const int ticket =
        __hip_atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
    const int goal = (ticket / groups + 1) * groups;
    while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < goal)
      __builtin_amdgcn_s_sleep(1);
  }
  __syncthreads();
}
#endif

__device__ int per_card = 5;

__global__ void bump(int* out, int by) {
  per_card += by;
  *out = per_card;
}
__global__ void push(int* remote, int value) {
  remote[threadIdx.x] = value + static_cast<int>(threadIdx.x);
}

// Rounds of handing a counter to the other card and waiting for its answer.
__global__ void ping_pong(int* mine, int* theirs, int rounds, int first) {
  for (int i = 1; i <= rounds; ++i) {
    if (first) __hip_atomic_store(theirs, i, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    while (__hip_atomic_load(mine, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) < i)
      __builtin_amdgcn_s_sleep(1);
    if (!first) __hip_atomic_store(theirs, i, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
}

__global__ void grid_barrier(int* stage, int* bad, int* arrived, int groups) {
  for (int i = 1; i <= 3; ++i) {
    if (threadIdx.x == 0) atomicAdd(stage, 1);
    grid_sync(arrived, groups);
    if (threadIdx.x == 0 &&
        __hip_atomic_load(stage, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != i * groups) {
      atomicAdd(bad, 1);
    }
    grid_sync(arrived, groups);
  }
}

static int* on_card(int card, size_t count) {
  HIP(hipSetDevice(card));
  int* base = device_array<int>(count);
  HIP(hipMemset(base, 0, count * sizeof(int)));
  return base;
}

static void test_globals_and_copies() {
  int* out0 = on_card(0, 64);
  int* out1 = on_card(1, 64);
  bump<<<1, 1>>>(out1, 10);
  HIP(hipDeviceSynchronize());
  HIP(hipSetDevice(0));
  bump<<<1, 1>>>(out0, 1);
  EQUAL(download(out0, 1)[0], 6);
  EQUAL(download(out1, 1)[0], 15);
  HIP(hipDeviceEnablePeerAccess(1, 0));
  push<<<1, 64>>>(out1, 500);
  HIP(hipDeviceSynchronize());
  EQUAL(download(out1, 64)[63], 563);
  HIP(hipMemcpyPeer(out0, 0, out1, 1, 256));
  EQUAL(download(out0, 64)[10], 510);
}

static void test_waiting() {
  int* flag0 = on_card(0, 16);
  int* flag1 = on_card(1, 16);
  hipStream_t s[2];
  for (int c = 0; c < 2; ++c) {
    HIP(hipSetDevice(c));
    HIP(hipStreamCreateWithFlags(&s[c], hipStreamNonBlocking));
  }
  HIP(hipSetDevice(1));
  ping_pong<<<1, 1, 0, s[1]>>>(flag1, flag0, 50, 0);
  HIP(hipSetDevice(0));
  ping_pong<<<1, 1, 0, s[0]>>>(flag0, flag1, 50, 1);
  HIP(hipStreamSynchronize(s[0]));
  HIP(hipStreamSynchronize(s[1]));
  EQUAL(download(flag0, 1)[0], 50);
  // Work of one card that another card's event releases.
  hipEvent_t event;
  HIP(hipSetDevice(1));
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  push<<<1, 1, 0, s[1]>>>(flag0, 900);
  HIP(hipEventRecord(event, s[1]));
  HIP(hipSetDevice(0));
  HIP(hipStreamWaitEvent(s[0], event, 0));
  int back = 0;
  HIP(hipMemcpyAsync(&back, flag0, 4, hipMemcpyDeviceToHost, s[0]));
  HIP(hipStreamSynchronize(s[0]));
  EQUAL(back, 900);
}

static void test_cooperative() {
  int* words = on_card(0, 3);
  int *bad = words + 1, *arrived = words + 2;
  int groups = 240;
  void* arguments[] = {&words, &bad, &arrived, &groups};
  HIP(hipLaunchCooperativeKernel(reinterpret_cast<void*>(&grid_barrier), dim3(groups), dim3(128),
                                 arguments, 0, nullptr));
  HIP(hipDeviceSynchronize());
  const auto have = download(words, 2);
  EQUAL(have[0], 3 * groups);
  EQUAL(have[1], 0);
  HIP_FAILS(hipLaunchCooperativeKernel(reinterpret_cast<void*>(&grid_barrier), dim3(100000),
                                       dim3(128), arguments, 0, nullptr),
            hipErrorCooperativeLaunchTooLarge);
}

static void test_virtual_memory() {
  hipMemAllocationProp prop = {};
  prop.type = hipMemAllocationTypePinned;
  prop.location.type = hipMemLocationTypeDevice;
  prop.location.id = 0;
  size_t unit = 0;
  HIP(hipMemGetAllocationGranularity(&unit, &prop, hipMemAllocationGranularityMinimum));
  void* base = nullptr;
  HIP(hipMemAddressReserve(&base, unit * 64, 0, nullptr, 0));
  hipMemAccessDesc access = {};
  access.location = prop.location;
  access.flags = hipMemAccessFlagsProtReadWrite;
  char* end = static_cast<char*>(base);
  for (int i = 0; i < 3; ++i) {
    hipMemGenericAllocationHandle_t handle;
    HIP(hipMemCreate(&handle, unit * 2, &prop, 0));
    HIP(hipMemMap(end, unit * 2, 0, handle, 0));
    HIP(hipMemRelease(handle));
    HIP(hipMemSetAccess(end, unit * 2, &access, 1));
    end += unit * 2;
  }
  push<<<1, 64>>>(reinterpret_cast<int*>(end) - 64, 7);
  int back = 0;
  HIP(hipMemcpy(&back, end - 4, 4, hipMemcpyDeviceToHost));
  EQUAL(back, 70);
  HIP(hipMemUnmap(base, unit * 6));
  HIP(hipMemAddressFree(base, unit * 64));
}

int main() {
  test_globals_and_copies();
  test_waiting();
  test_cooperative();
  test_virtual_memory();
  std::puts("ok");
}

// Streams and events: order within and between streams, the null stream, callbacks, stream memory
// operations, stream-ordered allocation.
#include <atomic>
#include <chrono>
#include <thread>

#include "check.hpp"

__global__ void add_one(int* value) {
  *value += 1;
}
__global__ void multiply(int* value, int factor) {
  *value *= factor;
}
__global__ void wait_for_flag(volatile int* flag, int* out) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(1);
  *out += 5;
}

static void slow_host(hipStream_t, hipError_t error, void* data) {
  EQUAL(error, hipSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ++*static_cast<std::atomic<int>*>(data);
}

static void test_order() {
  int* value = device_array<int>(1);
  HIP(hipMemset(value, 0, 4));
  hipStream_t a, b;
  HIP(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
  HIP(hipStreamCreate(&b));
  hipEvent_t done;
  HIP(hipEventCreateWithFlags(&done, hipEventDisableTiming));
  std::atomic<int> calls{0};
  HIP(hipStreamAddCallback(a, slow_host, &calls, 0));
  for (int i = 0; i < 10; ++i) add_one<<<1, 1, 0, a>>>(value);
  EQUAL(hipStreamQuery(a), hipErrorNotReady);
  HIP(hipEventRecord(done, a));
  EQUAL(hipEventQuery(done), hipErrorNotReady);
  HIP(hipStreamWaitEvent(b, done, 0));
  multiply<<<1, 1, 0, b>>>(value, 3);
  HIP(hipStreamSynchronize(b));
  EQUAL(calls.load(), 1);
  EQUAL(download(value, 1)[0], 30);
  EQUAL(hipStreamQuery(a), hipSuccess);

  // The null stream waits for blocking streams and they for it.
  HIP(hipStreamAddCallback(b, slow_host, &calls, 0));
  add_one<<<1, 1, 0, b>>>(value);
  multiply<<<1, 1>>>(value, 2);
  add_one<<<1, 1, 0, b>>>(value);
  HIP(hipStreamSynchronize(b));
  EQUAL(download(value, 1)[0], 63);
  HIP(hipStreamDestroy(a));
  HIP(hipStreamDestroy(b));
  HIP_FAILS(hipStreamSynchronize(b), hipErrorInvalidHandle);
  HIP(hipEventDestroy(done));
}

static void test_times() {
  hipEvent_t start, stop;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&stop));
  int* value = device_array<int>(1);
  HIP(hipMemset(value, 0, sizeof *value));
  HIP(hipEventRecord(start, nullptr));
  for (int i = 0; i < 20; ++i) add_one<<<1, 1>>>(value);
  HIP(hipEventRecord(stop, nullptr));
  HIP(hipEventSynchronize(stop));
  float ms = -1;
  HIP(hipEventElapsedTime(&ms, start, stop));
  TRUE_(ms > 0 && ms < 60000);
  HIP(hipEventElapsedTime(&ms, stop, start));
  TRUE_(ms < 0);
}

// A kernel that spins until another stream's copy, or the host, releases it.
static void test_concurrency() {
  int* flag = device_array<int>(1);
  int* out = device_array<int>(1);
  HIP(hipMemset(flag, 0, 4));
  HIP(hipMemset(out, 0, 4));
  hipStream_t spin, feed;
  HIP(hipStreamCreateWithFlags(&spin, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&feed, hipStreamNonBlocking));
  wait_for_flag<<<1, 64, 0, spin>>>(flag, out);
  EQUAL(hipStreamQuery(spin), hipErrorNotReady);
  HIP(hipMemsetAsync(flag, 1, 4, feed));
  HIP(hipStreamSynchronize(spin));
  EQUAL(download(out, 1)[0], 5);

  HIP(hipMemset(flag, 0, 4));
  HIP(hipStreamWaitValue32(feed, flag, 7, hipStreamWaitValueEq, 0xffffffffu));
  add_one<<<1, 1, 0, feed>>>(out);
  EQUAL(hipStreamQuery(feed), hipErrorNotReady);
  HIP(hipStreamWriteValue32(spin, flag, 7, 0));
  HIP(hipStreamSynchronize(feed));
  EQUAL(download(out, 1)[0], 6);
}

static void test_async_memory() {
  hipStream_t s;
  HIP(hipStreamCreate(&s));
  hipMemPool_t pool;
  HIP(hipDeviceGetDefaultMemPool(&pool, 0));
  void* block = nullptr;
  HIP(hipMallocAsync(&block, 1 << 20, s));
  uint64_t used = 0;
  HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
  EQUAL(used, 1 << 20);
  HIP(hipMemsetAsync(block, 0, 4, s));
  add_one<<<1, 1, 0, s>>>(static_cast<int*>(block));
  int back = 0;
  HIP(hipMemcpyAsync(&back, block, 4, hipMemcpyDeviceToHost, s));
  HIP(hipFreeAsync(block, s));
  HIP(hipStreamSynchronize(s));
  EQUAL(back, 1);
  HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
  EQUAL(used, 0);
  HIP(hipStreamDestroy(s));
}

int main() {
  test_order();
  test_times();
  test_concurrency();
  test_async_memory();
  std::puts("ok");
}

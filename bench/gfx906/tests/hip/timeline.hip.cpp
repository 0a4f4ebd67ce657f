// A program for the timeline: kernels on two cards, copies between them both ways, a wait across cards, launches
// with a host wait each, and a chain of small kernels in a graph.
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "check.hpp"

__global__ void fill_kernel(int* p, int value) { p[blockIdx.x * 256 + threadIdx.x] = value; }
__global__ void add_kernel(int* p) { p[blockIdx.x * 256 + threadIdx.x] += 1; }
__global__ void empty_kernel() {}
__global__ void node_kernel() {}

int main() {
  const int n = 1 << 18;
  int* on[2];
  hipStream_t stream[2];
  hipEvent_t copied;
  for (int card = 0; card < 2; ++card) {
    HIP(hipSetDevice(card));
    on[card] = device_array<int>(n);
    HIP(hipStreamCreate(&stream[card]));
  }
  HIP(hipSetDevice(0));
  HIP(hipDeviceEnablePeerAccess(1, 0));
  HIP(hipEventCreate(&copied));
  hipLaunchKernelGGL(fill_kernel, n / 256, 256, 0, stream[0], on[0], 3);
  HIP(hipMemcpyPeerAsync(on[1], 1, on[0], 0, n * sizeof(int), stream[0]));
  HIP(hipEventRecord(copied, stream[0]));
  HIP(hipSetDevice(1));
  HIP(hipStreamWaitEvent(stream[1], copied, 0));
  hipLaunchKernelGGL(add_kernel, n / 256, 256, 0, stream[1], on[1]);
  HIP(hipMemcpyPeerAsync(on[0], 0, on[1], 1, n * sizeof(int), stream[1]));
  HIP(hipStreamSynchronize(stream[1]));
  HIP(hipSetDevice(0));
  const std::vector<int> back = download(on[0], n);
  for (const int x : back) EQUAL(x, 4);
  // A child writes no timeline when it ends: it would get into its parent's.
  const pid_t child = fork();
  if (child == 0) std::exit(0);
  int status = -1;
  waitpid(child, &status, 0);
  EQUAL(status, 0);

  for (int k = 0; k < 8; ++k) {
    hipLaunchKernelGGL(empty_kernel, 1, 64, 0, stream[0]);
    HIP(hipStreamSynchronize(stream[0]));
  }
  hipGraph_t graph;
  hipGraphExec_t exec;
  HIP(hipStreamBeginCapture(stream[0], hipStreamCaptureModeGlobal));
  for (int k = 0; k < 8; ++k) hipLaunchKernelGGL(node_kernel, 1, 64, 0, stream[0]);
  HIP(hipStreamEndCapture(stream[0], &graph));
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int k = 0; k < 2; ++k) {
    HIP(hipGraphLaunch(exec, stream[0]));
    HIP(hipStreamSynchronize(stream[0]));
  }
  std::puts("done");
  return 0;
}

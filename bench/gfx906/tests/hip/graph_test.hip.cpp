// Graphs: capture with fork and join, replay, update, explicit nodes, children, errors of capture.
#include "check.hpp"

__global__ void add(int* value, int amount) {
  *value += amount;
}
__global__ void scale(int* value, int factor) {
  *value *= factor;
}
__global__ void sum(const int* a, const int* b, int* out) {
  *out = *a + *b;
}
__global__ void meet(volatile int* mine, volatile int* other) {
  *mine = 1;
  while (*other == 0) __builtin_amdgcn_s_sleep(1);
}

static hipGraph_t capture(hipStream_t s, int* value, int amount, int factor) {
  hipGraph_t graph;
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeRelaxed));
  add<<<1, 1, 0, s>>>(value, amount);
  scale<<<1, 1, 0, s>>>(value, factor);
  HIP(hipStreamEndCapture(s, &graph));
  return graph;
}

static void test_capture_and_update(hipStream_t s) {
  int* value = upload(std::vector<int>{1});
  hipGraph_t first = capture(s, value, 2, 10);
  EQUAL(download(value, 1)[0], 1);  // capturing runs nothing
  size_t nodes = 0;
  HIP(hipGraphGetNodes(first, nullptr, &nodes));
  EQUAL(nodes, 2);
  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, first, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(exec, s));
  HIP(hipGraphLaunch(exec, s));
  HIP(hipStreamSynchronize(s));
  EQUAL(download(value, 1)[0], 320);
  hipGraph_t second = capture(s, value, 5, 2);
  hipGraphNode_t bad;
  hipGraphExecUpdateResult result;
  HIP(hipGraphExecUpdate(exec, second, &bad, &result));
  EQUAL(result, hipGraphExecUpdateSuccess);
  HIP(hipGraphLaunch(exec, s));
  HIP(hipStreamSynchronize(s));
  EQUAL(download(value, 1)[0], 650);
  hipGraph_t longer;
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeRelaxed));
  for (int i = 0; i < 3; ++i) add<<<1, 1, 0, s>>>(value, 1);
  HIP(hipStreamEndCapture(s, &longer));
  HIP_FAILS(hipGraphExecUpdate(exec, longer, &bad, &result), hipErrorGraphExecUpdateFailure);
  EQUAL(result, hipGraphExecUpdateErrorTopologyChanged);
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(first));
  HIP(hipGraphDestroy(second));
  HIP(hipGraphDestroy(longer));
}

// Two branches that wait for each other must run at the same time in every replay.
static void test_branches(hipStream_t s) {
  hipStream_t other;
  HIP(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  hipEvent_t fork, join;
  HIP(hipEventCreateWithFlags(&fork, hipEventDisableTiming));
  HIP(hipEventCreateWithFlags(&join, hipEventDisableTiming));
  int* flags = device_array<int>(64);
  hipGraph_t graph;
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  HIP(hipMemsetAsync(flags, 0, 256, s));
  HIP(hipEventRecord(fork, s));
  HIP(hipStreamWaitEvent(other, fork, 0));
  meet<<<1, 1, 0, s>>>(flags, flags + 32);
  meet<<<1, 1, 0, other>>>(flags + 32, flags);
  HIP(hipEventRecord(join, other));
  HIP(hipStreamWaitEvent(s, join, 0));
  HIP(hipStreamEndCapture(s, &graph));
  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) HIP(hipGraphLaunch(exec, s));
  HIP(hipStreamSynchronize(s));
  EQUAL(download(flags, 1)[0], 1);

  // A branch that never comes back.
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeRelaxed));
  add<<<1, 1, 0, s>>>(flags, 1);
  HIP(hipEventRecord(fork, s));
  HIP(hipStreamWaitEvent(other, fork, 0));
  add<<<1, 1, 0, other>>>(flags, 1);
  HIP_FAILS(hipStreamEndCapture(s, &graph), hipErrorStreamCaptureUnjoined);
  // What a capture forbids.
  HIP(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  HIP_FAILS(hipStreamSynchronize(s), hipErrorStreamCaptureUnsupported);
  HIP_FAILS(hipStreamEndCapture(s, &graph), hipErrorStreamCaptureInvalidated);
  HIP_FAILS(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal),
            hipErrorStreamCaptureUnsupported);
}

static void count_call(void* data) {
  ++*static_cast<int*>(data);
}

static void test_nodes(hipStream_t s) {
  int* a = upload(std::vector<int>{7, 100, 0});
  int* b = a + 1;
  int* c = a + 2;
  hipGraph_t graph;
  HIP(hipGraphCreate(&graph, 0));
  int amount = 3;
  void* add_arguments[] = {&a, &amount};
  hipKernelNodeParams k = {};
  k.func = reinterpret_cast<void*>(&add);
  k.gridDim = dim3(1);
  k.blockDim = dim3(1);
  k.kernelParams = add_arguments;
  hipGraphNode_t first, second, third, copy_node, host_node;
  HIP(hipGraphAddKernelNode(&first, graph, nullptr, 0, &k));
  amount = 1000;  // the node has its own copy
  void* b_arguments[] = {&b, &amount};
  k.kernelParams = b_arguments;
  HIP(hipGraphAddKernelNode(&second, graph, nullptr, 0, &k));
  void* sum_arguments[] = {&a, &b, &c};
  k.func = reinterpret_cast<void*>(&sum);
  k.kernelParams = sum_arguments;
  const hipGraphNode_t both[] = {first, second};
  HIP(hipGraphAddKernelNode(&third, graph, both, 2, &k));
  int result = 0, calls = 0;
  HIP(hipGraphAddMemcpyNode1D(&copy_node, graph, &third, 1, &result, c, 4, hipMemcpyDeviceToHost));
  hipHostNodeParams h = {count_call, &calls};
  HIP(hipGraphAddHostNode(&host_node, graph, &copy_node, 1, &h));
  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(exec, s));
  HIP(hipStreamSynchronize(s));
  EQUAL(result, 7 + 3 + 100 + 1000);
  EQUAL(calls, 1);
  // Another amount in the executable graph only.
  hipKernelNodeParams changed;
  HIP(hipGraphKernelNodeGetParams(first, &changed));
  int twenty = 20;
  void* new_arguments[] = {&a, &twenty};
  changed.kernelParams = new_arguments;
  HIP(hipGraphExecKernelNodeSetParams(exec, first, &changed));
  HIP(hipGraphLaunch(exec, s));
  HIP(hipStreamSynchronize(s));
  EQUAL(result, 10 + 20 + 1100 + 1000);

  hipGraph_t parent;
  HIP(hipGraphCreate(&parent, 0));
  hipGraphNode_t child1, child2;
  HIP(hipGraphAddChildGraphNode(&child1, parent, nullptr, 0, graph));
  HIP(hipGraphAddChildGraphNode(&child2, parent, &child1, 1, graph));
  hipGraphExec_t nested;
  HIP(hipGraphInstantiate(&nested, parent, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(nested, s));
  HIP(hipStreamSynchronize(s));
  EQUAL(result, 30 + 6 + 2100 + 2000);
  EQUAL(calls, 4);
  // A cycle is refused.
  HIP(hipGraphAddDependencies(graph, &third, &first, 1));
  hipGraphExec_t none;
  HIP_FAILS(hipGraphInstantiate(&none, graph, nullptr, nullptr, 0), hipErrorInvalidValue);
  HIP(hipGraphExecDestroy(nested));
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(parent));
  HIP(hipGraphDestroy(graph));
}

int main() {
  hipStream_t s;
  HIP(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
  test_capture_and_update(s);
  test_branches(s);
  test_nodes(s);
  std::puts("ok");
}

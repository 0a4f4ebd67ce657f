// Launches: argument layout, block and grid built-ins in three dimensions, partial groups, dynamic
// LDS, the packed argument form, attributes and occupancy, bad configurations.
#include <hip/hip_ext.h>

#include "check.hpp"

struct Mixed {
  char a;
  short b;
  double c;
  int d[3];
};

__global__ void mixed_arguments(char a, short b, Mixed m, float f, const int* in, long long l,
                                double* out) {
  out[0] = a;
  out[1] = b;
  out[2] = m.a + m.b + m.c + m.d[0] + m.d[1] + m.d[2];
  out[3] = f;
  out[4] = in[1];
  out[5] = static_cast<double>(l);
}

__global__ void built_ins(unsigned* out) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x,
                 y = blockIdx.y * blockDim.y + threadIdx.y,
                 z = blockIdx.z * blockDim.z + threadIdx.z;
  const unsigned width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  out[(z * height + y) * width + x] = x + 1000 * y + 1000000 * z;
}

__global__ void group_sizes(unsigned* sizes) {
  if (threadIdx.x == 0) sizes[blockIdx.x] = blockDim.x;
}

__global__ void reverse_in_lds(int* data) {
  extern __shared__ int lds[];
  lds[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = lds[blockDim.x - 1 - threadIdx.x];
}

__global__ void __launch_bounds__(128) small_groups(int* out) {
  out[threadIdx.x] = static_cast<int>(threadIdx.x);
}

static void test_arguments() {
  const int* in = upload(std::vector<int>{5, 6, 7});
  double* out = device_array<double>(6);
  Mixed m{1, 2, 3.5, {10, 20, 30}};
  mixed_arguments<<<1, 1>>>(-3, -300, m, 1.25f, in, -5000000000ll, out);
  const auto have = download(out, 6);
  EQUAL(have[0], -3);
  EQUAL(have[1], -300);
  EQUAL(have[2], 66.5);
  EQUAL(have[3], 1.25);
  EQUAL(have[4], 6);
  EQUAL(have[5], -5e9);
}

static void test_built_ins() {
  unsigned* out = device_array<unsigned>(6 * 6 * 6 * 8);
  built_ins<<<dim3(3, 2, 2), dim3(8, 4, 2)>>>(out);
  const unsigned width = 24, height = 8, depth = 4;
  const auto have = download(out, width * height * depth);
  for (unsigned z = 0; z < depth; ++z) {
    for (unsigned y = 0; y < height; ++y) {
      for (unsigned x = 0; x < width; ++x)
        EQUAL(have[(z * height + y) * width + x], x + 1000 * y + 1000000 * z);
    }
  }
}

static void test_lds_and_packed() {
  std::vector<int> values(256);
  for (int i = 0; i < 256; ++i) values[i] = i * i;
  int* data = upload(values);
  reverse_in_lds<<<1, 256, 1024>>>(data);
  auto have = download(data, 256);
  for (int i = 0; i < 256; ++i) EQUAL(have[i], values[255 - i]);

#if HIP_VERSION_MAJOR >= 6
  hipFunction_t function;
  HIP(hipGetFuncBySymbol(&function, reinterpret_cast<const void*>(&reverse_in_lds)));
  size_t bytes = sizeof data;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &data, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   HIP_LAUNCH_PARAM_END};
  HIP(hipModuleLaunchKernel(function, 1, 1, 1, 256, 1, 1, 1024, nullptr, nullptr, extra));
  TRUE_(download(data, 256) == values);
  // Work-items instead of blocks, with a last group that is not full.
  hipFunction_t sizes_function;
  HIP(hipGetFuncBySymbol(&sizes_function, reinterpret_cast<const void*>(&group_sizes)));
  unsigned* sizes = device_array<unsigned>(4);
  void* arguments[] = {&sizes};
  HIP(hipExtModuleLaunchKernel(sizes_function, 200, 1, 1, 64, 1, 1, 0, nullptr, arguments,
                               nullptr));
  const auto got = download(sizes, 4);
  EQUAL(got[0], 64u);
  EQUAL(got[2], 64u);
#endif
}

static void test_limits() {
  int* out = device_array<int>(1024);
  hipFuncAttributes a;
  HIP(hipFuncGetAttributes(&a, reinterpret_cast<const void*>(&small_groups)));
  EQUAL(a.maxThreadsPerBlock, 128);
  int blocks = 0;
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small_groups, 64, 0));
  EQUAL(blocks, 40);
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small_groups, 64, 32768));
  EQUAL(blocks, 2);
  int grid = 0, block = 0;
  HIP(hipOccupancyMaxPotentialBlockSize(&grid, &block, reverse_in_lds, 0, 0));
  EQUAL(block, 1024);
  EQUAL(grid, 120);
  small_groups<<<1, 2048>>>(out);
  HIP_FAILS(hipGetLastError(), hipErrorInvalidConfiguration);
  small_groups<<<0, 64>>>(out);
  HIP_FAILS(hipGetLastError(), hipErrorInvalidConfiguration);
  reverse_in_lds<<<1, 64, 70000>>>(out);
  HIP_FAILS(hipGetLastError(), hipErrorInvalidValue);
  HIP(hipDeviceSynchronize());
}

int main() {
  test_arguments();
  test_built_ins();
  test_lds_and_packed();
  test_limits();
  std::puts("ok");
}

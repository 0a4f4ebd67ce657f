// What kernels ask the host for: device printf, which the program reads from its own standard output, and memory for
// device malloc, of all sizes.
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "check.hpp"

__device__ void* nullptr_of_device() {
  return nullptr;
}

__global__ void speak(int n, double d, const char*) {
  const unsigned lane = threadIdx.x;
  if (lane < 3) printf("lane %u n %d d %.2f\n", lane, n, d);
  if (lane == 70)
    printf("a long text with a string [%s], a char %c, %%, %5llx and %p\n", "inner", 'x',
           0xabcdefull, nullptr_of_device());
}

// Every lane has a list of blocks of sizes of its own; none may lie in another's.
__global__ void allocate(int** lists, const int* words, int count) {
  const int lane = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < count; ++k) {
    int* block = static_cast<int*>(malloc(words[k] * sizeof(int)));
    if (block != nullptr)
      for (int i = 0; i < words[k]; i += 1 + words[k] / 8) block[i] = lane * 1000 + k * 10 + i % 10;
    lists[lane * count + k] = block;
  }
}
__global__ void give_back(int** lists, const int* words, int count, int* wrong) {
  const int lane = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < count; ++k) {
    int* block = lists[lane * count + k];
    if (block == nullptr) atomicAdd(wrong, 1);
    for (int i = 0; block != nullptr && i < words[k]; i += 1 + words[k] / 8)
      if (block[i] != lane * 1000 + k * 10 + i % 10) atomicAdd(wrong, 1);
    free(block);
  }
}
__global__ void too_much(void** got) {
  got[threadIdx.x] = malloc(size_t{1} << 50);
  free(nullptr);
}

void device_malloc() {
  const std::vector<int> words = {1, 5, 40, 700, 769, 5000, 600000};
  const int count = static_cast<int>(words.size()), lanes = 3 * 96;
  int* sizes = upload(words);
  int* wrong = upload(std::vector<int>{0});
  int** lists = device_array<int*>(lanes * words.size());
  for (int round = 0; round < 2; ++round) {
    // The largest only once: by one lane of one group.
    allocate<<<3, 96>>>(lists, sizes, count - 1);
    give_back<<<3, 96>>>(lists, sizes, count - 1, wrong);
    allocate<<<1, 1>>>(lists, sizes, count);
    give_back<<<1, 1>>>(lists, sizes, count, wrong);
  }
  HIP(hipDeviceSynchronize());
  EQUAL(download(wrong, 1)[0], 0);
  void** got = upload(std::vector<void*>(64, wrong));
  too_much<<<1, 64>>>(got);
  for (const void* p : download(got, 64)) EQUAL(p, static_cast<void*>(nullptr));
}

int main() {
  device_malloc();
  char path[] = "/tmp/gfx906-printf-XXXXXX";
  const int file = mkstemp(path);
  TRUE_(file >= 0);
  std::fflush(stdout);
  const int before = dup(1);
  dup2(file, 1);
  speak<<<1, 128>>>(-5, 2.5, nullptr);
  HIP(hipDeviceSynchronize());
  std::fflush(stdout);
  dup2(before, 1);
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  unlink(path);
  std::sort(lines.begin(), lines.end());
  EQUAL(lines.size(), 4);
  EQUAL(lines[0], std::string("a long text with a string [inner], a char x, %, abcdef and (nil)"));
  EQUAL(lines[1], std::string("lane 0 n -5 d 2.50"));
  EQUAL(lines[3], std::string("lane 2 n -5 d 2.50"));
  std::puts("ok");
}

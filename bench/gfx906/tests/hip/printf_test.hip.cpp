// Device printf: the program prints, and reads what came out from its own standard output.
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

int main() {
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

// expect: a static k must be a multiple of the format's block size
#include <veloce/veloce.hpp>
using namespace veloce;
int main() {
  return cpu::PackedWeights<Q4_K, Dim<300>>().rows();
}

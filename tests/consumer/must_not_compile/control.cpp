// expect: nothing, this one compiles
#include <veloce/veloce.hpp>
using namespace veloce;
int main() {
  return cpu::PackedWeights<Q4_K, Dim<512>>().rows();
}

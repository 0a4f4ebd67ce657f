// expect: a static dimension is positive
#include <veloce/veloce.hpp>
using namespace veloce;
int main() {
  return cpu::PackedWeights<Q4_K, Dim<0>>().rows();
}

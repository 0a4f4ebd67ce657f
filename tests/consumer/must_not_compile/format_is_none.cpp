// expect: the format of a matrix is one of the traits classes of veloce/formats/
#include <veloce/veloce.hpp>
using namespace veloce;
struct Q7_X {};
int main() {
  return cpu::PackedWeights<Q7_X>().rows();
}

// expect: nodiscard
#include <veloce/veloce.hpp>
using namespace veloce;
int main() {
  cpu::add({0, nullptr, nullptr, nullptr});
}

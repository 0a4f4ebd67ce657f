#include <veloce/veloce.hpp>

int other_unit_sum(const float* x, float* y);
int other_unit_sum(const float* x, float* y) {
  return veloce::cpu::add({3, x, x, y}).ok() ? 0 : 1;
}

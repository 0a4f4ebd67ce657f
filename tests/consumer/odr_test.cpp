// Two units of one program include everything: no symbol is defined twice, and both see the same.
#include <doctest/doctest.h>

#include <veloce/veloce.hpp>

int other_unit_sum(const float* x, float* y);

TEST_CASE("two units that include all headers link, and agree") {
  const float x[3] = {1, 2, 3};
  float here[3], there[3];
  REQUIRE(veloce::cpu::add({3, x, x, here}).ok());
  REQUIRE(other_unit_sum(x, there) == 0);
  for (int i = 0; i < 3; ++i) CHECK(here[i] == there[i]);
}

// Runs every instance of instances.def.
#include "instances.hpp"

#include "../check_matvec.hpp"

int main() {
  int wrong = 0;
#define VELOCE_MATVEC(F, N) wrong += check_matvec<veloce::F>(17, veloce::Dim<N>());
#include "instances.def"
#undef VELOCE_MATVEC
  return wrong;
}

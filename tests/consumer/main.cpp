// One quantized matvec, by what the headers alone give.
#include "check_matvec.hpp"

int main() {
  return check_matvec<veloce::Q4_K>(20, veloce::Dim<>(512));
}

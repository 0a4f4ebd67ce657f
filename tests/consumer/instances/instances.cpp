// The code of instances.def.
#include <veloce/veloce.hpp>

#define VELOCE_MATVEC(F, N)                                                              \
  template veloce::Status veloce::cpu::VELOCE_ISA_NS::matvec<veloce::F, veloce::Dim<N>>( \
      const veloce::MatvecArgs<veloce::cpu::PackedView<veloce::F, veloce::Dim<N>>>&,     \
      veloce::cpu::MatvecWorkspace&, veloce::cpu::Pool*);
#include "instances.def"
#undef VELOCE_MATVEC

// Declares the instances of instances.def; instances.cpp holds their code.
#pragma once

#include <veloce/veloce.hpp>

#define VELOCE_MATVEC(F, N)                                                                     \
  extern template veloce::Status veloce::cpu::VELOCE_ISA_NS::matvec<veloce::F, veloce::Dim<N>>( \
      const veloce::MatvecArgs<veloce::cpu::PackedView<veloce::F, veloce::Dim<N>>>&,            \
      veloce::cpu::MatvecWorkspace&, veloce::cpu::Pool*);
#include "instances.def"
#undef VELOCE_MATVEC

// Reading operands that are the same for all lanes.
#pragma once

#include "exec/wave.hpp"

namespace gfx906 {

// The 32- or 64-bit value of source s (SGPR, constant, status bit).
[[gnu::always_inline]] inline uint64_t read_scalar64(const WaveView& w, const Inst& i, int s) {
  const Operand& o = i.src[s];
  switch (o.kind) {
    case OperandKind::kSgpr:
      return o.width == 2 ? w.read64(o.index) : w.sgpr[o.index];
    case OperandKind::kConstant:
      return i.constant[s];
    case OperandKind::kStatus:
      return o.index == 251 ? w.vcc() == 0 : o.index == 252 ? w.exec() == 0 : w.scc;
    case OperandKind::kLdsDirect: {
      const uint32_t at = w.sgpr[kM0] & 0xffff;
      uint32_t v = 0;
      if (at + 4 <= w.lds_size) std::memcpy(&v, w.lds + at, 4);
      return v;
    }
    default:
      return 0;
  }
}
[[gnu::always_inline]] inline uint32_t read_scalar(const WaveView& w, const Inst& i, int s) {
  return static_cast<uint32_t>(read_scalar64(w, i, s));
}

}  // namespace gfx906

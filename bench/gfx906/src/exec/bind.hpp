// Gives each decoded instruction the functions that run it.
#pragma once

#include "decode/inst.hpp"

namespace gfx906 {

// The instruction set of the host that handlers are compiled for. Chosen once, before the first
// program is decoded: the best the host has, or what GFX906_SIM_ISA or the first
// ExecutorOptions::isa says.
enum class HostIsa : uint8_t { kNone, kAvx2, kAvx512 };
HostIsa host_isa(const char* wanted = nullptr);
const char* isa_name(HostIsa isa);

// Sets exec and core. An operation that is not implemented gets a handler that reports it.
void bind(Inst& inst);

}  // namespace gfx906

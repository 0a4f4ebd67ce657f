// How a VALU operation's lane loop is run, by the form of the instruction.
#pragma once

#include "exec/wave.hpp"

namespace gfx906::GFX906_LANES_NS {

const Handler& handler_of(Op op);
// nullptr: the operation is not implemented.
ExecFn choose_exec(const Inst& i, const Handler& h);

}  // namespace gfx906::GFX906_LANES_NS

// Handlers of scalar, branch and message instructions.
#pragma once

#include "exec/wave.hpp"

namespace gfx906 {

// nullptr when the operation is not one of these, or is not implemented.
ExecFn scalar_alu_handler(Op op);
ExecFn scalar_memory_handler(Op op);
ExecFn control_handler(Op op);

}  // namespace gfx906

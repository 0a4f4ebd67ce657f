// The cost model in a running program (`gfx906-sim run --profile FILE`).
#pragma once

#include "hooks.hpp"

namespace gfx906::rt {

// Makes the model the tools' observer and clock; to be called before other observers are put beside
// it. At the program's end the report is written to `path` as JSON, and as a table to stderr.
void install_profile(Tools& tools, const char* path);

}  // namespace gfx906::rt

// `--check` in a running program.
#pragma once

#include "hooks.hpp"

namespace gfx906::rt {

constexpr int kFaultsFoundStatus = 86;  // exit status of a program that had faults

// Puts the checker in, beside an observer that is there already. Faults go to stderr as they are
// found; at the program's end also to the JSON file `setting`, unless that is "1".
void install_checker(Tools& into, const char* setting);

}  // namespace gfx906::rt

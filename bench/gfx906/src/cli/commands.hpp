// The commands of gfx906-sim. Each takes the arguments after its name and returns the exit status.
#pragma once

#include <string>
#include <vector>

namespace gfx906::cli {

int run(const std::vector<std::string>& args);
int kernels(const std::vector<std::string>& args);
int disasm(const std::vector<std::string>& args);

// Prints "gfx906-sim: message" on stderr and returns 2.
int fail(const std::string& message);

}  // namespace gfx906::cli

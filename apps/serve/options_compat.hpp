// What the usual server's users type that is not an option of ours as it stands: short names of
// several letters, options that mean nothing on this backend, and options that are gone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "veloce/core/status.hpp"

namespace veloce::serve {

// The arguments with short names such as -np as long ones. Fails for short names that there are
// not, for options of the past, naming what replaced them, and for those that this build can't
// follow.
Result<std::vector<std::string>> long_spellings(int argc, const char* const* argv);

// Options that are accepted and change nothing here; said so in the log when one is given.
class Compatibility {
 public:
  void add_to(CLI::App& app);
  void report(const CLI::App& app) const;  // and variables of the usual server that set nothing

 private:
  std::map<std::string, std::string> given_;
};

// Writes a completion script for the shell to the standard output; the exit status.
int print_completion(const CLI::App& app, const std::string& shell);

}  // namespace veloce::serve

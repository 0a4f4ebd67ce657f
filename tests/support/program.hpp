// Runs one of the built programs and keeps what it prints.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace veloce::test {

struct Output {
  int status = -1;   // exit status; -1: not run, or ended by a signal
  std::string text;  // standard output
};

// `environment` is put in front of the command ("A=1 B=2"); add "2>&1" to the arguments to get the
// errors too.
inline Output run_program(const std::string& name, const std::string& arguments,
                          const std::string& environment = {}) {
  const char* binary_dir = std::getenv("VELOCE_BINARY_DIR");
  const std::string command =
      environment + " " + (binary_dir ? binary_dir : ".") + "/bin/" + name + " " + arguments;
  Output out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return out;
  char part[4096];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) out.text.append(part, n);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) out.status = WEXITSTATUS(status);
  return out;
}

}  // namespace veloce::test

// gfx906-sim: runs programs built for gfx906 on the simulator, and looks into their code.
#include <cstdio>
#include <string>
#include <vector>

#include "commands.hpp"

namespace {

constexpr const char* kUsage =
    "usage: gfx906-sim COMMAND\n"
    "\n"
    "  run [--cards N] [--check[=FILE.json]] [--profile FILE.json] [--trace FILE.json] [--root "
    "DIR]\n"
    "      [--sample-only] [--no-host-time] [--verbose] -- PROGRAM [ARG...]\n"
    "        run an unmodified HIP program with the simulator in place of libamdhip64\n"
    "        --cards N      how many virtual MI50 (1)\n"
    "        --check        report wrong accesses, races, missing waits (exit status 86 if there "
    "are any)\n"
    "        --profile F    estimate each kernel's cost on the card, as JSON, with a table on "
    "stderr\n"
    "        --sample-only  with --profile: groups outside the sample do not run; the results are "
    "wrong\n"
    "        --no-host-time with --profile: the program's own processor time is not in the "
    "modelled times\n"
    "        --trace F      timeline of all launches and copies (open it in chrome://tracing or "
    "Perfetto)\n"
    "        --root DIR     run PROGRAM inside another root file system (needs root)\n"
    "        --verbose      say which unsupported calls the program makes\n"
    "  kernels FILE\n"
    "        the gfx906 kernels in a code object, fat binary, program or library, with registers, "
    "LDS,\n"
    "        scratch and occupancy\n"
    "  disasm FILE [KERNEL]\n"
    "        the instructions of one kernel (or all)\n";

}  // namespace

namespace gfx906::cli {

int fail(const std::string& message) {
  std::fprintf(stderr, "gfx906-sim: %s\n", message.c_str());
  return 2;
}

}  // namespace gfx906::cli

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const auto asks_for_help = [&](size_t n) {
    return args.size() > n && (args[n] == "--help" || args[n] == "-h");
  };
  if (args.empty() || asks_for_help(0) || asks_for_help(1)) {
    std::fputs(kUsage, args.empty() ? stderr : stdout);
    return args.empty() ? 2 : 0;
  }
  if (args[0] == "--version") {
    std::puts("gfx906-sim " GFX906_SIM_VERSION);
    return 0;
  }
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args[0] == "run") return gfx906::cli::run(rest);
  int status = 0;
  if (args[0] == "kernels") {
    status = gfx906::cli::kernels(rest);
  } else if (args[0] == "disasm") {
    status = gfx906::cli::disasm(rest);
  } else {
    return gfx906::cli::fail("unknown command '" + args[0] + "'; see gfx906-sim --help");
  }
  if (std::fflush(stdout) != 0) return gfx906::cli::fail("cannot write the output");
  return status;
}

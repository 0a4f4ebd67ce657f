// `gfx906-sim run`: sets the environment and becomes the program.
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "commands.hpp"

namespace fs = std::filesystem;

namespace gfx906::cli {
namespace {

constexpr const char* kLibraries[] = {"libamdhip64.so.5", "libamdhip64.so.6"};
constexpr const char* kPlaceInRoot = "opt/gfx906-sim/lib";

struct Options {
  int cards = 1;
  bool check = false, verbose = false, sample_only = false, no_host_time = false;
  std::string check_file, profile, trace, root;
  std::vector<std::string> program;
};

std::string parse(const std::vector<std::string>& args, Options& options) {
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    std::string* text = arg == "--profile" ? &options.profile
                        : arg == "--trace" ? &options.trace
                        : arg == "--root"  ? &options.root
                                           : nullptr;
    if (arg == "--") {
      options.program.assign(args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
      break;
    }
    if (arg == "--check" || arg.starts_with("--check=")) {
      options.check = true;
      if (arg != "--check") options.check_file = arg.substr(8);
    } else if (arg == "--verbose") {
      options.verbose = true;
    } else if (arg == "--sample-only") {
      options.sample_only = true;
    } else if (arg == "--no-host-time") {
      options.no_host_time = true;
    } else if (text != nullptr || arg == "--cards") {
      if (++i == args.size()) return arg + " needs a value";
      if (text != nullptr) {
        *text = args[i];
        continue;
      }
      const char* end = args[i].data() + args[i].size();
      const auto result = std::from_chars(args[i].data(), end, options.cards);
      if (result.ec != std::errc() || result.ptr != end || options.cards < 0 ||
          options.cards > 64) {
        return "--cards must be a number from 0 to 64, not '" + args[i] + "'";
      }
    } else if (!arg.empty() && arg[0] != '-') {
      options.program.assign(args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
      break;
    } else {
      return "unknown option '" + arg + "' of run";
    }
  }
  if (options.sample_only && options.profile.empty()) return "--sample-only needs --profile";
  if (options.no_host_time && options.profile.empty()) return "--no-host-time needs --profile";
  if (options.sample_only && options.check) return "--sample-only and --check exclude each other";
  return options.program.empty()
             ? "run needs a program: gfx906-sim run [OPTIONS] -- PROGRAM [ARG...]"
             : "";
}

// ../lib/gfx906 beside the folder of this program.
fs::path library_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return self.parent_path().parent_path() / "lib" / "gfx906";
}

// Copies the libraries into the other root, unless the same ones are there, and enters it.
std::string enter_root(const std::string& root, fs::path& libraries) {
  std::error_code error;
  if (!fs::is_directory(root, error)) return "--root " + root + " is no folder";
  const fs::path place = fs::path(root) / kPlaceInRoot;
  fs::create_directories(place, error);
  if (error) return "cannot make " + place.string() + ": " + error.message();
  for (const char* name : kLibraries) {
    // By a new file and a rename: a program that runs on the old one keeps it.
    const fs::path fresh = place / (std::string(name) + "." + std::to_string(getpid()));
    fs::copy_file(libraries / name, fresh, fs::copy_options::overwrite_existing, error);
    if (!error) fs::rename(fresh, place / name, error);
    if (error)
      return "cannot copy " + (libraries / name).string() + " to " + place.string() + ": " +
             error.message();
  }
  const fs::path here = fs::current_path(error);
  if (chroot(root.c_str()) != 0)
    return "cannot enter " + root + ": " + std::strerror(errno) + " (--root needs root)";
  if (chdir(here.c_str()) != 0 && chdir("/") != 0) return "cannot change into / of " + root;
  libraries = fs::path("/") / kPlaceInRoot;
  return "";
}

void put(const char* name, const std::string& value) {
  setenv(name, value.c_str(), 1);
}

void set_environment(const Options& options, const fs::path& libraries) {
  std::string path = libraries.string();
  if (const char* before = std::getenv("LD_LIBRARY_PATH"); before != nullptr && *before != 0) {
    path += ':';
    path += before;
  }
  put("LD_LIBRARY_PATH", path);
  put("GFX906_SIM_CARDS", std::to_string(options.cards));
  if (options.check)
    put("GFX906_SIM_CHECK",
        options.check_file.empty() ? "1" : fs::absolute(options.check_file).string());
  if (options.verbose) put("GFX906_SIM_VERBOSE", "1");
  // Absolute, since the program may change its folder before the files are written.
  if (!options.profile.empty()) put("GFX906_SIM_PROFILE", fs::absolute(options.profile).string());
  if (options.sample_only) put("GFX906_SIM_SAMPLE_ONLY", "1");
  if (options.no_host_time) put("GFX906_SIM_NO_HOST_TIME", "1");
  if (!options.trace.empty()) put("GFX906_SIM_TRACE", fs::absolute(options.trace).string());
}

}  // namespace

int run(const std::vector<std::string>& args) {
  Options options;
  if (const std::string error = parse(args, options); !error.empty()) return fail(error);
  fs::path libraries = library_folder();
  for (const char* name : kLibraries) {
    std::error_code error;
    if (!fs::exists(libraries / name, error))
      return fail("there is no " + (libraries / name).string());
  }
  if (!options.root.empty()) {
    if (const std::string error = enter_root(options.root, libraries); !error.empty())
      return fail(error);
  }
  set_environment(options, libraries);
  std::vector<char*> argv;
  for (std::string& arg : options.program) argv.push_back(arg.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int code = errno;
  fail("cannot run " + options.program[0] + ": " + std::strerror(code));
  return code == ENOENT ? 127 : 126;
}

}  // namespace gfx906::cli

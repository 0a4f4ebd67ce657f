// `gfx906-sim run`: sets the environment and becomes the program.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "commands.hpp"

namespace fs = std::filesystem;

namespace gfx906::cli {
namespace {

constexpr const char* kLibraries[] = {"libamdhip64.so.5", "libamdhip64.so.6"};
constexpr const char* kPlaceInRoot = "opt/gfx906-sim/lib";

struct Options {
  std::string cards = "1";
  int card_count = 1;
  bool check = false, verbose = false, sample_only = false, no_host_time = false;
  std::string check_file, profile, trace, root;
  std::vector<std::string> program;
};

std::string parse_cards(const std::string& text, int& cards) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, cards);
  if (result.ec == std::errc() && result.ptr == end && cards >= 0 && cards <= 64) return "";
  return "--cards must be a number from 0 to 64, not '" + text + "'";
}

// Those that may stand only with others, or not with them.
std::string refuse_combinations(const Options& options) {
  if (options.sample_only && options.profile.empty()) return "--sample-only needs --profile";
  if (options.no_host_time && options.profile.empty()) return "--no-host-time needs --profile";
  if (options.sample_only && options.check) return "--sample-only and --check exclude each other";
  return options.program.empty()
             ? "run needs a program: gfx906-sim run [OPTIONS] -- PROGRAM [ARG...]"
             : "";
}

std::string parse(const std::vector<std::string>& args, Options& options) {
  const std::pair<std::string, std::string*> with_value[] = {{"--profile", &options.profile},
                                                             {"--trace", &options.trace},
                                                             {"--root", &options.root},
                                                             {"--cards", &options.cards},
                                                             {"--check", &options.check_file}};
  const std::pair<std::string, bool*> flags[] = {{"--check", &options.check},
                                                 {"--verbose", &options.verbose},
                                                 {"--sample-only", &options.sample_only},
                                                 {"--no-host-time", &options.no_host_time}};
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--" || !args[i].starts_with('-')) {
      const size_t program = i + (args[i] == "--" ? 1 : 0);
      options.program.assign(args.begin() + static_cast<std::ptrdiff_t>(program), args.end());
      break;
    }
    const size_t equals = args[i].find('=');
    const std::string name = args[i].substr(0, equals);
    const auto named = [&](const auto& option) { return option.first == name; };
    const auto flag = std::find_if(std::begin(flags), std::end(flags), named);
    const auto value = std::find_if(std::begin(with_value), std::end(with_value), named);
    if (flag != std::end(flags)) *flag->second = true;
    if (flag != std::end(flags) && equals == std::string::npos) continue;
    if (value == std::end(with_value)) return "unknown option '" + args[i] + "' of run";
    if (equals != std::string::npos) {
      *value->second = args[i].substr(equals + 1);
    } else {
      // "--profile -- PROGRAM" is a name forgotten, not a file "--".
      if (++i == args.size() || args[i].starts_with("--")) return name + " needs a value";
      *value->second = args[i];
    }
    if (value->second->empty()) return name + " needs a value";
  }
  if (const std::string error = parse_cards(options.cards, options.card_count); !error.empty())
    return error;
  return refuse_combinations(options);
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
  put("GFX906_SIM_CARDS", std::to_string(options.card_count));
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

// A long run must not end with results that cannot be written, nor leave those of an earlier one.
std::string make_room(const std::string& path) {
  std::error_code error;
  const bool pipe_or_device = fs::is_other(path, error);  // opening a pipe would be noticed
  if (path.empty() || (pipe_or_device && access(path.c_str(), W_OK) == 0)) return "";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0666);
  if (file < 0) return "cannot write " + path + ": " + std::strerror(errno);
  close(file);
  if (fs::is_regular_file(path, error)) fs::remove(path, error);
  return "";
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
  for (const std::string& path : {options.profile, options.trace, options.check_file}) {
    if (const std::string error = make_room(path); !error.empty()) return fail(error);
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

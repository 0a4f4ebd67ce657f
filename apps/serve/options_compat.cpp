#include "options_compat.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "base/log.hpp"

namespace veloce::serve {
namespace {

struct Spelling {
  const char *from, *to;
};

// The command-line library knows short options of one letter only.
constexpr Spelling kShort[] = {
    {"-np", "--parallel"},      {"-b", "--batch-size"},       {"-ub", "--ubatch-size"},
    {"-tb", "--threads-batch"}, {"-ctk", "--cache-type-k"},   {"-ctv", "--cache-type-v"},
    {"-to", "--timeout"},       {"-lv", "--verbosity"},       {"-sps", "--slot-prompt-similarity"},
    {"-rea", "--reasoning"},    {"-ngl", "--gpu-layers"},     {"-fa", "--flash-attn"},
    {"-cb", "--cont-batching"}, {"-nocb", "--no-cont-batching"}, {"-kvu", "--kv-unified"},
    {"-sm", "--split-mode"},    {"-mg", "--main-gpu"},        {"-fit", "--fit"},
    {"-lm", "--load-mode"},     {"-cram", "--cache-ram"},
};

constexpr Spelling kGone[] = {
    {"--draft", "--spec-draft-n-max"},
    {"--draft-max", "--spec-draft-n-max"},
    {"--draft-min", "--spec-draft-n-min"},
    {"--defrag-thold", "nothing: there is no fragmentation"},
    {"--n-gpu-layers-draft", "--spec-draft-ngl"},
};

struct Accepted {
  const char *flags, *help;
  bool takes_value;
};

constexpr Accepted kAccepted[] = {
    {"--ubatch-size", "as --batch-size", true},
    {"--threads-batch", "as --threads", true},
    {"--gpu-layers,--n-gpu-layers", "this build computes on the CPU", true},
    {"--split-mode", "this build computes on the CPU", true},
    {"--main-gpu", "this build computes on the CPU", true},
    {"--flash-attn", "always on", true},
    {"--fit", "memory is planned before it is taken", true},
    {"--load-mode", "the loader decides", true},
    {"--cache-ram", "prefixes are kept in the slots", true},
    {"--mmap", "the loader decides", false},
    {"--no-mmap", "the loader decides", false},
    {"--mlock", "the loader decides", false},
    {"--cont-batching", "always on", false},
    {"--kv-unified", "each slot has its own context", false},
    {"--jinja", "always on", false},
};

}  // namespace

Result<std::vector<std::string>> long_spellings(int argc, const char* const* argv) {
  std::vector<std::string> out;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    for (const Spelling& spelling : kShort) {
      if (argument == spelling.from) argument = spelling.to;
    }
    for (const Spelling& gone : kGone) {
      if (argument == gone.from) {
        return Status(Code::kInvalidArgument, std::string(gone.from) + " was removed; use " + gone.to);
      }
    }
    if (argument == "--no-cont-batching") {
      return Status(Code::kInvalidArgument, "--no-cont-batching: requests are always batched continuously; use -np 1");
    }
    if (argument == "--no-jinja") {
      return Status(Code::kInvalidArgument, "--no-jinja: chat templates are always Jinja here");
    }
    if (argument == "--context-shift") {
      return Status(Code::kUnsupported, "--context-shift: not in this build; an answer ends where the context is full");
    }
    out.push_back(std::move(argument));
  }
  return out;
}

void Compatibility::add_to(CLI::App& app) {
  for (const Accepted& accepted : kAccepted) {
    const std::string help = std::string("Accepted without effect: ") + accepted.help;
    const std::string name = accepted.flags;
    CLI::Option* option =
        accepted.takes_value
            ? app.add_option_function<std::string>(
                  name, [this, name](const std::string&) { given_[name] = "takes no effect in this build"; }, help)
            : app.add_flag_function(
                  name, [this, name](std::int64_t) { given_[name] = "takes no effect in this build"; }, help);
    option->group("Accepted without effect");
  }
}

void Compatibility::report() const {
  for (const auto& [name, why] : given_) log::warning("option", {{"name", name}, {"note", why}});
}

int print_completion(const CLI::App& app, const std::string& shell) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.emplace_back("--" + name, option->get_description());
    for (const std::string& name : option->get_snames()) names.emplace_back("-" + name, option->get_description());
  }
  for (const Spelling& spelling : kShort) names.emplace_back(spelling.from, "");
  std::sort(names.begin(), names.end());
  if (shell == "bash") {
    std::cout << "_veloce_serve() {\n  local word=${COMP_WORDS[COMP_CWORD]}\n"
                 "  case $word in -*) COMPREPLY=($(compgen -W \"";
    for (const auto& [name, help] : names) std::cout << name << ' ';
    std::cout << "\" -- \"$word\"));; *) COMPREPLY=($(compgen -f -- \"$word\"));; esac\n}\n"
                 "complete -o filenames -F _veloce_serve veloce-serve\n";
  } else if (shell == "zsh") {
    std::cout << "#compdef veloce-serve\n_arguments '*:file:_files'";
    for (auto [name, help] : names) {
      std::string safe;
      for (const char c : help) safe += c == '[' || c == ']' || c == '\'' || c == ':' ? ' ' : c;
      std::cout << " \\\n  '" << name << '[' << safe << "]'";
    }
    std::cout << '\n';
  } else if (shell == "fish") {
    for (const auto& [name, help] : names) {
      std::string safe;
      for (const char c : help) safe += c == '\'' || c == '\\' ? ' ' : c;
      const bool is_long = name.starts_with("--");
      std::cout << "complete -c veloce-serve " << (is_long ? "-l " : "-o ") << name.substr(is_long ? 2 : 1) << " -d '"
                << safe << "'\n";
    }
  } else {
    std::cerr << "veloce-serve: --completion takes bash, zsh or fish, not '" << shell << "'\n";
    return 1;
  }
  return 0;
}

}  // namespace veloce::serve

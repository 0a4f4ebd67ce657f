#include "options_compat.hpp"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <set>

#include "base/log.hpp"

namespace veloce::serve {
namespace {

struct Spelling {
  const char *from, *to;
};

// The command-line library knows short options of one letter only.
constexpr Spelling kShort[] = {
    {"-np", "--parallel"},
    {"-b", "--batch-size"},
    {"-ub", "--ubatch-size"},
    {"-tb", "--threads-batch"},
    {"-ctk", "--cache-type-k"},
    {"-ctv", "--cache-type-v"},
    {"-to", "--timeout"},
    {"-lv", "--verbosity"},
    {"-sps", "--slot-prompt-similarity"},
    {"-rea", "--reasoning"},
    {"-ngl", "--gpu-layers"},
    {"-fa", "--flash-attn"},
    {"-cb", "--cont-batching"},
    {"-nocb", "--no-cont-batching"},
    {"-kvu", "--kv-unified"},
    {"-sm", "--split-mode"},
    {"-mg", "--main-gpu"},
    {"-fit", "--fit"},
    {"-lm", "--load-mode"},
    {"-cram", "--cache-ram"},
    {"-ts", "--tensor-split"},
    {"-dev", "--device"},
    {"-fitt", "--fit-target"},
    {"-fitc", "--fit-ctx"},
    {"-ctxcp", "--ctx-checkpoints"},
    {"-cms", "--checkpoint-min-step"},
    {"-hf", "--hf-repo"},
    {"-hfr", "--hf-repo"},
    {"-hff", "--hf-file"},
    {"-mu", "--model-url"},
    {"-dr", "--docker-repo"},
    {"-nkvo", "--no-kv-offload"},
    {"-mm", "--mmproj"},
    {"-md", "--model-draft"},
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
    {"--numa", "the loader decides", true},
    {"--kv-offload,--no-kv-offload", "this build computes on the CPU", false},
    {"--mlock", "the loader decides", false},
    {"--cont-batching", "always on", false},
    {"--kv-unified,--no-kv-unified", "each slot has its own context", false},
    {"--jinja", "always on", false},
    {"--tensor-split", "this build computes on the CPU", true},
    {"--device", "this build computes on the CPU", true},
    {"--fit-target", "memory is planned before it is taken", true},
    {"--fit-ctx", "memory is planned before it is taken", true},
    {"--cache-idle-slots,--no-cache-idle-slots", "prefixes are kept in the slots", false},
    {"--ctx-checkpoints", "a slot can go back to any of its tokens", true},
    {"--checkpoint-min-step", "a slot can go back to any of its tokens", true},
    {"--swa-full", "a slot can go back to any of its tokens", false},
    {"--no-mmproj", "text only", false},
    {"--mmproj-offload,--no-mmproj-offload", "text only", false},
    {"--image-min-tokens", "text only", true},
    {"--image-max-tokens", "text only", true},
    {"--mtmd-batch-max-tokens", "text only", true},
    {"--spec-draft-n-max", "there is no drafting", true},
    {"--spec-draft-n-min", "there is no drafting", true},
    {"--spec-draft-p-min", "there is no drafting", true},
    {"--spec-draft-p-split", "there is no drafting", true},
    {"--spec-draft-ngl", "there is no drafting", true},
    {"--spec-draft-device", "there is no drafting", true},
    {"--spec-draft-type-k,--spec-draft-type-v", "there is no drafting", true},
    {"--log-prefix", "lines always say what they are", false},
};

// What a server started with would not do as told; a value that asks for nothing is accepted.
struct Refused {
  const char *flag, *nothing, *why;
};

constexpr Refused kRefused[] = {
    {"--no-cont-batching", nullptr, "requests are always batched continuously; use -np 1"},
    {"--no-jinja", nullptr, "chat templates are always Jinja here"},
    {"--cache-reuse", "0", "reuse by shifting positions is not in this build"},
    {"--mmproj", "", "this build takes text only"},
    {"--media-path", "", "this build takes text only"},
    {"--model-draft", "", "this build does not draft"},
    {"--spec-draft-model", "", "this build does not draft"},
    {"--spec-type", "none", "this build does not draft"},
    {"--lora", "", "adapters are not in this build"},
    {"--lora-scaled", "", "adapters are not in this build"},
    {"--control-vector", "", "control vectors are not in this build"},
    {"--rerank", nullptr, "needs a model with a ranking head, which this build has none for"},
    {"--reranking", nullptr, "needs a model with a ranking head, which this build has none for"},
    {"--hf-repo", "", "files are not fetched; give one by -m"},
    {"--hf-file", "", "files are not fetched; give one by -m"},
    {"--model-url", "", "files are not fetched; give one by -m"},
    {"--docker-repo", "", "files are not fetched; give one by -m"},
    {"--sleep-idle-seconds", "-1", "the model is never unloaded"},
    {"--override-kv", "", "a file's metadata is taken as it is"},
    {"--path", "", "only the chat page built in is served (--no-ui turns it off)"},
};

// One dash and several letters: the command-line library would take that for several options of one
// letter each, or for one with its value.
bool is_unknown_short(const std::string& argument) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return argument.size() > 2 && argument[0] == '-' && letter(argument[1]) && letter(argument[2]);
}

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
        return Status(Code::kInvalidArgument,
                      std::string(gone.from) + " was removed; use " + gone.to);
      }
    }
    if (is_unknown_short(argument))
      return Status(Code::kInvalidArgument, "there is no option " + argument);
    const std::string name = argument.substr(0, argument.find('='));
    const auto refused = std::find_if(std::begin(kRefused), std::end(kRefused),
                                      [&](const Refused& r) { return name == r.flag; });
    if (refused != std::end(kRefused)) {
      const bool inline_value = name.size() < argument.size();
      const std::string value = inline_value   ? argument.substr(name.size() + 1)
                                : i + 1 < argc ? argv[i + 1]
                                               : "";
      if (!refused->nothing || value != refused->nothing) {
        return Status(Code::kUnsupported, name + ": " + refused->why);
      }
      i += inline_value ? 0 : 1;
      continue;
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
                  name,
                  [this, name](const std::string&) {
                    given_[name] = "takes no effect in this build";
                  },
                  help)
            : app.add_flag_function(
                  name,
                  [this, name](std::int64_t) { given_[name] = "takes no effect in this build"; },
                  help);
    option->group("Accepted without effect");
  }
}

void Compatibility::report(const CLI::App& app) const {
  std::set<std::string> known;
  for (const CLI::Option* option : app.get_options()) known.insert(option->get_envname());
  for (char** entry = environ; *entry; ++entry) {
    const std::string variable(*entry, std::strcspn(*entry, "="));
    if (!variable.starts_with("LLAMA_ARG_") || known.count(variable)) continue;
    const std::string ours = "VELOCE_" + variable.substr(10);
    if (!known.count(ours))
      log::warning("environment", {{"name", variable}, {"note", "no option here is set by it"}});
  }
  for (const auto& [name, why] : given_) log::warning("option", {{"name", name}, {"note", why}});
}

int print_completion(const CLI::App& app, const std::string& shell) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.emplace_back("--" + name, option->get_description());
    for (const std::string& name : option->get_snames())
      names.emplace_back("-" + name, option->get_description());
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
      std::cout << "complete -c veloce-serve " << (is_long ? "-l " : "-o ")
                << name.substr(is_long ? 2 : 1) << " -d '" << safe << "'\n";
    }
  } else {
    std::cerr << "veloce-serve: --completion takes bash, zsh or fish, not '" << shell << "'\n";
    return 1;
  }
  return 0;
}

}  // namespace veloce::serve

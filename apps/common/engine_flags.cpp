#include "common/engine_flags.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "veloce/core/switches.hpp"

namespace veloce::apps {
namespace {

const std::map<std::string, model::CacheType> kCacheTypes = {{"f32", model::CacheType::kF32},
                                                             {"f16", model::CacheType::kF16},
                                                             {"bf16", model::CacheType::kBF16},
                                                             {"q8_0", model::CacheType::kQ8_0}};
const std::map<std::string, model::Activations> kActivations = {{"q8", model::Activations::kQ8},
                                                                {"f32", model::Activations::kF32}};

template <class T>
void add_choice(CLI::App& app, const std::string& flags, const std::map<std::string, T>& choices,
                T& target, const std::string& help) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  app.add_option_function<std::string>(
         flags, [&target, &choices](const std::string& name) { target = choices.at(name); }, help)
      ->check(CLI::IsMember(names))
      ->default_str(name_of(target));
}

}  // namespace

const char* name_of(model::CacheType type) {
  for (const auto& [name, value] : kCacheTypes)
    if (value == type) return name.c_str();
  return "?";
}

const char* name_of(model::Activations activations) {
  return activations == model::Activations::kF32 ? "f32" : "q8";
}

void add_engine_flags(CLI::App& app, model::EngineOptions& options) {
  add_choice(app, "--cache-type-k", kCacheTypes, options.cache_k, "Type of stored keys (-ctk)");
  add_choice(app, "--cache-type-v", kCacheTypes, options.cache_v, "Type of stored values (-ctv)");
  add_choice(app, "--activations", kActivations, options.activations,
             "What quantized weights are multiplied with");
  app.add_flag("--check-tensors,!--no-check-tensors", options.check_tensors,
               "Look for NaN and infinity in the weights while loading")
      ->default_str(options.check_tensors ? "on" : "off");
  app.add_option_function<std::uint64_t>(
         "--memory-limit",
         [&options](std::uint64_t mib) { options.memory_limit = std::size_t(mib) << 20; },
         "MiB that loading may take (0: what is free)")
      ->check(CLI::Range(std::uint64_t(0), std::uint64_t(1) << 40));
}

void add_switch_flags(CLI::App& app) {
  app.add_option_function<std::string>(
      "--without",
      [](const std::string& names) {
        if (const Status s = Switch::turn_off(names); !s) throw CLI::ValidationError(s.message());
      },
      "Optimizations to turn off, comma-separated (also VELOCE_WITHOUT)");
  app.add_flag_callback(
      "--list-optimizations",
      [] {
        for (const Switch* s : Switch::all())
          std::printf("%-12s %s%s\n", std::string(s->name()).c_str(),
                      std::string(s->help()).c_str(), s->on() ? "" : " (off)");
        throw CLI::Success();
      },
      "Print the optimizations that --without knows");
}

int parse(CLI::App& app, int argc, const char* const* argv,
          const std::map<std::string, std::string>& more) {
  std::map<std::string, std::string> spellings = {{"-ctk", "--cache-type-k"},
                                                  {"-ctv", "--cache-type-v"}};
  spellings.insert(more.begin(), more.end());
  std::vector<std::string> reversed;
  for (int i = argc - 1; i > 0; --i) {
    const auto known = spellings.find(argv[i]);
    reversed.push_back(known == spellings.end() ? argv[i] : known->second);
  }
  try {
    if (const Status s = Switch::check_environment(); !s) throw CLI::ValidationError(s.message());
    app.parse(std::move(reversed));
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();  // a subcommand that has said why
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return -1;
}

int fail(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return 1;
}

}  // namespace veloce::apps

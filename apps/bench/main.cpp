// veloce-bench: times models and kernels, and makes models to time. See `veloce-bench --help`.
#include <CLI/CLI.hpp>
#include <string>

#include "bench/kernel_bench.hpp"
#include "bench/make_model.hpp"
#include "bench/model_bench.hpp"
#include "common/engine_flags.hpp"
#include "veloce/config.hpp"

int main(int argc, char** argv) {
  CLI::App app("veloce-bench: times models and kernels, and makes models to time", "veloce-bench");
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", std::string("veloce ") + VELOCE_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  veloce::apps::add_switch_flags(app);
  veloce::bench::add_model_bench(app);
  veloce::bench::add_kernel_bench(app);
  veloce::bench::add_make_model(app);
  const int status = veloce::apps::parse(app, argc, argv, {{"-pg", "--prompt-gen"}});
  return status >= 0 ? status : 0;
}

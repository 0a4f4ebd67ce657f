// veloce-serve: serves a GGUF model over HTTP. See `veloce-serve --help`.
#include "models/registry.hpp"
#include "options.hpp"
#include "server_app.hpp"

int main(int argc, char** argv) {
  const veloce::serve::ParsedOptions parsed = veloce::serve::parse_options(argc, argv);
  if (parsed.exit) return *parsed.exit;
  return veloce::serve::run_server(parsed.options,
                                   {veloce::models::load_engine, veloce::models::plan_memory});
}

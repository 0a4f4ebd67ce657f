// veloce-serve over the fake engine, for tests of everything around the model. Takes vocabulary and
// template from the given GGUF file. VELOCE_FAKE_STEP_US and VELOCE_FAKE_TOKEN_US make steps take
// time.
#include <cstdlib>

#include "fake_engine.hpp"
#include "options.hpp"
#include "server_app.hpp"
#include "veloce/text/tokenizer.hpp"

namespace {

using namespace veloce;

long from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : 0;
}

Result<std::unique_ptr<model::Engine>> load(const model::EngineOptions& options) {
  Result<gguf::File> file = gguf::File::open(options.path);
  if (!file) return file.status();
  auto tokenizer = text::Tokenizer::from_metadata(file->metadata());
  if (!tokenizer) return tokenizer.status();
  serve::test::FakeSettings settings;
  settings.vocabulary = tokenizer->size();
  settings.step = std::chrono::microseconds(from_environment("VELOCE_FAKE_STEP_US"));
  settings.token = std::chrono::microseconds(from_environment("VELOCE_FAKE_TOKEN_US"));
  for (long waited = 0; waited < from_environment("VELOCE_FAKE_LOAD_MS"); waited += 20) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (!options.progress(0.5f)) return Status(Code::kCancelled, "cancelled");
  }
  return std::unique_ptr<model::Engine>(new serve::test::FakeEngine(
      options, settings, std::make_unique<gguf::File>(*std::move(file))));
}

}  // namespace

int main(int argc, char** argv) {
  const serve::ParsedOptions parsed = serve::parse_options(argc, argv);
  if (parsed.exit) return *parsed.exit;
  return serve::run_server(parsed.options,
                           {load, [](const model::EngineOptions&) -> Result<model::MemoryPlan> {
                              return model::MemoryPlan{};
                            }});
}

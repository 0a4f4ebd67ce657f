// Models that must be refused, models that only look odd, and thousands of damaged ones: through
// the whole way from the file to a step (reader, hyper-parameters, weights, vocabulary, chat
// template).
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "models/registry.hpp"
#include "support/hostile_models.hpp"
#include "support/mutate.hpp"
#include "support/sanitized.hpp"
#include "veloce/gguf/file.hpp"
#include "veloce/text/jinja.hpp"
#include "veloce/text/tokenizer.hpp"

using namespace veloce;
using namespace veloce::test;
namespace fs = std::filesystem;

namespace {

// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "veloce-hostile-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_THREAD, &use);
  return double(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         double(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

// Largest resident size so far. A sanitizer keeps freed memory, so there it says nothing.
long peak_kib() {
  if (kSanitized) return 0;
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss;
}

model::EngineOptions small_options(const std::string& path) {
  model::EngineOptions o;
  o.path = path;
  o.threads = 1;
  o.context = 32;
  o.max_batch = 8;
  return o;
}

// Everything that is done with a model's file before the first answer, and one step.
Status load_and_step(const model::EngineOptions& options) {
  auto engine = models::load_engine(options);
  if (!engine) return engine.status();
  model::Engine& e = **engine;
  const gguf::Metadata& metadata = e.file().metadata();
  const auto tokenizer = text::Tokenizer::from_metadata(metadata);
  if (!tokenizer) return tokenizer.status();
  const auto source = metadata.get_or<std::string_view>("tokenizer.chat_template", "");
  if (!source) return source.status();
  const auto parsed = text::jinja::Template::parse(*source);
  if (!parsed) return parsed.status();
  const auto rendered = parsed->render(
      {{"messages", {{{"role", "user"}, {"content", "Hello"}}}}, {"add_generation_prompt", true}});
  if (!rendered.ok())
    return Status(Code::kInvalidArgument, "tokenizer.chat_template: " + rendered.error.message);
  std::vector<std::int32_t> ids = tokenizer->encode("Hello w\xC3\xB6rld", true, true);
  std::vector<model::Token> batch;
  for (const std::int32_t id : ids)
    if (int(batch.size()) < e.max_batch() && int(batch.size()) < e.context())
      batch.push_back({id, 0, std::int32_t(batch.size()), true});
  if (batch.empty()) batch.push_back({0, 0, 0, true});
  if (Status s = e.step(batch); !s) return s;
  const auto logits = e.logits(int(batch.size()) - 1);
  if (logits.size() != std::size_t(e.info().vocabulary))
    return Status(Code::kInternal, "logits are missing");
  (void)tokenizer->decode(ids, true, true);
  return {};
}

}  // namespace

TEST_CASE("spoilt models are refused with the words that help, at once and without taking memory") {
  const Folder folder;
  const std::string path = folder.file("model.gguf");
  for (const std::string arch : {"llama", "qwen3"}) {
    // A sound one first, so that what loading takes anyway is taken.
    REQUIRE(TinyModel({.arch = arch}).write(path).ok());
    const Status sound = load_and_step(small_options(path));
    REQUIRE_MESSAGE(sound.ok(), sound.message());
    const long before = peak_kib();
    for (const HostileModel& hostile : hostile_models(arch)) {
      INFO(arch, ": ", hostile.name);
      TinyModel model({.arch = arch});
      hostile.spoil(model);
      REQUIRE(model.write(path).ok());
      const double start = cpu_seconds();
      const Status s = load_and_step(small_options(path));
      CHECK(cpu_seconds() - start < 1.0 * kSlowdown);
      CHECK_FALSE(s.ok());
      for (const std::string& word : hostile.words)
        CHECK_MESSAGE(s.message().find(word) != std::string::npos, "\"", s.message(), "\" lacks \"",
                      word, "\"");
    }
    CHECK(peak_kib() - before < 64 * 1024);
  }
}

TEST_CASE("unusual models load and run") {
  const Folder folder;
  const std::string path = folder.file("model.gguf");
  for (const std::string arch : {"llama", "qwen3"})
    for (const HostileModel& unusual : unusual_models(arch)) {
      INFO(arch, ": ", unusual.name);
      TinyModel model({.arch = arch});
      unusual.spoil(model);
      REQUIRE(model.write(path).ok());
      const Status s = load_and_step(small_options(path));
      CHECK_MESSAGE(s.ok(), s.message());
    }
}

TEST_CASE("what is no regular file is refused at once") {
  const Folder folder;
  const std::string pipe = folder.file("pipe"), missing = folder.file("missing"),
                    empty = folder.file("empty");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::ofstream(empty).close();
  for (const std::string& path : {pipe, folder.file(""), missing, empty, std::string("/dev/zero"),
                                  std::string("/dev/null"), std::string()}) {
    INFO("path: ", path);
    const auto start = std::chrono::steady_clock::now();
    const Status s = load_and_step(small_options(path));
    CHECK(seconds_since(start) < 5);
    CHECK_FALSE(s.ok());
    if (!path.empty()) CHECK(s.message().find(path) != std::string::npos);
    const auto plan = models::plan_memory(small_options(path));
    CHECK_FALSE(plan.ok());
  }
}

TEST_CASE("absurd demands are refused with the figures, before memory is taken") {
  const Folder folder;
  const std::string path = folder.file("model.gguf");
  REQUIRE(TinyModel().write(path).ok());
  const long before = peak_kib();
  const auto refused = [&](const char* word, const std::string& value, auto change) {
    model::EngineOptions o = small_options(path);
    change(o);
    const auto e = models::load_engine(o);
    INFO(word, " ", value);
    REQUIRE_FALSE(e.ok());
    CHECK_MESSAGE(e.status().message().find(word) != std::string::npos, e.status().message());
    CHECK_MESSAGE(e.status().message().find(value) != std::string::npos, e.status().message());
  };
  using O = model::EngineOptions;
  refused("context", "-1", [](O& o) { o.context = -1; });
  refused("context", "2147483647", [](O& o) { o.context = 2147483647; });
  refused("sequences", "0", [](O& o) { o.sequences = 0; });
  refused("sequences", "2147483647", [](O& o) { o.sequences = 2147483647; });
  refused("max_batch", "0", [](O& o) { o.max_batch = 0; });
  refused("max_batch", "-7", [](O& o) { o.max_batch = -7; });
  refused("max_batch", "2147483647", [](O& o) { o.max_batch = 2147483647; });
  refused("threads", "100000", [](O& o) { o.threads = 100000; });
  refused("threads", "-1", [](O& o) { o.threads = -1; });
  // Within the limits one by one, far too much together.
  refused("4096 x 268435456", "MiB", [](O& o) {
    o.context = 1 << 28;
    o.sequences = 4096;
  });
  refused("needs", "1 MiB", [](O& o) {
    o.context = 1 << 16;
    o.memory_limit = 1 << 20;
  });
  CHECK(peak_kib() - before < 64 * 1024);
  model::EngineOptions o = small_options(path);
  o.progress = [](float) { return false; };
  const auto cancelled = models::load_engine(o);
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.status().code() == Code::kCancelled);
}

TEST_CASE("wrong batches are refused by token and value, and change nothing") {
  const Folder folder;
  const std::string path = folder.file("model.gguf");
  REQUIRE(TinyModel().write(path).ok());
  model::EngineOptions o = small_options(path);
  o.sequences = 2;
  auto loaded = models::load_engine(o);
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  model::Engine& e = **loaded;
  const std::vector<model::Token> first = {{5, 0, 0, false}, {6, 0, 1, true}};
  REQUIRE(e.step(first).ok());
  const std::vector<float> logits(e.logits(1).begin(), e.logits(1).end());
  const auto refused = [&](std::vector<model::Token> batch, const std::string& word) {
    const Status s = e.step(batch);
    INFO(word);
    CHECK_FALSE(s.ok());
    CHECK_MESSAGE(s.message().find(word) != std::string::npos, s.message());
    CHECK(e.length(0) == 2);
    CHECK(e.length(1) == 0);
  };
  refused({{-1, 0, 2, true}}, "-1");
  refused({{e.info().vocabulary, 0, 2, true}}, std::to_string(e.info().vocabulary));
  refused({{INT32_MAX, 0, 2, true}}, "2147483647");
  refused({{1, 0, 3, true}}, "position 3");
  refused({{1, 0, 1, true}}, "position 1");
  refused({{1, 0, -1, true}}, "-1");
  refused({{1, 2, 0, true}}, "sequence 2");
  refused({{1, -1, 0, true}}, "-1");
  refused({{1, 0, 2, true}, {1, 1, 0, true}, {1, 0, 3, true}}, "next to each other");
  refused(std::vector<model::Token>(9, {1, 0, 2, true}), "9 tokens");
  CHECK_FALSE(e.truncate(0, 3).ok());
  CHECK_FALSE(e.truncate(0, -1).ok());
  CHECK_FALSE(e.truncate(7, 0).ok());
  CHECK_FALSE(e.copy(0, 2, 1).ok());
  CHECK_FALSE(e.copy(0, 1, 3).ok());
  CHECK_FALSE(e.serialize(2).ok());
  CHECK(e.logits(-1).empty());
  CHECK(e.logits(100).empty());
  CHECK(e.hidden(100).empty());
  REQUIRE(e.step({}).ok());
  // The state is what it was: one position back and the same token gives the same bits.
  REQUIRE(e.truncate(0, 1).ok());
  REQUIRE(e.step(std::vector<model::Token>{{6, 0, 1, true}}).ok());
  CHECK(std::memcmp(e.logits(0).data(), logits.data(), logits.size() * 4) == 0);
}

TEST_CASE("a file that is cut short after loading is an error of the step, not a signal") {
  const Folder folder;
  const std::string path = folder.file("model.gguf");
  REQUIRE(TinyModel().write(path).ok());
  auto loaded = models::load_engine(small_options(path));
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  model::Engine& e = **loaded;
  REQUIRE(e.step(std::vector<model::Token>{{5, 0, 0, true}}).ok());
  fs::resize_file(path, 100);
  const Status s = e.step(std::vector<model::Token>{{6, 0, 1, true}});
  CHECK(s.code() == Code::kIo);
  CHECK_MESSAGE(s.message().find("model.gguf") != std::string::npos, s.message());
  CHECK(e.length(0) == 1);
  CHECK(e.logits(0).empty());
}

namespace {

std::vector<Bytes> seed_models() {
  std::vector<Bytes> out;
  const std::string chat =
      "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] | trim }}<|im_end|>\n{% "
      "endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
  for (const std::string arch : {"llama", "qwen3"})
    for (const std::uint32_t type : {0u, 1u, 2u, 8u, 20u, 39u}) {
      TinyModel m({.arch = arch,
                   .hidden = 32,
                   .layers = 1,
                   .heads = 2,
                   .kv_heads = 1,
                   .head_dim = 16,
                   .ffn = 32,
                   .vocab = 261,
                   .context = 64},
                  type + 1);
      m.keys().set("tokenizer.chat_template", chat);
      std::mt19937 rng(type);
      if (type != 0)
        for (TinyTensor& t : m.tensors())
          if (t.dims.size() == 2) {
            const TypeInfo& info = *find_type(type);
            t.type = type;
            t.raw.resize(t.values.size() / info.values * info.bytes);
            for (std::byte& b : t.raw) b = std::byte(rng() & 0x37);  // scales stay finite
          }
      out.push_back(*m.bytes());
    }
  return out;
}

}  // namespace

TEST_CASE(
    "damaged models: loaded, tokenized with, rendered, stepped; none crashes or takes memory") {
  const char* runs_text = std::getenv("VELOCE_FUZZ_RUNS");
  const long runs = runs_text != nullptr ? std::atol(runs_text) : 300;
  const Folder folder;
  const std::string path = folder.file("model.gguf");
  const std::vector<Bytes> seeds = seed_models();
  const auto write = [&](const Bytes& bytes) {
    const int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    REQUIRE(fd >= 0);
    REQUIRE(::write(fd, bytes.data(), bytes.size()) == ssize_t(bytes.size()));
    ::close(fd);
  };
  for (const Bytes& seed : seeds) {
    write(seed);
    const Status s = load_and_step(small_options(path));
    REQUIRE_MESSAGE(s.ok(), s.message());
  }
  const long before = peak_kib();
  std::mt19937_64 rng(20250801);
  long ran = 0, silent = 0;
  double slowest = 0;
  for (long run = 0; run < runs; ++run) {
    Bytes bytes = seeds[std::size_t(run) % seeds.size()];
    for (std::uint64_t n = 1 + rng() % 3; n > 0; --n) {
      // Mostly where the hyper-parameters and the tensor list stand; the vocabulary fills the
      // middle.
      if (rng() % 3 == 0) {
        const std::size_t tail = std::min<std::size_t>(bytes.size(), 2500 + rng() % 20000),
                          cut = bytes.size() - tail;
        Bytes part(bytes.begin() + std::ptrdiff_t(cut), bytes.end());
        mutate(part, rng);
        bytes.resize(cut);
        bytes.insert(bytes.end(), part.begin(), part.end());
      } else {
        mutate(bytes, rng);
      }
    }
    write(bytes);
    model::EngineOptions o = small_options(path);
    o.memory_limit = 64u << 20;
    if (run % 4 == 0) o.context = 0;
    if (run % 5 == 0) o.activations = model::Activations::kF32;
    const double start = cpu_seconds();
    const Status s = load_and_step(o);
    slowest = std::max(slowest, cpu_seconds() - start);
    ran += s.ok();
    silent += !s.ok() && s.message().empty();
  }
  MESSAGE("damaged models: ", runs, " read, ", ran, " ran, slowest ", slowest,
          " s, memory grew by ", (peak_kib() - before) / 1024, " MiB");
  CHECK(silent == 0);
  CHECK(ran < runs);
  CHECK(slowest < 2.0 * kSlowdown);
  CHECK(peak_kib() - before < 160 * 1024);
}

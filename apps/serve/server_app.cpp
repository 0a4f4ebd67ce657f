#include "server_app.hpp"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "api/routes.hpp"
#include "base/log.hpp"
#include "http/server.hpp"
#include "scheduler/scheduler.hpp"
#include "service.hpp"
#include "ui/assets.hpp"
#include "veloce/gguf/file.hpp"

namespace veloce::serve {
namespace {

std::string mebibytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / 1048576.0);
  return text;
}

// What this process holds in memory now; 0 if unknown.
std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// An automatic number of slots is the largest power of two up to kAutomaticSlots whose state takes
// no more memory than the weights or kCheapState: a small model serves several people at once, a
// large one keeps its memory for one context. (The usual server shares one pool between 4 slots; a
// pool would need a paged cache, and a card wants one slot.)
constexpr int kAutomaticSlots = 4;
constexpr std::size_t kCheapState = std::size_t(1) << 30;

// -c is shared out over the slots where their number is given; an automatic number gives each slot
// all of it.
model::EngineOptions engine_options(const Options& options, int slots, bool automatic) {
  model::EngineOptions out = options.engine;
  out.sequences = slots;
  out.max_batch = std::max(options.batch, slots);
  out.context = options.context;
  out.cap_context = true;
  if (options.context > 0 && !automatic) out.context = std::max(1, options.context / slots);
  return out;
}

class App {
 public:
  App(const Options& options, const EngineSource& source)
      : options_(options), source_(source), http_(options.http) {
    const ServiceOf service = [this]() -> const Service& { return *service_.load(); };
    http_.set_gate([this](const http::Exchange&) {
      if (!service_.load()) throw ApiError::unavailable("Loading model");
    });
    if (options.ui) add_ui_routes(http_);
    add_state_routes(http_, service);
    add_text_routes(http_, service);
    add_completion_routes(http_, service);
    add_native_routes(http_, service);
    add_slot_routes(http_, service);
    add_chat_routes(http_, service);
    add_anthropic_routes(http_, service);
    add_responses_routes(http_, service);
    add_embedding_routes(http_, service);
    add_stream_routes(http_, service);
    add_openapi_route(http_, service);
  }

  // `signals`: those that end the server, blocked in every thread.
  int run(const sigset_t& signals) {
    if (const Status status = check(); !status) return complain(status);
    if (const Status status = http_.bind(); !status) return complain(status);
    announce();
    std::thread serving([this] { http_.run(); });
    std::thread loading([this] { load(); });
    int signal = 0;
    sigwait(&signals, &signal);
    stopping_ = true;
    // A second signal ends it at once.
    std::thread([signals] {
      int second = 0;
      sigwait(&signals, &second);
      _exit(130);
    }).detach();
    if (!failed_)
      log::info("shutting down",
                {{"active", http_.active()}, {"patience_s", options_.shutdown_seconds}});
    loading.join();
    http_.drain(std::chrono::seconds(options_.shutdown_seconds));
    if (Service* service = owned_.get()) service->scheduler().stop();
    http_.drain(std::chrono::seconds(2));
    http_.stop_serving();
    serving.join();
    log::info("stopped");
    return failed_ ? 1 : 0;
  }

 private:
  static int complain(const Status& status) {
    log::error(status.message());
    return 1;
  }

  Status check() const {
    const std::string& folder = options_.slot_save_path;
    if (!folder.empty() && !std::filesystem::is_directory(folder)) {
      return {Code::kInvalidArgument, "--slot-save-path: '" + folder + "' is not a folder"};
    }
    return {};
  }

  void announce() const {
    const http::HttpOptions& http = options_.http;
    const bool unix_socket = http.host.ends_with(".sock");
    const std::string scheme = http.tls_key.empty() ? "http" : "https";
    const std::string host =
        http.host.find(':') != std::string::npos ? '[' + http.host + ']' : http.host;
    log::info("listening", {{"address", unix_socket ? http.host
                                                    : scheme + "://" + host + ':' +
                                                          std::to_string(http_.port())}});
    if (http.api_keys.empty() && http.cors.origins == "*") {
      log::warning(
          "any web page may use this server: origins are '*' and there is no API key (see "
          "--api-key, --cors-origins)");
    }
  }

  void load() {
    const auto start = std::chrono::steady_clock::now();
    Result<std::unique_ptr<model::Engine>> engine = load_engine();
    if (!engine) return give_up(engine.status());
    if (options_.warmup) {  // the first request should not pay for pages that were never touched
      const model::Token token{.id = 0, .sequence = 0, .position = 0, .want_logits = true};
      Status warm = (*engine)->step({&token, 1});
      if (warm.ok()) warm = (*engine)->truncate(0, 0);
      if (!warm) return give_up(warm);
    }
    Result<std::unique_ptr<Service>> service = Service::create(options_, *std::move(engine));
    if (!service) return give_up(service.status());
    owned_ = *std::move(service);
    owned_->engine().file().drop();  // the vocabulary and the template have been read
    const model::ModelInfo& info = owned_->info();
    const int slots = owned_->scheduler().slot_count();
    const int asked = engine_options(options_, slots, options_.parallel < 0).context;
    if (owned_->context() < asked) {
      log::warning("-c is beyond what the model was trained for; a slot's context is that",
                   {{"asked", asked}, {"context", owned_->context()}});
    }
    log::info("ready",
              {{"model", owned_->model_id()},
               {"architecture", info.architecture},
               {"type", info.file_type},
               {"slots", slots},
               {"context", owned_->context()},
               {"threads", owned_->engine().threads()},
               {"seconds",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}});
    service_ = owned_.get();
  }

  Result<std::unique_ptr<model::Engine>> load_engine() {
    const bool automatic = options_.parallel < 0;
    int slots = automatic ? kAutomaticSlots : std::max(1, options_.parallel);
    model::EngineOptions wanted = engine_options(options_, slots, automatic);
    Result<model::MemoryPlan> plan = source_.plan(wanted);
    const auto too_much = [&] {
      return plan ? plan->state > std::max(plan->weights, kCheapState)
                  : plan.status().code() == Code::kOutOfMemory;
    };
    while (automatic && slots > 1 && too_much()) {
      slots /= 2;
      wanted = engine_options(options_, slots, automatic);
      plan = source_.plan(wanted);
    }
    if (!plan) return plan.status();
    // The file's index, resident now, goes when the vocabulary, about as large, has been made of
    // it.
    const std::size_t program = resident_bytes();
    log::info("memory needed", {{"weights", mebibytes(plan->weights)},
                                {"state", mebibytes(plan->state)},
                                {"workspace", mebibytes(plan->workspace)},
                                {"program", mebibytes(program)},
                                {"total", mebibytes(plan->total() + program)},
                                {"slots", slots}});
    wanted.progress = [this](float fraction) {
      log::progress("loading", fraction);
      return !stopping_.load();
    };
    return source_.load(wanted);
  }

  void give_up(const Status& status) {
    if (!stopping_) log::error(status.message());
    failed_ = true;
    kill(getpid(), SIGTERM);
  }

  const Options& options_;
  const EngineSource& source_;
  std::atomic<bool> stopping_{false}, failed_{false};
  std::unique_ptr<Service> owned_;
  std::atomic<Service*> service_{nullptr};
  http::HttpServer http_;
};

}  // namespace

int run_server(const Options& options, const EngineSource& source) {
  // One arena for each of hundreds of threads would keep memory that nobody uses.
  mallopt(M_ARENA_MAX, 4);
  if (!log::configure(options.log)) {
    std::fprintf(stderr, "veloce-serve: cannot open log file '%s'\n", options.log.file.c_str());
    return 1;
  }
  // Before any thread (the HTTP server has one from the start), so that all inherit it and only
  // sigwait() sees them: a thread that does not block SIGTERM dies of it, and the process with it.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int ending : {SIGINT, SIGTERM}) sigaddset(&signals, ending);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  App app(options, source);
  return app.run(signals);
}

}  // namespace veloce::serve

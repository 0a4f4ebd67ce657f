// Health, models, properties and metrics (specs/server.md 9 and 10).
#include <algorithm>
#include <mutex>
#include <sstream>
#include <utility>

#include "api/answer.hpp"
#include "api/params.hpp"
#include "api/routes.hpp"
#include "chat_renderer.hpp"
#include "scheduler/scheduler.hpp"
#include "veloce/text/tokenizer.hpp"

namespace veloce::serve {
namespace {

Json empty_object() {
  return Json::object();
}

void models(http::Exchange& exchange, const Service& service) {
  const model::ModelInfo& info = service.info();
  Json aliases = Json::array();
  for (const std::string& alias : service.options().aliases) aliases.push_back(alias);
  const Json meta = {
      {"vocab_type", service.tokenizer().vocabulary().kind() == text::TokenizerKind::kBpe ? 2 : 1},
      {"n_vocab", info.vocabulary},
      {"n_ctx", service.context()},
      {"n_ctx_train", info.trained_context},
      {"n_embd", info.hidden},
      {"n_params", info.parameters},
      {"size", info.tensor_bytes},
      {"ftype", info.file_type}};
  const std::string id = service.model_id();
  exchange.reply_json({{"object", "list"},
                       {"data",
                        {{{"id", id},
                          {"aliases", std::move(aliases)},
                          {"tags", Json::array()},
                          {"object", "model"},
                          {"created", service.created()},
                          {"owned_by", "veloce"},
                          {"meta", meta}}}},
                       {"models",
                        {{{"name", id},
                          {"model", id},
                          {"type", "model"},
                          {"description", ""},
                          {"tags", {""}},
                          {"capabilities", {"completion"}},
                          {"parameters", ""},
                          {"details",
                           {{"parent_model", ""},
                            {"format", "gguf"},
                            {"family", info.architecture},
                            {"families", {info.architecture}},
                            {"parameter_size", info.size_label},
                            {"quantization_level", info.file_type}}}}}}});
}

std::string special_text(const Service& service, std::int32_t id) {
  return id < 0 ? std::string() : service.piece(id);
}

void props(http::Exchange& exchange, const Service& service) {
  const Json nothing = empty_object();
  Json settings = params_to_json(read_params(Fields(nothing), service, LogprobStyle::kCount));
  const Options& options = service.options();
  const text::Vocabulary& vocabulary = service.tokenizer().vocabulary();
  Json out = {{"default_generation_settings",
               {{"params", std::move(settings)}, {"n_ctx", service.context()}}},
              {"total_slots", service.scheduler().slot_count()},
              {"model_alias", options.aliases.empty() ? std::string() : options.aliases.front()},
              {"model_path", options.engine.path},
              {"model_ftype", service.info().file_type},
              {"modalities", {{"vision", false}, {"audio", false}, {"video", false}}},
              {"media_marker", ""},
              {"endpoint_slots", options.slots},
              {"endpoint_props", options.props},
              {"endpoint_metrics", options.metrics},
              {"ui", options.ui},
              {"ui_settings", options.ui_settings},
              {"chat_template", service.chat().source()},
              {"chat_template_caps", service.chat().capabilities()},
              {"bos_token", special_text(service, vocabulary.bos())},
              {"eos_token", special_text(service, vocabulary.eos())},
              {"build_info", build_info()},
              {"is_sleeping", false}};
  if (!service.chat().tool_source().empty())
    out["chat_template_tool_use"] = service.chat().tool_source();
  exchange.reply_json(out);
}

// Prometheus' text format, under the names that dashboards know.
class MetricsPage {
 public:
  void counter(const char* name, const char* help, double value) {
    add(name, "counter", help, value);
  }
  void gauge(const char* name, const char* help, double value) { add(name, "gauge", help, value); }
  std::string text() const { return out_.str(); }

 private:
  void add(const char* name, const char* type, const char* help, double value) {
    for (const char* prefix : {"llamacpp:", "veloce:"}) {
      out_ << "# HELP " << prefix << name << ' ' << help << "\n# TYPE " << prefix << name << ' '
           << type << '\n'
           << prefix << name << ' ' << dump_json(value) << '\n';
    }
  }
  std::ostringstream out_;
};

double rate(double amount, double ms) {
  return ms > 0 ? amount * 1000.0 / ms : 0;
}

void metrics(http::Exchange& exchange, const Service& service) {
  if (!service.options().metrics)
    throw ApiError::unsupported(
        "This server does not support metrics endpoint. Start it with `--metrics`");
  // Rates are averages since the last scrape.
  static std::mutex mutex;
  static Metrics before;
  const Metrics now = service.scheduler().metrics();
  Metrics last;
  {
    const std::lock_guard lock(mutex);
    last = std::exchange(before, now);
  }
  const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
  MetricsPage page;
  page.counter("prompt_tokens_total", "Prompt tokens processed.", number(now.prompt_tokens));
  page.counter("prompt_tokens_cached_total", "Prompt tokens taken from the cache.",
               number(now.cached_tokens));
  page.counter("prompt_seconds_total", "Time spent on prompts.", now.prompt_ms / 1000);
  page.counter("tokens_predicted_total", "Tokens generated.", number(now.generated_tokens));
  page.counter("tokens_predicted_seconds_total", "Time spent on generation, by finished answers.",
               now.generation_ms / 1000);
  page.counter("n_decode_total", "Steps of the engine.", number(now.steps));
  page.counter("n_tokens_max", "Most tokens held by a slot.", now.most_tokens);
  page.counter("requests_finished_total", "Answers finished.", number(now.finished));
  page.counter("requests_cancelled_total", "Answers that nobody waited for any more.",
               number(now.cancelled));
  page.counter("requests_failed_total", "Answers that ended with an error.", number(now.failed));
  page.counter("requests_refused_total", "Requests refused because the queue was full.",
               number(now.refused));
  page.gauge("prompt_tokens_seconds", "Prompt tokens per second since the last scrape.",
             rate(number(now.prompt_tokens - last.prompt_tokens), now.prompt_ms - last.prompt_ms));
  page.gauge("predicted_tokens_seconds", "Generated tokens per second since the last scrape.",
             rate(number(now.generated_tokens - last.generated_tokens),
                  now.generation_ms - last.generation_ms));
  page.gauge("requests_processing", "Requests in slots.", now.running);
  page.gauge("requests_deferred", "Requests waiting for a slot.", now.waiting);
  page.gauge("n_busy_slots_per_decode", "Slots busy in a step, on average.",
             now.steps ? number(now.busy_slots) / number(now.steps) : 0);
  exchange.set_header("Process-Start-Time-Unix", std::to_string(service.created()));
  exchange.reply(200, page.text(), "text/plain; version=0.0.4");
}

}  // namespace

void add_state_routes(http::HttpServer& server, ServiceOf service) {
  const http::HttpServer::Access open{false, true};
  for (const char* path : {"/health", "/v1/health"}) {
    server.route(
        "GET", path,
        [](http::Exchange& exchange) {
          exchange.reply_json({{"status", "ok"}});
        },
        open);
  }
  for (const char* path : {"/v1/models", "/models"}) {
    server.route(
        "GET", path, [service](http::Exchange& exchange) { models(exchange, service()); }, open);
  }
  server.route("GET", "/v1/models/{id...}", [service](http::Exchange& exchange) {
    const std::string& id = exchange.path_param("id");
    const auto& aliases = service().options().aliases;
    if (id != service().model_id() &&
        std::find(aliases.begin(), aliases.end(), id) == aliases.end()) {
      throw ApiError{404, "not_found_error", "there is no model '" + id + "'"};
    }
    exchange.reply_json({{"id", id},
                         {"object", "model"},
                         {"created", service().created()},
                         {"owned_by", "veloce"}});
  });
  server.route("GET", "/props",
               [service](http::Exchange& exchange) { props(exchange, service()); });
  server.route("POST", "/props", [service](http::Exchange& exchange) {
    if (!service().options().props)
      throw ApiError::unsupported(
          "This server does not support changing global properties. Start it with `--props`");
    [[maybe_unused]] const Json body = exchange.json_body();
    exchange.reply_json({{"success", true}});
  });
  server.route("GET", "/metrics",
               [service](http::Exchange& exchange) { metrics(exchange, service()); });
  server.route("GET", "/lora-adapters",
               [](http::Exchange& exchange) { exchange.reply_json(Json::array()); });
  server.route("POST", "/lora-adapters", [](http::Exchange& exchange) {
    Result<Json> scales = parse_json(exchange.body());
    if (!scales || !scales->is_array())
      throw ApiError::invalid("the body must be a JSON array of {id, scale}");
    if (!scales->empty()) throw ApiError::invalid("no adapters are loaded");
    exchange.reply_json({{"success", true}});
  });
}

}  // namespace veloce::serve

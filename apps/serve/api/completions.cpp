// OpenAI's /v1/completions (specs/server.md 5).
#include "api/answer.hpp"
#include "api/params.hpp"
#include "api/prompt.hpp"
#include "api/routes.hpp"
#include "api/run.hpp"

namespace veloce::serve {
namespace {

struct Envelope {
  std::string id = random_name("cmpl-");
  std::int64_t created = unix_seconds();
  std::string model;

  Json wrap(Json choices) const {
    return {
        {"id", id},       {"object", "text_completion"},        {"created", created},
        {"model", model}, {"system_fingerprint", build_info()}, {"choices", std::move(choices)}};
  }
};

Json logprobs_json(const std::vector<TokenProbabilities>& probabilities,
                   const GenerationParams& params) {
  if (!params.report_probabilities) return nullptr;
  return {{"content", probabilities_json(probabilities, params.after_sampling)}};
}

class CompletionStream final : public StreamFormat {
 public:
  CompletionStream(Envelope envelope, const RequestSettings& settings, GenerationParams params)
      : envelope_(std::move(envelope)),
        settings_(settings),
        params_(std::move(params)),
        usage_(settings.choices) {}

  void on_event(const Event& event, http::EventWriter& writer) override {
    if (event.kind == Event::Kind::kProgress) {
      Json chunk = envelope_.wrap(Json::array());
      chunk["prompt_progress"] = prompt_progress_json(event.progress);
      writer.data(chunk);
      return;
    }
    if (event.kind == Event::Kind::kStarted) return;
    const bool finished = event.kind == Event::Kind::kFinished;
    if (!finished || !event.text.empty() || !event.probabilities.empty()) write_text(event, writer);
    if (!finished) return;
    usage_.add(event.index, event.progress);
    Json chunk = envelope_.wrap({{{"text", ""},
                                  {"index", event.index},
                                  {"logprobs", nullptr},
                                  {"finish_reason", openai_finish_reason(event.reason)}}});
    chunk["usage"] = usage_.openai();
    chunk["timings"] = timings_json(event.progress);
    writer.data(chunk);
  }

  void end(http::EventWriter& writer) override {
    if (settings_.include_usage) {
      Json chunk = envelope_.wrap(Json::array());
      chunk["usage"] = usage_.openai();
      writer.data(chunk);
    }
    writer.done();
  }

 private:
  void write_text(const Event& event, http::EventWriter& writer) {
    Json chunk = envelope_.wrap({{{"text", event.text},
                                  {"index", event.index},
                                  {"logprobs", logprobs_json(event.probabilities, params_)},
                                  {"finish_reason", nullptr}}});
    if (params_.timings_per_token) chunk["timings"] = timings_json(event.progress);
    writer.data(chunk);
  }

  Envelope envelope_;
  RequestSettings settings_;
  GenerationParams params_;
  UsageCounter usage_;
};

void refuse_unsupported(const Fields& body) {
  if (body.boolean("echo").value_or(false)) body.fail("echo", "is not supported");
  if (body.has("suffix")) body.fail("suffix", "is not supported; see /infill");
  if (const auto best_of = body.integer("best_of", 1);
      best_of && *best_of > body.integer("n").value_or(1)) {
    body.fail("best_of", "more candidates than answers are not supported");
  }
}

void complete(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const Fields body(json);
  refuse_unsupported(body);
  const RequestSettings settings = read_request_settings(body, service);
  GenerationParams params = read_params(body, service, LogprobStyle::kCount);
  bind_schema(params, service, body);
  const auto prompts = read_prompts(body, "prompt", service);
  auto run =
      Run::start(exchange, service, make_choices(exchange, service, settings, prompts, params));
  Envelope envelope;
  envelope.model = service.model_id();
  if (settings.stream) {
    Run::stream(std::move(run), exchange,
                std::make_shared<CompletionStream>(envelope, settings, std::move(params)),
                settings.ping_seconds);
    return;
  }
  UsageCounter usage(settings.choices);
  Json choices = Json::array(), timings, verbose;
  for (const ChoiceResult& result : run->collect()) {
    usage.add(result.last.index, result.last.progress);
    if (timings.is_null()) timings = timings_json(result.last.progress);
    if (params.verbose && verbose.is_null()) {
      verbose = native_answer_json(
          service, params, prompts[static_cast<std::size_t>(result.last.index / settings.choices)],
          result);
    }
    choices.push_back({{"text", result.text},
                       {"index", result.last.index},
                       {"logprobs", logprobs_json(result.probabilities, params)},
                       {"finish_reason", openai_finish_reason(result.last.reason)}});
  }
  Json answer = envelope.wrap(std::move(choices));
  answer["usage"] = usage.openai();
  answer["timings"] = std::move(timings);
  if (!verbose.is_null()) answer["__verbose"] = std::move(verbose);
  exchange.reply_json(answer);
}

}  // namespace

void add_completion_routes(http::HttpServer& server, ServiceOf service) {
  server.route("POST", "/v1/completions",
               [service](http::Exchange& exchange) { complete(exchange, service()); });
}

}  // namespace veloce::serve

#include "api/run.hpp"

#include "scheduler/scheduler.hpp"
#include "stream_sessions.hpp"
#include "veloce/sample/sampler.hpp"

#include <chrono>
#include <utility>

namespace veloce::serve {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::hours kForever{24 * 365};

// Here and not on the engine's thread: it may take a while.
std::shared_ptr<sample::Sampler> make_sampler(const sample::SamplingParams& params,
                                              const Service& service,
                                              const std::vector<std::int32_t>& prompt) {
  Result<sample::Sampler> sampler =
      sample::Sampler::create(params, &service.tokenizer(), service.vocabulary_size());
  if (!sampler) throw ApiError::from(sampler.status());
  for (const std::int32_t id : prompt) sampler->accept(id, true);
  return std::make_shared<sample::Sampler>(*std::move(sampler));
}

ApiError client_gone() {
  return {499, "cancelled", "the client closed the connection"};
}

}  // namespace

std::shared_ptr<Run> Run::start(http::Exchange& exchange, const Service& service,
                                std::vector<GenerationRequest> choices) {
  const std::size_t count = choices.size();
  Result<std::shared_ptr<Channel>> channel = service.scheduler().submit(std::move(choices));
  if (!channel) {
    exchange.set_header("Retry-After", "1");
    throw ApiError::from(channel.status());
  }
  std::shared_ptr<Run> run(new Run(*std::move(channel), count));
  run->watch_ =
      exchange.on_disconnect([channel_of_run = run->channel_] { channel_of_run->cancel(); });
  return run;
}

Run::~Run() {
  if (open_ > 0) channel_->cancel();
}

std::vector<Event> Run::next(steady_clock::time_point deadline) {
  std::vector<Event> events = channel_->wait(deadline);
  for (const Event& event : events) {
    if (event.kind == Event::Kind::kFinished || event.kind == Event::Kind::kFailed) --open_;
  }
  if (events.empty() && channel_->cancelled()) throw client_gone();
  return events;
}

std::vector<ChoiceResult> Run::collect() {
  std::vector<ChoiceResult> results(open_);
  while (open_ > 0) {
    for (Event& event : next(steady_clock::now() + kForever)) {
      if (event.kind == Event::Kind::kFailed) throw ApiError::from(event.error);
      ChoiceResult& result = results[static_cast<std::size_t>(event.index)];
      result.text += event.text;
      result.tokens.insert(result.tokens.end(), event.tokens.begin(), event.tokens.end());
      std::move(event.probabilities.begin(), event.probabilities.end(),
                std::back_inserter(result.probabilities));
      if (event.kind == Event::Kind::kFinished) result.last = std::move(event);
    }
  }
  return results;
}

// What goes wrong before anything was said is an error with a status of its own.
void Run::await_first() {
  early_ = next(steady_clock::now() + kForever);
  for (const Event& event : early_) {
    if (event.kind == Event::Kind::kFailed) throw ApiError::from(event.error);
  }
}

void Run::stream_kept(std::shared_ptr<Run> run, http::Exchange& exchange, const Service& service,
                      const std::string& conversation, std::shared_ptr<StreamFormat> format,
                      int ping_seconds) {
  run->await_first();
  run->watch_ = {};
  const auto write = [run, format = std::move(format)](http::EventWriter& writer) {
    run->write(writer, *format, -1);
  };
  const auto session = service.sessions().start(exchange.client(), conversation, write,
                                                [channel = run->channel_] { channel->cancel(); });
  exchange.stream([session, ping_seconds](http::EventWriter& writer) {
    session->follow(0, writer, ping_seconds);
  });
}

void Run::stream(std::shared_ptr<Run> run, http::Exchange& exchange,
                 std::shared_ptr<StreamFormat> format, int ping_seconds) {
  run->await_first();
  exchange.stream([run = std::move(run), format = std::move(format), ping_seconds](
                      http::EventWriter& writer) { run->write(writer, *format, ping_seconds); });
}

void Run::write(http::EventWriter& writer, StreamFormat& format, int ping_seconds) {
  const auto silence = ping_seconds > 0 ? std::chrono::seconds(ping_seconds) : kForever;
  try {
    format.begin(writer);
    std::vector<Event> events = std::exchange(early_, {});
    for (;;) {
      for (const Event& event : events) {
        if (event.kind == Event::Kind::kFailed) throw ApiError::from(event.error);
        format.on_event(event, writer);
      }
      if (events.empty()) writer.comment();
      if (!writer.flush()) return;  // the destructor cancels
      if (open_ == 0) break;
      events = next(steady_clock::now() + silence);
    }
    format.end(writer);
  } catch (const ApiError& error) {
    if (!channel_->cancelled()) format.on_error(error, writer);
  }
  writer.flush();
}

std::vector<GenerationRequest> make_choices(const http::Exchange& exchange, const Service& service,
                                            const RequestSettings& settings,
                                            const std::vector<std::vector<std::int32_t>>& prompts,
                                            const GenerationParams& params) {
  // Before anything is made for each: what can never be queued must not take memory.
  const std::size_t wanted = prompts.size() * static_cast<std::size_t>(settings.choices);
  const std::size_t most = static_cast<std::size_t>(service.scheduler().slot_count()) +
                           static_cast<std::size_t>(service.options().queue_limit);
  if (wanted > most) {
    throw ApiError::invalid("the request asks for " + std::to_string(wanted) +
                            " answers (prompts times 'n'); the slots and the queue hold " +
                            std::to_string(most));
  }
  std::vector<GenerationRequest> choices;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const int first = static_cast<int>(choices.size());
    for (int i = 0; i < settings.choices; ++i) {
      GenerationRequest request;
      request.id = exchange.id();
      request.client = exchange.client();
      request.owner = service.owner_of(exchange.client());
      request.priority = settings.priority;
      request.index = first + i;
      request.leader = i > 0 ? first : -1;
      request.prompt = prompts[p];
      request.params = params;
      sample::SamplingParams& sampling = request.params.sampling;
      if (sampling.seed != sample::kRandomSeed) sampling.seed += static_cast<std::uint32_t>(i);
      request.sampler = make_sampler(sampling, service, prompts[p]);
      choices.push_back(std::move(request));
    }
  }
  return choices;
}

}  // namespace veloce::serve

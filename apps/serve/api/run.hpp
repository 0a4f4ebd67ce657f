// A submitted request as its handler sees it: waits for events, streams or collects them, and ends
// the work when the client is gone.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "api/params.hpp"
#include "http/exchange.hpp"
#include "scheduler/channel.hpp"
#include "scheduler/request.hpp"
#include "service.hpp"

namespace veloce::serve {

// Everything that one choice came to.
struct ChoiceResult {
  std::string text;
  std::vector<std::int32_t> tokens;
  std::vector<TokenProbabilities> probabilities;
  Event last;  // its kFinished
};

// How a route writes its stream.
class StreamFormat {
 public:
  virtual ~StreamFormat() = default;
  virtual void begin(http::EventWriter&) {}
  // kStarted, kProgress, kText and kFinished events, in order for each choice.
  virtual void on_event(const Event& event, http::EventWriter& writer) = 0;
  // After the last choice has finished.
  virtual void end(http::EventWriter& writer) = 0;
  virtual void on_error(const ApiError& error, http::EventWriter& writer) {
    writer.data(error.body());
  }
};

class Run {
 public:
  // Queues the choices; throws the 503 of a full queue.
  static std::shared_ptr<Run> start(http::Exchange& exchange, const Service& service,
                                    std::vector<GenerationRequest> choices);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Waits for all choices. Throws what a choice failed with.
  std::vector<ChoiceResult> collect();

  // Answers with a stream. Returns before the stream is written; throws where the first thing that
  // happens is a failure.
  static void stream(std::shared_ptr<Run> run, http::Exchange& exchange,
                     std::shared_ptr<StreamFormat> format, int ping_seconds);

  // Likewise, but the stream goes on without the client, and is kept under that name
  // (specs/server.md 12).
  static void stream_kept(std::shared_ptr<Run> run, http::Exchange& exchange,
                          const Service& service, const std::string& conversation,
                          std::shared_ptr<StreamFormat> format, int ping_seconds);

  // For control from other requests.
  const std::shared_ptr<Channel>& channel() const { return channel_; }

 private:
  Run(std::shared_ptr<Channel> channel, std::size_t choices)
      : channel_(std::move(channel)), open_(choices) {}
  void await_first();
  std::vector<Event> next(std::chrono::steady_clock::time_point deadline);
  void write(http::EventWriter& writer, StreamFormat& format, int ping_seconds);

  std::shared_ptr<Channel> channel_;
  http::PeerWatch::Handle watch_;
  std::size_t open_;          // choices not ended
  std::vector<Event> early_;  // came before the stream began
};

// The choices of one request: `count` for each prompt, sharing its evaluation.
std::vector<GenerationRequest> make_choices(const http::Exchange& exchange, const Service& service,
                                            const RequestSettings& settings,
                                            const std::vector<std::vector<std::int32_t>>& prompts,
                                            const GenerationParams& params);

}  // namespace veloce::serve

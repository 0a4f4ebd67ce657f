// One request and its answer, as the handlers of the API see them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/json.hpp"
#include "http/httplib.hpp"
#include "http/peer_watch.hpp"

namespace veloce::serve::http {

// Server-sent events. They are gathered until flush(), so that what comes together leaves in one
// packet; both return false once the client is gone.
class EventWriter {
 public:
  explicit EventWriter(httplib::DataSink& sink) : sink_(sink) {}

  bool data(const Json& value) { return raw("data: " + dump_json(value) + "\n\n"); }
  bool event(std::string_view name, const Json& value) {
    return raw("event: " + std::string(name) + "\ndata: " + dump_json(value) + "\n\n");
  }
  bool done() { return raw("data: [DONE]\n\n"); }
  bool comment() { return raw(":\n\n"); }
  bool raw(std::string_view text) {
    pending_ += text;
    return pending_.size() < kMostPending || flush();
  }
  bool flush() {
    if (alive_ && !pending_.empty()) alive_ = sink_.write(pending_.data(), pending_.size());
    pending_.clear();
    return alive_;
  }
  bool alive() const { return alive_; }

 private:
  static constexpr std::size_t kMostPending = 65536;
  httplib::DataSink& sink_;
  std::string pending_;
  bool alive_ = true;
};

// What the log line at the end of a request needs; lives as long as the request, its stream
// included.
struct RequestRecord {
  std::string id;
  std::string method, path;
  std::string client;
  bool accepts_gzip = false;
  int status = 0;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

class Exchange {
 public:
  Exchange(const httplib::Request& request, httplib::Response& response, RequestRecord& record,
           std::string body, std::map<std::string, std::string> path_params, PeerWatch& watch)
      : request_(request),
        response_(response),
        record_(record),
        body_(std::move(body)),
        path_params_(std::move(path_params)),
        watch_(watch) {}

  const std::string& id() const { return record_.id; }
  // Who asks, for fair queueing: the key if there is one, else the address.
  const std::string& client() const { return record_.client; }
  const std::string& path() const { return record_.path; }
  std::string header(const std::string& name) const { return request_.get_header_value(name); }
  std::string query(const std::string& name) const { return request_.get_param_value(name); }
  // The client takes gzip; for handlers that have it at hand.
  bool accepts_gzip() const { return record_.accepts_gzip; }
  bool has_query(const std::string& name) const { return request_.has_param(name); }
  // The part of the path that matched {name} in the route.
  const std::string& path_param(const std::string& name) const { return path_params_.at(name); }
  const std::string& body() const { return body_; }

  // The body as a JSON object; a 400 where it is none.
  Json json_body() const;

  void reply(int status, std::string body, const std::string& content_type);
  void reply_json(const Json& value, int status = 200);
  void reply_error(const ApiError& error) { reply_json(error.body(), error.status); }
  void set_header(const std::string& name, const std::string& value) {
    response_.set_header(name, value);
  }
  // Answers 200 with an event stream that `run` writes, on this thread, after the handler has
  // returned.
  void stream(std::function<void(EventWriter&)> run);

  // Calls `gone` when the client hangs up while the handle lives.
  [[nodiscard]] PeerWatch::Handle on_disconnect(std::function<void()> gone) const;

 private:
  const httplib::Request& request_;
  httplib::Response& response_;
  RequestRecord& record_;
  std::string body_;
  std::map<std::string, std::string> path_params_;
  PeerWatch& watch_;
};

}  // namespace veloce::serve::http

// Streams that outlive their connection (specs/server.md 12): what a chat stream says is kept in a
// ring for a while and can be read again, from any byte on, by whoever asked for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "http/exchange.hpp"

namespace veloce::serve {

class StreamSession {
 public:
  static constexpr std::size_t kRing = std::size_t{4} << 20;

  // Sends everything from byte `from` on, and what comes, until the stream ends or the client is
  // gone.
  void follow(std::uint64_t from, http::EventWriter& writer, int ping_seconds);
  // Is byte `from` still there, or the next to come?
  bool holds(std::uint64_t from) const;
  bool done() const;
  std::uint64_t size() const;

 private:
  friend class StreamSessions;
  void append(std::string_view bytes);
  void finish();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string ring_;           // the last bytes, at most kRing
  std::uint64_t dropped_ = 0;  // bytes before those
  bool done_ = false;
  std::chrono::steady_clock::time_point ended_;
  std::function<void()> cancel_;
  std::thread thread_;
};

class StreamSessions {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::chrono::seconds kKept{300};

  ~StreamSessions();
  // `write` runs on a thread of its own; `cancel` makes it end soon. A session of the same name
  // ends. Throws a 503 where too many run.
  std::shared_ptr<StreamSession> start(const std::string& owner, const std::string& name,
                                       std::function<void(http::EventWriter&)> write,
                                       std::function<void()> cancel);
  // Null: there is none, or it is another owner's.
  std::shared_ptr<StreamSession> find(const std::string& owner, const std::string& name);
  void remove(const std::string& owner, const std::string& name);

 private:
  using Key = std::pair<std::string, std::string>;  // owner, name
  static void end(StreamSession& session);
  void forget_old();

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<StreamSession>> sessions_;
};

}  // namespace veloce::serve

#include "stream_sessions.hpp"

#include <algorithm>
#include <iterator>

namespace veloce::serve {

using std::chrono::steady_clock;

void StreamSession::append(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  ring_ += bytes;
  if (ring_.size() > kRing) {
    // More than what must go, so that not every piece moves the whole ring.
    const std::size_t drop = std::min(ring_.size(), ring_.size() - kRing + kRing / 8);
    ring_.erase(0, drop);
    dropped_ += drop;
  }
  changed_.notify_all();
}

void StreamSession::finish() {
  const std::lock_guard lock(mutex_);
  done_ = true;
  ended_ = steady_clock::now();
  changed_.notify_all();
}

bool StreamSession::holds(std::uint64_t from) const {
  const std::lock_guard lock(mutex_);
  return from >= dropped_ && from <= dropped_ + ring_.size();
}

bool StreamSession::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

std::uint64_t StreamSession::size() const {
  const std::lock_guard lock(mutex_);
  return dropped_ + ring_.size();
}

void StreamSession::follow(std::uint64_t from, http::EventWriter& writer, int ping_seconds) {
  const auto silence =
      ping_seconds > 0 ? std::chrono::seconds(ping_seconds) : std::chrono::seconds(3600);
  while (writer.alive()) {
    std::string piece;
    {
      std::unique_lock lock(mutex_);
      const auto more = [&] { return done_ || from < dropped_ + ring_.size(); };
      changed_.wait_for(lock, silence, more);
      if (from < dropped_) return;  // too slow a reader: what it misses is gone
      piece = ring_.substr(static_cast<std::size_t>(from - dropped_), 65536);
      if (piece.empty() && done_) return;
    }
    from += piece.size();
    if (piece.empty()) {
      writer.comment();
    } else {
      writer.raw(piece);
    }
    writer.flush();
  }
}

StreamSessions::~StreamSessions() {
  for (auto& [key, session] : sessions_) end(*session);
}

void StreamSessions::end(StreamSession& session) {
  session.cancel_();
  if (session.thread_.joinable()) session.thread_.join();
}

void StreamSessions::forget_old() {
  const auto now = steady_clock::now();
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    StreamSession& session = *it->second;
    bool old = false;
    {
      const std::lock_guard lock(session.mutex_);
      old = session.done_ && now - session.ended_ > kKept;
    }
    if (old) end(session);
    it = old ? sessions_.erase(it) : std::next(it);
  }
}

std::shared_ptr<StreamSession> StreamSessions::start(const std::string& owner,
                                                     const std::string& name,
                                                     std::function<void(http::EventWriter&)> write,
                                                     std::function<void()> cancel) {
  remove(owner, name);
  const std::lock_guard lock(mutex_);
  forget_old();
  if (sessions_.size() >= kMost) {
    // The one that ended first makes room.
    auto oldest = sessions_.end();
    for (auto it = sessions_.begin(); it != sessions_.end(); ++it)
      if (it->second->done() &&
          (oldest == sessions_.end() || it->second->ended_ < oldest->second->ended_))
        oldest = it;
    if (oldest == sessions_.end())
      throw ApiError::unavailable("too many resumable streams are running; the limit is " +
                                  std::to_string(kMost));
    end(*oldest->second);
    sessions_.erase(oldest);
  }
  auto session = std::make_shared<StreamSession>();
  session->cancel_ = std::move(cancel);
  session->thread_ = std::thread([session = session.get(), write = std::move(write)] {
    httplib::DataSink sink;
    sink.write = [session](const char* data, std::size_t size) {
      session->append({data, size});
      return true;
    };
    http::EventWriter writer(sink);
    try {
      write(writer);
    } catch (const std::exception&) {
      writer.data(ApiError::internal("the answer could not be completed").body());
    }
    writer.flush();
    session->finish();
  });
  sessions_[{owner, name}] = session;
  return session;
}

std::shared_ptr<StreamSession> StreamSessions::find(const std::string& owner,
                                                    const std::string& name) {
  const std::lock_guard lock(mutex_);
  forget_old();
  const auto found = sessions_.find({owner, name});
  return found == sessions_.end() ? nullptr : found->second;
}

void StreamSessions::remove(const std::string& owner, const std::string& name) {
  std::shared_ptr<StreamSession> session;
  {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find({owner, name});
    if (found == sessions_.end()) return;
    session = found->second;
    sessions_.erase(found);
  }
  end(*session);
}

}  // namespace veloce::serve

// Threads that serve connections: as many as there are connections, up to a bound, and gone again
// after some idle time. (The HTTP library's own pool has a fixed size: 64 open streams would lock
// everyone else out.)
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "http/httplib.hpp"

namespace veloce::serve::http {

class WorkerPool final : public httplib::TaskQueue {
 public:
  // At most `threads` run at a time and `waiting` connections wait for one; the jobs of those
  // beyond run at once on the accepting thread, with refusing() set.
  WorkerPool(std::size_t threads, std::size_t waiting) : limit_(threads), waiting_(waiting) {}
  ~WorkerPool() override { shutdown(); }

  // The library's later releases return bool here.
  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));
  Enqueued enqueue(std::function<void()> job) override {
    add(std::move(job));
    return Enqueued(true);
  }
  void shutdown() override;

  // True on the accepting thread while it runs a connection only to refuse it.
  static bool& refusing();

 private:
  void add(std::function<void()> job);
  void work();

  const std::size_t limit_, waiting_;
  std::mutex mutex_;
  std::condition_variable jobs_changed_, thread_ended_;
  std::deque<std::function<void()>> jobs_;
  std::size_t threads_ = 0, idle_ = 0;
  bool stopping_ = false;
};

}  // namespace veloce::serve::http

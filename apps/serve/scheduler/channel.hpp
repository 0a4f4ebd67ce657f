// The way back from the engine thread to the thread that answers a request: events in order, and
// the wish to stop in the other direction.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "scheduler/event.hpp"

namespace veloce::serve {

class Channel {
 public:
  // `wake` is called (any thread) when the request is cancelled, so that an idle scheduler looks.
  explicit Channel(std::function<void()> wake) : wake_(std::move(wake)) {}

  void push(Event event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    changed_.notify_one();
  }

  // Everything that has come, waiting for the first until `deadline`. Empty: nothing came, or
  // cancelled.
  std::vector<Event> wait(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [this] { return !events_.empty() || cancelled_; });
    return std::exchange(events_, {});
  }

  void cancel() {
    {
      const std::lock_guard lock(mutex_);
      if (cancelled_.exchange(true)) return;
    }
    changed_.notify_all();
    wake_();
  }
  bool cancelled() const { return cancelled_; }

  // Ends the thinking of a running request (see ReasoningBudget).
  void end_reasoning() { end_reasoning_ = true; }
  bool reasoning_ended() const { return end_reasoning_; }

 private:
  std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> events_;
  std::atomic<bool> cancelled_{false}, end_reasoning_{false};
};

}  // namespace veloce::serve

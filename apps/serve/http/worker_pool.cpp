#include "http/worker_pool.hpp"

#include <chrono>
#include <system_error>
#include <thread>

namespace veloce::serve::http {

bool& WorkerPool::refusing() {
  thread_local bool value = false;
  return value;
}

void WorkerPool::add(std::function<void()> job) {
  std::unique_lock lock(mutex_);
  if (idle_ <= jobs_.size() && threads_ < limit_) {
    try {
      std::thread([this] { work(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
      // No further thread to be had: those that run will come to it.
    }
  }
  if (threads_ == 0 || (idle_ <= jobs_.size() && jobs_.size() >= waiting_ && threads_ >= limit_)) {
    lock.unlock();
    refusing() = true;
    job();
    refusing() = false;
    return;
  }
  jobs_.push_back(std::move(job));
  lock.unlock();
  jobs_changed_.notify_one();
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    const bool woken = jobs_changed_.wait_for(lock, std::chrono::seconds(20),
                                              [this] { return stopping_ || !jobs_.empty(); });
    --idle_;
    if (!woken || jobs_.empty()) break;
    {
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
    }
    lock.lock();
  }
  --threads_;
  // Under the lock: the pool may be gone as soon as the last thread has let go of it.
  thread_ended_.notify_all();
}

void WorkerPool::shutdown() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  jobs_changed_.notify_all();
  thread_ended_.wait(lock, [this] { return threads_ == 0; });
}

}  // namespace veloce::serve::http

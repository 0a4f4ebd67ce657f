// The thread team of the CPU backend: one function run by all workers at once, with barriers
// between its phases.
//
// A model step is one run(): every worker walks the same straight program and takes its share of
// each op, so that an op costs a barrier (well under a microsecond while all spin) and not a task
// queue. Work inside an op is handed out in chunks from a shared counter, which evens out cores of
// different speed; who computes a chunk never changes a bit. Between runs workers spin for a short
// while and then sleep, so an idle engine takes no CPU time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include "veloce/config.hpp"

namespace veloce::cpu {

class Pool;

// One member of the team, inside a run.
class Worker {
 public:
  int index() const { return index_; }
  int count() const { return count_; }

  // Waits until all workers of the run are here. What they wrote before is visible after.
  void barrier();

  // Hands out [0, total) in chunks of at least `grain`: next() gives the next chunk for this worker
  // or false. All workers of a run must make the same sequence of shares.
  class Share {
   public:
    bool next(int& begin, int& end) {
      begin = counter_.fetch_add(chunk_, std::memory_order_relaxed);
      if (begin >= total_) return false;
      end = begin + chunk_ < total_ ? begin + chunk_ : total_;
      return true;
    }

   private:
    friend class Worker;
    Share(std::atomic<int>& counter, int total, int chunk)
        : counter_(counter), total_(total), chunk_(chunk) {}
    std::atomic<int>& counter_;
    int total_, chunk_;
  };
  Share share(int total, int grain = 1);

 private:
  friend class Pool;
  Worker(Pool& pool, int index, int count) : pool_(pool), index_(index), count_(count) {}
  Pool& pool_;
  int index_, count_;
  unsigned shares_ = 0;
};

// Cores that this process may run on.
inline int available_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
#endif
  const unsigned n = std::thread::hardware_concurrency();
  return n > 0 ? int(n) : 1;
}

class Pool {
 public:
  // A team of `threads` workers; the caller of run() is worker 0, so threads - 1 are started.
  explicit Pool(int threads)
      : count_(threads < 1 ? 1 : threads), counters_(new Counter[kCounters]) {
    // More workers than cores would only spin in each other's way.
    yield_at_once_ = count_ > available_cores();
    for (int i = 1; i < count_; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    stop_.store(true, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  int size() const { return count_; }

  // Calls fn(worker) on every worker and returns when all are done. One run at a time.
  template <class Fn>
  void run(Fn&& fn) {
    for (int i = 0; i < kCounters; ++i) counters_[i].value.store(0, std::memory_order_relaxed);
    using Plain = std::remove_reference_t<Fn>;
    context_ = const_cast<void*>(static_cast<const void*>(&fn));
    call_ = [](void* context, Worker& w) { (*static_cast<Plain*>(context))(w); };
    generation_.fetch_add(1, std::memory_order_release);
    if (count_ > 1) generation_.notify_all();
    Worker self(*this, 0, count_);
    call_(context_, self);
    self.barrier();  // nobody may still be inside fn when it goes out of scope
  }

 private:
  friend class Worker;
  static constexpr int kCounters = 64;
  // How long a worker spins: between runs, where the next step is near, before it sleeps; at a
  // barrier before it gives its core away. The latter is short because a late worker has most
  // likely lost its core to another program: measured with one busy program on two cores, 2,000
  // spins generate 1.4 times as fast as 20,000, alone no slower.
  static constexpr int kIdleSpins = 20000;
  static constexpr int kBarrierSpins = 2000;

  struct alignas(64) Counter {
    std::atomic<int> value{0};
  };

  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  void serve(int index) {
    std::uint32_t seen = 0;
    for (;;) {
      std::uint32_t now = generation_.load(std::memory_order_acquire);
      for (int spins = 0; now == seen; ++spins) {
        if (spins < kIdleSpins && !yield_at_once_)
          relax();
        else
          generation_.wait(seen, std::memory_order_acquire);
        now = generation_.load(std::memory_order_acquire);
      }
      seen = now;
      if (stop_.load(std::memory_order_relaxed)) return;
      Worker self(*this, index, count_);
      call_(context_, self);
      self.barrier();
    }
  }

  void barrier() {
    const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == count_ - 1) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
      if (spins < kBarrierSpins && !yield_at_once_)
        relax();
      else
        std::this_thread::yield();  // somebody lost its core: let it have this one
    }
  }

  const int count_;
  std::vector<std::thread> threads_;
  std::unique_ptr<Counter[]> counters_;
  void* context_ = nullptr;
  void (*call_)(void*, Worker&) = nullptr;
  bool yield_at_once_ = false;
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
};

inline void Worker::barrier() {
  if (count_ > 1) pool_.barrier();
}

inline Worker::Share Worker::share(int total, int grain) {
  // The counter half a ring ahead was last used at least half a ring of shares ago; barriers lie
  // between, so nobody still draws from it.
  const unsigned slot = shares_++ % Pool::kCounters;
  pool_.counters_[(slot + Pool::kCounters / 2) % Pool::kCounters].value.store(
      0, std::memory_order_relaxed);
  int chunk = total / (count_ * 8);
  if (chunk < grain) chunk = grain;
  if (count_ == 1) chunk = total > 0 ? total : 1;
  return Share(pool_.counters_[slot].value, total, chunk);
}

}  // namespace veloce::cpu

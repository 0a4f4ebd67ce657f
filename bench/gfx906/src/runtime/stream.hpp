// Streams and events. Every stream owns a queue that one worker thread empties in order; order
// between streams is made of tickets ("that queue has finished its n-th item"), which an item waits
// for before it runs. A ticket names only work submitted earlier, so waits cannot form a cycle.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "card.hpp"
#include "hip_abi.hpp"
#include "work.hpp"

namespace gfx906::rt {

class Queue;
class Capture;

struct Ticket {
  std::shared_ptr<Queue> queue;  // empty: nothing to wait for
  uint64_t number = 0;
  bool done() const;
  void wait() const;
  double model_end() const;  // seconds on the modelled clock; 0 when not done
};

class Queue {
 public:
  Queue(int on_card, int number, bool is_blocking, bool null)
      : card(on_card), id(number), blocking(is_blocking), is_null(null) {}
  // Starts the worker on first use. `self` is the shared pointer to this.
  static Ticket push(const std::shared_ptr<Queue>& self, std::shared_ptr<Work> work,
                     std::vector<Ticket> waits, double issue_cost);
  static Ticket tail(const std::shared_ptr<Queue>& self);
  bool drained();
  void close();

  const int card, id;
  const bool blocking, is_null;

 private:
  friend struct Ticket;
  struct Item {
    std::shared_ptr<Work> work;
    std::vector<Ticket> waits;
    double issued = 0;  // modelled host time
  };
  void serve();
  void perform(Item& item);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  uint64_t submitted_ = 0, completed_ = 0;
  double model_time_ = 0;
  std::deque<double> ends_;  // modelled end of the last few items, newest last
  bool started_ = false, closed_ = false;
};

class Stream {
 public:
  static Stream* create(Card& card, unsigned flags, int priority, bool is_null);
  // Removes the handle; work already queued still runs.
  static void destroy(Stream* stream);
  // The stream a program's handle means: null, hipStreamLegacy, hipStreamPerThread or one made by
  // create that is still alive; nullptr for anything else.
  static Stream* resolve(hipStream_t handle);

  // Queues work behind what is already there and behind the null stream (or all blocking streams,
  // for the null stream). Not for a capturing stream: see submit() in graph.hpp.
  Ticket push(std::shared_ptr<Work> work, std::vector<Ticket> waits = {}, double issue_cost = -1);
  Ticket tail() const { return Queue::tail(queue_); }
  bool idle() const { return queue_->drained(); }
  hipError_t synchronize();  // the card's sticky error, if any

  Card& card() const { return *card_; }
  unsigned flags() const { return flags_; }
  int priority() const { return priority_; }
  bool is_null() const { return queue_->is_null; }
  const std::shared_ptr<Queue>& queue() const { return queue_; }
  uint64_t id() const { return static_cast<uint64_t>(queue_->id); }

  std::shared_ptr<Capture> capture;  // guarded by capture_mutex() of graph.hpp
  std::vector<uint32_t> cu_mask;
  bool broken_capture = false;

 private:
  Stream() = default;
  Card* card_ = nullptr;
  unsigned flags_ = 0;
  int priority_ = 0;
  std::shared_ptr<Queue> queue_;
};

// Waits for everything queued on a card.
hipError_t synchronize_card(Card& card);
// Tickets of all unfinished queues of a card, blocking ones only if asked.
std::vector<Ticket> pending_of(Card& card, bool blocking_only);

// One recording of an event: done when its ticket is.
class EventRecord {
 public:
  Ticket ticket;
  std::chrono::steady_clock::time_point host_time;
  double model_time = 0;
  bool stamped = false;
};

class Event {
 public:
  static Event* create(int card, unsigned flags);
  static bool destroy(Event* event);
  static bool alive(const Event* event);
  int card = 0;
  unsigned flags = 0;
  std::mutex mutex;
  std::shared_ptr<EventRecord> record;  // the last recording; empty: never recorded
  // When last recorded in a capturing stream.
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> captured_nodes;
};

// Records `event` behind the stream's work (stream not capturing).
hipError_t record_event(Event& event, Stream& stream);

}  // namespace gfx906::rt

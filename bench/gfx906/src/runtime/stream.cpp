#include "stream.hpp"

#include <algorithm>
#include <atomic>
#include <shared_mutex>
#include <unordered_set>

#include "graph.hpp"
#include "trace.hpp"

namespace gfx906::rt {
namespace {

constexpr size_t kRememberedEnds = 4096;

// The handles that are alive, so that a stale one is an error and not a crash.
template <class T>
class Handles {
 public:
  void add(const T* handle) {
    const std::unique_lock lock(mutex_);
    live_.insert(handle);
  }
  bool remove(const T* handle) {
    const std::unique_lock lock(mutex_);
    return live_.erase(handle) == 1;
  }
  bool contains(const T* handle) const {
    const std::shared_lock lock(mutex_);
    return live_.count(handle) == 1;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_set<const T*> live_;
};

Handles<Stream>& live_streams() {
  static auto* handles = new Handles<Stream>;
  return *handles;
}
Handles<Event>& live_events() {
  static auto* handles = new Handles<Event>;
  return *handles;
}

std::atomic<int> next_queue_id{0};

}  // namespace

bool Ticket::done() const {
  if (!queue) return true;
  const std::lock_guard lock(queue->mutex_);
  return queue->completed_ >= number;
}

void Ticket::wait() const {
  if (!queue) return;
  std::unique_lock lock(queue->mutex_);
  queue->changed_.wait(lock, [this] { return queue->completed_ >= number; });
}

double Ticket::model_end() const {
  if (!queue) return 0;
  const std::lock_guard lock(queue->mutex_);
  if (queue->completed_ < number) return 0;
  const uint64_t back = queue->completed_ - number;
  if (queue->ends_.empty()) return queue->model_time_;
  const size_t n = queue->ends_.size();
  return queue->ends_[back < n ? n - 1 - back : 0];
}

Ticket Queue::push(const std::shared_ptr<Queue>& self, std::shared_ptr<Work> work,
                   std::vector<Ticket> waits, double issue_cost) {
  advance_host(issue_cost);
  const std::lock_guard lock(self->mutex_);
  self->items_.push_back({std::move(work), std::move(waits), host_model_time()});
  const uint64_t number = ++self->submitted_;
  if (!self->started_) {
    self->started_ = true;
    std::thread([self] { self->serve(); }).detach();
  }
  self->changed_.notify_all();
  return {self, number};
}

Ticket Queue::tail(const std::shared_ptr<Queue>& self) {
  const std::lock_guard lock(self->mutex_);
  return {self, self->submitted_};
}

bool Queue::drained() {
  const std::lock_guard lock(mutex_);
  return completed_ == submitted_;
}

void Queue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Queue::serve() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !items_.empty() || closed_; });
    if (items_.empty()) return;
    Item item = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    perform(item);
    item = {};  // the work's owners may be waiting for its resources
    lock.lock();
    ++completed_;
    changed_.notify_all();
  }
}

void Queue::perform(Item& item) {
  double start = std::max(model_time_, item.issued);
  for (const Ticket& t : item.waits) {
    t.wait();
    start = std::max(start, t.model_end());
  }
  WorkReport report;
  const double host_start = host_clock();
  hipError_t error = hipSuccess;
  Card& owner = *gfx906::rt::card(item.work->card);
  // After a fault nothing more runs on the card, as on the real one; events still complete.
  const bool mark = item.work->type() == hipGraphNodeTypeEventRecord;
  if (owner.fault.load() == hipSuccess || mark) error = item.work->run(report);
  const double host_end = host_clock();
  if (error != hipSuccess) {
    hipError_t none = hipSuccess;
    owner.fault.compare_exchange_strong(none, error);
  }
  const double seconds = report.model_seconds >= 0 ? report.model_seconds : 0;
  const double end = start + seconds;
  if (mark) {
    auto& record = static_cast<EventRecordWork&>(*item.work).record;
    if (record) record->model_time = end;
  }
  if (report.name.size()) {
    const bool model = modelled_time();
    trace_work(item.work->card, id, report, model ? start : host_start, model ? end : host_end);
  }
  const std::lock_guard lock(mutex_);
  model_time_ = end;
  ends_.push_back(end);
  if (ends_.size() > kRememberedEnds) ends_.pop_front();
}

Stream* Stream::create(Card& card, unsigned flags, int priority, bool is_null) {
  auto* stream = new Stream;
  stream->card_ = &card;
  stream->flags_ = flags;
  stream->priority_ = priority;
  const bool blocking = (flags & hipStreamNonBlocking) == 0;
  stream->queue_ = std::make_shared<Queue>(card.index(), next_queue_id++, blocking, is_null);
  {
    const std::lock_guard lock(card.mutex);
    card.streams.insert(stream);
    card.queues.push_back(stream->queue_);
  }
  live_streams().add(stream);
  return stream;
}

void Stream::destroy(Stream* stream) {
  if (!live_streams().remove(stream)) return;
  Card& card = *stream->card_;
  stream->queue_->close();
  {
    const std::lock_guard lock(card.mutex);
    card.streams.erase(stream);
  }
  delete stream;
}

Stream* Stream::resolve(hipStream_t handle) {
  if (cards().empty()) return nullptr;
  const auto bits = reinterpret_cast<uintptr_t>(handle);
  if (bits == 0 || bits == kStreamLegacyHandle) return current_card().null_stream();
  if (bits == kStreamPerThreadHandle) return current_card().thread_stream();
  return live_streams().contains(handle) ? handle : nullptr;
}

std::vector<Ticket> pending_of(Card& card, bool blocking_only) {
  std::vector<Ticket> tickets;
  const std::lock_guard lock(card.mutex);
  for (size_t i = 0; i < card.queues.size();) {
    const auto& queue = card.queues[i];
    if (queue->drained()) {
      // A queue that only this list still holds belongs to a destroyed stream.
      if (queue.use_count() == 1) {
        card.queues[i] = card.queues.back();
        card.queues.pop_back();
        continue;
      }
    } else if (queue->blocking || !blocking_only) {
      tickets.push_back(Queue::tail(queue));
    }
    ++i;
  }
  return tickets;
}

Ticket Stream::push(std::shared_ptr<Work> work, std::vector<Ticket> waits, double issue_cost) {
  // The order in which two threads submit to the null stream and to another one must be the same
  // for both, or their mutual waits could form a cycle.
  static std::mutex order;
  const std::lock_guard lock(order);
  if (queue_->is_null) {
    for (Ticket& t : pending_of(*card_, true)) {
      if (t.queue != queue_) waits.push_back(std::move(t));
    }
  } else if (queue_->blocking) {
    const auto& null_queue = card_->null_stream()->queue();
    if (!null_queue->drained()) waits.push_back(Queue::tail(null_queue));
  }
  return Queue::push(queue_, std::move(work), std::move(waits),
                     issue_cost < 0 ? kLaunchIssueSeconds : issue_cost);
}

hipError_t Stream::synchronize() {
  std::vector<Ticket> tickets{tail()};
  // The null stream's own completion includes that of the blocking streams.
  if (queue_->is_null) {
    for (Ticket& t : pending_of(*card_, true)) tickets.push_back(std::move(t));
  }
  for (const Ticket& t : tickets) {
    t.wait();
    host_waits_until(t.model_end());
  }
  return card_->fault.load();
}

hipError_t synchronize_card(Card& card) {
  for (const Ticket& t : pending_of(card, false)) t.wait();
  // On the modelled clock even those may end later that this host has already done.
  std::vector<std::shared_ptr<Queue>> queues;
  {
    const std::lock_guard lock(card.mutex);
    queues = card.queues;
  }
  double end = 0;
  for (const auto& queue : queues) end = std::max(end, Queue::tail(queue).model_end());
  host_waits_until(end);
  return card.fault.load();
}

Event* Event::create(int card, unsigned flags) {
  auto* event = new Event;
  event->card = card;
  event->flags = flags;
  live_events().add(event);
  return event;
}

bool Event::destroy(Event* event) {
  if (!live_events().remove(event)) return false;
  delete event;
  return true;
}

bool Event::alive(const Event* event) {
  return live_events().contains(event);
}

hipError_t record_event(Event& event, Stream& stream) {
  auto work = std::make_shared<EventRecordWork>();
  work->card = stream.card().index();
  work->event = &event;
  work->record = std::make_shared<EventRecord>();
  auto record = work->record;
  const std::lock_guard lock(event.mutex);
  record->ticket = stream.push(std::move(work), {}, 0);
  event.record = std::move(record);
  event.capture.reset();
  event.captured_nodes.clear();
  return hipSuccess;
}

}  // namespace gfx906::rt

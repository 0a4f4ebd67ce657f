// Shares the engine among requests. One thread owns the engine; each of its steps reads one token
// for every request that is generating and a bounded piece of the prompts of those that are not
// yet, so that running streams keep flowing. Slots keep what they have read, and a request starts
// in, or copies from, the slot that shares most with its prompt.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/channel.hpp"
#include "scheduler/request.hpp"
#include "scheduler/waiting_line.hpp"
#include "veloce/model/engine.hpp"

namespace veloce::text {
class Tokenizer;
}

namespace veloce::serve {

struct Slot;
struct Task;

struct SchedulerOptions {
  int queue_limit = 256;
  bool context_shift = false;  // where the context is full, forget the middle and go on
  double slot_similarity =
      0.1;  // part of the prompt that a slot must share to be preferred to the oldest
  // How long a step may take because of prompts while others generate, and while none does.
  std::chrono::milliseconds shared_step{60}, prompt_step{400};
};

// What /slots tells. No text: those who ask need not be those who wrote it.
struct SlotInfo {
  int id = 0;
  bool busy = false, used = false;
  int context = 0, tokens = 0;
  SlotWork work;  // under way, or the last
};

struct Metrics {
  std::uint64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  double prompt_ms = 0, generation_ms = 0;
  std::uint64_t steps = 0, busy_slots = 0;  // busy_slots: summed over the steps
  int most_tokens = 0;                      // in one sequence
  int running = 0, waiting = 0;
  std::uint64_t finished = 0, cancelled = 0, failed = 0, refused = 0;
};

// A slot's tokens and the engine's state for them.
struct SlotState {
  std::vector<std::int32_t> tokens;
  std::vector<std::byte> bytes;
};

class Scheduler {
 public:
  Scheduler(model::Engine& engine, const text::Tokenizer& tokenizer, SchedulerOptions options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Hands the choices of one request over; their events come through the channel, each choice's
  // last being kFinished or kFailed. Refused as a whole (kOutOfMemory) when the queue is full or
  // the scheduler has stopped.
  Result<std::shared_ptr<Channel>> submit(std::vector<GenerationRequest> choices);

  std::vector<SlotInfo> slots() const;
  Metrics metrics() const;
  int slot_count() const { return engine_.max_sequences(); }
  int context() const { return engine_.context(); }

  // Wait for the slot to be idle, then act. What belongs to another owner is not saved.
  Result<SlotState> save(int slot, const std::string& owner);
  Status restore(int slot, SlotState state, const std::string& owner);
  Result<int> erase(int slot);  // tokens forgotten

  // Ends everything that runs or waits with an error, and the thread.
  void stop();

 private:
  struct Command {
    int slot;
    std::packaged_task<void(Slot*)> run;  // null: the scheduler has stopped
  };

  void loop();
  void take_commands();
  void drop_cancelled();
  void admit();
  Slot* choose_slot(const Task& task);
  void start(Slot& slot, std::unique_ptr<Task> task);
  int reuse_prefix(Slot& slot, const Task& task);
  void build_batch();
  void add_prompt_pieces(int budget);
  int prompt_budget(int decoding) const;
  void step();
  void advance(Slot& slot, std::size_t begin, std::size_t end);
  void pool(Slot& slot, int index);
  void finish_embedding(Slot& slot);
  void sample(Slot& slot, int index);
  void begin_generation(Slot& slot);
  void shift(Slot& slot);
  void finish(Slot& slot, Event event);
  void fail(Slot& slot, const Status& status);
  void release(Slot& slot);
  void publish();
  SlotWork work_of(const Task& task) const;
  void tell(const Slot& slot, Event::Kind kind) const;  // an event of nothing but the progress
  Progress progress_of(const Task& task) const;
  template <class T>
  Result<T> on_idle_slot(int slot, std::function<Result<T>(Slot&)> act);

  model::Engine& engine_;
  const text::Tokenizer& tokenizer_;
  const SchedulerOptions options_;

  // Of the engine thread alone.
  std::vector<Slot> slots_;
  std::vector<model::Token> batch_;
  struct Piece {
    Slot* slot;
    std::size_t begin, end;  // in batch_
  };
  std::vector<Piece> pieces_;
  std::uint64_t uses_ = 0;
  double ms_per_prompt_token_ = 1.0;

  // Shared.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  WaitingLine line_;
  std::vector<Command> commands_;
  bool stopping_ = false, kicked_ = false;
  std::uint64_t next_task_ = 1;
  std::vector<SlotInfo> slot_infos_;
  Metrics metrics_;

  std::thread thread_;
};

}  // namespace veloce::serve

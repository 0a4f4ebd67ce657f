#include "scheduler/scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/log.hpp"
#include "scheduler/task.hpp"

namespace veloce::serve {
namespace {

using std::chrono::duration;

double ms_between(Clock::time_point from, Clock::time_point to) {
  return duration<double, std::milli>(to - from).count();
}

// Tokens at the start of the prompt that the slot holds; another owner's are none of the request's
// business.
int common_prefix(const Slot& slot, const GenerationRequest& request) {
  const auto &a = slot.tokens, &b = request.prompt;
  if (slot.owner != request.owner) return 0;
  return static_cast<int>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

const Status kStopped(Code::kOutOfMemory, "the server is shutting down");

// The answer to nothing, which takes no slot. Not an error: the usual server answers so, and
// clients send an empty prompt to see whether a server is there.
void answer_nothing(const GenerationRequest& request, Channel& channel) {
  Event event;
  event.index = request.index;
  event.kind = Event::Kind::kStarted;
  channel.push(event);
  event.kind = Event::Kind::kFinished;
  event.seed = request.params.sampling.seed;
  channel.push(std::move(event));
}

}  // namespace

Scheduler::Scheduler(model::Engine& engine, const text::Tokenizer& tokenizer,
                     SchedulerOptions options)
    : engine_(engine), tokenizer_(tokenizer), options_(options) {
  slots_.resize(static_cast<std::size_t>(engine.max_sequences()));
  for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].id = static_cast<int>(i);
  publish();
  thread_ = std::thread([this] { loop(); });
}

Scheduler::~Scheduler() {
  stop();
}

void Scheduler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<std::shared_ptr<Channel>> Scheduler::submit(std::vector<GenerationRequest> choices) {
  auto channel = std::make_shared<Channel>([this] {
    {
      const std::lock_guard lock(mutex_);
      kicked_ = true;
    }
    changed_.notify_all();
  });
  auto group = std::make_shared<TaskGroup>();
  group->prompt_done.resize(choices.size());
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return kStopped;
    const std::size_t idle = static_cast<std::size_t>(std::count_if(
        slot_infos_.begin(), slot_infos_.end(), [](const SlotInfo& s) { return !s.busy; }));
    if (line_.size() + choices.size() > static_cast<std::size_t>(options_.queue_limit) + idle) {
      ++metrics_.refused;
      return Status(Code::kOutOfMemory, "the queue is full: " + std::to_string(line_.size()) +
                                            " requests wait, the limit is " +
                                            std::to_string(options_.queue_limit));
    }
    for (GenerationRequest& request : choices) {
      if (request.prompt.empty()) {
        answer_nothing(request, *channel);
        ++metrics_.finished;
        continue;
      }
      auto task = std::make_unique<Task>();
      task->request = std::move(request);
      task->channel = channel;
      task->group = group;
      task->arrived = Clock::now();
      task->number = next_task_++;
      line_.add(std::move(task));
    }
  }
  changed_.notify_all();
  return channel;
}

std::vector<SlotInfo> Scheduler::slots() const {
  const std::lock_guard lock(mutex_);
  return slot_infos_;
}

Metrics Scheduler::metrics() const {
  const std::lock_guard lock(mutex_);
  Metrics out = metrics_;
  out.waiting = static_cast<int>(line_.size());
  out.running = static_cast<int>(std::count_if(slot_infos_.begin(), slot_infos_.end(),
                                               [](const SlotInfo& s) { return s.busy; }));
  return out;
}

template <class T>
Result<T> Scheduler::on_idle_slot(int slot, std::function<Result<T>(Slot&)> act) {
  if (slot < 0 || slot >= slot_count()) {
    return Status(Code::kInvalidArgument, "there is no slot " + std::to_string(slot) +
                                              "; slots are 0 to " +
                                              std::to_string(slot_count() - 1));
  }
  Result<T> outcome = kStopped;
  std::packaged_task<void(Slot*)> run([&outcome, &act](Slot* idle) {
    if (idle) outcome = act(*idle);
  });
  std::future<void> done = run.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return kStopped;
    commands_.push_back({slot, std::move(run)});
  }
  changed_.notify_all();
  done.wait();
  return outcome;
}

Result<SlotState> Scheduler::save(int slot, const std::string& owner) {
  return on_idle_slot<SlotState>(slot, [&](Slot& s) -> Result<SlotState> {
    if (s.owner != owner && !s.tokens.empty())
      return Status(Code::kInvalidArgument,
                    "slot " + std::to_string(s.id) + " holds another user's text");
    Result<std::vector<std::byte>> bytes = engine_.serialize(s.id);
    if (!bytes) return bytes.status();
    return SlotState{s.tokens, *std::move(bytes)};
  });
}

Status Scheduler::restore(int slot, SlotState state, const std::string& owner) {
  const Result<int> done = on_idle_slot<int>(slot, [&](Slot& s) -> Result<int> {
    Status status = engine_.restore(s.id, state.bytes);
    if (status.ok() && engine_.length(s.id) != static_cast<int>(state.tokens.size())) {
      status = Status(Code::kCorrupt, "the state holds " + std::to_string(engine_.length(s.id)) +
                                          " positions for " + std::to_string(state.tokens.size()) +
                                          " tokens");
    }
    s.tokens.clear();
    s.owner = owner;
    s.used = true;
    if (!status) {
      [[maybe_unused]] const Status cleared = engine_.truncate(s.id, 0);
      return status;
    }
    s.tokens = std::move(state.tokens);
    return static_cast<int>(s.tokens.size());
  });
  return done ? Status() : done.status();
}

Result<int> Scheduler::erase(int slot) {
  return on_idle_slot<int>(slot, [this](Slot& s) -> Result<int> {
    if (Status status = engine_.truncate(s.id, 0); !status) return status;
    return static_cast<int>(std::exchange(s.tokens, {}).size());
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// The engine thread.

void Scheduler::loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      kicked_ = false;
      if (stopping_) break;
    }
    take_commands();
    drop_cancelled();
    admit();
    build_batch();
    publish();
    if (!batch_.empty()) {
      step();
      continue;
    }
    std::unique_lock lock(mutex_);
    if (line_.empty() && commands_.empty()) {
      changed_.wait(
          lock, [this] { return stopping_ || kicked_ || !line_.empty() || !commands_.empty(); });
    } else {
      // What waits cannot start yet (a leader's prompt, a busy slot): nothing runs, so only a
      // cancellation can help, or a background request growing old.
      changed_.wait_for(lock, std::chrono::milliseconds(50));
    }
  }
  for (Slot& slot : slots_) {
    if (slot.busy()) fail(slot, kStopped);
  }
  std::vector<std::unique_ptr<Task>> waiting;
  std::vector<Command> commands;
  {
    const std::lock_guard lock(mutex_);
    line_.remove_if([](const Task&) { return true; },
                    [&](std::unique_ptr<Task> task) { waiting.push_back(std::move(task)); });
    commands = std::exchange(commands_, {});
  }
  for (auto& task : waiting) {
    Event event;
    event.kind = Event::Kind::kFailed;
    event.index = task->request.index;
    event.error = kStopped;
    task->channel->push(std::move(event));
  }
  for (Command& command : commands) command.run(nullptr);
  publish();
}

void Scheduler::take_commands() {
  std::vector<Command> ready;
  {
    const std::lock_guard lock(mutex_);
    const auto busy = [this](const Command& c) {
      return slots_[static_cast<std::size_t>(c.slot)].busy();
    };
    const auto first = std::stable_partition(commands_.begin(), commands_.end(), busy);
    std::move(first, commands_.end(), std::back_inserter(ready));
    commands_.erase(first, commands_.end());
  }
  for (Command& command : ready) command.run(&slots_[static_cast<std::size_t>(command.slot)]);
}

void Scheduler::drop_cancelled() {
  for (Slot& slot : slots_) {
    if (!slot.busy() || !slot.task->channel->cancelled()) continue;
    log::write(log::Level::kInfo, slot.task->request.id, "cancelled", {{"slot", slot.id}});
    {
      const std::lock_guard lock(mutex_);
      ++metrics_.cancelled;
    }
    release(slot);
  }
  std::vector<std::unique_ptr<Task>> dropped;
  const std::lock_guard lock(mutex_);
  line_.remove_if([](const Task& task) { return task.channel->cancelled(); },
                  [&](std::unique_ptr<Task> task) { dropped.push_back(std::move(task)); });
  metrics_.cancelled += dropped.size();
}

void Scheduler::admit() {
  std::map<std::string, int> running;
  for (const Slot& slot : slots_) {
    if (slot.busy()) ++running[slot.task->request.client];
  }
  const auto may_start = [this](const Task& task) {
    const int leader = task.request.leader;
    if (leader >= 0 && !task.group->prompt_done[static_cast<std::size_t>(leader)]) return false;
    const int wanted = task.request.params.slot;
    return wanted < 0 || !slots_[static_cast<std::size_t>(wanted % slot_count())].busy();
  };
  while (std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.busy(); })) {
    std::unique_ptr<Task> task;
    {
      const std::lock_guard lock(mutex_);
      task = line_.take(running, may_start, Clock::now());
    }
    if (!task) return;
    ++running[task->request.client];
    Slot* slot = choose_slot(*task);
    start(*slot, std::move(task));
  }
}

Slot* Scheduler::choose_slot(const Task& task) {
  if (task.request.params.slot >= 0)
    return &slots_[static_cast<std::size_t>(task.request.params.slot % slot_count())];
  Slot *best = nullptr, *oldest = nullptr;
  int best_common = 0;
  for (Slot& slot : slots_) {
    if (slot.busy()) continue;
    const int common = common_prefix(slot, task.request);
    if (common > best_common) {
      best_common = common;
      best = &slot;
    }
    if (!oldest || slot.last_used < oldest->last_used) oldest = &slot;
  }
  const double share = static_cast<double>(best_common) /
                       static_cast<double>(std::max<std::size_t>(1, task.request.prompt.size()));
  return best && share > options_.slot_similarity ? best : oldest;
}

void Scheduler::start(Slot& slot, std::unique_ptr<Task> task) {
  slot.task = std::move(task);
  slot.task->prompt = static_cast<int>(slot.task->request.prompt.size());
  slot.used = true;
  slot.last_used = ++uses_;
  Task& t = *slot.task;
  t.started = Clock::now();
  if (t.request.kind == TaskKind::kGenerate) {
    t.generation =
        std::make_unique<Generation>(tokenizer_, t.request.params, std::move(*t.request.sampler));
  }
  t.cached = reuse_prefix(slot, t);
  t.processed = t.cached;
  log::write(log::Level::kDebug, t.request.id, "started",
             {{"slot", slot.id},
              {"prompt", t.request.prompt.size()},
              {"cached", t.cached},
              {"waited_ms", ms_between(t.arrived, t.started)}});
  tell(slot, Event::Kind::kStarted);
  if (t.request.params.return_progress) tell(slot, Event::Kind::kProgress);  // what was cached
}

void Scheduler::tell(const Slot& slot, Event::Kind kind) const {
  const Task& task = *slot.task;
  Event event;
  event.kind = kind;
  event.index = task.request.index;
  event.slot = slot.id;
  event.progress = progress_of(task);
  task.channel->push(std::move(event));
}

// Makes the slot hold the longest prefix of the prompt that it, or any other slot, holds already;
// returns its length. The last token of the prompt is always read again: its logits are what
// generation begins with.
int Scheduler::reuse_prefix(Slot& slot, const Task& task) {
  const std::vector<std::int32_t>& prompt = task.request.prompt;
  const bool reuse = task.request.params.cache_prompt && task.request.kind == TaskKind::kGenerate;
  const int limit = reuse ? static_cast<int>(prompt.size()) - 1 : 0;
  int own = std::min(limit, common_prefix(slot, task.request));
  slot.owner = task.request.owner;
  Slot* donor = nullptr;
  int best = own + 8;  // a copy is not worth a few tokens
  for (Slot& other : slots_) {
    const int common = &other == &slot ? 0 : std::min(limit, common_prefix(other, task.request));
    if (common > best) {
      best = common;
      donor = &other;
    }
  }
  if (donor && engine_.copy(donor->id, slot.id, best).ok()) {
    slot.tokens.assign(prompt.begin(), prompt.begin() + best);
    return best;
  }
  if (own < static_cast<int>(slot.tokens.size()) && !engine_.truncate(slot.id, own).ok()) {
    own = 0;  // the model's state cannot go back that far
    [[maybe_unused]] const Status cleared = engine_.truncate(slot.id, 0);
  }
  slot.tokens.resize(static_cast<std::size_t>(own));
  return own;
}

int Scheduler::prompt_budget(int decoding) const {
  const double time =
      static_cast<double>((decoding > 0 ? options_.shared_step : options_.prompt_step).count());
  const int affordable =
      static_cast<int>(std::min(1e6, time / std::max(1e-6, ms_per_prompt_token_)));
  return std::max(0, std::min(std::max(affordable, 16), engine_.max_batch() - decoding));
}

void Scheduler::build_batch() {
  batch_.clear();
  pieces_.clear();
  for (Slot& slot : slots_) {
    if (!slot.busy() || !slot.task->generating) continue;
    batch_.push_back(
        {slot.task->next, slot.id, static_cast<std::int32_t>(slot.tokens.size()), true});
    pieces_.push_back({&slot, batch_.size() - 1, batch_.size()});
  }
  add_prompt_pieces(prompt_budget(static_cast<int>(batch_.size())));
}

// Shares the budget equally among the prompts, what one does not need going to the others.
void Scheduler::add_prompt_pieces(int budget) {
  std::vector<Slot*> reading;
  for (Slot& slot : slots_) {
    if (slot.busy() && !slot.task->generating) reading.push_back(&slot);
  }
  std::sort(reading.begin(), reading.end(), [](const Slot* a, const Slot* b) {
    return a->task->remaining() < b->task->remaining();
  });
  for (std::size_t i = 0; i < reading.size() && budget > 0; ++i) {
    Slot& slot = *reading[i];
    Task& task = *slot.task;
    const int share = std::max(1, budget / static_cast<int>(reading.size() - i));
    const int count = std::min(share, task.remaining());
    const std::size_t begin = batch_.size();
    for (int j = 0; j < count; ++j) {
      const int position = task.processed + j;
      const bool last = position + 1 == static_cast<int>(task.request.prompt.size());
      const bool wanted = task.request.kind == TaskKind::kEmbed
                              ? task.request.pooling == Pooling::kMean ||
                                    task.request.pooling == Pooling::kNone ||
                                    (task.request.pooling == Pooling::kFirst ? position == 0 : last)
                              : last;
      batch_.push_back(
          {task.request.prompt[static_cast<std::size_t>(position)], slot.id, position, wanted});
    }
    pieces_.push_back({&slot, begin, batch_.size()});
    budget -= count;
  }
}

void Scheduler::step() {
  const Clock::time_point begin = Clock::now();
  const Status status = engine_.step(batch_);
  const double ms = ms_between(begin, Clock::now());
  const std::size_t decoding = static_cast<std::size_t>(
      std::count_if(pieces_.begin(), pieces_.end(),
                    [](const Piece& piece) { return piece.slot->task->generating; }));
  if (const std::size_t prompt = batch_.size() - decoding; prompt >= 8) {
    ms_per_prompt_token_ += 0.3 * (ms / static_cast<double>(batch_.size()) - ms_per_prompt_token_);
  }
  {
    const std::lock_guard lock(mutex_);
    ++metrics_.steps;
    metrics_.busy_slots += pieces_.size();
  }
  if (status.ok()) {
    for (const Piece& piece : pieces_) advance(*piece.slot, piece.begin, piece.end);
    return;
  }
  log::error("step failed", {{"tokens", batch_.size()}, {"why", status.message()}});
  if (pieces_.size() == 1) return fail(*pieces_[0].slot, status);
  // Nothing was appended. Whoever is not the cause must not suffer: each sequence alone.
  const std::vector<Piece> pieces = std::exchange(pieces_, {});
  const std::vector<model::Token> batch = std::exchange(batch_, {});
  for (const Piece& piece : pieces) {
    const auto at = [&](std::size_t i) { return batch.begin() + static_cast<std::ptrdiff_t>(i); };
    batch_.assign(at(piece.begin), at(piece.end));
    if (const Status alone = engine_.step(batch_); alone.ok()) {
      advance(*piece.slot, 0, batch_.size());
    } else {
      fail(*piece.slot, alone);
    }
  }
}

// Takes the results of batch_[begin, end), which were the slot's tokens.
void Scheduler::advance(Slot& slot, std::size_t begin, std::size_t end) {
  Task& task = *slot.task;
  for (std::size_t i = begin; i < end; ++i) slot.tokens.push_back(batch_[i].id);
  if (task.request.kind == TaskKind::kEmbed) {
    for (std::size_t i = begin; i < end; ++i) {
      if (batch_[i].want_logits) pool(slot, static_cast<int>(i));
    }
  }
  if (!task.generating) {
    task.processed += static_cast<int>(end - begin);
    if (task.request.params.return_progress && !task.shifted) tell(slot, Event::Kind::kProgress);
    if (task.remaining() > 0) return;
    if (task.request.kind == TaskKind::kEmbed) return finish_embedding(slot);
    if (task.shifted) {
      task.generating = true;
    } else {
      begin_generation(slot);
    }
    if (task.request.params.max_tokens == 0) {
      Event event;
      event.reason = StopReason::kLimit;
      return finish(slot, std::move(event));
    }
  }
  // A cancelled stream gets nothing more; drop_cancelled() comes before the next step.
  if (!task.channel->cancelled()) sample(slot, static_cast<int>(end) - 1);
}

void Scheduler::begin_generation(Slot& slot) {
  Task& task = *slot.task;
  task.prompt_end = Clock::now();
  task.generating = true;
  task.group->prompt_done[static_cast<std::size_t>(task.request.index)] = true;
  const std::lock_guard lock(mutex_);
  metrics_.prompt_tokens +=
      static_cast<std::uint64_t>(static_cast<int>(task.request.prompt.size()) - task.cached);
  metrics_.cached_tokens += static_cast<std::uint64_t>(task.cached);
  metrics_.prompt_ms += ms_between(task.started, task.prompt_end);
}

void Scheduler::sample(Slot& slot, int index) {
  Task& task = *slot.task;
  if (task.channel->reasoning_ended()) task.generation->end_reasoning();
  Result<std::int32_t> token = task.generation->sample(engine_.logits(index));
  if (!token) return fail(slot, token.status());
  task.next = *token;
  const bool full = static_cast<int>(slot.tokens.size()) + 1 >= engine_.context();
  const int context = options_.context_shift ? std::numeric_limits<int>::max() : engine_.context();
  Event event = task.generation->take(*token, static_cast<int>(slot.tokens.size()), context,
                                      ms_between(task.prompt_end, Clock::now()));
  event.truncated = event.truncated || task.shifted;
  {
    const std::lock_guard lock(mutex_);
    ++metrics_.generated_tokens;
    metrics_.most_tokens = std::max(metrics_.most_tokens, static_cast<int>(slot.tokens.size()) + 1);
  }
  if (event.reason != StopReason::kNone) return finish(slot, std::move(event));
  if (full) shift(slot);
  if (event.text.empty() && event.tokens.empty() && event.probabilities.empty()) return;
  event.kind = Event::Kind::kText;
  event.index = task.request.index;
  event.slot = slot.id;
  event.progress = progress_of(task);
  task.channel->push(std::move(event));
}

// Forgets the middle of what the slot holds. What stays behind it has other positions then and is
// read anew, as a prompt is: exact, where moving the state would not be, and possible for every
// kind of model.
void Scheduler::shift(Slot& slot) {
  Task& task = *slot.task;
  const GenerationParams& params = task.request.params;
  const int size = static_cast<int>(slot.tokens.size());
  const int bos = tokenizer_.vocabulary().add_bos() ? 1 : 0;
  const int keep =
      std::min(params.keep < 0 ? task.prompt : params.keep + bos, engine_.context() - 4);
  const int left = std::max(1, size - keep);
  const int discard = std::clamp(params.discard > 0 ? params.discard : left / 2, 1, left);
  std::vector<std::int32_t> tokens(slot.tokens.begin(), slot.tokens.begin() + std::min(keep, size));
  tokens.insert(tokens.end(), slot.tokens.begin() + std::min(size, keep + discard),
                slot.tokens.end());
  tokens.push_back(task.next);
  int held = std::min(keep, size);
  if (!engine_.truncate(slot.id, held).ok()) {
    held = 0;
    [[maybe_unused]] const Status cleared = engine_.truncate(slot.id, 0);
  }
  slot.tokens.resize(static_cast<std::size_t>(held));
  log::write(log::Level::kDebug, task.request.id, "shifted",
             {{"slot", slot.id}, {"kept", keep}, {"discarded", discard}});
  task.request.prompt = std::move(tokens);
  task.processed = held;
  task.shifted = true;
  task.generating = false;
}

void Scheduler::pool(Slot& slot, int index) {
  Task& task = *slot.task;
  const std::span<const float> hidden = engine_.hidden(index);
  if (task.request.pooling == Pooling::kNone) {
    task.token_embeddings.emplace_back(hidden.begin(), hidden.end());
    return;
  }
  task.pooled.resize(hidden.size());
  for (std::size_t i = 0; i < hidden.size(); ++i) task.pooled[i] += hidden[i];
}

void Scheduler::finish_embedding(Slot& slot) {
  Task& task = *slot.task;
  if (task.request.pooling == Pooling::kMean) {
    const float scale = 1.0f / static_cast<float>(task.request.prompt.size());
    for (float& value : task.pooled) value *= scale;
  }
  task.prompt_end = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    metrics_.prompt_tokens += task.request.prompt.size();
    metrics_.prompt_ms += ms_between(task.started, task.prompt_end);
  }
  Event event;
  event.reason = StopReason::kLimit;
  event.embedding = std::move(task.pooled);
  event.token_embeddings = std::move(task.token_embeddings);
  finish(slot, std::move(event));
}

void Scheduler::finish(Slot& slot, Event event) {
  Task& task = *slot.task;
  event.kind = Event::Kind::kFinished;
  event.index = task.request.index;
  event.slot = slot.id;
  event.progress = progress_of(task);
  event.tokens_cached = static_cast<int>(slot.tokens.size());
  if (task.generation) {
    event.seed = task.generation->seed();
    event.has_newline = task.generation->has_newline();
  }
  const Progress& p = event.progress;
  {
    const std::lock_guard lock(mutex_);
    ++metrics_.finished;
    metrics_.generation_ms += p.generation_ms;
  }
  log::write(log::Level::kInfo, task.request.id, "finished",
             {{"slot", slot.id},
              {"choice", task.request.index},
              {"prompt", p.prompt},
              {"cached", p.cached},
              {"generated", p.generated},
              {"prompt_ms", p.prompt_ms},
              {"generation_ms", p.generation_ms},
              {"waited_ms", ms_between(task.arrived, task.started)}});
  task.channel->push(std::move(event));
  release(slot);
}

void Scheduler::fail(Slot& slot, const Status& status) {
  Task& task = *slot.task;
  log::write(log::Level::kWarning, task.request.id, "failed",
             {{"slot", slot.id}, {"why", status.message()}});
  Event event;
  event.kind = Event::Kind::kFailed;
  event.index = task.request.index;
  event.slot = slot.id;
  event.error = status;
  task.channel->push(std::move(event));
  {
    const std::lock_guard lock(mutex_);
    ++metrics_.failed;
  }
  release(slot);
  [[maybe_unused]] const Status cleared = engine_.truncate(slot.id, 0);
  slot.tokens.clear();
}

void Scheduler::release(Slot& slot) {
  Task& task = *slot.task;
  // Choices that wait for this one's prompt must not wait forever.
  task.group->prompt_done[static_cast<std::size_t>(task.request.index)] = true;
  slot.last_used = ++uses_;
  slot.last = work_of(task);
  slot.task.reset();
}

Progress Scheduler::progress_of(const Task& task) const {
  Progress progress;
  progress.prompt = task.prompt;
  progress.cached = task.cached;
  progress.processed = task.shifted ? task.prompt : task.processed;
  const Clock::time_point now = Clock::now();
  const bool read = task.generating || task.prompt_end != Clock::time_point{};
  progress.prompt_ms = ms_between(task.started, read ? task.prompt_end : now);
  if (task.generation) {
    progress.generated = task.generation->count();
    progress.reasoning = task.generation->reasoning_tokens();
  }
  if (task.generating || task.shifted) progress.generation_ms = ms_between(task.prompt_end, now);
  return progress;
}

SlotWork Scheduler::work_of(const Task& task) const {
  return {task.number, task.generating, progress_of(task), task.request.params.max_tokens,
          task.generation && task.generation->has_newline()};
}

void Scheduler::publish() {
  std::vector<SlotInfo> infos;
  infos.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    SlotInfo info;
    info.id = slot.id;
    info.used = slot.used;
    info.context = engine_.context();
    info.tokens = static_cast<int>(slot.tokens.size());
    info.busy = slot.busy();
    info.work = slot.busy() ? work_of(*slot.task) : slot.last;
    infos.push_back(info);
  }
  const std::lock_guard lock(mutex_);
  slot_infos_ = std::move(infos);
}

}  // namespace veloce::serve

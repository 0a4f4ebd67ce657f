// The scheduler over a fake engine: answers do not depend on what else runs, and whoever leaves,
// fails or waits does so without harm to others.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <thread>

#include "fake_engine.hpp"
#include "scheduler/scheduler.hpp"
#include "veloce/sample/sampler.hpp"
#include "veloce/text/tokenizer.hpp"

namespace {

using namespace veloce;
using namespace veloce::serve;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Bytes and three control tokens: 259 tokens.
const text::Tokenizer& tokenizer() {
  static const text::Tokenizer made = [] {
    static std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
    text::VocabularyData data;
    data.model = "llama";
    data.types = {2, 3, 3};
    for (int byte = 0; byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", byte);
      texts.push_back(name);
      data.types.push_back(6);
    }
    data.tokens.assign(texts.begin(), texts.end());
    data.scores.assign(texts.size(), 0.0f);
    data.special[static_cast<std::size_t>(text::Special::kBos)] = 1;
    data.special[static_cast<std::size_t>(text::Special::kEos)] = 2;
    auto tokenizer = text::Tokenizer::create(data);
    REQUIRE_MESSAGE(tokenizer.ok(), tokenizer.status().message());
    return *std::move(tokenizer);
  }();
  return made;
}

struct Setup {
  explicit Setup(int slots, test::FakeSettings settings = {}, int context = 512,
                 SchedulerOptions options = {})
      : engine(engine_options(slots, context), with_vocabulary(settings), nullptr),
        scheduler(engine, tokenizer(), options) {}
  static model::EngineOptions engine_options(int slots, int context) {
    model::EngineOptions options;
    options.sequences = slots;
    options.context = context;
    options.max_batch = 64;
    return options;
  }
  static test::FakeSettings with_vocabulary(test::FakeSettings settings) {
    settings.vocabulary = tokenizer().size();
    return settings;
  }
  test::FakeEngine engine;
  Scheduler scheduler;
};

GenerationRequest request(std::vector<std::int32_t> prompt, int max_tokens = 12) {
  GenerationRequest r;
  r.id = "test";
  r.client = "one";
  r.prompt = std::move(prompt);
  r.params.max_tokens = max_tokens;
  r.params.return_tokens = true;
  r.params.sampling.temperature = 0;
  auto sampler = sample::Sampler::create(r.params.sampling, &tokenizer(), tokenizer().size());
  r.sampler = std::make_shared<sample::Sampler>(*std::move(sampler));
  return r;
}

// Never ends by itself.
GenerationRequest endless(std::vector<std::int32_t> prompt, int max_tokens) {
  GenerationRequest r = request(std::move(prompt), max_tokens);
  r.params.sampling.ignore_eos = true;
  auto sampler = sample::Sampler::create(r.params.sampling, &tokenizer(), tokenizer().size());
  r.sampler = std::make_shared<sample::Sampler>(*std::move(sampler));
  return r;
}

std::vector<GenerationRequest> one(GenerationRequest r) {
  std::vector<GenerationRequest> out;
  out.push_back(std::move(r));
  return out;
}

std::vector<std::int32_t> random_prompt(std::mt19937& random, int length) {
  std::vector<std::int32_t> out;
  for (int i = 0; i < length; ++i) out.push_back(3 + static_cast<int>(random() % 256));
  return out;
}

struct Answer {
  std::vector<std::int32_t> tokens;
  std::string text;
  Event last;
};

// Waits for all choices; an answer that does not come within 20 s fails the test.
std::map<int, Answer> finish(const std::shared_ptr<Channel>& channel, int choices = 1) {
  std::map<int, Answer> answers;
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  for (int open = choices; open > 0;) {
    const std::vector<Event> events = channel->wait(deadline);
    if (events.empty()) break;
    for (const Event& event : events) {
      Answer& answer = answers[event.index];
      answer.text += event.text;
      answer.tokens.insert(answer.tokens.end(), event.tokens.begin(), event.tokens.end());
      if (event.kind == Event::Kind::kFinished || event.kind == Event::Kind::kFailed) {
        answer.last = event;
        --open;
      }
    }
  }
  return answers;
}

Answer ask(Scheduler& scheduler, GenerationRequest r) {
  const int index = r.index;
  auto channel = scheduler.submit(one(std::move(r)));
  REQUIRE(channel.ok());
  return finish(*channel)[index];
}

template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

void check_same_under_load(test::FakeSettings settings) {
  std::mt19937 random(3);
  std::vector<std::vector<std::int32_t>> prompts;
  for (int i = 0; i < 12; ++i) {
    // Some share long beginnings.
    auto prompt = random_prompt(random, 1 + static_cast<int>(random() % 90));
    if (i % 3 != 0) prompt.insert(prompt.begin(), prompts[0].begin(), prompts[0].end());
    prompts.push_back(prompt);
  }
  std::vector<std::vector<std::int32_t>> alone;
  for (const auto& prompt : prompts) {
    Setup fresh(1, settings);
    alone.push_back(ask(fresh.scheduler, request(prompt)).tokens);
  }
  Setup setup(5, settings);
  std::atomic<int> different{0}, complete{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 12; ++c) {
    clients.emplace_back([&, c] {
      std::mt19937 own(static_cast<unsigned>(c));
      for (int round = 0; round < 12; ++round) {
        const std::size_t which = own() % prompts.size();
        auto channel = setup.scheduler.submit(one(request(prompts[which])));
        if (!channel) continue;
        if (own() % 4 == 0) {
          (*channel)->wait(Clock::now() + milliseconds(own() % 3));
          (*channel)->cancel();
          continue;
        }
        const Answer answer = finish(*channel)[0];
        if (answer.last.kind == Event::Kind::kFinished) ++complete;
        if (answer.tokens != alone[which]) ++different;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(complete > 50);
  CHECK(different == 0);
  CHECK(setup.engine.most_mixed > 5);
  CHECK(soon([&] { return setup.scheduler.metrics().running == 0; }));
}

TEST_CASE("a greedy answer is the same whatever else runs, is cancelled, or was cached") {
  check_same_under_load({milliseconds(0), std::chrono::microseconds(5)});
}

TEST_CASE("and the same where the model's state cannot be cut back") {
  check_same_under_load({milliseconds(0), std::chrono::microseconds(5), 0, false, -1});
}

TEST_CASE("the prefix that a slot holds is not read again") {
  Setup setup(2);
  std::mt19937 random(1);
  const auto prompt = random_prompt(random, 40);
  const Answer first = ask(setup.scheduler, request(prompt));
  CHECK(first.last.progress.cached == 0);
  const Answer second = ask(setup.scheduler, request(prompt));
  CHECK(second.last.progress.cached == 39);  // the last token is read again, for its logits
  CHECK(second.tokens == first.tokens);
  GenerationRequest without = request(prompt);
  without.params.cache_prompt = false;
  const Answer third = ask(setup.scheduler, std::move(without));
  CHECK(third.last.progress.cached == 0);
  CHECK(third.tokens == first.tokens);
}

TEST_CASE("choices share the evaluation of their prompt") {
  Setup setup(4, {milliseconds(1)});
  std::mt19937 random(2);
  const auto prompt = random_prompt(random, 50);
  std::vector<GenerationRequest> choices;
  for (int i = 0; i < 6; ++i) {  // more than there are slots
    choices.push_back(request(prompt));
    choices.back().index = i;
    choices.back().leader = i > 0 ? 0 : -1;
  }
  auto channel = setup.scheduler.submit(std::move(choices));
  REQUIRE(channel.ok());
  auto answers = finish(*channel, 6);
  CHECK(answers.size() == 6);
  for (auto& [index, answer] : answers) {
    CHECK(answer.tokens == answers[0].tokens);
    if (index > 0) CHECK(answer.last.progress.cached == 49);
  }
}

TEST_CASE("a cancelled request gives its slot back before the next step but one") {
  Setup setup(1, {milliseconds(20)}, 4096);
  auto channel = setup.scheduler.submit(one(request({5, 6, 7}, -1)));
  REQUIRE(channel.ok());
  while ((*channel)->wait(Clock::now() + milliseconds(10)).empty()) {
  }
  const long steps = setup.engine.steps;
  (*channel)->cancel();
  CHECK(soon([&] { return setup.scheduler.metrics().running == 0; }));
  CHECK(setup.engine.steps <= steps + 2);
  CHECK(ask(setup.scheduler, request({9}, 3)).tokens.size() == 3);
}

TEST_CASE("a cancelled request in the queue goes without touching the one that runs") {
  Setup setup(1, {milliseconds(5)}, 4096);
  auto running = setup.scheduler.submit(one(request({5, 6, 7}, 30)));
  auto waiting = setup.scheduler.submit(one(request({8, 9}, 30)));
  REQUIRE(waiting.ok());
  (*waiting)->cancel();
  CHECK(soon([&] { return setup.scheduler.metrics().waiting == 0; }));
  CHECK(finish(*running)[0].tokens.size() == 30);
}

TEST_CASE("a full queue refuses and says why") {
  SchedulerOptions options;
  options.queue_limit = 2;
  Setup setup(1, {milliseconds(5)}, 4096, options);
  std::vector<std::shared_ptr<Channel>> channels;
  auto first = setup.scheduler.submit(one(request({5}, 200)));
  REQUIRE(first.ok());
  CHECK(soon([&] { return setup.scheduler.metrics().running == 1; }));
  for (int i = 0; i < 2; ++i) {
    auto channel = setup.scheduler.submit(one(request({6}, 2)));
    REQUIRE(channel.ok());
    channels.push_back(*channel);
  }
  const auto refused = setup.scheduler.submit(one(request({7}, 2)));
  CHECK(!refused.ok());
  CHECK(refused.status().code() == Code::kOutOfMemory);
  CHECK(refused.status().message().find("limit is 2") != std::string::npos);
  (*first)->cancel();
  for (const auto& channel : channels) CHECK(finish(channel)[0].tokens.size() == 2);
}

TEST_CASE("a request that makes the engine fail takes no other with it") {
  test::FakeSettings settings;
  settings.poison = 77;
  settings.step = milliseconds(1);
  Setup setup(3, settings);
  auto good = setup.scheduler.submit(one(request({5, 6, 7}, 40)));
  const Answer bad = ask(setup.scheduler, request({8, 77, 9}));
  CHECK(bad.last.kind == Event::Kind::kFailed);
  CHECK(bad.last.error.message().find("poisoned") != std::string::npos);
  CHECK(finish(*good)[0].last.kind == Event::Kind::kFinished);
  CHECK(ask(setup.scheduler, request({8, 9})).last.kind == Event::Kind::kFinished);
}

TEST_CASE("limits: no tokens, the end of the context, a stop string") {
  Setup setup(1, {}, 16);
  const Answer none = ask(setup.scheduler, request({5, 6, 7}, 0));
  CHECK(none.tokens.empty());
  CHECK(none.last.reason == StopReason::kLimit);
  const Answer full = ask(setup.scheduler, request({5, 6, 7}, -1));
  if (full.last.reason == StopReason::kLimit) {
    CHECK(full.last.truncated);
    CHECK(full.last.progress.prompt + full.last.progress.generated <= 16);
  }
  const Answer longer = ask(setup.scheduler, request({5, 6, 7}, 6));
  REQUIRE(longer.text.size() >= 3);
  GenerationRequest stopping = request({5, 6, 7}, 6);
  stopping.params.stops = {longer.text.substr(1, 2)};
  const Answer stopped = ask(setup.scheduler, std::move(stopping));
  CHECK(stopped.last.reason == StopReason::kStopString);
  CHECK(stopped.text == longer.text.substr(0, 1));
}

TEST_CASE(
    "interactive goes before background, and a client with one request before one with many") {
  Setup setup(1, {milliseconds(1)}, 4096);
  auto blocker = setup.scheduler.submit(one(request({5}, 100)));
  std::vector<std::pair<std::string, std::shared_ptr<Channel>>> all;
  const auto add = [&](const std::string& name, Priority priority, const std::string& client) {
    GenerationRequest r = request({6, 7}, 3);
    r.priority = priority;
    r.client = client;
    all.emplace_back(name, *setup.scheduler.submit(one(std::move(r))));
  };
  add("background", Priority::kBackground, "x");
  add("interactive", Priority::kInteractive, "x");
  CHECK(soon([&] { return setup.scheduler.metrics().running == 1; }));
  std::vector<std::string> order;
  std::mutex mutex;
  std::vector<std::thread> waiters;
  for (auto& [name, channel] : all) {
    waiters.emplace_back([&mutex, &order, name = name, channel = channel] {
      finish(channel);
      const std::lock_guard lock(mutex);
      order.push_back(name);
    });
  }
  for (std::thread& waiter : waiters) waiter.join();
  CHECK(order == std::vector<std::string>{"interactive", "background"});
}

TEST_CASE("running streams go on while a long prompt is read") {
  SchedulerOptions options;
  options.shared_step = milliseconds(5);
  Setup setup(2, {milliseconds(0), std::chrono::microseconds(500)}, 4096, options);
  auto stream = setup.scheduler.submit(one(request({5, 6}, 400)));
  CHECK(soon([&] { return setup.scheduler.metrics().generated_tokens > 3; }));
  std::mt19937 random(4);
  auto reader = setup.scheduler.submit(one(request(random_prompt(random, 1500), 2)));
  Clock::time_point before = Clock::now();
  double longest = 0;
  int pieces = 0;
  while (pieces < 60) {
    const auto events = (*stream)->wait(Clock::now() + std::chrono::seconds(5));
    if (events.empty() || events.back().kind == Event::Kind::kFinished) break;
    pieces += static_cast<int>(events.size());
    longest = std::max(longest, std::chrono::duration<double>(Clock::now() - before).count());
    before = Clock::now();
  }
  // The whole prompt takes 0.75 s; no gap is near that.
  CHECK(longest < 0.4);
  (*stream)->cancel();
  CHECK(finish(*reader)[0].tokens.size() == 2);
}

TEST_CASE("a saved slot can be restored, and then only the rest is read") {
  Setup setup(1);
  std::mt19937 random(5);
  const auto prompt = random_prompt(random, 30);
  const Answer first = ask(setup.scheduler, request(prompt));
  Result<SlotState> state = setup.scheduler.save(0, "");
  REQUIRE(state.ok());
  CHECK(*setup.scheduler.erase(0) == static_cast<int>(state->tokens.size()));
  CHECK(setup.scheduler.restore(0, *state, "").ok());
  const Answer second = ask(setup.scheduler, request(prompt));
  CHECK(second.last.progress.cached == 29);
  CHECK(second.tokens == first.tokens);
  SlotState broken = *state;
  broken.bytes.resize(broken.bytes.size() - 1);
  CHECK(!setup.scheduler.restore(0, broken, "").ok());
  CHECK(ask(setup.scheduler, request(prompt)).tokens == first.tokens);
  CHECK(!setup.scheduler.save(1, "").ok());
}

TEST_CASE("a full context is shifted: the answer goes on as after a prompt without the middle") {
  SchedulerOptions options;
  options.context_shift = true;
  Setup setup(1, {}, 64, options);
  std::mt19937 random(16);
  const auto prompt = random_prompt(random, 20);
  for (const int keep : {0, 5, -1}) {
    for (const int discard : {0, 7}) {
      GenerationRequest r = endless(prompt, 150);
      r.params.keep = keep;
      r.params.discard = discard;
      const Answer answer = ask(setup.scheduler, std::move(r));
      CHECK(answer.tokens.size() == 150);
      CHECK(answer.last.truncated);
      CHECK(answer.last.progress.prompt == 20);
      // The rule, followed by hand.
      std::vector<std::int32_t> held = prompt, wanted;
      while (wanted.size() < 150) {
        GenerationRequest one_more = endless(held, 1);
        one_more.params.cache_prompt = false;
        Setup fresh(1, {}, 64);
        wanted.push_back(ask(fresh.scheduler, std::move(one_more)).tokens.at(0));
        if (held.size() + 1 >= 64) {
          const std::size_t kept = keep < 0 ? 20
                                            : static_cast<std::size_t>(keep) +
                                                  (tokenizer().vocabulary().add_bos() ? 1 : 0);
          const std::size_t gone =
              discard > 0 ? static_cast<std::size_t>(discard) : (held.size() - kept) / 2;
          held.erase(held.begin() + static_cast<std::ptrdiff_t>(kept),
                     held.begin() + static_cast<std::ptrdiff_t>(kept + gone));
        }
        held.push_back(wanted.back());
      }
      CHECK(answer.tokens == wanted);
    }
  }
}

TEST_CASE("a prompt read for one owner is nothing to another") {
  Setup setup(2);
  std::mt19937 random(15);
  const auto prompt = random_prompt(random, 60);
  const auto of = [&](const char* owner, int slot = -1) {
    GenerationRequest r = request(prompt);
    r.owner = owner;
    r.params.slot = slot;
    return r;
  };
  const Answer first = ask(setup.scheduler, of("a", 0));
  CHECK(ask(setup.scheduler, of("a")).last.progress.cached == 59);
  CHECK(ask(setup.scheduler, of("b", 1)).last.progress.cached == 0);
  // Not in the other's slot either, nor by saving it.
  const Answer over = ask(setup.scheduler, of("b", 0));
  CHECK(over.last.progress.cached == 59);  // copied from its own
  CHECK(over.tokens == first.tokens);
  CHECK(ask(setup.scheduler, of("a", 1)).last.progress.cached == 0);
  CHECK(!setup.scheduler.save(1, "b").ok());
  CHECK(setup.scheduler.save(1, "a").ok());
}

TEST_CASE("embeddings: pooled over the prompt, whatever the pieces") {
  Setup setup(2);
  std::mt19937 random(6);
  for (const Pooling pooling : {Pooling::kMean, Pooling::kFirst, Pooling::kLast, Pooling::kNone}) {
    GenerationRequest r;
    r.kind = TaskKind::kEmbed;
    r.pooling = pooling;
    r.prompt = random_prompt(random, 100);  // more than a batch
    const Answer answer = ask(setup.scheduler, std::move(r));
    CHECK(answer.last.kind == Event::Kind::kFinished);
    if (pooling == Pooling::kNone) {
      CHECK(answer.last.token_embeddings.size() == 100);
    } else {
      CHECK(answer.last.embedding.size() == 8);
    }
  }
}

TEST_CASE("stopping ends what runs and what waits") {
  auto setup = std::make_unique<Setup>(1, test::FakeSettings{milliseconds(2)}, 4096);
  auto running = setup->scheduler.submit(one(request({5}, -1)));
  auto waiting = setup->scheduler.submit(one(request({6}, -1)));
  CHECK(soon([&] { return setup->scheduler.metrics().running == 1; }));
  setup->scheduler.stop();
  CHECK(finish(*running)[0].last.kind == Event::Kind::kFailed);
  CHECK(finish(*waiting)[0].last.kind == Event::Kind::kFailed);
  CHECK(!setup->scheduler.submit(one(request({7}))).ok());
  CHECK(!setup->scheduler.save(0, "").ok());
}

}  // namespace

#include "service.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>

#include "chat_renderer.hpp"
#include "running_chats.hpp"
#include "scheduler/scheduler.hpp"
#include "stream_sessions.hpp"
#include "veloce/gguf/file.hpp"
#include "veloce/text/grammar.hpp"
#include "veloce/text/tokenizer.hpp"

namespace veloce::serve {
namespace {

constexpr std::size_t kKeptGrammars = 16;

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

Result<std::unique_ptr<Service>> Service::create(const Options& options,
                                                 std::unique_ptr<model::Engine> engine) {
  Result<text::Tokenizer> tokenizer = text::Tokenizer::from_metadata(engine->file().metadata());
  if (!tokenizer) return tokenizer.status();
  if (tokenizer->size() > engine->info().vocabulary) {
    return Status(Code::kCorrupt, engine->file().path() + ": the vocabulary has " +
                                      std::to_string(tokenizer->size()) +
                                      " tokens, the model's output " +
                                      std::to_string(engine->info().vocabulary));
  }
  sample::SamplingParams defaults;
  if (const Status status = defaults.read_recommendations(engine->file().metadata()); !status)
    return status;
  if (const Status status = defaults.check(tokenizer->size()); !status) {
    return Status(status.code(), engine->file().path() + ": general.sampling: " + status.message());
  }
  Result<ChatRenderer> chat =
      ChatRenderer::create(options.chat_template, engine->file().metadata(), *tokenizer);
  if (!chat) return chat.status();
  std::unique_ptr<Service> service(new Service(
      options, std::move(engine), std::make_unique<text::Tokenizer>(*std::move(tokenizer))));
  service->sampling_defaults_ = std::move(defaults);
  service->chat_ = std::make_unique<ChatRenderer>(*std::move(chat));
  return service;
}

Service::Service(const Options& options, std::unique_ptr<model::Engine> engine,
                 std::unique_ptr<text::Tokenizer> tokenizer)
    : options_(options), engine_(std::move(engine)), tokenizer_(std::move(tokenizer)) {
  id_ = options.aliases.empty() ? file_name(options.engine.path) : options.aliases.front();
  vocabulary_size_ = tokenizer_->size();
  created_ = std::chrono::duration_cast<std::chrono::seconds>(
                 std::chrono::system_clock::now().time_since_epoch())
                 .count();
  for (std::int32_t id = 0; id < tokenizer_->size(); ++id) {
    longest_token_ = std::max(longest_token_, tokenizer_->piece(id, true).size());
  }
  SchedulerOptions scheduling;
  scheduling.queue_limit = options.queue_limit;
  scheduling.slot_similarity = options.slot_similarity;
  scheduling.context_shift = options.context_shift;
  scheduler_ = std::make_unique<Scheduler>(*engine_, *tokenizer_, scheduling);
  running_chats_ = std::make_unique<RunningChats>();
  sessions_ = std::make_unique<StreamSessions>();
}

Service::~Service() = default;

std::vector<std::int32_t> Service::encode(std::string_view text, bool add_special,
                                          bool parse_special) const {
  return tokenizer_->encode(text, add_special, parse_special);
}

std::string Service::decode(std::span<const std::int32_t> ids) const {
  return tokenizer_->decode(ids, false, true);
}

std::string Service::piece(std::int32_t id) const {
  return tokenizer_->piece(id, true);
}

std::shared_ptr<const text::VocabularyIndex> Service::grammar_vocabulary() const {
  if (grammar_vocabulary_) return grammar_vocabulary_;
  std::vector<text::VocabularyToken> tokens(static_cast<std::size_t>(tokenizer_->size()));
  for (std::int32_t id = 0; id < tokenizer_->size(); ++id) {
    text::VocabularyToken& token = tokens[static_cast<std::size_t>(id)];
    token.bytes = tokenizer_->piece(id, false);
    token.end_of_generation = tokenizer_->is_eog(id);
  }
  Result<std::shared_ptr<const text::VocabularyIndex>> index =
      text::VocabularyIndex::create(std::move(tokens));
  if (index) grammar_vocabulary_ = *std::move(index);
  return grammar_vocabulary_;
}

Result<std::shared_ptr<text::GrammarMasks>> Service::grammar(const std::string& gbnf) const {
  {
    const std::lock_guard lock(grammar_mutex_);
    const auto found = std::find_if(grammars_.begin(), grammars_.end(),
                                    [&](const auto& g) { return g.first == gbnf; });
    if (found != grammars_.end()) {
      std::rotate(grammars_.begin(), found, found + 1);
      return grammars_.front().second;
    }
  }
  const auto resolve = [this](std::string_view text) -> std::optional<std::uint32_t> {
    const std::vector<std::int32_t> ids = tokenizer_->encode(text, false, true);
    if (ids.size() != 1) return std::nullopt;
    return static_cast<std::uint32_t>(ids[0]);
  };
  Result<std::shared_ptr<const text::Grammar>> grammar = text::Grammar::parse(gbnf, {}, resolve);
  if (!grammar) return grammar.status();
  std::shared_ptr<const text::VocabularyIndex> vocabulary;
  {
    const std::lock_guard lock(grammar_mutex_);
    vocabulary = grammar_vocabulary();
  }
  if (!vocabulary)
    return Status(Code::kUnsupported, "grammar: this model's vocabulary cannot be bound");
  auto masks = text::GrammarMasks::create(*grammar, std::move(vocabulary));
  masks->warm();  // here, and not while other requests' tokens wait for this one's
  const std::lock_guard lock(grammar_mutex_);
  grammars_.insert(grammars_.begin(), {gbnf, masks});
  if (grammars_.size() > kKeptGrammars) grammars_.pop_back();
  return masks;
}

std::string random_name(const std::string& prefix) {
  static constexpr char kAlphabet[] =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string name = prefix;
  for (int i = 0; i < 32; ++i) name += kAlphabet[random() % 62];
  return name;
}

}  // namespace veloce::serve

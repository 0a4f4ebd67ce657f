// The model that is served and what belongs to it. Made once it is loaded; const from then on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "options.hpp"
#include "veloce/model/engine.hpp"
#include "veloce/sample/params.hpp"

namespace veloce::text {
class GrammarMasks;
class Tokenizer;
class VocabularyIndex;
}  // namespace veloce::text

namespace veloce::serve {

class ChatRenderer;
class RunningChats;
class Scheduler;
class StreamSessions;

class Service {
 public:
  // Takes what it needs from the file's metadata; an error names what is wrong with it.
  static Result<std::unique_ptr<Service>> create(const Options& options,
                                                 std::unique_ptr<model::Engine> engine);

  const Options& options() const { return options_; }
  const model::ModelInfo& info() const { return engine_->info(); }
  const model::Engine& engine() const { return *engine_; }
  ~Service();
  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  // The tokenizer's functions, for callers that need not know more of it.
  std::vector<std::int32_t> encode(std::string_view text, bool add_special,
                                   bool parse_special) const;
  std::string decode(std::span<const std::int32_t> ids) const;  // special tokens as their texts
  std::string piece(std::int32_t id) const;                     // likewise
  int vocabulary_size() const { return vocabulary_size_; }
  Scheduler& scheduler() const { return *scheduler_; }
  int context() const { return engine_->context(); }

  const ChatRenderer& chat() const { return *chat_; }
  StreamSessions& sessions() const { return *sessions_; }
  RunningChats& running_chats() const { return *running_chats_; }

  // Whose a client's texts are: each API key has its own, all others share theirs (and all share
  // with --cache-shared).
  std::string owner_of(const std::string& client) const {
    return options_.http.api_keys.size() > 1 && !options_.cache_shared ? client : std::string();
  }

  // How clients know it.
  const std::string& model_id() const { return id_; }
  std::int64_t created() const { return created_; }

  // Bytes of each token for grammars; made when first asked for.
  std::shared_ptr<const text::VocabularyIndex> grammar_vocabulary() const;
  // A grammar ready for use, from the few that were compiled last. An error is the grammar's.
  Result<std::shared_ptr<text::GrammarMasks>> grammar(const std::string& gbnf) const;

  // Built in, or recommended by the model's file; the command line and the request come over it.
  const sample::SamplingParams& sampling_defaults() const { return sampling_defaults_; }

  // The longest token's text: a prompt of N bytes has at least N / this tokens.
  std::size_t longest_token() const { return longest_token_; }

 private:
  Service(const Options& options, std::unique_ptr<model::Engine> engine,
          std::unique_ptr<text::Tokenizer> tokenizer);

  Options options_;
  std::unique_ptr<model::Engine> engine_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  int vocabulary_size_ = 0;
  std::unique_ptr<ChatRenderer> chat_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<RunningChats> running_chats_;
  std::unique_ptr<StreamSessions> sessions_;  // its threads wait for what the scheduler does
  std::string id_;
  std::int64_t created_ = 0;
  std::size_t longest_token_ = 1;
  sample::SamplingParams sampling_defaults_;

  mutable std::mutex grammar_mutex_;
  mutable std::shared_ptr<const text::VocabularyIndex> grammar_vocabulary_;
  mutable std::vector<std::pair<std::string, std::shared_ptr<text::GrammarMasks>>> grammars_;
};

// A random name: `prefix` and 32 letters and digits.
std::string random_name(const std::string& prefix);

}  // namespace veloce::serve

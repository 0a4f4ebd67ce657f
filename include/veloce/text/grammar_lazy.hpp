// A grammar that sleeps until the output calls for it: tool calls, or output that must follow a
// form only once the model's reasoning has ended. Until a trigger appears every token is allowed.
// A trigger is a token, a word, or a pattern found anywhere in the text generated so far; the text
// from the trigger's start (from its first group, where a pattern has one) then goes through the
// grammar, which binds from there on.
//
// Patterns are the regular expressions of json_schema_pattern.hpp; ^ at the start means the start
// of the output. They are matched as the text comes, each byte once, with the earliest start kept
// for each state, so that no text makes them slow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/text/grammar.hpp"
#include "veloce/text/json_schema_pattern.hpp"
#include "veloce/text/json_schema_text.hpp"
#include "veloce/text/utf8.hpp"

namespace veloce::text {

struct GrammarTriggers {
  std::vector<std::uint32_t> tokens;
  std::vector<std::string> words;
  std::vector<std::string> patterns;
};

// Finds one word or pattern in a text that grows.
class TriggerMatcher {
 public:
  static Result<TriggerMatcher> word(const std::string& text) {
    if (text.empty()) return Status(Code::kInvalidArgument, "grammar trigger: an empty word");
    std::size_t at = 0;
    std::uint32_t cp = 0;
    while (read_utf8(text, at, cp)) {
    }
    if (at != text.size()) {
      return Status(Code::kInvalidArgument, "grammar trigger: a word that isn't UTF-8");
    }
    TriggerMatcher out;
    auto body = Grammar::parse("root ::= " + schema::gbnf_literal(text) + "\n");
    if (!body) return body.status();
    out.body_.emplace(*std::move(body));
    return out;
  }

  static Result<TriggerMatcher> pattern(std::string_view text) {
    TriggerMatcher out;
    out.anchored_ = !text.empty() && text[0] == '^';
    std::string_view rest = text.substr(out.anchored_ ? 1 : 0);
    auto split = first_group(rest, text);
    if (!split) return split.status();
    if (*split > 0) {
      auto before = compile(rest.substr(0, *split), text);
      if (!before) return before.status();
      out.before_.emplace(*std::move(before));
      rest = rest.substr(*split);
    }
    auto body = compile(rest, text);
    if (!body) return body.status();
    out.body_.emplace(*std::move(body));
    return out;
  }

  // Reads the next byte, which stands at `at` of the text. The start of the trigger once it is
  // complete.
  std::optional<std::uint64_t> read(std::uint8_t byte, std::uint64_t at) {
    if (!anchored_ || at == 0) begin(at);
    std::optional<std::uint64_t> found;
    if (before_) {
      const bool arrived = advance(*before_, byte, nullptr);
      (void)advance(*body_, byte, &found);
      if (arrived) enter(*body_, at + 1);
    } else {
      (void)advance(*body_, byte, &found);
    }
    return found;
  }

  // The first byte that may yet belong to a trigger, if the text ends at `end`.
  std::uint64_t earliest(std::uint64_t end) const {
    std::uint64_t least = end;
    for (const Thread& t : body_->threads) least = std::min(least, t.start);
    return least;
  }

 private:
  struct Thread {
    std::uint32_t config;
    std::uint64_t start;
  };
  struct Part {
    explicit Part(std::shared_ptr<const Grammar> g)
        : grammar(std::move(g)), engine(&grammar->automaton()) {}
    std::shared_ptr<const Grammar> grammar;
    GrammarEngine engine;
    std::vector<Thread> threads;  // of each configuration the earliest
  };

  static Result<std::shared_ptr<const Grammar>> compile(std::string_view part,
                                                        std::string_view whole) {
    auto text = schema::PatternTranslator(part, false).run_part();
    if (!text) {
      return Status(text.status().code(), "grammar trigger: pattern '" + std::string(whole) +
                                              "': " + text.status().message());
    }
    return Grammar::parse("root ::= " + text->gbnf + "\n");
  }

  // Where the first capturing group outside other groups begins; 0: there is none, or nothing
  // before it.
  static Result<std::size_t> first_group(std::string_view text, std::string_view whole) {
    std::size_t depth = 0;
    std::optional<std::size_t> found;
    bool choice = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '\\') {
        ++i;
      } else if (c == '[') {
        while (++i < text.size() && text[i] != ']') {
          if (text[i] == '\\') ++i;
        }
      } else if (c == '(') {
        const bool captures = i + 1 >= text.size() || text[i + 1] != '?';
        if (captures && depth == 0 && !found) found = i;
        ++depth;
      } else if (c == ')') {
        depth -= depth > 0;
      } else if (c == '|') {
        choice = choice || depth == 0;
      }
    }
    if (choice && found && *found > 0) {
      return Status(Code::kUnsupported, "grammar trigger: pattern '" + std::string(whole) +
                                            "': alternatives beside a group aren't supported");
    }
    return found.value_or(0);
  }

  void begin(std::uint64_t at) {
    Part& first = before_ ? *before_ : *body_;
    enter(first, at);
    if (before_ && before_->engine.complete(before_->engine.start())) enter(*body_, at);
  }

  static void enter(Part& part, std::uint64_t at) { keep(part.threads, {part.engine.start(), at}); }

  static void keep(std::vector<Thread>& threads, Thread thread) {
    for (Thread& t : threads) {
      if (t.config != thread.config) continue;
      t.start = std::min(t.start, thread.start);
      return;
    }
    constexpr std::size_t kMostThreads = 256;
    if (threads.size() < kMostThreads) threads.push_back(thread);
  }

  // Moves all threads on; true if one has matched its part, the earliest start of those in `found`.
  static bool advance(Part& part, std::uint8_t byte, std::optional<std::uint64_t>* found) {
    std::vector<Thread> next;
    bool complete = false;
    part.engine.begin_operation();
    for (const Thread& t : part.threads) {
      const std::uint32_t config = part.engine.step(t.config, byte);
      if (config == GrammarEngine::kDead) continue;
      const Thread moved{config, t.start};
      if (part.engine.complete(config)) {
        complete = true;
        if (found && (!*found || t.start < **found)) *found = t.start;
      }
      if (!part.engine.items(config).empty()) keep(next, moved);
    }
    part.threads = std::move(next);
    if (!part.engine.is_full()) return complete;
    std::vector<std::uint32_t> configs;
    for (const Thread& t : part.threads) configs.push_back(t.config);
    part.engine.keep_only(configs);
    for (std::size_t i = 0; i < configs.size(); ++i) part.threads[i].config = configs[i];
    return complete;
  }

  bool anchored_ = false;
  std::optional<Part> before_, body_;  // what stands before the group, and the rest
};

// A GrammarState behind triggers. Copying it makes an independent branch.
class LazyGrammarState {
 public:
  // Errors: no triggers at all, a token outside the vocabulary, an empty word, a pattern that
  // can't be matched; the message names it.
  static Result<LazyGrammarState> create(std::shared_ptr<GrammarMasks> masks,
                                         const GrammarTriggers& triggers) {
    LazyGrammarState out(std::move(masks));
    if (triggers.tokens.empty() && triggers.words.empty() && triggers.patterns.empty()) {
      return Status(Code::kInvalidArgument, "grammar: lazy, but without triggers");
    }
    for (const std::uint32_t token : triggers.tokens) {
      if (token < out.state_.masks().vocabulary().size()) continue;
      return Status(Code::kInvalidArgument, "grammar trigger: token " + std::to_string(token) +
                                                " is outside the vocabulary");
    }
    out.tokens_ = triggers.tokens;
    for (const std::string& word : triggers.words) {
      auto matcher = TriggerMatcher::word(word);
      if (!matcher) return matcher.status();
      out.matchers_.push_back(*std::move(matcher));
    }
    for (const std::string& pattern : triggers.patterns) {
      auto matcher = TriggerMatcher::pattern(pattern);
      if (!matcher) return matcher.status();
      out.matchers_.push_back(*std::move(matcher));
    }
    return out;
  }

  bool active() const { return active_; }
  const GrammarState& state() const { return state_; }

  // As GrammarState's; asleep, every token of the vocabulary is allowed.
  bool allowed(std::uint32_t token) {
    return active_ ? state_.allowed(token) : token < state_.masks().vocabulary().size();
  }
  Status fill_mask(std::span<std::uint32_t> bits) {
    if (active_) return state_.fill_mask(bits);
    const VocabularyIndex& v = state_.masks().vocabulary();
    std::fill(bits.begin(), bits.end(), 0u);
    if (bits.size() < v.mask_words()) {
      return Status(Code::kInvalidArgument, "grammar: a mask of " + std::to_string(bits.size()) +
                                                " words, needs " + std::to_string(v.mask_words()));
    }
    for (std::uint32_t t = 0; t < v.size(); ++t) bits[t / 32] |= 1u << (t % 32);
    return {};
  }

  // Moves on by a generated token. Error: it isn't allowed, or the grammar doesn't accept the text
  // that triggered it.
  Status accept(std::uint32_t token) {
    if (active_) return state_.accept(token);
    const VocabularyIndex& v = state_.masks().vocabulary();
    if (token >= v.size()) {
      return Status(Code::kInvalidArgument,
                    "grammar: token " + std::to_string(token) + " is outside the vocabulary");
    }
    if (std::find(tokens_.begin(), tokens_.end(), token) != tokens_.end()) {
      active_ = true;
      return state_.accept(token);
    }
    return v.end_of_generation(token) ? Status() : read(v.bytes(token));
  }

 private:
  explicit LazyGrammarState(std::shared_ptr<GrammarMasks> masks) : state_(std::move(masks)) {}

  Status read(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      text_ += bytes[i];
      std::optional<std::uint64_t> start;
      for (TriggerMatcher& matcher : matchers_) {
        const auto found =
            matcher.read(static_cast<std::uint8_t>(bytes[i]), offset_ + text_.size() - 1);
        if (found && (!start || *found < *start)) start = found;
      }
      if (!start || *start < offset_) continue;
      active_ = true;
      text_ += bytes.substr(i + 1);
      const std::string trigger = text_.substr(static_cast<std::size_t>(*start - offset_));
      text_.clear();
      return state_.accept_text(trigger);
    }
    trim();
    return {};
  }

  // Keeps the text that a trigger may yet begin in, up to a bound.
  void trim() {
    constexpr std::size_t kMostText = 1u << 20;
    std::uint64_t least = offset_ + text_.size();
    for (const TriggerMatcher& m : matchers_) least = std::min(least, m.earliest(least));
    auto drop = static_cast<std::size_t>(least > offset_ ? least - offset_ : 0);
    if (text_.size() - drop > kMostText) drop = text_.size() - kMostText;
    text_.erase(0, drop);
    offset_ += drop;
  }

  GrammarState state_;
  std::vector<std::uint32_t> tokens_;
  std::vector<TriggerMatcher> matchers_;
  std::string text_;  // from byte offset_ of the output on
  std::uint64_t offset_ = 0;
  bool active_ = false;
};

}  // namespace veloce::text

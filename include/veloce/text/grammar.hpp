// Constrained output: a grammar decides, token by token, what a model may write next.
//
//   auto grammar = Grammar::parse(gbnf);         // gbnf: a client's, or schema_to_grammar's
//   auto masks = GrammarMasks::create(*grammar, vocabulary);  // keep it: it learns as it goes
//   GrammarState state(masks);                   // one per sequence; a copy is another branch
//   if (!state.allowed(token)) state.fill_mask(bits);  // then choose again among the set bits
//   state.accept(token);
//
// Check the chosen token first: allowed() costs about a microsecond, and a model that follows its
// instructions seldom needs a mask. A mask is put together from parts that depend only on the
// automaton's state (computed once, the tokens that stay inside a rule) and the few tokens that
// leave the rule, which are walked through the trie. Grammar and GrammarMasks may be used by
// several threads, a GrammarState by one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/text/grammar_automaton.hpp"
#include "veloce/text/grammar_engine.hpp"
#include "veloce/text/grammar_gbnf.hpp"
#include "veloce/text/grammar_vocabulary.hpp"

namespace veloce::text {

// An immutable compiled grammar.
class Grammar {
 public:
  // Errors name line and column or the rule: syntax, undefined or left-recursive rules, rules that
  // can never finish, and the limits. `resolver` is needed for terms like <text> alone.
  static Result<std::shared_ptr<const Grammar>> parse(std::string_view gbnf,
                                                      const GrammarLimits& limits = {},
                                                      const TokenResolver& resolver = {}) {
    auto ast = GbnfParser(gbnf, limits, resolver).parse();
    if (!ast) return ast.status();
    auto automaton = GrammarCompiler(*ast, limits).run();
    if (!automaton) return automaton.status();
    return std::shared_ptr<const Grammar>(new Grammar(*std::move(automaton)));
  }

  const GrammarAutomaton& automaton() const { return automaton_; }

  // Does the grammar match all of `text`? (Token terms match nothing here.)
  bool matches(std::string_view text) const {
    GrammarEngine engine(&automaton_);
    std::uint32_t config = engine.start();
    for (const char c : text) {
      engine.begin_operation();
      config = engine.step(config, static_cast<std::uint8_t>(c));
      if (config == GrammarEngine::kDead) return false;
      if (engine.is_full()) engine.keep_only({&config, 1});
    }
    return engine.complete(config);
  }

 private:
  explicit Grammar(GrammarAutomaton automaton) : automaton_(std::move(automaton)) {}
  GrammarAutomaton automaton_;
};

namespace detail {
// True where everything below a trie's node leaves the configuration as it is, so that no token
// there need be looked at. It is only asked where that is likely (the node's own byte did so) or
// would save much.
inline bool stays_below(GrammarEngine& engine, const TokenTrie& trie, std::uint32_t node,
                        std::uint32_t config, std::uint32_t before) {
  const std::uint32_t worth_it = config == before ? 12 : 200;  // nodes
  return trie.end(node) - node > worth_it && (trie.below(node) & ~engine.loops(config)) == 0;
}
}  // namespace detail

// What is known about one grammar over one vocabulary: the mask of each automaton state met so far.
class GrammarMasks {
 public:
  static std::shared_ptr<GrammarMasks> create(std::shared_ptr<const Grammar> grammar,
                                              std::shared_ptr<const VocabularyIndex> vocabulary) {
    return std::shared_ptr<GrammarMasks>(
        new GrammarMasks(std::move(grammar), std::move(vocabulary)));
  }

  const Grammar& grammar() const { return *grammar_; }
  const VocabularyIndex& vocabulary() const { return *vocabulary_; }

  // The mask of a state; null if working it out exceeds the limits. `work` is charged for what it
  // took and counts against the limit.
  std::shared_ptr<const StateMask> of(std::uint32_t state, std::size_t& work) {
    const std::lock_guard lock(mutex_);
    state = representative(state);
    if (const auto it = known_.find(state); it != known_.end()) return it->second;
    const std::string key = shared_key(state);
    std::shared_ptr<const StateMask> mask = key.empty() ? nullptr : vocabulary_->find_shared(key);
    if (!mask) {
      mask = compute(state, work);
      if (!mask) return nullptr;
      if (!key.empty()) vocabulary_->keep_shared(key, mask);
    }
    constexpr std::size_t kMostBytes = 32u << 20;
    if (bytes_ > kMostBytes) {
      known_.clear();
      bytes_ = 0;
    }
    bytes_ += mask->bytes();
    known_.emplace(state, mask);
    return mask;
  }

  // Works out, ahead of time, the masks of the rules that call nothing (string bodies and the
  // like): the ones that take a millisecond, which a step of decoding should not be kept waiting
  // for. Those of usual rules stay in the vocabulary's shared store and serve later grammars too.
  // Ends after about `budget` steps of work (3 million: some hundredths of a second).
  void warm(std::size_t budget = 3000000) {
    const GrammarAutomaton& a = grammar_->automaton();
    std::size_t spent = 0;
    for (const auto& rule : a.rules) {
      constexpr std::uint32_t kMostStates = 64;
      if (!rule.leaf || rule.end - rule.start > kMostStates) continue;
      for (std::uint32_t s = rule.start; s < rule.end && spent < budget; ++s) {
        std::size_t work = 0;
        if (a.states[s].has_edges()) (void)of(s, work);
        spent += work + 1;
      }
    }
  }

 private:
  GrammarMasks(std::shared_ptr<const Grammar> grammar,
               std::shared_ptr<const VocabularyIndex> vocabulary)
      : grammar_(std::move(grammar)),
        vocabulary_(std::move(vocabulary)),
        engine_(&grammar_->automaton()) {}

  std::shared_ptr<const StateMask> compute(std::uint32_t state, std::size_t& work) {
    if (engine_.is_full()) engine_.forget();
    engine_.begin_operation();
    engine_.charge(work);
    const TokenTrie& trie = vocabulary_->trie();
    auto mask = std::make_shared<StateMask>();
    std::vector<std::uint32_t> at(trie.max_depth() + 1, GrammarEngine::kDead);
    at[0] = engine_.alone(state);
    for (std::uint32_t node = 1; node + 1 < trie.size();) {
      const std::uint32_t depth = trie.depth(node);
      const std::uint32_t config = engine_.step(at[depth - 1], trie.byte(node));
      if (config == GrammarEngine::kDead) {
        node = trie.end(node);
        continue;
      }
      at[depth] = config;
      for (std::uint32_t token : trie.tokens(node)) mask->list.push_back(token);
      if (engine_.complete(config) && trie.end(node) > node + 1) mask->exits.push_back(node);
      if (detail::stays_below(engine_, trie, node, config, at[depth - 1])) {
        const auto tokens = trie.tokens(node + 1, trie.end(node));
        mask->list.insert(mask->list.end(), tokens.begin(), tokens.end());
        if (engine_.complete(config)) {
          const auto inner = trie.inner(node + 1, trie.end(node));
          mask->exits.insert(mask->exits.end(), inner.begin(), inner.end());
        }
        node = trie.end(node);
        continue;
      }
      ++node;
    }
    engine_.charge(mask->list.size() / 8);
    work = engine_.work();
    if (engine_.exhausted()) return nullptr;
    if (mask->list.size() > vocabulary_->mask_words() / 2) {
      mask->bits.assign(vocabulary_->mask_words(), 0);
      for (std::uint32_t token : mask->list) mask->bits[token / 32] |= 1u << (token % 32);
      mask->list.clear();
    }
    mask->list.shrink_to_fit();
    mask->exits.shrink_to_fit();
    return mask;
  }

  // Spells out a small rule that calls nothing, and the state's place in it; empty for other rules.
  std::string shared_key(std::uint32_t state) const {
    const GrammarAutomaton& a = grammar_->automaton();
    const auto& rule = a.rules[a.states[state].rule];
    constexpr std::uint32_t kMostStates = 512;
    if (!rule.leaf || rule.end - rule.start > kMostStates) return {};
    std::string key;
    auto put = [&](std::uint32_t value) {
      key.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    put(state - rule.start);
    for (std::uint32_t s = rule.start; s < rule.end; ++s) {
      const auto& st = a.states[s];
      put(st.final);
      put(st.bytes_end - st.bytes_begin);
      for (std::uint32_t e = st.bytes_begin; e < st.bytes_end; ++e) {
        put(a.byte_edges[e].lo);
        put(a.byte_edges[e].hi);
        put(a.byte_edges[e].target - rule.start);
      }
    }
    return key;
  }

  // A long repetition is a chain of states that differ only further on than any token reaches.
  // States of one rule whose futures agree for as many bytes as the longest token has share one
  // mask: the first of them stands for all.
  std::uint32_t representative(std::uint32_t state) {
    const GrammarAutomaton& a = grammar_->automaton();
    const std::uint32_t r = a.states[state].rule;
    constexpr std::uint32_t kFewStates = 64;
    const std::uint32_t start = a.rules[r].start, count = a.rules[r].end - start;
    if (count <= kFewStates) return state;
    auto& table = representatives_[r];
    if (table.empty()) table = agreeing_states(start, count);
    return table[state - start];
  }

  // Spells out what a state may do, with the groups of the states it leads to.
  void spell_out(std::uint32_t start, std::uint32_t i, const std::vector<std::uint32_t>& group,
                 std::string& key) const {
    const GrammarAutomaton& a = grammar_->automaton();
    const auto& s = a.states[start + i];
    key.clear();
    auto put = [&](std::uint32_t value) {
      key.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    put(s.final);
    for (std::uint32_t e = s.bytes_begin; e < s.bytes_end; ++e) {
      put(a.byte_edges[e].lo * 256u + a.byte_edges[e].hi);
      put(group[a.byte_edges[e].target - start]);
    }
    put(kNoLimit);
    for (std::uint32_t e = s.calls_begin; e < s.calls_end; ++e) {
      put(a.call_edges[e].rule);
      put(group[a.call_edges[e].target - start]);
    }
  }

  // The states from which each state is reached in one step.
  std::vector<std::vector<std::uint32_t>> predecessors(std::uint32_t start,
                                                       std::uint32_t count) const {
    const GrammarAutomaton& a = grammar_->automaton();
    std::vector<std::vector<std::uint32_t>> from(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto& s = a.states[start + i];
      for (std::uint32_t e = s.bytes_begin; e < s.bytes_end; ++e)
        from[a.byte_edges[e].target - start].push_back(i);
      for (std::uint32_t e = s.calls_begin; e < s.calls_end; ++e)
        from[a.call_edges[e].target - start].push_back(i);
    }
    return from;
  }

  struct Spelt {
    std::uint32_t group;
    std::string key;
    std::uint32_t state;
    friend auto operator<=>(const Spelt&, const Spelt&) = default;
  };

  // Splits the groups of the states in `todo` (sorted), which do not do what the other states of
  // their groups do any more; appends to `changed` those that are in a new group. Of a group that
  // is there as a whole, the largest part keeps the number, so that a number changes only where
  // states are told apart.
  static void split_groups(const std::vector<Spelt>& todo, std::vector<std::uint32_t>& group,
                           std::vector<std::uint32_t>& sizes, std::vector<std::uint32_t>& changed) {
    for (std::size_t begin = 0, end = 0; begin < todo.size(); begin = end) {
      std::size_t kept = todo.size(), most = 0, part = begin;
      while (end < todo.size() && todo[end].group == todo[begin].group) {
        if (todo[end].key != todo[part].key) part = end;
        ++end;
        if (end - part > most) most = end - part, kept = part;
      }
      if (end - begin < sizes[todo[begin].group]) kept = todo.size();
      for (part = begin; part < end;) {
        const bool keeps = part == kept;
        const std::size_t first = part;
        for (; part < end && todo[part].key == todo[first].key; ++part) {
          if (keeps) continue;
          group[todo[part].state] = static_cast<std::uint32_t>(sizes.size());
          changed.push_back(todo[part].state);
        }
        if (keeps) continue;
        sizes[todo[first].group] -= static_cast<std::uint32_t>(part - first);
        sizes.push_back(static_cast<std::uint32_t>(part - first));
      }
    }
  }

  // For each state of a rule, the first that may do the same for as many bytes as a token has.
  // Round by round the states are told apart by one byte more; only those that lead to a state
  // whose group changed are looked at again, so that a chain costs its length and not its square.
  std::vector<std::uint32_t> agreeing_states(std::uint32_t start, std::uint32_t count) const {
    std::vector<std::uint32_t> group(count, 0), sizes{count}, todo(count), changed;
    std::iota(todo.begin(), todo.end(), 0u);
    const auto from = predecessors(start, count);
    std::vector<bool> listed(count, false);
    std::vector<Spelt> spelt;
    // The work is bounded; states of a rule too large for it keep their own masks.
    constexpr std::size_t kMostWork = 20000000;
    std::size_t work = 0;
    for (std::size_t round = 0; round <= vocabulary_->trie().max_depth() && !todo.empty();
         ++round) {
      spelt.clear();
      for (const std::uint32_t i : todo) {
        Spelt& state = spelt.emplace_back(Spelt{group[i], {}, i});
        spell_out(start, i, group, state.key);
        work += state.key.size();
        listed[i] = false;
      }
      std::sort(spelt.begin(), spelt.end());
      changed.clear();
      split_groups(spelt, group, sizes, changed);
      todo.clear();
      for (const std::uint32_t i : changed) {
        for (const std::uint32_t before : from[i]) {
          if (!listed[before]) todo.push_back(before);
          listed[before] = true;
        }
      }
      if (work > kMostWork) {
        std::iota(group.begin(), group.end(), 0u);
        break;
      }
    }
    std::unordered_map<std::uint32_t, std::uint32_t> first;
    std::vector<std::uint32_t> table(count);
    for (std::uint32_t i = 0; i < count; ++i)
      table[i] = first.emplace(group[i], start + i).first->second;
    return table;
  }

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const VocabularyIndex> vocabulary_;
  std::mutex mutex_;
  GrammarEngine engine_;
  std::unordered_map<std::uint32_t, std::shared_ptr<const StateMask>> known_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> representatives_;
  std::size_t bytes_ = 0;
};

// Where one sequence stands in its grammar. Copying it makes an independent branch.
class GrammarState {
 public:
  static constexpr std::size_t kMostUndo = 256;  // tokens that undo() can take back

  explicit GrammarState(std::shared_ptr<GrammarMasks> masks)
      : masks_(std::move(masks)),
        engine_(&masks_->grammar().automaton()),
        config_(engine_.start()) {}

  // May `token` come next? End-of-generation tokens may where the text so far is complete. False
  // for ids outside the vocabulary, and when the limits on work are exceeded.
  bool allowed(std::uint32_t token) {
    compact_if_full();
    return ended() ? is_end(token) : after(token) != GrammarEngine::kDead;
  }

  // Sets bit token % 32 of bits[token / 32] for every allowed token and clears the others; `bits`
  // holds vocabulary.mask_words() words or more (those behind are cleared). Error: a span too
  // small, or a grammar so ambiguous that the limits on work are exceeded (then all bits are
  // clear).
  Status fill_mask(std::span<std::uint32_t> bits) {
    const VocabularyIndex& vocabulary = masks_->vocabulary();
    std::fill(bits.begin(), bits.end(), 0u);
    if (bits.size() < vocabulary.mask_words()) {
      return Status(Code::kInvalidArgument, "grammar: a mask of " + std::to_string(bits.size()) +
                                                " words, needs " +
                                                std::to_string(vocabulary.mask_words()));
    }
    if (is_complete()) {
      for (std::uint32_t token : vocabulary.end_tokens()) set(bits, token);
    }
    if (ended()) return {};
    compact_if_full();
    engine_.begin_operation();
    if (const Recent* recent = find_recent()) {
      for (std::size_t w = 0; w < recent->bits.size(); ++w) bits[w] |= recent->bits[w];
      return {};
    }
    for (std::size_t i = 0; i < engine_.items(config_).size(); ++i) {
      const GrammarEngine::Item item =
          engine_.items(config_)[i];  // the engine's tables move while it works
      if (!add_item(item, bits)) break;
    }
    add_token_terms(bits);
    if (engine_.exhausted() || too_complex_) {
      too_complex_ = false;
      std::fill(bits.begin(), bits.end(), 0u);
      return complexity_error();
    }
    keep_recent(bits.first(vocabulary.mask_words()));
    compact_if_full();
    return {};
  }

  // Moves on by `token`. Error (and no move): the token is not allowed, or the limits are exceeded.
  Status accept(std::uint32_t token) {
    if (!allowed(token)) {
      if (engine_.exhausted()) return complexity_error();
      return Status(Code::kInvalidArgument,
                    "grammar: token " + std::to_string(token) + " is not allowed here");
    }
    push_undo();
    if (is_end(token)) {
      ++end_tokens_;
    } else {
      config_ = after(token);
    }
    compact_if_full();
    return {};
  }

  // Moves on by text, as if by tokens of it (a token term is never matched). Error (and no move):
  // not in the grammar.
  Status accept_text(std::string_view text) {
    std::uint32_t config = config_;
    std::size_t at = 0;
    push_undo();
    for (; at < text.size(); ++at) {
      engine_.begin_operation();
      config = ended() ? GrammarEngine::kDead
                       : engine_.step(config, static_cast<std::uint8_t>(text[at]));
      if (config == GrammarEngine::kDead) {
        (void)undo(1);
        if (engine_.exhausted()) return complexity_error();
        return Status(Code::kInvalidArgument,
                      "grammar: byte " + std::to_string(at) + " of the text is not allowed");
      }
      if (engine_.is_full()) {
        std::swap(config, config_);
        compact();
        std::swap(config, config_);
        if (engine_.is_full()) {
          (void)undo(1);
          return complexity_error();
        }
      }
    }
    config_ = config;
    compact_if_full();
    return {};
  }

  // The text so far is a whole sentence of the grammar.
  bool is_complete() const { return engine_.complete(config_); }
  // Nothing but an end-of-generation token may follow.
  bool only_end_allowed() const {
    return ended() || (is_complete() && engine_.items(config_).empty());
  }
  // An end-of-generation token has been accepted.
  bool ended() const { return end_tokens_ > 0; }

  // Takes back the last `count` calls of accept or accept_text. Error: more than kMostUndo, or than
  // there were.
  Status undo(std::size_t count) {
    if (count > past_.size()) {
      return Status(Code::kInvalidArgument, "grammar: cannot take back " + std::to_string(count) +
                                                " tokens of " + std::to_string(past_.size()));
    }
    if (count == 0) return {};
    config_ = past_[past_.size() - count];
    past_.resize(past_.size() - count);
    end_tokens_ -= std::min(end_tokens_, count);  // only end tokens follow an end token
    return {};
  }

  const GrammarMasks& masks() const { return *masks_; }

 private:
  struct Recent {
    std::uint32_t config = GrammarEngine::kDead;
    std::vector<std::uint32_t> bits;
  };

  static void set(std::span<std::uint32_t> bits, std::uint32_t token) {
    bits[token / 32] |= 1u << (token % 32);
  }

  Status complexity_error() const {
    return Status(Code::kInvalidArgument,
                  "grammar: too ambiguous or too deeply nested here: the limit on the matcher's "
                  "work is exceeded");
  }

  bool is_end(std::uint32_t token) const {
    return token < masks_->vocabulary().size() && masks_->vocabulary().end_of_generation(token);
  }

  // The configuration after `token`; for an end token, the present one or kDead.
  std::uint32_t after(std::uint32_t token) {
    const VocabularyIndex& vocabulary = masks_->vocabulary();
    engine_.begin_operation();
    if (token >= vocabulary.size()) return GrammarEngine::kDead;
    if (vocabulary.end_of_generation(token)) return is_complete() ? kEndMark : GrammarEngine::kDead;
    const std::string_view bytes = vocabulary.bytes(token);
    std::uint32_t next = GrammarEngine::kDead;
    if (!bytes.empty() && bytes[0] != '\0') next = engine_.run(config_, bytes);
    return engine_.step_token(config_, token, false, next);
  }

  bool add_item(GrammarEngine::Item item, std::span<std::uint32_t> bits) {
    std::size_t work = engine_.work();
    const auto mask = masks_->of(item.state, work);
    engine_.charge(work - std::min(work, engine_.work()));
    if (!mask) {
      too_complex_ = true;
      return false;
    }
    for (std::size_t w = 0; w < mask->bits.size(); ++w) bits[w] |= mask->bits[w];
    for (std::uint32_t token : mask->list) set(bits, token);
    engine_.charge((mask->bits.size() + mask->list.size()) / 16 + 1);
    if (item.frame == GrammarEngine::kBottom || mask->exits.empty()) return true;
    const std::uint32_t outside = engine_.after_return(item.frame);
    if (engine_.items(outside).empty()) return !engine_.exhausted();
    walk_exits(mask->exits, outside, bits);
    return !engine_.exhausted();
  }

  // The tokens that leave the rule at one of `exits` and go on in configuration `outside`.
  void walk_exits(const std::vector<std::uint32_t>& exits, std::uint32_t outside,
                  std::span<std::uint32_t> bits) {
    const TokenTrie& trie = masks_->vocabulary().trie();
    std::vector<std::uint32_t>& at = walk_;
    at.resize(trie.max_depth() + 1);
    for (const std::uint32_t exit : exits) {
      if (engine_.exhausted()) return;
      engine_.charge(1 + (trie.end(exit) - exit) / 16);
      at[trie.depth(exit)] = outside;
      for (std::uint32_t node = exit + 1; node < trie.end(exit);) {
        const std::uint32_t depth = trie.depth(node);
        const std::uint32_t config = engine_.step(at[depth - 1], trie.byte(node));
        if (config == GrammarEngine::kDead) {
          node = trie.end(node);
          continue;
        }
        at[depth] = config;
        for (std::uint32_t token : trie.tokens(node)) set(bits, token);
        if (detail::stays_below(engine_, trie, node, config, at[depth - 1])) {
          for (std::uint32_t token : trie.tokens(node + 1, trie.end(node))) set(bits, token);
          node = trie.end(node);
          continue;
        }
        ++node;
      }
    }
  }

  void add_token_terms(std::span<std::uint32_t> bits) {
    const VocabularyIndex& vocabulary = masks_->vocabulary();
    engine_.token_edges(config_, [&](const GrammarAutomaton::TokenEdge& edge) {
      if (!edge.negated) {
        if (edge.token < vocabulary.size() && !vocabulary.end_of_generation(edge.token))
          set(bits, edge.token);
        return;
      }
      for (std::uint32_t token = 0; token < vocabulary.size(); ++token) {
        if (token != edge.token && !vocabulary.end_of_generation(token)) set(bits, token);
      }
    });
  }

  const Recent* find_recent() const {
    for (const Recent& recent : recent_) {
      if (recent.config == config_ && !recent.bits.empty()) return &recent;
    }
    return nullptr;
  }
  void keep_recent(std::span<const std::uint32_t> bits) {
    Recent& slot = recent_[next_recent_++ % recent_.size()];
    slot.config = config_;
    slot.bits.assign(bits.begin(), bits.end());
  }

  void push_undo() {
    if (past_.size() >= 2 * kMostUndo) past_.erase(past_.begin(), past_.begin() + kMostUndo);
    past_.push_back(config_);
  }

  void compact_if_full() {
    if (engine_.is_full()) compact();
  }
  // Forgets what the present and the last kMostUndo configurations don't need.
  void compact() {
    if (past_.size() > kMostUndo) past_.erase(past_.begin(), past_.end() - kMostUndo);
    past_.push_back(config_);
    engine_.keep_only(past_);
    config_ = past_.back();
    past_.pop_back();
    for (Recent& recent : recent_) recent.bits.clear();
  }

  static constexpr std::uint32_t kEndMark = 0xFFFFFFFFu;

  std::shared_ptr<GrammarMasks> masks_;
  GrammarEngine engine_;
  std::uint32_t config_;
  std::size_t end_tokens_ = 0;
  bool too_complex_ = false;
  std::vector<std::uint32_t> past_;
  std::vector<std::uint32_t> walk_;
  std::array<Recent, 4> recent_;
  std::size_t next_recent_ = 0;
};

}  // namespace veloce::text

// Runs a grammar's push-down automaton over bytes, all ways through it at once, in time and memory
// that a hostile grammar can't blow up.
//
// A frame is a call in progress: the list of (state to return to, caller's frame). All calls of one
// rule at one place share a frame, so the stacks form a graph as in Tomita's and Earley's parsers
// and not an exponential number of lists; a caller that has nothing left to do is skipped (its own
// return takes its place), so right recursion needs no depth. A configuration is the set of (state,
// frame) after some bytes. Frames and configurations are interned: equal ones have equal numbers,
// and the step from a configuration by a byte class is worked out once and then looked up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/grammar_alphabet.hpp"
#include "veloce/text/grammar_automaton.hpp"

namespace veloce::text {

struct EngineLimits {
  // Table entries (4 to 8 bytes each) before old ones are forgotten; eight times as many are an
  // error.
  std::size_t max_entries = 1u << 19;
  std::size_t max_work =
      3000000;  // elementary steps of one operation (some hundredths of a second)
};

class GrammarEngine {
 public:
  static constexpr std::uint32_t kDead = 0;  // the configuration nothing leads out of
  static constexpr std::uint32_t kBottom =
      0;  // the frame below the root (or below a rule looked at alone)

  struct Item {
    std::uint32_t state, frame;
    friend bool operator==(const Item&, const Item&) = default;
    friend auto operator<=>(const Item&, const Item&) = default;
  };

  explicit GrammarEngine(const GrammarAutomaton* automaton, EngineLimits limits = {})
      : automaton_(automaton), limits_(limits) {
    forget();
  }

  const GrammarAutomaton& automaton() const { return *automaton_; }

  // The configuration before any text.
  std::uint32_t start() {
    out_ = {{automaton_->rules[automaton_->root].start, kBottom}};
    return intern_configuration(automaton_->root_nullable);
  }

  // The configuration of one state of a rule looked at alone, with nothing known of its callers.
  std::uint32_t alone(std::uint32_t state) {
    out_ = {{state, kBottom}};
    return intern_configuration(false);
  }

  // What follows the end of the rule called by `frame`.
  std::uint32_t after_return(std::uint32_t frame) {
    begin_set();
    complete_ = false;
    return_from(frame);
    return intern_configuration(complete_);
  }

  std::uint32_t step(std::uint32_t config, std::uint8_t byte) {
    const std::uint32_t cls = automaton_->byte_class[byte];
    const std::uint32_t known = steps_[config * classes() + cls];
    return known != kUnknown ? known : work_out(config, cls);
  }

  std::uint32_t run(std::uint32_t config, std::string_view bytes) {
    for (const char c : bytes) {
      if (config == kDead) break;
      config = step(config, static_cast<std::uint8_t>(c));
    }
    return config;
  }

  // The groups whose every byte leads from the configuration back to it (kHighCharacters: every
  // character beyond ASCII does).
  ByteGroups loops(std::uint32_t config) {
    if (loops_.size() <= config) loops_.resize(configs_.size(), kStrayBytes);
    if (loops_[config] != kStrayBytes) return loops_[config];
    ByteGroups groups = ~(kStrayBytes | kHighCharacters);
    for (unsigned b = 0; b < 128; ++b) {
      if (step(config, static_cast<std::uint8_t>(b)) != config) groups &= ~detail::kAsciiGroups[b];
    }
    if (loops_on_high_characters(config)) groups |= kHighCharacters;
    if (loops_.size() < configs_.size()) loops_.resize(configs_.size(), kStrayBytes);
    if (!exhausted_) loops_[config] = groups;
    return groups;
  }

  // All text so far is a whole sentence (or, looked at alone, the rule may end here).
  bool complete(std::uint32_t config) const { return configs_[config].complete; }
  std::span<const Item> items(std::uint32_t config) const {
    return {items_.data() + configs_[config].begin, configs_[config].end - configs_[config].begin};
  }

  // Calls visit(edge) for the token terms that may come next.
  template <class Visit>
  void token_edges(std::uint32_t config, Visit visit) {
    if (automaton_->token_edges.empty()) return;
    const Expansion expansion = expand(config);
    for (std::uint32_t i = expansion.begin; i < expansion.end; ++i) {
      const auto& state = automaton_->states[expanded_[i].state];
      for (std::uint32_t e = state.tokens_begin; e < state.tokens_end; ++e)
        visit(automaton_->token_edges[e]);
    }
  }

  // The configuration after `token` as a unit, joined with `other` (the one after its bytes, or
  // kDead).
  std::uint32_t step_token(std::uint32_t config, std::uint32_t token, bool end_of_generation,
                           std::uint32_t other) {
    if (automaton_->token_edges.empty()) return other;
    const Expansion expansion = expand(config);
    begin_set();
    complete_ = configs_[other].complete;
    for (const Item& item : items(other)) add(item);
    for (std::uint32_t i = expansion.begin; i < expansion.end; ++i) {
      const Item item = expanded_[i];
      const auto& state = automaton_->states[item.state];
      for (std::uint32_t e = state.tokens_begin; e < state.tokens_end; ++e) {
        const auto& edge = automaton_->token_edges[e];
        const bool match =
            edge.negated ? edge.token != token && !end_of_generation : edge.token == token;
        if (match) arrive(edge.target, item.frame);
      }
    }
    return intern_configuration(complete_);
  }

  // One operation of the caller's: work is counted from here, and once it exceeds the limit
  // everything is dead.
  void begin_operation() {
    work_ = 0;
    exhausted_ = false;
  }
  bool exhausted() const { return exhausted_; }
  std::size_t work() const { return work_; }

  // Work of the caller's own that an operation is to be charged for.
  void charge(std::size_t work) {
    work_ += work;
    if (work_ > limits_.max_work) exhausted_ = true;
  }

  // Time for keep_only or forget. (What must be kept may be much: then only once it has doubled.)
  bool is_full() const { return entries() > full_at_; }

  // Forgets all but what `keep` needs, and renumbers `keep` in place.
  void keep_only(std::span<std::uint32_t> keep) {
    GrammarEngine fresh(automaton_, limits_);
    std::vector<bool> live(frames_.size(), false);
    for (std::uint32_t config : keep) {
      for (const Item& item : items(config)) live[item.frame] = true;
    }
    for (std::size_t f = frames_.size(); f-- > 1;) {
      if (!live[f]) continue;
      for (std::uint32_t l = frames_[f].begin; l < frames_[f].end; ++l)
        live[links_[l].frame] = true;
    }
    // A frame's callers are older than itself, so in rising order they are already renumbered.
    std::vector<std::uint32_t> number(frames_.size(), kBottom);
    for (std::size_t f = 1; f < frames_.size(); ++f) {
      if (!live[f]) continue;
      fresh.pending_links_.clear();
      for (std::uint32_t l = frames_[f].begin; l < frames_[f].end; ++l) {
        fresh.pending_links_.push_back({links_[l].state, number[links_[l].frame]});
      }
      std::sort(fresh.pending_links_.begin(), fresh.pending_links_.end());
      number[f] = fresh.intern_frame(fresh.pending_links_);
    }
    for (std::uint32_t& config : keep) {
      fresh.out_.clear();
      for (const Item& item : items(config)) fresh.out_.push_back({item.state, number[item.frame]});
      config = fresh.intern_configuration(configs_[config].complete);
    }
    fresh.full_at_ = std::max(limits_.max_entries, 2 * fresh.entries());
    fresh.work_ = work_;
    fresh.exhausted_ = exhausted_;
    *this = std::move(fresh);
  }

  void forget() {
    full_at_ = limits_.max_entries;
    frames_.assign(1, Range{0, 0});
    links_.clear();
    configs_.assign(1, Configuration{0, 0, false});
    items_.clear();
    expanded_.clear();
    expansions_.assign(1, Expansion{0, 0});
    steps_.assign(classes(), kDead);
    loops_.clear();
    frame_index_.assign(64, kUnknown);
    config_index_.assign(64, kUnknown);
    config_index_[hash_items({}, false) & 63] = kDead;
  }

 private:
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFFu;
  struct Range {
    std::uint32_t begin, end;
  };
  struct Configuration {
    std::uint32_t begin, end;
    bool complete;
  };
  using Expansion = Range;  // in expanded_; begin == kUnknown: not worked out yet

  std::uint32_t classes() const {
    return static_cast<std::uint32_t>(automaton_->class_byte.size());
  }

  std::size_t entries() const {
    return steps_.size() + 2 * (items_.size() + expanded_.size() + links_.size());
  }

  bool spend() {
    if (++work_ > limits_.max_work) exhausted_ = true;
    return !exhausted_;
  }

  static std::uint64_t hash_items(std::span<const Item> items, bool complete) {
    std::uint64_t h = complete ? 0x51ED270B7F4A7C15ull : 0x9E3779B97F4A7C15ull;
    for (const Item& item : items) {
      h = (h ^ item.state) * 0x9FB21C651E98DF25ull;
      h = (h ^ (h >> 29) ^ item.frame) * 0xD6E8FEB86659FD93ull;
    }
    return h ^ (h >> 32);
  }

  // --- sets of items: out_ with a small hash table beside it once it is long ---
  void begin_set() {
    out_.clear();
    returned_.clear();
    if (marks_used_) {
      std::fill(marks_.begin(), marks_.end(), Item{kUnknown, kUnknown});
      work_ += marks_.size() / 8;
      marks_used_ = false;
    }
  }

  // True if the item is new among those marked since begin_set.
  bool mark(Item item) {
    if (returned_.size() < 16) {
      if (std::find(returned_.begin(), returned_.end(), item) != returned_.end()) return false;
      returned_.push_back(item);
      if (returned_.size() == 16) {
        for (const Item& known : returned_) insert_mark(known);
      }
      return true;
    }
    if (!insert_mark(item)) return false;
    returned_.push_back(item);
    return true;
  }

  bool insert_mark(Item item) {
    marks_used_ = true;
    if (marks_.size() < 4 * (returned_.size() + 16)) {
      marks_.assign(std::max<std::size_t>(256, marks_.size() * 4), Item{kUnknown, kUnknown});
      for (const Item& known : returned_) {
        if (known != item) place_mark(known);
      }
    }
    return place_mark(item);
  }
  bool place_mark(Item item) {
    const std::size_t mask = marks_.size() - 1;
    for (std::size_t i = hash_items({&item, 1}, false) & mask;; i = (i + 1) & mask) {
      if (marks_[i] == item) return false;
      if (marks_[i].state == kUnknown) {
        marks_[i] = item;
        return true;
      }
    }
  }

  void add(Item item) {
    if (mark(item)) out_.push_back(item);
  }

  // The automaton of item `frame`'s rule has reached `state`: keep what can go on, and return if
  // the rule may end.
  void arrive(std::uint32_t state, std::uint32_t frame) {
    const auto& s = automaton_->states[state];
    if (!mark({state, frame})) return;
    if (s.has_edges()) out_.push_back({state, frame});
    if (s.final) return_from(frame);
  }

  void return_from(std::uint32_t frame) {
    const std::size_t base = returns_.size();
    returns_.push_back(frame);
    while (returns_.size() > base) {
      const std::uint32_t f = returns_.back();
      returns_.pop_back();
      if (f == kBottom) {
        complete_ = true;
        continue;
      }
      for (std::uint32_t l = frames_[f].begin; l < frames_[f].end && spend(); ++l) {
        const Item link = links_[l];
        if (!mark(link)) continue;
        const auto& s = automaton_->states[link.state];
        if (s.has_edges()) out_.push_back(link);
        if (s.final) returns_.push_back(link.frame);
      }
    }
  }

  std::uint32_t intern_configuration(bool complete) {
    if (exhausted_) return kDead;
    std::sort(out_.begin(), out_.end());
    const std::uint64_t hash = hash_items(out_, complete);
    std::size_t mask = config_index_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const std::uint32_t known = config_index_[i];
      if (known == kUnknown) {
        config_index_[i] = static_cast<std::uint32_t>(configs_.size());
        break;
      }
      if (configs_[known].complete == complete && std::ranges::equal(items(known), out_))
        return known;
    }
    const auto begin = static_cast<std::uint32_t>(items_.size());
    items_.insert(items_.end(), out_.begin(), out_.end());
    configs_.push_back({begin, static_cast<std::uint32_t>(items_.size()), complete});
    expansions_.push_back({kUnknown, 0});
    steps_.resize(steps_.size() + classes(), kUnknown);
    work_ += classes() / 8 + out_.size();
    // Tables that outgrow the limit many times within one operation: give up as with too much work.
    if (entries() > 8 * limits_.max_entries) exhausted_ = true;
    if (2 * configs_.size() > config_index_.size()) {
      config_index_.assign(4 * config_index_.size(), kUnknown);
      mask = config_index_.size() - 1;
      for (std::uint32_t c = 0; c < configs_.size(); ++c) {
        std::size_t i = hash_items(items(c), configs_[c].complete) & mask;
        while (config_index_[i] != kUnknown) i = (i + 1) & mask;
        config_index_[i] = c;
      }
    }
    return static_cast<std::uint32_t>(configs_.size() - 1);
  }

  std::span<const Item> links_of(std::uint32_t frame) const {
    return {links_.data() + frames_[frame].begin, frames_[frame].end - frames_[frame].begin};
  }

  // `links` is sorted, without repeats, and not empty.
  std::uint32_t intern_frame(const std::vector<Item>& links) {
    const std::uint64_t hash = hash_items(links, true);
    std::size_t mask = frame_index_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const std::uint32_t known = frame_index_[i];
      if (known == kUnknown) {
        frame_index_[i] = static_cast<std::uint32_t>(frames_.size());
        break;
      }
      if (std::ranges::equal(links_of(known), links)) return known;
    }
    const auto begin = static_cast<std::uint32_t>(links_.size());
    links_.insert(links_.end(), links.begin(), links.end());
    frames_.push_back({begin, static_cast<std::uint32_t>(links_.size())});
    if (2 * frames_.size() > frame_index_.size()) {
      frame_index_.assign(4 * frame_index_.size(), kUnknown);
      mask = frame_index_.size() - 1;
      for (std::uint32_t f = 1; f < frames_.size(); ++f) {
        std::size_t i = hash_items(links_of(f), true) & mask;
        while (frame_index_[i] != kUnknown) i = (i + 1) & mask;
        frame_index_[i] = f;
      }
    }
    return static_cast<std::uint32_t>(frames_.size() - 1);
  }

  struct PendingCall {
    std::uint32_t rank, rule;
    Item link;
    friend auto operator<=>(const PendingCall&, const PendingCall&) = default;
  };

  // The configuration's items and the starts of all rules they call, directly or through others'
  // starts. Rules are taken in the order of rank, so that a rule's frame is complete before the
  // rule itself calls.
  Expansion expand(std::uint32_t config) {
    if (expansions_[config].begin != kUnknown) return expansions_[config];
    calls_.clear();
    const auto begin = static_cast<std::uint32_t>(expanded_.size());
    auto take = [&](Item item) {
      expanded_.push_back(item);
      const auto& s = automaton_->states[item.state];
      for (std::uint32_t e = s.calls_begin; e < s.calls_end && spend(); ++e) {
        const auto& call = automaton_->call_edges[e];
        calls_.push_back({automaton_->rules[call.rule].rank, call.rule, {call.target, item.frame}});
        std::push_heap(calls_.begin(), calls_.end(), std::greater<>());
      }
    };
    for (std::uint32_t i = configs_[config].begin; i < configs_[config].end && spend(); ++i)
      take(items_[i]);
    while (!calls_.empty() && spend()) {
      const std::uint32_t rule = calls_.front().rule;
      pending_links_.clear();
      while (!calls_.empty() && calls_.front().rule == rule && spend()) {
        std::pop_heap(calls_.begin(), calls_.end(), std::greater<>());
        add_link(calls_.back().link);
        calls_.pop_back();
      }
      std::sort(pending_links_.begin(), pending_links_.end());
      pending_links_.erase(std::unique(pending_links_.begin(), pending_links_.end()),
                           pending_links_.end());
      take({automaton_->rules[rule].start, intern_frame(pending_links_)});
    }
    const Expansion done{begin, static_cast<std::uint32_t>(expanded_.size())};
    if (!exhausted_) expansions_[config] = done;
    return done;
  }

  void add_link(Item link) {
    const auto& s = automaton_->states[link.state];
    if (s.has_edges() || link.frame == kBottom) {
      pending_links_.push_back(link);
      return;
    }
    const auto links = links_of(link.frame);
    work_ += links.size();
    pending_links_.insert(pending_links_.end(), links.begin(), links.end());
  }

  // Does a byte of [low, high] and then `more` further bytes of a character always lead to `to`?
  bool all_lead(std::uint32_t from, unsigned low, unsigned high, int more, std::uint32_t to) {
    for (unsigned b = low; b <= high; ++b) {
      if (b > low && automaton_->byte_class[b] == automaton_->byte_class[b - 1]) continue;
      const std::uint32_t next = step(from, static_cast<std::uint8_t>(b));
      if (next == kDead || (more == 0 ? next != to : !all_lead(next, 0x80, 0xBF, more - 1, to)))
        return false;
    }
    return true;
  }
  bool loops_on_high_characters(std::uint32_t c) {
    return all_lead(c, 0xC2, 0xDF, 1, c) && all_lead(c, 0xE1, 0xEC, 2, c) &&
           all_lead(c, 0xEE, 0xEF, 2, c) && all_lead(c, 0xF1, 0xF3, 3, c) &&
           all_lead(step(c, 0xE0), 0xA0, 0xBF, 1, c) && all_lead(step(c, 0xED), 0x80, 0x9F, 1, c) &&
           all_lead(step(c, 0xF0), 0x90, 0xBF, 2, c) && all_lead(step(c, 0xF4), 0x80, 0x8F, 2, c);
  }

  std::uint32_t work_out(std::uint32_t config, std::uint32_t cls) {
    if (!spend()) return kDead;
    const Expansion expansion = expand(config);
    const std::uint8_t byte = automaton_->class_byte[cls];
    begin_set();
    complete_ = false;
    for (std::uint32_t i = expansion.begin; i < expansion.end && spend(); ++i) {
      const Item item = expanded_[i];
      const auto& s = automaton_->states[item.state];
      const auto* edge = automaton_->byte_edges.data() + s.bytes_begin;
      const auto* end = automaton_->byte_edges.data() + s.bytes_end;
      for (; edge != end && edge->lo <= byte; ++edge) {
        if (byte <= edge->hi) arrive(edge->target, item.frame);
      }
    }
    const std::uint32_t next = intern_configuration(complete_);
    if (!exhausted_) steps_[config * classes() + cls] = next;
    return next;
  }

  const GrammarAutomaton* automaton_;
  EngineLimits limits_;
  std::vector<Range> frames_;
  std::vector<Item> links_;
  std::vector<Configuration> configs_;
  std::vector<Item> items_;
  std::vector<Expansion> expansions_;
  std::vector<Item> expanded_;
  std::vector<std::uint32_t> steps_;                       // configuration x byte class
  std::vector<ByteGroups> loops_;                          // kStrayBytes: not worked out yet
  std::vector<std::uint32_t> frame_index_, config_index_;  // open hash tables
  // Scratch.
  std::vector<Item> out_, returned_, marks_, pending_links_;
  std::vector<std::uint32_t> returns_;
  std::vector<PendingCall> calls_;
  std::size_t full_at_ = limits_.max_entries;
  bool complete_ = false;
  bool marks_used_ = false;
  std::size_t work_ = 0;
  bool exhausted_ = false;
};

}  // namespace veloce::text

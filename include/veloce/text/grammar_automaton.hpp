// A grammar compiled to finite automata over bytes, one per rule, which call each other: together a
// push-down automaton. Each rule's automaton is deterministic (a call and a token term count as
// letters) unless that would cost too many states, in which case it is only free of empty moves;
// the engine runs both. A call of a rule that may match nothing has an empty move beside it, so
// that a called rule always consumes something. States from which the rule can't end don't exist.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/text/grammar_analysis.hpp"
#include "veloce/text/grammar_ast.hpp"
#include "veloce/text/grammar_utf8.hpp"

namespace veloce::text {

struct GrammarAutomaton {
  struct ByteEdge {
    std::uint8_t lo, hi;
    std::uint32_t target;
  };
  struct CallEdge {
    std::uint32_t rule, target;  // target: the caller's state after the called rule has ended
  };
  struct TokenEdge {
    std::uint32_t token, target;
    bool negated;
  };
  struct State {
    std::uint32_t bytes_begin = 0, bytes_end = 0;  // in byte_edges, sorted by lo
    std::uint32_t calls_begin = 0, calls_end = 0;
    std::uint32_t tokens_begin = 0, tokens_end = 0;
    std::uint32_t rule = 0;
    bool final = false;
    bool has_edges() const {
      return bytes_begin < bytes_end || calls_begin < calls_end || tokens_begin < tokens_end;
    }
  };
  struct Rule {
    std::string name;
    std::uint32_t start = 0;  // the states of a rule are start, start+1, …
    std::uint32_t end = 0;
    std::uint32_t rank = 0;  // above every rule that may call it as its left corner
    bool leaf = true;        // calls nothing
  };
  std::vector<State> states;
  std::vector<ByteEdge> byte_edges;
  std::vector<CallEdge> call_edges;
  std::vector<TokenEdge> token_edges;
  std::vector<Rule> rules;
  std::uint32_t root = 0;
  bool root_nullable = false;
  std::array<std::uint8_t, 256> byte_class{};  // bytes that no edge tells apart share a class
  std::vector<std::uint8_t> class_byte;        // a byte of each class
};

class GrammarCompiler {
 public:
  GrammarCompiler(const GrammarAst& ast, const GrammarLimits& limits)
      : ast_(ast), limits_(limits) {}

  Result<GrammarAutomaton> run() {
    auto analysis = GrammarAnalyzer(ast_, limits_).run();
    if (!analysis) return analysis.status();
    info_ = *std::move(analysis);
    rule_of_.assign(ast_.rules.size(), kNoLimit);
    for (std::uint32_t r = 0; r < ast_.rules.size(); ++r) {
      if (!info_.reachable[r] || info_.copied[r]) continue;
      rule_of_[r] = static_cast<std::uint32_t>(out_.rules.size());
      GrammarAutomaton::Rule rule;
      rule.name = ast_.rules[r].name;
      rule.rank = info_.rank[r];
      out_.rules.push_back(std::move(rule));
    }
    for (std::uint32_t r = 0; r < ast_.rules.size(); ++r) {
      if (rule_of_[r] != kNoLimit && !compile_rule(r)) return status_;
    }
    out_.root = rule_of_[ast_.root];
    out_.root_nullable = info_.nullable[ast_.root];
    number_byte_classes();
    return std::move(out_);
  }

 private:
  // The automaton of one rule while it is built: empty moves, and letters numbered so that they
  // sort.
  struct Move {
    enum Kind : std::uint8_t { kBytes, kCall, kToken, kNotToken };
    Kind kind;
    std::uint8_t lo = 0, hi = 0;
    std::uint32_t ref = 0;
    std::uint32_t target = 0;
  };
  struct Node {
    std::vector<Move> moves;
    std::vector<std::uint32_t> empty;
  };
  struct Draft {  // one state of the finished rule
    std::vector<Move> moves;
    bool final = false;
  };

  bool spend(std::size_t amount) {
    work_ += amount;
    if (work_ > limits_.max_compile_work && status_.ok()) {
      status_ = Status(Code::kInvalidArgument,
                       "grammar: rule '" + ast_.rules[current_].name + "' (line " +
                           std::to_string(ast_.rules[current_].line) + "): too complex to compile");
    }
    return status_.ok();
  }

  std::uint32_t new_node() {
    if (nodes_.size() + out_.states.size() >= limits_.max_states && status_.ok()) {
      status_ = Status(Code::kInvalidArgument,
                       "grammar: more than " + std::to_string(limits_.max_states) +
                           " states (rule '" + ast_.rules[current_].name + "', line " +
                           std::to_string(ast_.rules[current_].line) +
                           "); fewer or smaller repetitions are needed");
    }
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  // Adds the moves of `e` from `from`; returns where they end.
  std::uint32_t build(std::uint32_t e, std::uint32_t from) {
    if (!spend(1)) return from;
    const Expr& expr = ast_.exprs[e];
    switch (expr.kind) {
      case ExprKind::kBytes:
        for (const char c : expr.bytes) {
          const std::uint32_t to = new_node();
          const auto byte = static_cast<std::uint8_t>(c);
          nodes_[from].moves.push_back({Move::kBytes, byte, byte, 0, to});
          from = to;
        }
        return from;
      case ExprKind::kClass:
        return build_class(expr, from);
      case ExprKind::kRule: {
        if (info_.copied[expr.ref]) return build(ast_.rules[expr.ref].body, from);
        const std::uint32_t to = new_node();
        nodes_[from].moves.push_back({Move::kCall, 0, 0, rule_of_[expr.ref], to});
        if (info_.nullable[expr.ref]) nodes_[from].empty.push_back(to);
        return to;
      }
      case ExprKind::kToken: {
        const std::uint32_t to = new_node();
        nodes_[from].moves.push_back(
            {expr.negated ? Move::kNotToken : Move::kToken, 0, 0, expr.ref, to});
        return to;
      }
      case ExprKind::kSequence:
        for (std::uint32_t child : expr.children) from = build(child, from);
        return from;
      case ExprKind::kChoice: {
        const std::uint32_t to = new_node();
        for (std::uint32_t child : expr.children) {
          const std::uint32_t start = new_node();
          nodes_[from].empty.push_back(start);
          const std::uint32_t end = build(child, start);
          nodes_[end].empty.push_back(to);
          if (!status_.ok()) break;
        }
        return to;
      }
      case ExprKind::kRepeat:
        return build_repeat(expr, from);
    }
    return from;
  }

  std::uint32_t build_repeat(const Expr& expr, std::uint32_t from) {
    const std::uint32_t body = expr.children[0];
    for (std::uint32_t i = 0; i < expr.min && status_.ok(); ++i) from = build(body, from);
    if (expr.max == kNoLimit) {
      const std::uint32_t loop = new_node(), after = new_node();
      nodes_[from].empty.push_back(loop);
      const std::uint32_t end = build(body, loop);
      nodes_[end].empty.push_back(loop);
      nodes_[loop].empty.push_back(after);
      return after;
    }
    if (expr.max == expr.min) return from;
    const std::uint32_t after = new_node();
    for (std::uint32_t i = expr.min; i < expr.max && status_.ok(); ++i) {
      const std::uint32_t start = new_node();
      nodes_[from].empty.push_back(start);
      nodes_[start].empty.push_back(after);
      from = build(body, start);
    }
    nodes_[from].empty.push_back(after);
    return after;
  }

  std::uint32_t build_class(const Expr& expr, std::uint32_t from) {
    const std::uint32_t to = new_node();
    std::vector<ByteSequence> sequences;
    for (const CodeRange& range : expr.ranges) utf8_sequences(range, sequences);
    // Equal tails share their nodes: a class of thousands of code points stays a handful of states.
    std::map<std::tuple<int, int, std::uint32_t>, std::uint32_t> before;  // (lo, hi, next) -> node
    for (const ByteSequence& s : sequences) {
      if (!spend(4)) return to;
      std::uint32_t next = to;
      for (int i = s.length - 1; i > 0; --i) {
        const ByteRange b = s.at[static_cast<std::size_t>(i)];
        const auto [it, added] = before.emplace(std::make_tuple(b.lo, b.hi, next), 0u);
        if (added) {
          it->second = new_node();
          nodes_[it->second].moves.push_back({Move::kBytes, b.lo, b.hi, 0, next});
        }
        next = it->second;
      }
      nodes_[from].moves.push_back({Move::kBytes, s.at[0].lo, s.at[0].hi, 0, next});
    }
    return to;
  }

  bool compile_rule(std::uint32_t r) {
    current_ = r;
    nodes_.clear();
    const std::uint32_t start = new_node();
    accept_ = build(ast_.rules[r].body, start);
    if (!status_.ok()) return false;
    std::vector<Draft> drafts;
    if (!determinise(drafts) && status_.ok()) without_empty_moves(drafts);
    if (!status_.ok()) return false;
    return append(rule_of_[r], drafts);
  }

  // The nodes reachable by empty moves, sorted; those without letters dropped but for the accepting
  // one.
  std::vector<std::uint32_t> closure(std::vector<std::uint32_t> seed) {
    seen_.resize(nodes_.size(), 0);
    ++epoch_;
    std::vector<std::uint32_t> out;
    for (std::uint32_t n : seed) seen_[n] = epoch_;
    while (!seed.empty() && spend(1)) {
      const std::uint32_t n = seed.back();
      seed.pop_back();
      if (n == accept_ || !nodes_[n].moves.empty()) out.push_back(n);
      for (std::uint32_t to : nodes_[n].empty) {
        if (seen_[to] == epoch_) continue;
        seen_[to] = epoch_;
        seed.push_back(to);
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  struct SetHash {
    std::size_t operator()(const std::vector<std::uint32_t>& v) const {
      std::uint64_t h = 0x9E3779B97F4A7C15ull;
      for (std::uint32_t x : v) h = (h ^ x) * 0x100000001B3ull;
      return static_cast<std::size_t>(h ^ (h >> 32));
    }
  };
  using SetIndex = std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, SetHash>;

  // Subset construction; false (with an ok status) when it grows out of proportion.
  bool determinise(std::vector<Draft>& drafts) {
    const std::size_t most = std::max<std::size_t>(512, 4 * nodes_.size());
    std::size_t elements = 0;
    SetIndex index;
    std::vector<std::vector<std::uint32_t>> sets;
    auto state_of = [&](std::vector<std::uint32_t> set) {
      const auto [it, added] =
          index.emplace(std::move(set), static_cast<std::uint32_t>(sets.size()));
      if (added) {
        sets.push_back(it->first);
        elements += it->first.size();
      }
      return it->second;
    };
    state_of(closure({0}));
    for (std::size_t s = 0; s < sets.size(); ++s) {
      if (sets.size() > most || elements > 32 * most) return false;
      if (!status_.ok()) return false;
      std::vector<Move> moves;
      Draft draft;
      for (std::uint32_t n : sets[s]) {
        draft.final = draft.final || n == accept_;
        moves.insert(moves.end(), nodes_[n].moves.begin(), nodes_[n].moves.end());
      }
      if (!spend(moves.size())) return false;
      split_letters(moves, [&](Move letter, std::vector<std::uint32_t> targets) {
        letter.target = state_of(closure(std::move(targets)));
        if (!draft.moves.empty()) {
          Move& last = draft.moves.back();
          if (letter.kind == Move::kBytes && last.kind == Move::kBytes &&
              last.target == letter.target && last.hi + 1 == letter.lo) {
            last.hi = letter.hi;
            return;
          }
        }
        draft.moves.push_back(letter);
      });
      drafts.push_back(std::move(draft));
    }
    return true;
  }

  // Calls `emit` for each letter, or each range of bytes with the same targets.
  template <class Emit>
  void split_letters(const std::vector<Move>& moves, Emit emit) {
    std::array<bool, 257> cut{};
    std::map<std::pair<int, std::uint32_t>, std::vector<std::uint32_t>> others;
    bool bytes = false;
    for (const Move& m : moves) {
      if (m.kind == Move::kBytes) {
        bytes = true;
        cut[m.lo] = cut[m.hi + 1u] = true;
      } else {
        others[{m.kind, m.ref}].push_back(m.target);
      }
    }
    if (bytes) {
      // Targets per interval, found by one sweep over the moves sorted by their first byte.
      std::vector<std::uint32_t> bounds;
      for (std::uint32_t b = 0; b <= 256; ++b) {
        if (cut[b]) bounds.push_back(b);
      }
      std::vector<std::vector<std::uint32_t>> targets(bounds.size());
      for (const Move& m : moves) {
        if (m.kind != Move::kBytes) continue;
        auto i = static_cast<std::size_t>(std::lower_bound(bounds.begin(), bounds.end(), m.lo) -
                                          bounds.begin());
        for (; bounds[i] <= m.hi; ++i) targets[i].push_back(m.target);
        if (!spend(1)) return;
      }
      for (std::size_t i = 0; i < bounds.size(); ++i) {
        if (targets[i].empty()) continue;
        emit(Move{Move::kBytes, static_cast<std::uint8_t>(bounds[i]),
                  static_cast<std::uint8_t>(bounds[i + 1] - 1), 0, 0},
             unique(std::move(targets[i])));
      }
    }
    for (auto& [key, targets] : others) {
      emit(Move{static_cast<Move::Kind>(key.first), 0, 0, key.second, 0},
           unique(std::move(targets)));
    }
  }

  static std::vector<std::uint32_t> unique(std::vector<std::uint32_t> v) {
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
    return v;
  }

  void without_empty_moves(std::vector<Draft>& drafts) {
    drafts.assign(nodes_.size(), Draft{});
    std::size_t moves = 0;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      for (std::uint32_t m : closure({n})) {
        drafts[n].final = drafts[n].final || m == accept_;
        drafts[n].moves.insert(drafts[n].moves.end(), nodes_[m].moves.begin(),
                               nodes_[m].moves.end());
        moves += nodes_[m].moves.size();
        if (moves > limits_.max_states * 2) spend(limits_.max_compile_work);  // for its error
        if (!spend(nodes_[m].moves.size())) return;
      }
      std::stable_sort(drafts[n].moves.begin(), drafts[n].moves.end(),
                       [](const Move& a, const Move& b) {
                         return std::tie(a.kind, a.lo, a.hi) < std::tie(b.kind, b.lo, b.hi);
                       });
    }
  }

  // Renumbers the states that are reachable (every one of them can end, since every rule can) and
  // adds them.
  bool append(std::uint32_t rule, const std::vector<Draft>& drafts) {
    std::vector<std::uint32_t> number(drafts.size(), kNoLimit), order{0};
    const auto base = static_cast<std::uint32_t>(out_.states.size());
    number[0] = base;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const Move& m : drafts[order[i]].moves) {
        if (number[m.target] != kNoLimit) continue;
        number[m.target] = base + static_cast<std::uint32_t>(order.size());
        order.push_back(m.target);
      }
    }
    if (base + order.size() > limits_.max_states) new_node();  // for its error
    out_.rules[rule].start = base;
    out_.rules[rule].end = base + static_cast<std::uint32_t>(order.size());
    for (std::uint32_t d : order) {
      GrammarAutomaton::State state;
      state.rule = rule;
      state.final = drafts[d].final;
      state.bytes_begin = static_cast<std::uint32_t>(out_.byte_edges.size());
      state.calls_begin = static_cast<std::uint32_t>(out_.call_edges.size());
      state.tokens_begin = static_cast<std::uint32_t>(out_.token_edges.size());
      for (const Move& m : drafts[d].moves) {
        const std::uint32_t to = number[m.target];
        if (m.kind == Move::kBytes) {
          out_.byte_edges.push_back({m.lo, m.hi, to});
        } else if (m.kind == Move::kCall) {
          out_.call_edges.push_back({m.ref, to});
        } else {
          out_.token_edges.push_back({m.ref, to, m.kind == Move::kNotToken});
        }
      }
      state.bytes_end = static_cast<std::uint32_t>(out_.byte_edges.size());
      state.calls_end = static_cast<std::uint32_t>(out_.call_edges.size());
      state.tokens_end = static_cast<std::uint32_t>(out_.token_edges.size());
      if (state.calls_begin < state.calls_end) out_.rules[rule].leaf = false;
      out_.states.push_back(state);
    }
    return status_.ok();
  }

  void number_byte_classes() {
    std::array<bool, 257> cut{};
    cut[0] = true;
    for (const auto& edge : out_.byte_edges) cut[edge.lo] = cut[edge.hi + 1u] = true;
    for (std::size_t b = 0; b < 256; ++b) {
      if (cut[b]) out_.class_byte.push_back(static_cast<std::uint8_t>(b));
      out_.byte_class[b] = static_cast<std::uint8_t>(out_.class_byte.size() - 1);
    }
  }

  const GrammarAst& ast_;
  const GrammarLimits& limits_;
  GrammarAnalysis info_;
  GrammarAutomaton out_;
  std::vector<std::uint32_t> rule_of_;  // of the syntax tree -> of the automaton
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> seen_;
  std::uint32_t epoch_ = 0;
  std::uint32_t accept_ = 0;
  std::uint32_t current_ = 0;
  std::size_t work_ = 0;
  Status status_;
};

}  // namespace veloce::text

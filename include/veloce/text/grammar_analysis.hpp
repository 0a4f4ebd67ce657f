// What must be known about a grammar's rules before they are compiled: which can match nothing,
// which can never finish, which recurse, in what order their left corners call each other, and
// which are small enough to be copied into their callers. All of it is bounded by
// GrammarLimits::max_compile_work, and no step recurses on rules (a grammar may have chains of
// thousands); recursion on expressions is bounded by the parser's nesting limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/text/grammar_ast.hpp"

namespace veloce::text {

struct GrammarAnalysis {
  std::vector<bool> nullable;   // matches the empty text
  std::vector<bool> reachable;  // from the root
  std::vector<std::uint32_t>
      rank;                  // a rule ranks above all rules that may call it as their left corner
  std::vector<bool> copied;  // compiled into its callers
};

class GrammarAnalyzer {
 public:
  GrammarAnalyzer(const GrammarAst& ast, const GrammarLimits& limits)
      : ast_(ast), limits_(limits) {}

  // Errors: a left-recursive rule, a rule that can never finish, too much work; each names the
  // rule.
  Result<GrammarAnalysis> run() {
    const std::size_t n = ast_.rules.size();
    out_.nullable.assign(n, false);
    out_.reachable.assign(n, false);
    out_.rank.assign(n, 0);
    out_.copied.assign(n, false);
    if (order_rules(all_calls())) {
      fixpoint(out_.nullable, [&](std::uint32_t e) { return is_nullable(e); });
      finishes_.assign(n, false);
      fixpoint(finishes_, [&](std::uint32_t e) { return can_finish(e); });
    }
    if (!status_.ok()) return status_;
    for (std::uint32_t r : order_) {
      if (!finishes_[r])
        return rule_error(r, "can never finish: every way through it comes back to it");
    }
    if (!rank_left_corners()) return status_;
    choose_copies();
    if (!status_.ok()) return status_;
    return std::move(out_);
  }

 private:
  using Calls = std::vector<std::vector<std::uint32_t>>;

  Status rule_error(std::uint32_t rule, const std::string& what) const {
    return Status(Code::kInvalidArgument, "grammar: rule '" + ast_.rules[rule].name + "' (line " +
                                              std::to_string(ast_.rules[rule].line) + ") " + what);
  }

  bool spend(std::size_t amount) {
    work_ += amount;
    if (work_ > limits_.max_compile_work && status_.ok()) {
      status_ = Status(Code::kInvalidArgument, "grammar: too complex to analyse");
    }
    return status_.ok();
  }

  void collect_calls(std::uint32_t e, std::vector<std::uint32_t>& out) const {
    const Expr& expr = ast_.exprs[e];
    if (expr.kind == ExprKind::kRule) out.push_back(expr.ref);
    for (std::uint32_t child : expr.children) collect_calls(child, out);
  }

  Calls all_calls() const {
    Calls calls(ast_.rules.size());
    for (std::size_t r = 0; r < calls.size(); ++r) collect_calls(ast_.rules[r].body, calls[r]);
    return calls;
  }

  // Depth first from the root: order_ holds the reachable rules, callees before callers (but for
  // recursion). Tarjan's components, without recursion, give recursive_.
  bool order_rules(const Calls& calls) {
    const std::size_t n = calls.size();
    std::vector<std::uint32_t> index(n, kNoLimit), low(n, 0), next(n, 0), stack, component;
    std::vector<bool> open(n, false);
    recursive_.assign(n, false);
    std::uint32_t counter = 0;
    auto enter = [&](std::uint32_t r) {
      index[r] = low[r] = counter++;
      open[r] = true;
      out_.reachable[r] = true;
      stack.push_back(r);
      component.push_back(r);
    };
    enter(ast_.root);
    while (!stack.empty()) {
      const std::uint32_t r = stack.back();
      if (next[r] < calls[r].size()) {
        const std::uint32_t to = calls[r][next[r]++];
        if (to == r) recursive_[r] = true;
        if (index[to] == kNoLimit) {
          enter(to);
        } else if (open[to]) {
          low[r] = std::min(low[r], index[to]);
        }
        continue;
      }
      stack.pop_back();
      order_.push_back(r);
      if (!stack.empty()) low[stack.back()] = std::min(low[stack.back()], low[r]);
      if (low[r] != index[r]) continue;
      const bool several = component.back() != r;
      while (true) {
        const std::uint32_t member = component.back();
        component.pop_back();
        open[member] = false;
        if (several) recursive_[member] = true;
        if (member == r) break;
      }
    }
    return spend(n);
  }

  // Rules can only turn from false to true. Callees first, so that all but recursive grammars need
  // one pass and one to see that nothing changes.
  template <class Test>
  void fixpoint(std::vector<bool>& flags, Test test) {
    bool changed = true;
    bool forward = true;
    auto visit = [&](std::uint32_t r) {
      if (!flags[r] && test(ast_.rules[r].body)) flags[r] = changed = true;
    };
    while (changed && status_.ok()) {
      changed = false;
      if (forward) {
        for (auto it = order_.begin(); it != order_.end(); ++it) visit(*it);
      } else {
        for (auto it = order_.rbegin(); it != order_.rend(); ++it) visit(*it);
      }
      forward = !forward;
    }
  }

  bool is_nullable(std::uint32_t e) {
    const Expr& expr = ast_.exprs[e];
    if (!spend(1)) return false;
    auto test = [&](std::uint32_t child) { return is_nullable(child); };
    switch (expr.kind) {
      case ExprKind::kBytes:
        return expr.bytes.empty();
      case ExprKind::kClass:
      case ExprKind::kToken:
        return false;
      case ExprKind::kRule:
        return out_.nullable[expr.ref];
      case ExprKind::kSequence:
        return std::all_of(expr.children.begin(), expr.children.end(), test);
      case ExprKind::kChoice:
        return std::any_of(expr.children.begin(), expr.children.end(), test);
      case ExprKind::kRepeat:
        return expr.min == 0 || is_nullable(expr.children[0]);
    }
    return false;
  }

  bool can_finish(std::uint32_t e) {
    const Expr& expr = ast_.exprs[e];
    if (!spend(1)) return false;
    auto test = [&](std::uint32_t child) { return can_finish(child); };
    switch (expr.kind) {
      case ExprKind::kBytes:
      case ExprKind::kClass:
      case ExprKind::kToken:
        return true;
      case ExprKind::kRule:
        return finishes_[expr.ref];
      case ExprKind::kSequence:
        return std::all_of(expr.children.begin(), expr.children.end(), test);
      case ExprKind::kChoice:
        return std::any_of(expr.children.begin(), expr.children.end(), test);
      case ExprKind::kRepeat:
        return expr.min == 0 || can_finish(expr.children[0]);
    }
    return false;
  }

  // Appends the rules that `e` may call before it has consumed anything; true if all of `e` may
  // match nothing.
  bool left_corners(std::uint32_t e, std::vector<std::uint32_t>& out) {
    const Expr& expr = ast_.exprs[e];
    if (!spend(1)) return false;
    switch (expr.kind) {
      case ExprKind::kBytes:
        return expr.bytes.empty();
      case ExprKind::kClass:
      case ExprKind::kToken:
        return false;
      case ExprKind::kRule:
        out.push_back(expr.ref);
        return out_.nullable[expr.ref];
      case ExprKind::kSequence:
        for (std::uint32_t child : expr.children) {
          if (!left_corners(child, out)) return false;
        }
        return true;
      case ExprKind::kChoice: {
        bool empty = false;
        for (std::uint32_t child : expr.children) empty = left_corners(child, out) || empty;
        return empty;
      }
      case ExprKind::kRepeat: {
        if (expr.max == 0) return true;
        const bool empty = left_corners(expr.children[0], out);
        return empty || expr.min == 0;
      }
    }
    return false;
  }

  bool rank_left_corners() {
    const std::size_t n = ast_.rules.size();
    Calls corners(n);
    for (std::uint32_t r : order_) {
      left_corners(ast_.rules[r].body, corners[r]);
      std::sort(corners[r].begin(), corners[r].end());
      corners[r].erase(std::unique(corners[r].begin(), corners[r].end()), corners[r].end());
    }
    if (!status_.ok()) return false;
    std::vector<std::uint8_t> colour(n, 0);  // 0 new, 1 on the path, 2 done
    std::vector<std::uint32_t> next(n, 0), path, done;
    for (std::uint32_t start : order_) {
      if (colour[start] != 0) continue;
      path.push_back(start);
      colour[start] = 1;
      while (!path.empty()) {
        const std::uint32_t r = path.back();
        if (next[r] == corners[r].size()) {
          colour[r] = 2;
          done.push_back(r);
          path.pop_back();
          continue;
        }
        const std::uint32_t to = corners[r][next[r]++];
        if (colour[to] == 1) {
          status_ = rule_error(
              to, "is left-recursive: it may call itself before it has consumed anything");
          return false;
        }
        if (colour[to] == 0) {
          colour[to] = 1;
          path.push_back(to);
        }
      }
    }
    for (std::size_t i = 0; i < done.size(); ++i)
      out_.rank[done[i]] = static_cast<std::uint32_t>(done.size() - i);
    return true;
  }

  // A rule is copied when it is small and doesn't recurse. A rule that loops over many characters
  // (a string's body) is kept apart whatever its size: its token masks are then computed once for
  // all its callers.
  void choose_copies() {
    constexpr std::size_t kSmall = 16, kDeep = 16;
    depth_.assign(ast_.rules.size(), 0);
    sizes_.assign(ast_.rules.size(), 1);
    wide_.assign(ast_.rules.size(), false);
    for (std::uint32_t r : order_) {
      Shape shape = shape_of(ast_.rules[r].body);
      if (!status_.ok()) return;
      out_.copied[r] = r != ast_.root && !recursive_[r] && !ast_.rules[r].keep_apart &&
                       !shape.loops_wide && shape.size <= kSmall && shape.depth < kDeep;
      sizes_[r] = out_.copied[r] ? std::max<std::size_t>(1, shape.size) : 1;
      depth_[r] = out_.copied[r] ? shape.depth + 1 : 0;
      wide_[r] = shape.wide;
    }
  }

  struct Shape {
    std::size_t size = 0;
    std::size_t depth = 0;    // of copies within copies
    bool wide = false;        // has a class of many characters
    bool loops_wide = false;  // has such a class in a loop
  };

  Shape shape_of(std::uint32_t e) {
    const Expr& expr = ast_.exprs[e];
    Shape shape;
    if (!spend(1)) return shape;
    constexpr std::size_t kHuge = 1u << 20;
    switch (expr.kind) {
      case ExprKind::kBytes:
        shape.size = expr.bytes.size();
        break;
      case ExprKind::kToken:
        shape.size = 1;
        break;
      case ExprKind::kClass: {
        std::size_t characters = 0;
        for (const CodeRange& r : expr.ranges) characters += r.hi - r.lo + 1;
        shape.size = expr.ranges.back().hi < 0x80 ? 1 : 8;
        shape.wide = characters >= 64;
        break;
      }
      case ExprKind::kRule:
        shape.size = sizes_[expr.ref];
        shape.depth = depth_[expr.ref];
        shape.wide = wide_[expr.ref];
        break;
      case ExprKind::kSequence:
      case ExprKind::kChoice:
        for (std::uint32_t child : expr.children) {
          const Shape part = shape_of(child);
          shape.size = std::min(kHuge, shape.size + part.size);
          shape.depth = std::max(shape.depth, part.depth);
          shape.wide = shape.wide || part.wide;
          shape.loops_wide = shape.loops_wide || part.loops_wide;
        }
        break;
      case ExprKind::kRepeat: {
        const Shape part = shape_of(expr.children[0]);
        const std::size_t copies = expr.max == kNoLimit ? expr.min + 1u : expr.max;
        shape.size = part.size == 0 ? 0 : std::min(kHuge, part.size * std::min(copies, kHuge));
        shape.depth = part.depth;
        shape.wide = part.wide;
        shape.loops_wide = part.loops_wide || (part.wide && copies > 0 && expr.max > 8);
        break;
      }
    }
    return shape;
  }

  const GrammarAst& ast_;
  const GrammarLimits& limits_;
  GrammarAnalysis out_;
  std::vector<std::uint32_t> order_;
  std::vector<bool> finishes_, recursive_, wide_;
  std::vector<std::size_t> sizes_, depth_;
  std::size_t work_ = 0;
  Status status_;
};

}  // namespace veloce::text

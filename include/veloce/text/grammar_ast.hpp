// The parsed form of a grammar: rules over code points, as the GBNF parser writes them and the
// automaton compiler reads them. Plain data; nothing here is checked beyond syntax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veloce::text {

inline constexpr std::uint32_t kNoLimit = 0xFFFFFFFFu;

// What a grammar may cost, whoever wrote it. Every limit is an error that names it, never a silent
// cut.
struct GrammarLimits {
  std::size_t max_text_bytes = 4u << 20;  // GBNF source
  std::size_t max_rules = 20000;          // named and generated rules
  std::size_t max_nesting = 128;          // parentheses
  std::uint32_t max_repeat = 2000;  // {m}: an error above; {m,n}: n above means "no upper bound"
  std::size_t max_states = 400000;  // automaton states of all rules
  std::size_t max_compile_work =
      60000000;  // elementary steps of analysis and compilation (about a second)
};

// Finds the single token whose text is exactly `text`, for the GBNF term <text>.
using TokenResolver = std::function<std::optional<std::uint32_t>(std::string_view text)>;

struct CodeRange {
  std::uint32_t lo, hi;  // inclusive
};

enum class ExprKind : std::uint8_t {
  kBytes,     // `bytes`, UTF-8 (empty: matches nothing consumed)
  kClass,     // one code point out of `ranges`
  kRule,      // `ref`: a rule's index
  kToken,     // `ref`: a token id matched as a unit; `negated`: any other token
  kSequence,  // all `children` in order
  kChoice,    // one of `children`
  kRepeat,    // children[0], `min` to `max` times
};

struct Expr {
  ExprKind kind = ExprKind::kBytes;
  bool negated = false;
  std::uint32_t ref = 0;
  std::uint32_t min = 0, max = 0;
  std::string bytes;
  std::vector<CodeRange> ranges;        // sorted, disjoint, without surrogates
  std::vector<std::uint32_t> children;  // indices in GrammarAst::exprs
};

struct GrammarAst {
  struct Rule {
    std::string name;
    std::uint32_t body = kNoLimit;  // index in exprs; kNoLimit while undefined
    std::uint32_t line = 0;         // where it is defined or, while undefined, first used
    bool keep_apart = false;        // never copied into its callers
  };
  std::vector<Expr> exprs;
  std::vector<Rule> rules;
  std::uint32_t root = 0;

  std::uint32_t add(Expr expr) {
    exprs.push_back(std::move(expr));
    return static_cast<std::uint32_t>(exprs.size() - 1);
  }
};

}  // namespace veloce::text

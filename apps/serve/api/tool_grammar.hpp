// The grammar of tool calls in a model's own notation, as its chat template writes them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "veloce/core/status.hpp"

namespace veloce::text {
struct ChatFormat;
}

namespace veloce::serve {

struct ToolGrammar {
  std::string rules;                  // `answer-calls`: one or more calls and nothing else
  std::vector<std::string> triggers;  // texts with which a call begins
};

// Finds the control token of that text; such tokens are no text to a grammar.
using ControlToken = std::function<std::optional<std::int32_t>(std::string_view text)>;

// `tools`: as checked_tools() gives them; only those may be called, with arguments by their
// schemas. A schema that cannot be enforced is an error for a strict tool; other tools then take
// any arguments. kUnsupported where the format has no calls that a grammar could hold.
Result<ToolGrammar> tool_grammar(const text::ChatFormat& format, const Json& tools, bool parallel,
                                 const ControlToken& control);

struct RootOf {
  bool may_think = false;  // a thought may come first, during which the grammar rests
  bool calls = false;      // the answer may be `answer-calls`
  bool document = false;   // the answer may be `answer-document`, as content
};

// The rules with a root: one of those, and what a model writes in front of it.
std::string with_root(const std::string& rules, const text::ChatFormat& format, RootOf kind,
                      const ControlToken& control);

}  // namespace veloce::serve

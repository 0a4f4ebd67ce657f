// How a choice is generated: what a request's fields come to once they are checked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "veloce/sample/params.hpp"

namespace veloce::text {
class GrammarMasks;
}

namespace veloce::serve {

// Output bound to a grammar, from the first token on or from the first trigger text on.
struct GrammarSettings {
  std::shared_ptr<text::GrammarMasks> masks;  // null: unbound
  std::string source;                         // GBNF, to be shown again
  bool lazy = false;
  std::vector<std::string> triggers;  // lazy: the text begins with the trigger where it comes up
};

// Counts and limits thinking (specs/server.md 4.7). Inactive while `end` is empty.
struct ReasoningSettings {
  int budget = -1;                   // tokens; -1: no limit
  std::string start, end;            // the tags
  std::vector<std::int32_t> forced;  // message and end tag, said when the budget is used up
  bool begins_inside = false;        // the prompt ends within the block
};

struct GenerationParams {
  int max_tokens = -1;  // -1: until the end of the text or of the context; 0: only read the prompt
  std::vector<std::string> stops;
  int keep = 0, discard = 0;  // when the context is shifted: tokens at its start that stay, -1: the
                              // prompt; that go, 0: half
  bool verbose = false;       // OpenAI routes: the native answer as well, as "__verbose"
  bool cache_prompt = true;
  int slot = -1;  // a certain one, or any
  bool return_tokens = false;
  bool return_progress = false;
  bool timings_per_token = false;
  int time_limit_ms = -1;  // after that long, stop at the next newline
  int indent = 0;          // stop at a line indented less
  int probabilities = 0;   // report that many per token
  bool report_probabilities = false;
  bool after_sampling = false;        // those after the sampler chain
  std::vector<std::int32_t> visible;  // control tokens whose text is part of the answer
  sample::SamplingParams sampling;
  GrammarSettings grammar;
  ReasoningSettings reasoning;
};

}  // namespace veloce::serve

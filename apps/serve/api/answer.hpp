// Parts that the answers of several routes share.
#pragma once

#include <string>
#include <vector>

#include "api/run.hpp"
#include "base/json.hpp"
#include "scheduler/event.hpp"

namespace veloce::serve {

// specs/server.md 3.3. Every number is finite.
Json timings_json(const Progress& progress);
Json prompt_progress_json(const Progress& progress);

// [{id, token, bytes, logprob, top_logprobs}], or prob and top_probs for those after sampling.
Json probabilities_json(const std::vector<TokenProbabilities>& tokens, bool after_sampling);

// Sums over the choices; a prompt shared by several choices counts once.
struct UsageCounter {
  explicit UsageCounter(int choices_per_prompt) : per_prompt(choices_per_prompt) {}
  void add(int index, const Progress& progress);
  Json openai() const;

  int per_prompt;
  int prompt = 0, cached = 0, generated = 0, reasoning = 0;
};

// The native answer to one prompt (specs/server.md 3.3).
Json native_answer_json(const Service& service, const GenerationParams& params,
                        const std::vector<std::int32_t>& prompt, const ChoiceResult& result);

// "stop" or "length".
const char* openai_finish_reason(StopReason reason);

// "veloce-VERSION"
std::string build_info();

std::int64_t unix_seconds();

}  // namespace veloce::serve

#include "api/answer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "veloce/config.hpp"

namespace veloce::serve {
namespace {

double per(double amount, double count) {
  return count > 0 ? amount / count : 0.0;
}

const char* stop_type(StopReason reason) {
  switch (reason) {
    case StopReason::kEndOfText:
      return "eos";
    case StopReason::kStopString:
      return "word";
    case StopReason::kLimit:
      return "limit";
    case StopReason::kNone:
      break;
  }
  return "none";
}

Json probability_json(const TokenProbability& token, bool after_sampling) {
  Json bytes = Json::array();
  for (const char c : token.bytes) bytes.push_back(static_cast<int>(static_cast<unsigned char>(c)));
  Json out = {{"id", token.id},
              {"token", token.bytes.substr(0, complete_utf8_prefix(token.bytes))},
              {"bytes", std::move(bytes)}};
  out[after_sampling ? "prob" : "logprob"] = token.value;
  return out;
}

}  // namespace

Json timings_json(const Progress& p) {
  const int read = p.prompt - p.cached;
  // The first token belongs to the prompt's pass.
  const int timed = std::max(0, p.generated - 1);
  return {{"cache_n", p.cached},
          {"prompt_n", read},
          {"prompt_ms", p.prompt_ms},
          {"prompt_per_token_ms", per(p.prompt_ms, read)},
          {"prompt_per_second", per(1000.0 * read, p.prompt_ms)},
          {"predicted_n", p.generated},
          {"predicted_ms", p.generation_ms},
          {"predicted_per_token_ms", per(p.generation_ms, timed)},
          {"predicted_per_second", per(1000.0 * timed, p.generation_ms)}};
}

Json prompt_progress_json(const Progress& p) {
  return {{"total", p.prompt},
          {"cache", p.cached},
          {"processed", p.processed},
          {"time_ms", p.prompt_ms}};
}

Json probabilities_json(const std::vector<TokenProbabilities>& tokens, bool after_sampling) {
  Json out = Json::array();
  for (const TokenProbabilities& token : tokens) {
    Json item = probability_json(token.chosen, after_sampling);
    Json top = Json::array();
    for (const TokenProbability& candidate : token.top)
      top.push_back(probability_json(candidate, after_sampling));
    item[after_sampling ? "top_probs" : "top_logprobs"] = std::move(top);
    out.push_back(std::move(item));
  }
  return out;
}

Json native_answer_json(const Service& service, const GenerationParams& params,
                        const std::vector<std::int32_t>& prompt, const ChoiceResult& result) {
  const Event& last = result.last;
  Json settings = params_to_json(params);
  settings["seed"] = last.seed;
  Json answer = {{"index", last.index},
                 {"content", result.text},
                 {"tokens", result.tokens},
                 {"id_slot", last.slot},
                 {"stop", true},
                 {"model", service.model_id()},
                 {"tokens_predicted", last.progress.generated},
                 {"tokens_evaluated", last.progress.prompt},
                 {"generation_settings", std::move(settings)},
                 {"prompt", service.decode(prompt)},
                 {"has_new_line", last.has_newline},
                 {"truncated", last.truncated},
                 {"stop_type", stop_type(last.reason)},
                 {"stopping_word", last.stop_string},
                 {"tokens_cached", last.tokens_cached},
                 {"timings", timings_json(last.progress)}};
  if (params.report_probabilities && !result.probabilities.empty()) {
    answer["completion_probabilities"] =
        probabilities_json(result.probabilities, params.after_sampling);
  }
  return answer;
}

void UsageCounter::add(int index, const Progress& progress) {
  if (index % per_prompt == 0) {
    prompt += progress.prompt;
    cached += progress.cached;
  }
  generated += progress.generated;
  reasoning += progress.reasoning;
}

Json UsageCounter::openai() const {
  return {{"completion_tokens", generated},
          {"prompt_tokens", prompt},
          {"total_tokens", prompt + generated},
          {"prompt_tokens_details", {{"cached_tokens", cached}}},
          {"completion_tokens_details", {{"reasoning_tokens", reasoning}}}};
}

const char* openai_finish_reason(StopReason reason) {
  return reason == StopReason::kLimit ? "length" : "stop";
}

std::string build_info() {
  return std::string("veloce-") + VELOCE_VERSION;
}

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace veloce::serve

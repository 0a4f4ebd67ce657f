#include "scheduler/generation.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "veloce/sample/logprobs.hpp"

namespace veloce::serve {

Generation::Generation(const text::Tokenizer& tokenizer, const GenerationParams& params,
                       sample::Sampler sampler)
    : tokenizer_(tokenizer),
      params_(params),
      chooser_(tokenizer, params, std::move(sampler)),
      matcher_(params.stops) {}

std::string Generation::bytes_of(std::int32_t token) const {
  const bool visible =
      std::find(params_.visible.begin(), params_.visible.end(), token) != params_.visible.end();
  return tokenizer_.piece(token, visible);
}

Result<std::int32_t> Generation::sample(std::span<const float> logits) {
  // Models may have more outputs than the vocabulary has tokens.
  logits = logits.first(std::min(logits.size(), static_cast<std::size_t>(tokenizer_.size())));
  Result<std::int32_t> token = chooser_.choose(logits);
  if (!token || !params_.report_probabilities || tokenizer_.is_eog(*token)) return token;
  note_probabilities(logits, *token);
  return token;
}

void Generation::note_probabilities(std::span<const float> logits, std::int32_t token) {
  TokenProbabilities noted;
  const auto described = [&](std::int32_t id, float value) {
    return TokenProbability{id, value, tokenizer_.piece(id, true)};
  };
  if (params_.after_sampling) {
    noted.chosen = described(token, 1.0f);
    std::vector<sample::Candidate> candidates(chooser_.candidates().begin(),
                                              chooser_.candidates().end());
    const std::size_t keep =
        std::min(candidates.size(), static_cast<std::size_t>(params_.probabilities));
    std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(keep),
                      candidates.end(), [](const sample::Candidate& a, const sample::Candidate& b) {
                        return a.p != b.p ? a.p > b.p : a.id < b.id;
                      });
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].id == token) noted.chosen.value = candidates[i].p;
      if (i < keep && candidates[i].p > 0)
        noted.top.push_back(described(candidates[i].id, candidates[i].p));
    }
  } else {
    // A probability of 0 has no logarithm in JSON.
    const auto finite = [](float value) {
      return std::max(value, std::numeric_limits<float>::lowest());
    };
    const sample::Logprobs ranked =
        sample::logprobs(logits, token, static_cast<std::size_t>(params_.probabilities));
    noted.chosen = described(token, finite(ranked.chosen.logprob));
    for (const sample::TokenLogprob& top : ranked.top)
      noted.top.push_back(described(top.id, finite(top.logprob)));
  }
  pending_.push_back({std::move(noted), 0, 0});
}

Event Generation::take(std::int32_t token, int held, int context, double ms) {
  ++count_;
  Event event;
  const bool end = tokenizer_.is_eog(token);
  const std::string piece = end ? std::string() : bytes_of(token);
  const std::size_t begin = matcher_.text().size();
  event.text = matcher_.feed(piece);
  const std::string& text = matcher_.text();
  chooser_.took(token, text);

  const bool line_ended = piece.find('\n') != std::string::npos;
  if (line_ended && !matcher_.matched()) newline_ = text.rfind('\n');
  if (held + 1 >= context) {
    event.truncated = true;
    event.reason = StopReason::kLimit;
  }
  if (params_.max_tokens >= 0 && count_ >= params_.max_tokens) event.reason = StopReason::kLimit;
  if (params_.indent > 0 && indented_less()) event.reason = StopReason::kLimit;
  if (params_.time_limit_ms > 0 && line_ended && ms > params_.time_limit_ms)
    event.reason = StopReason::kLimit;
  if (end) event.reason = StopReason::kEndOfText;
  if (matcher_.matched()) {
    event.reason = StopReason::kStopString;
    event.stop_string = *matcher_.matched();
  }
  if (event.reason != StopReason::kNone && event.reason != StopReason::kLimit)
    event.truncated = false;
  if (event.reason != StopReason::kNone) event.text += matcher_.finish();

  if (!end) pending_tokens_.push_back({token, begin, begin + piece.size()});
  if (params_.report_probabilities && !end) {
    pending_.back().begin = begin;
    pending_.back().end = begin + piece.size();
  }
  flush_pending(event);
  return event;
}

// Tokens go with their text: out when all of it is out, and never when it lies behind the stop
// string.
void Generation::flush_pending(Event& event) {
  const bool over = event.reason != StopReason::kNone;
  const std::size_t size = matcher_.text().size();
  const auto flush = [&](auto& pending, auto&& emit) {
    std::size_t done = 0;
    for (; done < pending.size(); ++done) {
      auto& item = pending[done];
      const bool out =
          over ? !matcher_.matched() || item.begin < size : item.end <= matcher_.sent();
      if (!out) break;
      emit(item);
    }
    pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(done));
  };
  flush(pending_,
        [&](PendingProbabilities& item) { event.probabilities.push_back(std::move(item.value)); });
  flush(pending_tokens_, [&](const PendingToken& item) {
    if (params_.return_tokens) event.tokens.push_back(item.id);
  });
}

// Is the last line, as far as it goes, indented less than asked for?
bool Generation::indented_less() {
  if (newline_ == std::string::npos) return false;
  const std::string& text = matcher_.text();
  std::size_t at = newline_ + 1;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at < text.size() && text[at] != '\n' &&
         static_cast<int>(at - newline_ - 1) < params_.indent;
}

}  // namespace veloce::serve

// The sampling chain: logits in, a token out. Source: specs/tokenizers.md section 9.
//
//   auto sampler = sample::Sampler::create(params, &tokenizer, vocabulary);
//   for (std::int32_t id : prompt) sampler->accept(id, /*from_prompt=*/true);
//   auto id = sampler->sample(engine.logits(0));   // then, if the token is used:
//   sampler->accept(*id);
//
// Order: logit bias -> stages as params.samplers lists them -> draw; with mirostat only bias,
// temperature and mirostat. A sampler serves one sequence and one thread; copies are independent of
// each other, so a copy made before drafted tokens are sampled brings the old state back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/sample/candidates.hpp"
#include "veloce/sample/draw.hpp"
#include "veloce/sample/dry_breakers.hpp"
#include "veloce/sample/history.hpp"
#include "veloce/sample/params.hpp"
#include "veloce/sample/random.hpp"
#include "veloce/sample/truncation.hpp"
#include "veloce/text/tokenizer.hpp"

namespace veloce::sample {

// Says which tokens may come next: a grammar, or whatever else restrains the output.
class TokenFilter {
 public:
  virtual ~TokenFilter() = default;
  virtual bool allows(std::int32_t id) = 0;
  // Sets bit id % 32 of bits[id / 32] for each token allowed, and clears the others.
  virtual Status fill_mask(std::span<std::uint32_t> bits) = 0;
};

class Sampler {
 public:
  // `vocabulary`: number of logits. The tokenizer is needed for DRY's breakers, ignore_eos and the
  // file's suppressed tokens, and may be null where none of them matters; it is not kept. Errors
  // name the field and the value.
  static Result<Sampler> create(SamplingParams params, const text::Tokenizer* tokenizer,
                                std::int32_t vocabulary);

  // A token for these logits (as many as create() was told). Does not accept it. First samples
  // without the filter and keeps the token if the filter allows it; else filters all tokens and
  // samples again. Errors: a wrong number of logits, no token with a logit above minus infinity, a
  // filter's own error.
  Result<std::int32_t> sample(std::span<const float> logits, TokenFilter* filter = nullptr);

  // Tells that a token is part of the sequence: the penalties and DRY remember it.
  void accept(std::int32_t id, bool from_prompt = false);

  // As after create(), with the same seed.
  void reset();
  Sampler clone() const { return *this; }

  // What the last sample() drew from, with probabilities; after a greedy choice the token alone.
  std::span<const Candidate> candidates() const { return list_.items; }
  const SamplingParams& params() const { return params_; }
  // The seed in use, also if it was made at random.
  std::uint32_t seed() const { return seed_; }

 private:
  bool stage_active(Stage stage) const;
  bool always_greedy() const;
  void run_stage(Stage stage);
  Result<std::int32_t> run();  // on the candidates in list_
  Result<std::int32_t> run_filtered(std::span<const float> logits, TokenFilter& filter);

  SamplingParams params_;
  std::vector<Stage> stages_;
  std::shared_ptr<const std::unordered_map<std::int32_t, float>> bias_;
  std::shared_ptr<const DryBreakers> breakers_;
  std::int32_t vocabulary_ = 0;
  std::uint32_t seed_ = 0;
  bool greedy_ = false;  // the chain can only give the highest logit
  bool adaptive_listed_ = false;

  History history_;
  Random draw_random_, xtc_random_;
  Mirostat mirostat_;
  AdaptiveP adaptive_;
  Candidates list_;
  std::vector<std::uint32_t> mask_;
};

// The token with the highest logit, the lowest id of equal ones; -1 if none is above minus
// infinity. NaN is passed over.
inline std::int32_t greedy(std::span<const float> logits) {
  float best = kMinusInfinity;
  std::int32_t at = -1;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > best) {
      best = logits[i];
      at = std::int32_t(i);
    }
  }
  return at;
}

inline Result<Sampler> Sampler::create(SamplingParams params, const text::Tokenizer* tokenizer,
                                       std::int32_t vocabulary) {
  if (vocabulary <= 0)
    return Status{Code::kInvalidArgument,
                  "vocabulary: " + std::to_string(vocabulary) + " is not above 0"};
  if (Status s = params.check(vocabulary); !s) return s;
  Sampler s;
  s.vocabulary_ = vocabulary;
  for (const std::string& name : params.samplers) {
    const Stage stage = *stage_from_name(name);
    if (stage == Stage::kAdaptiveP)
      s.adaptive_listed_ = true;
    else
      s.stages_.push_back(stage);
  }
  std::unordered_map<std::int32_t, float> bias;
  for (const auto& [id, value] : params.logit_bias) bias[id] += value;
  if (tokenizer != nullptr) {
    const auto ban = [&](std::int32_t id) {
      if (id < vocabulary) bias[id] = kMinusInfinity;
    };
    for (std::int32_t id : tokenizer->vocabulary().suppressed()) ban(id);
    if (params.ignore_eos)
      for (std::int32_t id : tokenizer->vocabulary().eog()) ban(id);
  }
  if (!bias.empty())
    s.bias_ = std::make_shared<const std::unordered_map<std::int32_t, float>>(std::move(bias));
  s.params_ = std::move(params);
  if (tokenizer != nullptr && s.stage_active(Stage::kDry))
    s.breakers_ = std::make_shared<const DryBreakers>(
        DryBreakers::create(*tokenizer, s.params_.dry_sequence_breakers));
  s.greedy_ = s.always_greedy();
  s.seed_ = s.params_.seed == kRandomSeed ? random_seed() : s.params_.seed;
  s.reset();
  return s;
}

inline void Sampler::reset() {
  history_ = History(stage_active(Stage::kPenalties) ? params_.repeat_last_n : 0);
  draw_random_ = Random(seed_);
  xtc_random_ = Random(seed_);
  mirostat_ = Mirostat(params_.mirostat, params_.mirostat_tau, params_.mirostat_eta);
  adaptive_ = AdaptiveP(adaptive_listed_ ? params_.adaptive_target : -1, params_.adaptive_decay);
}

// False where the settings make the stage do nothing.
inline bool Sampler::stage_active(Stage stage) const {
  const bool listed = std::find(stages_.begin(), stages_.end(), stage) != stages_.end();
  if (!listed || params_.mirostat != 0) return false;
  switch (stage) {
    case Stage::kPenalties:
      return params_.repeat_last_n != 0 &&
             (params_.repeat_penalty != 1 || params_.frequency_penalty != 0 ||
              params_.presence_penalty != 0);
    case Stage::kDry:
      return params_.dry_multiplier != 0 && params_.dry_base >= 1 &&
             params_.dry_penalty_last_n != 0;
    case Stage::kTypical:
      return params_.typical_p < 1;
    case Stage::kXtc:
      return params_.xtc_probability > 0 && params_.xtc_threshold <= 0.5;
    default:
      return true;
  }
}

inline bool Sampler::always_greedy() const {
  return params_.temperature <= 0 && params_.dynatemp_range <= 0 && params_.mirostat == 0 &&
         bias_ == nullptr && stage_active(Stage::kTemperature) &&
         !stage_active(Stage::kPenalties) && !stage_active(Stage::kDry) &&
         !stage_active(Stage::kTypical) && !stage_active(Stage::kXtc) &&
         !(adaptive_listed_ && params_.adaptive_target >= 0);
}

inline void Sampler::run_stage(Stage stage) {
  if (!stage_active(stage)) return;
  const SamplingParams& p = params_;
  switch (stage) {
    case Stage::kPenalties:
      return penalties(list_, history_.counts(), p.repeat_penalty, p.frequency_penalty,
                       p.presence_penalty);
    case Stage::kDry:
      return dry(list_, history_.last(p.dry_penalty_last_n), p, breakers_.get());
    case Stage::kTopNSigma:
      return top_n_sigma(list_, p.top_n_sigma);
    case Stage::kTopK:
      return top_k(list_, p.top_k);
    case Stage::kTypical:
      return typical(list_, p.typical_p, p.min_keep);
    case Stage::kTopP:
      return top_p(list_, p.top_p, p.min_keep);
    case Stage::kMinP:
      return min_p(list_, p.min_p, p.min_keep);
    case Stage::kXtc:
      return xtc(list_, p.xtc_probability, p.xtc_threshold, p.min_keep,
                 xtc_random_.uniform_float());
    case Stage::kTemperature:
      return dynamic_temperature(list_, p.temperature, p.dynatemp_range, p.dynatemp_exponent);
    case Stage::kAdaptiveP:
      return;
  }
}

inline Result<std::int32_t> Sampler::run() {
  if (bias_ != nullptr)
    list_.change_listed(*bias_, [](const Candidate& c, float bias) { return c.logit + bias; });
  if (list_.max_logit() == kMinusInfinity)
    return Status{Code::kInvalidArgument,
                  "no token can be sampled: every logit is minus infinity or not a number"};
  std::size_t chosen = 0;
  if (params_.mirostat != 0) {
    temperature(list_, params_.temperature);
    chosen = mirostat_.draw(list_, draw_random_, std::size_t(vocabulary_));
  } else {
    for (Stage stage : stages_) run_stage(stage);
    chosen = adaptive_.draw(list_, draw_random_);
  }
  return list_.items[chosen].id;
}

inline Result<std::int32_t> Sampler::run_filtered(std::span<const float> logits,
                                                  TokenFilter& filter) {
  mask_.assign((logits.size() + 31) / 32, 0);
  if (Status s = filter.fill_mask(mask_); !s) return s;
  list_.assign(logits);
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!(mask_[i / 32] >> (i % 32) & 1u)) list_.items[i].logit = kMinusInfinity;
  return run();
}

inline Result<std::int32_t> Sampler::sample(std::span<const float> logits, TokenFilter* filter) {
  if (logits.size() != std::size_t(vocabulary_))
    return Status{Code::kInvalidArgument, "logits: " + std::to_string(logits.size()) +
                                              " for a vocabulary of " +
                                              std::to_string(vocabulary_)};
  if (filter != nullptr && params_.grammar_first) return run_filtered(logits, *filter);
  if (greedy_) {
    const std::int32_t best = greedy(logits);
    if (best >= 0 && (filter == nullptr || filter->allows(best))) {
      list_.items.assign(1, {best, logits[std::size_t(best)], 1.0f});
      list_.reordered();
      return best;
    }
    if (filter != nullptr) return run_filtered(logits, *filter);
  }
  list_.assign(logits);
  Result<std::int32_t> chosen = run();
  if (filter != nullptr && (!chosen || !filter->allows(*chosen)))
    return run_filtered(logits, *filter);
  return chosen;
}

inline void Sampler::accept(std::int32_t id, bool from_prompt) {
  history_.push(id);
  if (!from_prompt) adaptive_.accept(id);
}

}  // namespace veloce::sample

// Settings of the sampling chain, their checks, and what a model file recommends. Source:
// specs/tokenizers.md section 9, specs/gguf.md (general.sampling.*).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/gguf/cursor.hpp"
#include "veloce/gguf/metadata.hpp"

namespace veloce::sample {

inline constexpr std::uint32_t kRandomSeed = 0xFFFFFFFFu;

// The parts of the chain whose order is the user's.
enum class Stage : std::uint8_t {
  kPenalties,
  kDry,
  kTopNSigma,
  kTopK,
  kTypical,
  kTopP,
  kMinP,
  kXtc,
  kTemperature,
  kAdaptiveP,
};

struct SamplingParams {
  std::uint32_t seed = kRandomSeed;
  double temperature = 0.8;  // 0 or less: the most probable token
  double dynatemp_range = 0, dynatemp_exponent = 1;
  int top_k = 40;
  double top_p = 0.95, min_p = 0.05, top_n_sigma = -1, typical_p = 1;
  double xtc_probability = 0, xtc_threshold = 0.1;
  int repeat_last_n = 64;  // tokens that the penalties look back; -1: all
  double repeat_penalty = 1, presence_penalty = 0, frequency_penalty = 0;
  double dry_multiplier = 0, dry_base = 1.75;
  int dry_allowed_length = 2, dry_penalty_last_n = 64;  // -1: all
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  int mirostat = 0;  // 0, 1 or 2
  double mirostat_tau = 5, mirostat_eta = 0.1;
  double adaptive_target = -1, adaptive_decay = 0.9;
  int min_keep = 0;
  // Names as in stage_from_name(), in the order in which they work. Stages left out do nothing.
  std::vector<std::string> samplers = {"penalties", "dry",   "top_n_sigma", "top_k",      "typ_p",
                                       "top_p",     "min_p", "xtc",         "temperature"};
  std::vector<std::pair<std::int32_t, float>>
      logit_bias;           // token, what is added; -infinity bans the token
  bool ignore_eos = false;  // bans all tokens that end a generation
  bool grammar_first =
      false;  // filter before sampling and not only if the sampled token does not fit

  // Overwrites what the file's general.sampling.* keys name. Fails if one has the wrong type.
  Status read_recommendations(const gguf::Metadata& metadata);
  // Names the first field that is out of range, and its value. `vocabulary`: number of tokens.
  Status check(std::int32_t vocabulary) const;
};

// The stage of that name or nothing.
inline std::optional<Stage> stage_from_name(std::string_view name) {
  constexpr std::pair<std::string_view, Stage> kNames[] = {
      {"penalties", Stage::kPenalties},
      {"dry", Stage::kDry},
      {"top_n_sigma", Stage::kTopNSigma},
      {"top_k", Stage::kTopK},
      {"typ_p", Stage::kTypical},
      {"typical_p", Stage::kTypical},
      {"typical", Stage::kTypical},
      {"top_p", Stage::kTopP},
      {"min_p", Stage::kMinP},
      {"xtc", Stage::kXtc},
      {"temperature", Stage::kTemperature},
      {"temp", Stage::kTemperature},
      {"adaptive_p", Stage::kAdaptiveP},
  };
  std::string plain(name);
  for (char& c : plain)
    if (c == '-') c = '_';
  for (const auto& [known, stage] : kNames)
    if (known == plain) return stage;
  return std::nullopt;
}

// Names for a string of letters, one a stage: e d s k y p m x t a.
inline Result<std::vector<std::string>> samplers_from_letters(std::string_view letters) {
  constexpr std::pair<char, std::string_view> kLetters[] = {
      {'e', "penalties"},   {'d', "dry"},       {'s', "top_n_sigma"}, {'k', "top_k"},
      {'y', "typ_p"},       {'p', "top_p"},     {'m', "min_p"},       {'x', "xtc"},
      {'t', "temperature"}, {'a', "adaptive_p"}};
  std::vector<std::string> names;
  for (char letter : letters) {
    std::string_view name;
    for (const auto& [known, value] : kLetters)
      if (known == letter) name = value;
    if (name.empty())
      return Status{Code::kInvalidArgument,
                    "samplers: unknown letter " + gguf::in_quotes(std::string_view(&letter, 1))};
    names.emplace_back(name);
  }
  return names;
}

inline Status SamplingParams::read_recommendations(const gguf::Metadata& metadata) {
  const std::string prefix = "general.sampling.";
  Status status;
  const auto read = [&]<class T>(std::string_view name, T& field) {
    const std::string key = prefix + std::string(name);
    if (!status || !metadata.has(key)) return;
    const auto value = metadata.get<T>(key);
    if (value)
      field = *value;
    else
      status = value.status();
  };
  read("top_k", top_k);
  read("top_p", top_p);
  read("min_p", min_p);
  read("xtc_probability", xtc_probability);
  read("xtc_threshold", xtc_threshold);
  read("temp", temperature);
  read("penalty_last_n", repeat_last_n);
  read("penalty_repeat", repeat_penalty);
  read("mirostat", mirostat);
  read("mirostat_tau", mirostat_tau);
  read("mirostat_eta", mirostat_eta);
  std::string sequence;
  read("sequence", sequence);
  if (!status || sequence.empty()) return status;
  // Letters, or names between semicolons.
  if (sequence.find(';') == std::string::npos && !stage_from_name(sequence)) {
    auto names = samplers_from_letters(sequence);
    if (!names) return {names.status().code(), prefix + "sequence: " + names.status().message()};
    samplers = *std::move(names);
    return {};
  }
  samplers.clear();
  for (std::size_t at = 0; at <= sequence.size();) {
    const std::size_t end = std::min(sequence.find(';', at), sequence.size());
    if (end > at) samplers.push_back(sequence.substr(at, end - at));
    at = end + 1;
  }
  return {};
}

inline Status SamplingParams::check(std::int32_t vocabulary) const {
  const auto wrong = [](const std::string& field, double value, const std::string& expected) {
    std::string shown = std::to_string(value);
    if (value == std::floor(value) && std::abs(value) < 1e15)
      shown = std::to_string(static_cast<long long>(value));
    return Status(Code::kInvalidArgument, field + ": " + shown + " is not " + expected);
  };
  constexpr double kMost = 3e38;
  struct Range {
    const char* field;
    double value, low, high;
    const char* expected;
  };
  const Range ranges[] = {
      {"temperature", temperature, -kMost, kMost, "a finite number"},
      {"dynatemp_range", dynatemp_range, 0, kMost, "0 or more"},
      {"dynatemp_exponent", dynatemp_exponent, 0, kMost, "0 or more"},
      {"top_p", top_p, 0, kMost, "0 or more"},
      {"min_p", min_p, -kMost, 1, "at most 1"},
      {"top_n_sigma", top_n_sigma, -kMost, kMost, "a finite number"},
      {"typical_p", typical_p, 0, kMost, "0 or more"},
      {"xtc_probability", xtc_probability, 0, 1, "between 0 and 1"},
      {"xtc_threshold", xtc_threshold, 0, 1, "between 0 and 1"},
      {"repeat_last_n", double(repeat_last_n), -1, kMost, "-1 or more"},
      {"repeat_penalty", repeat_penalty, 1e-30, kMost, "above 0"},
      {"presence_penalty", presence_penalty, -kMost, kMost, "a finite number"},
      {"frequency_penalty", frequency_penalty, -kMost, kMost, "a finite number"},
      {"dry_multiplier", dry_multiplier, 0, kMost, "0 or more"},
      {"dry_base", dry_base, -kMost, kMost, "a finite number"},
      {"dry_allowed_length", double(dry_allowed_length), 0, kMost, "0 or more"},
      {"dry_penalty_last_n", double(dry_penalty_last_n), -1, kMost, "-1 or more"},
      {"mirostat", double(mirostat), 0, 2, "0, 1 or 2"},
      {"mirostat_tau", mirostat_tau, 0, kMost, "0 or more"},
      {"mirostat_eta", mirostat_eta, 0, kMost, "0 or more"},
      {"adaptive_target", adaptive_target, -kMost, 1, "at most 1"},
      {"adaptive_decay", adaptive_decay, -kMost, kMost, "a finite number"},
      {"min_keep", double(min_keep), 0, kMost, "0 or more"},
  };
  // Written so that a NaN is out of every range.
  for (const Range& r : ranges)
    if (!(r.value >= r.low && r.value <= r.high)) return wrong(r.field, r.value, r.expected);
  for (const std::string& name : samplers)
    if (!stage_from_name(name))
      return {Code::kInvalidArgument, "samplers: unknown sampler " + gguf::in_quotes(name)};
  for (const auto& [id, bias] : logit_bias) {
    if (id < 0 || id >= vocabulary)
      return wrong("logit_bias", id, "a token id (0 to " + std::to_string(vocabulary - 1) + ")");
    if (std::isnan(bias) || bias == std::numeric_limits<float>::infinity())
      return {Code::kInvalidArgument,
              "logit_bias of token " + std::to_string(id) + ": must be a number or minus infinity"};
  }
  if (dry_sequence_breakers.size() > 256)
    return wrong("dry_sequence_breakers", double(dry_sequence_breakers.size()),
                 "at most 256 strings");
  return {};
}

}  // namespace veloce::sample

// The last stage of the chain: draws a token from the candidates. Source of the formulas:
// specs/tokenizers.md section 9.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "veloce/sample/candidates.hpp"
#include "veloce/sample/random.hpp"

namespace veloce::sample {

// Position of a token drawn with its probability: the first at which the running sum reaches r
// times the whole sum. One uniform number is used, whatever the list. The list must hold a logit
// above minus infinity.
inline std::size_t draw(Candidates& list, Random& random) {
  list.softmax();
  double sum = 0;
  for (const Candidate& c : list.items) sum += double(c.p);
  const double r = random.uniform() * sum;
  double running = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!(list.items[i].p > 0)) continue;
    running += double(list.items[i].p);
    last = i;
    if (running >= r) return i;
  }
  return last;  // the sum was rounded up
}

// Mirostat: cuts the list so that the surprise of the drawn tokens stays near tau.
class Mirostat {
 public:
  Mirostat(int version = 0, double tau = 5, double eta = 0.1)
      : version_(version), tau_(tau), eta_(eta), mu_(2 * tau) {}

  double mu() const { return mu_; }
  void reset() { mu_ = 2 * tau_; }

  // Cuts, draws, and learns from what was drawn. `vocabulary`: number of tokens of the model.
  std::size_t draw(Candidates& list, Random& random, std::size_t vocabulary) {
    list.softmax();
    if (version_ == 1)
      cut_1(list, vocabulary);
    else
      cut_2(list);
    const std::size_t chosen = sample::draw(list, random);
    const double surprise = -std::log2(double(list.items[chosen].p));
    mu_ -= eta_ * (surprise - tau_);
    return chosen;
  }

 private:
  // Estimates the exponent s of a Zipf distribution from the 100 most probable tokens, and from it
  // how many to keep.
  void cut_1(Candidates& list, std::size_t vocabulary) const {
    constexpr std::size_t kTokens = 100;
    const std::size_t m = std::min(kTokens, list.size());
    list.sort_top(m);
    double tb = 0, tt = 0;
    for (std::size_t i = 0; i + 1 < m && list.items[i + 1].p > 0; ++i) {
      const double t = std::log(double(i + 2) / double(i + 1));
      tb += t * std::log(double(list.items[i].p) / double(list.items[i + 1].p));
      tt += t * t;
    }
    double k = 1;
    if (tt > 0) {
      const double s = tb / tt, epsilon = s - 1;
      k = std::pow(epsilon * std::pow(2.0, mu_) / (1 - std::pow(double(vocabulary), -epsilon)),
                   1 / s);
    }
    // Not a number where s is 0 or 1: nothing is known, keep all.
    const std::size_t keep = k < double(list.size()) ? std::size_t(std::max(k, 1.0)) : list.size();
    list.sort_top(keep);
    list.truncate(keep);
  }

  // Keeps the tokens whose surprise is at most mu, and at least one.
  void cut_2(Candidates& list) const {
    std::size_t keep = 0;
    for (const Candidate& c : list.items) keep += c.p > 0 && !(-std::log2(double(c.p)) > mu_);
    keep = std::max<std::size_t>(keep, 1);
    list.sort_top(keep);
    list.truncate(keep);
  }

  int version_;
  double tau_, eta_, mu_;
};

// Adaptive-p: prefers tokens whose probability is near a target that follows what was drawn before.
class AdaptiveP {
 public:
  AdaptiveP(double target = -1, double decay = 0.9)
      : target_(target), decay_(std::clamp(decay, 0.0, 0.99)) {
    reset();
  }

  bool active() const { return target_ >= 0; }
  void reset() {
    weighted_ = std::max(target_, 0.0) / (1 - decay_);
    total_ = 1 / (1 - decay_);
    drawn_ = -1;
  }

  std::size_t draw(Candidates& list, Random& random) {
    if (!active()) return sample::draw(list, random);
    list.softmax();
    const double mean = total_ == 0 ? target_ : weighted_ / total_;
    const double target = total_ == 0 ? target_ : std::clamp(2 * target_ - mean, 0.0, 1.0);
    original_.resize(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      Candidate& c = list.items[i];
      original_[i] = c.p;
      if (c.logit == kMinusInfinity) continue;
      const double d = std::abs(double(c.p) - target) / 0.3;
      c.logit = float(5 - 10 * d * d / (1 + d));
    }
    list.unsorted();
    const std::size_t chosen = sample::draw(list, random);
    drawn_ = list.items[chosen].id;
    drawn_p_ = double(original_[chosen]);
    return chosen;
  }

  // To be called for each accepted token; only the one drawn last counts.
  void accept(std::int32_t id) {
    if (!active() || id != drawn_) return;
    weighted_ = drawn_p_ + decay_ * weighted_;
    total_ = 1 + decay_ * total_;
    drawn_ = -1;
  }

 private:
  double target_, decay_;
  double weighted_ = 0, total_ = 0;
  std::int32_t drawn_ = -1;
  double drawn_p_ = 0;
  std::vector<float> original_;
};

}  // namespace veloce::sample

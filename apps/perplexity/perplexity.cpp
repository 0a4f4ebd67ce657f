#include "perplexity/perplexity.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "veloce/cpu/pool.hpp"

namespace veloce::perplexity {
namespace {

// -log of the probability that softmax(logits) gives the token.
double negative_log_likelihood(std::span<const float> logits, std::int32_t token) {
  const float top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float l : logits) sum += double(std::exp(l - top));
  return std::log(sum) - double(logits[std::size_t(token)] - top);
}

// The chunks of one round of steps, one a sequence, and what is scored in the step at hand.
class Round {
 public:
  Round(model::Engine& engine, std::span<const std::int32_t> tokens, const Options& o,
        cpu::Pool& pool)
      : engine_(engine), tokens_(tokens), o_(o), pool_(pool) {}

  // Negative log likelihoods of chunks first .. first + count - 1, in order.
  Status run(int first, int count, std::vector<double>& out) {
    const int context = o_.context, scored = context - context / 2 - 1;
    out.assign(std::size_t(count) * std::size_t(scored), 0);
    for (int s = 0; s < count; ++s)
      if (Status st = engine_.truncate(s, 0); !st) return st;
    // One step where all chunks fit; a chunk longer than a step goes in pieces (count is 1 then).
    const int piece = std::min(context, engine_.max_batch() / count);
    for (int at = 0; at < context; at += piece)
      if (Status st = step(first, count, at, std::min(piece, context - at), out); !st) return st;
    for (int s = 0; s < count; ++s)
      if (Status st = engine_.truncate(s, 0); !st) return st;
    return {};
  }

 private:
  struct Wanted {
    int index;          // in the batch
    std::int32_t next;  // the token to predict
    std::size_t slot;   // in the output
  };

  Status step(int first, int count, int at, int n, std::vector<double>& out) {
    const int context = o_.context, half = context / 2, scored = context - half - 1;
    batch_.clear();
    wanted_.clear();
    for (int s = 0; s < count; ++s) {
      const auto chunk =
          tokens_.subspan(std::size_t(first + s) * std::size_t(context), std::size_t(context));
      for (int p = at; p < at + n; ++p) {
        const bool want = p >= half && p < context - 1;
        if (want)
          wanted_.push_back({int(batch_.size()), chunk[std::size_t(p) + 1],
                             std::size_t(s) * std::size_t(scored) + std::size_t(p - half)});
        batch_.push_back({p == 0 && o_.bos >= 0 ? o_.bos : chunk[std::size_t(p)], s, p, want});
      }
    }
    if (Status st = engine_.step(batch_); !st) return st;
    pool_.run([&](cpu::Worker& w) {
      cpu::Worker::Share share = w.share(int(wanted_.size()));
      for (int begin = 0, end = 0; share.next(begin, end);)
        for (int i = begin; i < end; ++i) {
          const Wanted& x = wanted_[std::size_t(i)];
          out[x.slot] = negative_log_likelihood(engine_.logits(x.index), x.next);
        }
    });
    for (const Wanted& x : wanted_)
      if (!std::isfinite(out[x.slot]))
        return Status(
            Code::kInternal,
            "the logits at token " +
                std::to_string(std::size_t(first) * std::size_t(context) + std::size_t(x.index)) +
                " of the text are not finite");
    return {};
  }

  model::Engine& engine_;
  std::span<const std::int32_t> tokens_;
  const Options& o_;
  cpu::Pool& pool_;
  std::vector<model::Token> batch_;
  std::vector<Wanted> wanted_;
};

Status check(const model::Engine& engine, std::span<const std::int32_t> tokens, const Options& o) {
  if (o.context < kMinContext || o.context > engine.context())
    return Status(Code::kInvalidArgument, "context " + std::to_string(o.context) + " is not in " +
                                              std::to_string(kMinContext) + " .. " +
                                              std::to_string(engine.context()));
  if (tokens.size() < std::size_t(o.context))
    return Status(Code::kInvalidArgument, "the text has " + std::to_string(tokens.size()) +
                                              " tokens, fewer than one chunk of " +
                                              std::to_string(o.context));
  for (const std::int32_t t : tokens)
    if (t < 0 || t >= engine.info().vocabulary)
      return Status(Code::kInvalidArgument,
                    "token " + std::to_string(t) + " is outside the vocabulary");
  return {};
}

}  // namespace

Shape shape_for(int context, int batch) {
  if (context >= batch) return {1, std::max(batch, 1)};
  const int sequences = batch / context;
  return {sequences, sequences * context};
}

Result<Score> measure(model::Engine& engine, std::span<const std::int32_t> tokens,
                      const Options& o) {
  if (Status s = check(engine, tokens, o); !s) return s;
  const std::size_t whole =
      std::min<std::size_t>(tokens.size() / std::size_t(o.context), std::size_t(1) << 30);
  const int chunks = o.chunks > 0 ? std::min(o.chunks, int(whole)) : int(whole);
  const int abreast = std::clamp(engine.max_batch() / o.context, 1, engine.max_sequences());
  cpu::Pool pool(engine.threads());
  Round round(engine, tokens, o, pool);
  Score score;
  std::vector<double> values;
  double sum = 0, squares = 0;
  for (int first = 0; first < chunks; first += abreast) {
    const int count = std::min(abreast, chunks - first);
    if (Status s = round.run(first, count, values); !s) return s;
    const std::size_t each = values.size() / std::size_t(count);
    for (int c = 0; c < count; ++c) {
      for (std::size_t i = 0; i < each; ++i) {
        const double v = values[std::size_t(c) * each + i];
        sum += v;
        squares += v * v;
      }
      score.scored += std::int64_t(each);
      score.running.push_back(std::exp(sum / double(score.scored)));
      if (o.progress && !o.progress(first + c + 1, chunks, score.running.back()))
        return Status(Code::kCancelled, "stopped");
    }
  }
  const double n = double(score.scored), mean = sum / n, variance = squares / n - mean * mean;
  score.perplexity = std::exp(mean);
  if (variance > 0 && n > 1) score.uncertainty = score.perplexity * std::sqrt(variance / (n - 1));
  return score;
}

}  // namespace veloce::perplexity

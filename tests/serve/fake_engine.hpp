// An engine without a model: the same contract, logits from a hash of the sequence's tokens.
// Answers are nonsense, but the same nonsense for the same tokens, so whatever the server does to a
// sequence that it should not do shows.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "veloce/gguf/file.hpp"
#include "veloce/model/engine.hpp"

namespace veloce::serve::test {

struct FakeSettings {
  std::chrono::microseconds step{0}, token{0};  // what a step and each of its tokens cost
  int vocabulary = 512;
  bool can_truncate = true;  // false: as architectures with recurrent state
  int poison = -1;           // a token that makes a step fail
};

class FakeEngine final : public model::Engine {
 public:
  FakeEngine(const model::EngineOptions& options, FakeSettings settings,
             std::unique_ptr<gguf::File> file)
      : settings_(settings), options_(options), file_(std::move(file)) {
    info_.architecture = "fake";
    info_.name = "fake";
    info_.file_type = "F32";
    info_.parameters = 1;
    info_.hidden = 8;
    info_.layers = 1;
    info_.vocabulary = settings.vocabulary;
    info_.trained_context = 4096;
    if (options_.context == 0) options_.context = info_.trained_context;
    sequences_.resize(static_cast<std::size_t>(options.sequences));
  }

  const model::ModelInfo& info() const override { return info_; }
  const model::MemoryPlan& memory() const override { return plan_; }
  const gguf::File& file() const override { return *file_; }
  int threads() const override { return 1; }
  int context() const override { return options_.context; }
  int max_sequences() const override { return options_.sequences; }
  int max_batch() const override { return options_.max_batch; }

  Status step(std::span<const model::Token> batch) override {
    ++steps;
    if (batch.empty() || static_cast<int>(batch.size()) > options_.max_batch)
      return bad("batch of " + std::to_string(batch.size()));
    std::vector<std::size_t> lengths;
    for (const auto& s : sequences_) lengths.push_back(s.size());
    for (const model::Token& token : batch) {
      if (token.sequence < 0 || token.sequence >= options_.sequences)
        return bad("sequence " + std::to_string(token.sequence));
      if (token.id < 0 || token.id >= info_.vocabulary)
        return bad("token " + std::to_string(token.id));
      if (token.id == settings_.poison) return bad("poisoned token");
      if (token.position != static_cast<int>(lengths[static_cast<std::size_t>(token.sequence)]++))
        return bad("position " + std::to_string(token.position));
      if (token.position >= options_.context) return bad("context full");
    }
    std::this_thread::sleep_for(settings_.step + settings_.token * batch.size());
    most_mixed = std::max(most_mixed.load(), static_cast<int>(batch.size()));
    tokens += static_cast<long>(batch.size());
    hashes_.assign(batch.size(), 0);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto& sequence = sequences_[static_cast<std::size_t>(batch[i].sequence)];
      const std::uint64_t before =
          sequence.empty() ? 1469598103934665603ULL : sequence.back().second;
      const std::uint64_t hash = mix(before + static_cast<std::uint64_t>(batch[i].id) + 1);
      sequence.emplace_back(batch[i].id, hash);
      if (batch[i].want_logits) hashes_[i] = hash;
    }
    return {};
  }

  std::span<const float> logits(int index) const override {
    const std::uint64_t hash = hashes_[static_cast<std::size_t>(index)];
    if (hash == 0) return {};
    logits_.resize(static_cast<std::size_t>(info_.vocabulary));
    for (std::size_t i = 0; i < logits_.size(); ++i)
      logits_[i] = static_cast<float>(mix(hash + i) >> 40) / 2097152.0f;
    return logits_;
  }
  std::span<const float> hidden(int index) const override {
    hidden_.resize(8);
    for (std::size_t i = 0; i < 8; ++i)
      hidden_[i] = static_cast<float>(mix(hashes_[static_cast<std::size_t>(index)] + i) >> 40) /
                       16777216.0f -
                   0.5f;
    return hidden_;
  }

  int length(int sequence) const override {
    return static_cast<int>(sequences_[static_cast<std::size_t>(sequence)].size());
  }
  Status truncate(int sequence, int length) override {
    auto& s = sequences_[static_cast<std::size_t>(sequence)];
    if (length > 0 && length < static_cast<int>(s.size()) && !settings_.can_truncate)
      return {Code::kUnsupported, "recurrent"};
    if (length < static_cast<int>(s.size())) s.resize(static_cast<std::size_t>(length));
    return {};
  }
  Status copy(int from, int to, int length) override {
    const auto& source = sequences_[static_cast<std::size_t>(from)];
    if (length > static_cast<int>(source.size()))
      return {Code::kInvalidArgument, "copy beyond the end"};
    if (length < static_cast<int>(source.size()) && !settings_.can_truncate)
      return {Code::kUnsupported, "recurrent"};
    sequences_[static_cast<std::size_t>(to)].assign(source.begin(), source.begin() + length);
    ++copies;
    return {};
  }
  Result<std::vector<std::byte>> serialize(int sequence) const override {
    const auto& s = sequences_[static_cast<std::size_t>(sequence)];
    std::vector<std::byte> bytes(s.size() * 16);
    for (std::size_t i = 0; i < s.size(); ++i) {
      const std::uint64_t id = static_cast<std::uint64_t>(s[i].first);
      std::memcpy(bytes.data() + 16 * i, &id, 8);
      std::memcpy(bytes.data() + 16 * i + 8, &s[i].second, 8);
    }
    return bytes;
  }
  Status restore(int sequence, std::span<const std::byte> bytes) override {
    auto& s = sequences_[static_cast<std::size_t>(sequence)];
    s.clear();
    if (bytes.size() % 16) return {Code::kCorrupt, "state size"};
    for (std::size_t i = 0; i < bytes.size(); i += 16) {
      std::uint64_t id, hash;
      std::memcpy(&id, bytes.data() + i, 8);
      std::memcpy(&hash, bytes.data() + i + 8, 8);
      s.emplace_back(static_cast<std::int32_t>(id), hash);
    }
    return {};
  }

  std::atomic<int> most_mixed{0}, copies{0};
  std::atomic<long> tokens{0}, steps{0};

 private:
  static Status bad(const std::string& what) {
    return {Code::kInvalidArgument, "fake engine: " + what};
  }
  static std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  }

  FakeSettings settings_;
  model::EngineOptions options_;
  std::unique_ptr<gguf::File> file_;
  model::ModelInfo info_;
  model::MemoryPlan plan_;
  std::vector<std::vector<std::pair<std::int32_t, std::uint64_t>>> sequences_;
  std::vector<std::uint64_t> hashes_;
  mutable std::vector<float> logits_, hidden_;
};

}  // namespace veloce::serve::test

// The loaded model as its users (server, bench, perplexity) see it: steps over batches of tokens,
// logits, and the per-sequence state. No tensor, format or device type appears here; an
// implementation is made by load_engine() (models/registry.hpp), which picks the architecture from
// the file.
//
// A sequence is a row of positions 0, 1, 2, ... with its own state, named by an index below
// max_sequences(). The same sequence of tokens gives the same logits, bit for bit, however it was
// cut into steps and whatever other sequences shared those steps.
//
// Threads: one caller at a time. Nothing here blocks on anything but the computation itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "veloce/core/status.hpp"

namespace veloce::gguf {
class File;
}

namespace veloce::model {

enum class CacheType { kF32, kF16, kBF16, kQ8_0 };  // element type of the stored keys and values
enum class Activations { kQ8, kF32 };               // what quantized weights are multiplied with

struct EngineOptions {
  std::string path;          // a GGUF file; of a split model any part
  int threads = 0;           // 0: all cores this process may use
  int context = 0;           // positions of one sequence; 0: what the model was trained for
  bool cap_context = false;  // at most what the model was trained for, whatever context says
  int sequences = 1;         // sequences that exist side by side
  int max_batch = 512;       // tokens of one step
  CacheType cache_k = CacheType::kF16;
  CacheType cache_v = CacheType::kF16;
  Activations activations = Activations::kQ8;
  bool check_tensors = true;  // look for NaN and infinity in the weights while loading
  std::size_t memory_limit =
      0;  // bytes; 0: what the machine has free. More than this is refused before it is taken
  // Called with fraction in [0, 1] while loading; may be empty. Returning false cancels the load.
  std::function<bool(float fraction)> progress;
};

// What loading takes, in bytes, known before any of it is taken.
struct MemoryPlan {
  std::size_t weights = 0;    // packed weights in memory
  std::size_t state = 0;      // all sequences at full context
  std::size_t workspace = 0;  // one step's intermediate values
  std::size_t total() const { return weights + state + workspace; }
};

struct Token {
  std::int32_t id = 0;
  std::int32_t sequence = 0;
  std::int32_t position = 0;  // must continue the sequence: its length at that point of the batch
  bool want_logits = false;
};

struct ModelInfo {
  std::string architecture, name, size_label, file_type;  // file_type: "Q4_K - Medium" and the like
  std::uint64_t parameters = 0, tensor_bytes = 0;
  int layers = 0, hidden = 0, vocabulary = 0, trained_context = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual const ModelInfo& info() const = 0;
  virtual const MemoryPlan& memory() const = 0;
  virtual const gguf::File& file()
      const = 0;  // metadata: tokenizer, chat template, sampling defaults
  virtual int threads() const = 0;
  virtual int context() const = 0;
  virtual int max_sequences() const = 0;
  virtual int max_batch() const = 0;

  // Reads the tokens into their sequences and computes the asked-for logits. A step may hold tokens
  // of many sequences; those of one sequence stand next to each other, in order of position. On an
  // error nothing was appended: kInvalidArgument for a wrong batch, kIo where the model's file can
  // no longer be read, kOutOfMemory for more rows of logits than before.
  virtual Status step(std::span<const Token> batch) = 0;

  // Logits after batch[index] of the last step (info().vocabulary floats). Empty if they were not
  // asked for. Valid until the next step.
  virtual std::span<const float> logits(int index) const = 0;

  // Output of the final norm after batch[index] of the last step, asked for like logits
  // (info().hidden floats).
  virtual std::span<const float> hidden(int index) const = 0;

  // Per-sequence state: number of positions held.
  virtual int length(int sequence) const = 0;
  // Forgets all positions from `length` on. Fails (kUnsupported) where the architecture cannot go
  // back that far.
  virtual Status truncate(int sequence, int length) = 0;
  // Makes `to` equal to the first `length` positions of `from`.
  virtual Status copy(int from, int to, int length) = 0;
  // The state of a sequence as bytes, and back (into a sequence of an engine with the same model
  // and cache types; anything else is refused with the field that differs).
  virtual Result<std::vector<std::byte>> serialize(int sequence) const = 0;
  virtual Status restore(int sequence, std::span<const std::byte> bytes) = 0;
};

}  // namespace veloce::model

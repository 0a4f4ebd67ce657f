#include "make_model.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "random_weights.hpp"
#include "type_mix.hpp"
#include "veloce/gguf/writer.hpp"

namespace veloce::bench {
namespace {

using gguf::synthetic::Role;
using gguf::synthetic::Shape;
using gguf::synthetic::TensorPlan;

// Deviation of a matrix's weights: outputs as large as inputs, and the sums into the residual
// stream small enough that it does not grow with the depth.
double deviation_of(const TensorPlan& tensor, const Shape& shape) {
  const double unit = 1.0 / std::sqrt(double(tensor.dims[0]));
  const bool into_residual = tensor.role == Role::kAttnOutput || tensor.role == Role::kDown;
  return into_residual ? unit / std::sqrt(2.0 * shape.layers) : unit;
}

Status write_norm(std::uint64_t count, std::uint64_t seed, const gguf::Writer::Sink& sink) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = 1.0f + 0.05f * random.normal();
  return sink(std::as_bytes(std::span(values)));
}

Status write_matrix(RandomWeights weights, std::uint64_t bytes, const gguf::Writer::Sink& sink) {
  constexpr std::size_t kPiece = 1 << 18;
  std::vector<std::byte> piece(kPiece / weights.block_bytes() * weights.block_bytes());
  while (bytes > 0) {
    const std::span<std::byte> part =
        std::span(piece).first(std::size_t(std::min<std::uint64_t>(bytes, piece.size())));
    weights.fill(part);
    if (Status s = sink(part); !s) return s;
    bytes -= part.size();
  }
  return {};
}

Status add_tensor(gguf::Writer& out, const TensorPlan& tensor, std::uint32_t type,
                  const Shape& shape, std::uint64_t seed, MadeModel& made) {
  std::uint64_t elements = 1;
  for (const std::uint64_t dim : tensor.dims) elements *= dim;
  const TypeInfo& info = *find_type(type);
  const std::uint64_t bytes = elements / info.values * info.bytes;
  made.parameters += elements;
  made.bytes += bytes;
  if (tensor.role == Role::kNorm)
    return out.add_tensor(tensor.name, type, tensor.dims,
                          [elements, seed](const gguf::Writer::Sink& sink) {
                            return write_norm(elements, seed, sink);
                          });
  const Result<RandomWeights> weights =
      RandomWeights::make(type, deviation_of(tensor, shape), seed);
  if (!weights) return weights.status();
  return out.add_tensor(tensor.name, type, tensor.dims,
                        [weights = *weights, bytes](const gguf::Writer::Sink& sink) {
                          return write_matrix(weights, bytes, sink);
                        });
}

}  // namespace

Result<MadeModel> make_model(const MakeModelOptions& options) {
  const Shape& shape = options.shape;
  if (Status s = gguf::synthetic::check(shape); !s) return s;
  const Result<TypeMix> mix = TypeMix::find(options.type);
  if (!mix) return mix.status();
  gguf::Writer out;
  const std::string name = "random " + shape.arch + " " + std::to_string(shape.hidden) + "x" +
                           std::to_string(shape.layers) + " " + std::string(mix->name());
  gguf::synthetic::set_metadata(out, shape, name, mix->file_type());
  MadeModel made;
  std::uint64_t index = 0;
  for (const TensorPlan& tensor : gguf::synthetic::plan_tensors(shape))
    if (Status s = add_tensor(out, tensor, mix->type_of(tensor, shape), shape,
                              options.seed + (++index << 32), made);
        !s)
      return s;
  if (Status s = out.write(options.output); !s) return s;
  return made;
}

void add_make_model(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "make-model", "Write a GGUF model of random weights, of any shape and type");
  auto options = std::make_shared<MakeModelOptions>();
  Shape& shape = options->shape;
  shape = {.arch = "qwen3",
           .hidden = 1024,
           .layers = 28,
           .heads = 16,
           .kv_heads = 8,
           .head_dim = 128,
           .ffn = 3072,
           .vocab = 32768,
           .context = 4096};
  command->add_option("--arch", shape.arch, "llama or qwen3")->capture_default_str();
  command
      ->add_option("--type", options->type,
                   "GGUF type of all matrices (Q4_K) or a mix of types (Q4_K_M)")
      ->capture_default_str();
  command->add_option("--hidden", shape.hidden, "Width of the residual stream")
      ->capture_default_str();
  command->add_option("--layers", shape.layers, "Number of layers")->capture_default_str();
  command->add_option("--heads", shape.heads, "Query heads")->capture_default_str();
  command->add_option("--kv-heads", shape.kv_heads, "Key and value heads; divides --heads")
      ->capture_default_str();
  command->add_option("--head-dim", shape.head_dim, "Values of a head")->capture_default_str();
  command->add_option("--ffn", shape.ffn, "Width of the feed-forward part")->capture_default_str();
  command->add_option("--vocab", shape.vocab, "Tokens of the (invented) vocabulary")
      ->capture_default_str();
  command->add_option("--context", shape.context, "Positions the model claims to be trained for")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Same seed, same file")->capture_default_str();
  command->add_flag("--tie", shape.tied, "Use the embedding as the output matrix");
  command->add_option("-o,--output", options->output, "File to write")->required();
  command->callback([options] {
    const auto begin = std::chrono::steady_clock::now();
    const Result<MadeModel> made = make_model(*options);
    if (!made) {
      std::fprintf(stderr, "make-model: %s\n", made.status().message().c_str());
      throw CLI::RuntimeError(1);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("%s: %s, %.3f billion weights in %s, %.1f MB, %.1f s\n", options->output.c_str(),
                options->shape.arch.c_str(), double(made->parameters) * 1e-9, options->type.c_str(),
                double(made->bytes) * 1e-6, seconds.count());
  });
}

}  // namespace veloce::bench

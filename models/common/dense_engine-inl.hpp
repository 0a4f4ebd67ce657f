// Bodies of models/common/dense_engine.hpp.
#pragma once

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "models/common/dense_engine.hpp"
#include "models/common/optimizations.hpp"
#include "veloce/gguf/file_type.hpp"

namespace veloce::models {

inline cpu::KvType kv_type(model::CacheType t) {
  switch (t) {
    case model::CacheType::kF32:
      return cpu::KvType::kF32;
    case model::CacheType::kBF16:
      return cpu::KvType::kBF16;
    case model::CacheType::kQ8_0:
      return cpu::KvType::kQ8_0;
    default:
      return cpu::KvType::kF16;
  }
}

// Bytes that the machine could give right now; 0 if unknown.
inline std::size_t available_memory() {
  std::size_t kb = 0;
  if (std::FILE* f = std::fopen("/proc/meminfo", "r")) {
    char line[256];
    unsigned long v = 0;
    while (std::fgets(line, sizeof line, f))
      if (std::sscanf(line, "MemAvailable: %lu kB", &v) == 1) kb = v;
    std::fclose(f);
  }
  return kb * 1024;
}

// What restored state must have in common with this engine: shapes, types and a sample of every
// tensor's bytes.
inline std::uint64_t fingerprint(const gguf::File& file) {
  std::uint64_t h = model::fnv1a(file.architecture().data(), file.architecture().size());
  for (const gguf::TensorInfo& t : file.tensors()) {
    h = model::fnv1a(t.name.data(), t.name.size(), h);
    h = model::fnv1a(&t.type, sizeof t.type, h);
    h = model::fnv1a(t.dims, sizeof t.dims, h);
    h = model::fnv1a(t.data, std::min<std::size_t>(64, t.bytes), h);
  }
  return h;
}

template <class Arch>
auto DenseEngine<Arch>::size_up(const gguf::File& file, const model::DenseParams& p,
                                const DenseTensors& tensors, const model::EngineOptions& o,
                                int threads, std::size_t weight_bytes) -> Result<Sizes> {
  const auto bad = [](const char* field, long value, const std::string& why) {
    return Status(Code::kInvalidArgument,
                  std::string(field) + " = " + std::to_string(value) + ": " + why);
  };
  if (o.context < 0) return bad("context", o.context, "must not be negative");
  if (o.sequences < 1 || o.sequences > 4096)
    return bad("sequences", o.sequences, "must be from 1 to 4096");
  if (o.max_batch < 1 || o.max_batch > 65536)
    return bad("max_batch", o.max_batch, "must be from 1 to 65536");
  if (threads < 1 || threads > 1024) return bad("threads", threads, "must be from 1 to 1024");
  Sizes s;
  const bool trained = o.context == 0 || (o.cap_context && o.context > p.trained_context);
  s.cache = {
      p.layers,    p.kv_heads,         p.head_dim,         trained ? p.trained_context : o.context,
      o.sequences, kv_type(o.cache_k), kv_type(o.cache_v), 0};
  if (s.cache.context > (1 << 28)) return bad("context", s.cache.context, "is more than 268435456");
  if ((s.cache.k_type == cpu::KvType::kQ8_0 || s.cache.v_type == cpu::KvType::kQ8_0) &&
      p.head_dim % 32 != 0)
    return bad("head_dim", p.head_dim, "a Q8_0 cache needs a multiple of 32");
  s.work = {o.max_batch, threads, s.cache.context, tensors.embedding->row_bytes()};
  const bool q8 = o.activations == model::Activations::kQ8;
  each_matrix(tensors, [&](const cpu::PackedMatrix& m) {
    int& widest = q8 && cpu::best_kernels().takes_q8(m.type) ? s.work.widest_q8 : s.work.widest_f32;
    widest = std::max(widest, m.k);
  });
  s.plan.weights = weight_bytes;
  s.plan.state = s.cache.bytes();
  s.plan.workspace = Workspace().lay_out(p, s.work, nullptr) +
                     std::size_t(o.sequences) * std::size_t(p.vocabulary) * sizeof(float);
  const std::size_t limit = o.memory_limit > 0 ? o.memory_limit : available_memory();
  const auto mib = [](std::size_t b) { return std::to_string(b >> 20) + " MiB"; };
  if (limit > 0 && s.plan.total() > limit)
    return Status(Code::kOutOfMemory,
                  file.path() + ": needs " + mib(s.plan.total()) + " (weights " +
                      mib(s.plan.weights) + ", state of " + std::to_string(o.sequences) + " x " +
                      std::to_string(s.cache.context) + " positions " + mib(s.plan.state) +
                      ", workspace " + mib(s.plan.workspace) + ") but only " + mib(limit) +
                      " may be used; a smaller context or fewer sequences would help");
  return s;
}

template <class Arch>
Result<model::MemoryPlan> DenseEngine<Arch>::plan(const gguf::File& file,
                                                  const model::EngineOptions& o, int threads) {
  Result<model::DenseParams> p = model::read_dense_params(file, std::string(Arch::kGgufName));
  if (!p) return p.status();
  model::Weights weights(file);
  DenseTensors tensors;
  if (Status s = plan_dense_tensors<Arch>(file, *p, weights, tensors); !s) return s;
  auto sizes = size_up(file, *p, tensors, o, threads, weights.bytes());
  if (!sizes) return sizes.status();
  return sizes->plan;
}

template <class Arch>
Result<std::unique_ptr<model::Engine>> DenseEngine<Arch>::load(gguf::File file,
                                                               const model::EngineOptions& o,
                                                               int threads) {
  Result<model::DenseParams> p = model::read_dense_params(file, std::string(Arch::kGgufName));
  if (!p) return p.status();
  // Checked once before the threads exist, with the real tensors planned below.
  if (auto planned = plan(file, o, threads); !planned) return planned.status();
  std::unique_ptr<DenseEngine> e(new DenseEngine(std::move(file), threads));
  e->p_ = *p;
  if (Status s = plan_dense_tensors<Arch>(e->file_, e->p_, e->weights_, e->tensors_); !s) return s;
  auto sizes = size_up(e->file_, e->p_, e->tensors_, o, threads, e->weights_.bytes());
  if (!sizes) return sizes.status();
  e->plan_ = sizes->plan;
  e->max_batch_ = sizes->work.batch;
  e->q8_ = o.activations == model::Activations::kQ8;
  e->kernels_ = &cpu::best_kernels();
  sizes->cache.model = fingerprint(e->file_);  // before load() drops the file's pages that it reads
  if (Status s = e->weights_.load(e->pool_, o.check_tensors, o.progress); !s) return s;
  e->rope_ = model::make_rope_table(e->p_.rope, e->tensors_.rope_factors);
  for (const double f : e->rope_.frequency)
    if (!std::isfinite(f))
      return Status(
          Code::kCorrupt,
          e->file_.path() + ": tensor \"rope_freqs.weight\" holds 0, which divides a frequency");
  auto cache = model::KvCache::create(sizes->cache);
  if (!cache) return cache.status();
  e->cache_ = *std::move(cache);
  e->pool_.run([&](cpu::Worker& w) {
    const std::span<std::byte> state = e->cache_.memory();
    constexpr std::size_t kPiece = std::size_t(1) << 21;
    auto share = w.share(int((state.size() + kPiece - 1) / kPiece));
    for (int begin, end; share.next(begin, end);) {
      const std::size_t from = std::size_t(begin) * kPiece,
                        to = std::min(state.size(), std::size_t(end) * kPiece);
      std::memset(state.data() + from, 0, to - from);
    }
  });
  auto arena =
      model::Arena::create(Workspace().lay_out(e->p_, sizes->work, nullptr), "the workspace");
  if (!arena) return arena.status();
  e->work_memory_ = *std::move(arena);
  e->work_.lay_out(e->p_, sizes->work, e->work_memory_.data());
  e->spans_.reserve(std::size_t(o.sequences));
  e->slots_.reserve(std::size_t(e->max_batch_));
  e->wanted_.reserve(std::size_t(e->max_batch_));
  model::ModelInfo& info = e->info_;
  const gguf::Metadata& m = e->file_.metadata();
  const auto text = [&](const char* key) {
    const auto v = m.get_or<std::string_view>(key, "");
    return std::string(v ? *v : std::string_view());
  };
  info.architecture = Arch::kGgufName;
  info.name = text("general.name");
  info.size_label = text("general.size_label");
  if (const auto type = m.get_or<std::uint64_t>("general.file_type", ~0ull))
    info.file_type = gguf::file_type_name(*type);
  for (const gguf::TensorInfo& t : e->file_.tensors()) info.parameters += t.elements();
  info.tensor_bytes = e->file_.tensor_bytes();
  info.layers = e->p_.layers;
  info.hidden = e->p_.hidden;
  info.vocabulary = e->p_.vocabulary;
  info.trained_context = e->p_.trained_context;
  return std::unique_ptr<model::Engine>(std::move(e));
}

template <class Arch>
Status DenseEngine<Arch>::truncate(int sequence, int length) {
  if (!valid(sequence)) return no_sequence(sequence);
  if (length < 0 || length > cache_.length(sequence))
    return Status(Code::kInvalidArgument, "cannot cut sequence " + std::to_string(sequence) +
                                              " to length " + std::to_string(length) + ": it has " +
                                              std::to_string(cache_.length(sequence)));
  cache_.truncate(sequence, length);
  return {};
}

template <class Arch>
Status DenseEngine<Arch>::copy(int from, int to, int length) {
  if (!valid(from)) return no_sequence(from);
  if (!valid(to)) return no_sequence(to);
  if (length < 0 || length > cache_.length(from))
    return Status(Code::kInvalidArgument, "cannot copy " + std::to_string(length) +
                                              " positions of sequence " + std::to_string(from) +
                                              ": it has " + std::to_string(cache_.length(from)));
  if (from == to)
    cache_.truncate(to, length);
  else
    cache_.copy(from, to, length);
  return {};
}

template <class Arch>
Status DenseEngine<Arch>::check_batch(std::span<const model::Token> batch) {
  const auto bad = [](std::size_t i, const std::string& why) {
    return Status(Code::kInvalidArgument, "batch token " + std::to_string(i) + ": " + why);
  };
  if (batch.size() > std::size_t(max_batch_))
    return Status(Code::kInvalidArgument, "a batch of " + std::to_string(batch.size()) +
                                              " tokens, the engine takes " +
                                              std::to_string(max_batch_));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const model::Token& t = batch[i];
    if (!valid(t.sequence)) return bad(i, no_sequence(t.sequence).message());
    if (t.id < 0 || t.id >= p_.vocabulary)
      return bad(i, "id " + std::to_string(t.id) + " is not in the vocabulary of " +
                        std::to_string(p_.vocabulary));
    const bool continues = i > 0 && batch[i - 1].sequence == t.sequence;
    if (!continues)
      for (std::size_t j = 0; j < i; ++j)
        if (batch[j].sequence == t.sequence)
          return bad(i, "the tokens of sequence " + std::to_string(t.sequence) +
                            " do not stand next to each other");
    const int expected = continues ? batch[i - 1].position + 1 : cache_.length(t.sequence);
    if (t.position != expected)
      return bad(i, "position " + std::to_string(t.position) + " of sequence " +
                        std::to_string(t.sequence) + ", expected " + std::to_string(expected));
    if (t.position >= context())
      return bad(i, "position " + std::to_string(t.position) + " is beyond the context of " +
                        std::to_string(context()));
  }
  return {};
}

// Reads the batch's rows of the embedding. They are not looked up in the file's mapping: its pages
// would stay resident beside the same matrix packed as the output, 16 pages around every token.
template <class Arch>
Status DenseEngine<Arch>::fetch_rows(std::span<const model::Token> batch) {
  const gguf::TensorInfo& e = *tensors_.embedding;
  const std::size_t row = e.row_bytes();
  for (std::size_t c = 0; c < batch.size(); ++c)
    if (Status s = file_.read(e, std::size_t(batch[c].id) * row, {work_.embedded + c * row, row});
        !s)
      return s;
  return {};
}

template <class Arch>
void DenseEngine<Arch>::find_spans(std::span<const model::Token> batch) {
  spans_.clear();
  sequences_.clear();
  slots_.clear();
  wanted_.clear();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const model::Token& t = batch[i];
    if (i == 0 || batch[i - 1].sequence != t.sequence) {
      spans_.push_back({int(i), 0, t.position, cache_.view(t.sequence, 0)});
      sequences_.push_back(t.sequence);
    }
    ++spans_.back().count;
    slots_.push_back(t.want_logits ? int(wanted_.size()) : -1);
    if (t.want_logits) wanted_.push_back(int(i));
  }
}

template <class Arch>
Status DenseEngine<Arch>::step(std::span<const model::Token> batch) {
  if (Status s = check_batch(batch); !s) return s;
  if (Status s = fetch_rows(batch); !s) {
    slots_.clear();  // the last step's results have lost their place
    return s;
  }
  find_spans(batch);
  if (batch.empty()) return {};
  if (wanted_.size() > logits_rows_) {
    logits_.reset(new (std::nothrow) float[wanted_.size() * std::size_t(p_.vocabulary) + 16]);
    logits_rows_ = logits_ ? wanted_.size() : 0;
    if (!logits_) {
      slots_.clear();
      return Status(Code::kOutOfMemory,
                    "no memory for " + std::to_string(wanted_.size()) + " rows of logits");
    }
  }
  work_.logits = logits_.get();
  pool_.run([&](cpu::Worker& w) { forward(w, batch); });
  for (std::size_t i = 0; i < spans_.size(); ++i) cache_.advance(sequences_[i], spans_[i].count);
  return {};
}

template <class Arch>
void DenseEngine<Arch>::forward(cpu::Worker& w, std::span<const model::Token> batch) {
  int n = int(batch.size());
  embed(w, batch);
  for (int i = 0; i < p_.layers; ++i) {
    const DenseLayer& l = tensors_.layers[std::size_t(i)];
    attend(w, l, i, n);
    if (i + 1 == p_.layers) {
      n = int(wanted_.size());
      if (n == 0) return;
      keep_wanted(w);
    }
    const Inputs in = prepare(w, work_.attended, nullptr, p_.q_dim(), n, {&l.o});
    product(w, l.o, in, cpu::Finish::kAdd, l.o_bias, work_.x, p_.hidden);
    w.barrier();
    feed_forward(w, l, n);
  }
  auto share = w.share(n);
  for (int begin, end; share.next(begin, end);)
    for (int c = begin; c < end; ++c)
      kernels_->rms_norm(work_.x + std::size_t(c) * std::size_t(p_.hidden), tensors_.output_norm,
                         p_.hidden, p_.norm_epsilon,
                         work_.hidden + std::size_t(c) * std::size_t(p_.hidden));
  w.barrier();
  const Inputs in = prepare(w, work_.hidden, nullptr, p_.hidden, n, {&tensors_.output});
  product(w, tensors_.output, in, cpu::Finish::kStore, nullptr, work_.logits, p_.vocabulary);
}

template <class Arch>
void DenseEngine<Arch>::embed(cpu::Worker& w, std::span<const model::Token> batch) {
  const gguf::TensorInfo& e = *tensors_.embedding;
  const std::size_t row_bytes = e.row_bytes();
  auto share = w.share(int(batch.size()));
  for (int begin, end; share.next(begin, end);)
    for (int c = begin; c < end; ++c) {
      const model::Token& t = batch[std::size_t(c)];
      // The type was checked when the tensors were planned.
      (void)cpu::dequantize_row(e.type, work_.embedded + std::size_t(c) * row_bytes, p_.hidden,
                                work_.x + std::size_t(c) * std::size_t(p_.hidden))
          .ok();
      rope_.fill(t.position, work_.rope + std::size_t(c) * std::size_t(p_.rope.rotated));
    }
  w.barrier();
}

// The inputs of `users`: rows of x, normed if norm is given, rounded or as floats as the weights'
// types ask.
template <class Arch>
Inputs DenseEngine<Arch>::prepare(cpu::Worker& w, const float* x, const float* norm, int k, int n,
                                  std::initializer_list<const cpu::PackedMatrix*> users) {
  bool q8 = false, f32 = false;
  for (const cpu::PackedMatrix* m : users) (q8_ && kernels_->takes_q8(m->type) ? q8 : f32) = true;
  Inputs in = work_.inputs(w.index(), k, n, q8, f32);
  const auto columns = [&](int begin, int end) {
    kernels_->prepare(x, std::size_t(k), norm, p_.norm_epsilon, begin, end, q8 ? &in.q8 : nullptr,
                      f32 ? &in.f32 : nullptr, work_.row(w.index()));
  };
  if (n <= kPrivateColumns) {
    columns(0, n);
    return in;
  }
  auto share = w.share(n);
  for (int begin, end; share.next(begin, end);) columns(begin, end);
  w.barrier();
  return in;
}

template <class Arch>
void DenseEngine<Arch>::product(cpu::Worker& w, const cpu::PackedMatrix& m, const Inputs& in,
                                cpu::Finish finish, const float* bias, float* out, int stride) {
  cpu::Matmul op;
  op.weights = &m;
  (q8_ && kernels_->takes_q8(m.type)) ? op.q8 = &in.q8 : nullptr;
  if (op.q8 == nullptr) op.f32 = &in.f32;
  op.finish = finish;
  op.bias = bias;
  op.out = out;
  op.stride = std::size_t(stride);
  op.read_ahead = read_ahead(m);
  op.scratch = work_.scratch(w.index());
  kernels_->matmul(w, op);
}

template <class Arch>
void DenseEngine<Arch>::attend(cpu::Worker& w, const DenseLayer& l, int index, int n) {
  const Inputs in = prepare(w, work_.x, l.attn_norm, p_.hidden, n, {&l.q, &l.k, &l.v});
  product(w, l.q, in, cpu::Finish::kStore, l.q_bias, work_.q, p_.q_dim());
  product(w, l.k, in, cpu::Finish::kStore, l.k_bias, work_.k, p_.kv_dim());
  product(w, l.v, in, cpu::Finish::kStore, l.v_bias, work_.v, p_.kv_dim());
  w.barrier();
  cpu::Attention a;
  a.heads = p_.heads;
  a.kv_heads = p_.kv_heads;
  a.dim = p_.head_dim;
  a.scale = p_.attention_scale;
  a.q = work_.q;
  a.k = work_.k;
  a.v = work_.v;
  a.q_stride = std::size_t(p_.q_dim());
  a.k_stride = a.v_stride = std::size_t(p_.kv_dim());
  a.q_norm = l.q_norm;
  a.k_norm = l.k_norm;
  a.norm_epsilon = p_.norm_epsilon;
  a.rope = work_.rope;
  a.rotated = p_.rope.rotated;
  a.neox = Arch::kNeoxRope;
  a.spans = spans_.data();
  a.span_count = int(spans_.size());
  a.columns = n;
  a.kv_offset = std::size_t(index) * cache_.shape().layer_bytes();
  a.out = work_.attended;
  a.scratch = work_.scratch(w.index());
  a.partials = work_.partials;
  a.partials_size = split_attention_switch.on() ? work_.partials_size : 0;
  kernels_->attention(w, a);
  w.barrier();
}

// Moves the rows whose logits are wanted to the front. Targets never lie behind their sources.
template <class Arch>
void DenseEngine<Arch>::keep_wanted(cpu::Worker& w) {
  const auto move_row = [&](float* rows, int width, std::size_t to, int from) {
    if (int(to) != from)
      std::memcpy(rows + to * std::size_t(width), rows + std::size_t(from) * std::size_t(width),
                  std::size_t(width) * sizeof(float));
  };
  if (w.index() == 0)
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      move_row(work_.x, p_.hidden, i, wanted_[i]);
      move_row(work_.attended, p_.q_dim(), i, wanted_[i]);
    }
  w.barrier();
}

template <class Arch>
void DenseEngine<Arch>::feed_forward(cpu::Worker& w, const DenseLayer& l, int n) {
  const Inputs in = prepare(w, work_.x, l.ffn_norm, p_.hidden, n, {&l.gate, &l.up});
  cpu::Matmul op;
  op.weights = &l.gate;
  op.second = &l.up;
  op.q8 = in.has_q8 ? &in.q8 : nullptr;
  op.f32 = in.has_f32 ? &in.f32 : nullptr;
  op.finish = cpu::Finish::kSwiGlu;
  op.bias = l.gate_bias;
  op.second_bias = l.up_bias;
  op.out = work_.h;
  op.stride = std::size_t(p_.ffn);
  op.read_ahead = read_ahead(l.gate);
  op.scratch = work_.scratch(w.index());
  kernels_->matmul(w, op);
  w.barrier();
  const Inputs hidden = prepare(w, work_.h, nullptr, p_.ffn, n, {&l.down});
  product(w, l.down, hidden, cpu::Finish::kAdd, l.down_bias, work_.x, p_.hidden);
  w.barrier();
}

}  // namespace veloce::models

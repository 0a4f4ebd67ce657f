// CPU attention at every instruction-set level against ref::attention, for every cache type; and
// its promise that a query's result has the same bits whole, in chunks or token by token, alone or
// beside other sequences, on any threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "levels.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random_data.hpp"
#include "veloce/core/numeric.hpp"
#include "veloce/formats/q8_0.hpp"
#include "veloce/ref/attention.hpp"
#include "veloce/ref/rms_norm.hpp"
#include "veloce/ref/rope.hpp"

using namespace veloce;
using namespace veloce::test;

namespace {

constexpr double kUnit = 0x1p-24;
using Floats = std::vector<float>;

const char* name_of(cpu::KvType t) {
  switch (t) {
    case cpu::KvType::kF32:
      return "F32";
    case cpu::KvType::kF16:
      return "F16";
    case cpu::KvType::kBF16:
      return "BF16";
    default:
      return "Q8_0";
  }
}

// What a cache of this type gives back for x.
Floats through_cache(const Floats& x, cpu::KvType type) {
  Floats out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (type == cpu::KvType::kF32) out[i] = x[i];
    if (type == cpu::KvType::kF16) out[i] = half_to_float(float_to_half(x[i]));
    if (type == cpu::KvType::kBF16) out[i] = bf16_to_float(float_to_bf16(x[i]));
    if (type == cpu::KvType::kQ8_0 && i % 32 == 0) {
      Q8_0::Block block;
      Q8_0::quantize_row(&x[i], &block, 32);
      Q8_0::decode(block, &out[i]);
    }
  }
  return out;
}

struct Shape {
  int heads = 4, kv_heads = 2, dim = 64, length = 40;
  cpu::KvType k_type = cpu::KvType::kF32, v_type = cpu::KvType::kF32;
  bool norm = false, neox = false;
  int rotated = 0;  // 0: the heads don't turn
  float scale() const { return 1.0f / std::sqrt(float(dim)); }
  std::string text() const {
    return std::to_string(heads) + " heads, " + std::to_string(kv_heads) + " key heads, dim " +
           std::to_string(dim) + ", length " + std::to_string(length) + ", cache " +
           name_of(k_type) + "/" + name_of(v_type) + ", rotated " + std::to_string(rotated) +
           (norm ? ", norm" : "");
  }
};

// One sequence: what comes in for each position, before norm and rotation.
struct Sequence {
  Shape shape;
  Floats q, k, v, rope, q_norm, k_norm;

  Sequence(Random& random, const Shape& s) : shape(s) {
    const std::size_t n = std::size_t(s.length), dim = std::size_t(s.dim);
    q.resize(n * std::size_t(s.heads) * dim);
    k.resize(n * std::size_t(s.kv_heads) * dim);
    v.resize(k.size());
    random.fill_normal(q.data(), q.size(), 1.5f);
    random.fill_normal(k.data(), k.size(), 1.5f);
    random.fill_normal(v.data(), v.size());
    rope.resize(n * std::size_t(s.rotated));
    for (std::size_t i = 0; i + 1 < rope.size(); i += 2) {
      const double angle = random.normal(3);
      rope[i] = float(std::cos(angle));
      rope[i + 1] = float(std::sin(angle));
    }
    q_norm.resize(dim);
    k_norm.resize(dim);
    for (float& w : q_norm) w = 1 + random.normal(0.1f);
    for (float& w : k_norm) w = 1 + random.normal(0.1f);
  }
};

constexpr float kEpsilon = 1e-6f;

struct Expected {
  Floats out;
  std::vector<double> bound;
};

Expected oracle(const Sequence& s) {
  const Shape& h = s.shape;
  Floats q = s.q, k = s.k;
  if (h.norm) {
    REQUIRE(
        ref::rms_norm({h.length * h.heads, h.dim, s.q.data(), s.q_norm.data(), kEpsilon, q.data()})
            .ok());
    REQUIRE(ref::rms_norm(
                {h.length * h.kv_heads, h.dim, s.k.data(), s.k_norm.data(), kEpsilon, k.data()})
                .ok());
  }
  if (h.rotated > 0) {
    REQUIRE(ref::rope({h.length, h.heads, h.dim, h.rotated, h.neox, s.rope.data(), q.data()}).ok());
    REQUIRE(
        ref::rope({h.length, h.kv_heads, h.dim, h.rotated, h.neox, s.rope.data(), k.data()}).ok());
  }
  const Floats kept_k = through_cache(k, h.k_type), kept_v = through_cache(s.v, h.v_type);
  Expected e;
  e.out.resize(q.size());
  const Status status = ref::attention({h.heads, h.kv_heads, h.dim, h.length, h.length, h.scale(),
                                        q.data(), kept_k.data(), kept_v.data(), e.out.data()});
  REQUIRE_MESSAGE(status.ok(), status.message());
  // Bound: a score is off by one rounding a dimension of the sum of |q k|; p by that, exp's 2
  // roundings and the sum's one a lane step; the output likewise, relative to the largest |v|.
  const bool turned = h.norm || h.rotated > 0;
  double largest_q = 0, largest_k = 0, largest_v = 0;
  const std::size_t dim = std::size_t(h.dim);
  for (std::size_t i = 0; i < q.size(); i += dim) {
    double sum = 0;
    for (std::size_t d = 0; d < dim; ++d) sum += double(q[i + d]) * double(q[i + d]);
    largest_q = std::max(largest_q, std::sqrt(sum));
  }
  for (std::size_t i = 0; i < k.size(); i += dim) {
    double sum = 0;
    for (std::size_t d = 0; d < dim; ++d) sum += double(kept_k[i + d]) * double(kept_k[i + d]);
    largest_k = std::max(largest_k, std::sqrt(sum));
  }
  for (const float x : kept_v) largest_v = std::max(largest_v, std::fabs(double(x)));
  // |q|.|k| bounds the sum of magnitudes (Cauchy). Norm and rotation round some ten times more.
  const double score =
      double(h.scale()) * largest_q * largest_k * (h.dim + 2 + (turned ? 24 : 0)) * kUnit;
  e.bound.assign(q.size(), largest_v * (2 * score + (h.length + 24) * kUnit));
  return e;
}

// The caches of some sequences, ending at unreadable pages.
struct Caches {
  std::vector<GuardedBytes> k, v;
  std::vector<cpu::KvView> views;

  void add(const Shape& s) {
    const std::size_t positions = (std::size_t(s.length) + 15) / 16 * 16;
    cpu::KvView view;
    view.k_head = positions * cpu::kv_bytes(s.k_type, s.dim);
    view.v_head = positions * cpu::kv_bytes(s.v_type, s.dim);
    k.emplace_back(view.k_head * std::size_t(s.kv_heads), 4);
    v.emplace_back(view.v_head * std::size_t(s.kv_heads), 4);
    // What was never written must not matter: NaN in all float types.
    std::memset(k.back().data(), 0xFF, k.back().size());
    std::memset(v.back().data(), 0xFF, v.back().size());
    view.k = k.back().data();
    view.v = v.back().data();
    view.k_type = s.k_type;
    view.v_type = s.v_type;
    views.push_back(view);
  }
};

// Feeds sequences of equal shape: in step i, steps[i][j] positions of sequence j. Returns each
// sequence's outputs.
std::vector<Floats> feed(const cpu::Kernels& kernels, const std::vector<const Sequence*>& all,
                         const std::vector<std::vector<int>>& steps, int threads,
                         bool may_split = true) {
  const Shape& h = all[0]->shape;
  const std::size_t qd = std::size_t(h.heads) * std::size_t(h.dim),
                    kd = std::size_t(h.kv_heads) * std::size_t(h.dim);
  Caches caches;
  int context = 0;
  for (const Sequence* s : all) {
    caches.add(s->shape);
    context = std::max(context, s->shape.length);
  }
  std::vector<int> length(all.size());
  std::vector<Floats> out(all.size());
  cpu::Pool pool(threads);
  std::vector<GuardedBytes> scratch;
  for (int t = 0; t < threads; ++t) scratch.emplace_back(cpu::attention_scratch_bytes(h.dim), 64);
  Guarded<float> partials(may_split ? cpu::attention_partials(2 * threads, h.dim, context) : 0);
  for (const std::vector<int>& step : steps) {
    std::vector<cpu::Span> spans;
    int columns = 0;
    for (std::size_t j = 0; j < step.size(); ++j)
      if (step[j] > 0) {
        spans.push_back({columns, step[j], length[j], caches.views[j]});
        columns += step[j];
      }
    const std::size_t n = std::size_t(columns);
    Guarded<float> q(n * qd), k(n * kd), v(n * kd), rope(n * std::size_t(h.rotated)),
        result(n * qd);
    for (const cpu::Span& span : spans) {
      const std::size_t j =
          std::size_t(std::find_if(caches.views.begin(), caches.views.end(),
                                   [&](const auto& view) { return view.k == span.kv.k; }) -
                      caches.views.begin());
      const std::size_t first = std::size_t(span.first), from = std::size_t(length[j]),
                        count = std::size_t(span.count);
      std::copy_n(&all[j]->q[from * qd], count * qd, &q[first * qd]);
      std::copy_n(&all[j]->k[from * kd], count * kd, &k[first * kd]);
      std::copy_n(&all[j]->v[from * kd], count * kd, &v[first * kd]);
      if (h.rotated)
        std::copy_n(&all[j]->rope[from * std::size_t(h.rotated)], count * std::size_t(h.rotated),
                    &rope[first * std::size_t(h.rotated)]);
    }
    pool.run([&](cpu::Worker& w) {
      cpu::Attention a;
      a.heads = h.heads;
      a.kv_heads = h.kv_heads;
      a.dim = h.dim;
      a.scale = h.scale();
      a.q = q.data();
      a.k = k.data();
      a.v = v.data();
      a.q_stride = qd;
      a.k_stride = a.v_stride = kd;
      a.q_norm = h.norm ? all[0]->q_norm.data() : nullptr;
      a.k_norm = h.norm ? all[0]->k_norm.data() : nullptr;
      a.norm_epsilon = kEpsilon;
      a.rope = rope.data();
      a.rotated = h.rotated;
      a.neox = h.neox;
      a.spans = spans.data();
      a.span_count = int(spans.size());
      a.columns = columns;
      a.out = result.data();
      a.scratch = scratch[std::size_t(w.index())].data();
      a.partials = partials.data();
      a.partials_size = partials.size();
      kernels.attention(w, a);
    });
    std::size_t at = 0;
    for (std::size_t j = 0; j < step.size(); ++j) {
      const std::size_t count = std::size_t(step[j]) * qd;
      out[j].insert(out[j].end(), result.begin() + at, result.begin() + at + count);
      at += count;
      length[j] += step[j];
    }
  }
  return out;
}

void check_within(const Floats& got, const Expected& want) {
  REQUIRE(got.size() == want.out.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(double(got[i]) - double(want.out[i]));
    if (error <= want.bound[i]) continue;
    FAIL_CHECK("element ", i, ": ", got[i], ", the oracle has ", want.out[i], ", off by ", error,
               ", allowed ", want.bound[i]);
    return;
  }
}

std::vector<std::vector<int>> cut(Random& random, int length, int most) {
  std::vector<std::vector<int>> steps;
  while (length > 0) {
    const int n = std::min(length, random.from(1, most));
    steps.push_back({n});
    length -= n;
  }
  return steps;
}

void check_shape(Random& random, const Shape& shape) {
  INFO(shape.text());
  const Sequence s(random, shape);
  const Expected want = oracle(s);
  Floats first;
  for (const cpu::Kernels* kernels : levels()) {
    INFO(cpu::isa_name(kernels->isa));
    const Floats whole = feed(*kernels, {&s}, {{shape.length}}, 1)[0];
    check_within(whole, want);
    if (first.empty()) first = whole;
    CHECK(first_difference(first, whole) == -1);
    CHECK(first_difference(whole, feed(*kernels, {&s}, cut(random, shape.length, 70), 1)[0]) == -1);
    CHECK(first_difference(whole, feed(*kernels, {&s}, {{shape.length}}, 4)[0]) == -1);
    if (shape.length > 1)
      CHECK(first_difference(whole, feed(*kernels, {&s}, {{shape.length - 1}, {1}}, 4)[0]) == -1);
  }
}

}  // namespace

TEST_CASE("head sizes, groups and cache types") {
  Random random(1);
  for (const int dim : {2, 8, 16, 20, 32, 40, 48, 64, 80, 100, 128, 256})
    for (const int group : {1, 2, 3, 7, 8}) {
      const cpu::KvType types[] = {cpu::KvType::kF32, cpu::KvType::kF16, cpu::KvType::kBF16,
                                   cpu::KvType::kQ8_0};
      Shape s;
      s.kv_heads = random.from(1, 2);
      s.heads = group * s.kv_heads;
      s.dim = dim;
      s.length = random.from(1, 60);
      s.k_type = types[random.from(0, dim % 32 == 0 ? 3 : 2)];
      s.v_type = types[random.from(0, dim % 32 == 0 ? 3 : 2)];
      check_shape(random, s);
    }
}

TEST_CASE("lengths around tiles and chunks, every cache type") {
  Random random(2);
  for (const cpu::KvType type :
       {cpu::KvType::kF32, cpu::KvType::kF16, cpu::KvType::kBF16, cpu::KvType::kQ8_0})
    for (const int length : {1, 2, 15, 16, 17, 255, 256, 257, 513}) {
      Shape s{
          .heads = 2, .kv_heads = 1, .dim = 32, .length = length, .k_type = type, .v_type = type};
      check_shape(random, s);
    }
}

TEST_CASE("norms and rotation of heads") {
  Random random(3);
  for (const int dim : {20, 32, 64, 128})
    for (const bool neox : {false, true})
      for (const bool norm : {false, true})
        for (const int rotated : {dim, dim / 2, 2}) {
          Shape s{.heads = 4, .kv_heads = 2, .dim = dim, .length = random.from(1, 50)};
          s.norm = norm;
          s.neox = neox;
          s.rotated = rotated;
          check_shape(random, s);
        }
}

TEST_CASE("token by token gives the bits of the whole") {
  Random random(4);
  const std::pair<cpu::KvType, int> cases[] = {
      {cpu::KvType::kF16, 32}, {cpu::KvType::kQ8_0, 32}, {cpu::KvType::kBF16, 20}};
  for (const auto& [type, dim] : cases) {
    Shape s{.heads = 6, .kv_heads = 2, .dim = dim, .length = 280, .k_type = type, .v_type = type};
    s.rotated = dim;
    s.norm = true;
    const Sequence sequence(random, s);
    for (const cpu::Kernels* kernels : levels()) {
      const Floats whole = feed(*kernels, {&sequence}, {{s.length}}, 1)[0];
      const std::vector<std::vector<int>> ones(std::size_t(s.length), {1});
      CHECK(first_difference(whole, feed(*kernels, {&sequence}, ones, 1)[0]) == -1);
      CHECK(first_difference(whole, feed(*kernels, {&sequence}, ones, 3)[0]) == -1);
    }
  }
}

TEST_CASE("other sequences in the step change nothing") {
  Random random(5);
  Shape s{.heads = 4,
          .kv_heads = 2,
          .dim = 32,
          .length = 270,
          .k_type = cpu::KvType::kF16,
          .v_type = cpu::KvType::kF16};
  s.rotated = 32;
  Shape s2 = s, s3 = s;
  s2.length = 40;
  s3.length = 530;
  const Sequence a(random, s), b(random, s2), c(random, s3);
  // Norm weights are shared by a batch; these shapes have none. Columns of all three in one step,
  // at different speeds.
  const std::vector<std::vector<int>> steps = {{100, 10, 500}, {170 - 20, 0, 1}, {1, 1, 1},
                                               {0, 29, 27},    {1, 0, 0},        {18, 0, 1}};
  for (const cpu::Kernels* kernels : levels())
    for (const int threads : {1, 2, 5}) {
      const auto together = feed(*kernels, {&a, &b, &c}, steps, threads);
      CHECK(first_difference(together[0], feed(*kernels, {&a}, {{s.length}}, 1)[0]) == -1);
      CHECK(first_difference(together[1], feed(*kernels, {&b}, {{s2.length}}, 1)[0]) == -1);
      CHECK(first_difference(together[2], feed(*kernels, {&c}, {{s3.length}}, 1)[0]) == -1);
    }
}

TEST_CASE("a long sequence split over many threads") {
  Random random(6);
  for (const int group : {1, 8}) {
    Shape s{.heads = group,
            .kv_heads = 1,
            .dim = 16,
            .length = 800,
            .k_type = cpu::KvType::kF16,
            .v_type = cpu::KvType::kF16};
    const Sequence sequence(random, s);
    const Expected want = oracle(sequence);
    for (const cpu::Kernels* kernels : levels()) {
      const std::vector<std::vector<int>> steps = {{765}, {1}, {3}, {1}, {30}};
      const Floats one = feed(*kernels, {&sequence}, steps, 1)[0];
      check_within(one, want);
      for (const int threads : {2, 9})
        CHECK(first_difference(one, feed(*kernels, {&sequence}, steps, threads)[0]) == -1);
      CHECK(first_difference(one, feed(*kernels, {&sequence}, steps, 3, false)[0]) == -1);
    }
  }
}

// Keys and values beyond what the cache's type holds stay finite, and queries that do not see them
// do not feel them.
TEST_CASE("numbers too large for the cache") {
  Random random(8);
  for (const cpu::KvType type : {cpu::KvType::kF16, cpu::KvType::kQ8_0}) {
    Shape s{.heads = 2, .kv_heads = 1, .dim = 32, .length = 60, .k_type = type, .v_type = type};
    Sequence plain(random, s);
    Sequence huge = plain;
    const std::size_t last = std::size_t(s.length - 1) * 32;
    for (std::size_t d = 0; d < 32; ++d) {
      huge.k[last + d] *= 1e30f;
      huge.v[last + d] *= -1e30f;
    }
    for (const cpu::Kernels* kernels : levels()) {
      const Floats got = feed(*kernels, {&huge}, {{s.length}}, 2)[0];
      for (const float x : got) REQUIRE(std::isfinite(x));
      const std::size_t seen_by_none = last * 2;  // outputs of the queries before the last
      const Floats want = feed(*kernels, {&plain}, {{s.length}}, 2)[0];
      CHECK(std::equal(got.begin(), got.begin() + std::ptrdiff_t(seen_by_none), want.begin()));
    }
  }
}

// Scores so far apart that all but one weight vanish, and equal scores.
TEST_CASE("extreme scores") {
  Random random(7);
  Shape s{.heads = 2, .kv_heads = 1, .dim = 32, .length = 300};
  Sequence steep(random, s), flat(random, s);
  for (float& x : steep.q) x *= 40;
  for (float& x : flat.q) x = 0;
  for (const cpu::Kernels* kernels : levels()) {
    for (const Sequence* sequence : {&steep, &flat}) {
      const Floats got = feed(*kernels, {sequence}, {{s.length}}, 2)[0];
      for (const float x : got) REQUIRE(std::isfinite(x));
      check_within(got, oracle(*sequence));
    }
  }
}

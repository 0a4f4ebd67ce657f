// The cost model: its counting on accesses of known shape, and its estimates against published
// figures.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>

#include "cost_figures.hpp"
#include "kernels.hpp"
#include "profile/profiler.hpp"

using namespace gfx906::profile;
using gfx906::Dispatch;
using gfx906::MemAccess;
using gfx906::Space;

namespace {

MemAccess access(Space space, uint32_t bytes, uint64_t stride, uint64_t lanes = ~0ull) {
  MemAccess m;
  m.space = space;
  m.load = true;
  m.bytes = bytes;
  m.lanes = lanes;
  for (uint64_t l = 0; l < 64; ++l) m.addr[l] = 0x10000 + l * stride;
  return m;
}

Dispatch matvec(const gfx906::CodeObject& object, const gfx906_test::Args& args, uint32_t rows) {
  Dispatch d;
  d.kernel = object.find_kernel("matvec_i8");
  REQUIRE(d.kernel);
  d.block = {256, 1, 1};
  d.grid = {rows * 64, 1, 1};
  d.kernarg = args.bytes;
  return d;
}

}  // namespace

TEST_CASE("LDS clocks: banks, widths, broadcasts") {
  CHECK(lds_clocks(access(Space::kLds, 4, 4)).clocks == 2);
  CHECK(lds_clocks(access(Space::kLds, 8, 8)).clocks == 4);
  CHECK(lds_clocks(access(Space::kLds, 16, 16)).clocks == 8);
  CHECK(lds_clocks(access(Space::kLds, 4, 0)).clocks == 2);       // one dword for all
  CHECK(lds_clocks(access(Space::kLds, 4, 8)).clocks == 4);       // every other bank
  CHECK(lds_clocks(access(Space::kLds, 4, 128)).clocks == 64);    // all on one bank
  CHECK(lds_clocks(access(Space::kLds, 4, 132)).clocks == 2);     // padded by a bank
  CHECK(lds_clocks(access(Space::kLds, 4, 128, 1)).clocks == 1);  // one lane
  CHECK(lds_clocks(access(Space::kLds, 4, 128)).conflict_free == 2);
  CHECK(lds_clocks(access(Space::kLds, 1, 1)).clocks == 2);
}

TEST_CASE("coalescing into lines of 64 bytes, 16 lanes a clock") {
  Coalesced c;
  const auto shape = [&](const MemAccess& m) {
    coalesce(m, 0, 0, 4, c);
    return std::pair<size_t, uint32_t>(c.lines.size(), c.l1_clocks);
  };
  CHECK(shape(access(Space::kGlobal, 4, 4)) == std::pair<size_t, uint32_t>(4, 4));
  CHECK(shape(access(Space::kGlobal, 16, 16)) == std::pair<size_t, uint32_t>(16, 16));
  CHECK(shape(access(Space::kGlobal, 4, 64)) == std::pair<size_t, uint32_t>(64, 16));
  CHECK(shape(access(Space::kGlobal, 4, 0)) == std::pair<size_t, uint32_t>(1, 4));
  CHECK(shape(access(Space::kGlobal, 16, 68)).first == 68);  // most lanes cross into the next line
  CHECK(c.bytes == 1024);
}

TEST_CASE("tag cache: least recently used of its set goes") {
  TagCache cache(16384, 4);  // 64 sets
  for (uint64_t k = 0; k < 256; ++k) CHECK_FALSE(cache.touch(k));
  for (uint64_t k = 0; k < 256; ++k) CHECK(cache.touch(k));
  CHECK_FALSE(cache.touch(256));  // evicts line 0
  CHECK(cache.touch(64));
  CHECK_FALSE(cache.touch(0));
}

TEST_CASE("channel share: even traffic 1, half of the channels a half") {
  const Parameters p;
  TagCache share(4096, 4);
  BehindL1 even(p), half(p);
  for (uint64_t k = 0; k < 16; ++k) {
    for (uint64_t n = 0; n < 64; ++n) {
      even.load(k * 64 + n, static_cast<uint32_t>(k), 0, 0, n / 4, share);
      half.load(k * (1 << 20) + n, static_cast<uint32_t>(k), 0, 0, n / 4, share);
    }
  }
  CHECK(even.channel_share() == doctest::Approx(1).epsilon(0.1));
  CHECK(half.channel_share() == doctest::Approx(0.5).epsilon(0.1));
}

TEST_CASE("instruction costs follow the chip's rates") {
  const auto cost = [](const char* name) { return cost_of(gfx906::find_mnemonic(name)); };
  CHECK(cost("v_fma_f32").issue == 4);
  CHECK(cost("v_fma_f64").issue == 8);
  CHECK(cost("v_mul_lo_u32").issue == 16);
  CHECK(cost("v_rcp_f32").issue == 16);
  CHECK(cost("v_cvt_f32_ubyte0").issue == 4);
  CHECK(cost("v_lshlrev_b64").issue == 8);
  CHECK(cost("v_dot4_i32_i8").kind == Class::kDot);
  CHECK(cost("ds_bpermute_b32").kind == Class::kLdsCrossbar);
  CHECK(cost("ds_read_b128").kind == Class::kLds);
  CHECK(cost("s_waitcnt").kind == Class::kWait);
  CHECK(cost("s_cbranch_scc0").kind == Class::kBranch);
  CHECK(cost("s_load_dwordx4").kind == Class::kScalarMemory);
  CHECK(cost("global_load_dwordx4").kind == Class::kVectorLoad);
  CHECK(cost("buffer_store_dword").kind == Class::kVectorStore);
  CHECK(cost("global_atomic_add").kind == Class::kVectorAtomic);
}

TEST_CASE("a launch: results stay right, the sample is bounded, counts scale to the whole") {
  const auto object = gfx906_test::load_kernels("kernels.co");
  REQUIRE(object);
  const int k16 = 128;
  const uint32_t rows = 4096;
  std::vector<uint8_t> w(size_t{rows} * k16 * 16, 1), x(size_t{k16} * 16, 2);
  std::vector<int> y(rows);
  const auto args = gfx906_test::Args().add(w.data()).add(x.data()).add(y.data()).add(k16);
  Profiler profiler;
  const Dispatch d = matvec(*object, args, rows);
  for (int n = 0; n < 3; ++n) {
    REQUIRE(gfx906::Executor::shared().run(d, &profiler));
    CHECK(profiler.seconds(false) > 0);
  }
  for (const int v : y) REQUIRE(v == k16 * 16 * 2);
  const auto records = profiler.records();
  REQUIRE(records.size() == 1);
  const KernelRecord& r = records[0];
  CHECK(r.launches == 3);
  CHECK(r.watched == 2);  // the third is like the first two
  CHECK(r.sample.counters.groups == 64);
  CHECK(r.sample.total_groups == rows / 4);
  // Each weight is read once; the vector is shared.
  CHECK(r.estimate.hbm_read_bytes == doctest::Approx(static_cast<double>(w.size())).epsilon(0.03));
  CHECK(r.estimate.hbm_write_bytes < 0.05 * r.estimate.hbm_read_bytes);
  // Four products per 16 bytes.
  const double dots =
      static_cast<double>(r.sample.counters.instructions[static_cast<size_t>(Class::kDot)]);
  CHECK(dots / 64 == 4 * 4 * k16 / 64);
  CHECK(r.seconds == doctest::Approx(3 * r.estimate.seconds).epsilon(0.05));
  // A launch with another scalar argument is watched anew.
  const auto shorter = gfx906_test::Args().add(w.data()).add(x.data()).add(y.data()).add(k16 / 2);
  const double before = profiler.seconds(false);
  REQUIRE(gfx906::Executor::shared().run(matvec(*object, shorter, rows), &profiler));
  CHECK(profiler.seconds(false) < before);
}

TEST_CASE("a whole sample equals the launch, and a part of it stands for the rest") {
  const auto object = gfx906_test::load_kernels("kernels.co");
  REQUIRE(object);
  const int k16 = 256;
  const uint32_t rows = 2048;
  std::vector<uint8_t> w(size_t{rows} * k16 * 16), x(size_t{k16} * 16);
  std::vector<int> y(rows);
  const auto args = gfx906_test::Args().add(w.data()).add(x.data()).add(y.data()).add(k16);
  Sampling all;
  all.groups = 1u << 20;
  all.instructions = ~0ull;
  Profiler whole({}, all), part;
  const Dispatch d = matvec(*object, args, rows);
  REQUIRE(gfx906::Executor::shared().run(d, &whole));
  const double exact = whole.seconds(false);
  REQUIRE(gfx906::Executor::shared().run(d, &part));
  CHECK(part.seconds(false) == doctest::Approx(exact).epsilon(0.05));
}

TEST_CASE(
    "groups outside the sample are skipped where that was asked for, never in a cooperative "
    "launch") {
  const auto object = gfx906_test::load_kernels("kernels.co");
  REQUIRE(object);
  const int k16 = 16;
  const uint32_t rows = 4096;
  std::vector<uint8_t> w(size_t{rows} * k16 * 16, 1), x(size_t{k16} * 16, 1);
  Sampling skipping;
  skipping.skip_others = true;
  for (const bool cooperative : {false, true}) {
    std::vector<int> y(rows);
    const auto args = gfx906_test::Args().add(w.data()).add(x.data()).add(y.data()).add(k16);
    Dispatch d = matvec(*object, args, rows);
    d.cooperative = cooperative;
    Profiler profiler({}, skipping);
    for (int launch = 0; launch < 3; ++launch) {  // the third is not watched
      std::fill(y.begin(), y.end(), 0);
      REQUIRE(gfx906::Executor::shared().run(d, &profiler));
      const auto done = std::count(y.begin(), y.end(), k16 * 16);
      CHECK((cooperative ? done == rows : done < rows));
    }
    CHECK(profiler.seconds(false) > 0);
  }
}

TEST_CASE("groups without work do not count as those of the sample that have some") {
  const auto object = gfx906_test::load_kernels("cost.co");
  REQUIRE(object);
  const int n = 256;
  const uint32_t groups = 4096, busy = 128;
  std::vector<uint8_t> a(size_t{busy} * n * 4096), out(size_t{groups} * 4096);
  const auto args = gfx906_test::Args().add(a.data()).add(out.data()).add(int{busy}).add(n);
  Dispatch d;
  d.kernel = object->find_kernel("few_busy");
  REQUIRE(d.kernel);
  d.block = {256, 1, 1};
  d.grid = {groups * 256, 1, 1};
  d.kernarg = args.bytes;
  Profiler profiler;
  REQUIRE(gfx906::Executor::shared().run(d, &profiler));
  // A quarter of the sample is busy, a thirty-second of the launch.
  const KernelRecord r = profiler.records()[0];
  CHECK(r.sample.counters.groups == 64);
  // What the idle ones run until they end counts as work too.
  CHECK(r.sample.work == doctest::Approx(0.13).epsilon(0.1));
  CHECK(r.estimate.hbm_read_bytes == doctest::Approx(static_cast<double>(a.size())).epsilon(0.15));
}

TEST_CASE("report: JSON names the limit, the assumptions and every class") {
  const auto object = gfx906_test::load_kernels("kernels.co");
  REQUIRE(object);
  std::vector<float> a(256, 1), out(1);
  Dispatch d;
  d.kernel = object->find_kernel("reduce");
  REQUIRE(d.kernel);
  d.block = d.grid = {256, 1, 1};
  const auto args = gfx906_test::Args().add(a.data()).add(out.data()).add(256);
  d.kernarg = args.bytes;
  Profiler profiler;
  REQUIRE(gfx906::Executor::shared().run(d, &profiler));
  CHECK(out[0] == 256);
  const std::string json = profiler.json();
  for (const char* word :
       {"\"assumptions\":[\"", "\"limit\":\"launch\"", "\"valu_dot\":", "\"kernels\":[",
        "\"lds_bank_conflict_clocks\":", "\"channel_share\":", "\"symbol\":\"reduce\""}) {
    CHECK_MESSAGE(json.find(word) != std::string::npos, word);
  }
  CHECK(std::count(json.begin(), json.end(), '{') == std::count(json.begin(), json.end(), '}'));
  CHECK(profiler.table().find("reduce") != std::string::npos);
  CHECK(profiler.records()[0].sample.counters.barrier_stall > 0);
}

TEST_CASE("estimates against published figures") {
  const auto figures = gfx906_test::cost_figures();
  if (figures.empty()) {
    MESSAGE("SKIP: no cost.co");
    return;
  }
  CHECK(figures.size() >= 20);
  for (const auto& f : figures) {
    CAPTURE(f.what);
    CAPTURE(f.estimate);
    CHECK(f.ratio() > (f.fitted ? 0.85 : 0.5));
    CHECK(f.ratio() < (f.fitted ? 1.2 : 2));
  }
}

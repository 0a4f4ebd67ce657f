// The checker: every kind of fault planted in a kernel is found at the marked line of faults.hip,
// and correct kernels give no report.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <sstream>

#include "check/checker.hpp"
#include "kernels.hpp"

using gfx906::Dispatch;
using gfx906::Executor;
using gfx906::check::Checker;
using gfx906::check::Fault;
using gfx906::check::FaultKind;
using gfx906_test::Args;

namespace {

// Memory that the checker knows, with room around it that it doesn't.
class Buffer {
 public:
  Buffer(Checker& c, size_t words, bool written = true)
      : checker_(c), memory_(words + 2 * kAround, 7), words_(words) {
    c.allocated(address(), words * 4, false);
    if (written) c.written(address(), words * 4);
  }
  ~Buffer() { free(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void free() { checker_.freed(address()); }
  int* data() { return memory_.data() + kAround; }
  uint64_t address() { return reinterpret_cast<uint64_t>(data()); }
  bool surroundings_untouched() const {
    for (size_t i = 0; i < memory_.size(); ++i)
      if ((i < kAround || i >= kAround + words_) && memory_[i] != 7) return false;
    return true;
  }

 private:
  static constexpr size_t kAround = 4096;
  Checker& checker_;
  std::vector<int> memory_;
  size_t words_;
};

struct Run {
  std::shared_ptr<gfx906::CodeObject> object = gfx906_test::load_kernels("faults.co");
  Checker checker;

  void operator()(const char* name, uint32_t groups, uint32_t block, const Args& args) {
    REQUIRE_MESSAGE(object != nullptr, "faults.co");
    Dispatch d;
    d.kernel = object->find_kernel(name);
    REQUIRE_MESSAGE(d.kernel, name);
    d.grid = {groups * block, 1, 1};
    d.block = {block, 1, 1};
    d.kernarg = args.bytes;
    const gfx906::Status s = Executor::shared().run(d, &checker);
    REQUIRE_MESSAGE(s.ok(), s.message());
  }
  std::string text() { return checker.reports().text(); }
};

// The line of faults.hip that ends with "// FAULT name" (or another mark).
uint32_t marked_line(const std::string& name, const std::string& kind = "FAULT") {
  std::ifstream f(gfx906_test::data_dir() + "/faults.hip");
  const std::string mark = "// " + kind + " " + name;
  std::string line;
  for (uint32_t n = 1; std::getline(f, line); ++n)
    if (line.ends_with(mark)) return n;
  FAIL("no line is marked " << name);
  return 0;
}

// All entries are of this kind and at the marked line.
void expect(Run& run, const char* name, FaultKind kind) {
  CAPTURE(name);
  const std::vector<Fault> faults = run.checker.reports().all();
  INFO(run.text());
  REQUIRE_FALSE(faults.empty());
  const std::string end = "faults.hip:" + std::to_string(marked_line(name));
  for (const Fault& f : faults) {
    CHECK(f.kind == kind);
    CHECK(f.kernel == name);
    CHECK_MESSAGE(f.source.ends_with(end), f.source);
    CHECK_FALSE(f.instruction.empty());
  }
}

// A kernel that takes only a buffer for its results, or a source too.
void run_simple(const char* name, FaultKind kind, bool source, bool written = true,
                uint32_t block = 64) {
  Run run;
  Buffer in(run.checker, 256, written), out(run.checker, 1024);
  Args args;
  if (source) args.add(in.address());
  args.add(out.address());
  run(name, 1, block, args);
  expect(run, name, kind);
}

}  // namespace

TEST_CASE("accesses outside of allocations are found, and memory around them is left alone") {
  {
    Run run;
    Buffer p(run.checker, 100);
    run("store_outside", 2, 64, Args().add(p.address()).add(100));
    expect(run, "store_outside", FaultKind::kOutOfBounds);
    const Fault f = run.checker.reports().all()[0];
    CHECK(f.group[0] == 1);
    CHECK(f.lane == 36);
    CHECK(f.detail.find("0 bytes past the end of an allocation of 400 bytes") != f.detail.npos);
    CHECK(p.surroundings_untouched());
    CHECK(p.data()[99] == 99);
  }
  {
    Run run;
    Buffer p(run.checker, 64), out(run.checker, 64);
    run("load_outside", 1, 64, Args().add(p.address()).add(out.address()));
    expect(run, "load_outside", FaultKind::kOutOfBounds);
    CHECK(run.checker.reports().all()[0].lane == 63);
  }
  {
    Run run;
    Buffer p(run.checker, 64);
    p.free();
    run("after_free", 1, 64, Args().add(p.address()));
    expect(run, "after_free", FaultKind::kUseAfterFree);
    CHECK(p.data()[0] == 7);
  }
  {
    Run run;
    run("null_pointer", 1, 64, Args().add(uint64_t{0}));
    expect(run, "null_pointer", FaultKind::kOutOfBounds);
  }
  {
    Run run;
    Buffer out(run.checker, 64);
    run("lds_outside", 1, 64, Args().add(out.address()).add(1));
    expect(run, "lds_outside", FaultKind::kOutOfBounds);
    CHECK(run.checker.reports().all()[0].lane == 63);
  }
}

TEST_CASE("a fault in inlined code: its own line, and those of the calls from the inside out") {
  Run run;
  Buffer p(run.checker, 64), out(run.checker, 64);
  run("inlined_outside", 1, 64, Args().add(p.address()).add(out.address()));
  expect(run, "inlined_outside", FaultKind::kOutOfBounds);
  const Fault f = run.checker.reports().all()[0];
  REQUIRE(f.inlined_at.size() == 2);
  const auto at = [&](size_t k, const char* mark) {
    const std::string end = "faults.hip:" + std::to_string(marked_line(mark, "CALLER"));
    CHECK_MESSAGE(f.inlined_at[k].ends_with(end), f.inlined_at[k]);
  };
  at(0, "inner");
  at(1, "outer");
  CHECK(run.text().find("inlined at ") != std::string::npos);
}

TEST_CASE("misaligned atomics and scalar loads") {
  {
    Run run;
    Buffer p(run.checker, 65);
    run("misaligned_atomic", 1, 64, Args().add(p.address()));
    expect(run, "misaligned_atomic", FaultKind::kMisaligned);
  }
  run_simple("misaligned_scalar", FaultKind::kMisaligned, true);
}

TEST_CASE("plain accesses: what alignment they need depends on the mode of the card") {
  using gfx906::check::Alignment;
  const auto store_at = [](uint64_t offset, Alignment mode) {
    auto run = std::make_unique<Run>();
    run->checker.alignment = mode;
    Buffer p(run->checker, 101);
    (*run)("store_outside", 1, 64, Args().add(p.address() + offset).add(100));
    return run;
  };
  CHECK(store_at(2, Alignment::kUnaligned)->checker.reports().total() == 0);
  CHECK(store_at(4, Alignment::kNatural)->checker.reports().total() == 0);
  for (const Alignment mode : {Alignment::kDword, Alignment::kNatural})
    expect(*store_at(2, mode), "store_outside", FaultKind::kMisaligned);
  // Structures of 16 bytes, four bytes off.
  for (const Alignment mode : {Alignment::kDword, Alignment::kNatural}) {
    Run run;
    run.checker.alignment = mode;
    Buffer in(run.checker, 512), out(run.checker, 512);
    run("odds_and_ends", 1, 128, Args().add(in.address() + 4).add(out.address()).add(100));
    const auto faults = run.checker.reports().all();
    CHECK(faults.empty() == (mode == Alignment::kDword));
    for (const Fault& f : faults) CHECK(f.kind == FaultKind::kMisaligned);
  }
}

TEST_CASE("memory never written: global, scalar, LDS, scratch") {
  run_simple("use_unwritten", FaultKind::kNeverWritten, true, false);
  run_simple("copy_unwritten", FaultKind::kNeverWritten, true, false);
  run_simple("scalar_unwritten", FaultKind::kNeverWritten, true, false);
  run_simple("scalar_copy_unwritten", FaultKind::kNeverWritten, true, false);
  run_simple("scalar_choice_unwritten", FaultKind::kNeverWritten, true, false);
  run_simple("lds_unwritten", FaultKind::kNeverWritten, false);
  run_simple("scratch_unwritten", FaultKind::kNeverWritten, false);
}

TEST_CASE("what comes of memory never written: thrown away, or deciding something") {
  Run run;
  Buffer out(run.checker, 128);
  run("thrown_away", 1, 128, Args().add(out.address()).add(100));
  CHECK(run.checker.reports().total() == 0);
  Buffer in(run.checker, 64, false);
  run("other_half", 1, 64, Args().add(in.address()).add(out.address()));
  INFO(run.text());
  CHECK(run.checker.reports().total() == 0);
  run_simple("high_half_unwritten", FaultKind::kNeverWritten, true, false);
  run_simple("low_half_unwritten", FaultKind::kNeverWritten, true, false);
  run_simple("compare_unwritten", FaultKind::kNeverWritten, true, false);
}

TEST_CASE("races") {
  run_simple("lds_race", FaultKind::kLdsRace, false, true, 128);
  run_simple("lds_write_race", FaultKind::kLdsRace, false, true, 128);
  Run run;
  Buffer p(run.checker, 64 * 16);
  run("group_race", 16, 64, Args().add(p.address()));
  expect(run, "group_race", FaultKind::kGlobalRace);
  Run mixed;
  Buffer word(mixed.checker, 1);
  mixed("atomic_and_plain", 16, 64, Args().add(word.address()));
  expect(mixed, "atomic_and_plain", FaultKind::kGlobalRace);
}

TEST_CASE("divergence at barriers") {
  run_simple("divergent_barrier", FaultKind::kBarrierDivergence, false, true, 128);
  run_simple("two_barriers", FaultKind::kBarrierDivergence, false, true, 128);
}

TEST_CASE("missing waits") {
  run_simple("no_wait_global", FaultKind::kMissingWait, true);
  run_simple("short_wait", FaultKind::kMissingWait, true);
  run_simple("no_wait_lds", FaultKind::kMissingWait, false);
  run_simple("no_wait_scalar", FaultKind::kMissingWait, true);
  run_simple("no_wait_barrier", FaultKind::kMissingWait, false, true, 128);
}

TEST_CASE("missing wait states") {
  run_simple("nop_scalar_address", FaultKind::kMissingNop, true);
  for (const char* name : {"nop_div_fmas", "nop_dpp", "nop_exec_dpp", "nop_lane_select", "nop_m0",
                           "nop_setreg", "nop_store_data"})
    run_simple(name, FaultKind::kMissingNop, false);
}

TEST_CASE("correct kernels give no report") {
  Run run;
  Buffer in(run.checker, 4096), out(run.checker, 4096), partial(run.checker, 64, false),
      count(run.checker, 4), flag(run.checker, 4);
  count.data()[0] = flag.data()[0] = 0;
  run("right_waits", 1, 64, Args().add(in.address()).add(out.address()));
  run("last_group", 32, 128,
      Args().add(in.address()).add(partial.address()).add(count.address()).add(out.address()));
  run("flag", 8, 64, Args().add(partial.address()).add(flag.address()).add(out.address()));
  Buffer turns(run.checker, 6 + 64);
  std::fill_n(turns.data(), 6 + 64, 0);
  const uint64_t t = turns.address();
  run("turns", 12, 64, Args().add(t).add(t + 4).add(t + 12).add(t + 16));
  CHECK(turns.data()[4] == 12);
  CHECK(turns.data()[5] == 12);
  CHECK(turns.data()[69] == 12);
  run("clock_beside_load", 1, 64, Args().add(in.address()).add(out.address()));
  run("thrown_away", 1, 128, Args().add(out.address()).add(100));
  Buffer nothing(run.checker, 16, false);
  run("scalar_not_chosen", 1, 64, Args().add(nothing.address()).add(out.address()).add(64));
  // The padding of the structures is never written, only copied.
  Buffer padded(run.checker, 4 * 128, false);
  for (uint64_t i = 0; i < 100; ++i) {
    run.checker.written(padded.address() + 16 * i, 4);
    run.checker.written(padded.address() + 16 * i + 8, 8);
  }
  run("odds_and_ends", 1, 128, Args().add(padded.address()).add(out.address()).add(100));
  INFO(run.text());
  CHECK(run.checker.reports().total() == 0);
}

TEST_CASE("entries are bounded and counted, JSON names them") {
  Run run;
  Buffer p(run.checker, 1);
  for (int n = 0; n < 5; ++n) run("store_outside", 1, 64, Args().add(p.address()).add(1));
  const std::vector<Fault> faults = run.checker.reports().all();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].count == 5 * 63);
  const std::string json = run.checker.reports().json();
  CHECK(json.find("\"kind\": \"out-of-bounds access\"") != json.npos);
  CHECK(json.find("\"source\": \"") != json.npos);
  CHECK(json.find("\"lane\": 1") != json.npos);
}

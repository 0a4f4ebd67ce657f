// The thread team: every worker runs once, shares hand out each index once, barriers order memory,
// teams sleep when idle. Meant for ThreadSanitizer as well.
#include <doctest/doctest.h>

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "veloce/cpu/pool.hpp"

using namespace veloce;

namespace {
double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) * 1e-6; };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}
}  // namespace

TEST_CASE("every worker of every team size runs once a run") {
  for (const int threads : {-1, 0, 1, 2, 3, 8, 17}) {
    cpu::Pool pool(threads);
    const int size = threads < 1 ? 1 : threads;
    REQUIRE(pool.size() == size);
    for (int round = 0; round < 20; ++round) {
      std::vector<int> ran(static_cast<std::size_t>(size));
      pool.run([&](cpu::Worker& w) { ran[std::size_t(w.index())] += w.count(); });
      for (const int r : ran) REQUIRE(r == size);
    }
  }
}

TEST_CASE(
    "shares hand out every index exactly once, for any total and grain, many in a row without a "
    "barrier") {
  for (const int threads : {1, 2, 5}) {
    cpu::Pool pool(threads);
    for (const int total : {0, 1, 2, 7, 64, 1000})
      for (const int grain : {1, 3, 100}) {
        // Plain ints: two workers on one index would be a data race.
        std::vector<std::vector<int>> counts(20, std::vector<int>(std::size_t(total)));
        pool.run([&](cpu::Worker& w) {
          for (auto& count : counts) {
            auto share = w.share(total, grain);
            for (int begin, end; share.next(begin, end);) {
              REQUIRE(begin < end);
              for (int i = begin; i < end; ++i) ++count[std::size_t(i)];
            }
          }
        });
        for (const auto& count : counts)
          for (const int c : count) REQUIRE(c == 1);
      }
  }
}

TEST_CASE("what was written before a barrier is seen after it; a long chain of phases") {
  for (const int threads : {2, 4, 9}) {
    cpu::Pool pool(threads);
    std::vector<long> a(64, 1), b(64);
    const int phases = 300;
    pool.run([&](cpu::Worker& w) {
      for (int phase = 0; phase < phases; ++phase) {
        auto share = w.share(64);
        for (int begin, end; share.next(begin, end);)
          for (int i = begin; i < end; ++i)
            b[std::size_t(i)] = a[std::size_t((i + 1) % 64)] + a[std::size_t((i + 7) % 64)];
        w.barrier();
        auto back = w.share(64, 4);
        for (int begin, end; back.next(begin, end);)
          for (int i = begin; i < end; ++i) a[std::size_t(i)] = b[std::size_t(i)] % 1000003;
        w.barrier();
      }
    });
    // All elements are equal by symmetry: x -> 2x mod p.
    long want = 1;
    for (int i = 0; i < phases; ++i) want = 2 * want % 1000003;
    for (const long v : a) REQUIRE(v == want);
  }
}

TEST_CASE("runs in quick succession, and from different calling threads") {
  cpu::Pool pool(4);
  std::atomic<long> sum{0};
  for (int round = 0; round < 2000; ++round) pool.run([&](cpu::Worker& w) { sum += w.index(); });
  CHECK(sum == 2000 * 6);
  sum = 0;
  for (int round = 0; round < 20; ++round)
    std::thread([&] { pool.run([&](cpu::Worker& w) { sum += w.index(); }); }).join();
  CHECK(sum == 20 * 6);
}

TEST_CASE("teams that are made and dropped, used or not") {
  for (int i = 0; i < 50; ++i) {
    cpu::Pool pool(3);
    if (i % 2) pool.run([](cpu::Worker&) {});
  }
  std::vector<std::unique_ptr<cpu::Pool>> side_by_side;
  for (int i = 0; i < 4; ++i) side_by_side.push_back(std::make_unique<cpu::Pool>(2));
  std::atomic<int> ran{0};
  std::vector<std::thread> callers;
  for (auto& pool : side_by_side)
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) pool->run([&](cpu::Worker&) { ++ran; });
    });
  for (auto& t : callers) t.join();
  CHECK(ran == 800);
}

TEST_CASE("an idle team takes no processor time") {
  cpu::Pool pool(4);
  pool.run([](cpu::Worker&) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // spinning stops
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(cpu_seconds() - before < 0.05);
}

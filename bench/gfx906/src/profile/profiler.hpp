// The cost model as an Observer of the executor: watches a sample of each launch's work-groups and
// estimates what the launch would take on the card.
//
// What the estimate assumes (also in the JSON, assumptions()):
//  - the engine clock stays at its peak; no power or thermal limit;
//  - L2 holds nothing of earlier launches; lines that two watched groups touch are fetched once,
//    and further groups add as many new lines as the second half of the sample did;
//  - each resident group has half of L1, and its share of L2 for lines that no other touches;
//  - watched groups stand for all, in proportion to the instructions that the others ran (where
//    these are skipped, one for one); a launch of a kernel, shape and scalar arguments seen before
//    is not watched again but on its 4th, 8th, 16th ... time;
//  - waits that a kernel makes in a loop (for other groups, cards, the host) count as the polls
//    that the host happened to run;
//  - the instruction cache always hits;
//  - of the slowest resource and the others, exec = (sum t^p)^(1/p); launch and ramp come on top.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine.hpp"
#include "profile/estimate.hpp"

namespace gfx906::profile {

// All launches of one kernel with one shape and the same scalar arguments (of a kernel with very
// many of these, the rest together).
struct KernelRecord {
  std::string name;
  std::string scalars;  // the bytes of its arguments that are not pointers, in hex
  KernelInfo info;
  std::array<uint32_t, 3> grid{}, block{};
  uint32_t dynamic_lds = 0;
  uint64_t launches = 0, watched = 0;
  double seconds = 0;   // of all launches
  LaunchSample sample;  // of the last watched launch
  Estimate estimate;
};

class Profiler : public Observer {
 public:
  explicit Profiler(const Parameters& p = {}, const Sampling& s = {});
  ~Profiler() override;

  // Seconds that the last dispatch run by this thread takes on the card, launched in a stream or as
  // a node of a graph; negative when none was.
  double seconds(bool in_graph) const;

  std::vector<KernelRecord> records() const;  // those that take longest first
  std::string json() const;
  std::string table() const;

  void on_dispatch_begin(const Dispatch& d) override;
  void on_dispatch_end(const Dispatch& d, const Status& status, const RunStats& ran) override;
  GroupMode group_mode(const Dispatch& d, const GroupId& id) override;
  void on_group_begin(const Dispatch& d, const GroupId& id, uint32_t waves,
                      std::span<uint8_t> lds) override;
  void on_group_end(const Dispatch& d, const GroupId& id) override;
  void on_instruction(const InstEvent& e) override;
  uint64_t on_memory(const InstEvent& e, MemAccess& m) override;
  void on_after(const InstEvent& e) override;
  void on_barrier_release(const Dispatch& d, const GroupId& id) override;

 private:
  struct Launch;
  struct Known {
    uint64_t launches = 0;
    double seconds = -1, graph_seconds = -1;  // negative: not watched yet
  };

  Launch* launch_of(const Dispatch& d) const;
  GroupProfile* group_of(const Dispatch& d, const GroupId& id) const;
  KernelRecord& record_of(const Dispatch& d, const Launch& launch);

  const Parameters p_;
  const Sampling sampling_;
  mutable std::mutex mutex_;
  std::unordered_map<const Dispatch*, std::unique_ptr<Launch>> launches_;
  std::unordered_map<uint64_t, Known> known_;  // by a hash of all that launches are told apart by
  std::map<std::string, KernelRecord> records_;
};

// What the model takes for granted, a sentence each.
const std::vector<std::string>& assumptions();
std::string to_json(const std::vector<KernelRecord>& records, const Parameters& p,
                    const Sampling& s);
std::string to_table(const std::vector<KernelRecord>& records, const Parameters& p);

}  // namespace gfx906::profile

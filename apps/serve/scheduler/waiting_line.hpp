// The requests that wait for a slot, and who is next: interactive before background, then the
// client with the fewest requests running, then the one that waited longest. A background request
// that has waited long enough counts as interactive.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

namespace veloce::serve {

struct Task;

class WaitingLine {
 public:
  WaitingLine();
  ~WaitingLine();
  void add(std::unique_ptr<Task> task);
  std::size_t size() const { return tasks_.size(); }
  bool empty() const { return tasks_.empty(); }

  // The next of those that `may_start`, or null. `running`: requests that run now, by client.
  std::unique_ptr<Task> take(const std::map<std::string, int>& running,
                             const std::function<bool(const Task&)>& may_start,
                             std::chrono::steady_clock::time_point now);

  // Takes out every task for which `condition` holds, and hands it to `sink`.
  void remove_if(const std::function<bool(const Task&)>& condition,
                 const std::function<void(std::unique_ptr<Task>)>& sink);

 private:
  std::list<std::unique_ptr<Task>> tasks_;  // in order of arrival
};

}  // namespace veloce::serve

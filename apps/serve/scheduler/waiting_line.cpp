#include "scheduler/waiting_line.hpp"

#include <tuple>

#include "scheduler/task.hpp"

namespace veloce::serve {
namespace {

constexpr std::chrono::seconds kBackgroundPatience{30};

}  // namespace

WaitingLine::WaitingLine() = default;
WaitingLine::~WaitingLine() = default;

void WaitingLine::add(std::unique_ptr<Task> task) {
  tasks_.push_back(std::move(task));
}

std::unique_ptr<Task> WaitingLine::take(const std::map<std::string, int>& running,
                                        const std::function<bool(const Task&)>& may_start,
                                        std::chrono::steady_clock::time_point now) {
  auto best = tasks_.end();
  std::tuple<int, int> best_rank;
  for (auto it = tasks_.begin(); it != tasks_.end(); ++it) {
    const Task& task = **it;
    if (!may_start(task)) continue;
    const bool background =
        task.request.priority == Priority::kBackground && now - task.arrived < kBackgroundPatience;
    const auto client = running.find(task.request.client);
    const std::tuple<int, int> rank{background ? 1 : 0,
                                    client == running.end() ? 0 : client->second};
    if (best == tasks_.end() || rank < best_rank) {
      best = it;
      best_rank = rank;
    }
  }
  if (best == tasks_.end()) return nullptr;
  std::unique_ptr<Task> task = std::move(*best);
  tasks_.erase(best);
  return task;
}

void WaitingLine::remove_if(const std::function<bool(const Task&)>& condition,
                            const std::function<void(std::unique_ptr<Task>)>& sink) {
  for (auto it = tasks_.begin(); it != tasks_.end();) {
    if (!condition(**it)) {
      ++it;
      continue;
    }
    sink(std::move(*it));
    it = tasks_.erase(it);
  }
}

}  // namespace veloce::serve

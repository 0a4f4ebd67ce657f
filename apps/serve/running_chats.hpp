// The running chat requests that asked to be controlled (specs/server.md 4.9), by the id of their
// answer.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "scheduler/channel.hpp"

namespace veloce::serve {

class RunningChats {
 public:
  void add(const std::string& id, const std::string& owner,
           const std::shared_ptr<Channel>& channel) {
    const std::lock_guard lock(mutex_);
    std::erase_if(channels_, [](const auto& entry) { return entry.second.channel.expired(); });
    channels_[id] = {owner, channel};
  }
  // Null: it has ended, never was, or is another owner's.
  std::shared_ptr<Channel> find(const std::string& id, const std::string& owner) {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(id);
    return found == channels_.end() || found->second.owner != owner ? nullptr
                                                                    : found->second.channel.lock();
  }

 private:
  struct Entry {
    std::string owner;
    std::weak_ptr<Channel> channel;
  };
  std::mutex mutex_;
  std::map<std::string, Entry> channels_;
};

}  // namespace veloce::serve

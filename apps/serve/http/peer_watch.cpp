#include "http/peer_watch.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace veloce::serve::http {

PeerWatch::PeerWatch() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  thread_ = std::thread([this] { run(); });
}

PeerWatch::~PeerWatch() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_, &one, sizeof one);
  thread_.join();
  close(wake_);
  close(epoll_);
}

PeerWatch::Handle PeerWatch::add(int socket, std::function<void()> gone) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = next_++;
  watched_.emplace(id, std::move(gone));
  epoll_event event{};
  event.events = EPOLLRDHUP | EPOLLONESHOT;  // EPOLLHUP and EPOLLERR always come too
  event.data.u64 = id;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
  return {this, socket, id};
}

void PeerWatch::remove(int socket, std::uint64_t id) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr);
  const std::lock_guard lock(mutex_);
  watched_.erase(id);
}

void PeerWatch::run() {
  epoll_event events[64];
  for (;;) {
    const int n = epoll_wait(epoll_, events, 64, -1);
    if (n < 0 && errno != EINTR) return;
    for (int i = 0; i < n; ++i) {
      const std::uint64_t id =
          events[i]
              .data.u64;  // a copy: the structure is packed, and its members may not be aligned
      if (id == 0) return;
      const std::lock_guard lock(mutex_);
      const auto found = watched_.find(id);
      if (found == watched_.end()) continue;
      // Under the lock, so that a handle's end waits for its callback.
      found->second();
      watched_.erase(found);
    }
  }
}

}  // namespace veloce::serve::http

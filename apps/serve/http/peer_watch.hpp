// Tells at once when a client hangs up while its request is being worked on, streaming or not: one
// thread waits on all those sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace veloce::serve::http {

class PeerWatch {
 public:
  PeerWatch();
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // Ends the watch when destroyed; the callback does not run after that.
  class Handle {
   public:
    Handle() = default;
    Handle(PeerWatch* watch, int socket, std::uint64_t id)
        : watch_(watch), socket_(socket), id_(id) {}
    Handle(Handle&& other) noexcept { swap(other); }
    Handle& operator=(Handle&& other) noexcept {
      Handle taken(std::move(other));
      swap(taken);
      return *this;
    }
    ~Handle() {
      if (watch_) watch_->remove(socket_, id_);
    }

   private:
    void swap(Handle& other) noexcept {
      std::swap(watch_, other.watch_);
      std::swap(socket_, other.socket_);
      std::swap(id_, other.id_);
    }
    PeerWatch* watch_ = nullptr;
    int socket_ = -1;
    std::uint64_t id_ = 0;
  };

  // `gone` runs once, on the watching thread, and must not block. One watch a socket at a time.
  [[nodiscard]] Handle add(int socket, std::function<void()> gone);

 private:
  void remove(int socket, std::uint64_t id);
  void run();

  int epoll_ = -1, wake_ = -1;
  std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::unordered_map<std::uint64_t, std::function<void()>> watched_;
  std::thread thread_;
};

}  // namespace veloce::serve::http

#include "http/connection.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace veloce::serve::http {
namespace {

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  using namespace std::chrono;
  const auto left = duration_cast<milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000'000));
}

void describe(const sockaddr_storage& address, std::string& ip, int& port) {
  char text[INET6_ADDRSTRLEN] = "";
  port = 0;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    port = ntohs(v6.sin6_port);
  } else {
    std::strcpy(text, "local");
  }
  ip = text;
}

}  // namespace

Connection*& Connection::current() {
  thread_local Connection* connection = nullptr;
  return connection;
}

Connection::Connection(int socket, ssl_ctx_st* tls, const Timeouts& timeouts)
    : socket_(socket), timeouts_(timeouts), read_deadline_(Clock::now() + timeouts.headers) {
  // Never block in a call: waiting is poll's, which knows the deadlines.
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (tls) {
    ssl_ = SSL_new(tls);
    if (ssl_) SSL_set_fd(ssl_, socket_);
    broken_ = ssl_ == nullptr;
  }
  current() = this;
}

Connection::~Connection() {
  current() = nullptr;
  if (ssl_) {
    if (!broken_) SSL_shutdown(ssl_);
    SSL_free(ssl_);
  }
  if (!broken_) linger();
  ::close(socket_);
}

// Closing with unread input makes the kernel reset the connection, and the client may lose the
// answer that says why.
void Connection::linger() {
  shutdown(socket_, SHUT_WR);
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  char sink[16384];
  for (std::size_t budget = std::size_t{64} << 20; budget > 0;) {
    const ssize_t n = recv(socket_, sink, sizeof sink, 0);
    if (n > 0) {
      budget -= std::min(budget, static_cast<std::size_t>(n));
      if (Clock::now() > deadline) return;
      continue;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR) || !wait(POLLIN, deadline)) return;
  }
}

bool Connection::wait(short events, Clock::time_point deadline) const {
  for (;;) {
    pollfd item{socket_, events, 0};
    const int n = poll(&item, 1, milliseconds_until(deadline));
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

bool Connection::handshake() {
  if (!ssl_) return !broken_;
  for (;;) {
    const int n = SSL_accept(ssl_);
    if (n == 1) return true;
    const int error = SSL_get_error(ssl_, n);
    const short events = error == SSL_ERROR_WANT_READ    ? POLLIN
                         : error == SSL_ERROR_WANT_WRITE ? POLLOUT
                                                         : 0;
    if (events == 0 || !wait(events, read_deadline_)) {
      broken_ = true;
      return false;
    }
  }
}

bool Connection::wait_for_request(int wake) {
  if (close_ || broken_) return false;
  if (begin_ == end_ && !(ssl_ && SSL_pending(ssl_) > 0)) {
    auto deadline = Clock::now() + timeouts_.keep_alive;
    pollfd items[2] = {{socket_, POLLIN, 0}, {wake, POLLIN, 0}};
    for (;;) {
      const int n = poll(items, 2, milliseconds_until(deadline));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      if (items[0].revents & POLLIN) break;
      // Whoever has just connected has a request on its way and gets an answer to it.
      if (items[0].revents != 0 || !fresh_) return false;
      items[1].fd = -1;
      deadline = std::min(deadline, Clock::now() + std::chrono::milliseconds(500));
    }
    const ssize_t n = receive(buffer_, sizeof buffer_);
    if (n <= 0) return false;
    begin_ = 0;
    end_ = static_cast<std::size_t>(n);
  }
  fresh_ = false;
  read_deadline_ = Clock::now() + timeouts_.headers;
  return true;
}

void Connection::headers_done() {
  read_deadline_ = Clock::now() + timeouts_.body;
}

bool Connection::is_readable() const {
  return begin_ < end_ || wait(POLLIN, read_deadline_);
}

bool Connection::is_writable() const {
  return !broken_ && wait(POLLOUT, Clock::now() + timeouts_.write);
}

ssize_t Connection::receive(char* data, std::size_t size) {
  for (;;) {
    short events = POLLIN;
    if (ssl_) {
      const int n = SSL_read(ssl_, data, static_cast<int>(size));
      if (n > 0) return n;
      const int error = SSL_get_error(ssl_, n);
      if (error == SSL_ERROR_ZERO_RETURN) return 0;
      if (error == SSL_ERROR_WANT_WRITE) {
        events = POLLOUT;
      } else if (error != SSL_ERROR_WANT_READ) {
        broken_ = true;
        return -1;
      }
    } else {
      const ssize_t n = recv(socket_, data, size, 0);
      if (n >= 0) return n;
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {
        broken_ = true;
        return -1;
      }
    }
    if (!wait(events, read_deadline_)) {
      timed_out_ = true;
      return -1;
    }
  }
}

ssize_t Connection::read(char* data, std::size_t size) {
  if (begin_ == end_) {
    if (size >= sizeof buffer_) return receive(data, size);
    const ssize_t n = receive(buffer_, sizeof buffer_);
    if (n <= 0) return n;
    begin_ = 0;
    end_ = static_cast<std::size_t>(n);
  }
  const std::size_t n = std::min(size, end_ - begin_);
  std::memcpy(data, buffer_ + begin_, n);
  begin_ += n;
  return static_cast<ssize_t>(n);
}

ssize_t Connection::write(const char* data, std::size_t size) {
  if (broken_) return -1;
  for (;;) {
    short events = POLLOUT;
    if (ssl_) {
      const int n = SSL_write(ssl_, data, static_cast<int>(std::min<std::size_t>(size, 1 << 20)));
      if (n > 0) return n;
      const int error = SSL_get_error(ssl_, n);
      if (error == SSL_ERROR_WANT_READ) {
        events = POLLIN;
      } else if (error != SSL_ERROR_WANT_WRITE) {
        broken_ = true;
        return -1;
      }
    } else {
      const ssize_t n = send(socket_, data, size, MSG_NOSIGNAL);
      if (n >= 0) return n;
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {
        broken_ = true;
        return -1;
      }
    }
    if (!wait(events, Clock::now() + timeouts_.write)) {
      broken_ = true;
      return -1;
    }
  }
}

void no_keep_alive(const httplib::Request& request) {
  // The library decides by the request's header; the object is its own, and not const there.
  auto& headers = const_cast<httplib::Request&>(request).headers;
  headers.erase("Connection");
  headers.emplace("Connection", "close");
  if (Connection* connection = Connection::current()) connection->close_when_done();
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    describe(address, ip, port);
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    describe(address, ip, port);
}

}  // namespace veloce::serve::http

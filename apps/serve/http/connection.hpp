// One accepted TCP (or Unix, or TLS) connection as the HTTP library reads and writes it: buffered
// reads, deadlines against clients that dawdle, and an end that lets the client read our last
// answer.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "http/httplib.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace veloce::serve::http {

struct Timeouts {
  std::chrono::seconds headers{30};  // from the first byte of a request to the end of its headers
  std::chrono::seconds body{120};    // and to the end of its body
  std::chrono::seconds write{60};    // one write that makes no progress
  std::chrono::seconds keep_alive{15};  // silence between two requests
};

class Connection final : public httplib::Stream {
 public:
  // Takes the socket over. `tls` may be null.
  Connection(int socket, ssl_ctx_st* tls, const Timeouts& timeouts);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // TLS: the handshake, within the header time. True without TLS.
  bool handshake();
  // Waits for a request's first byte; false after `keep_alive` of silence, when the client left, or
  // once the descriptor `wake` becomes readable (and half a second later where no request came
  // before).
  bool wait_for_request(int wake);
  void headers_done();  // from here the time of the body counts
  void close_when_done() { close_ = true; }
  bool closing() const { return close_; }

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* data, std::size_t size) override;
  ssize_t write(const char* data, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  int socket() const override { return socket_; }

  // The connection this thread is serving; null elsewhere.
  static Connection*& current();
  // Did a deadline end the last read?
  bool timed_out() const { return timed_out_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool wait(short events, Clock::time_point deadline) const;
  ssize_t receive(char* data, std::size_t size);
  void linger();

  int socket_;
  ssl_st* ssl_ = nullptr;
  Timeouts timeouts_;
  Clock::time_point read_deadline_;
  bool close_ = false;
  bool broken_ = false;
  bool fresh_ = true;  // no request came yet
  bool timed_out_ = false;
  char buffer_[16384];
  std::size_t begin_ = 0, end_ = 0;
};

// The connection ends with the answer to this request, and the answer's headers say so.
void no_keep_alive(const httplib::Request& request);

}  // namespace veloce::serve::http

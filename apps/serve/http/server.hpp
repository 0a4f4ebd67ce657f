// The HTTP side of the server: listening, connections, keys, CORS, limits, routing, and errors as
// JSON. Knows nothing of models.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "http/connection.hpp"
#include "http/exchange.hpp"
#include "http/httplib.hpp"
#include "http/peer_watch.hpp"
#include "veloce/core/status.hpp"

namespace veloce::serve::http {

struct CorsOptions {
  std::string origins = "*";
  std::string methods = "GET, POST, DELETE, OPTIONS";
  std::string headers = "*";
  bool credentials = true;
};

struct HttpOptions {
  std::string host = "127.0.0.1";  // a name ending in ".sock" is a Unix socket
  int port = 8080;                 // 0: any
  bool reuse_port = false;
  std::string api_prefix;
  std::vector<std::string> api_keys;
  CorsOptions cors;
  std::string tls_certificate, tls_key;  // files; both or none
  Timeouts timeouts;
  int threads = 512;  // connections served at a time
  std::size_t body_limit = std::size_t{64} << 20;
};

class HttpServer final : private httplib::Server {
 public:
  using Handler = std::function<void(Exchange&)>;
  // Called before every handler but those of public routes; throws to refuse (while loading, say).
  using Gate = std::function<void(const Exchange&)>;

  explicit HttpServer(HttpOptions options);
  ~HttpServer() override;

  // `pattern` may hold {name} parts; a last {name...} takes the rest of the path. A public route
  // needs no key; one without a gate is served while others are not.
  struct Access {
    bool key = true;
    bool gate = true;
    bool marked_errors = false;  // as ApiError::marked_body()
  };
  void route(const std::string& method, const std::string& pattern, Handler handler,
             Access access = {true, true, false});
  // Methods and patterns, as they were given to route().
  std::vector<std::pair<std::string, std::string>> listed_routes() const;
  void set_gate(Gate gate) { gate_ = std::move(gate); }

  // Opens the listening socket.
  Status bind();
  int port() const { return port_; }
  // Serves until stop(). Call after bind().
  void run();
  // From here new requests are refused (503); returns when those under way have ended, or after
  // `patience`.
  void drain(std::chrono::seconds patience);
  void stop_serving();
  int active() const { return active_; }

 private:
  struct Segment {
    std::string text;  // literal, or the parameter's name
    bool parameter = false;
  };
  struct Route {
    std::string method, pattern;
    std::vector<Segment> segments;
    bool rest = false;  // the last segment takes what follows it as well
    Handler handler;
    Access access;
  };
  struct Found {
    const Route* route = nullptr;
    bool other_method = false;  // the path exists, with other methods
    std::string allowed;
    std::map<std::string, std::string> params;
  };

  bool process_and_close_socket(socket_t socket) override;
  template <class Self>
  static bool process(Self& server, Connection& connection, bool& closed,
                      const std::function<void(httplib::Request&)>& setup);
  HandlerResponse before_body(const httplib::Request& request, httplib::Response& response);
  void with_body(const httplib::Request& request, httplib::Response& response,
                 const httplib::ContentReader& reader);
  void dispatch(const httplib::Request& request, httplib::Response& response, std::string body);
  void fill_error(const httplib::Request& request, httplib::Response& response);
  Found find(const std::string& method, const std::string& path) const;
  void check_key(const httplib::Request& request, const Found& found) const;
  void check_framing(const httplib::Request& request) const;
  void add_cors(const httplib::Request& request, httplib::Response& response) const;
  void begin(httplib::Request& request);
  static void refuse(httplib::Response& response, const ApiError& error,
                     const Route* route = nullptr);

  HttpOptions options_;
  std::vector<Route> routes_;
  Gate gate_;
  PeerWatch watch_;
  ssl_ctx_st* tls_ = nullptr;
  int wake_ = -1;  // readable from drain() on
  int port_ = 0;
  std::atomic<bool> draining_{false};
  std::atomic<bool> served_{false};  // run() has returned
  std::atomic<int> active_{0};
  std::mutex idle_mutex_;
  std::condition_variable idle_;
};

}  // namespace veloce::serve::http

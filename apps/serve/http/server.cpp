#include "http/server.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "base/log.hpp"
#include "http/worker_pool.hpp"

namespace veloce::serve::http {
namespace {

thread_local RequestRecord* current_record = nullptr;

std::string random_id() {
  static constexpr char kAlphabet[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id(12, ' ');
  for (char& c : id) c = kAlphabet[random() % 36];
  return id;
}

bool plain_id(const std::string& id) {
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

bool is_unknown_method(const std::string& method) {
  static const std::set<std::string> kKnown = {"GET",     "HEAD",    "POST",  "PUT",   "DELETE",
                                               "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"};
  return !method.empty() && method.size() <= 20 && kKnown.count(method) == 0 &&
         std::all_of(method.begin(), method.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

// Takes the same time wherever the two differ.
bool same_secret(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// The path of a target that names scheme and host too (RFC 9112, 3.2.2).
std::string origin_form(const std::string& path) {
  const bool absolute =
      strncasecmp(path.c_str(), "http://", 7) == 0 || strncasecmp(path.c_str(), "https://", 8) == 0;
  if (!absolute) return path;
  const auto slash = path.find('/', path.find("://") + 3);
  return slash == std::string::npos ? "/" : path.substr(slash);
}

std::string host_of_origin(std::string origin) {
  if (const auto scheme = origin.find("://"); scheme != std::string::npos)
    origin.erase(0, scheme + 3);
  if (origin.starts_with('[')) return origin.substr(0, origin.find(']') + 1);
  return origin.substr(0, origin.find(':'));
}

// True where the request says that a body follows.
bool announces_body(const httplib::Request& request) {
  if (request.has_header("Transfer-Encoding")) return true;
  const std::string length = request.get_header_value("Content-Length");
  return !length.empty() && length != "0";
}

std::string openssl_error() {
  char text[256] = "no reason given";
  if (const unsigned long code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  return text;
}

Result<SSL_CTX*> load_tls(const std::string& certificate, const std::string& key) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (!context) return Status(Code::kInternal, "TLS: " + openssl_error());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  std::string fault;
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    fault = "certificate '" + certificate + "': " + openssl_error();
  } else if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    fault = "key '" + key + "': " + openssl_error();
  } else if (SSL_CTX_check_private_key(context) != 1) {
    fault = "key '" + key + "' does not belong to certificate '" + certificate + "'";
  }
  if (fault.empty()) return context;
  SSL_CTX_free(context);
  return Status(Code::kInvalidArgument, "TLS: " + fault);
}

// Removes the socket that a server which was killed left behind; never a file of another kind, nor
// the socket of a server that still listens.
Status clear_socket_file(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return {Code::kInvalidArgument, "--host: the socket's path '" + path + "' is longer than " +
                                        std::to_string(sizeof address.sun_path - 1) + " bytes"};
  std::memcpy(address.sun_path, path.data(), path.size());
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0) return {};
  if (!S_ISSOCK(file.st_mode))
    return {Code::kInvalidArgument, "--host: '" + path + "' exists and is no socket"};
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool taken = probe >= 0 && connect(probe, reinterpret_cast<const sockaddr*>(&address),
                                           sizeof address) == 0;
  if (probe >= 0) close(probe);
  if (taken) return {Code::kIo, "cannot listen on " + path + ": another server does"};
  unlink(path.c_str());
  return {};
}

}  // namespace

HttpServer::HttpServer(HttpOptions options)
    : options_(std::move(options)), wake_(eventfd(0, EFD_CLOEXEC)) {
  new_task_queue = [this]() -> httplib::TaskQueue* {
    return new WorkerPool(static_cast<std::size_t>(options_.threads), 64);
  };
  // Waiting, time-outs and keep-alive are Connection's; these make the header that announces them
  // true, with time for a request that is under way when the connection would be closed.
  set_keep_alive_timeout(std::max<std::int64_t>(1, options_.timeouts.keep_alive.count() - 5));
  set_keep_alive_max_count(1000000);
  set_pre_routing_handler(
      [this](const auto& request, auto& response) { return before_body(request, response); });
  const HandlerWithContentReader with_content = [this](const auto& request, auto& response,
                                                       const auto& reader) {
    with_body(request, response, reader);
  };
  Post(".*", with_content);
  Put(".*", with_content);
  Patch(".*", with_content);
  Delete(".*", with_content);
  set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
    fill_error(request, response);
  });
  set_logger([](const httplib::Request&, const httplib::Response& response) {
    if (current_record) current_record->status = response.status;
  });
  set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
        refuse(response, ApiError::internal("unexpected failure"));
      });
}

HttpServer::~HttpServer() {
  if (tls_) SSL_CTX_free(tls_);
  close(wake_);
}

void HttpServer::route(const std::string& method, const std::string& pattern, Handler handler,
                       Access access) {
  Route added{method, pattern, {}, false, std::move(handler), access};
  if (pattern.ends_with("...}")) {
    added.rest = true;
    added.pattern.erase(pattern.size() - 4, 3);
  }
  for (std::string& part : split_path(options_.api_prefix + added.pattern)) {
    const bool parameter = part.size() > 2 && part.front() == '{' && part.back() == '}';
    added.segments.push_back(
        {parameter ? part.substr(1, part.size() - 2) : std::move(part), parameter});
  }
  routes_.push_back(std::move(added));
}

std::vector<std::pair<std::string, std::string>> HttpServer::listed_routes() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Route& route : routes_) out.emplace_back(route.method, route.pattern);
  return out;
}

Status HttpServer::bind() {
  if (options_.tls_certificate.empty() != options_.tls_key.empty()) {
    return {Code::kInvalidArgument, "--ssl-cert-file and --ssl-key-file are needed together"};
  }
  if (!options_.tls_key.empty()) {
    Result<SSL_CTX*> context = load_tls(options_.tls_certificate, options_.tls_key);
    if (!context) return context.status();
    tls_ = *context;
  }
  const bool unix_socket = options_.host.ends_with(".sock");
  if (unix_socket) {
    set_address_family(AF_UNIX);
    if (const Status status = clear_socket_file(options_.host); !status) return status;
  }
  // Not SO_REUSEPORT by default, as the library has it: a second server on the port should be an
  // error.
  set_socket_options([reuse = options_.reuse_port](socket_t socket) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (reuse) setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  });
  errno = 0;
  if (options_.port == 0 && !unix_socket) {
    port_ = bind_to_any_port(options_.host);
  } else {
    // The library takes no port 0 here, and a Unix socket has none.
    port_ = bind_to_port(options_.host, unix_socket ? 80 : options_.port) ? options_.port : -1;
  }
  if (port_ < 0) {
    return {Code::kIo, "cannot listen on " + options_.host + ":" + std::to_string(options_.port) +
                           ": " + (errno != 0 ? std::strerror(errno) : "there is no such address")};
  }
  // The library's backlog of 5 makes a burst of clients wait a second for their retransmitted SYN.
  ::listen(svr_sock_, 1024);
  return {};
}

void HttpServer::run() {
  listen_after_bind();
  served_ = true;
}

void HttpServer::drain(std::chrono::seconds patience) {
  draining_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_, &one, sizeof one);
  std::unique_lock lock(idle_mutex_);
  idle_.wait_for(lock, patience, [this] { return active_ == 0; });
}

void HttpServer::stop_serving() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_, &one, sizeof one);
  // stop() does nothing to a server that has not begun yet (a model that fails at once gets here
  // that early).
  while (!is_running() && !served_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop();
  if (options_.host.ends_with(".sock")) unlink(options_.host.c_str());
}

// Later versions of the library want to be told the connection's two ends.
template <class Self>
bool HttpServer::process(Self& server, Connection& connection, bool& closed,
                         const std::function<void(httplib::Request&)>& setup) {
  if constexpr (requires { server.process_request(connection, false, closed, setup); }) {
    return server.process_request(connection, false, closed, setup);
  } else {
    std::string remote, local;
    int remote_port = 0, local_port = 0;
    connection.get_remote_ip_and_port(remote, remote_port);
    connection.get_local_ip_and_port(local, local_port);
    return server.process_request(connection, remote, remote_port, local, local_port, false, closed,
                                  setup);
  }
}

bool HttpServer::process_and_close_socket(socket_t socket) {
  if (WorkerPool::refusing()) {
    const std::string body = dump_json(ApiError::unavailable("too many open connections").body());
    const std::string answer =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json; charset=utf-8\r\n"
        "Connection: close\r\nRetry-After: 1\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    [[maybe_unused]] const ssize_t n =
        send(socket, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::close(socket);
    return false;
  }
  Connection connection(socket, tls_, options_.timeouts);
  if (!connection.handshake()) return false;
  while (connection.wait_for_request(wake_)) {
    RequestRecord record;
    current_record = &record;
    bool counted = false, closed = false;
    const auto setup = [&](httplib::Request& request) {
      counted = true;
      ++active_;
      connection.headers_done();
      begin(request);
    };
    const bool good = process(*this, connection, closed, setup);
    current_record = nullptr;
    if (counted) {
      using namespace std::chrono;
      const double ms = duration<double, std::milli>(steady_clock::now() - record.start).count();
      log::write(log::Level::kInfo, record.id, "request",
                 {{"method", record.method},
                  {"path", record.path},
                  {"status", record.status},
                  {"ms", ms}});
      const std::lock_guard lock(idle_mutex_);
      if (--active_ == 0) idle_.notify_all();
    }
    if (!good || closed || draining_) break;
  }
  return true;
}

void HttpServer::begin(httplib::Request& request) {
  RequestRecord& record = *current_record;
  const std::string given = request.get_header_value("X-Request-Id");
  record.id = plain_id(given) ? given : random_id();
  request.path = origin_form(request.path);
  record.method = request.method;
  record.path = request.path.substr(0, 200);
  record.client = request.remote_addr;
  record.accepts_gzip =
      request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
  // Compressing events or slicing answers is nothing an API client wants.
  request.headers.erase("Accept-Encoding");
  request.ranges.clear();
}

void HttpServer::refuse(httplib::Response& response, const ApiError& error, const Route* route) {
  const bool marked = route && route->access.marked_errors;
  response.status = error.status;
  response.set_content(dump_json(marked ? error.marked_body() : error.body()),
                       "application/json; charset=utf-8");
}

HttpServer::Found HttpServer::find(const std::string& method, const std::string& path) const {
  const std::vector<std::string> all = split_path(path);
  Found found;
  for (const Route& route : routes_) {
    std::vector<std::string> parts = all;
    while (route.rest && parts.size() > route.segments.size()) {
      const std::string last = std::move(parts.back());
      parts.pop_back();
      parts.back() += '/' + last;
    }
    if (route.segments.size() != parts.size()) continue;
    std::map<std::string, std::string> params;
    const auto fits = [&](const Segment& segment, const std::string& part) {
      if (segment.parameter) params[segment.text] = part;
      return segment.parameter || segment.text == part;
    };
    if (!std::equal(route.segments.begin(), route.segments.end(), parts.begin(), fits)) continue;
    if (route.method == method || (method == "HEAD" && route.method == "GET")) {
      found.route = &route;
      found.params = std::move(params);
      return found;
    }
    found.other_method = true;
    found.allowed += (found.allowed.empty() ? "" : ", ") + route.method;
  }
  return found;
}

void HttpServer::check_key(const httplib::Request& request, const Found& found) const {
  if (options_.api_keys.empty() || (found.route && !found.route->access.key)) return;
  std::string key = request.get_header_value("Authorization");
  if (key.empty()) {
    key = request.get_header_value("X-Api-Key");
  } else if (key.size() > 7 && strncasecmp(key.data(), "Bearer ", 7) == 0) {
    key.erase(0, 7);
  }
  bool known = false;
  for (const std::string& candidate : options_.api_keys) known |= same_secret(candidate, key);
  if (!known) throw ApiError::unauthorized();
  current_record->client = "key:" + std::to_string(std::hash<std::string>{}(key));
}

// What the HTTP library would misread or swallow without limit is refused here, before it sees the
// body.
void HttpServer::check_framing(const httplib::Request& request) const {
  if (request.path.size() > 2048)
    throw ApiError{414, "invalid_request_error", "the path is too long"};
  const std::string encoding = request.get_header_value("Content-Encoding");
  if (!encoding.empty() && encoding != "identity") {
    throw ApiError{415, "invalid_request_error",
                   "Content-Encoding '" + encoding + "' is not supported"};
  }
  if (request.is_multipart_form_data()) {
    throw ApiError{415, "invalid_request_error",
                   "multipart/form-data is not supported here; send JSON"};
  }
  if (const std::string coding = request.get_header_value("Transfer-Encoding");
      !coding.empty() && (coding != "chunked" || request.has_header("Content-Length"))) {
    throw ApiError::invalid("Transfer-Encoding must be 'chunked', without a Content-Length");
  }
  if (request.get_header_value_count("Content-Length") > 1)
    throw ApiError::invalid("more than one Content-Length");
  if (const std::string text = request.get_header_value("Content-Length"); !text.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error != std::errc{} || end != text.data() + text.size()) {
      throw ApiError::invalid("Content-Length '" + text.substr(0, 40) + "' is not a number");
    }
    if (length > options_.body_limit) {
      throw ApiError::too_large("the body of " + text + " bytes is larger than the limit of " +
                                std::to_string(options_.body_limit));
    }
  }
}

void HttpServer::add_cors(const httplib::Request& request, httplib::Response& response) const {
  const CorsOptions& cors = options_.cors;
  const std::string origin = request.get_header_value("Origin");
  std::string allowed = cors.origins;
  if (cors.origins == "*" && cors.credentials) {
    if (!origin.empty()) {
      allowed = origin;
      response.set_header("Vary", "Origin");
    }
  } else if (cors.origins == "localhost") {
    const std::string host = host_of_origin(origin);
    allowed = host == "localhost" || host == "127.0.0.1" || host == "[::1]" ? origin : "";
    response.set_header("Vary", "Origin");
  }
  if (!allowed.empty()) response.set_header("Access-Control-Allow-Origin", allowed);
  if (request.method == "OPTIONS") {
    response.set_header("Access-Control-Allow-Credentials", cors.credentials ? "true" : "false");
    response.set_header("Access-Control-Allow-Methods", cors.methods);
    response.set_header("Access-Control-Allow-Headers", cors.headers);
  }
}

httplib::Server::HandlerResponse HttpServer::before_body(const httplib::Request& request,
                                                         httplib::Response& response) {
  current_record->client = request.remote_addr;
  response.set_header("X-Request-Id", current_record->id);
  add_cors(request, response);
  const bool body = announces_body(request);
  const bool reads_body = request.method == "POST" || request.method == "PUT" ||
                          request.method == "PATCH" || request.method == "DELETE";
  const Found found = find(request.method, request.path);
  try {
    check_framing(request);
    if (request.method == "OPTIONS") {
      response.status = 200;
      if (body) no_keep_alive(request);
      return HandlerResponse::Handled;
    }
    check_key(request, found);
    if (!found.route && found.other_method) {
      response.set_header("Allow", found.allowed);
      throw ApiError::method_not_allowed("this path takes " + found.allowed + ", not " +
                                         request.method);
    }
    if (!found.route) throw ApiError::not_found();
    if (draining_) throw ApiError::unavailable("the server is shutting down");
    if (body && reads_body) return HandlerResponse::Unhandled;
    if (body) no_keep_alive(request);
  } catch (const ApiError& error) {
    if (body) no_keep_alive(request);
    refuse(response, error, found.route);
    return HandlerResponse::Handled;
  }
  dispatch(request, response, {});
  return HandlerResponse::Handled;
}

void HttpServer::with_body(const httplib::Request& request, httplib::Response& response,
                           const httplib::ContentReader& reader) {
  std::string body;
  bool too_large = false;
  const bool complete = reader([&](const char* data, std::size_t size) {
    too_large = body.size() + size > options_.body_limit;
    if (!too_large) body.append(data, size);
    return !too_large;
  });
  if (complete) return dispatch(request, response, std::move(body));
  no_keep_alive(request);
  ApiError error = ApiError::invalid("the body is cut off, or not in well-formed chunks");
  const Connection* connection = Connection::current();
  if (too_large) {
    error = ApiError::too_large("the body is larger than the limit of " +
                                std::to_string(options_.body_limit) + " bytes");
  } else if (connection && connection->timed_out()) {
    error = {408, "invalid_request_error", "the body did not arrive in time"};
  }
  refuse(response, error, find(request.method, request.path).route);
}

void HttpServer::dispatch(const httplib::Request& request, httplib::Response& response,
                          std::string body) {
  Found found = find(request.method, request.path);
  Exchange exchange(request, response, *current_record, std::move(body), std::move(found.params),
                    watch_);
  try {
    if (gate_ && found.route->access.gate) gate_(exchange);
    found.route->handler(exchange);
  } catch (const ApiError& error) {
    refuse(response, error, found.route);
    log::write(log::Level::kDebug, current_record->id, "refused",
               {{"status", error.status}, {"why", error.message}});
  } catch (const std::bad_alloc&) {
    refuse(response, ApiError::unavailable("out of memory"), found.route);
  } catch (const std::exception& error) {
    log::write(log::Level::kError, current_record->id, "handler failed", {{"what", error.what()}});
    refuse(response, ApiError::internal("unexpected failure; the log has details"), found.route);
  }
}

// Errors that the HTTP library itself answers.
void HttpServer::fill_error(const httplib::Request& request, httplib::Response& response) {
  if (!response.body.empty() || response.status < 400) return;
  ApiError error = ApiError::invalid("the request is not well-formed HTTP");
  error.status = response.status;
  // The library refuses a method that it does not know before it looks at the path.
  if (response.status == 400 && is_unknown_method(request.method) &&
      request.version.starts_with("HTTP/1.")) {
    const Found found = find(request.method, request.target.substr(0, request.target.find('?')));
    if (found.other_method) response.set_header("Allow", found.allowed);
    error = found.other_method ? ApiError::method_not_allowed("this path takes " + found.allowed +
                                                              ", not " + request.method)
                               : ApiError::not_found();
  }
  if (response.status == 404) error = ApiError::not_found();
  if (response.status == 413) error = ApiError::too_large("the request is too large");
  if (response.status == 414) error.message = "the request line is too long";
  if (response.status >= 500) error = ApiError::internal("unexpected failure");
  refuse(response, error);
  if (Connection* connection = Connection::current()) connection->close_when_done();
}

}  // namespace veloce::serve::http

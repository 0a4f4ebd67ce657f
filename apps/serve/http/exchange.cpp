#include "http/exchange.hpp"

#include "base/log.hpp"
#include "http/connection.hpp"

namespace veloce::serve::http {

Json Exchange::json_body() const {
  if (body_.empty()) throw ApiError::invalid("the request has no body; a JSON object was expected");
  Result<Json> value = parse_json(body_);
  if (!value)
    throw ApiError::invalid("the body is not acceptable JSON: " + value.status().message());
  if (!value->is_object()) {
    throw ApiError::invalid(std::string("the body must be a JSON object, not ") +
                            value->type_name());
  }
  return *std::move(value);
}

void Exchange::reply(int status, std::string body, const std::string& content_type) {
  response_.status = status;
  response_.set_content(std::move(body), content_type);
}

void Exchange::reply_json(const Json& value, int status) {
  reply(status, dump_json(value), "application/json; charset=utf-8");
}

void Exchange::stream(std::function<void(EventWriter&)> run) {
  response_.status = 200;
  response_.set_header("X-Accel-Buffering", "no");
  response_.set_header("Cache-Control", "no-cache");
  const auto provide = [run = std::move(run), id = record_.id](std::size_t,
                                                               httplib::DataSink& sink) {
    EventWriter writer(sink);
    try {
      run(writer);
    } catch (const ApiError& error) {
      writer.data(error.body());
    } catch (const std::exception& error) {
      log::write(log::Level::kError, id, "stream failed", {{"what", error.what()}});
      writer.data(ApiError::internal("the answer could not be completed").body());
    }
    if (!writer.flush()) return false;
    sink.done();
    return true;
  };
  const char* type = "text/event-stream";
  if (request_.version == "HTTP/1.0") {  // knows no chunks: the answer ends with the connection
    no_keep_alive(request_);
    response_.set_content_provider(type, provide);
  } else {
    response_.set_chunked_content_provider(type, provide);
  }
}

PeerWatch::Handle Exchange::on_disconnect(std::function<void()> gone) const {
  const Connection* connection = Connection::current();
  if (!connection) return {};
  return watch_.add(connection->socket(), std::move(gone));
}

}  // namespace veloce::serve::http

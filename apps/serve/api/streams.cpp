// Reading streams again that outlive their connection (specs/server.md 12).
#include "api/fields.hpp"
#include "api/routes.hpp"
#include "stream_sessions.hpp"

namespace veloce::serve {
namespace {

std::string conversation_of(const http::Exchange& exchange) {
  const std::string name = exchange.query("conv_id");
  if (name.empty()) throw ApiError::invalid("'conv_id' is required");
  return name;
}

void replay(http::Exchange& exchange, const Service& service) {
  const std::string name = conversation_of(exchange), from_text = exchange.query("from");
  if (from_text.size() > 18 || from_text.find_first_not_of("0123456789") != std::string::npos) {
    throw ApiError::invalid("'from' must be a number of bytes");
  }
  const std::uint64_t from = from_text.empty() ? 0 : std::stoull(from_text);
  const auto session = service.sessions().find(exchange.client(), name);
  if (!session) throw ApiError{404, "not_found_error", "there is no stream of this conversation"};
  if (!session->holds(from))
    throw ApiError::invalid("'from': byte " + std::to_string(from) + " is not kept (any more)");
  exchange.stream([session, from, ping = service.options().ping_seconds](
                      http::EventWriter& writer) { session->follow(from, writer, ping); });
}

void look_up(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const Fields body(json);
  if (const Json& given = body.required("conversation_ids"); !given.is_array())
    body.wrong_type("conversation_ids", "an array of strings", given);
  Json out = Json::array();
  const std::vector<std::string> names = *body.strings("conversation_ids");
  for (const std::string& name : names) {
    const auto session = service.sessions().find(exchange.client(), name);
    if (session)
      out.push_back({{"conversation_id", name},
                     {"is_done", session->done()},
                     {"total_bytes", session->size()}});
  }
  exchange.reply_json(out);
}

}  // namespace

void add_stream_routes(http::HttpServer& server, ServiceOf service) {
  server.route("GET", "/v1/stream",
               [service](http::Exchange& exchange) { replay(exchange, service()); });
  server.route("DELETE", "/v1/stream", [service](http::Exchange& exchange) {
    service().sessions().remove(exchange.client(), conversation_of(exchange));
    exchange.reply_json({{"success", true}});
  });
  server.route("POST", "/v1/streams/lookup",
               [service](http::Exchange& exchange) { look_up(exchange, service()); });
}

}  // namespace veloce::serve

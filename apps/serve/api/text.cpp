// Text utilities (specs/server.md 8).
#include "api/fields.hpp"
#include "api/prompt.hpp"
#include "api/routes.hpp"

namespace veloce::serve {
namespace {

// A string where the bytes are text, else an array of them.
Json piece_json(const std::string& bytes) {
  if (is_valid_utf8(bytes)) return bytes;
  Json out = Json::array();
  for (const char c : bytes) out.push_back(static_cast<int>(static_cast<unsigned char>(c)));
  return out;
}

void tokenize(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const Fields body(json);
  const bool add_special = body.boolean("add_special").value_or(false);
  const bool parse_special = body.boolean("parse_special").value_or(true);
  const bool pieces = body.boolean("with_pieces").value_or(false);
  Json tokens = Json::array();
  if (const Json* content = body.find("content")) {
    for (const std::int32_t id :
         tokenize_mixed(*content, "content", service, add_special, parse_special)) {
      if (pieces) {
        tokens.push_back({{"id", id}, {"piece", piece_json(service.piece(id))}});
      } else {
        tokens.push_back(id);
      }
    }
  }
  exchange.reply_json({{"tokens", std::move(tokens)}});
}

void detokenize(http::Exchange& exchange, const Service& service) {
  const Json json = exchange.json_body();
  const Fields body(json);
  std::string content;
  if (const Json* tokens = body.array("tokens")) {
    for (std::size_t i = 0; i < tokens->size(); ++i) {
      if (!(*tokens)[i].is_number()) {
        body.wrong_type("tokens[" + std::to_string(i) + ']', "a token id", (*tokens)[i]);
      }
    }
    content = service.decode(tokenize_mixed(*tokens, "tokens", service, false, true));
  }
  exchange.reply_json({{"content", std::move(content)}});
}

}  // namespace

void add_text_routes(http::HttpServer& server, ServiceOf service) {
  server.route("POST", "/tokenize",
               [service](http::Exchange& exchange) { tokenize(exchange, service()); });
  server.route("POST", "/detokenize",
               [service](http::Exchange& exchange) { detokenize(exchange, service()); });
}

}  // namespace veloce::serve

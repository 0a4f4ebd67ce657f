// The routes of the API. Each add_… registers those of one file; the service is there once the
// model is loaded, and the server's gate keeps requests out before that.
#pragma once

#include <functional>

#include "http/server.hpp"
#include "service.hpp"

namespace veloce::serve {

// The loaded model; only called behind the gate.
using ServiceOf = std::function<const Service&()>;

void add_completion_routes(http::HttpServer& server, ServiceOf service);  // OpenAI /v1/completions
void add_native_routes(http::HttpServer& server, ServiceOf service);      // /completion, /infill
void add_chat_routes(http::HttpServer& server, ServiceOf service);
void add_text_routes(http::HttpServer& server, ServiceOf service);   // tokenize, detokenize
void add_state_routes(http::HttpServer& server, ServiceOf service);  // models, props, metrics
void add_slot_routes(http::HttpServer& server, ServiceOf service);
void add_anthropic_routes(http::HttpServer& server, ServiceOf service);  // /v1/messages
void add_responses_routes(http::HttpServer& server, ServiceOf service);  // /v1/responses
void add_embedding_routes(http::HttpServer& server, ServiceOf service);
void add_stream_routes(http::HttpServer& server,
                       ServiceOf service);  // streams that outlive their connection
void add_openapi_route(http::HttpServer& server, ServiceOf service);  // describes all of them

}  // namespace veloce::serve

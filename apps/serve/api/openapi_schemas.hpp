// What the OpenAPI description says of each route: a summary, and JSON Schemas (2020-12, as OpenAPI
// 3.1 has them) of the request's body and of the answer.
#pragma once

#include <map>
#include <string>

#include "base/json.hpp"
#include "service.hpp"

namespace veloce::serve {

struct RouteDescription {
  const char* summary = "";
  Json body;                     // schema of the request's body; null: none
  Json answer = Json::object();  // of a 200 that is not streamed
  bool stream = false;           // the answer may be text/event-stream
  bool body_required = true;
};

// By "METHOD /path".
std::map<std::string, RouteDescription> route_descriptions(const Service& service);

}  // namespace veloce::serve

// The OpenAPI description, made of what is registered: a route that openapi_schemas.cpp does not
// know is listed with its path alone, and the test of the description finds it.
#include <cctype>

#include "api/openapi_schemas.hpp"
#include "api/routes.hpp"
#include "scheduler/scheduler.hpp"
#include "veloce/config.hpp"

namespace veloce::serve {
namespace {

Json error_answer(const char* description) {
  return {
      {"description", description},
      {"content", {{"application/json", {{"schema", {{"$ref", "#/components/schemas/Error"}}}}}}}};
}

Json parameter(const char* name, const char* place, bool required, Json schema) {
  return {{"name", name}, {"in", place}, {"required", required}, {"schema", std::move(schema)}};
}

Json parameters(const std::string& method, const std::string& path, int slots) {
  Json out = Json::array();
  const Json text = {{"type", "string"}, {"minLength", 1}};
  const Json count = {{"type", "integer"}, {"minimum", 0}};
  if (path == "/slots/{id}") {
    Json id = count;
    id["maximum"] = slots - 1;
    const Json actions = {{"type", "string"}, {"enum", {"save", "restore", "erase"}}};
    out.push_back(parameter("id", "path", true, std::move(id)));
    out.push_back(parameter("action", "query", true, actions));
  } else if (path.find("{id}") != std::string::npos) {
    out.push_back(parameter("id", "path", true, text));
  } else if (path == "/v1/stream") {
    out.push_back(parameter("conv_id", "query", true, text));
    if (method == "GET") out.push_back(parameter("from", "query", false, count));
  }
  return out;
}

Json operation(const RouteDescription& entry, const std::string& method, const std::string& path,
               int slots) {
  Json content = {
      {path == "/metrics" ? "text/plain" : "application/json", {{"schema", entry.answer}}}};
  if (entry.stream) content["text/event-stream"] = {{"schema", Json::object()}};
  Json out = {
      {"summary", entry.summary},
      {"responses", {{"200", {{"description", "The answer"}, {"content", std::move(content)}}}}}};
  for (const auto& [code, what] :
       {std::pair{"400", "The request is wrong; the message names the field"},
        {"401", "The API key is missing or wrong"},
        {"404", "There is no such thing"},
        {"413", "The body is too large"},
        {"415", "The body's encoding is not supported"},
        {"501", "Not enabled, or not something this model does"},
        {"503", "Loading, shutting down or the queue is full"}}) {
    out["responses"][code] = error_answer(what);
  }
  if (!entry.body.is_null())
    out["requestBody"] = {{"required", entry.body_required},
                          {"content", {{"application/json", {{"schema", entry.body}}}}}};
  if (Json all = parameters(method, path, slots); !all.empty()) out["parameters"] = std::move(all);
  return out;
}

}  // namespace

void add_openapi_route(http::HttpServer& server, ServiceOf service) {
  server.route(
      "GET", "/openapi.json",
      [&server, service](http::Exchange& exchange) {
        const std::map<std::string, RouteDescription> known = route_descriptions(service());
        Json paths = Json::object();
        for (const auto& [method, path] : server.listed_routes()) {
          if (path == "/" || path.starts_with("/ui/")) continue;  // the browser's pages are no API
          const auto found = known.find(method + ' ' + path);
          std::string verb;
          for (const char c : method)
            verb += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
          const RouteDescription unknown;
          paths[path][verb] = operation(found == known.end() ? unknown : found->second, method,
                                        path, service().scheduler().slot_count());
        }
        exchange.reply_json(
            {{"openapi", "3.1.0"},
             {"info", {{"title", "veloce-serve"}, {"version", VELOCE_VERSION}}},
             {"paths", std::move(paths)},
             {"components",
              {{"schemas",
                {{"Error",
                  {{"type", "object"},
                   {"properties",
                    {{"error",
                      {{"type", "object"},
                       {"properties",
                        {{"code", {{"type", "integer"}}},
                         {"message", {{"type", "string"}}},
                         {"type", {{"type", "string"}}}}},
                       {"required", {"code", "message", "type"}}}}}},
                   {"required", Json::array({"error"})}}}}},
               {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}});
      },
      {false, true});
}

}  // namespace veloce::serve

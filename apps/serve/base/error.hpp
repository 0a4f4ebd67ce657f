// What goes wrong with a request, as the client will read it. Handlers throw it; the HTTP layer
// turns it into the error object of the API.
#pragma once

#include <string>
#include <utility>

#include "base/json.hpp"
#include "veloce/core/status.hpp"

namespace veloce::serve {

struct ApiError {
  int status = 500;
  std::string type = "server_error";
  std::string message;
  Json extra = Json::object();  // further members of the error object

  // {"error": {"code", "message", "type", ...}}
  Json body() const;
  // The same with "type": "error" beside it, for Anthropic's clients.
  Json marked_body() const;

  static ApiError invalid(std::string message) {
    return {400, "invalid_request_error", std::move(message)};
  }
  static ApiError unauthorized() { return {401, "authentication_error", "Invalid API Key"}; }
  static ApiError not_found() { return {404, "not_found_error", "File Not Found"}; }
  static ApiError method_not_allowed(std::string message) {
    return {405, "invalid_request_error", std::move(message)};
  }
  static ApiError too_large(std::string message) {
    return {413, "invalid_request_error", std::move(message)};
  }
  static ApiError internal(std::string message) {
    return {500, "server_error", std::move(message)};
  }
  static ApiError unsupported(std::string message) {
    return {501, "not_supported_error", std::move(message)};
  }
  static ApiError unavailable(std::string message) {
    return {503, "unavailable_error", std::move(message)};
  }
  // The caller's faults become 400, the rest 500.
  static ApiError from(const Status& status);
};

// "Field 'NAME': MESSAGE"
[[noreturn]] void throw_field(const std::string& name, const std::string& message);

}  // namespace veloce::serve

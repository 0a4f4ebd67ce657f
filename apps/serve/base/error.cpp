#include "base/error.hpp"

namespace veloce::serve {

Json ApiError::body() const {
  Json error = {{"code", status}, {"message", message}, {"type", type}};
  for (const auto& [key, value] : extra.items()) error[key] = value;
  return {{"error", std::move(error)}};
}

Json ApiError::marked_body() const {
  Json out = body();
  out["type"] = "error";
  return out;
}

ApiError ApiError::from(const Status& status) {
  switch (status.code()) {
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kCorrupt:
      return invalid(status.message());
    case Code::kUnsupported:
      return unsupported(status.message());
    case Code::kOutOfMemory:
      return unavailable(status.message());
    default:
      return internal(status.message());
  }
}

void throw_field(const std::string& name, const std::string& message) {
  throw ApiError::invalid("Field '" + name + "': " + message);
}

}  // namespace veloce::serve

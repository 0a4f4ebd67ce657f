// The chat request that a request to /v1/responses means.
#pragma once

#include <string>

#include "api/fields.hpp"

namespace veloce::serve {

// Throws ApiError. `id`: the HTTP request's, for the log.
Json chat_request_of_responses(const Fields& body, const std::string& id);

}  // namespace veloce::serve

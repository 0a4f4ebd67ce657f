// From the fields that all generating routes share (specs/server.md 3.2) to GenerationParams, and
// back to JSON for clients that want to see what was used.
#pragma once

#include "api/fields.hpp"
#include "scheduler/generation_params.hpp"
#include "scheduler/request.hpp"
#include "service.hpp"

namespace veloce::serve {

// How the routes name the number of reported probabilities.
enum class LogprobStyle { kCount, kOpenAiChat };

// Checks and reads the fields; throws ApiError. Grammar fields included.
GenerationParams read_params(const Fields& body, const Service& service, LogprobStyle style);

// Fields that belong to the request and not to the generation.
struct RequestSettings {
  bool stream = false;
  bool include_usage = false;
  bool reasoning_control = false;  // chat: the answer's thinking may be ended from outside
  int choices = 1;
  int ping_seconds = 30;
  Priority priority = Priority::kInteractive;
};
RequestSettings read_request_settings(const Fields& body, const Service& service);

// Binds the output to a GBNF grammar.
void bind_grammar(GenerationParams& params, const Service& service, const std::string& gbnf,
                  const std::string& field);

// The schema that response_format or json_schema asks for; null where nothing is asked for.
Json wanted_schema(const Fields& body);
// The field that it stands in, for messages.
const char* schema_field(const Fields& body);
// Binds the output to it; of routes whose whole answer is the document.
void bind_schema(GenerationParams& params, const Service& service, const Fields& body);

// Under the names of the request's fields.
Json params_to_json(const GenerationParams& params);

}  // namespace veloce::serve

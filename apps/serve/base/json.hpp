// JSON as the server uses it: objects keep their members' order (schemas and tool definitions mean
// something by it), text from outside is parsed with limits, and what the model wrote can always be
// written out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "veloce/core/status.hpp"

namespace veloce::serve {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  int depth = 128;                 // nested arrays and objects
  std::size_t values = 4'000'000;  // values in all
};

// Parses one JSON text. Refused with a message that names the place: what is not JSON or not UTF-8,
// numbers that are not finite, duplicate keys, and what exceeds the limits. Linear in the length of
// the text.
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

// The text of a value. Bytes that are not UTF-8 become U+FFFD.
std::string dump_json(const Json& value, int indent = -1);

// The same replacement for plain text.
std::string valid_utf8(std::string_view text);
bool is_valid_utf8(std::string_view text);

// The length of the longest prefix of `text` that does not end inside a UTF-8 sequence.
std::size_t complete_utf8_prefix(std::string_view text);

}  // namespace veloce::serve

// The shapes a prompt can have (specs/server.md 3.1), and the checks that every prompt passes
// before it is queued.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/fields.hpp"
#include "service.hpp"

namespace veloce::serve {

// One prompt (a string, token ids, a mixture, an object with prompt_string), or an array of
// several.
std::vector<std::vector<std::int32_t>> read_prompts(const Fields& body, std::string_view field,
                                                    const Service& service);

// A string or a mixed array, as /tokenize takes it.
std::vector<std::int32_t> tokenize_mixed(const Json& value, const std::string& name,
                                         const Service& service, bool add_special,
                                         bool parse_special);

// Tokens of a text, refused early when it cannot fit the context.
std::vector<std::int32_t> tokenize_prompt(const std::string& text, const Service& service,
                                          bool add_special);

// Throws exceed_context_size_error where the prompt does not fit.
void check_prompt(const std::vector<std::int32_t>& prompt, const Service& service);

}  // namespace veloce::serve

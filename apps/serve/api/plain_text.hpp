// --no-special-in-input: what a message says is text, also where it spells special tokens, so that
// no message can pose as another's. The texts of such tokens are broken up by a mark before the
// template sees them, and the rendered prompt is tokenized in the pieces between the marks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "service.hpp"

namespace veloce::serve {

// Puts the marks into the contents of checked messages.
void break_special_tokens(Json& messages, const Service& service);

// Tokens of the rendered prompt, special ones of the template's parsed; takes the marks out of the
// text.
std::vector<std::int32_t> encode_broken(std::string& text, const Service& service);

}  // namespace veloce::serve

// From the body of a chat request, in OpenAI's form, to what the scheduler and the reader of the
// answer need. The other chat APIs are turned into that form first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/chat_output.hpp"
#include "api/params.hpp"
#include "service.hpp"

namespace veloce::serve {

struct ChatPlan {
  std::string prompt_text;
  std::vector<std::int32_t> prompt;
  GenerationParams params;
  RequestSettings settings;
  ChatOutput output;
};

// Checks everything and renders the prompt; throws ApiError. `max_prompt`: false leaves out the
// check that the prompt fits the context (for counting).
ChatPlan plan_chat(const Json& body, const Service& service, bool must_fit = true);

// The messages as templates take them: checked, parts of text joined, roles known. Throws ApiError.
Json checked_messages(const Fields& body);
// The tools, checked; an empty array where there are none.
Json checked_tools(const Fields& body);

}  // namespace veloce::serve

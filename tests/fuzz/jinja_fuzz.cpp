// Fuzzes the template interpreter: the input is a template, rendered over a conversation with
// tools. What renders must render again to the same text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "veloce/text/jinja.hpp"

using namespace veloce::text;

namespace {

const nlohmann::ordered_json& context() {
  static const nlohmann::ordered_json kContext = nlohmann::ordered_json::parse(R"({
    "messages": [{"role": "system", "content": "Be terse."}, {"role": "user", "content": "Zoë 😀 <|x|>"},
      {"role": "assistant", "content": "", "reasoning_content": "think\n\n", "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "add", "arguments": {"a": 1, "b": [1.5, null, true], "c": {"d": "e"}}}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "2"}, {"role": "user", "content": [{"type": "text", "text": "?"}]}],
    "tools": [{"type": "function", "function": {"name": "add", "description": "x", "parameters": {"type": "object",
      "properties": {"a": {"type": "integer"}, "b": {"type": ["array", "null"]}}, "required": ["a"]}}}],
    "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true, "enable_thinking": false,
    "numbers": [-7, 0, 9223372036854775807, 1e300, -0.0, 3], "text": " a,b;c\n\t", "empty": {}, "none": null})");
  return kContext;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  jinja::Error error;
  const auto parsed = jinja::Template::parse(source, &error);
  if (!parsed) {
    if (error.message.empty() || error.line < 1) std::abort();
    return 0;
  }
  jinja::Limits limits;
  limits.max_steps = 200000;
  limits.max_memory = 8u << 20;
  limits.max_output = 1u << 20;
  const jinja::Clock clock = [] { return std::tm{}; };
  const jinja::RenderResult first = parsed->render(context(), limits, clock);
  if (!first.ok() && first.error.message.empty()) std::abort();
  const jinja::RenderResult second = parsed->render(context(), limits, clock);
  if (first.ok() != second.ok() || first.output != second.output) std::abort();
  return 0;
}

// The model's chat template: conversations in, prompt text out.
#pragma once

#include <memory>
#include <string>

#include "base/json.hpp"
#include "veloce/core/status.hpp"

namespace veloce::gguf {
class Metadata;
}
namespace veloce::text {
struct ChatFormat;
class Tokenizer;
namespace jinja {
class Template;
}
}  // namespace veloce::text

namespace veloce::serve {

struct Conversation {
  Json messages = Json::array();
  Json tools = Json::array();
  Json variables = Json::object();  // chat_template_kwargs and the like
  bool add_generation_prompt = true;
};

class ChatRenderer {
 public:
  // `given` is the template from the command line; empty: the file's (default and tool_use), else a
  // plain one. An error names the line in the template.
  static Result<ChatRenderer> create(const std::string& given, const gguf::Metadata& metadata,
                                     const text::Tokenizer& tokenizer);

  // kInvalidArgument: the template refused the conversation, or a limit of rendering.
  Result<std::string> render(const Conversation& conversation) const;

  const std::string& source() const { return source_; }
  const std::string& tool_source() const { return tool_source_; }
  // Booleans found by rendering small conversations (specs/server.md 10.2).
  const Json& capabilities() const { return capabilities_; }
  bool can(const char* capability) const { return capabilities_.value(capability, false); }
  bool can_think() const { return can_think_; }
  // How the model writes thoughts and calls. Where the template has no tools, render() tells the
  // model of them in the system prompt, and of a plain notation for calls; the format is that one
  // then.
  const text::ChatFormat& format() const { return *format_; }

 private:
  void probe();
  Json normal_messages(const Json& messages) const;
  Json spelled_out(const Conversation& conversation) const;
  std::string calls_as_text(const Json& calls) const;

  std::string source_, tool_source_, bos_, eos_;
  std::string tools_variable_ = "tools";  // what the template calls them
  std::string call_example_;
  std::shared_ptr<const text::jinja::Template> template_, tool_template_;
  std::shared_ptr<const text::ChatFormat> format_;
  bool drop_bos_ = false;
  bool can_think_ = false;
  Json capabilities_ = Json::object();
};

}  // namespace veloce::serve

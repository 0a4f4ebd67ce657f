// Reads an answer's text as it comes and tells thoughts, content and tool calls apart, for all chat
// APIs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/run.hpp"
#include "base/json.hpp"

namespace veloce::text {
struct ChatFormat;
}

namespace veloce::serve {

enum class ReasoningFormat {
  kNone,
  kSeparate,
  kLegacy
};  // kLegacy: separate, but in streams left in the content

// How to read the answers of one request.
struct ChatOutput {
  const text::ChatFormat* format = nullptr;  // the template's; outlives the requests
  ReasoningFormat reasoning = ReasoningFormat::kSeparate;
  bool begins_in_reasoning = false;  // the prompt ends within the thinking block
  bool parse_tools = false;
  Json tools = Json::array();
};

struct ChatDelta {
  enum class Kind { kReasoning, kContent, kToolCall, kToolArguments };
  Kind kind = Kind::kContent;
  std::string text;      // of the thoughts, the content, or a piece of the arguments
  int tool = 0;          // which call
  std::string id, name;  // kToolCall
};

struct ToolCall {
  std::string id, name, arguments;  // arguments: JSON text
};

struct ChatMessage {
  std::string reasoning, content;
  std::vector<ToolCall> calls;

  // There are calls, and none was cut off: they can be carried out.
  bool calls_complete() const;
};

class ChatReader {
 public:
  // `streamed`: kLegacy leaves thoughts in the content.
  ChatReader(const ChatOutput& output, bool streamed);
  ~ChatReader();
  ChatReader(ChatReader&&) noexcept;

  // What the next piece of text adds. `last`: the text ends here.
  std::vector<ChatDelta> feed(std::string_view text, bool last);
  // Everything so far.
  const ChatMessage& message() const { return message_; }

 private:
  class Parser;
  void note(const ChatDelta& delta);
  std::unique_ptr<Parser> parser_;
  ChatMessage message_;
};

// A stream format that sees deltas in place of text.
class ChatStream : public StreamFormat {
 public:
  ChatStream(const ChatOutput& output, int choices);
  void on_event(const Event& event, http::EventWriter& writer) final;

 protected:
  virtual void on_start(const Event&, http::EventWriter&) {}
  virtual void on_progress(const Event&, http::EventWriter&) {}
  // One piece of text or one last event gives one call, with all its deltas (may be none).
  virtual void on_deltas(const Event& event, const std::vector<ChatDelta>& deltas,
                         http::EventWriter& writer) = 0;
  virtual void on_finish(const Event& event, const ChatMessage& message,
                         http::EventWriter& writer) = 0;
  const ChatMessage& message(int index) const {
    return readers_[static_cast<std::size_t>(index)].message();
  }

 private:
  std::vector<ChatReader> readers_;
};

// "tool_calls", "stop" or "length".
std::string chat_finish_reason(StopReason reason, const ChatMessage& message);

}  // namespace veloce::serve

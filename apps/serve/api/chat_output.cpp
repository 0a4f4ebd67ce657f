#include "api/chat_output.hpp"

#include <algorithm>
#include <utility>

#include "veloce/text/chat_parse.hpp"

namespace veloce::serve {

class ChatReader::Parser : public text::ChatParser {
 public:
  using text::ChatParser::ChatParser;
};

ChatReader::ChatReader(const ChatOutput& output, bool streamed) {
  text::ChatParseOptions options;
  options.parse_reasoning = output.reasoning == ReasoningFormat::kSeparate ||
                            (output.reasoning == ReasoningFormat::kLegacy && !streamed);
  options.begins_in_reasoning = output.begins_in_reasoning;
  options.parse_calls = output.parse_tools;
  options.tools = output.tools;
  parser_ = std::make_unique<Parser>(*output.format, std::move(options));
}

ChatReader::~ChatReader() = default;
ChatReader::ChatReader(ChatReader&&) noexcept = default;

std::vector<ChatDelta> ChatReader::feed(std::string_view text, bool last) {
  std::vector<ChatDelta> deltas;
  for (text::ChatDelta& delta : parser_->feed(text, last)) {
    ChatDelta::Kind kind = ChatDelta::Kind::kContent;
    if (delta.kind == text::ChatDelta::Kind::kReasoning) kind = ChatDelta::Kind::kReasoning;
    if (delta.kind == text::ChatDelta::Kind::kCallStart) kind = ChatDelta::Kind::kToolCall;
    if (delta.kind == text::ChatDelta::Kind::kCallArguments) kind = ChatDelta::Kind::kToolArguments;
    deltas.push_back(
        {kind, std::move(delta.text), delta.call, std::move(delta.id), std::move(delta.name)});
    note(deltas.back());
  }
  return deltas;
}

void ChatReader::note(const ChatDelta& delta) {
  switch (delta.kind) {
    case ChatDelta::Kind::kReasoning:
      message_.reasoning += delta.text;
      break;
    case ChatDelta::Kind::kContent:
      message_.content += delta.text;
      break;
    case ChatDelta::Kind::kToolCall:
      message_.calls.push_back({delta.id, delta.name, {}});
      break;
    case ChatDelta::Kind::kToolArguments:
      message_.calls.at(static_cast<std::size_t>(delta.tool)).arguments += delta.text;
      break;
  }
}

ChatStream::ChatStream(const ChatOutput& output, int choices) {
  for (int i = 0; i < choices; ++i) readers_.emplace_back(output, true);
}

void ChatStream::on_event(const Event& event, http::EventWriter& writer) {
  if (event.kind == Event::Kind::kStarted) return on_start(event, writer);
  if (event.kind == Event::Kind::kProgress) return on_progress(event, writer);
  ChatReader& reader = readers_[static_cast<std::size_t>(event.index)];
  const bool last = event.kind == Event::Kind::kFinished;
  on_deltas(event, reader.feed(event.text, last), writer);
  if (last) on_finish(event, reader.message(), writer);
}

bool ChatMessage::calls_complete() const {
  return !calls.empty() && std::all_of(calls.begin(), calls.end(), [](const ToolCall& call) {
    const Result<Json> arguments = parse_json(call.arguments);
    return arguments && arguments->is_object();
  });
}

std::string chat_finish_reason(StopReason reason, const ChatMessage& message) {
  if (reason == StopReason::kLimit) return "length";
  return message.calls_complete() ? "tool_calls" : "stop";
}

}  // namespace veloce::serve

#include "api/chat_plan.hpp"

#include <algorithm>
#include <optional>

#include "api/plain_text.hpp"
#include "api/prompt.hpp"
#include "api/tool_grammar.hpp"
#include "chat_renderer.hpp"
#include "veloce/text/chat_parse_format.hpp"
#include "veloce/text/json_schema.hpp"
#include "veloce/text/tokenizer.hpp"

namespace veloce::serve {
namespace {

// What OpenAI's API knows and nothing here does.
void refuse_what_is_missing(const Fields& body) {
  for (const char* old : {"functions", "function_call"}) {
    if (body.has(old)) body.fail(old, "was replaced by 'tools' and 'tool_choice'; give those");
  }
  if (body.has("audio")) body.fail("audio", "answers are text only");
  for (const std::string& modality :
       body.strings("modalities").value_or(std::vector<std::string>{"text"})) {
    if (modality != "text")
      body.fail("modalities", "answers are text only, not '" + modality.substr(0, 60) + "'");
  }
  if (body.has("web_search_options"))
    body.fail("web_search_options", "there is no web search here");
}

enum class ToolChoice { kAuto, kNone, kRequired };

struct ToolRequest {
  Json tools = Json::array();  // those that may be called
  ToolChoice choice = ToolChoice::kAuto;
  bool parallel = true;
  bool parse = false;
};

// The tool that {"type": "function", "function": {"name": ...}} means.
Json chosen_tool(const Fields& body, const Fields& fields, const Json& tools) {
  if (fields.string("type").value_or("function") != "function")
    fields.fail("type", "must be 'function' or 'allowed_tools'");
  const Json* function = fields.object("function");
  if (!function) fields.fail("function", "is required");
  const std::string name = Fields(*function, fields.name("function.")).required_string("name");
  const auto found = std::find_if(tools.begin(), tools.end(),
                                  [&](const Json& t) { return t["function"]["name"] == name; });
  if (found == tools.end())
    body.fail("tool_choice", "there is no tool '" + name.substr(0, 64) + "'");
  return *found;
}

// {"type": "allowed_tools", "allowed_tools": {"mode": "auto" or "required", "tools": [...]}}: the
// model is shown, and may call, only these.
void allow_some(const Fields& body, const Fields& choice, ToolRequest& request) {
  const Json* allowed = choice.object("allowed_tools");
  if (!allowed) choice.fail("allowed_tools", "is required");
  const Fields fields(*allowed, choice.name("allowed_tools."));
  const bool required = fields.choice("mode", {"auto", "required"}).value_or("auto") == "required";
  [[maybe_unused]] const Json& present = fields.required("tools");
  Json some = Json::array();
  for (const Json& item : *fields.array("tools")) {
    const std::string name = fields.name("tools") + '[' + std::to_string(some.size()) + ']';
    if (!item.is_object()) throw_field(name, "must be an object");
    some.push_back(chosen_tool(body, Fields(item, name + '.'), request.tools));
  }
  if (some.empty()) fields.fail("tools", "must not be empty");
  request.tools = std::move(some);
  if (required) request.choice = ToolChoice::kRequired;
}

ToolRequest read_tools(const Fields& body) {
  ToolRequest request;
  request.tools = checked_tools(body);
  request.parallel = body.boolean("parallel_tool_calls").value_or(true);
  if (const Json* choice = body.find("tool_choice"); choice && choice->is_object()) {
    const Fields fields(*choice, body.name("tool_choice."));
    if (fields.string("type") == "allowed_tools") {
      allow_some(body, fields, request);
    } else {
      request.tools = Json::array({chosen_tool(body, fields, request.tools)});
      request.choice = ToolChoice::kRequired;
    }
  } else if (choice) {
    const std::string name = *body.choice("tool_choice", {"auto", "none", "required"});
    request.choice = name == "none"       ? ToolChoice::kNone
                     : name == "required" ? ToolChoice::kRequired
                                          : ToolChoice::kAuto;
    if (request.choice == ToolChoice::kRequired && request.tools.empty())
      body.fail("tool_choice", "'required' needs tools");
  }
  const bool callable = !request.tools.empty() && request.choice != ToolChoice::kNone;
  request.parse = body.boolean("parse_tool_calls").value_or(true) && callable;
  if (!callable) request.tools = Json::array();
  return request;
}

// Template variables: those of the command line, then the request's own.
Json template_variables(const Fields& body, const Service& service) {
  const Options& options = service.options();
  Json variables = options.template_kwargs;
  if (options.reasoning != "auto") variables["enable_thinking"] = options.reasoning == "on";
  if (!options.reasoning_effort.empty()) variables["reasoning_effort"] = options.reasoning_effort;
  if (const auto effort = body.string("reasoning_effort")) {
    if (*effort == "none") {
      variables["enable_thinking"] = false;
    } else {
      variables["reasoning_effort"] = *effort;
    }
  }
  if (const Json* given = body.object("chat_template_kwargs")) {
    [[maybe_unused]] const auto checked =
        Fields(*given, body.name("chat_template_kwargs.")).boolean("enable_thinking");
    for (const auto& [key, value] : given->items()) variables[key] = value;
  }
  if (options.reasoning_preserve) {
    for (const auto& [name, keep] : {std::pair{"preserve_thinking", true},
                                     {"clear_thinking", false},
                                     {"drop_thinking", false}})
      if (!variables.contains(name)) variables[name] = keep;
  }
  if (!variables.contains("enable_thinking")) variables["enable_thinking"] = true;
  if (!variables.contains("thinking")) variables["thinking"] = variables["enable_thinking"];
  return variables;
}

enum class Continue { kNo, kContent, kReasoning };

// Does the answer continue the last message?
Continue continuation(const Fields& body, const Service& service, const Json& messages) {
  const bool last_is_assistant = messages.back()["role"] == "assistant";
  const bool has_content = !messages.back()["content"].get_ref<const std::string&>().empty();
  const Json* asked = body.find("continue_final_message");
  const auto generation_prompt = body.boolean("add_generation_prompt");
  if (asked && !(asked->is_boolean() && !asked->get<bool>())) {
    if (!asked->is_boolean()) {
      [[maybe_unused]] const auto checked =
          body.choice("continue_final_message", {"content", "reasoning_content"});
    }
    if (generation_prompt.value_or(false))
      body.fail("continue_final_message", "cannot be combined with add_generation_prompt");
    if (!last_is_assistant)
      body.fail("continue_final_message", "the last message is not the assistant's");
    if (asked->is_string()) return *asked == "content" ? Continue::kContent : Continue::kReasoning;
    return has_content || !messages.back().contains("reasoning_content") ? Continue::kContent
                                                                         : Continue::kReasoning;
  }
  const bool prefill = last_is_assistant && service.options().prefill_assistant &&
                       !generation_prompt && !asked && !messages.back().contains("tool_calls");
  return prefill ? Continue::kContent : Continue::kNo;
}

std::string render(const Service& service, const Fields& body, Json messages, const Json& tools,
                   Json variables) {
  const Continue how = continuation(body, service, messages);
  Json last;
  if (how != Continue::kNo) {
    last = messages.back();
    messages.erase(messages.size() - 1);
  }
  const bool generation_prompt =
      how != Continue::kNo || body.boolean("add_generation_prompt").value_or(true);
  Result<std::string> text =
      service.chat().render({std::move(messages), tools, std::move(variables), generation_prompt});
  if (!text) throw ApiError::invalid(text.status().message());
  if (how == Continue::kContent) *text += last["content"].get<std::string>();
  if (how == Continue::kReasoning && last.contains("reasoning_content"))
    *text += last["reasoning_content"].get<std::string>();
  return *std::move(text);
}

// What the answer may look like: grammar of tools or schema, limits to thinking, and how to read
// it.
class OutputPlanner {
 public:
  OutputPlanner(const Fields& body, const Service& service, ChatPlan& plan)
      : body_(body), service_(service), format_(service.chat().format()), plan_(plan) {}

  void plan(const ToolRequest& tools, const Json& schema, bool thinking) {
    plan_.output.format = &format_;
    plan_.output.begins_in_reasoning = format_.opens_reasoning(plan_.prompt_text);
    plan_.output.reasoning = reasoning_format();
    plan_.output.parse_tools = tools.parse;
    plan_.output.tools = tools.tools;
    thinking_ = thinking && !format_.reasoning_end.empty();
    plan_reasoning();
    if (!tools.tools.empty()) {
      if (body_.has("grammar")) body_.fail("grammar", "cannot be combined with tools");
      plan_tools(tools, schema);
    } else if (!schema.is_null()) {
      plan_schema(schema);
    }
    show(format_.reasoning_start);
    show(format_.reasoning_end);
    if (format_.style == text::CallStyle::kChannels) {
      for (const char* mark : {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>",
                               "<|end|>", "<|call|>", "<|return|>"})
        show(mark);
    }
    if (!tools.parse) return;
    for (const auto& marks :
         {format_.opening, format_.closing, format_.after_name, format_.key_end}) {
      for (const std::string& mark : marks) show(mark);
    }
    for (const std::string& mark :
         {format_.key_start, format_.text_kind, format_.other_kind, format_.value_end})
      show(mark);
  }

 private:
  std::optional<std::int32_t> control_token(std::string_view text) const {
    const text::Vocabulary& vocabulary = service_.tokenizer().vocabulary();
    const std::int32_t id = vocabulary.find(text);
    if (id < 0 || vocabulary.type(id) != text::TokenType::kControl) return std::nullopt;
    return id;
  }

  // Control tokens in a mark must be seen in the text.
  void show(const std::string& mark) {
    for (const std::int32_t id : service_.encode(mark, false, true)) {
      if (service_.tokenizer().vocabulary().type(id) == text::TokenType::kControl)
        plan_.params.visible.push_back(id);
    }
  }

  ReasoningFormat reasoning_format() const {
    const std::string name =
        body_.choice("reasoning_format", {"none", "auto", "deepseek", "deepseek-legacy"})
            .value_or(service_.options().reasoning_format);
    return name == "none"              ? ReasoningFormat::kNone
           : name == "deepseek-legacy" ? ReasoningFormat::kLegacy
                                       : ReasoningFormat::kSeparate;
  }

  void plan_reasoning() {
    const Options& options = service_.options();
    ReasoningSettings& r = plan_.params.reasoning;
    r.budget = options.reasoning_budget;
    for (const char* name : {"thinking_budget_tokens", "reasoning_budget_tokens"}) {
      if (const auto budget = body_.integer(name, -1, 1 << 30))
        r.budget = static_cast<int>(*budget);
    }
    const std::string message =
        body_.string("reasoning_budget_message").value_or(options.reasoning_budget_message);
    if (format_.reasoning_end.empty()) return;
    r.start = format_.reasoning_start;
    r.end = format_.reasoning_end;
    r.forced = service_.encode(message + format_.reasoning_end, false, true);
    r.begins_inside = plan_.output.begins_in_reasoning;
  }

  ControlToken control() const {
    return [this](std::string_view text) { return control_token(text); };
  }
  // A model that thinks, and has not begun to in the prompt, may do so before what the grammar asks
  // for.
  bool may_think() const { return thinking_ && !plan_.output.begins_in_reasoning; }

  void plan_schema(const Json& schema) {
    const std::string rules = document_rules(schema);
    bind_grammar(plan_.params, service_,
                 with_root(rules, format_, {may_think(), false, true}, control()),
                 body_.name(schema_field(body_)));
  }

  // Rules of `answer-document`.
  std::string document_rules(const Json& schema) const {
    text::SchemaGrammar grammar({.prefix = "document-"});
    if (const Status status = grammar.add(schema, "answer-document"); !status)
      body_.fail(schema_field(body_), status.message());
    return grammar.text();
  }

  // A schema beside tools is that of an answer without calls.
  void plan_tools(const ToolRequest& tools, const Json& schema) {
    if (plan_.params.report_probabilities && plan_.settings.stream)
      body_.fail("logprobs", "cannot be combined with tools in a stream");
    Result<ToolGrammar> grammar = tool_grammar(format_, tools.tools, tools.parallel, control());
    if (!grammar && grammar.status().code() == Code::kUnsupported &&
        tools.choice == ToolChoice::kAuto && tools.parallel && schema.is_null()) {
      return;  // nothing was asked for that would have to be enforced
    }
    if (!grammar) body_.fail("tools", grammar.status().message());
    const bool document = tools.choice == ToolChoice::kAuto && !schema.is_null();
    const bool lazy = tools.choice == ToolChoice::kAuto && !document;
    const std::string rules = grammar->rules + (document ? document_rules(schema) : "");
    bind_grammar(plan_.params, service_,
                 with_root(rules, format_, {!lazy && may_think(), true, document}, control()),
                 body_.name(document ? schema_field(body_) : "tools"));
    plan_.params.grammar.lazy = lazy;
    plan_.params.grammar.triggers = std::move(grammar->triggers);
  }

  const Fields& body_;
  const Service& service_;
  const text::ChatFormat& format_;
  ChatPlan& plan_;
  bool thinking_ = false;
};

}  // namespace

ChatPlan plan_chat(const Json& json, const Service& service, bool must_fit) {
  const Fields body(json);
  ChatPlan plan;
  refuse_what_is_missing(body);
  Json messages = checked_messages(body);
  const ToolRequest tools = read_tools(body);
  plan.settings = read_request_settings(body, service);
  plan.params = read_params(body, service, LogprobStyle::kOpenAiChat);
  const Json schema = wanted_schema(body);
  if (!schema.is_null() && body.has("grammar"))
    body.fail("grammar", "cannot be combined with a JSON schema");
  const Json variables = template_variables(body, service);
  const bool plain_input = service.options().plain_input;
  if (plain_input) break_special_tokens(messages, service);
  plan.prompt_text = render(service, body, std::move(messages), tools.tools, variables);
  plan.prompt = plain_input ? encode_broken(plan.prompt_text, service)
                : must_fit  ? tokenize_prompt(plan.prompt_text, service, true)
                            : service.encode(plan.prompt_text, true, true);
  if (must_fit) check_prompt(plan.prompt, service);
  OutputPlanner(body, service, plan)
      .plan(tools, schema, variables["enable_thinking"] != Json(false));
  return plan;
}

}  // namespace veloce::serve

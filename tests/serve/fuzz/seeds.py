"""Valid requests of every endpoint, as (method, path, body): what the request fuzzer starts from."""

# Tools, thinking and generation prompts, so that the paths behind them are reached whatever the model's own template is.
AGENT_TEMPLATE = (
    "{%- if tools %}<|im_start|>system\nTools:{% for tool in tools %}\n{{ tool | tojson }}{% endfor %}\n"
    "Call: <tool_call>\n{\"name\": ..., \"arguments\": ...}\n</tool_call><|im_end|>\n{% endif %}"
    "{%- for message in messages %}<|im_start|>{{ message.role }}\n"
    "{%- if message.reasoning_content %}<think>\n{{ message.reasoning_content }}\n</think>\n{% endif %}{{ message.content }}"
    "{%- for call in message.tool_calls or [] %}\n<tool_call>\n{\"name\": {{ call.function.name | tojson }}, \"arguments\": "
    "{{ call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|im_end|>\n{% endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}")

WEATHER = {"type": "object", "properties": {"city": {"type": "string", "minLength": 1}, "unit": {"enum": ["C", "F"]},
                                            "days": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 14}, "maxItems": 3}},
           "required": ["city"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Looks out of the window", "parameters": WEATHER, "strict": True}},
         {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}}}]
MESSAGES = [{"role": "system", "content": "You are terse."}, {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]},
            {"role": "assistant", "content": "Hello.", "reasoning_content": "Polite."}, {"role": "user", "content": "How much is 1 + 1?"}]
CALLED = MESSAGES + [{"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1,\"b\":1}"}}]},
                     {"role": "tool", "tool_call_id": "c1", "content": "2"}]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"$defs": {"node": {"type": "object", "properties": {
    "value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["value", "next"]}}, "$ref": "#/$defs/node"}}}
GRAMMAR = 'root ::= item{1,3} "."\nitem ::= [a-z]+ " "? | "\\"" [^"]* "\\""\n'
SAMPLING = {"temperature": 0.7, "top_k": 20, "top_p": 0.9, "min_p": 0.02, "typical_p": 0.95, "top_n_sigma": 2, "xtc_probability": 0.2, "xtc_threshold": 0.1,
            "repeat_penalty": 1.1, "repeat_last_n": 32, "presence_penalty": 0.1, "frequency_penalty": 0.1, "dry_multiplier": 0.5, "dry_base": 1.5,
            "dry_allowed_length": 1, "dry_sequence_breakers": ["\n", ":"], "dynatemp_range": 0.1, "mirostat": 0, "seed": 7, "min_keep": 1,
            "logit_bias": [[1, -1.5], ["the", False]], "samplers": ["penalties", "dry", "top_k", "top_p", "temperature"], "n_probs": 2}
INPUT = [{"role": "user", "content": [{"type": "input_text", "text": "How much is 1 + 1?"}]},
         {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{\"a\":1,\"b\":1}"},
         {"type": "function_call_output", "call_id": "c1", "output": "2"}]
BLOCKS = [{"role": "user", "content": [{"type": "text", "text": "How much is 1 + 1?"}]},
          {"role": "assistant", "content": [{"type": "thinking", "thinking": "Add.", "signature": ""}, {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1, "b": 1}}]},
          {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "2"}]}]}]
CLAUDE_TOOLS = [{"name": "add", "description": "Sum", "input_schema": TOOLS[1]["function"]["parameters"]}]
SHORT = {"max_tokens": 6, "temperature": 0}

CHAT = [
    {"messages": MESSAGES, **SHORT},
    {"messages": MESSAGES, "stream": True, "stream_options": {"include_usage": True}, "logprobs": True, "top_logprobs": 2, "timings_per_token": True,
     "return_progress": True, **SHORT},
    {"messages": CALLED, "tools": TOOLS, "tool_choice": "auto", "parallel_tool_calls": True, **SHORT},
    {"messages": MESSAGES, "tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "weather"}}, "stream": True, "max_tokens": 24},
    {"messages": MESSAGES, "tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 24, "seed": 1},
    {"messages": MESSAGES, "response_format": SCHEMA, "max_tokens": 24, "seed": 3},
    {"messages": MESSAGES, "response_format": {"type": "json_object"}, "stop": ["\n\n", "}"], "max_tokens": 12},
    {"messages": MESSAGES, "chat_template_kwargs": {"enable_thinking": False, "extra": {"a": [1, 2]}}, "reasoning_format": "deepseek", "reasoning_effort": "low",
     "reasoning_budget_tokens": 4, **SHORT},
    {"messages": MESSAGES[:3], "continue_final_message": True, "add_generation_prompt": False, "n": 2, "seed": 5, "max_tokens": 4, "priority": "background"},
    {"messages": MESSAGES, "grammar": GRAMMAR, "max_tokens": 12},
]
TEXT = [
    {"prompt": "Once upon a time", **SHORT},
    {"prompt": ["Once upon", [1, 2, 3], "a time"], "stream": True, "logprobs": 2, "n": 2, "stop": "x", **SHORT},
    {"prompt": "List: ", "json_schema": {"type": "array", "items": {"type": "string", "pattern": "^[a-c]{1,3}$"}, "minItems": 1, "maxItems": 2}, "n_predict": 16, "seed": 2},
    {"prompt": [1, "and", 2], "n_predict": 6, "return_tokens": True, "response_fields": ["content", "generation_settings/seed", "timings"], "id_slot": 1, **SAMPLING},
    {"prompt": {"prompt_string": "Say:"}, "grammar": GRAMMAR, "n_predict": 12, "stream": True, "n_indent": 1, "t_max_predict_ms": 500, "cache_prompt": True},
]


def seeds():
    out = []
    for path in ("/v1/chat/completions", "/chat/completions"):
        out += [("POST", path, body) for body in CHAT]
    for path in ("/v1/completions", "/completion", "/completions"):
        out += [("POST", path, body) for body in TEXT]
    for path in ("/apply-template", "/v1/chat/completions/input_tokens", "/chat/completions/input_tokens"):
        out += [("POST", path, CHAT[0]), ("POST", path, CHAT[2])]
    for path in ("/v1/responses", "/responses", "/v1/responses/input_tokens"):
        out += [("POST", path, {"input": "Hi", "instructions": "Be terse.", "max_output_tokens": 6, "temperature": 0}),
                ("POST", path, {"input": INPUT, "tools": [{"type": "function", "name": "add", "parameters": TOOLS[1]["function"]["parameters"]}], "stream": True,
                                "tool_choice": "auto", "reasoning": {"effort": "low"}, "max_output_tokens": 8}),
                ("POST", path, {"input": INPUT[:1], "text": {"format": {"type": "json_schema", "name": "a", "schema": WEATHER}}, "max_output_tokens": 16})]
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        out += [("POST", path, {"messages": BLOCKS, "tools": CLAUDE_TOOLS, "system": [{"type": "text", "text": "Terse."}], "max_tokens": 8, "stream": True,
                                "tool_choice": {"type": "any", "disable_parallel_tool_use": True}}),
                ("POST", path, {"messages": BLOCKS[:1], "max_tokens": 6, "stop_sequences": ["x"], "thinking": {"type": "enabled", "budget_tokens": 4}, "top_k": 5})]
    for path in ("/v1/embeddings", "/embeddings", "/embedding"):
        out += [("POST", path, {"input": ["a text", "another"], "encoding_format": "base64"}), ("POST", path, {"content": "a text", "embd_normalize": 2})]
    out += [("POST", "/infill", {"input_prefix": "def f(", "input_suffix": "\n  return x\n", "prompt": "x", "input_extra": [{"filename": "a.py", "text": "x = 1\n"}], "n_predict": 6}),
            ("POST", "/tokenize", {"content": "Hello <|im_end|> w\u00f6rld \U0001F600", "add_special": True, "parse_special": True, "with_pieces": True}),
            ("POST", "/tokenize", {"content": ["Hello", 5, "world"]}),
            ("POST", "/detokenize", {"tokens": [1, 2, 3, 500]}),
            ("POST", "/slots/0?action=save", {"filename": "slot.bin"}), ("POST", "/slots/0?action=restore", {"filename": "slot.bin"}), ("POST", "/slots/1?action=erase", None),
            ("POST", "/props", {"anything": 1}), ("GET", "/props", None), ("GET", "/slots", None), ("GET", "/v1/models", None), ("GET", "/models", None),
            ("GET", "/v1/models/some", None), ("GET", "/metrics", None), ("GET", "/health", None), ("GET", "/openapi.json", None), ("GET", "/lora-adapters", None),
            ("GET", "/", None), ("POST", "/rerank", {"query": "a", "documents": ["b"]}), ("OPTIONS", "/v1/chat/completions", None), ("HEAD", "/health", None)]
    return out

"""The usual server's documented curl examples, as its users type them: they give the documented shapes."""
import json, shutil, subprocess
import pytest
from conftest import fake

JSON = ["--header", "Content-Type: application/json"]
CHAT = ["-H", "Content-Type: application/json", "-H", "Authorization: Bearer no-key"]


@pytest.fixture(scope="module")
def curl():
    if not shutil.which("curl"): pytest.skip("SKIP: no curl")
    s = fake("-np", "2", "-c", "8192", "--embeddings", "--metrics")
    def run(path, *arguments):
        done = subprocess.run(["curl", "--silent", "--show-error", s.url + path, *arguments], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout
    yield run
    assert s.stop() == 0


def has(value, *names): return all(name in value for name in names)


def test_completion(curl):
    answer = json.loads(curl("/completion", "--request", "POST", *JSON, "--data", '{"prompt": "Building a website can be done in 10 simple steps:","n_predict": 16}'))
    assert has(answer, "content", "stop", "generation_settings", "model", "prompt", "stop_type", "stopping_word", "timings", "tokens_cached", "tokens_evaluated", "truncated", "tokens", "id_slot", "index")
    assert answer["stop"] is True and answer["prompt"].endswith("steps:") and answer["tokens_predicted"] == 16
    assert has(answer["timings"], "cache_n", "prompt_n", "prompt_ms", "prompt_per_token_ms", "prompt_per_second", "predicted_n", "predicted_ms", "predicted_per_token_ms", "predicted_per_second")
    assert has(answer["generation_settings"], "n_predict", "seed", "temperature", "dynatemp_range", "top_k", "top_p", "min_p", "xtc_probability", "typical_p", "repeat_last_n", "repeat_penalty", "presence_penalty",
               "frequency_penalty", "dry_multiplier", "dry_sequence_breakers", "mirostat", "stop", "max_tokens", "n_keep", "n_discard", "ignore_eos", "logit_bias", "n_probs", "min_keep", "grammar", "samplers", "lora", "timings_per_token")
    probable = json.loads(curl("/completion", *JSON, "--data", '{"prompt": "The","n_predict": 2, "n_probs": 2}'))["completion_probabilities"]
    assert len(probable) == 2 and has(probable[0], "id", "logprob", "token", "bytes", "top_logprobs") and len(probable[0]["top_logprobs"]) == 2
    lines = curl("/completion", "--no-buffer", *JSON, "--data", '{"prompt": "Building", "n_predict": 4, "stream": true}').split("\n\n")
    assert all(line.startswith("data: ") for line in lines[:-1]) and json.loads(lines[-2][6:])["stop"] is True


def test_text_utilities(curl):
    assert json.loads(curl("/health")) == {"status": "ok"}
    tokens = json.loads(curl("/tokenize", *JSON, "--data", '{"content": "Hello", "add_special": false, "with_pieces": true}'))["tokens"]
    assert has(tokens[0], "id", "piece")
    ids = [t["id"] for t in tokens]
    assert json.loads(curl("/detokenize", *JSON, "--data", json.dumps({"tokens": ids}))) == {"content": "Hello"}
    assert "Hi" in json.loads(curl("/apply-template", *JSON, "--data", '{"messages": [{"role": "user", "content": "Hi"}]}'))["prompt"]
    model = json.loads(curl("/v1/models"))
    assert model["object"] == "list" and has(model["data"][0], "id", "object", "created", "owned_by", "meta") and has(model["data"][0]["meta"], "vocab_type", "n_vocab", "n_ctx_train", "n_embd", "n_params", "size")
    props = json.loads(curl("/props"))
    assert has(props, "default_generation_settings", "total_slots", "model_path", "chat_template", "modalities", "build_info", "chat_template_caps")
    slot = json.loads(curl("/slots"))[0]
    assert has(slot, "id", "n_ctx", "speculative", "is_processing", "id_task", "params", "next_token")
    assert "# TYPE llamacpp:prompt_tokens_total counter" in curl("/metrics")


def test_chat(curl):
    body = """{
"model": "gpt-3.5-turbo",
"max_tokens": 16,
"messages": [
{"role": "system", "content": "You are ChatGPT, an AI assistant. Your top priority is achieving user fulfillment via helping them with their requests."},
{"role": "user", "content": "Write a limerick about python exceptions"}
]
}"""
    answer = json.loads(curl("/v1/chat/completions", *CHAT, "-d", body))
    assert has(answer, "choices", "created", "id", "model", "object", "system_fingerprint", "usage", "timings") and answer["object"] == "chat.completion"
    choice = answer["choices"][0]
    assert choice["index"] == 0 and choice["finish_reason"] == "length" and choice["message"]["role"] == "assistant" and choice["message"]["content"]
    assert has(answer["usage"], "completion_tokens", "prompt_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details")
    verbose = json.loads(curl("/v1/chat/completions", *CHAT, "-d", body.replace('"max_tokens": 16,', '"max_tokens": 4, "verbose": true, "return_tokens": true,')))["__verbose"]
    assert "limerick" in verbose["prompt"] and len(verbose["tokens"]) == 4
    stream = curl("/v1/chat/completions", "-N", *CHAT, "-d", body.replace('"max_tokens": 16,', '"max_tokens": 4, "stream": true, "timings_per_token": true,'))
    chunks = [json.loads(line[6:]) for line in stream.split("\n\n")[:-2]]
    assert stream.endswith("data: [DONE]\n\n") and chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": None} and chunks[-1]["choices"][0]["finish_reason"] == "length"
    assert chunks[-1]["timings"]["predicted_n"] == 4 and any("timings" in c for c in chunks[1:-1])


def test_response_formats(curl):
    ask = lambda form: json.loads(json.loads(curl("/v1/chat/completions", *CHAT, "-d", json.dumps(
        {"messages": [{"role": "user", "content": "A list, please"}], "max_tokens": 600, "seed": 2, "response_format": form})))["choices"][0]["message"]["content"])
    participants = {"properties": {"name": {"title": "Name", "type": "string", "maxLength": 4}, "participants": {"items": {"type": "string", "maxLength": 3}, "title": "Participants", "type": "array", "maxItems": 2}},
                    "required": ["name", "participants"]}
    for form in ({"type": "json_schema", "schema": participants}, {"type": "json_object", "schema": {"type": "string", "minLength": 2, "maxLength": 2}},
                 {"type": "json_schema", "json_schema": {"name": "x", "schema": participants}}):
        value = ask(form)
        assert len(value) == 2 and (isinstance(value, str) or set(value) == {"name", "participants"})


def test_tools(curl):
    body = {"model": "gpt-3.5-turbo", "tools": [{"type": "function", "function": {"name": "python", "description": "Runs code in an ipython interpreter and returns the result of the execution after 60 seconds.",
            "parameters": {"type": "object", "properties": {"code": {"type": "string", "maxLength": 5, "description": "The code to run in the ipython interpreter."}}, "required": ["code"]}}}],
            "messages": [{"role": "user", "content": "Print a hello world message with python."}], "max_tokens": 16}
    assert json.loads(curl("/v1/chat/completions", "-d", json.dumps(body)))["object"] == "chat.completion"
    choice = json.loads(curl("/v1/chat/completions", "-d", json.dumps({**body, "tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 300})))["choices"][0]
    call = choice["message"]["tool_calls"][0]
    assert choice["finish_reason"] == "tool_calls" and call["type"] == "function" and call["function"]["name"] == "python" and set(json.loads(call["function"]["arguments"])) == {"code"} and call["id"]


def test_other_apis(curl):
    answer = json.loads(curl("/v1/responses", *CHAT, "-d", '{"model": "gpt-4.1", "max_output_tokens": 5, "instructions": "You are ChatGPT, an AI assistant.", "input": "Write a limerick about python exceptions"}'))
    assert answer["object"] == "response" and answer["output"][0]["type"] == "message" and answer["output"][0]["content"][0]["type"] == "output_text"
    claude = '{"model": "gpt-4", "max_tokens": 5, "system": "You are a helpful assistant.", "messages": [{"role": "user", "content": "Hello"}]}'
    answer = json.loads(curl("/v1/messages", "-H", "Content-Type: application/json", "-H", "x-api-key: your-api-key", "-d", claude))
    assert answer["type"] == "message" and answer["content"][0]["type"] == "text" and has(answer["usage"], "input_tokens", "output_tokens")
    assert json.loads(curl("/v1/messages/count_tokens", *JSON, "-d", claude)).keys() == {"input_tokens"}
    for text in ('"hello"', '["hello", "world"]'):
        answer = json.loads(curl("/v1/embeddings", *CHAT, "-d", '{"input": %s, "model":"GPT-4", "encoding_format": "float"}' % text))
        assert answer["object"] == "list" and has(answer["data"][0], "embedding", "index", "object") and has(answer["usage"], "prompt_tokens", "total_tokens")
    assert isinstance(json.loads(curl("/embedding", "-d", '{"content": "hello"}'))[0]["embedding"][0], list)
    completion = json.loads(curl("/v1/completions", *CHAT, "-d", '{"model": "davinci-002", "prompt": "I believe the meaning of life is", "max_tokens": 8}'))
    assert completion["object"] == "text_completion" and has(completion["choices"][0], "text", "index", "finish_reason", "logprobs")


@pytest.mark.parametrize("path,body,code", [
    ("/v1/rerank", '{"model": "some-model", "query": "What is panda?", "top_n": 3, "documents": ["hi", "it is a bear"]}', 501),
    ("/infill", '{"input_prefix": "a", "input_suffix": "b"}', None),
    ("/slots/0?action=save", '{"filename": "x"}', 501), ("/props", "{}", 501), ("/lora-adapters", '[{"id": 0, "scale": 0.2}]', 400), ("/lora-adapters", "[]", 200),
    ("/v1/chat/completions", '{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/y.png"}}]}]}', 400)])
def test_what_this_server_does_not_do_is_refused_by_name(curl, path, body, code):
    answer = json.loads(curl(path, "-d", body))
    if code == 200: assert answer == {"success": True}
    elif code: assert answer["error"]["code"] == code and answer["error"]["message"]

"""Thoughts: where they go, how they are counted, limited and ended; over a template that opens them in the prompt."""
import json, re
import anthropic, openai, pytest
from conftest import chat_body, fake

TEMPLATE = ("{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
            "{%- if m.reasoning_content %}{{ '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}{%- endif %}{{ m.content + '<|im_end|>\n' }}{%- endfor %}"
            "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- if enable_thinking %}{{ '<think>\n' }}{%- endif %}{%- endif %}")
MESSAGES = [{"role": "user", "content": "Hi"}]


@pytest.fixture(scope="module")
def thinker():
    s = fake("-np", "2", "-c", "8192", "--chat-template", TEMPLATE, env={"VELOCE_FAKE_STEP_US": "2000"})
    yield s
    assert s.stop() == 0


@pytest.fixture(scope="module")
def client(thinker): return openai.OpenAI(base_url=thinker.url + "/v1", api_key="none", max_retries=0)


def create(client, budget=8, **more):
    extra = {"ignore_eos": True, **({"reasoning_budget_tokens": budget} if budget is not None else {}), **more.pop("extra", {})}
    return client.chat.completions.create(model="x", messages=MESSAGES, temperature=0, max_tokens=more.pop("max_tokens", 40), extra_body=extra, **more)


def test_the_budget_ends_the_thought(client):
    answer = create(client)
    message, usage = answer.choices[0].message, answer.usage
    assert message.model_extra["reasoning_content"] and message.content and "think>" not in message.content + message.model_extra["reasoning_content"]
    thought = usage.completion_tokens_details.reasoning_tokens
    assert 8 < thought < 20 and usage.completion_tokens == 40   # the thought and the tokens of the tag that ends it
    again = create(client, stream=True, stream_options={"include_usage": True})
    chunks = list(again)
    assert chunks[-1].usage.completion_tokens_details.reasoning_tokens == thought
    deltas = [c.choices[0].delta for c in chunks if c.choices]
    assert "".join((d.model_extra or {}).get("reasoning_content") or "" for d in deltas).strip() == message.model_extra["reasoning_content"].strip()
    assert "".join(d.content or "" for d in deltas).strip() == message.content.strip()
    both = create(client, n=2)
    assert both.usage.completion_tokens_details.reasoning_tokens == 2 * thought


def test_no_end_and_no_thought(client):
    endless = create(client, budget=None, max_tokens=20)
    assert endless.choices[0].finish_reason == "length" and not endless.choices[0].message.content
    assert endless.usage.completion_tokens_details.reasoning_tokens == 20
    none = create(client, budget=0)
    assert none.choices[0].message.content and not none.choices[0].message.model_extra.get("reasoning_content")
    for off in ({"chat_template_kwargs": {"enable_thinking": False}}, {"reasoning_effort": "none"}):
        answer = create(client, budget=None, extra=off)
        assert answer.usage.completion_tokens_details.reasoning_tokens == 0 and answer.choices[0].message.content


def test_the_budgets_message(client):
    answer = create(client, extra={"reasoning_budget_message": " Enough of it."})
    assert answer.choices[0].message.model_extra["reasoning_content"].endswith("Enough of it.")


def test_formats(thinker):
    ask = lambda **more: thinker.post("/v1/chat/completions", chat_body(max_tokens=40, ignore_eos=True, reasoning_budget_tokens=8, **more))[1]
    inside = ask(reasoning_format="none")["choices"][0]["message"]
    assert "</think>" in inside["content"] and "reasoning_content" not in inside
    assert ask(reasoning_format="deepseek")["choices"][0]["message"]["reasoning_content"]
    assert ask(reasoning_format="deepseek-legacy")["choices"][0]["message"]["reasoning_content"]
    events = thinker.events("/v1/chat/completions", chat_body(max_tokens=40, ignore_eos=True, reasoning_budget_tokens=8, reasoning_format="deepseek-legacy", stream=True))
    deltas = [e[1]["choices"][0]["delta"] for e in events[:-1]]
    assert not any("reasoning_content" in d for d in deltas) and "</think>" in "".join(d.get("content") or "" for d in deltas)


def test_a_schema_holds_behind_the_thought(client):
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}
    for budget in (0, 8):
        answer = create(client, budget=budget, max_tokens=200, extra={"ignore_eos": False}, response_format={"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": schema}})
        assert json.loads(answer.choices[0].message.content)["ok"] in (True, False) and answer.choices[0].finish_reason == "stop"


def test_a_tool_call_comes_behind_the_thought(client):
    tool = {"type": "function", "function": {"name": "pick", "parameters": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["n"]}}}
    answer = create(client, max_tokens=300, tools=[tool], tool_choice="required", parallel_tool_calls=False, extra={"ignore_eos": False})
    message = answer.choices[0].message
    assert message.model_extra["reasoning_content"] and answer.choices[0].finish_reason == "tool_calls" and 1 <= json.loads(message.tool_calls[0].function.arguments)["n"] <= 9


def test_responses(client):
    extra = {"reasoning_budget_tokens": 8}
    answer = client.responses.create(model="x", input="Hi", max_output_tokens=40, temperature=0, extra_body=extra)
    assert [item.type for item in answer.output] == ["reasoning", "message"] and answer.output[0].content[0].text
    assert 8 < answer.usage.output_tokens_details.reasoning_tokens < 20
    events = list(client.responses.create(model="x", input="Hi", max_output_tokens=40, temperature=0, stream=True, extra_body=extra))
    text = "".join(e.delta for e in events if e.type == "response.reasoning_text.delta")
    assert text.strip() == answer.output[0].content[0].text.strip()
    assert events[-1].response.usage.output_tokens_details.reasoning_tokens == answer.usage.output_tokens_details.reasoning_tokens
    # sent back with the conversation
    client.responses.create(model="x", max_output_tokens=3, input=[{"role": "user", "content": "Hi"}, *[o.model_dump(exclude_none=True) for o in answer.output], {"role": "user", "content": "And?"}])


def test_messages(thinker):
    claude = anthropic.Anthropic(base_url=thinker.url, api_key="none", max_retries=0)
    ask = dict(model="x", max_tokens=60, messages=MESSAGES, thinking={"type": "enabled", "budget_tokens": 1024}, extra_body={"temperature": 0, "thinking": {"type": "enabled", "budget_tokens": 8}})
    answer = claude.messages.create(**ask)
    assert [b.type for b in answer.content] == ["thinking", "text"] and answer.content[0].thinking
    with claude.messages.stream(**ask) as stream:
        kinds = [(e.type, getattr(getattr(e, "delta", None), "type", None)) for e in stream]
        final = stream.get_final_message()
    assert final.content[0].thinking.strip() == answer.content[0].thinking.strip() and final.content[1].text.strip() == answer.content[1].text.strip()
    assert ("content_block_delta", "signature_delta") in kinds
    off = claude.messages.create(model="x", max_tokens=10, messages=MESSAGES, thinking={"type": "disabled"})
    assert [b.type for b in off.content] == ["text"]


def test_control(thinker):
    body = chat_body(max_tokens=1500, ignore_eos=True, stream=True, reasoning_control=True)
    data = json.dumps(body).encode()
    with thinker.connect() as c:
        c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
        text = b""
        while text.count(b"reasoning_content") < 3: text += c.recv(65536)
        answer_id = json.loads(text.split(b"data: ")[1].split(b"\n")[0])["id"]
        assert thinker.post("/v1/chat/completions/control", {"id": answer_id, "action": "reasoning_end"})[1] == {"success": True}
        while not re.search(rb'"delta":\s*{\s*"content":\s*"', text):
            piece = c.recv(65536)
            assert piece
            text += piece
    assert thinker.post("/v1/chat/completions/control", {"id": "chatcmpl-none", "action": "reasoning_end"})[1]["success"] is False
    for wrong in ({"action": "reasoning_end"}, {"id": "x"}, {"id": "x", "action": "explode"}):
        assert thinker.post("/v1/chat/completions/control", wrong)[0] == 400

"""The official clients drive every API; over the fake engine, so answers are nonsense of the right shape."""
import json, threading
import anthropic, openai, pytest
from conftest import chat_body

TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Weather", "strict": True, "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "pattern": "^[a-z]{1,6}$"}, "days": {"type": "integer", "minimum": 1, "maximum": 3}},
    "required": ["city", "days"], "additionalProperties": False}}}
MESSAGES = [{"role": "user", "content": "Hi"}]


@pytest.fixture(scope="session")
def client(server): return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)


@pytest.fixture(scope="session")
def claude(server): return anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0)


def test_models(client, server):
    models = client.models.list().data
    assert len(models) == 1 and client.models.retrieve(models[0].id).id == models[0].id


def test_chat_both_ways_give_the_same(client):
    answer = client.chat.completions.create(model="x", messages=MESSAGES, temperature=0, max_tokens=12)
    assert answer.object == "chat.completion" and answer.id.startswith("chatcmpl-") and answer.choices[0].message.role == "assistant"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens and answer.usage.completion_tokens == 12
    assert answer.choices[0].finish_reason == "length"
    again = client.chat.completions.create(model="x", messages=MESSAGES, temperature=0, max_tokens=12)
    assert again.usage.prompt_tokens_details.cached_tokens == answer.usage.prompt_tokens - 1
    chunks = list(client.chat.completions.create(model="x", messages=MESSAGES, temperature=0, max_tokens=12, stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant" and chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 12
    assert chunks[-2].choices[0].finish_reason == "length" and len({c.id for c in chunks}) == 1
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices).strip() == answer.choices[0].message.content.strip()


def test_choices_seeds_and_stops(client):
    create = lambda **more: client.chat.completions.create(model="x", messages=MESSAGES, max_tokens=16, **more)
    several = create(n=3, seed=7, temperature=1.5)
    assert [c.index for c in several.choices] == [0, 1, 2] and several.usage.completion_tokens == 48
    assert len({c.message.content for c in several.choices}) == 3
    assert create(n=1, seed=7, temperature=1.5).choices[0].message.content == several.choices[0].message.content
    assert create(n=1, seed=8, temperature=1.5).choices[0].message.content == several.choices[1].message.content
    full = create(temperature=0).choices[0].message.content
    word = full[len(full) // 2:][:3]
    stopped = create(temperature=0, stop=[word]).choices[0]
    assert stopped.finish_reason == "stop" and stopped.message.content.strip() == full[:full.index(word)].strip()
    chunks = create(temperature=0, stop=[word], stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in chunks).strip() == full[:full.index(word)].strip()


def test_logprobs(client):
    choice = client.chat.completions.create(model="x", messages=MESSAGES, temperature=0, max_tokens=5, logprobs=True, top_logprobs=3).choices[0]
    assert len(choice.logprobs.content) == 5
    for item in choice.logprobs.content:
        assert len(item.top_logprobs) == 3 and item.top_logprobs[0].logprob == item.logprob <= 0
        assert bytes(item.bytes).decode(errors="ignore").startswith(item.token)
    chunks = client.chat.completions.create(model="x", messages=MESSAGES, temperature=0, max_tokens=5, logprobs=True, top_logprobs=3, stream=True)
    streamed = [t for c in chunks if c.choices and c.choices[0].logprobs for t in c.choices[0].logprobs.content]
    assert [t.token for t in streamed] == [t.token for t in choice.logprobs.content]


def test_logit_bias(server, client):
    first = client.chat.completions.create(model="x", messages=MESSAGES, temperature=0, max_tokens=1, logprobs=True).choices[0].logprobs.content[0]
    token = server.post("/tokenize", {"content": bytes(first.bytes).decode()})[1]["tokens"][0]
    banned = server.post("/v1/chat/completions", chat_body(max_tokens=1, logprobs=True, logit_bias=[[token, False]]))[1]
    assert banned["choices"][0]["logprobs"]["content"][0]["id"] != token
    wanted = client.chat.completions.create(model="x", messages=MESSAGES, temperature=0, max_tokens=2, logit_bias={"300": 1000}, logprobs=True)
    assert all(t.model_extra["id"] == 300 for t in wanted.choices[0].logprobs.content)


def test_json_schema(client):
    schema = {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer", "minimum": 10, "maximum": 12},
                                               "list": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}}, "required": ["kind", "n", "list"]}
    for seed in range(3):
        answer = client.chat.completions.create(model="x", messages=MESSAGES, seed=seed, max_tokens=500, response_format={
            "type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": schema}})
        value = json.loads(answer.choices[0].message.content)
        assert value["kind"] in "ab" and 10 <= value["n"] <= 12 and len(value["list"]) <= 2 and answer.choices[0].finish_reason == "stop"


def test_grammar(server):
    answer = server.post("/v1/chat/completions", chat_body(grammar='root ::= ("ab" | "cd"){3} "."', max_tokens=50))[1]
    text = answer["choices"][0]["message"]["content"]
    assert len(text) == 7 and set(text) <= set("abcd.")


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get_weather"}}])
def test_tool_calls(client, choice):
    other = {"type": "function", "function": {"name": "other", "parameters": {"type": "object", "properties": {}}}}
    tools = [TOOL, other] if choice != "required" else [TOOL]
    answer = client.chat.completions.create(model="x", messages=MESSAGES, tools=tools, tool_choice=choice, parallel_tool_calls=False, max_tokens=400, seed=3).choices[0]
    assert answer.finish_reason == "tool_calls" and len(answer.message.tool_calls) == 1
    call = answer.message.tool_calls[0]
    arguments = json.loads(call.function.arguments)
    assert call.function.name == "get_weather" and set(arguments) == {"city", "days"} and arguments["days"] in (1, 2, 3)
    name, text = None, ""
    for chunk in client.chat.completions.create(model="x", messages=MESSAGES, tools=tools, tool_choice=choice, parallel_tool_calls=False, max_tokens=400, seed=3, stream=True):
        for part in chunk.choices[0].delta.tool_calls or []:
            name = part.function.name or name
            text += part.function.arguments or ""
        reason = chunk.choices[0].finish_reason or None
    assert name == "get_weather" and json.loads(text) == arguments and reason == "tool_calls"
    # and the conversation can go on
    client.chat.completions.create(model="x", max_tokens=3, messages=MESSAGES + [
        {"role": "assistant", "content": None, "tool_calls": [call.model_dump()]}, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}], tools=tools)


def test_tools_auto_and_none(client):
    for choice in ("auto", "none"):
        answer = client.chat.completions.create(model="x", messages=MESSAGES, tools=[TOOL], tool_choice=choice, max_tokens=5, temperature=0)
        assert answer.choices[0].message.content and not answer.choices[0].message.tool_calls


def test_completions(client, server):
    answer = client.completions.create(model="x", prompt=["a b", "c"], max_tokens=4, temperature=0, n=2, logprobs=1)
    assert [c.index for c in answer.choices] == [0, 1, 2, 3] and answer.choices[0].text == answer.choices[1].text
    text = "".join(c.choices[0].text for c in client.completions.create(model="x", prompt="a b", max_tokens=4, temperature=0, stream=True) if c.choices)
    assert text == answer.choices[0].text
    ids = server.post("/tokenize", {"content": "a b", "add_special": True})[1]["tokens"]
    assert client.completions.create(model="x", prompt=ids, max_tokens=4, temperature=0).choices[0].text == text
    with pytest.raises(openai.BadRequestError): client.completions.create(model="x", prompt=[1, 10**7], max_tokens=4)
    with pytest.raises(openai.BadRequestError): client.completions.create(model="x", prompt="x", echo=True)


def test_responses(client):
    answer = client.responses.create(model="x", input="Hi", max_output_tokens=6, temperature=0)
    assert answer.status == "incomplete" and answer.incomplete_details.reason == "max_output_tokens" and answer.output_text and answer.usage.output_tokens == 6
    assert answer.output[-1].status == "incomplete"
    events = list(client.responses.create(model="x", input="Hi", max_output_tokens=6, temperature=0, stream=True, instructions=None))
    assert [e.sequence_number for e in events] == list(range(len(events)))
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == answer.output_text
    assert events[0].type == "response.created" and events[-1].type == "response.incomplete" and events[-1].response.output[-1].status == "incomplete"
    tool = {"type": "function", "name": "get_weather", "parameters": TOOL["function"]["parameters"], "strict": True}
    called = client.responses.create(model="x", input="Hi", tools=[tool], tool_choice="required", parallel_tool_calls=False, max_output_tokens=400)
    call = called.output[0]
    assert call.type == "function_call" and json.loads(call.arguments)["days"] in (1, 2, 3) and called.status == "completed"
    client.responses.create(model="x", max_output_tokens=3, input=[{"role": "user", "content": "Hi"}, call.model_dump(),
                                                                    {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}], tools=[tool])
    with pytest.raises(openai.BadRequestError): client.responses.create(model="x", input="Hi", previous_response_id="resp_1")
    with pytest.raises(openai.BadRequestError): client.responses.create(model="x", input="Hi", conversation="conv_1")
    likely = client.responses.create(model="x", input="Hi", max_output_tokens=6, temperature=0, include=["message.output_text.logprobs"], top_logprobs=2)
    logprobs = likely.output[0].content[0].logprobs
    assert len(logprobs) == 6 and all(len(t.top_logprobs) == 2 and t.top_logprobs[0].logprob == t.logprob <= 0 for t in logprobs)
    events = list(client.responses.create(model="x", input="Hi", max_output_tokens=6, temperature=0, include=["message.output_text.logprobs"], top_logprobs=2, stream=True))
    assert [t.token for e in events if e.type == "response.output_text.delta" for t in e.logprobs] == [t.token for t in logprobs]
    assert events[-1].response.output[0].content[0].logprobs == logprobs
    structured = client.responses.create(model="x", input="Hi", max_output_tokens=300, text={"format": {"type": "json_schema", "name": "s", "strict": True, "schema": {
        "type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}}})
    assert json.loads(structured.output_text)["ok"] in (True, False)


def test_messages(claude):
    answer = claude.messages.create(model="x", max_tokens=6, messages=MESSAGES, system="Be brief.", extra_body={"temperature": 0})
    assert answer.stop_reason == "max_tokens" and answer.content[0].type == "text" and answer.usage.output_tokens == 6
    with claude.messages.stream(model="x", max_tokens=6, messages=MESSAGES, system="Be brief.", extra_body={"temperature": 0}) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == answer.content[0].text and final.stop_reason == "max_tokens"
    count = claude.messages.count_tokens(model="x", messages=MESSAGES, system="Be brief.").input_tokens
    assert count == answer.usage.input_tokens + answer.usage.cache_read_input_tokens
    stopped = claude.messages.create(model="x", max_tokens=20, messages=MESSAGES, extra_body={"temperature": 0}, system="Be brief.", stop_sequences=[text[-4:]])
    assert stopped.stop_reason == "stop_sequence" and stopped.stop_sequence == text[-4:]
    tool = {"name": "get_weather", "description": "Weather", "input_schema": TOOL["function"]["parameters"]}
    # A call is complete where the answer ends with it, whatever is drawn; where tokens run out it says that.
    for seed in range(8):
        called = claude.messages.create(model="x", max_tokens=100, messages=MESSAGES, tools=[tool], tool_choice={"type": "any", "disable_parallel_tool_use": True}, extra_body={"seed": seed})
        assert called.stop_reason in ("tool_use", "max_tokens")
        if called.stop_reason == "tool_use": assert set(called.content[-1].input) == {"city", "days"}
    called = claude.messages.create(model="x", max_tokens=1000, messages=MESSAGES, tools=[tool], tool_choice={"type": "any", "disable_parallel_tool_use": True})
    use = called.content[-1]
    assert called.stop_reason == "tool_use" and use.type == "tool_use" and use.input["days"] in (1, 2, 3)
    claude.messages.create(model="x", max_tokens=3, tools=[tool], messages=MESSAGES + [{"role": "assistant", "content": [use.model_dump()]}, {
        "role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": "sunny"}]}, {"type": "text", "text": "So?"}]}])
    structured = claude.messages.create(model="x", max_tokens=300, messages=MESSAGES, extra_body={"output_config": {"format": {"type": "json_schema", "schema": {
        "type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}}}})
    assert json.loads(structured.content[0].text)["ok"] in (True, False)
    with pytest.raises(anthropic.BadRequestError): claude.messages.create(model="x", max_tokens=3, messages=MESSAGES, extra_body={"mcp_servers": [{"name": "x", "url": "http://x", "type": "url"}]})
    with pytest.raises(anthropic.BadRequestError): claude.messages.create(model="x", max_tokens=3, messages=[{"role": "user", "content": [{"type": "image", "source": {}}]}])
    # Several calls are allowed here, so the last may be cut off: then the answer says so.
    with claude.messages.stream(model="x", max_tokens=1000, messages=MESSAGES, tools=[tool], tool_choice={"type": "tool", "name": "get_weather"}) as stream:
        final = stream.get_final_message()
    uses = [b for b in final.content if b.type == "tool_use"]
    whole = uses if final.stop_reason == "tool_use" else uses[:-1]
    assert uses and all(set(b.input) == {"city", "days"} and b.input["days"] in (1, 2, 3) for b in whole)


def test_embeddings(client):
    answer = client.embeddings.create(model="x", input=["a", "b c"])
    assert [e.index for e in answer.data] == [0, 1] and abs(sum(x * x for x in answer.data[0].embedding) - 1) < 1e-5
    plain = client.embeddings.create(model="x", input=["a", "b c"], encoding_format="float")
    assert all(abs(x - y) < 1e-6 for x, y in zip(plain.data[1].embedding, answer.data[1].embedding))
    with pytest.raises(openai.BadRequestError): client.embeddings.create(model="x", input="")


def test_many_at_once_are_as_alone(client):
    ask = lambda i: client.chat.completions.create(model="x", messages=[{"role": "user", "content": f"question {i % 7}"}], temperature=0, max_tokens=20).choices[0].message.content
    alone = [ask(i) for i in range(7)]
    different = []
    def run(i):
        if ask(i) != alone[i % 7]: different.append(i)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(60)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert not different

"""Tool calls in the notation of each family's template: what is forced is what is read, streamed or not, by all three APIs."""
import glob, json, os
import anthropic, openai, pytest
from conftest import SOURCE, fake

FOLDER = next((f for f in (os.path.join(SOURCE, "../shared/data/templates"), os.environ.get("VELOCE_DATA_DIR", "") + "/templates") if glob.glob(f + "/*.jinja")), None)
MESSAGES = [{"role": "user", "content": "Hi"}]
TOOLS = [{"name": "get_weather", "description": "Weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "pattern": "^[a-z]{1,6}$"}, "days": {"type": "integer", "minimum": 1, "maximum": 3}},
    "required": ["city", "days"], "additionalProperties": False}},
    {"name": "look", "description": "", "parameters": {"type": "object", "properties": {"where": {"enum": ["up", "down"]}}, "required": ["where"], "additionalProperties": False}}]
OPENAI = [{"type": "function", "function": {**t, "strict": True}} for t in TOOLS]
CLAUDE = [{"name": t["name"], "description": t["description"], "input_schema": t["parameters"]} for t in TOOLS]


def good(name, arguments):
    value = json.loads(arguments) if isinstance(arguments, str) else arguments
    if name == "look": return set(value) == {"where"} and value["where"] in ("up", "down")
    return name == "get_weather" and set(value) == {"city", "days"} and value["days"] in (1, 2, 3) and value["city"].isalpha() and len(value["city"]) <= 6


@pytest.fixture(scope="module", params=["smollm2", "smollm3", "qwen3.5", "glm-4.6", "deepseek-v3.1", "deepseek-v4", "gpt-oss", "mistral-nemo", "granite-3.3", "seed-oss"])
def family(request):
    if not FOLDER: pytest.skip("SKIP: no templates in the data folder")
    s = fake("-np", "2", "-c", "16384", "--chat-template-file", f"{FOLDER}/{request.param}.jinja", "--chat-template-kwargs", '{"thinking": false}', "--reasoning", "off")
    s.several = request.param != "gpt-oss"   # whose calls each end their turn
    yield s
    assert s.stop() == 0


def test_openai(family):
    client = openai.OpenAI(base_url=family.url + "/v1", api_key="none", max_retries=0)
    ask = lambda **more: client.chat.completions.create(model="x", messages=MESSAGES, tools=OPENAI, max_tokens=1500, **more)
    for seed in range(3):
        answer = ask(tool_choice="required", parallel_tool_calls=False, seed=seed).choices[0]
        assert answer.finish_reason == "tool_calls" and len(answer.message.tool_calls) == 1 and not answer.message.content
        call = answer.message.tool_calls[0]
        assert good(call.function.name, call.function.arguments)
        name, text, reason = None, "", None
        for chunk in ask(tool_choice="required", parallel_tool_calls=False, seed=seed, stream=True):
            for part in chunk.choices[0].delta.tool_calls or []:
                assert part.index == 0
                name, text = part.function.name or name, text + (part.function.arguments or "")
            assert not chunk.choices[0].delta.content
            reason = chunk.choices[0].finish_reason or reason
        assert (name, text, reason) == (call.function.name, call.function.arguments, "tool_calls")
    named = ask(tool_choice={"type": "function", "function": {"name": "look"}}, parallel_tool_calls=False, seed=1).choices[0].message.tool_calls
    assert [c.function.name for c in named] == ["look"]
    # and the conversation goes on
    more = [{"role": "assistant", "content": None, "tool_calls": [{**named[0].model_dump(), "id": "abcdefghi"}]}, {"role": "tool", "tool_call_id": "abcdefghi", "content": "blue"}]
    client.chat.completions.create(model="x", messages=MESSAGES + more, tools=OPENAI, max_tokens=3)
    # several at once: as many as the tokens allow, the last perhaps cut off
    for seed in range(30):
        choice = ask(tool_choice="required", seed=seed).choices[0]
        assert choice.finish_reason == "length" or all(good(c.function.name, c.function.arguments) for c in choice.message.tool_calls)
        if len(choice.message.tool_calls) > 1: break
    assert (len(choice.message.tool_calls) > 1) == family.several


def test_cut_off_calls_are_no_calls(family):
    """Whatever ends an answer within a call, it never says that the call can be carried out."""
    client = openai.OpenAI(base_url=family.url + "/v1", api_key="none", max_retries=0)
    claude = anthropic.Anthropic(base_url=family.url, api_key="none", max_retries=0)
    for tokens in (1, 5, 9, 14, 20, 40):
        answer = client.chat.completions.create(model="x", messages=MESSAGES, tools=OPENAI, tool_choice="required", parallel_tool_calls=False, max_tokens=tokens, seed=5).choices[0]
        assert answer.finish_reason == "length" or all(good(c.function.name, c.function.arguments) for c in answer.message.tool_calls)
        message = claude.messages.create(model="x", messages=MESSAGES, tools=CLAUDE, tool_choice={"type": "any", "disable_parallel_tool_use": True}, max_tokens=tokens, extra_body={"seed": 5})
        assert message.stop_reason == "max_tokens" or all(good(b.name, b.input) for b in message.content if b.type == "tool_use")
    for stop in ('"', "city", "get_weather"):
        answer = client.chat.completions.create(model="x", messages=MESSAGES, tools=OPENAI, tool_choice={"type": "function", "function": {"name": "get_weather"}}, parallel_tool_calls=False, max_tokens=400, stop=[stop], seed=5).choices[0]
        assert answer.finish_reason == "stop" or all(good(c.function.name, c.function.arguments) for c in answer.message.tool_calls)


def test_anthropic_and_responses(family):
    claude = anthropic.Anthropic(base_url=family.url, api_key="none", max_retries=0)
    choice = {"type": "any", "disable_parallel_tool_use": True}
    message = claude.messages.create(model="x", messages=MESSAGES, tools=CLAUDE, tool_choice=choice, max_tokens=1500, extra_body={"seed": 1})
    assert message.stop_reason == "tool_use" and [b.type for b in message.content] == ["tool_use"] and good(message.content[0].name, message.content[0].input)
    with claude.messages.stream(model="x", messages=MESSAGES, tools=CLAUDE, tool_choice=choice, max_tokens=1500, extra_body={"seed": 1}) as stream:
        final = stream.get_final_message()
    assert final.stop_reason == "tool_use" and final.content[0].input == message.content[0].input
    assert claude.messages.count_tokens(model="x", messages=MESSAGES, tools=CLAUDE).input_tokens > claude.messages.count_tokens(model="x", messages=MESSAGES).input_tokens
    client = openai.OpenAI(base_url=family.url + "/v1", api_key="none", max_retries=0)
    tools = [{"type": "function", **t, "strict": True} for t in TOOLS]
    answer = client.responses.create(model="x", input="Hi", tools=tools, tool_choice="required", parallel_tool_calls=False, max_output_tokens=1500, extra_body={"seed": 1})
    assert answer.status == "completed" and [o.type for o in answer.output] == ["function_call"] and good(answer.output[0].name, answer.output[0].arguments)
    events = list(client.responses.create(model="x", input="Hi", tools=tools, tool_choice="required", parallel_tool_calls=False, max_output_tokens=1500, stream=True, extra_body={"seed": 1}))
    assert "".join(e.delta for e in events if e.type == "response.function_call_arguments.delta") == answer.output[0].arguments


DOCUMENT = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}


def test_a_schema_beside_tools_is_that_of_the_answer(family):
    """As OpenAI has it: the answer is calls, or a document of the schema; where a call is required, calls."""
    client = openai.OpenAI(base_url=family.url + "/v1", api_key="none", max_retries=0)
    claude = anthropic.Anthropic(base_url=family.url, api_key="none", max_retries=0)
    form = {"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": DOCUMENT}}
    seen = set()
    for seed in range(40):
        choice = client.chat.completions.create(model="x", messages=MESSAGES, tools=OPENAI, parallel_tool_calls=False, response_format=form, max_tokens=1500, seed=seed).choices[0]
        if choice.message.tool_calls: assert not choice.message.content and good(choice.message.tool_calls[0].function.name, choice.message.tool_calls[0].function.arguments)
        elif choice.finish_reason == "stop": assert json.loads(choice.message.content)["ok"] in (True, False)
        seen.add(choice.finish_reason)
        if {"tool_calls", "stop"} <= seen: break
    assert "stop" in seen or "tool_calls" in seen
    call = client.chat.completions.create(model="x", messages=MESSAGES, tools=OPENAI, tool_choice="required", parallel_tool_calls=False, response_format=form, max_tokens=1500, seed=1).choices[0].message
    assert good(call.tool_calls[0].function.name, call.tool_calls[0].function.arguments) and not call.content
    answer = client.responses.create(model="x", input="Hi", tools=[{"type": "function", **t} for t in TOOLS], parallel_tool_calls=False, max_output_tokens=1500, extra_body={"seed": seed},
                                     text={"format": {"type": "json_schema", "name": "s", "strict": True, "schema": DOCUMENT}})
    if answer.status == "completed": assert json.loads(answer.output_text)["ok"] in (True, False) if answer.output_text else answer.output[0].type == "function_call"
    message = claude.messages.create(model="x", messages=MESSAGES, tools=CLAUDE, tool_choice={"type": "auto", "disable_parallel_tool_use": True}, max_tokens=1500,
                                     extra_body={"seed": seed, "output_config": {"format": {"type": "json_schema", "schema": DOCUMENT}}})
    if message.stop_reason == "end_turn": assert json.loads(message.content[0].text)["ok"] in (True, False)


def test_some_of_the_tools(family):
    client = openai.OpenAI(base_url=family.url + "/v1", api_key="none", max_retries=0)
    named = lambda *names: [{"type": "function", "function": {"name": n}} for n in names]
    ask = lambda allowed: client.chat.completions.create(model="x", messages=MESSAGES, tools=OPENAI, parallel_tool_calls=False, max_tokens=1500, seed=2, tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
    assert ask({"mode": "required", "tools": named("look")}).choices[0].message.tool_calls[0].function.name == "look"
    assert ask({"mode": "auto", "tools": named("look", "get_weather")}).choices[0].message is not None
    answer = client.responses.create(model="x", input="Hi", tools=[{"type": "function", **t} for t in TOOLS], parallel_tool_calls=False, max_output_tokens=1500,
                                     tool_choice={"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "look"}]})
    assert answer.output[0].type == "function_call" and answer.output[0].name == "look"
    for bad in ({"mode": "required", "tools": named("none")}, {"mode": "loud", "tools": named("look")}, {"mode": "auto", "tools": []}, {"mode": "auto"}):
        with pytest.raises(openai.BadRequestError): ask(bad)

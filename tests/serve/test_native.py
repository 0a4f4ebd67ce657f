"""The native routes: completion, text utilities, slots, properties, metrics."""
import json, os, re
import pytest
from conftest import chat_body


def test_completion(server):
    body = {"prompt": "a b c", "n_predict": 6, "temperature": 0, "return_tokens": True, "n_probs": 2}
    answer = server.post("/completion", body)[1]
    assert answer["stop"] and answer["stop_type"] == "limit" and answer["tokens_predicted"] == 6 == len(answer["tokens"]) == len(answer["completion_probabilities"])
    assert answer["generation_settings"]["n_predict"] == 6 and answer["timings"]["predicted_n"] == 6
    events = [data for _, data in server.events("/completion", {**body, "stream": True, "return_progress": True})]
    assert "".join(e["content"] for e in events) == answer["content"] and [e["stop"] for e in events] == [False] * (len(events) - 1) + [True]
    assert sum((e["tokens"] for e in events), []) == answer["tokens"]
    progress = [e["prompt_progress"] for e in events if "prompt_progress" in e]
    assert progress and progress[-1]["processed"] == progress[-1]["total"]
    assert progress[0]["processed"] == progress[0]["cache"] < progress[0]["total"], "the first says what was cached"
    picked = server.post("/completion", {**body, "response_fields": ["content", "timings/prompt_n", "nope"]})[1]
    assert set(picked) == {"content", "timings/prompt_n"}
    several = server.post("/completion", {**body, "prompt": ["a b c", [5, 6], ["a", 7]]})[1]
    assert [a["index"] for a in several] == [0, 1, 2] and several[0]["content"] == answer["content"]
    assert server.post("/completion", {**body, "n_predict": 0})[1]["tokens_predicted"] == 0
    plain = server.post("/completion", {**body, "cache_prompt": False})[1]
    assert plain["content"] == answer["content"] and plain["timings"]["cache_n"] == 0
    assert all(json.dumps(v) not in ("NaN", "Infinity") for v in plain["timings"].values())
    assert server.post("/completion", {"prompt": {"prompt_string": "x", "multimodal_data": ["aa"]}})[0] == 400
    after = server.post("/completion", {**body, "post_sampling_probs": True, "temperature": 1})[1]["completion_probabilities"]
    assert all(0 < t["prob"] <= 1 and "top_probs" in t for t in after)


def test_an_empty_prompt_is_answered_with_nothing(server):
    for prompt in ("", []):
        for path, texts in (("/completion", lambda a: [a["content"]]), ("/v1/completions", lambda a: [c["text"] for c in a["choices"]])):
            status, answer = server.post(path, {"prompt": prompt, "max_tokens": 3})
            assert status == 200 and texts(answer) == [""], answer
    several = server.post("/completion", {"prompt": ["a b", "", [5]], "n_predict": 2, "temperature": 0})[1]
    assert [a["tokens_predicted"] for a in several] == [2, 0, 2] and several[1]["stop_type"] == "none" and several[1]["tokens_evaluated"] == 0
    twice = server.post("/v1/completions", {"prompt": "", "n": 2, "max_tokens": 3})[1]
    assert [c["finish_reason"] for c in twice["choices"]] == ["stop"] * 2 and twice["usage"]["total_tokens"] == 0
    events = server.events("/v1/completions", {"prompt": "", "stream": True, "max_tokens": 3})
    assert events[-1][1] == "[DONE]" and events[-2][1]["choices"][0]["finish_reason"] == "stop"
    assert server.post("/v1/embeddings", {"input": ["a", ""]})[0] == 400


SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}


@pytest.mark.parametrize("path", ["/completion", "/completions", "/v1/completions"])
def test_a_schema_binds_on_every_route(server, path):
    text = lambda a: a["content"] if "content" in a else a["choices"][0]["text"]
    for field in ({"json_schema": SCHEMA}, {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}, {"response_format": {"type": "json_object"}}):
        for seed in range(3):
            status, answer = server.post(path, {"prompt": "a", "max_tokens": 900, "seed": seed, **field})
            assert status == 200, answer
            value = json.loads(text(answer)) if "json_object" not in str(field) or text(answer).rstrip().endswith("}") else {}
            assert "json_object" in str(field) or value["ok"] in (True, False)
    for bad, name in (({"json_schema": {"not": {}}}, "json_schema"), ({"json_schema": SCHEMA, "grammar": 'root ::= "a"'}, "grammar"), ({"response_format": {"type": "xml"}}, "response_format"),
                      ({"response_format": {"type": "json_object"}, "grammar": 'root ::= "a"'}, "grammar")):
        status, answer = server.post(path, {"prompt": "a", **bad})
        assert status == 400 and name in answer["error"]["message"], answer


def test_tokenize(server):
    for text in ("Hello world", "h\u00e9llo \U0001f600 \u4e2d", "", " x\n\n\ty"):
        tokens = server.post("/tokenize", {"content": text})[1]["tokens"]
        assert server.post("/detokenize", {"tokens": tokens})[1]["content"] == text
        pieces = server.post("/tokenize", {"content": text, "with_pieces": True})[1]["tokens"]
        raw = b"".join(p["piece"].encode() if isinstance(p["piece"], str) else bytes(p["piece"]) for p in pieces)
        assert raw.decode() == text
    assert server.post("/tokenize", {})[1] == {"tokens": []}
    assert server.post("/detokenize", {"tokens": ["x", None]})[0] == 400
    assert server.post("/tokenize", {"content": {}})[0] == 400


def test_apply_template_and_counts(server):
    prompt = server.post("/apply-template", chat_body("Hello?"))[1]["prompt"]
    assert "Hello?" in prompt
    count = server.post("/v1/chat/completions/input_tokens", chat_body("Hello?"))[1]["input_tokens"]
    assert count == server.post("/v1/chat/completions", chat_body("Hello?", max_tokens=1))[1]["usage"]["prompt_tokens"]
    assert server.post("/v1/responses/input_tokens", {"input": "Hello?"})[1]["input_tokens"] == count


def test_continue_the_last_message(server):
    body = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well, I"}]}
    assert server.post("/apply-template", body)[1]["prompt"].endswith("Well, I")
    assert not server.post("/apply-template", {**body, "add_generation_prompt": False})[1]["prompt"].endswith("Well, I")


def test_slot_files(server):
    body = {"prompt": "one two three four five six seven eight nine ten", "n_predict": 4, "temperature": 0, "id_slot": 1}
    first = server.post("/completion", body)[1]
    saved = server.post("/slots/1?action=save", {"filename": "a.bin"})[1]
    assert saved["n_saved"] == first["tokens_cached"] and saved["n_written"] > 0
    assert server.post("/slots/1?action=erase", {})[1]["n_erased"] == saved["n_saved"]
    assert server.request("POST", "/slots/1?action=erase")[0] == 200 and server.post("/slots/1?action=erase", {"filename": 5})[0] == 400
    assert server.post("/slots/1?action=restore", {"filename": "a.bin"})[1]["n_restored"] == saved["n_saved"]
    again = server.post("/completion", body)[1]
    assert again["content"] == first["content"] and again["timings"]["prompt_n"] == 1
    for name in ("../x", "/etc/passwd", "a/b", "..", ".", "a\\b", "", "x" * 300, "a\u2215b", "a\n", " a", "a.", "c:d", 5, None):
        for action in ("save", "restore"):
            status, answer = server.post(f"/slots/1?action={action}", {"filename": name})
            assert status == 400, (name, answer)
    assert server.post("/slots/1?action=restore", {"filename": "missing"})[0] == 400
    assert server.post("/slots/99?action=erase", {})[0] == 400 and server.post("/slots/x?action=erase", {})[0] == 400
    assert server.post("/slots/1?action=burn", {})[0] == 400


def test_slots_and_props(server):
    slots = server.slots()
    assert [s["id"] for s in slots] == [0, 1, 2, 3] and all(s["n_ctx"] == 4096 for s in slots)
    assert not any("prompt" in s or "generated" in s for s in slots)
    props = server.get("/props")[1]
    assert props["total_slots"] == 4 and props["default_generation_settings"]["n_ctx"] == 4096 and props["chat_template"] and props["chat_template_caps"]["supports_system_role"]
    assert server.post("/props", {}) == (200, {"success": True})


def test_metrics(server):
    read = lambda: {m[0]: float(m[1]) for m in re.findall(r"^(llamacpp:\S+) (\S+)$", server.request("GET", "/metrics")[1], re.M)}
    before = read()
    server.post("/completion", {"prompt": "a b c", "n_predict": 5, "temperature": 0})
    after = read()
    assert after["llamacpp:tokens_predicted_total"] == before["llamacpp:tokens_predicted_total"] + 5
    assert all(v == v and abs(v) < 1e18 for v in after.values())
    assert all(after[k] >= before[k] for k in before if k.endswith("_total"))


def test_what_is_off_says_so(slow_server):
    for path, body in (("/metrics", None), ("/v1/embeddings", {"input": "x"}), ("/slots/0?action=erase", {}), ("/rerank", {"query": "x", "documents": ["y"]})):
        status, text, _ = slow_server.request("POST" if body is not None else "GET", path, body)
        assert status == 501 and json.loads(text)["error"]["type"] == "not_supported_error"

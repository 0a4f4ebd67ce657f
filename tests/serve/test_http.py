"""HTTP, errors, keys, limits, disconnects, life cycle."""
import json, os, re, signal, socket, subprocess, threading, time, urllib.request
import openai
import pytest
from conftest import BUILD, SMOL, TINY, chat_body, fake

CHAT = "/v1/chat/completions"


def test_health_while_loading_and_after():
    s = fake(env={"VELOCE_FAKE_LOAD_MS": "600"}, wait=False)
    try:
        status, answer = s.get("/health")
        assert status == 503 and answer["error"]["type"] == "unavailable_error" and answer["error"]["message"] == "Loading model"
        assert s.post(CHAT, chat_body())[0] == 503
        status, answer = s.post("/v1/messages", chat_body())
        assert status == 503 and answer["type"] == "error" and answer["error"]["message"] == "Loading model"
        s.wait_ready()
        assert s.get("/health") == (200, {"status": "ok"})
        assert s.get("/v1/health")[0] == 200
    finally:
        assert s.stop() == 0


def test_a_signal_while_loading_ends_it():
    s = fake(env={"VELOCE_FAKE_LOAD_MS": "60000"}, wait=False)
    start = time.monotonic()
    s.stop()
    assert time.monotonic() - start < 5


def test_target_with_scheme_and_host(server):
    for target, code in (("http://x/health", 200), ("HTTP://x:1/health?a=1", 200), ("http://x", 200), ("http://x/nope", 404), ("ftp://x/health", 404)):
        with server.connect() as c:
            c.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % target.encode())
            assert c.recv(4096).startswith(b"HTTP/1.1 %d " % code), target


def test_unknown_routes_and_methods(server):
    assert server.get("/nope") == (404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}})
    status, text, headers = server.request("GET", CHAT)
    assert status == 405 and "POST" in headers["Allow"] and "error" in json.loads(text)
    assert server.request("POST", "/nope", b"x" * 100000)[0] == 404


BAD_BODIES = [b"", b"{", b"[1,2,3]", b"null", b'"text"', b'{"messages": 5}', b'{"messages": []}', b'{"messages":[{"role":"user"}]}',
              b'{"messages":[{"role":"user","content":"\xff\xfe"}]}', b'{"messages":[{"role":"nobody","content":"x"}]}',
              b'{"messages":[{"role":"user","content":{}}]}', b'{"messages":[{"role":7,"content":"x"}]}', b'{"messages":[123]}',
              b'{"messages":[{}]}', b'{"messages":[{"role":"user","content":"hi"}],"temperature":1e999}',
              b'{"messages":[{"role":"user","content":"hi"}],"temperature":NaN}', b'{"a":' * 20000, b"[" * 1000000,
              b'{"messages":[{"role":"user","content":"hi"}],"messages":[]}',
              b'{"messages":[{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}]}']


@pytest.mark.parametrize("body", BAD_BODIES, ids=range(len(BAD_BODIES)))
def test_bad_bodies(server, body):
    status, answer = server.post(CHAT, body)
    assert status == 400 and answer["error"]["type"] == "invalid_request_error" and answer["error"]["message"]
    assert server.get("/health")[0] == 200


BAD_FIELDS = [("max_tokens", "many"), ("max_tokens", -7), ("max_tokens", 1.5), ("top_p", "no"), ("temperature", []), ("stop", [1, 2]), ("stop", 3),
              ("stream", "yes"), ("n", 0), ("n", "two"), ("seed", "x"), ("logit_bias", 5), ("logit_bias", {"x": "y"}), ("logit_bias", [[999999, 1]]),
              ("tools", {}), ("tools", [{"type": "search"}]), ("tools", [{"type": "function", "function": {}}]), ("tool_choice", "sometimes"),
              ("tool_choice", "required"), ("response_format", {"type": "xml"}), ("response_format", {"type": "json_schema"}), ("response_format", "json"),
              ("response_format", {"type": "json_schema", "json_schema": {"schema": {"type": "nonsense"}}}),
              ("response_format", {"type": "json_schema", "json_schema": {"schema": {"not": {"type": "string"}}}}),
              ("response_format", {"type": "json_schema", "json_schema": {"schema": {"oneOf": [{"type": "integer"}, {"type": "number"}]}}}),
              ("response_format", {"type": "json_schema", "schema": {"type": "array", "uniqueItems": True}}), ("grammar_lazy", True), ("preserved_tokens", ["two words"]),
              ("grammar", "root ::= ("), ("grammar", 'root ::= root "x"'), ("reasoning_format", "loud"), ("chat_template_kwargs", {"enable_thinking": "yes"}),
              ("top_logprobs", 3), ("samplers", [3]), ("stream_options", 1), ("priority", "urgent"), ("dry_sequence_breakers", []),
              ("repeat_last_n", -2), ("lora", [{"id": 0, "scale": 1}]), ("parallel_tool_calls", "no"), ("functions", [{"name": "f"}]), ("modalities", ["text", "audio"]), ("web_search_options", {}), ("audio", {"voice": "x"}), ("continue_final_message", True)]


@pytest.mark.parametrize("field,value", BAD_FIELDS, ids=[f"{f}-{i}" for i, (f, _) in enumerate(BAD_FIELDS)])
def test_bad_fields_are_named(server, field, value):
    status, answer = server.post(CHAT, chat_body(**{field: value}))
    assert status == 400, answer
    assert field in answer["error"]["message"]


def test_unknown_samplers_are_left_out(server):
    for value in (["top_k", "of_another_engine", "temperature"], "top_k;of_another_engine", "kqt", ["nope"]):
        assert server.post(CHAT, chat_body(samplers=value))[0] == 200, value
    used = server.post("/completion", {"prompt": "a", "n_predict": 1, "samplers": ["top_k", "nope", "typ-p"]})[1]
    assert used["generation_settings"]["samplers"] == ["top_k", "typ-p"]


def test_null_is_absent(server):
    assert server.post(CHAT, chat_body(tools=None, stop=None, n=None, response_format=None, seed=None, logit_bias=None))[0] == 200


def test_context_overflow(server):
    for more in ({}, {"stream": True}):
        status, answer = server.post(CHAT, chat_body("word " * 20000, **more))
        assert status == 400 and answer["error"]["type"] == "exceed_context_size_error"
        assert answer["error"]["n_ctx"] == 4096 and answer["error"]["n_prompt_tokens"] >= 4096


def test_body_limit():
    s = fake("--body-limit", "1")
    try:
        for data in (b"x" * (2 << 20), b"x" * (20 << 20)):
            status, answer = s.post(CHAT, data)
            assert status == 413 and "limit" in answer["error"]["message"]
        with s.connect() as c:   # in chunks, without a length
            c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(30):
                c.sendall(b"10000\r\n" + b"y" * 65536 + b"\r\n")
            c.sendall(b"0\r\n\r\n")
            assert b" 413 " in c.recv(100)
        assert s.get("/health")[0] == 200
    finally:
        s.stop()


def test_encodings_and_forms_are_refused_by_name(server):
    for headers in ({"Content-Encoding": "gzip"}, {"Content-Type": "multipart/form-data; boundary=x"}):
        status, text, _ = server.request("POST", CHAT, b"abc", headers)
        assert status == 415 and "error" in json.loads(text)
    # curl's own content type, and large
    status, text, _ = server.request("POST", "/tokenize", {"content": "x" * 20000}, {"Content-Type": "application/x-www-form-urlencoded"})
    assert status == 200


def test_malformed_http(server):
    for raw in (b"NONSENSE\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /tokenize HTTP/1.1\r\nContent-Length: abc\r\n\r\n",
                b"POST /tokenize HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n\r\n", b"\0\1\2\3\r\n\r\n"):
        with server.connect() as c:
            c.sendall(raw)
            assert c.recv(64).startswith(b"HTTP/1.1 4")
    assert server.get("/health")[0] == 200


def test_keep_alive_and_request_ids(server):
    with server.connect() as c:
        for i in range(3):
            c.sendall(b"POST /tokenize HTTP/1.1\r\nHost: x\r\nX-Request-Id: my-%d\r\nContent-Length: 15\r\n\r\n{\"content\":\"a\"}" % i)
            answer = b""
            while not answer.endswith(b"}"):  # head and body may come in two pieces
                piece = c.recv(4096)
                assert piece
                answer += piece
            assert b" 200 " in answer and b"X-Request-Id: my-%d" % i in answer


def test_api_keys():
    s = fake("--api-key", "secret,other")
    try:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"X-Api-Key": "secre"}):
            error = {"error": {"code": 401, "message": "Invalid API Key", "type": "authentication_error"}}
            assert s.post(CHAT, chat_body(), headers) == (401, error)
            assert s.post("/v1/messages", chat_body(), headers) == (401, {"type": "error", **error})
        for headers in ({"Authorization": "Bearer secret"}, {"Authorization": "other"}, {"X-Api-Key": "secret"}):
            assert s.post(CHAT, chat_body(), headers)[0] == 200
        assert s.get("/health")[0] == 200 and s.get("/v1/models")[0] == 200
        assert s.request("OPTIONS", CHAT)[0] == 200
        assert s.request("POST", "/nope", b"{}")[0] == 401
        assert "secret" not in s.text()
    finally:
        s.stop()


def test_the_key_of_the_environment():
    s = fake(env={"LLAMA_API_KEY": "from-there", "LLAMA_ARG_ENDPOINT_METRICS": "enabled"})
    try:
        assert s.post(CHAT, chat_body())[0] == 401
        assert s.request("GET", "/metrics", headers={"Authorization": "Bearer from-there"})[0] == 200
    finally:
        s.stop()


def test_cors(server):
    _, _, headers = server.request("GET", "/health", headers={"Origin": "https://a.example"})
    assert headers["Access-Control-Allow-Origin"] == "https://a.example"
    _, _, headers = server.request("OPTIONS", CHAT, headers={"Origin": "https://a.example"})
    assert headers["Access-Control-Allow-Credentials"] == "true" and "POST" in headers["Access-Control-Allow-Methods"]
    s = fake("--cors-origins", "localhost")
    try:
        for origin, allowed in (("http://localhost:3000", True), ("http://[::1]:8", True), ("http://localhost.evil.example", False)):
            _, _, headers = s.request("GET", "/health", headers={"Origin": origin})
            assert ("Access-Control-Allow-Origin" in headers) == allowed
    finally:
        s.stop()


def stream_and_leave(server, path, body, after):
    data = json.dumps(body).encode()
    c = server.connect()
    c.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    if after: c.recv(after)
    return c


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_frees_its_slot(slow_server, stream):
    c = stream_and_leave(slow_server, CHAT, chat_body(max_tokens=2000, stream=stream, ignore_eos=True), 1 if stream else 0)
    assert slow_server.until(lambda: slow_server.busy() == 1)
    c.close()
    start = time.monotonic()
    assert slow_server.until(lambda: slow_server.busy() == 0, 3)
    assert time.monotonic() - start < 1
    assert slow_server.post(CHAT, chat_body(max_tokens=2))[0] == 200


def test_a_queue_beyond_its_limit_is_a_503():
    s = fake("-np", "1", "--queue-limit", "1", "--metrics", env={"VELOCE_FAKE_STEP_US": "20000"})
    try:
        first = stream_and_leave(s, CHAT, chat_body(max_tokens=1000, stream=True, ignore_eos=True), 1)
        second = stream_and_leave(s, CHAT, chat_body(max_tokens=1000, ignore_eos=True), 0)
        assert s.until(lambda: re.search(r"requests_deferred 1\b", s.request("GET", "/metrics")[1]))
        status, text, headers = s.request("POST", CHAT, chat_body())
        assert status == 503 and json.loads(text)["error"]["type"] == "unavailable_error" and headers["Retry-After"]
        first.close(), second.close()
        assert s.until(lambda: s.post(CHAT, chat_body(max_tokens=1))[0] == 200)
    finally:
        s.stop()


def test_shutdown_finishes_streams():
    s = fake("-np", "2", env={"VELOCE_FAKE_STEP_US": "20000"})
    results = []
    worker = threading.Thread(target=lambda: results.append(s.events(CHAT, chat_body(max_tokens=60, stream=True, ignore_eos=True))))
    worker.start()
    assert s.until(lambda: s.busy() == 1)
    s.process.send_signal(signal.SIGTERM)
    worker.join(30)
    assert results and results[0][-1][1] == "[DONE]"
    assert s.process.wait(10) == 0


def test_pings_in_silence():
    s = fake(env={"VELOCE_FAKE_STEP_US": "1500000"})
    try:
        _, text, _ = s.request("POST", CHAT, chat_body(max_tokens=3, stream=True, sse_ping_interval=1, ignore_eos=True))
        assert "\n:\n\n" in text or text.startswith(":\n\n")
    finally:
        s.stop()


def test_command_line():
    program = os.path.join(BUILD, "tests/veloce-serve-fake")
    run = lambda *flags: subprocess.run([program, *flags], capture_output=True, text=True, timeout=30)
    assert run("--help").returncode == 0 and "Network" in run("--help").stdout
    assert run("--version").stdout.startswith("veloce")
    bad = run("-m", "x", "--nonsense")
    assert bad.returncode == 1 and "--nonsense" in bad.stderr + bad.stdout
    gone = run("--draft-max", "3")
    assert gone.returncode == 1 and "--spec-draft-n-max" in gone.stderr
    missing = run("-m", "/nonexistent.gguf", "--port", "0")
    assert missing.returncode == 1 and "/nonexistent.gguf" in missing.stderr
    listed = run("--list-optimizations")
    assert listed.returncode == 0   # the fake engine has none
    real = os.path.join(BUILD, "bin/veloce-serve")
    if os.path.exists(real): assert subprocess.run([real, "--list-optimizations"], capture_output=True, text=True, timeout=30).stdout
    unknown = run("-m", "x", "--without", "no-such-thing")
    assert unknown.returncode == 1 and "no-such-thing" in unknown.stderr + unknown.stdout
    assert subprocess.run([program, "-m", "x"], env={**os.environ, "VELOCE_WITHOUT": "no-such-thing"}, capture_output=True, timeout=30).returncode == 1
    assert run("--list-devices").stdout == "CPU\n"
    for flags in (["--mmproj", "x.gguf"], ["--spec-type", "ngram-mod"], ["-md", "x.gguf"], ["--rerank"], ["--override-kv", "a=int:1"],
                  ["--sleep-idle-seconds", "5"], ["--cache-reuse", "64"], ["--lora", "x"], ["--path", "x"]):
        refused = run("-m", "x", *flags)
        assert refused.returncode == 1 and flags[0].replace("-md", "--model-draft") in refused.stderr, flags
    for flags in (["--grammar", "root ::= (", "--port", "0"], ["-j", '{"not": {}}'], ["-l", "5:1"], ["--ui-config", "[]"]):
        assert run("-m", "x", *flags).returncode == 1, flags
    for shell in ("bash", "zsh", "fish"):
        assert "ctx-size" in run("--completion", shell).stdout


def test_the_description_knows_every_route(server):
    status, description = server.get("/openapi.json")
    assert status == 200 and description["openapi"].startswith("3.") and len(description["paths"]) > 25
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            assert (method == "post") == ("requestBody" in operation), (method, path)


def test_unix_sockets(tmp_path):
    """A socket left behind by a killed server is replaced; a file, and the socket of a server that runs, are not."""
    program, path = os.path.join(BUILD, "tests/veloce-serve-fake"), str(tmp_path / "veloce.sock")
    def ask():
        with socket.socket(socket.AF_UNIX) as c:
            c.settimeout(10)
            c.connect(path)
            c.sendall(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return b"".join(iter(lambda: c.recv(4096), b""))
    def start():
        process = subprocess.Popen([program, "-m", SMOL or TINY, "--host", path], stderr=subprocess.DEVNULL)
        for _ in range(500):
            try:
                if b" 200 " in ask(): break
            except OSError: pass
            time.sleep(0.02)
        return process
    first = start()
    assert b" 200 OK" in ask()
    second = subprocess.run([program, "-m", SMOL or TINY, "--host", path], capture_output=True, text=True, timeout=30)
    assert second.returncode == 1 and path in second.stderr
    assert b" 200 OK" in ask()
    first.kill(), first.wait()
    third = start()
    assert b" 200 OK" in ask()
    third.terminate()
    assert third.wait(30) == 0 and not os.path.exists(path)
    with open(path, "w") as f: f.write("a user's text")
    refused = subprocess.run([program, "-m", SMOL or TINY, "--host", path], capture_output=True, text=True, timeout=30)
    assert refused.returncode == 1 and path in refused.stderr and open(path).read() == "a user's text"


def test_names_with_slashes_and_the_scheme_of_a_key():
    s = fake("-a", "org/some-model,other", "--api-key", "k")
    try:
        client = openai.OpenAI(base_url=s.url + "/v1", api_key="k", max_retries=0)
        for name in ("org/some-model", "other"): assert client.models.retrieve(name).id == name
        with pytest.raises(openai.NotFoundError): client.models.retrieve("org/none")
        assert "/v1/models/{id}" in s.get("/openapi.json")[1]["paths"]
        for scheme in ("Bearer", "bearer", "BEARER"): assert s.get("/props", {"Authorization": scheme + " k"})[0] == 200
    finally:
        s.stop()


def test_http_1_0_gets_no_chunks(server):
    data = json.dumps(chat_body(stream=True)).encode()
    for keep in ("", "Connection: keep-alive\r\n"):
        with server.connect() as c:
            c.sendall(f"POST {CHAT} HTTP/1.0\r\n{keep}Content-Length: {len(data)}\r\n\r\n".encode() + data)
            answer = b"".join(iter(lambda: c.recv(65536), b""))   # to the end of the connection
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b" 200 OK" in head and b"chunked" not in head.lower() and b"connection: close" in head.lower() and b"content-length" not in head.lower()
        assert body.startswith(b"data: {") and body.endswith(b"data: [DONE]\n\n")


def test_bad_chunks_are_the_clients_fault(server):
    for chunks in (b"zz\r\n{}\r\n0\r\n\r\n", b"ffffffffffffffffff\r\n{}", b"-1\r\n{}\r\n0\r\n\r\n"):
        with server.connect() as c:
            c.sendall(b"POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
            c.shutdown(socket.SHUT_WR)
            assert c.recv(64).startswith(b"HTTP/1.1 400"), chunks
    with server.connect() as c:
        c.sendall(b"POST /tokenize HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"con\r\nA;note=1\r\ntent\":\"a\"}\r\n0\r\n\r\n")
        assert c.recv(64).startswith(b"HTTP/1.1 200")


def test_signals_end_it_in_order_whenever_they_come():
    """No thread may die of a signal that another waits for: a server that gives up says so with its exit status, every time."""
    program = os.path.join(BUILD, "tests/veloce-serve-fake")
    for _ in range(5):
        several = [subprocess.Popen([program, "-m", "/nonexistent.gguf", "--port", "0"], stderr=subprocess.DEVNULL) for _ in range(8)]
        assert [p.wait(30) for p in several] == [1] * 8
    for _ in range(10):
        s = fake(wait=False)
        assert s.stop() == 0


def test_a_request_on_its_way_is_answered_while_shutting_down():
    s = fake(env={"VELOCE_FAKE_STEP_US": "20000"})
    stream = stream_and_leave(s, CHAT, chat_body(max_tokens=60, stream=True, ignore_eos=True), 1)
    with s.connect() as early, s.connect() as idle:
        idle.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"): answer += idle.recv(4096)
        assert answer.startswith(b"HTTP/1.1 200")
        s.process.send_signal(signal.SIGTERM)
        assert s.until(lambda: "shutting down" in s.text())
        time.sleep(0.1)
        early.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert early.recv(4096).startswith(b"HTTP/1.1 503")
        assert idle.recv(4096) == b""  # had its answer: closed at once
    stream.close()
    assert s.process.wait(30) == 0


def test_a_second_signal_ends_it_at_once():
    s = fake(env={"VELOCE_FAKE_STEP_US": "20000"})
    c = stream_and_leave(s, CHAT, chat_body(max_tokens=4000, stream=True, ignore_eos=True), 1)
    s.process.send_signal(signal.SIGTERM)
    assert s.until(lambda: "shutting down" in s.text())
    status, text, _ = s.request("GET", "/health")
    assert status == 503, text
    start = time.monotonic()
    s.process.send_signal(signal.SIGTERM)
    assert s.process.wait(5) == 130 and time.monotonic() - start < 2
    c.close()

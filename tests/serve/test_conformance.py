"""The served description against the server: schemathesis makes requests of it, valid ones and broken ones, and what
comes back must be what the description says. VELOCE_SCHEMATHESIS_EXAMPLES sets how many an operation gets (8)."""
import os, shutil, subprocess, sys
import pytest
from conftest import fake

# Second names of routes that are driven under their first.
ALIASES = "^/(v1/health|models|chat/.*|responses.*|completions|embedding|reranking|v1/rerank|v1/reranking)$"
HERE = os.path.dirname(os.path.abspath(__file__))


def test_every_route_is_described(server):
    description = server.get("/openapi.json")[1]
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            content = operation["responses"]["200"]["content"]
            assert operation["summary"] and (content.get("application/json", {}).get("schema") or "text/plain" in content or "rerank" in path), (method, path)
    fields = description["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    settings = server.get("/props")[1]["default_generation_settings"]["params"]
    unlisted = set(settings) - set(fields)
    assert unlisted <= {"lora", "dry_sequence_breakers", "samplers", "logit_bias", "grammar_lazy"}, unlisted


def test_methods_that_nobody_knows(server):
    for method, path, wanted in (("QUERY", "/tokenize?x=1", 405), ("PURGE", "/nope", 404), ("get", "/health", 400)):
        with server.connect() as c:
            c.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            answer = c.recv(4096)
            assert answer.startswith(b"HTTP/1.1 %d" % wanted), answer
            assert (b"Allow: POST" in answer) == (wanted == 405)


def test_the_description_is_kept(tmp_path):
    program = shutil.which("schemathesis", path=os.path.dirname(sys.executable))
    if not program: pytest.skip("SKIP: schemathesis is not installed")
    s = fake("-np", "4", "-c", "8192", "-n", "8",  # short contexts end what asks for as many tokens as there may be
              "--metrics", "--props", "--embeddings", "--slot-save-path", str(tmp_path))
    try:
        run = subprocess.run([program, "--config-file", os.path.join(HERE, "schemathesis.toml"), "run", s.url + "/openapi.json", "--phases", "coverage,fuzzing", "--exclude-path-regex", ALIASES,
                              "--max-examples", os.environ.get("VELOCE_SCHEMATHESIS_EXAMPLES", "8"), "--seed", "1", "--continue-on-failure", "--request-timeout", "120", "--no-color"],
                             env={**os.environ, "SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": HERE}, cwd=tmp_path, capture_output=True, text=True, timeout=900)
        assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
        assert s.get("/health")[0] == 200
    finally:
        assert s.stop() == 0


def test_what_can_never_be_queued_takes_no_memory():
    s = fake("-np", "2", "-c", "1024", "--queue-limit", "16")
    try:
        def resident(): return int(open(f"/proc/{s.process.pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        before = resident()
        status, answer = s.post("/v1/completions", {"prompt": ["a" * 20] * 1000, "n": 128, "max_tokens": 1, "logit_bias": [[i % 200, 1] for i in range(3000)]})
        assert status == 400 and "answers" in answer["error"]["message"], answer
        status, answer = s.post("/completion", {"prompt": "a", "logit_bias": [[1, 1]] * 70000})
        assert status == 400 and "logit_bias" in answer["error"]["message"], answer
        assert resident() - before < 200
        assert s.post("/v1/completions", {"prompt": ["a"] * 6, "n": 3, "max_tokens": 1})[0] == 200
    finally:
        assert s.stop() == 0

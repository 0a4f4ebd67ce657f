"""A stand-in for veloce-serve that the page's test can make say anything: the same routes, the same events.

It serves the page from the build's list of embedded files, under the policy that apps/serve/ui/routes.cpp sets, so that
what is tested is what the binary carries.
"""
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REPLIES = {}   # a word in the last message of the user → what the model answers, or a function that says so


def default_reply(text):
    return f"You said: **{text[:80]}**. " + "This answer has a few words to stream. " * 4


class State:
    def __init__(self):
        self.vision = False
        self.key = None
        self.loading = False
        self.delay = 0.004        # seconds a piece
        self.requests = []        # bodies of chat requests
        self.paths = []           # of all requests
        self.gone = 0             # streams that the client left
        self.tokens = 0


def policy_of(source_dir):
    text = (Path(source_dir) / "apps/serve/ui/routes.cpp").read_text()
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text.split("kPolicy[] =")[1].split(";\n")[0]))


def read_assets(listing):
    out = {}
    for line in Path(listing).read_text().splitlines():
        if line:
            path, kind, file = line.split("|")
            out["/" + path] = (kind, file)
    return out


def pieces(text):
    words = re.findall(r"\s*\S+|\s+$", text) or [text]
    # Long answers come in larger pieces, so that a test of them is not a test of patience.
    step = 1 if len(words) <= 4001 else len(words) // 200
    return ["".join(words[i:i + step]) for i in range(0, len(words), step)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    @property
    def state(self):
        return self.server.state

    def reply(self, body, status=200, kind="application/json", headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def error(self, status, message, kind, **more):
        self.reply({"error": {"code": status, "message": message, "type": kind, **more}}, status)

    def refused(self):
        if self.state.key and self.headers.get("Authorization") != "Bearer " + self.state.key:
            self.error(401, "Invalid API Key", "authentication_error")
            return True
        return False

    def do_GET(self):
        path = self.path.split("?")[0]
        self.state.paths.append(path)
        if path in self.server.assets:
            kind, file = self.server.assets[path]
            if not kind.startswith("image/"):
                kind += "; charset=utf-8"
            return self.reply(Path(file).read_bytes(), kind=kind, headers=[
                ("Content-Security-Policy", self.server.policy), ("X-Content-Type-Options", "nosniff")])
        if self.state.loading:
            return self.error(503, "Loading model", "unavailable_error")
        if path == "/health":
            return self.reply({"status": "ok"})
        if self.refused():
            return None
        if path == "/props":
            return self.reply({
                "default_generation_settings": {"params": {"temperature": 0.8, "top_p": 0.95, "top_k": 40, "min_p": 0.05, "n_predict": -1, "seed": -1}, "n_ctx": 8192},
                "total_slots": 2, "model_alias": "", "model_path": "/models/Tiny-Chat-1B-Q4_K_M.gguf", "model_ftype": "Q4_K_M",
                "modalities": {"vision": self.state.vision, "audio": False, "video": False}, "build_info": "veloce 0.1.0"})
        if path == "/slots":
            return self.reply([
                {"id": 0, "n_ctx": 8192, "speculative": True, "is_processing": True, "id_task": 3, "n_tokens": 2310, "n_prompt_tokens": 2000, "n_prompt_tokens_processed": 2000, "n_prompt_tokens_cache": 0, "next_token": [{"has_next_token": True, "has_new_line": False, "n_remain": -1, "n_decoded": 310}]},
                {"id": 1, "n_ctx": 8192, "speculative": True, "is_processing": False, "id_task": 2, "n_tokens": 640}])
        if path == "/metrics":
            text = ""
            for name, value in {"prompt_tokens_total": 5000, "prompt_tokens_cached_total": 2500, "prompt_seconds_total": 4, "tokens_predicted_total": 1200 + self.state.tokens, "tokens_predicted_seconds_total": 40, "requests_processing": 1, "requests_deferred": 0, "spec_decode_num_draft_tokens_total": 800, "spec_decode_num_accepted_tokens_total": 600}.items():
                for prefix in ("llamacpp:", "veloce:"):
                    text += f"# TYPE {prefix}{name} counter\n{prefix}{name} {value}\n"
            return self.reply(text.encode(), kind="text/plain; version=0.0.4")
        return self.error(404, "File Not Found", "not_found_error")

    def do_POST(self):
        self.state.paths.append(self.path)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.refused():
            return None
        if self.path != "/v1/chat/completions":
            return self.error(404, "File Not Found", "not_found_error")
        self.state.requests.append(body)
        content = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
        if isinstance(content, list):
            content = " ".join(part.get("text", "") for part in content)
        if "overflow" in content:
            return self.error(400, "the prompt is too long", "exceed_context_size_error", n_prompt_tokens=9000, n_ctx=8192)
        try:
            self.stream(content)
        except (BrokenPipeError, ConnectionResetError):
            self.state.gone += 1
            self.close_connection = True
        return None

    def chunk(self, data):
        text = data if isinstance(data, str) else json.dumps(data)
        raw = f"data: {text}\n\n".encode()
        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        self.wfile.flush()

    def stream(self, content):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

        def part(delta, reason=None, **more):
            self.chunk({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "tiny-chat",
                        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more})

        part({"role": "assistant", "content": None}, prompt_progress={"total": 100, "cache": 0, "processed": 50, "time_ms": 5})
        answer = next((reply for word, reply in REPLIES.items() if word in content), default_reply)
        answer = answer(content) if callable(answer) else answer
        thoughts, answer = answer if isinstance(answer, tuple) else ("", answer)
        start, n = time.monotonic(), 0

        def timings():
            ms = (time.monotonic() - start) * 1000
            return {"cache_n": 12, "prompt_n": 100, "prompt_ms": 80.0, "prompt_per_token_ms": 0.8, "prompt_per_second": 1250.0,
                    "predicted_n": n, "predicted_ms": ms, "predicted_per_token_ms": ms / n, "predicted_per_second": n * 1000 / max(ms, 1),
                    "draft_n": 10, "draft_n_accepted": 7}

        for name, text in (("reasoning_content", thoughts), ("content", answer)):
            for piece in pieces(text) if text else []:
                n += 1
                self.state.tokens += 1
                time.sleep(0.08 if "slowly" in content else self.state.delay)
                part({name: piece}, timings=timings())
                if "fail" in content and n == 3:
                    self.chunk({"error": {"code": 500, "message": "the device went away", "type": "server_error"}})
                    return self.end_stream()
        part({}, "length" if "cut" in content else "stop")
        self.chunk({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "tiny-chat", "choices": [],
                    "usage": {"prompt_tokens": 112, "completion_tokens": n, "total_tokens": 112 + n}, "timings": timings()})
        self.chunk("[DONE]")
        return self.end_stream()

    def end_stream(self):
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()


class FakeServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass   # browsers hang up as they like

    def __init__(self, source_dir, listing):
        super().__init__(("127.0.0.1", 0), Handler)
        self.state = State()
        self.assets = read_assets(listing)
        self.policy = policy_of(source_dir)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()

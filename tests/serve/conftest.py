"""Servers for the tests: veloce-serve over the fake engine (fast, nonsense answers), and over a real model where one is there."""
import glob, json, os, re, signal, socket, subprocess, sys, tempfile, time, urllib.error, urllib.request
import pytest

BUILD = os.environ["VELOCE_BINARY_DIR"]
SOURCE = os.environ.get("VELOCE_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def first(*patterns):
    return next((f for p in patterns for f in sorted(glob.glob(os.path.join(SOURCE, p)))), None)


SMOL = first("models/SmolLM2-135M-Instruct*.gguf")
TINY = first("tests/golden/llama-q8/model.gguf", "../shared/golden/llama-q8/model.gguf")


class Server:
    def __init__(self, program, model, *flags, env=None, wait=True):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([os.path.join(BUILD, program), "-m", model, "--port", "0", *flags],
                                        stderr=self.log, env={**os.environ, **(env or {})})
        self.url = self._address()
        if wait: self.wait_ready()

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def _address(self):
        for _ in range(1500):
            found = re.search(r"listening address=(\S+)", self.text())
            if found: return found.group(1)
            assert self.process.poll() is None, self.text()
            time.sleep(0.02)
        raise AssertionError("not listening: " + self.text())

    def wait_ready(self):
        for _ in range(3000):
            if self.get("/health")[0] == 200: return
            assert self.process.poll() is None, self.text()
            time.sleep(0.02)
        raise AssertionError("not ready: " + self.text())

    def request(self, method, path, body=None, headers=None, timeout=60):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, answer.read().decode(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), dict(error.headers)

    def get(self, path, headers=None):
        status, text, _ = self.request("GET", path, headers=headers)
        return status, json.loads(text)

    def post(self, path, body, headers=None):
        status, text, _ = self.request("POST", path, body, headers)
        return status, json.loads(text)

    def events(self, path, body):
        """The events of a stream: (name or None, decoded data)."""
        status, text, headers = self.request("POST", path, body)
        assert status == 200, text
        assert headers["Content-Type"] == "text/event-stream"
        out = []
        for block in text.split("\n\n"):
            name = re.search(r"^event: (.*)$", block, re.M)
            data = re.search(r"^data: (.*)$", block, re.M)
            if data: out.append((name and name.group(1), data.group(1) if data.group(1) == "[DONE]" else json.loads(data.group(1))))
        return out

    def connect(self):
        host, port = re.match(r"https?://([^:/]+):(\d+)", self.url).groups()
        return socket.create_connection((host, int(port)), timeout=30)

    def slots(self): return self.get("/slots")[1]

    def busy(self): return sum(slot["is_processing"] for slot in self.slots())

    def until(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition(): return True
            time.sleep(0.02)
        return False

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
        return self.process.returncode


def fake(*flags, model=None, **more):
    return Server("tests/veloce-serve-fake", model or SMOL or TINY, *flags, **more)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    s = fake("-np", "4", "-c", "16384", "--metrics", "--props", "--embeddings", "--slot-save-path", str(tmp_path_factory.mktemp("slots")),
             env={"VELOCE_FAKE_STEP_US": "300"})
    yield s
    assert s.stop() == 0


@pytest.fixture(scope="session")
def slow_server():
    """A step takes 20 ms, so that requests can be caught in the middle."""
    s = fake("-np", "2", "-c", "8192", env={"VELOCE_FAKE_STEP_US": "20000"})
    yield s
    assert s.stop() == 0


@pytest.fixture(scope="session")
def smol():
    if not SMOL or not os.path.exists(os.path.join(BUILD, "bin/veloce-serve")): pytest.skip("SKIP: no starter model or no veloce-serve")
    s = Server("bin/veloce-serve", SMOL, "-np", "4", "-c", "8192")
    yield s
    assert s.stop() == 0


def chat_body(text="Hi", **more):
    return {"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 8, **more}

#!/usr/bin/env python3
"""The chat page as veloce-serve serves it, with a real model behind it.   real_server_test.py SOURCE_DIR PROGRAM"""
import gzip
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from page import Keys, Page, skip


def find_model(source):
    for pattern in ("models/SmolLM2-135M-Instruct*.gguf", "tests/golden/llama-q8/model.gguf", "../shared/golden/llama-q8/model.gguf"):
        found = sorted(Path(source).glob(pattern))
        if found:
            return found[0]
    skip("there is no model to serve (models/fetch-starter gets one)")


class Server:
    def __init__(self, program, model, *flags):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([program, "-m", str(model), "--port", "0", "-c", "1024", "-np", "2", "--temp", "0", "--metrics", *flags], stderr=self.log)
        self.url = self.find(r"listening address=(\S+)") + "/"
        self.find(r"\bready\b")

    def find(self, pattern):
        for _ in range(6000):
            self.log.seek(0)
            text = self.log.read()
            found = re.search(pattern, text)
            if found:
                return found.group(1) if found.groups() else found.group(0)
            assert self.process.poll() is None, text
            time.sleep(0.02)
        raise AssertionError("waited in vain for " + pattern)

    def get(self, path, **headers):
        request = urllib.request.Request(self.url + path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def check_files(server):
    status, headers, body = server.get("")
    assert status == 200 and body.startswith(b"<!doctype html>") and headers["Content-Type"] == "text/html; charset=utf-8"
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';") and "unsafe" not in policy and "http" not in policy, policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    for path in ("ui/main.js", "ui/base.css", "ui/icons.svg", "ui/libraries.json"):
        status, headers, body = server.get(path)
        assert status == 200 and "Content-Encoding" not in headers, path
        status, packed, data = server.get(path, Accept_Encoding="gzip, br")
        if packed["Content-Encoding"] == "gzip":
            data = gzip.decompress(data)
        assert data == body and packed["ETag"] == headers["ETag"]
        status, _, data = server.get(path, If_None_Match=headers["ETag"])
        assert (status, data) == (304, b"")
    assert server.get("ui/none.js")[0] == 404 and server.get("ui/../ui/main.js")[0] == 404


def check_chat(page):
    page.ask("Count from one to twenty.", wait=False)
    page.until(lambda: page.texts("assistant") and len(page.texts("assistant")[-1]) > 5, "the first words", 120)
    page.until(lambda: not page.busy() or "tok/s" in page.one(".message:last-child .message-foot").text, "the speed", 120)
    if page.busy():
        page.key(Keys.ESCAPE)
    page.idle(120)
    answer = page.texts("assistant")[-1]
    page.button("Edit", ".message.user")
    area = page.one(".editor textarea")
    area.send_keys(Keys.CONTROL, "a")
    area.send_keys("Say hello.", Keys.ENTER)
    page.until(lambda: page.texts("user") == ["Say hello."], "the edited question")
    page.until(lambda: len(page.texts("assistant")[-1]) > 3, "its answer", 120)
    page.key(Keys.ESCAPE) if page.busy() else None  # the button may be gone by the time it is clicked
    page.idle(120)
    page.button("Previous version", ".message.user")
    page.until(lambda: page.texts("assistant")[-1] == answer, "the first answer")
    page.button("Branch into a new chat", ".message.user")
    page.until(lambda: page.one("#chat-title").text.endswith("(branch)"), "the branch")
    page.reload()
    page.until(lambda: page.texts("user") == ["Count from one to twenty."], "the branch after a reload")
    page.click("#open-status")
    page.until(lambda: len(page.all(".slots li")) == 2 and "Tokens written" in page.one("dialog").text, "slots and metrics")
    page.shot("real-status")
    page.key(Keys.ESCAPE)
    assert not page.console()


def main():
    source, program = sys.argv[1:]
    model = find_model(source)
    server, page = Server(program, model), None
    try:
        check_files(server)
        page = Page(server.url)
        page.open()
        check_chat(page)
        server.stop()
        server = Server(program, model, "--no-ui")
        assert server.get("")[0] == 404 and server.get("ui/main.js")[0] == 404
        server.stop()
        server = Server(program, model, "--api-prefix", "/a/b", "--api-key", "k")
        assert server.get("a/b/")[0] == 200 and server.get("a/b")[2].startswith(b"<!doctype html>"), "the prefix alone leads to the page"
        page.driver.get(server.url + "a/b")
        page.until(lambda: page.visible("dialog input"), "the question for the key")
        page.one("dialog input").send_keys("k", Keys.ENTER)
        page.until(lambda: page.one("#server-name").text not in ("", "Connecting…", "Needs an API key"), "the model's name")
        print("ok   the page of", Path(program).name, "with", model.name)
    finally:
        if page:
            page.close()
        server.process.kill()


if __name__ == "__main__":
    main()

"""Streams that outlive their connection, and control of running answers."""
import json, threading, time
from conftest import chat_body, fake

CHAT = "/v1/chat/completions"


def start(server, name, **more):
    """Sends a streaming request, reads a little, and hangs up."""
    data = json.dumps(chat_body(stream=True, ignore_eos=True, **more)).encode()
    c = server.connect()
    c.sendall(f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nX-Conversation-Id: {name}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    c.recv(1)
    return c


def test_a_kept_stream_goes_on_and_is_read_again(slow_server):
    s = slow_server
    c = start(s, "one", max_tokens=60)
    time.sleep(0.2)
    c.close()
    assert s.post("/v1/streams/lookup", {"conversation_ids": ["one", "nope"]})[1][0]["is_done"] is False
    status, text, headers = s.request("GET", "/v1/stream?conv_id=one")   # replays, then follows to the end
    assert status == 200 and headers["Content-Type"] == "text/event-stream" and text.endswith("data: [DONE]\n\n")
    state = s.post("/v1/streams/lookup", {"conversation_ids": ["one"]})[1]
    assert state == [{"conversation_id": "one", "is_done": True, "total_bytes": len(text.encode())}]
    assert s.request("GET", "/v1/stream?conv_id=one&from=100")[1] == text.encode()[100:].decode()
    for query, code in (("conv_id=one&from=9999999", 400), ("conv_id=one&from=-1", 400), ("conv_id=one&from=x", 400), ("conv_id=two", 404), ("", 400)):
        assert s.request("GET", "/v1/stream?" + query)[0] == code, query
    for _ in range(2):
        assert s.request("DELETE", "/v1/stream?conv_id=one")[0] == 200
    assert s.request("GET", "/v1/stream?conv_id=one")[0] == 404


def test_deleting_or_asking_anew_ends_it(slow_server):
    s = slow_server
    start(s, "two", max_tokens=2000).close()
    assert s.busy() == 1
    start(s, "two", max_tokens=2000).close()
    assert s.until(lambda: s.busy() == 1)
    s.request("DELETE", "/v1/stream?conv_id=two")
    assert s.until(lambda: s.busy() == 0, 3)


def test_without_the_header_a_stream_ends_with_its_client(slow_server):
    data = json.dumps(chat_body(stream=True, ignore_eos=True, max_tokens=2000)).encode()
    with slow_server.connect() as c:
        c.sendall(f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        c.recv(1)
    assert slow_server.until(lambda: slow_server.busy() == 0, 3)


def test_shutdown_with_a_kept_stream():
    s = fake(env={"VELOCE_FAKE_STEP_US": "20000"})
    start(s, "x", max_tokens=4000).close()
    before = time.monotonic()
    assert s.stop() == 0 and time.monotonic() - before < 10

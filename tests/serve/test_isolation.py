"""Two users of one server: neither sees the other's text, not in slots, files, metrics, caches, streams nor logs."""
import json, os
import pytest
from conftest import chat_body, fake

SECRET = "quagmire-8841 wombat treasury"
A, B = {"Authorization": "Bearer key-of-a"}, {"Authorization": "Bearer key-of-b"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    log = tmp_path_factory.mktemp("log") / "server.log"
    s = fake("-np", "2", "-c", "8192", "--api-key", "key-of-a,key-of-b", "--metrics", "--props", "--slot-save-path", str(folder), "--log-file", str(log), "-v",
             env={"VELOCE_FAKE_STEP_US": "300"})
    s.folder, s.log_file = folder, log
    yield s
    assert s.stop() == 0


def visible(server, headers):
    return "".join(server.request("GET", path, headers=headers)[1] for path in ("/slots", "/props", "/metrics", "/v1/models", "/openapi.json", "/lora-adapters"))


def test_text_and_counts(shared):
    body = chat_body(SECRET * 20, max_tokens=30)
    first = shared.post("/v1/chat/completions", body, A)[1]
    secret_answer = first["choices"][0]["message"]["content"]
    assert shared.post("/v1/chat/completions", body, A)[1]["usage"]["prompt_tokens_details"]["cached_tokens"] > 100   # its own: reused
    assert shared.post("/completion", {"prompt": SECRET, "n_predict": 5}, A)[0] == 200
    assert shared.post("/v1/chat/completions", {**body, "messages": [{"role": "nobody", "content": SECRET}]}, A)[0] == 400
    seen = visible(shared, B)
    assert "quagmire" not in seen and secret_answer[:12] not in seen
    # Counts of cached tokens would tell whether somebody asked the same.
    assert shared.post("/v1/chat/completions", body, B)[1]["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    for slot in (0, 1):   # also in the very slot that has read it
        prompt = f"{slot} {SECRET * 20}"
        assert shared.post("/completion", {"prompt": prompt, "n_predict": 1, "id_slot": slot}, A)[0] == 200
        assert shared.post("/completion", {"prompt": prompt, "n_predict": 1, "id_slot": slot}, B)[1]["timings"]["cache_n"] == 0
    log = shared.log_file.read_text() + shared.text()
    assert "finished" in log and "quagmire" not in log and secret_answer[:12] not in log and "key-of" not in log


def test_saved_slots(shared):
    ask = lambda who: shared.post("/completion", {"prompt": SECRET * 20, "n_predict": 3, "temperature": 0, "id_slot": 0}, who)[1]
    ask(A)
    assert shared.post("/slots/0?action=save", {"filename": "of-a.bin"}, A)[0] == 200
    for action, name in (("restore", "of-a.bin"), ("save", "of-a.bin"), ("save", "mine.bin")):   # read, write over, take what the slot holds
        status, answer = shared.post(f"/slots/0?action={action}", {"filename": name}, B)
        assert status == 400 and "another user" in answer["error"]["message"], (action, name)
    assert sorted(os.listdir(shared.folder)) == ["of-a.bin"]
    assert shared.post("/slots/0?action=restore", {"filename": "of-a.bin"}, A)[0] == 200
    assert ask(A)["timings"]["cache_n"] > 100
    os.symlink("/etc/passwd", shared.folder / "link")
    for name in ("link", "../of-a.bin", "..%2fof-a.bin/../x", "/etc/passwd", "a/../of-a.bin", ".", "..", "x\0y", "\uff0e\uff0e\u2215x"):
        status, answer = shared.post("/slots/0?action=restore", {"filename": name}, A)
        assert status == 400 and "root:" not in json.dumps(answer), name
    assert shared.request("POST", "/slots/..%2f0?action=save", {"filename": "x"}, A)[0] in (400, 404)
    assert oct(os.stat(shared.folder / "of-a.bin").st_mode)[-3:] == "600"


def test_kept_streams_and_control(shared):
    body = chat_body(SECRET, max_tokens=40, stream=True, ignore_eos=True, reasoning_control=True)
    status, text, _ = shared.request("POST", "/v1/chat/completions", body, {**A, "X-Conversation-Id": "conversation"})
    assert status == 200
    assert shared.request("GET", "/v1/stream?conv_id=conversation", headers=A)[1] == text
    assert shared.request("GET", "/v1/stream?conv_id=conversation", headers=B)[0] == 404
    assert shared.post("/v1/streams/lookup", {"conversation_ids": ["conversation"]}, B)[1] == []
    assert shared.request("DELETE", "/v1/stream?conv_id=conversation", headers=B)[0] == 200
    assert shared.request("GET", "/v1/stream?conv_id=conversation", headers=A)[1] == text
    answer_id = json.loads(text.split("data: ")[1].split("\n")[0])["id"]
    assert shared.post("/v1/chat/completions/control", {"id": answer_id, "action": "reasoning_end"}, B)[1]["success"] is False

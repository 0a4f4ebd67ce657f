"""How many slots there are and how long their contexts, where the flags leave it open or ask for too much."""
import os
import re
import pytest
from conftest import BUILD, SMOL, TINY, Server


def started(*flags, model=TINY):
    server = Server("bin/veloce-serve", model, *flags)
    try:
        return server.get("/props")[1], server.slots(), server.text()
    finally:
        server.stop()


def sanitized():
    with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
        return re.search("^VELOCE_SANITIZE:STRING=.", cache.read(), re.M) is not None


def announced(log):
    """MiB of each part, as the line before loading says."""
    line = next(line for line in log.splitlines() if "memory needed" in line)
    return {name: float(value) for name, value in re.findall(r'(\w+)="([0-9.]+) MiB"', line)}


@pytest.mark.skipif(TINY is None, reason="no golden model")
def test_cheap_state_gives_four_slots_with_a_whole_context_each():
    props, slots, _ = started()
    trained = props["default_generation_settings"]["n_ctx"]
    assert props["total_slots"] == len(slots) == 4
    assert [slot["n_ctx"] for slot in slots] == [trained] * 4
    _, slots, _ = started("-c", str(trained // 2))
    assert [slot["n_ctx"] for slot in slots] == [trained // 2] * 4


@pytest.mark.skipif(TINY is None, reason="no golden model")
def test_a_given_number_shares_the_context_out_and_no_slot_gets_more_than_the_model_knows():
    trained = started()[0]["default_generation_settings"]["n_ctx"]
    _, slots, log = started("-np", "2", "-c", str(trained))
    assert [slot["n_ctx"] for slot in slots] == [trained // 2] * 2
    assert "beyond what the model was trained for" not in log
    _, slots, log = started("-np", "2", "-c", str(trained * 6))
    assert [slot["n_ctx"] for slot in slots] == [trained] * 2
    assert re.search(rf"beyond what the model was trained for.*asked={trained * 3}", log)


@pytest.mark.skipif(SMOL is None, reason="no starter model")
def test_dear_state_takes_fewer_slots():
    log = started(model=SMOL)[2]
    need = announced(log)
    # Room for half of the state and not for all of it.
    limit = int(need["weights"] + need["workspace"] + need["state"] * 3 / 4)
    assert started("--memory-limit", str(limit), model=SMOL)[0]["total_slots"] == 2


@pytest.mark.skipif(SMOL is None, reason="no starter model")
@pytest.mark.skipif(sanitized(), reason="a sanitizer takes memory of its own")
@pytest.mark.parametrize("flags", [[], ["-np", "1"], ["-np", "1", "-c", "2048"], ["-np", "4", "-c", "16384"]])
def test_no_more_is_taken_than_was_announced(flags):
    server = Server("bin/veloce-serve", SMOL, *flags)
    try:
        need = announced(server.text())
        assert need["total"] == pytest.approx(sum(need.values()) - need["total"], abs=0.3)
        words = " ".join(f"word{i}" for i in range(400))
        for _ in range(2):
            status, answer = server.post("/completion", {"prompt": words, "n_predict": 16})
            assert status == 200 and answer["tokens_evaluated"] > 900
        pages = int(open(f"/proc/{server.process.pid}/statm").read().split()[1])
        assert pages * os.sysconf("SC_PAGE_SIZE") / 2**20 <= 1.1 * need["total"]
    finally:
        server.stop()

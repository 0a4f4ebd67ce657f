"""How many slots there are and how long their contexts, where the flags leave it open or ask for too much."""
import re
import pytest
from conftest import SMOL, TINY, Server


def started(*flags, model=TINY):
    server = Server("bin/veloce-serve", model, *flags)
    try:
        return server.get("/props")[1], server.slots(), server.text()
    finally:
        server.stop()


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
    need = {name: float(value) for name, value in re.findall(r'(state|total)="([0-9.]+) MiB"', log)}
    # Room for half of the state and not for all of it.
    limit = int(need["total"] - need["state"] / 4)
    assert started("--memory-limit", str(limit), model=SMOL)[0]["total_slots"] == 2

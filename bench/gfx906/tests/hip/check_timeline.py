#!/usr/bin/env python3
"""Checks the trace of timeline.hip.cpp: check_timeline.py TRACE.json modelled|host.

The file is JSON of the Chrome trace format, its rows have names and do not overlap, work comes in the order that the
program asks for, and on the modelled clock launches, graphs and copies take what is published of an MI50."""
import json
import sys


def near(have, want, share, what):
    if abs(have - want) > share * want:
        sys.exit(f"{what}: {have:.2f} us instead of {want:.2f}")


def main(path, clock):
    with open(path) as f:
        events = json.load(f)
    names, rows = {}, {}
    for e in events:
        assert e["ph"] in ("X", "M"), e
        if e["ph"] == "M":
            names[e["pid"], e.get("tid")] = e["args"]["name"]
            continue
        assert e["ts"] >= 0 and e["dur"] >= 0 and e["name"] and e["cat"], e
        rows.setdefault((e["pid"], e["tid"]), []).append(e)
    for (card, row), work in rows.items():
        assert names[card, None].startswith(f"card {card} ({clock}"), names
        assert names[card, row] in (f"stream {row}", "peer traffic"), names
        work.sort(key=lambda e: e["ts"])
        for a, b in zip(work, work[1:]):  # to a nanosecond, the format's last digit
            assert a["ts"] + a["dur"] <= b["ts"] + 0.002, (a, b)

    def find(category, text):
        found = [e for e in events if e.get("cat") == category and text in e["name"]]
        assert found, (category, text)
        return sorted(found, key=lambda e: e["ts"])

    end = lambda e: e["ts"] + e["dur"]
    fill, add = find("kernel", "fill_kernel")[0], find("kernel", "add_kernel")[0]
    there, back = find("copy", "card to card")
    assert (fill["pid"], add["pid"]) == (0, 1)
    order = [fill, there, add, back]
    for a, b in zip(order, order[1:]):
        assert end(a) <= b["ts"] + 0.002, (a, b)
    size = 1 << 20
    peers = find("peer", "from card")
    assert [(e["pid"], e["name"], e["args"]["bytes"]) for e in peers] == [
        (1, "from card 0", size), (0, "from card 1", size)], peers
    empty, nodes = find("kernel", "empty_kernel"), find("kernel", "node_kernel")
    assert (len(empty), len(nodes)) == (8, 16)
    if clock == "modelled":
        near(there["dur"], 10 + size / 12e3, 0.01, "1 MiB to another card")
        near((empty[7]["ts"] - empty[0]["ts"]) / 7, 12.2, 0.05, "empty launch and wait")
        near(nodes[8]["ts"] - nodes[0]["ts"], 17.8, 0.1, "graph of eight and wait")
    print("timeline is right")


main(sys.argv[1], sys.argv[2])

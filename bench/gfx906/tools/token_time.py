#!/usr/bin/env python3
"""How long an engine's steps take on the modelled clock: token_time.py TRACE.json [LAYERS TRACE2.json LAYERS2 WANTED].

The trace comes from `gfx906-sim run --profile P.json --trace TRACE.json`. A step ends where the host fetches the
largest of the results that it fetches again and again (a token's logits). With the traces of two models that differ in
their number of layers only, also the time for WANTED layers."""
import collections
import dataclasses
import json
import statistics
import sys


@dataclasses.dataclass
class Steps:
    count: int
    kernels: int  # of the last one
    seconds: float  # of the quickest: the host program's own time is in it as this host took it, and what disturbs it adds
    busy: float  # seconds that a step's kernels take, one after another


def steps(path):
    with open(path) as f:
        events = [e for e in json.load(f) if e["ph"] == "X"]
    events.sort(key=lambda e: e["ts"])
    fetches = [e for e in events if e["name"] == "copy card to host"]
    sizes = collections.Counter(e["args"]["bytes"] for e in fetches)
    often = [size for size, n in sizes.items() if n >= 2]
    if not often:
        raise SystemExit(f"{path}: the host fetches nothing twice; let the engine make three tokens or more")
    ends = [e["ts"] + e["dur"] for e in fetches if e["args"]["bytes"] == max(often)]
    busy, times = [], []
    for begin, end in zip(ends, ends[1:]):
        kernels = [e for e in events if e["cat"] == "kernel" and begin <= e["ts"] < end]
        busy.append(sum(e["dur"] for e in kernels) / 1e6)
        times.append((end - begin) / 1e6)
    return Steps(len(times), len(kernels), min(times), statistics.median(busy))


def whole(first, layers, second, layers2, wanted):
    """Seconds of a step with `wanted` layers. Kernels of a layer take the same in every layer; what else a step takes
    is the host's, once."""
    layer = (second.busy - first.busy) / (layers2 - layers)
    gap = min(first.seconds - first.busy, second.seconds - second.busy)
    return first.busy + layer * (wanted - layers) + gap


def show(path):
    s = steps(path)
    print(f"{path}: {s.count} steps, the quickest {s.seconds * 1e6:.1f} us, {s.kernels} kernels a step, "
          f"{s.busy * 1e6:.1f} us in them")
    return s


def main():
    if len(sys.argv) not in (2, 6):
        raise SystemExit(__doc__)
    first = show(sys.argv[1])
    if len(sys.argv) == 6:
        seconds = whole(first, int(sys.argv[2]), show(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
        print(f"{sys.argv[5]} layers {seconds * 1e3:.2f} ms, {1 / seconds:.4g} steps/s")


if __name__ == "__main__":
    main()

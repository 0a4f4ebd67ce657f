#!/usr/bin/env python3
"""How long an engine's steps take on the modelled clock: token_time.py TRACE.json [LAYERS TRACE2.json LAYERS2 WANTED].

The trace comes from `gfx906-sim run --profile P.json --trace TRACE.json`. A step ends where the host fetches the
largest of the results that it fetches again and again (a token's logits). With the traces of two models that differ in
their number of layers only, also the time for WANTED layers."""
import collections
import json
import statistics
import sys


def steps(path):
    with open(path) as f:
        events = [e for e in json.load(f) if e["ph"] == "X"]
    events.sort(key=lambda e: e["ts"])
    fetches = [e for e in events if e["name"] == "copy card to host"]
    sizes = collections.Counter(e["args"]["bytes"] for e in fetches)
    often = [size for size, n in sizes.items() if n >= 2]
    if not often:
        sys.exit(f"{path}: the host fetches nothing twice; let the engine make three tokens or more")
    ends = [e["ts"] + e["dur"] for e in fetches if e["args"]["bytes"] == max(often)]
    pairs = list(zip(ends, ends[1:]))
    busy, times = [], []
    for begin, end in pairs:
        kernels = [e for e in events if e["cat"] == "kernel" and begin <= e["ts"] < end]
        busy.append(sum(e["dur"] for e in kernels))
        times.append(end - begin)
    # The host program's own time is in it as this host took it, and what disturbs it only adds.
    time = min(times)
    print(f"{path}: {len(times)} steps, the quickest {time:.1f} us, {len(kernels)} kernels a step, "
          f"{statistics.median(busy):.1f} us in them")
    return time, statistics.median(busy)


first, busy = steps(sys.argv[1])
if len(sys.argv) == 6:
    second, busy2 = steps(sys.argv[3])
    layers, layers2, wanted = int(sys.argv[2]), int(sys.argv[4]), int(sys.argv[5])
    # Kernels of a layer take the same in every layer; what else a step takes is the host's, once.
    layer = (busy2 - busy) / (layers2 - layers)
    gap = min(first - busy, second - busy2)
    whole = busy + layer * (wanted - layers) + gap
    print(f"a layer {layer:.1f} us, besides kernels {gap:.1f} us; {wanted} layers {whole / 1000:.2f} ms, "
          f"{1e6 / whole:.1f} steps/s")

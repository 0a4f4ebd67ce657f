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
    times = [b - a for a, b in zip(ends, ends[1:])]
    kernels = [e for e in events if e["cat"] == "kernel" and ends[0] <= e["ts"] < ends[-1]]
    count = len(times)
    # The first step may still compile graphs and the like.
    time = statistics.median(times[1:] or times)
    print(f"{path}: {count} steps, median {time:.1f} us, {len(kernels) / count:.0f} kernels a step, "
          f"{sum(e['dur'] for e in kernels) / count:.1f} us in them")
    return time


first = steps(sys.argv[1])
if len(sys.argv) == 6:
    layers, second, layers2, wanted = int(sys.argv[2]), steps(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    layer = (second - first) / (layers2 - layers)
    whole = first + layer * (wanted - layers)
    print(f"a layer {layer:.1f} us; {wanted} layers {whole / 1000:.2f} ms, {1e6 / whole:.1f} steps/s")

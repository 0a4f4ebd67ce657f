#!/usr/bin/env python3
"""Published speeds of llama.cpp on an MI50 beside the cost model's estimates of an installed llama.cpp's own kernels.

  llama_figures.py --sim build/bin/gfx906-sim [--root DIR] [--work FOLDER] [--only TEXT]

Needs a llama-bench with its HIP backend for gfx906, here or in the root file system DIR (then as root). For each figure
a model of that shape is made (make_model_shape.py), a few tokens are generated with only the sampled work-groups run,
and the profile or the trace is read. The builds that were measured are not this one, so a ratio also holds what
changed between them."""
import argparse
import dataclasses
import json
import os
import subprocess
import sys

import token_time

HERE = os.path.dirname(os.path.abspath(__file__))
# Matrix products with few columns (MMVQ): type, rows, length of a row, columns, published us.
PRODUCTS = [
    ("Q4_K", 8704, 5120, 1, 47.1), ("Q4_K", 4096, 4096, 1, 20.1), ("Q5_K", 8704, 5120, 1, 54.1),
    ("Q5_K", 2048, 4096, 1, 13.2), ("Q5_K", 5120, 8704, 1, 54.0),
    ("Q4_K", 8704, 5120, 2, 60.7), ("Q4_K", 5120, 8704, 2, 66.7), ("Q5_K", 8704, 5120, 2, 71.7),
    ("Q5_K", 5120, 8704, 2, 72.1), ("Q4_K", 8704, 5120, 3, 83.4), ("Q5_K", 8704, 5120, 3, 88.5),
    ("Q5_K", 5120, 8704, 3, 89.0), ("Q4_K", 5120, 8704, 3, 83.5),
    ("Q5_K", 4096, 512, 1, 10.9), ("Q5_K", 4096, 512, 2, 14.5), ("Q6_K", 4096, 512, 1, 9.5), ("Q6_K", 4096, 512, 2, 12.9),
    ("IQ4_XS", 8704, 5120, 1, 44.2), ("IQ4_XS", 8704, 5120, 3, 90.8),
    ("Q8_0", 8704, 5120, 1, 79.4),  # 588 to 604 GB/s published for large matrices
    ("Q8_0", 10240, 2560, 4, 61.5), ("Q8_0", 2560, 6144, 4, 39.1), ("Q8_0", 8192, 1024, 4, 30.1),
    ("Q8_0", 1024, 4096, 6, 17.0), ("Q8_0", 512, 4096, 6, 12.6), ("Q8_0", 4096, 512, 6, 8.5),
]
# Shapes that hold them, by rows and length: hidden, ffn, heads, kv heads.
SHAPES = {(8704, 5120): (5120, 8704, 8, 1), (5120, 8704): (5120, 8704, 8, 1), (4096, 4096): (4096, 1024, 32, 16),
          (2048, 4096): (4096, 1024, 32, 16), (4096, 512): (512, 4096, 4, 1), (10240, 2560): (2560, 10240, 8, 1),
          (2560, 6144): (2560, 6144, 8, 1), (8192, 1024): (1024, 8192, 8, 1), (1024, 4096): (4096, 1024, 32, 4),
          (512, 4096): (4096, 1024, 32, 4)}


@dataclasses.dataclass
class WholeModel:
    what: str
    published: float  # tokens/s
    layers: int
    shape: list  # arguments of make_model_shape.py
    made: tuple  # layers of the two models that the whole one is extrapolated from
    prompt: int = 0  # tokens of a prompt that is processed at once; 0: one token after the other
    sample_only: bool = True  # not where results decide what is done, as a router's do
    fusion: bool = True
    cards: int = 1  # that hold the layers one after another


WHOLE_MODELS = [
    WholeModel("Qwen3.5 27B Q4_K_S token", 22.08, 64, ["qwen3.5-27b", "--type", "Q4_K"], (4, 8)),
    # Believed, not verified: the build that was measured, of September 2025, fused few operations.
    WholeModel("Qwen3-30B-A3B Q4_0 token", 79.9, 48, ["qwen3-30b-a3b", "--type", "Q4_0"], (1, 3), sample_only=False,
               fusion=False),
    WholeModel("Qwen3.6-35B-A3B Q8_0 token", 64.8, 40, ["qwen3.6-35b-a3b", "--type", "Q8_0"], (4, 8),
               sample_only=False, cards=4),
    WholeModel("Qwen3-30B-A3B Q4_0 prompt of 512", 1195, 48, ["qwen3-30b-a3b", "--type", "Q4_0"], (1, 3), prompt=512,
               sample_only=False, fusion=False),
    WholeModel("Qwen3.5 27B Q4_K_S prompt of 4096", 245, 64, ["qwen3.5-27b", "--type", "Q4_K"], (4, 8), prompt=4096),
]


class Bench:
    def __init__(self, options):
        self.o = options
        os.makedirs(self.path(""), exist_ok=True)

    def path(self, name, inside=False):
        folder = os.path.join(self.o.work, name)
        return folder if inside or not self.o.root else self.o.root.rstrip("/") + folder

    def model(self, name, args):
        if not os.path.exists(self.path(name)):
            subprocess.run([sys.executable, f"{HERE}/make_model_shape.py", *args, "-o", self.path(name)], check=True,
                           stdout=subprocess.DEVNULL)
        return name

    def run(self, model, tokens, prompt=0, sample_only=True, fusion=True, repeat=1, cards=1):
        """The profile's kernels and the trace's file."""
        name = f"{model}-{prompt}-{tokens}-{cards}"
        root = ["--root", self.o.root] if self.o.root else []
        env = dict(os.environ) if fusion else dict(os.environ, GGML_CUDA_DISABLE_FUSION="1")
        subprocess.run(
            [self.o.sim, "run", "--cards", str(cards), *root, "--profile", self.path(name + ".profile", True), "--trace",
             self.path(name + ".trace", True), *(["--sample-only"] if sample_only else []), "--", self.o.bench, "-m",
             self.path(model, True), "-p", str(prompt), "-n", str(tokens), "-b", str(max(prompt, 32)), "-ub", "512",
             "-r", str(repeat), "-ngl", "99", "--no-warmup"],
            check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with open(self.path(name + ".profile")) as f:
            return json.load(f)["kernels"], self.path(name + ".trace")


def product(bench, kind, rows, length, columns):
    hidden, ffn, heads, kv = SHAPES[rows, length]
    model = bench.model(f"{kind}-{hidden}-{ffn}-{kv}.gguf", [
        "--hidden", str(hidden), "--ffn", str(ffn), "--heads", str(heads), "--kv-heads", str(kv), "--layers", "2",
        "--vocab", "1024", "--type", kind])
    kernels, _ = bench.run(model, 4 if columns == 1 else 0, columns if columns > 1 else 0, fusion=False)
    # The row's length is an argument of the kernel, so it is among the scalars.
    mark = length.to_bytes(4, "little").hex()
    found = [k for k in kernels if "mul_mat_vec_q" in k["name"] and f", {columns}, " in k["name"].split(">")[0] and
             k["groups"] in (rows // 2, rows) and mark in k["scalar_arguments"]]
    if not found:
        return None
    return max(found, key=lambda k: k["launches"])


def tokens_per_second(bench, w):
    made = []
    for n in w.made:
        model = bench.model(f"{w.shape[0]}-{n}.gguf", [*w.shape, "--layers", str(n)])
        tokens, repeat = (0, 3) if w.prompt else (6, 1)
        _, trace = bench.run(model, tokens, w.prompt, w.sample_only, w.fusion, repeat, w.cards)
        made.append(token_time.steps(trace))
    return max(w.prompt, 1) / token_time.whole(made[0], w.made[0], made[1], w.made[1], w.layers)


def show(what, published, estimate, unit, limit=""):
    print(f"{what:44} {published:>12} {estimate:10.1f} {unit:8} {estimate / float(published):6.2f}  {limit}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--sim", required=True)
    p.add_argument("--root", default="")
    p.add_argument("--bench", default="/usr/bin/llama-bench")
    p.add_argument("--work", default="/tmp/gfx906-figures")
    p.add_argument("--only", default="", help="figures whose name holds this text")
    bench = Bench(p.parse_args())
    for kind, rows, length, columns, published in PRODUCTS:
        what = f"{kind.lower()} {rows} x {length}, {columns} column{'s' if columns > 1 else ''}"
        if bench.o.only not in what:
            continue
        k = product(bench, kind, rows, length, columns)
        if k is None:
            print(f"{what}: no such kernel")
        else:
            show(what, published, k["seconds"] * 1e6, "us", k["limit"])
    for whole in WHOLE_MODELS:
        if bench.o.only in whole.what:
            show(whole.what, whole.published, tokens_per_second(bench, whole), "tokens/s")


if __name__ == "__main__":
    main()

"""Tests of the Python tools: what a trace says of a step, and what the model files of a shape hold."""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")
sys.path.insert(0, TOOLS)
import llama_figures  # noqa: E402
import token_time  # noqa: E402


def trace(folder, name, layers, layer_us, gap_us, cards=1, steps=3):
    """A program that runs `layers` kernels a step, in turn on `cards`, and then fetches the step's result."""
    events, now = [], 0.0
    for _ in range(steps):
        for n in range(layers):
            events.append(dict(ph="X", cat="kernel", name="layer", pid=n * cards // layers, tid=1, ts=now, dur=layer_us))
            now += layer_us
            events.append(dict(ph="X", cat="copy", name="copy card to host", pid=0, tid=1, ts=now, dur=0,
                               args={"bytes": 4}))
        events.append(dict(ph="X", cat="copy", name="copy card to host", pid=0, tid=1, ts=now, dur=gap_us,
                           args={"bytes": 4096}))
        now += gap_us
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        json.dump(events, f)
    return path


class TokenTime(unittest.TestCase):
    def test_steps_and_layers(self):
        with tempfile.TemporaryDirectory() as folder:
            # From a token's 100 us to a prompt's 15 s.
            for layer_us in (2.5, 321.0, 230e3):
                for cards in (1, 4):
                    a = token_time.steps(trace(folder, "a", 4, layer_us, 30.0, cards))
                    b = token_time.steps(trace(folder, "b", 8, layer_us, 30.0, cards))
                    self.assertEqual((a.count, a.kernels, b.kernels), (2, 4, 8))
                    self.assertTrue(math.isclose(a.busy, 4 * layer_us * 1e-6, rel_tol=1e-9))
                    self.assertTrue(math.isclose(a.seconds, (4 * layer_us + 30) * 1e-6, rel_tol=1e-9))
                    whole = token_time.whole(a, 4, b, 8, 64)
                    self.assertTrue(math.isclose(whole, (64 * layer_us + 30) * 1e-6, rel_tol=1e-9), whole)

    def test_printed_rate_is_exact_however_slow(self):
        with tempfile.TemporaryDirectory() as folder:
            a, b = trace(folder, "a", 4, 230e3, 0.0), trace(folder, "b", 8, 230e3, 0.0)
            out = subprocess.run([sys.executable, f"{TOOLS}/token_time.py", a, "4", b, "8", "64"], check=True,
                                 capture_output=True, text=True).stdout
            rate = float(out.split()[-2])
            self.assertTrue(math.isclose(rate, 1 / (64 * 0.23), rel_tol=1e-3), out)

    def test_prompt_of_many_tokens(self):
        class Bench:
            def model(self, name, args):
                return int(args[-1])

            def run(self, layers, *_):
                return [], trace(folder, f"trace-{layers}", layers, 230e3, 30.0)

        with tempfile.TemporaryDirectory() as folder:
            w = llama_figures.WholeModel("prompt", 1, 64, ["shape"], (4, 8), prompt=4096)
            rate = llama_figures.tokens_per_second(Bench(), w)
            self.assertTrue(math.isclose(rate, 4096 / (64 * 0.23 + 30e-6), rel_tol=1e-9), rate)

    def test_nothing_fetched_twice_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(SystemExit) as caught:
                token_time.steps(trace(folder, "a", 1, 1.0, 1.0, steps=1))
            self.assertIn("fetches nothing twice", str(caught.exception))


def read_gguf(path):
    """(tensors by name: dimensions, type, offset), start of their data, size of the file."""
    with open(path, "rb") as f:
        data = f.read()
    at = 0

    def take(form):
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def word():
        nonlocal at
        n = take("Q")
        at += n
        return data[at - n:at].decode()

    def value(kind):
        if kind == 8:
            return word()
        if kind == 9:
            inner, n = take("IQ")
            return [value(inner) for _ in range(n)]
        return take({4: "I", 5: "i", 6: "f", 7: "?"}[kind])

    magic, version, count, keys = take("4sIQQ")
    assert (magic, version) == (b"GGUF", 3)
    meta = {}
    for _ in range(keys):
        key = word()
        meta[key] = value(take("I"))
    tensors = {}
    for _ in range(count):
        name = word()
        dims = [take("Q") for _ in range(take("I"))]
        tensors[name] = (dims, *take("IQ"))
    return meta, tensors, -(-at // 32) * 32, len(data)


class ModelShape(unittest.TestCase):
    BLOCKS = {0: (1, 4), 2: (32, 18), 8: (32, 34), 12: (256, 144), 14: (256, 210), 23: (256, 136)}

    def made(self, folder, *args):
        path = os.path.join(folder, "m.gguf")
        subprocess.run([sys.executable, f"{TOOLS}/make_model_shape.py", *args, "--vocab", "1024", "-o", path], check=True,
                       stdout=subprocess.DEVNULL)
        return read_gguf(path)

    def test_tensors_fill_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            for args in (["--type", "Q8_0"], ["--type", "IQ4_XS", "--layers", "3"],
                         ["qwen3-30b-a3b", "--layers", "1", "--experts", "4", "--type", "Q4_0"],
                         ["qwen3.5-27b", "--layers", "4", "--hidden", "1024", "--ffn", "2048", "--type", "Q4_K"]):
                meta, tensors, start, size = self.made(folder, *args)
                end = 0
                for name, (dims, kind, at) in tensors.items():
                    self.assertEqual(at, end, name)
                    values, block = self.BLOCKS[kind]
                    end = -(-(at + math.prod(dims) // values * block) // 32) * 32
                self.assertEqual(start + end, size, args)
                layers = meta[meta["general.architecture"] + ".block_count"]
                self.assertEqual(layers, len({n.split(".")[1] for n in tensors if n.startswith("blk.")}))

    def test_rows_that_hold_no_whole_blocks_are_an_error(self):
        done = subprocess.run([sys.executable, f"{TOOLS}/make_model_shape.py", "--hidden", "1000", "-o", os.devnull],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("1000", done.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Writes a GGUF model file of a given shape with random weights, so that an engine's token time can be estimated for a
model that is not at hand: the kernels only see shapes and types. Few layers are enough, all of them are alike.

  make_model_shape.py qwen3-30b-a3b --layers 2 --type Q4_0 -o shape.gguf
  make_model_shape.py --hidden 5120 --ffn 17408 --heads 40 --kv-heads 4 --head-dim 256 --layers 2 --type Q4_K -o d.gguf
"""
import argparse
import array
import random
import struct

# name: (number in the file format, values of a block, bytes of a block, where its half-precision scales are)
TYPES = {
    "F32": (0, 1, 4, []), "F16": (1, 1, 2, [0]), "Q4_0": (2, 32, 18, [0]), "Q8_0": (8, 32, 34, [0]),
    "Q4_K": (12, 256, 144, [0, 2]), "Q5_K": (13, 256, 176, [0, 2]), "Q6_K": (14, 256, 210, [208]),
    "IQ4_XS": (23, 256, 136, [0]),
}
PRESETS = {
    "qwen3-30b-a3b": dict(hidden=2048, layers=48, heads=32, kv_heads=4, head_dim=128, ffn=6144, expert_ffn=768,
                          experts=128, experts_used=8, vocab=151936),
    # Three of four layers are gated delta nets; --layers should be a multiple of four.
    "qwen3.5-27b": dict(hidden=5120, layers=64, heads=24, kv_heads=4, head_dim=256, ffn=17408, vocab=248320,
                        delta_heads=48),
    "qwen3.6-35b-a3b": dict(hidden=2048, layers=40, heads=16, kv_heads=2, head_dim=256, experts=256, expert_ffn=512,
                            shared_ffn=512, vocab=248320, delta_heads=32),
}
DELTA_KEYS, DELTA_HEAD = 16, 128  # heads of queries and keys, values of a head
ALIGNMENT = 32


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def metadata(key, value):
    head = text(key)
    if isinstance(value, bool):
        return head + struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return head + struct.pack("<II", 4, value)
    if isinstance(value, float):
        return head + struct.pack("<If", 6, value)
    if isinstance(value, str):
        return head + struct.pack("<I", 8) + text(value)
    if isinstance(value[0], str):
        return head + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    return head + struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)


def hybrid_layer(o, n):
    """A layer of qwen3.5: attention in every fourth, else a gated delta net."""
    inner, channels = o.delta_heads * DELTA_HEAD, (o.delta_heads + 2 * DELTA_KEYS) * DELTA_HEAD
    query, key = o.heads * o.head_dim, o.kv_heads * o.head_dim
    yield "attn_norm.weight", [o.hidden], "F32"
    yield "post_attention_norm.weight", [o.hidden], "F32"
    if n % 4 == 3:
        yield "attn_q.weight", [o.hidden, 2 * query], o.type
        yield "attn_k.weight", [o.hidden, key], o.type
        yield "attn_v.weight", [o.hidden, key], o.type
        yield "attn_output.weight", [query, o.hidden], o.type
        yield "attn_q_norm.weight", [o.head_dim], "F32"
        yield "attn_k_norm.weight", [o.head_dim], "F32"
    else:
        yield "attn_qkv.weight", [o.hidden, channels], o.type
        yield "attn_gate.weight", [o.hidden, inner], o.type
        yield "ssm_alpha.weight", [o.hidden, o.delta_heads], "F32"
        yield "ssm_beta.weight", [o.hidden, o.delta_heads], "F32"
        yield "ssm_conv1d.weight", [4, channels], "F32"
        yield "ssm_a", [o.delta_heads], "F32"
        yield "ssm_dt.bias", [o.delta_heads], "F32"
        yield "ssm_norm.weight", [DELTA_HEAD], "F32"
        yield "ssm_out.weight", [inner, o.hidden], o.type
    yield from feed_forward(o)


def attention_layer(o):
    query, key = o.heads * o.head_dim, o.kv_heads * o.head_dim
    yield "attn_norm.weight", [o.hidden], "F32"
    yield "attn_q.weight", [o.hidden, query], o.type
    yield "attn_k.weight", [o.hidden, key], o.type
    yield "attn_v.weight", [o.hidden, key], o.type
    yield "attn_output.weight", [query, o.hidden], o.type
    yield "attn_q_norm.weight", [o.head_dim], "F32"
    yield "attn_k_norm.weight", [o.head_dim], "F32"
    yield "ffn_norm.weight", [o.hidden], "F32"
    yield from feed_forward(o)


def feed_forward(o):
    if not o.experts:
        yield "ffn_gate.weight", [o.hidden, o.ffn], o.type
        yield "ffn_up.weight", [o.hidden, o.ffn], o.type
        yield "ffn_down.weight", [o.ffn, o.hidden], o.type
        return
    yield "ffn_gate_inp.weight", [o.hidden, o.experts], "F32"
    yield "ffn_gate_exps.weight", [o.hidden, o.expert_ffn, o.experts], o.type
    yield "ffn_up_exps.weight", [o.hidden, o.expert_ffn, o.experts], o.type
    yield "ffn_down_exps.weight", [o.expert_ffn, o.hidden, o.experts], o.type
    if o.shared_ffn:
        yield "ffn_gate_inp_shexp.weight", [o.hidden], "F32"
        yield "ffn_gate_shexp.weight", [o.hidden, o.shared_ffn], o.type
        yield "ffn_up_shexp.weight", [o.hidden, o.shared_ffn], o.type
        yield "ffn_down_shexp.weight", [o.shared_ffn, o.hidden], o.type


def tensors(o):
    """(name, dimensions from the fastest on, type) of each."""
    yield "token_embd.weight", [o.hidden, o.vocab], o.type
    yield "output_norm.weight", [o.hidden], "F32"
    yield "output.weight", [o.hidden, o.vocab], "Q6_K" if o.type in ("Q4_0", "Q4_K", "Q5_K", "IQ4_XS") else o.type
    for n in range(o.layers):
        for name, dims, kind in hybrid_layer(o, n) if o.delta_heads else attention_layer(o):
            yield f"blk.{n}.{name}", dims, kind


def piece_of(kind, rng):
    """About a megabyte of blocks."""
    _, values, size, scales = TYPES[kind]
    count = (1 << 20) // size
    if kind == "F32":
        return array.array("f", (rng.gauss(0, 0.05) for _ in range(count))).tobytes()
    data = bytearray(rng.randbytes(count * size))
    for block in range(count):
        for at in scales:
            data[block * size + at:block * size + at + 2] = struct.pack("<e", rng.uniform(-1, 1) * 2e-3)
    return bytes(data)


def bytes_of(dims, kind):
    count = 1
    for d in dims:
        count *= d
    _, values, size, _ = TYPES[kind]
    if dims[0] % values:
        raise SystemExit(f"rows of {dims[0]} values do not hold whole blocks of {kind}")
    return count // values * size


def write(o):
    arch = ("qwen35" if o.delta_heads else "qwen3") + ("moe" if o.experts else "")
    meta = {
        "general.architecture": arch, "general.name": "random weights", "general.alignment": ALIGNMENT,
        f"{arch}.block_count": o.layers, f"{arch}.context_length": 8192, f"{arch}.embedding_length": o.hidden,
        f"{arch}.feed_forward_length": o.ffn, f"{arch}.attention.head_count": o.heads,
        f"{arch}.attention.head_count_kv": o.kv_heads, f"{arch}.attention.key_length": o.head_dim,
        f"{arch}.attention.value_length": o.head_dim, f"{arch}.attention.layer_norm_rms_epsilon": 1e-6,
        f"{arch}.rope.freq_base": 1e6, f"{arch}.vocab_size": o.vocab,
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": [chr(33 + n) if n < 90 else f"t{n}" for n in range(o.vocab)],
        "tokenizer.ggml.token_type": [1] * (o.vocab - 2) + [3, 3],
        "tokenizer.ggml.merges": ["t 1"], "tokenizer.ggml.bos_token_id": o.vocab - 2,
        "tokenizer.ggml.eos_token_id": o.vocab - 1,
    }
    if o.experts:
        meta[f"{arch}.expert_count"] = o.experts
        meta[f"{arch}.expert_used_count"] = o.experts_used
        meta[f"{arch}.expert_feed_forward_length"] = o.expert_ffn
        if o.shared_ffn:
            meta[f"{arch}.expert_shared_feed_forward_length"] = o.shared_ffn
    if o.delta_heads:
        meta |= {
            f"{arch}.rope.dimension_count": o.head_dim // 4, f"{arch}.rope.dimension_sections": [11, 11, 10, 0],
            f"{arch}.full_attention_interval": 4, f"{arch}.ssm.conv_kernel": 4, f"{arch}.ssm.state_size": DELTA_HEAD,
            f"{arch}.ssm.group_count": DELTA_KEYS, f"{arch}.ssm.time_step_rank": o.delta_heads,
            f"{arch}.ssm.inner_size": o.delta_heads * DELTA_HEAD,
        }
    infos, sizes, at = b"", [], 0
    for name, dims, kind in tensors(o):
        infos += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, TYPES[kind][0], at)
        size = bytes_of(dims, kind)
        sizes.append((size, kind))
        at += (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    rng = random.Random(o.seed)
    pieces = {kind: piece_of(kind, rng) for kind in sorted({kind for _, kind in sizes})}
    with open(o.output, "wb") as f:
        f.write(b"GGUF" + struct.pack("<IQQ", 3, len(sizes), len(meta)))
        f.write(b"".join(metadata(k, v) for k, v in meta.items()) + infos)
        f.write(bytes(-f.tell() % ALIGNMENT))
        for size, kind in sizes:
            piece = pieces[kind]
            for done in range(0, size, len(piece)):
                f.write(piece[:min(len(piece), size - done)])
            f.write(bytes(-f.tell() % ALIGNMENT))
    print(f"{o.output}: {o.layers} layers, {sum(s for s, _ in sizes) / 1e6:.1f} MB")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("preset", nargs="?", choices=sorted(PRESETS), help="shape of a known model; options change it")
for option, fallback in dict(hidden=1024, layers=2, heads=16, kv_heads=8, head_dim=128, ffn=3072, experts=0,
                             experts_used=8, expert_ffn=768, shared_ffn=0, delta_heads=0, vocab=32768, seed=1).items():
    parser.add_argument("--" + option.replace("_", "-"), type=int, help=f"({fallback})")
    parser.set_defaults(**{option + "_fallback": fallback})
parser.add_argument("--type", choices=sorted(TYPES), default="Q4_K", help="of the matrices (Q4_K)")
parser.add_argument("-o", "--output", required=True)
options = parser.parse_args()
for field in [f[:-9] for f in vars(options) if f.endswith("_fallback")]:
    if getattr(options, field) is None:
        preset = PRESETS.get(options.preset, {})
        setattr(options, field, preset.get(field, getattr(options, field + "_fallback")))
write(options)

#!/usr/bin/env python3
"""Makes goldens of the attention family: float32 inputs, outputs from float64 PyTorch.

    python3 make_goldens.py OUT.safetensors [SEED]

attention.safetensors beside this file holds the same cases, made independently. To test other seeds:

    python3 make_goldens.py /tmp/g.safetensors 7 && ATTENTION_GOLDENS=/tmp/g.safetensors go test -run Goldens ..
"""
import json
import math
import struct
import sys

import torch

tensors = {}


def put(name, x):
    tensors[name] = x.detach().to(torch.float32).contiguous()


def take(name, *shape, scale=1.0):
    """A random float32 input, returned as float64."""
    x = (torch.randn(*shape) * scale).float()
    put(name, x)
    return x.double()


def sdpa(q, k, v, mask=None, scale=None):
    scores = q @ k.transpose(-2, -1) * (scale or 1 / math.sqrt(q.shape[-1]))
    if mask is not None:
        scores = scores + mask
    weights = torch.softmax(scores, -1)
    return weights @ v, weights


def causal(n):
    return torch.triu(torch.full((n, n), -1e10, dtype=torch.float64), 1)


def split(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).flatten(2)


def multi_head(q, k, v, heads, **options):
    out, weights = sdpa(split(q, heads), split(k, heads), split(v, heads), **options)
    return merge(out), weights


def dot_product():
    for case in "sdpa", "sdpa_causal":
        q, k, v = (take(f"{case}.{x}", 2, 4, 16, 8) for x in "qkv")
        out, weights = sdpa(q, k, v, causal(16) if case == "sdpa_causal" else None)
        put(case + ".out", out)
        put(case + ".weights", weights)
    case = "sdpa_cross_mask"
    q, k, v = take(case + ".q", 1, 2, 5, 8), take(case + ".k", 1, 2, 9, 8), take(case + ".v", 1, 2, 9, 6)
    mask = torch.where(torch.rand(5, 9) < 0.3, -1e10, 0.0)
    mask[:, 0] = 0  # every query sees something
    put(case + ".mask", mask)
    out, weights = sdpa(q, k, v, mask.double())
    put(case + ".out", out)
    put(case + ".weights", weights)


def torch_mha():
    m = torch.nn.MultiheadAttention(12, 2, batch_first=True)
    with torch.no_grad():
        m.in_proj_bias.normal_(std=0.1)
        m.out_proj.bias.normal_(std=0.1)
    for name, x in ("in_proj_weight", m.in_proj_weight), ("in_proj_bias", m.in_proj_bias), ("out_proj_weight", m.out_proj.weight), ("out_proj_bias", m.out_proj.bias):
        put("torch_mha." + name, x)
    m = m.double()
    x = take("torch_mha.x", 8, 80, 12)
    out, mean = m(x, x, x)
    put("torch_mha.out", out)
    put("torch_mha.mean_weights", mean)
    x, memory = take("torch_mha_cross.x", 8, 80, 12), take("torch_mha_cross.memory", 8, 30, 12)
    put("torch_mha_cross.out", m(x, memory, memory)[0])


def einsum_mha():
    x = take("einsum_mha.x", 8, 80, 12)
    k, q, v, l = (take("einsum_mha." + n, 12, 12, scale=0.3) for n in "KQVL")
    heads = lambda w: torch.einsum("hij,bnj->bhni", w.unflatten(0, (2, 6)), x)
    weights = torch.softmax(torch.einsum("bhni,bhmi->bhnm", heads(q), heads(k)) / math.sqrt(6), -1)
    out = torch.einsum("bhnm,bhmi->bhni", weights, heads(v))
    put("einsum_mha.out", torch.einsum("ij,bnj->bni", l, merge(out)))


def pico():
    for case in "pico_encoder", "pico_decoder":
        x = take(case + ".x", 10, 64)
        w, b = take(case + ".c_attn_w", 64, 192, scale=0.1), take(case + ".c_attn_b", 192, scale=0.1)
        pw, pb = take(case + ".c_proj_w", 64, 64, scale=0.1), take(case + ".c_proj_b", 64, scale=0.1)
        q, k, v = (x @ w + b)[None].chunk(3, -1)
        out, _ = multi_head(q, k, v, 4, mask=causal(10) if case == "pico_decoder" else None)
        put(case + ".out", out[0] @ pw + pb)


def full_width():
    p = "fullwidth_scale."
    x = take(p + "x", 2, 20, 32)
    wq, wk, wv, wu = (take(p + n, 32, 32, scale=0.3) for n in ("wq", "wk", "wv", "wu"))
    bu = take(p + "bu", 32, scale=0.1)
    run = lambda x, m: multi_head(x @ wq.T, m @ wk.T, m @ wv.T, 4, scale=1 / math.sqrt(32))[0] @ wu.T + bu
    put(p + "out", run(x, x))
    p = "fullwidth_scale_cross."
    x, memory = take(p + "x", 2, 20, 32), take(p + "memory", 2, 13, 32)
    put(p + "out", run(x, memory))


def reduced():
    x, outs = take("reduced_multihead.x", 2, 20, 32), []
    for h in range(4):
        p = f"reduced_head{h}."
        z = x @ take(p + "reduce", 8, 32, scale=0.2).T
        q, k, v = (z @ take(p + n, 8, 8, scale=0.4).T for n in ("wq", "wk", "wv"))
        outs.append(sdpa(q, k, v)[0])
        put(p + "out", outs[-1])
    wu, bu = take("reduced_multihead.wu", 32, 32, scale=0.2), take("reduced_multihead.bu", 32, scale=0.1)
    put("reduced_multihead.out", torch.cat(outs, -1) @ wu.T + bu)


def linear():
    x = take("linear.x", 1, 64, 32)
    put("linear_causal.x", x)
    project = lambda n: x @ take("linear.w" + n, 24, 32, scale=0.2).T + take("linear.b" + n, 24, scale=0.1)
    q, k, v = project("q"), project("k"), project("v")
    q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
    put("linear.out", q @ (k.transpose(1, 2) @ v) / (q @ k.sum(1)[..., None] + 1e-6))
    a = torch.tril(q @ k.transpose(1, 2))
    put("linear_causal.out", a @ v / (a.sum(-1, keepdim=True) + 1e-6))


def write(path):
    header, data = {"__metadata__": {"about": "float32 inputs, outputs from float64 PyTorch"}}, b""
    for name, x in tensors.items():
        b = x.numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(b)]}
        data += b
    h = json.dumps(header).encode()
    h += b" " * (-len(h) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h + data)


if __name__ == "__main__":
    torch.manual_seed(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for case in dot_product, torch_mha, einsum_mha, pico, full_width, reduced, linear:
        case()
    write(sys.argv[1])

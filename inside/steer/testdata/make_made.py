#!/usr/bin/env python3
"""Control vectors of the demo checkpoint, in float64.

    python3 make_made.py model.safetensors > made.json        (needs numpy; the file is the demo's, as gpt convert writes it)

GPT-2 is written here from its published definition (Hugging Face transformers, modeling_gpt2.py), and the vectors from
theirs, not from this project's Go. A prompt's state is the residual stream after each block at its last token. mean is the
difference of the kinds' means; pca the first right singular vector of the centred differences of pairs, by LAPACK's SVD, with the
sign for which more pairs have the positive one ahead, as repeng's pca_diff; stream the mean length of all states.
Elements are those of blocks 1 to n_layer-1.
"""
import json
import struct
import sys

import numpy as np

POSITIVE = [[464, 3772, 2576, 13541], [13787, 373, 523, 9675], [2990, 13818, 290, 2826, 477, 1110], [3347, 373, 1336, 286, 8716], [7454]]
NEGATIVE = [[464, 6507, 2576, 16896], [13787, 373, 523, 9247], [2990, 3332, 3436, 290, 356, 457], [3347, 373, 1336, 286, 3252],
            [(i * i * 31 + 17 * i) % 50257 for i in range(40)]]
LAYERS, HEADS, EMBD, EPS = 4, 4, 128, 1e-5


def read(path):
    with open(path, "rb") as f:
        n, = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(n)), f.read()
    kinds = {"F16": "<f2", "F32": "<f4"}
    return {name.removeprefix("transformer."):
            np.frombuffer(data[slice(*t["data_offsets"])], kinds[t["dtype"]]).astype(np.float64).reshape(t["shape"])
            for name, t in header.items() if name != "__metadata__"}


def norm(x, w, name):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPS) * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    return x @ w[name + ".weight"] + w[name + ".bias"]


def attention(x, w, name):
    n, d = len(x), EMBD // HEADS
    q, k, v = (part.reshape(n, HEADS, d).transpose(1, 0, 2) for part in np.split(linear(x, w, name + ".c_attn"), 3, -1))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(d)
    scores[:, np.triu(np.ones((n, n), bool), 1)] = -np.inf
    p = np.exp(scores - scores.max(-1, keepdims=True))
    return linear((p / p.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(n, EMBD), w, name + ".c_proj")


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def state(w, ids):
    x, states = w["wte.weight"][ids] + w["wpe.weight"][:len(ids)], []
    for h in (f"h.{i}." for i in range(LAYERS)):
        x = x + attention(norm(x, w, h + "ln_1"), w, h + "attn")
        x = x + linear(gelu(linear(norm(x, w, h + "ln_2"), w, h + "mlp.c_fc")), w, h + "mlp.c_proj")
        states.append(x[-1])
    return states[1:]


def component(p, n):
    d = p - n
    direction = np.linalg.svd(d - d.mean(0), full_matrices=False)[2][0]
    larger, smaller = (p @ direction > n @ direction).sum(), (p @ direction < n @ direction).sum()
    return -direction if smaller > larger else direction


def numbers(x):
    return [float("%.9g" % v) for v in x]


def main():
    w = read(sys.argv[1])
    p, n = (np.array([state(w, ids) for ids in kind]) for kind in (POSITIVE, NEGATIVE))  # [prompts, LAYERS-1, EMBD]
    layers = range(LAYERS - 1)
    json.dump({
        "positive": POSITIVE, "negative": NEGATIVE,
        "mean": [numbers(p[:, i].mean(0) - n[:, i].mean(0)) for i in layers],
        "pca": [numbers(component(p[:, i], n[:, i])) for i in layers],
        "stream": [float("%.9g" % np.linalg.norm(np.concatenate([p, n])[:, i], axis=-1).mean()) for i in layers],
    }, sys.stdout, separators=(",", ":"))
    print()


main()

#!/usr/bin/env python3
"""The three perplexity protocols, token scores and the WikiText readers, written from their definitions in float64.

    go test ./weights/demo -args -folder "$PWD/DEMO"
    python3 eval/testdata/make_oracle.py DEMO

It needs torch and numpy, reads story.txt, story.ids.json and wiki.txt, and writes oracle.json.

Nothing here comes from this project's Go, so that the two can disagree. story.ids.json is tiktoken's encoding of story.txt.
"""
import hashlib
import json
import math
import os
import re
import struct
import sys

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


class GPT2:
    def __init__(self, folder, **changes):
        self.config = json.load(open(os.path.join(folder, "config.json")))
        self.config.update(changes)
        self.positions = self.config["n_positions"]
        raw = open(os.path.join(folder, "model.safetensors"), "rb").read()
        n = struct.unpack("<Q", raw[:8])[0]
        self.w = {}
        for name, t in json.loads(raw[8:8 + n]).items():
            if name == "__metadata__" or name.endswith((".attn.bias", ".attn.masked_bias")):
                continue
            a, b = t["data_offsets"]
            x = np.frombuffer(raw[8 + n:][a:b], {"F16": "<f2", "F32": "<f4"}[t["dtype"]]).reshape(t["shape"])
            self.w[name.removeprefix("transformer.")] = torch.tensor(x.astype(np.float64))

    def bos(self):
        for key in ("bos_token_id", "eos_token_id"):
            if 0 <= self.config.get(key, 50256) < self.config["vocab_size"]:
                return self.config.get(key, 50256)

    def logprobs(self, ids):
        """log-softmax after each of ids, [n, vocab]"""
        w, c = self.w, self.config
        n, heads = len(ids), c["n_head"]
        norm = lambda x, p: F.layer_norm(x, x.shape[-1:], w[p + ".weight"], w[p + ".bias"], c["layer_norm_epsilon"])
        conv = lambda x, p: x @ w[p + ".weight"] + w[p + ".bias"]
        x = w["wte.weight"][ids] + w["wpe.weight"][:n]
        mask = torch.full((n, n), -math.inf).triu(1)
        for i in range(c["n_layer"]):
            h = f"h.{i}."
            q, k, v = (t.reshape(n, heads, -1).transpose(0, 1) for t in conv(norm(x, h + "ln_1"), h + "attn.c_attn").chunk(3, -1))
            a = ((q @ k.transpose(1, 2)) / math.sqrt(q.shape[-1]) + mask).softmax(-1) @ v
            x = x + conv(a.transpose(0, 1).reshape(n, -1), h + "attn.c_proj")
            u = conv(norm(x, h + "ln_2"), h + "mlp.c_fc")
            x = x + conv(0.5 * u * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u ** 3))), h + "mlp.c_proj")
        return (norm(x, "ln_f") @ w["wte.weight"].T).log_softmax(-1)

    def nll(self, ids, targets):
        """−ln p of the last `targets` of ids, each after all ids before it"""
        lp = self.logprobs(ids[:-1])
        return [-lp[i - 1, ids[i]].item() for i in range(len(ids) - targets, len(ids))]


def hf(m, ids, window, stride):
    nll, n, prev = 0.0, 0, 0
    for b in range(0, len(ids), stride):
        e = min(b + window, len(ids))
        t = e - prev
        targets = min(t, e - b - 1)
        if targets > 0:
            nll += np.mean(m.nll(ids[b:e], targets)) * (t - 1)
            n += t - 1
        prev = e
        if e == len(ids):
            break
    return {"nll": nll / n, "perplexity": math.exp(nll / n), "scored": n}


def lm_eval(m, ids, window, stride):
    ll = 0.0
    seq = [m.bos()] + ids
    n = min(window, len(ids))
    ll -= sum(m.nll(seq[:n + 1], n))
    while n < len(ids):
        k = min(window, len(ids) - n)
        n += k
        ll -= sum(m.nll(ids[n - window - 1:n], k))
    return {"nll": -ll / len(ids), "perplexity": math.exp(-ll / len(ids)), "scored": len(ids), "ll": ll}


def llama_cpp(m, ids, window, stride):
    l = []
    for b in range(0, len(ids) - window + 1, window):
        l += m.nll(ids[b:b + window], window - window // 2 - 1)
    l = np.array(l)
    mean = l.mean()
    ppl = math.exp(mean)
    r = {"nll": mean, "perplexity": ppl, "scored": len(l)}
    if len(l) > 1:
        r["stderr"] = ppl * math.sqrt(((l * l).mean() - mean * mean) / (len(l) - 1))
    return r


PROTOCOLS = {"hf": hf, "lm-eval": lm_eval, "llama.cpp": llama_cpp}


def score(m, ids):
    lp = m.logprobs(ids[:-1])
    out = {"tokens": ids, "logprobs": [], "ranks": [], "entropies": []}
    for row, t in zip(lp, ids[1:]):
        out["logprobs"].append(row[t].item())
        # greater logits; how many of those within float32's error of the token's are greater is not known (equal ones are not)
        out["ranks"].append([int((row > row[t] + 2e-5).sum()), int(((row > row[t] - 2e-5) & (row != row[t])).sum())])
        out["entropies"].append(-(row.exp() * row).sum().item())
    return out


def detokenize(s):
    s = s.replace("s '", "s'")
    for sign in "-,.":
        s = s.replace(f" @{sign}@ ", sign)
    for sign in ":;.!?,":
        s = s.replace(f" {sign} ", f"{sign} ")
    for a, b in ("()", "[]", "{}", '""', "''"):
        s = re.sub(rf"{re.escape(a)}\s*([^{re.escape(b)}]*?)\s*{re.escape(b)}", lambda m: a + m.group(1) + b, s)
    for a, b in (("= = = =", "===="), ("= = =", "==="), ("= =", "=="), (" ° ", "°"), (" \n", "\n"), ("\n ", "\n"),
                 (" N ", " 1 "), (" 's", "'s")):
        s = s.replace(a, b)
    return s


def pages(s):
    """as the dataset wikitext_document_level cuts them"""
    out, page = [], []
    for line in s.split("\n"):
        flat = line.replace("= = =", "===").replace("= =", "==").strip()
        if flat.startswith("= ") and flat.endswith(" ="):
            if "\n".join(page).strip():
                out.append("\n".join(page))
            page = []
        page.append(line)
    return out + ["\n".join(page)]


def wiki(s):
    return {
        "text": s,
        "lines": "\n\n".join(line if line.strip() else "" for line in re.findall(r"[^\n]*\n|[^\n]+", s)),
        "pages": [{"page": p, "detokenized": detokenize(p), "words": len(re.split(r"\s+", p)), "bytes": len(p.encode())}
                  for p in pages(s)],
    }


def main():
    demo = GPT2(sys.argv[1])
    tiny = GPT2(os.path.join(ROOT, "internal", "fixture", "testdata", "goldens", "plain"), bos_token_id=3)
    story = json.load(open(os.path.join(HERE, "story.ids.json")))
    rng = np.random.default_rng(4)
    random = [int(t) for t in rng.integers(0, 29, 200)]

    perplexities = []
    for name, m, ids, settings in (
        ("demo", demo, story, [("hf", 256, 256), ("hf", 256, 128), ("hf", 256, 100), ("hf", 64, 48), ("lm-eval", 256, 0),
                               ("lm-eval", 100, 0), ("llama.cpp", 256, 0), ("llama.cpp", 127, 0)]),
        ("tiny", tiny, random, [("hf", 23, 23), ("hf", 23, 7), ("hf", 23, 1), ("hf", 2, 2), ("hf", 2, 1), ("lm-eval", 23, 0),
                                ("lm-eval", 1, 0), ("llama.cpp", 23, 0), ("llama.cpp", 3, 0), ("llama.cpp", 4, 0)]),
        ("tiny", tiny, random[:185], [("hf", 23, 23), ("hf", 23, 22)]),  # 8·23 + 1: a last window of one token
        ("tiny", tiny, random[:23], [("hf", 23, 23), ("hf", 23, 1), ("lm-eval", 23, 0)]),
        ("tiny", tiny, random[:24], [("hf", 23, 23), ("hf", 23, 1), ("lm-eval", 23, 0)]),
        ("tiny", tiny, random[:2], [("hf", 23, 23), ("lm-eval", 23, 0)]),
        ("tiny", tiny, random[:1], [("lm-eval", 23, 0), ("lm-eval", 1, 0)]),
        ("tiny", tiny, random[:46], [("lm-eval", 23, 0), ("llama.cpp", 23, 0)]),
    ):
        for protocol, window, stride in settings:
            r = {"checkpoint": name, "length": len(ids), "protocol": protocol, "window": window,
                 "stride": stride}
            r.update(PROTOCOLS[protocol](m, ids, window, stride))
            perplexities.append(r)

    text = open(os.path.join(HERE, "wiki.txt"), newline="").read()
    odd = ["", " ", "\n", "no page at all", "x\n = A = \n\n = B = ", " = A = \n\n \n = B = \ny", "( \x1c a\u3000) ( ( b ) ) ( c",
           "' a ' ' \n b ' '", "\" \" \" a", "s 's ' x @-@ @-@ y", "= = = = = = =", "a \u2003 b\x1fc\x85 d "]
    result = {
        "random": random,
        "perplexity": perplexities,
        "scores": [dict(score(demo, story[:80]), checkpoint="demo"), dict(score(tiny, random[:24]), checkpoint="tiny")],
        "wikitext": [wiki(s) for s in [text] + odd],
        "story_sha256": hashlib.sha256(open(os.path.join(HERE, "story.txt"), "rb").read()).hexdigest(),
    }
    with open(os.path.join(HERE, "oracle.json"), "w") as f:
        f.write(json.dumps(result, indent=None, separators=(",", ":"), ensure_ascii=True).replace('{"checkpoint', '\n{"checkpoint') + "\n")


main()

"""Writes warpers.json, the oracle of TestEveryStepAgreesWithHuggingFace: run `python3 warpers.py > warpers.json`.

An independent float64 numpy implementation of Hugging Face transformers' published definitions
(src/transformers/generation/logits_process.py, the classes named below) on random logits with many ties, and of the
draw that decode's package comment defines: PCG-DXSM (O'Neill; math/rand/v2's PCG) seeded with (seed, seed), the top
53 bits as a number in [0, 1), the kept ids in ascending order.
"""
import json

import numpy as np

MASK64, MASK128 = 2**64 - 1, 2**128 - 1


def repetition_penalty(scores, history, penalty, last_n):  # RepetitionPenaltyLogitsProcessor, over a window
    ids = np.array(sorted(set(history[-last_n:] if last_n else history)), dtype=int)
    out = scores.copy()
    out[ids] = np.where(scores[ids] < 0, scores[ids] * penalty, scores[ids] / penalty)
    return out


def softmax(scores):
    e = np.exp(scores - scores.max())
    return e / e.sum()


def top_k(scores, k):  # TopKLogitsWarper: scores < topk(scores, k)[-1] are removed
    return np.where(scores < np.sort(scores)[::-1][min(k, len(scores)) - 1], -np.inf, scores)


def top_p(scores, p):  # TopPLogitsWarper: sorted ascending, cumulative <= 1 - p removed, at least one kept
    # Hugging Face leaves the order among equals open: here the higher id comes first, so it is removed first.
    order = np.lexsort((-np.arange(len(scores)), scores))
    cumulative = np.cumsum(softmax(scores)[order])
    margin = np.abs(cumulative - (1 - p)).min()
    assert margin > 1e-9, "the case hangs on the last bits of a sum: choose another seed"
    remove = cumulative <= 1 - p
    remove[-1] = False
    out = scores.copy()
    out[order[remove]] = -np.inf
    return out


def min_p(scores, p):  # MinPLogitsWarper: probability < p * the largest is removed
    probs = softmax(scores)
    return np.where(probs < p * probs.max(), -np.inf, scores)


def pcg_dxsm(seed):
    state = seed << 64 | seed
    while True:
        state = (state * 0x2360ED051FC65DA44385DF649FCCF645 + 0x5851F42D4C957F2D14057B7EF767814F) & MASK128
        hi, lo = state >> 64, state & MASK64
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & MASK64
        hi ^= hi >> 48
        yield hi * (lo | 1) & MASK64


def draws(probs, seed, n):
    random, out = pcg_dxsm(seed), []
    for _ in range(n):
        u = (next(random) >> 11) * 2.0**-53
        cumulative = np.cumsum(probs)
        assert np.abs(cumulative - u).min() > 1e-12
        out.append(int(np.argmax(u < cumulative)))
    return out


def case(rng, i):
    size = int(rng.choice([3, 17, 40, 97]))
    # Eighths make ties, and are short in JSON; every value is a float32.
    spread = float(rng.choice([1, 4, 12]))
    logits = np.round(rng.normal(0, spread, size) * 8) / 8
    history = [int(t) for t in rng.integers(0, size, rng.integers(1, 12))]
    o = {
        "temperature": float(rng.choice([0.25, 0.7, 0.8, 1, 1.5, 3])),
        "top_k": int(rng.choice([0, 0, 1, 2, 5, 20, 1000])),
        "top_p": float(rng.choice([0, 0, 0.05, 0.3, 0.9, 0.95, 0.999, 1])),
        "min_p": float(rng.choice([0, 0, 0.02, 0.1, 0.5, 1])),
        "repeat_penalty": float(rng.choice([0, 1, 1.1, 1.3, 2, 0.5])),
        "repeat_last_n": int(rng.choice([0, 1, 3, 64])),
        "seed": int(rng.integers(0, 2**63)) if i % 2 else i,
    }
    scores = logits
    if o["repeat_penalty"] not in (0, 1):
        scores = repetition_penalty(scores, history, o["repeat_penalty"], o["repeat_last_n"])
    greedy = int(np.argmax(scores))
    scores = scores / o["temperature"]
    if o["top_k"]:
        scores = top_k(scores, o["top_k"])
    if o["top_p"] not in (0, 1):
        scores = top_p(scores, o["top_p"])
    if o["min_p"]:
        scores = min_p(scores, o["min_p"])
    probs = softmax(scores)
    kept = np.flatnonzero(scores > -np.inf)
    return {
        "logits": logits.tolist(), "history": history, "options": o, "greedy": greedy,
        "kept": kept.tolist(), "probs": probs[kept].tolist(), "draws": draws(probs, o["seed"], 8),
        "log_softmax": float((logits - logits.max())[greedy] - np.log(np.exp(logits - logits.max()).sum())),
    }


def main():
    rng, cases, i = np.random.default_rng(2), [], 0
    while len(cases) < 120:
        try:
            cases.append(case(rng, i))
        except AssertionError:
            pass
        i += 1
    print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")


main()

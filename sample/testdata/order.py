"""Writes order.json, the oracle of TestTheOrderOfAllStepsIsHuggingFaces: run `python3 order.py > order.json` with torch
and transformers (5.24 gave what is there).

The library itself builds its list of processors from random options (GenerationMixin._get_logits_processor) and applies
it in float64. Only the logits after the other context of guidance are given, in place of a second run of a model.
"""
import json
import math
import random

import torch
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel
from transformers.generation.logits_process import (PrefixConstrainedLogitsProcessor,
                                                    UnbatchedClassifierFreeGuidanceLogitsProcessor)

r = random.Random(44)


def sequences(size, context, values):
    """Sequences of ids, most of which end what the context ends with, and their values."""
    out = []
    for _ in range(r.choice([0, 1, 1, 2, 3])):
        n = r.choice([1, 1, 1, 2, 3])
        ids = (context[len(context) - n + 1:] if n > 1 else []) + [r.randrange(size)]
        if len(ids) == n and ids not in [s for s, _ in out]:
            out.append((ids, r.choice(values)))
    return out


def options(size, eos, context):
    on = lambda *values: r.choice([None, *values])
    o = {
        "guidance": on(2, 2, -1, 0.5, 3, 0, 1.5),
        "bias": sequences(size, context, [3.0, -2.5, 5.0, -100.0, -math.inf]),
        "bad": [ids for ids, _ in sequences(size, context, [0]) if ids != [eos]],
        "repeat": on(1.3, 0.7, 2.0),
        "ngram": on(1, 2, 2),
        "min_new": on(2, 5),
        "decay": on([1, 1.2], [0, 0.8]),
        "allowed": r.sample(range(size), r.randrange(2, size)) if r.random() < 0.4 else None,
        "suppressed": r.sample(range(size), 2) if r.random() < 0.3 else [],
        "padding": r.choice([0, 0, 2]),
        "temperature": r.choice([1.0, 1.0, 0.5, 2.0]),
    }
    for name, values in [("top_k", [2, 5]), ("top_p", [0.3, 0.9]), ("min_p", [0.05, 0.3]), ("typical_p", [0.5]),
                         ("epsilon_cutoff", [0.05]), ("eta_cutoff", [0.1]), ("top_h", [0.5])]:
        o[name] = r.choice(values) if r.random() < 0.15 else None
    return o


def case():
    size = r.choice([5, 8, 12, 16])
    eos, new = r.randrange(size), r.randrange(1, 4)
    context = [r.randrange(size) for _ in range(r.randrange(new + 1, 9))]
    o = options(size, eos, context)
    rows = size + o["padding"]
    logits, against = ([round(r.gauss(0, 2), 2) for _ in range(rows)] for _ in range(2))
    g = GenerationConfig(
        do_sample=True, num_beams=1, num_return_sequences=1, eos_token_id=eos, pad_token_id=eos, max_length=100,
        guidance_scale=o["guidance"],
        sequence_bias={tuple(ids): x for ids, x in o["bias"]} or None, bad_words_ids=o["bad"] or None,
        repetition_penalty=o["repeat"], no_repeat_ngram_size=o["ngram"], min_new_tokens=o["min_new"],
        exponential_decay_length_penalty=tuple(o["decay"]) if o["decay"] else None,
        suppress_tokens=o["suppressed"] + list(range(size, rows)) or None, temperature=o["temperature"],
        **{k: o[k] for k in ["top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h"]})
    model = GPT2LMHeadModel(GPT2Config(vocab_size=rows, n_embd=2, n_layer=1, n_head=1, n_positions=8))
    model._prepare_special_tokens(g, device="cpu")
    processors = model._get_logits_processor(
        g, input_ids_seq_length=len(context) - new,
        prefix_allowed_tokens_fn=(lambda batch, ids: o["allowed"]) if o["allowed"] else None)
    for p in processors:
        if isinstance(p, UnbatchedClassifierFreeGuidanceLogitsProcessor):
            p.get_unconditional_logits = lambda ids: torch.tensor([[against]], dtype=torch.float32).double()
    # Logits are float32 in gpt; float64 from there on.
    scores = torch.tensor([logits], dtype=torch.float32).double()
    for p in processors:
        if isinstance(p, PrefixConstrainedLogitsProcessor) and not scores[0, o["allowed"]].max() > -math.inf:
            return None  # the library draws an id that is banned, gpt none
        if not scores.max() > -math.inf:
            return None  # no id is left
        scores = p(torch.tensor([context]), scores)
    probs = torch.softmax(scores[0], -1).tolist()
    o["bias"] = [[ids, str(x)] for ids, x in o["bias"]]
    return {"logits": logits, "against": against, "eos": eos, "context": context, "new": new,
            "options": {k: v for k, v in o.items() if v not in (None, [])},
            "probs": [float(f"{p:.10g}") for p in probs]}


cases = []
while len(cases) < 120:
    if (c := case()) and max(c["probs"]) < 1:
        cases.append(c)
print("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]")

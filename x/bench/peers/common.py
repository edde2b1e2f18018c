"""What the peers in Python share: their command line, the job, the weights and the answer.

    PEER.py FOLDER JOB.json THREADS ROUNDS FORMAT    prints {"version", "ids", "difference",
                                                     "prefill_ms", "decode_ms", "together_ms"}

The times have an entry a round; those of texts together are by their number, a step of all."""

import json, os, statistics, sys, time

folder, job_path, threads, rounds, form = sys.argv[1:]
threads, rounds = int(threads), int(rounds)
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
import safetensors.numpy

job = json.load(open(job_path))
config = json.load(open(os.path.join(folder, "config.json")))
epsilon = config.get("layer_norm_epsilon", 1e-5)


def weights():
    """Returns the tensors by GPT-2's names in float32, as export.py has gpt convert write them."""
    return safetensors.numpy.load_file(os.path.join(folder, "model.safetensors"))


def median_ms(step, tokens):
    """Calls step(i, token) for each token, and returns the median of their times."""
    times = []
    for i, token in enumerate(tokens):
        start = time.perf_counter()
        step(i, token)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def answer(version, ids, difference, step):
    """Measures step(texts, past), which appends a list of tokens to each of as many texts as it
    gets, after `past` others, and prints everything. The first round is not counted."""
    prefill, decode, together = [], [], {n: [] for n in job["together"]}
    for i in range(rounds + 1 if rounds else 0):
        start = time.perf_counter()
        step([job["prompt"]], 0)
        times = [(time.perf_counter() - start) * 1e3]
        past = len(job["prompt"])
        times.append(median_ms(lambda j, token: step([[token]], past + j), job["feed"]))
        for n in together:
            times.append(median_ms(lambda j, token: step([[token]] * n, j), job["feed"]))
        if i:
            for found, ms in zip([prefill, decode, *together.values()], times):
                found.append(ms)
    print_answer(version, ids, difference, prefill, decode, together)


def print_answer(version, ids, difference, prefill, decode, together):
    print(json.dumps({"version": version, "ids": ids, "difference": difference,
                      "prefill_ms": prefill, "decode_ms": decode, "together_ms": together}))


def greedy(step, argmax):
    """Returns the greedy tokens after the job's prompt, and how far the first logits are off."""
    prompt, ids = job["greedy"]["prompt"], []
    logits = step([prompt], 0)[0]
    difference = max(abs(float(x) - y) for x, y in zip(logits, job["greedy"]["logits"]))
    while len(ids) < len(job["greedy"]["ids"]):
        ids.append(int(argmax(logits)))
        logits = step([ids[-1:]], len(prompt) + len(ids) - 1)[0]
    return ids, difference

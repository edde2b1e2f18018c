"""GPT-2 in OpenVINO, as its own exporter writes decoders: the cache is state of the model, and
attention one operator. Command line and answer as in common.py."""

from common import answer, epsilon, folder, form, greedy, job, threads, weights
import contextlib, logging, os, sys, nncf, numpy as np, openvino as ov
from openvino import opset15 as op

nncf.set_log_level(logging.ERROR)  # it logs to stdout, where the answer goes
w, heads, size = weights(), job["heads"], job["head_size"]
tokens = op.parameter([-1, -1], np.int64, "tokens")  # [texts, n]
positions = op.parameter([-1, -1], np.int64, "positions")
beams = op.parameter([-1], np.int32, "beams")  # which text's cache each text continues


def ints(*values):
    return op.constant(np.array(values, np.int64))


def dim(x, i):
    return op.gather(op.shape_of(x), ints(i), ints(0))  # [1]


def norm(x, name):
    x = op.mvn(x, ints(-1), True, epsilon, "inside_sqrt")
    return op.add(op.multiply(x, op.constant(w[name + ".weight"])),
                  op.constant(w[name + ".bias"]))


def linear(x, name):
    """x·w + b, with w as [out, in]: the scales of 4 bits are of 32 inputs."""
    matrix = op.constant(np.ascontiguousarray(w[name + ".weight"].T), name=name)
    return op.add(op.matmul(x, matrix, False, True), op.constant(w[name + ".bias"]))


def graph():
    wte = op.constant(w["wte.weight"], name="wte")
    x = op.add(op.gather(wte, tokens, ints(0)),
               op.gather(op.constant(w["wpe.weight"]), positions, ints(0)))  # [texts, n, n_embd]
    empty = op.broadcast(np.float32(0), op.concat(
        [dim(tokens, 0), ints(heads), ints(0), ints(size)], 0))
    mask, kept = None, []
    for i in range(job["layers"]):
        h = f"h.{i}."
        qkv = linear(norm(x, h + "ln_1"), h + "attn.c_attn")  # [texts, n, 3*n_embd]
        parts = op.split(qkv, op.constant(np.int64(-1)), 3)  # each [texts, n, n_embd]
        q, k, v = (op.transpose(op.reshape(parts.output(j), ints(0, 0, heads, size), True),
                                ints(0, 2, 1, 3)) for j in range(3))  # [texts, n_head, n, head_size]
        both = []
        for name, added in ("keys", k), ("values", v):
            past = op.read_value(empty, f"{h}{name}", np.float32, ov.PartialShape([-1, heads, -1, size]))
            all = op.concat([op.gather(past, beams, ints(0)), added], 2)
            kept.append(op.assign(all, f"{h}{name}"))
            both.append(all)
        if mask is None:  # [texts, 1, n, total]: a token sees those at its position and before
            seen = op.range(np.int64(0), op.squeeze(dim(both[0], 2), ints(0)), np.int64(1), "i64")
            mask = op.less_equal(seen, op.unsqueeze(positions, ints(1, 3)))
        a = op.scaled_dot_product_attention(q, *both, mask)
        a = op.reshape(op.transpose(a, ints(0, 2, 1, 3)), ints(0, 0, heads * size), True)
        x = op.add(x, linear(a, h + "attn.c_proj"))
        m = op.gelu(linear(norm(x, h + "ln_2"), h + "mlp.c_fc"), "tanh")
        x = op.add(x, linear(m, h + "mlp.c_proj"))
    x = norm(op.gather(x, ints(-1), ints(1)), "ln_f")  # [texts, 1, n_embd]
    own = op.constant(w["lm_head.weight"], name="lm_head") if "lm_head.weight" in w else wte
    logits = op.result(op.matmul(x, own, False, True))
    return ov.Model([logits], kept, [tokens, positions, beams], "gpt2")


model, options = graph(), {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
if form == "f32":
    options |= {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
elif form == "f16":
    path = os.path.join(folder, "openvino.xml")
    ov.save_model(model, path, compress_to_fp16=True)
    model = path
else:
    mode = {"mode": nncf.CompressWeightsMode.INT8_SYM} if form == "q8" else \
        {"mode": nncf.CompressWeightsMode.INT4_SYM, "group_size": 32}
    with contextlib.redirect_stdout(sys.stderr):  # it prints tables
        model = nncf.compress_weights(model, **mode)
request = ov.Core().compile_model(model, "CPU", options).create_infer_request()


def step(texts, past):
    """Appends tokens after `past` others, and returns each text's logits after the last."""
    if past == 0:
        request.reset_state()
    n = len(texts[0])
    at = np.broadcast_to(np.arange(past, past + n), (len(texts), n))
    logits = request.infer([np.array(texts), at, np.arange(len(texts), dtype=np.int32)])
    return logits[0][:, 0]  # [texts, n_vocab]


answer("OpenVINO " + ov.__version__.split("-")[0], *greedy(step, np.argmax), step)

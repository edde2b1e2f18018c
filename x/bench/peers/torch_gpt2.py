"""GPT-2 in PyTorch with a KV cache: a checkpoint directory. Command line and answer as in common.mjs."""

import glob, json, os, struct, sys, time

directory, job_path, threads, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
import torch
import torch.nn.functional as F

torch.set_num_threads(threads)
torch.set_grad_enabled(False)
job = json.load(open(job_path))
config = json.load(open(os.path.join(directory, "config.json")))
heads, layers, eps = job["heads"], job["layers"], config.get("layer_norm_epsilon", 1e-5)


def load(path):
    """Returns the float tensors of a safetensors file as float32."""
    data = bytearray(open(path, "rb").read())
    size = struct.unpack_from("<Q", data)[0]
    kinds = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
    tensors = {}
    for name, t in json.loads(data[8 : 8 + size]).items():
        if t.get("dtype") in kinds:
            begin, end = t["data_offsets"]
            kind = kinds[t["dtype"]]
            x = torch.frombuffer(data, dtype=kind, offset=8 + size + begin, count=(end - begin) // (4 if kind == torch.float32 else 2))
            tensors[name.removeprefix("transformer.")] = x.reshape(t["shape"]).float()
    return tensors


w = {}
for shard in glob.glob(os.path.join(directory, "model*.safetensors")):
    w.update(load(shard))
head = w.get("lm_head.weight", w["wte.weight"])
cache = torch.zeros(layers, 2, heads, job["positions"], job["head_size"])  # keys and values: [n_head, n_ctx, head_size]


def norm(x, name):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], eps)


def linear(x, name):
    return torch.addmm(w[name + ".bias"], x, w[name + ".weight"])


def step(tokens, past):
    """Appends tokens after `past` others and returns the logits after the last."""
    n, total = len(tokens), past + len(tokens)
    x = w["wte.weight"][tokens] + w["wpe.weight"][past:total]  # [n_seq, n_embd]
    mask = torch.full((n, total), -torch.inf).triu(past + 1) if n > 1 else 0
    for i in range(layers):
        h = f"h.{i}."
        qkv = linear(norm(x, h + "ln_1"), h + "attn.c_attn")  # [n_seq, 3*n_embd]
        q, k, v = (t.view(n, heads, -1).transpose(0, 1) for t in qkv.chunk(3, dim=1))  # [n_head, n_seq, head_size]
        cache[i, 0, :, past:total], cache[i, 1, :, past:total] = k, v
        keys, values = cache[i, :, :, :total]  # [n_head, total, head_size]
        a = torch.softmax(q @ keys.transpose(1, 2) / job["head_size"] ** 0.5 + mask, dim=-1) @ values
        x = x + linear(a.transpose(0, 1).reshape(n, -1), h + "attn.c_proj")
        m = F.gelu(linear(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh")
        x = x + linear(m, h + "mlp.c_proj")
    return head @ norm(x[-1], "ln_f")  # [n_vocab]


prompt, ids = job["greedy"]["prompt"], []
logits = step(prompt, 0)
difference = (logits - torch.tensor(job["greedy"]["logits"])).abs().max().item()
while len(ids) < len(job["greedy"]["ids"]):
    ids.append(logits.argmax().item())
    logits = step(ids[-1:], len(prompt) + len(ids) - 1)
prefill_ms, decode_ms = [], []
for i in range(rounds + 1 if rounds else 0):  # the first is not counted
    start = time.perf_counter()
    step(job["prompt"], 0)
    took, times = time.perf_counter() - start, []
    for j, token in enumerate(job["feed"]):
        start = time.perf_counter()
        step([token], len(job["prompt"]) + j)
        times.append(time.perf_counter() - start)
    if i:
        prefill_ms.append(took * 1e3)
        decode_ms.append(sorted(times)[len(times) // 2] * 1e3)
print(json.dumps({"version": "PyTorch " + torch.__version__, "ids": ids, "difference": difference, "prefill_ms": prefill_ms, "decode_ms": decode_ms}))

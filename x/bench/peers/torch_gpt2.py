"""GPT-2 in PyTorch with a KV cache. Command line and answer as in common.py."""

from common import answer, config, epsilon, greedy, job, threads, weights
import torch
import torch.nn.functional as F

torch.set_num_threads(threads)
torch.set_grad_enabled(False)
w = {name: torch.from_numpy(x) for name, x in weights().items()}
head = w.get("lm_head.weight", w["wte.weight"])
heads, size = job["heads"], job["head_size"]
caches = {}  # by the number of texts: keys and values, [n_layer, 2, texts, n_head, n_ctx, head_size]


def norm(x, name):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], epsilon)


def linear(x, name):
    y = torch.addmm(w[name + ".bias"], x.flatten(0, 1), w[name + ".weight"])
    return y.unflatten(0, x.shape[:2])


def step(texts, past):
    """Appends tokens after `past` others, and returns each text's logits after the last."""
    n, total = len(texts[0]), past + len(texts[0])
    if len(texts) not in caches:
        caches.clear()
        caches[len(texts)] = torch.zeros(job["layers"], 2, len(texts), heads, job["positions"], size)
    cache = caches[len(texts)]
    x = w["wte.weight"][torch.tensor(texts)] + w["wpe.weight"][past:total]  # [texts, n, n_embd]
    mask = torch.full((n, total), -torch.inf).triu(past + 1) if n > 1 else 0
    for i in range(job["layers"]):
        h = f"h.{i}."
        qkv = linear(norm(x, h + "ln_1"), h + "attn.c_attn")  # [texts, n, 3*n_embd]
        q, k, v = (t.unflatten(-1, (heads, size)).transpose(1, 2) for t in qkv.chunk(3, dim=-1))
        cache[i, 0, :, :, past:total], cache[i, 1, :, :, past:total] = k, v
        keys, values = cache[i, :, :, :, :total]  # [texts, n_head, total, head_size]
        a = torch.softmax(q @ keys.transpose(-1, -2) / size**0.5 + mask, dim=-1) @ values
        x = x + linear(a.transpose(1, 2).flatten(2), h + "attn.c_proj")
        m = F.gelu(linear(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh")
        x = x + linear(m, h + "mlp.c_proj")
    return norm(x[:, -1], "ln_f") @ head.T  # [texts, n_vocab]


answer("PyTorch " + torch.__version__, *greedy(step, torch.argmax), step)

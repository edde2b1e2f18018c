"""The work of `gpt bench table` in PyTorch or ONNX Runtime: peers.py torch|onnxruntime [--small].

Random weights of 124M and 1.5B, in float16 and float32. Texts are greedy and begin with one token, 1,
8 and 64 side by side; a prompt of 512 is timed up to its first token. PyTorch decodes by a CUDA graph
over a cache in place, which is as fast as it gets without a compiler; ONNX Runtime runs the graph
that PyTorch exports, with inputs and outputs on the device. A row of JSON for each model and format.
"""

import io, json, statistics, sys, time

which, small = sys.argv[1], "--small" in sys.argv
MISSING = 77
try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("PyTorch is not installed, and writes the graph for ONNX Runtime" if which != "torch" else "PyTorch is not installed")
    sys.exit(MISSING)
device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cpu" and not small:
    print("PyTorch", torch.__version__, "has no GPU here")
    sys.exit(MISSING)
torch.set_grad_enabled(False)
torch.manual_seed(1)

SHAPES = {"gpt2": (768, 12, 12, 50257), "gpt2-xl": (1600, 25, 48, 50257)}  # n_embd, n_head, n_layer, n_vocab
SESSIONS, PROMPT, GEN, ROUNDS = (1, 8, 64), 512, 64, 3
if small:
    SHAPES, SESSIONS, PROMPT, GEN, ROUNDS = {"small": (64, 4, 2, 300)}, (1, 8), 32, 8, 1


class GPT2(torch.nn.Module):
    """One token of each of several texts: its id and the positions before it -> the next id."""

    def __init__(self, shape, dtype):
        super().__init__()
        self.embd, self.heads, self.layers, self.vocab = shape
        n, self.size = self.embd, self.embd // self.heads

        def weight(*size):
            return torch.randn(*size, device=device, dtype=dtype) * 0.02

        self.wte, self.wpe = weight(self.vocab, n), weight(1024, n)
        self.h = [
            [weight(i, o) if o else weight(i) for i, o in ((n, 3 * n), (3 * n, 0), (n, n), (n, 0), (n, 4 * n), (4 * n, 0), (4 * n, n), (n, 0))]
            for _ in range(self.layers)
        ]
        self.dtype = dtype

    def norm(self, x):
        return F.layer_norm(x, (self.embd,))

    def run(self, x, attend):
        """x [batch, rows, n_embd] -> the id after the last row of each [batch]; attend is given each layer's q, k, v."""
        for i, (qkv_w, qkv_b, o_w, o_b, up_w, up_b, down_w, down_b) in enumerate(self.h):
            qkv = self.norm(x) @ qkv_w + qkv_b
            q, k, v = (t.reshape(t.shape[0], t.shape[1], self.heads, self.size).transpose(1, 2) for t in qkv.chunk(3, dim=-1))  # [batch, n_head, rows, head_size]
            a = attend(i, q, k, v)
            x = x + (a.transpose(1, 2).flatten(2) @ o_w + o_b)
            x = x + (F.gelu(self.norm(x) @ up_w + up_b, approximate="tanh") @ down_w + down_b)
        return (self.norm(x[:, -1]) @ self.wte.T).argmax(-1)

    def prompt(self, ids):
        return self.run(self.wte[ids] + self.wpe[: ids.shape[1]], lambda i, q, k, v: attention(q, k, v, causal=True))

    def forward(self, ids, past):
        """ids [batch, 1] and past [n_layer, 2, batch, n_head, positions, head_size] -> the next ids, and past with one more."""
        position = past.shape[4]
        keep = []

        def attend(i, q, k, v):
            k, v = torch.cat((past[i, 0], k), 2), torch.cat((past[i, 1], v), 2)
            keep.append(torch.stack((k, v)))
            return attention(q, k, v)

        x = self.wte[ids] + self.wpe[position : position + 1]
        return self.run(x, attend).unsqueeze(1), torch.stack(keep)


def attention(q, k, v, mask=None, causal=False):
    if hasattr(F, "scaled_dot_product_attention") and which == "torch":
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ v


def sync():
    if device == "cuda":
        torch.cuda.synchronize()


def timed(work):
    """The median of a few rounds, after one that is not counted."""
    work()
    times = []
    for _ in range(ROUNDS):
        sync()
        start = time.perf_counter()
        work()
        sync()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def decoder(m, batch):
    """Returns a function that decodes GEN tokens of each text, over a cache in place."""
    cache = torch.zeros(m.layers, 2, batch, m.heads, GEN, m.size, device=device, dtype=m.dtype)
    ids, position = torch.zeros(batch, 1, dtype=torch.long, device=device), torch.zeros(1, dtype=torch.long, device=device)
    columns = torch.arange(GEN, device=device)

    def step():
        def attend(i, q, k, v):
            cache[i, 0].index_copy_(2, position, k)
            cache[i, 1].index_copy_(2, position, v)
            return attention(q, cache[i, 0], cache[i, 1], mask=(columns <= position).view(1, 1, 1, -1))

        ids.copy_(m.run(m.wte[ids] + m.wpe[position], attend).unsqueeze(1))
        position.add_(1).remainder_(GEN)

    graph = None
    if device == "cuda":
        try:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    step()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
        except RuntimeError as e:
            print("no CUDA graph:", e)
            graph = None

    def decode():
        ids.zero_(), position.zero_()
        for _ in range(GEN):
            graph.replay() if graph else step()
            ids.cpu()  # a text's reader sees each token

    return decode


def by_torch(m):
    m.peer = "PyTorch " + torch.__version__
    prompt = torch.arange(PROMPT, device=device).unsqueeze(0) % m.vocab
    ms = timed(lambda: m.prompt(prompt).item()) * 1e3
    return [(n, timed(decoder(m, n))) for n in SESSIONS], ms


def by_onnxruntime(m, runtime, provider):
    """No prompt: the graph takes a token at a time."""
    m.peer = "ONNX Runtime " + runtime.__version__
    file = io.BytesIO()
    past = torch.zeros(m.layers, 2, 1, m.heads, 2, m.size, device=device, dtype=m.dtype)
    axes = {"ids": {0: "batch"}, "past": {2: "batch", 4: "positions"}, "next": {0: "batch"}, "present": {2: "batch", 4: "more"}}
    old = {} if not hasattr(torch.onnx, "dynamo_export") and torch.__version__ < "2.5" else {"dynamo": False}
    torch.onnx.export(m, (torch.zeros(1, 1, dtype=torch.long, device=device), past), file, input_names=["ids", "past"],
                      output_names=["next", "present"], dynamic_axes=axes, opset_version=14, **old)  # fmt: skip
    session = runtime.InferenceSession(file.getvalue(), providers=[provider])
    kind = {torch.float16: "float16", torch.float32: "float32"}[m.dtype]

    def decode(batch):
        binding = session.io_binding()
        start = runtime.OrtValue.ortvalue_from_numpy(torch.zeros(batch, 1, dtype=torch.long).numpy(), device, 0)
        empty = torch.zeros(m.layers, 2, batch, m.heads, 0, m.size, dtype=m.dtype)
        binding.bind_ortvalue_input("ids", start)
        binding.bind_ortvalue_input("past", runtime.OrtValue.ortvalue_from_numpy(empty.numpy().astype(kind), device, 0))
        for _ in range(GEN):
            binding.bind_output("next", device)
            binding.bind_output("present", device)
            session.run_with_iobinding(binding)
            ids, cache = binding.get_outputs()
            ids.numpy()
            binding.bind_ortvalue_input("ids", ids)
            binding.bind_ortvalue_input("past", cache)

    return [(n, timed(lambda: decode(n))) for n in SESSIONS], 0


def main():
    measure = by_torch
    if which == "onnxruntime":
        try:
            import numpy, onnxruntime as runtime  # OrtValues come from numpy's arrays
        except ImportError as e:
            print("ONNX Runtime:", e)
            sys.exit(MISSING)
        provider = "CUDAExecutionProvider" if device == "cuda" else "CPUExecutionProvider"
        if provider not in runtime.get_available_providers():
            print("ONNX Runtime", runtime.__version__, "has no GPU here")
            sys.exit(MISSING)
        measure = lambda m: by_onnxruntime(m, runtime, provider)
        SHAPES.pop("gpt2-xl", None)  # a graph in one piece has 2 GB at most
    formats = (("f16", torch.float16), ("f32", torch.float32))
    for name, shape in SHAPES.items():
        for dtype, kind in formats[1 if device == "cpu" else 0 :]:
            m = GPT2(shape, kind)
            times, ms = measure(m)
            texts = [{"sessions": n, "tokens_per_s": n * GEN / t} for n, t in times]
            print(json.dumps({"peer": m.peer, "model": name, "dtype": dtype, "device": device, "texts": texts, "prompt": {"tokens": PROMPT, "ms": ms}}))
            del m


main()

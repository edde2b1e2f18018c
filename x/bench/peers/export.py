"""Writes a checkpoint for the peers: GGUF for llama.cpp, ONNX for ONNX Runtime, safetensors for
PyTorch, and the work to do with it as JSON.

    export.py GPT MODEL OUT PROMPT_TOKENS GEN_TOKENS

GPT is our program, MODEL what its -m takes, or demo, or random:gpt2 and the like."""

import itertools, json, os, subprocess, sys

import gguf, numpy as np, onnx
from gguf import GGMLQuantizationType as Kind
from onnx import TensorProto, helper

BLOCK = 32  # weights that share a scale
TANH = {"gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_python_tanh", "gelu_accurate"}
SHAPES = {"gpt2": (768, 12, 12), "gpt2-medium": (1024, 24, 16), "gpt2-large": (1280, 36, 20),
          "gpt2-xl": (1600, 48, 25)}  # n_embd, n_layer, n_head


def export(gpt, source, out, prompt_tokens, gen_tokens):
    shape = source.removeprefix("random:") if source.startswith("random:") else None
    if shape and shape not in SHAPES:
        sys.exit(f"--random {shape}: want one of {', '.join(SHAPES)}")
    # float32 in one file, with GPT-2's names and a config whose every field is honoured or refused
    ours(gpt, "convert", "demo" if shape else source, out, "--dtype", "f32", "--force")
    if shape:
        write_random(out, *SHAPES[shape])
    c, w = read(out)
    scaled = c.get("scale_attn_weights", True) and not c.get("scale_attn_by_inverse_layer_idx")
    if not scaled or c["activation_function"] not in TANH:
        sys.exit(f"{source}: the peers compute GPT-2 with tanh GELU and plainly scaled "
                 f"attention, not {c['activation_function']}, scaled plainly: {scaled}")
    if c["n_embd"] % BLOCK or c["n_inner"] % BLOCK:
        sys.exit(f"{source}: n_embd {c['n_embd']}, n_inner {c['n_inner']}: "
                 f"want multiples of {BLOCK}, the peers' quantized blocks")
    for kind in "F32", "F16", "Q8_0", "Q4_0":
        write_gguf(out, c, w, Kind[kind])
    for bits in 32, 8, 4:
        write_onnx(out, c, w, bits)
    write_job(gpt, out, c, prompt_tokens, gen_tokens)


def ours(gpt, *args):
    r = subprocess.run([gpt, *args], stdout=subprocess.PIPE)
    return r.stdout if r.returncode == 0 else sys.exit(r.returncode)  # it has said why


def read(folder):
    """Returns the config and the float32 tensors of a checkpoint, which stay in its file."""
    c = json.load(open(os.path.join(folder, "config.json")))
    c["n_inner"] = c.get("n_inner") or 4 * c["n_embd"]
    path = os.path.join(folder, "model.safetensors")
    data = np.memmap(path, np.uint8, "r")
    start = 8 + int(data[:8].view("<u8")[0])
    header = json.loads(bytes(data[8:start]))
    header.pop("__metadata__", None)
    return c, {name: np.memmap(path, "<f4", "r", start + t["data_offsets"][0], tuple(t["shape"]))
               for name, t in header.items() if t["dtype"] == "F32"}


def write_random(out, embd, layers, heads):
    """Makes the checkpoint in out one of a shape, with the weights of gpt bench --random: uniform,
    with the deviation 0.02, by SplitMix64's mixing of a counter."""
    path = os.path.join(out, "config.json")
    c = json.load(open(path)) | {"n_positions": 1024, "n_ctx": 1024, "n_embd": embd,
                                 "n_layer": layers, "n_head": heads}
    json.dump(c, open(path, "w"))
    shapes = {"wte.weight": (c["vocab_size"], embd), "wpe.weight": (1024, embd)}
    for i in range(layers):
        for ln in "ln_1", "ln_2":
            shapes |= {f"h.{i}.{ln}.weight": (embd,), f"h.{i}.{ln}.bias": (embd,)}
        for name, n, m in (("attn.c_attn", embd, 3 * embd), ("attn.c_proj", embd, embd),
                           ("mlp.c_fc", embd, 4 * embd), ("mlp.c_proj", 4 * embd, embd)):
            shapes |= {f"h.{i}.{name}.weight": (n, m), f"h.{i}.{name}.bias": (m,)}
    shapes |= {"ln_f.weight": (embd,), "ln_f.bias": (embd,)}
    ends = np.cumsum([4 * np.prod(shape) for shape in shapes.values()]).tolist()
    text = json.dumps({name: {"dtype": "F32", "shape": shape, "data_offsets": (begin, end)} for
                       (name, shape), begin, end in zip(shapes.items(), [0] + ends, ends)}).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(out, "model.safetensors"), "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for i, (name, shape) in enumerate(shapes.items()):
            if "ln_" in name:
                x = np.full(shape, name.endswith("weight"), "<f4")
            else:
                z = np.arange(1, np.prod(shape) + 1, dtype="<u8") + np.uint64(i << 40)
                z *= np.uint64(0x9E3779B97F4A7C15)
                z = (z ^ z >> 30) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ z >> 27) * np.uint64(0x94D049BB133111EB)
                x = ((z ^ z >> 31) >> 40).astype("<f4") - 2**23
                x *= np.float32(0.02 * 1.7320508 / 2**23)
            f.write(x)


def quantize(w, bits):
    """Returns the scales [out, in/32] of a matrix [out, in], and its integers [out, in/32, 32]
    around 0. In 4 bits the value farthest from 0 becomes -8, as that end of the range has one step
    more."""
    blocks = np.ascontiguousarray(w).reshape(len(w), -1, BLOCK)
    farthest = np.take_along_axis(blocks, abs(blocks).argmax(-1, keepdims=True), -1)
    scales = abs(farthest) / np.float32(127) if bits == 8 else farthest / np.float32(-8)
    steps = np.divide(blocks, scales, out=np.zeros_like(blocks), where=scales != 0)
    return scales[..., 0], np.minimum(np.rint(steps), 2 ** (bits - 1) - 1).astype(np.int8)


def ggml(w, kind):
    """Returns a matrix in one of ggml's formats, with the integers that ONNX Runtime gets, too."""
    if kind in (Kind.F32, Kind.F16):
        return gguf.quantize(np.ascontiguousarray(w), kind)
    scales, q = quantize(w, 8 if kind == Kind.Q8_0 else 4)
    q = q.view(np.uint8)
    if kind == Kind.Q4_0:  # value i in the low half of a byte, i+16 in the high one
        q = (q[..., :16] + 8 & 15) | (q[..., 16:] + 8 & 15) << 4
    scales = scales.astype("<f2")[..., None].view(np.uint8)
    return np.concatenate([scales, q], -1).reshape(len(w), -1)


def write_gguf(out, c, w, kind):
    """Writes matrices as [out, in] in ggml's format. Biases, layer norms and wpe stay float32, and
    the embedding never has less than 8 bits, as in our own q4."""
    head = Kind.Q8_0 if kind == Kind.Q4_0 else kind
    file = gguf.GGUFWriter(os.path.join(out, kind.name.lower() + ".gguf"), "gpt2")
    file.add_name("picogpt peer")
    file.add_file_type(gguf.LlamaFileType["ALL_F32" if kind == Kind.F32 else "MOSTLY_" + kind.name])
    file.add_quantization_version(gguf.GGML_QUANT_VERSION)
    file.add_context_length(c["n_positions"])
    file.add_embedding_length(c["n_embd"])
    file.add_feed_forward_length(c["n_inner"])
    file.add_block_count(c["n_layer"])
    file.add_head_count(c["n_head"])
    file.add_layer_norm_eps(c["layer_norm_epsilon"])
    # llama.cpp opens no file without a vocabulary. The benchmark uses only ids, so one merge is
    # enough.
    n, path = c["vocab_size"], os.path.join(out, "vocab.json")
    names = {i: name for name, i in json.load(open(path)).items()} if os.path.exists(path) else {}
    names.pop(n - 1, None)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-2")
    file.add_token_list([names.get(i, f"<{i}>") for i in range(n)])
    file.add_token_types([gguf.TokenType.NORMAL] * (n - 1) + [gguf.TokenType.CONTROL])
    file.add_token_merges(["Ġ t"])
    file.add_bos_token_id(n - 1)
    file.add_eos_token_id(n - 1)

    layers = {"attn_norm": "ln_1", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj",
              "ffn_norm": "ln_2", "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"}
    pairs = [(f"blk.{i}.{name}", f"h.{i}.{our}") for i in range(c["n_layer"])
             for name, our in layers.items()]
    tensors = [("token_embd.weight", w["wte.weight"], head),
               ("position_embd.weight", w["wpe.weight"], Kind.F32)]
    for name, our in pairs + [("output_norm", "ln_f")]:
        x = w[our + ".weight"]
        tensors += [(name + ".weight", x.T, kind if x.ndim == 2 else Kind.F32),
                    (name + ".bias", w[our + ".bias"], Kind.F32)]
    if "lm_head.weight" in w:
        tensors.append(("output.weight", w["lm_head.weight"], head))
    for name, x, kind in tensors:
        size, width = gguf.GGML_QUANT_SIZES[kind]
        file.add_tensor_info(name, x.shape, np.dtype("f4"), x.size // size * width, kind)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_ti_data_to_file()
    for _, x, kind in tensors:  # made one by one, as they are written
        file.write_tensor_data(ggml(x, kind))
    file.close()


def write_onnx(out, c, w, bits):
    """Writes the graph of one step, with the operators that are fastest in ONNX Runtime on a CPU:
    the tokens [1, n_seq] at their positions, each block's cache [1, n_head, n_ctx, head_size], and
    as outputs of each block the keys and values to add to it, [1, n_seq, 2*n_embd]. The caches
    themselves are no outputs: onnxruntime-node copies every output into new memory, even if it is
    given memory. There are logits only for the last token."""
    name = {32: "f32", 8: "q8", 4: "q4"}[bits]
    data = open(os.path.join(out, name + ".data"), "wb")
    nodes, weights, unnamed, embd = [], [], itertools.count(1), c["n_embd"]
    value = helper.make_tensor_value_info
    inputs = [value("tokens", TensorProto.INT64, [1, "n_seq"]),
              value("positions", TensorProto.INT64, [1, "n_seq"]),
              value("last", TensorProto.INT32, [1]),  # total minus 1
              value("total", TensorProto.INT32, [1])]  # tokens in the cache after this step
    outputs = []

    def weight(name, x):
        data.write(bytes(-data.tell() % 4096))  # at a page boundary, so that it can be mapped
        t = TensorProto(name=name, dims=x.shape, data_type=helper.np_dtype_to_tensor_dtype(x.dtype),
                        data_location=TensorProto.EXTERNAL)
        where = {"location": os.path.basename(data.name), "offset": data.tell(), "length": x.nbytes}
        for key, v in where.items():
            t.external_data.add(key=key, value=str(v))
        weights.append(t)
        data.write(np.ascontiguousarray(x))
        return name

    def integers(name, *values):
        weights.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return name

    def node(op, *inputs, to=None, **attributes):
        to = to or [f"{op}_{next(unnamed)}"]
        nodes.append(helper.make_node(op, inputs, to, to[0], **attributes))
        return to[0]

    def norm(x, name):
        return node("LayerNormalization", x, weight(name + ".weight", w[name + ".weight"]),
                    weight(name + ".bias", w[name + ".bias"]), axis=-1,
                    epsilon=c["layer_norm_epsilon"])

    def blocks(x, name, matrix, bits):
        """x·w with w [out, in] in blocks along in, each with a float32 scale; the integers are
        unsigned around the middle of their range. accuracy_level 4 allows rounding x to 8 bits, as
        ggml does."""
        scales, q = quantize(matrix, bits)
        q = q.view(np.uint8) + (1 << bits - 1)
        if bits == 4:
            q = q[..., ::2] & 15 | q[..., 1::2] << 4
        return node("MatMulNBits", x, weight(name + ".blocks", q), weight(name + ".scales", scales),
                    to=[name + ".product"], domain="com.microsoft", K=matrix.shape[1],
                    N=matrix.shape[0], bits=bits, block_size=BLOCK, accuracy_level=4)

    def linear(x, name):
        """x·w + b, with w [in, out] as Conv1D stores it, or in blocks."""
        bias, matrix = weight(name + ".bias", w[name + ".bias"]), w[name + ".weight"]
        if bits < 32:
            return node("Add", blocks(x, name, matrix.T, bits), bias)
        return node("Add", node("MatMul", x, weight(name + ".weight", matrix)), bias)

    wte, wpe = weight("wte", w["wte.weight"]), weight("wpe", w["wpe.weight"])
    integers("split", embd, 2 * embd)  # of c_attn's output: queries; keys and values
    # [1, n_seq, n_embd]
    x = node("Add", node("Gather", wte, "tokens"), node("Gather", wpe, "positions"))
    for i in range(c["n_layer"]):
        h, past = f"h.{i}.", [f"keys_{i}", f"values_{i}"]
        qkv = linear(norm(x, h + "ln_1"), h + "attn.c_attn")  # [1, n_seq, 3*n_embd]
        inputs += [value(name, TensorProto.FLOAT, [1, c["n_head"], "n_ctx", embd // c["n_head"]])
                   for name in past]
        node("Split", qkv, "split", to=[f"queries_added_{i}", f"added_{i}"], axis=-1)
        outputs.append(value(f"added_{i}", TensorProto.FLOAT, [1, "n_seq", 2 * embd]))
        a = f"attention_{i}"  # with a key and value head for each query head
        node("GroupQueryAttention", qkv, "", "", *past, "last", "total", domain="com.microsoft",
             to=[a, a + ".keys", a + ".values"], num_heads=c["n_head"], kv_num_heads=c["n_head"])
        x = node("Add", x, linear(a, h + "attn.c_proj"))
        m = linear(norm(x, h + "ln_2"), h + "mlp.c_fc")  # [1, n_seq, n_inner]
        x = node("Add", x, linear(node("Gelu", m, approximate="tanh"), h + "mlp.c_proj"))
    x = node("Gather", x, integers("end", -1), axis=1)  # [1, 1, n_embd]
    x = node("Reshape", norm(x, "ln_f"), integers("row", 1, embd))  # [1, n_embd]
    own = w.get("lm_head.weight", w["wte.weight"])
    if bits < 32:
        node("Identity", blocks(x, "head", own, 8), to=["logits"])
    else:
        head = weight("lm_head", own) if "lm_head.weight" in w else wte
        node("Gemm", x, head, to=["logits"], transB=1)
    outputs.append(value("logits", TensorProto.FLOAT, [1, c["vocab_size"]]))
    data.close()
    graph = helper.make_graph(nodes, "gpt2", inputs, outputs, weights)
    path = os.path.join(out, name + ".onnx")
    onnx.save(helper.make_model(graph, producer_name="picogpt", ir_version=10, opset_imports=[
        helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]), path)


def write_job(gpt, out, c, prompt_tokens, gen_tokens):
    """Writes the work, and the 20 tokens after "Once upon a time" that our own engine finds
    likeliest in float32, or after the first ids of a small vocabulary."""
    gen = min(gen_tokens, c["n_positions"] // 2)
    prompt = min(prompt_tokens, c["n_positions"] - gen)
    # as in gpt bench
    tokens = [(i * 7919 + 11) % c["vocab_size"] for i in range(max(prompt, gen))]
    first = [7454, 2402, 257, 640] if c["vocab_size"] > 7454 else [0, 1, 2, 3]
    path, model = os.path.join(out, "logits.npy"), ["-m", out, "--dtype", "f32"]
    ids = json.loads(ours(gpt, "generate", "--json", "--temp", "0", "--eos", "none", "-n", "20",
                          "--tokens", json.dumps(first), *model))["ids"]
    ours(gpt, "logits", "--positions", "all", "-o", path, "--force", "--tokens",
         json.dumps(first + ids[:-1]), *model)
    logits = np.load(path)[len(first) - 1:]  # [20, n_vocab]
    os.remove(path)
    best = np.sort(logits)[:, -2:]
    # If the best two are nearer than rounding errors, peers may give other ids.
    margin = float((best[:, 1] - best[:, 0]).min())
    job = {"layers": c["n_layer"], "heads": c["n_head"], "head_size": c["n_embd"] // c["n_head"],
           "positions": c["n_positions"], "prompt": tokens[:prompt],  # to prefill
           "feed": tokens[:gen],  # to decode after it, one by one
           "together": [8, 32],  # texts that decode those from their beginning
           "greedy": {"prompt": first, "ids": ids, "logits": logits[0].tolist(), "margin": margin}}
    json.dump(job, open(os.path.join(out, "job.json"), "w"))


if __name__ == "__main__":
    gpt, source, out, *tokens = sys.argv[1:]
    export(gpt, source, out, *map(int, tokens))

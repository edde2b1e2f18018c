"""llama.cpp's gguf judges GGUF files: its own open here, and those of gpt open there."""
import json
import gguf, numpy, safetensors.numpy, torch, transformers
from gguf import GGMLQuantizationType as Type, quants
from judge import Judge

judge = Judge("gguf", "transformers", "torch")
READ = "F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS".split()
REFUSED = "TQ1_0 TQ2_0 MXFP4 NVFP4 IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S".split()
EMBD, VOCAB = 256, 64
MATRICES = {"blk.0.attn_qkv": ("h.0.attn.c_attn", 3 * EMBD, EMBD),
            "blk.0.attn_output": ("h.0.attn.c_proj", EMBD, EMBD),
            "blk.0.ffn_up": ("h.0.mlp.c_fc", 4 * EMBD, EMBD),
            "blk.0.ffn_down": ("h.0.mlp.c_proj", EMBD, 4 * EMBD),
            "token_embd": ("wte", VOCAB, EMBD)}


def blocks(rows, columns, kind, drawn):
    """A matrix in the bytes of a type: drawn bytes, or weights that gguf quantizes."""
    r = numpy.random.default_rng(judge.random.getrandbits(64))
    size, length = gguf.GGML_QUANT_SIZES[kind]
    if not drawn:
        scale = 10. ** r.uniform(-4, 2, (rows, columns // size, 1)) # a scale for each block
        weights = (r.standard_normal((rows, columns // size, size)) * scale).astype(numpy.float32)
        return quants.quantize(weights.reshape(rows, columns), kind).view(numpy.uint8)
    data = r.integers(0, 256, (rows * columns // size, length), dtype=numpy.uint8)
    with numpy.errstate(all="ignore"):
        while (bad := ~numpy.isfinite(quants.dequantize(data, kind)).all(1)).any():
            data[bad] = r.integers(0, 256, (bad.sum(), length), dtype=numpy.uint8)
    return data.reshape(rows, -1)


def written(path, kind, drawn):
    """A GPT-2 of one block that gguf writes, its matrices in a type: their bytes by name."""
    w = gguf.GGUFWriter(path, "gpt2")
    w.add_context_length(32), w.add_embedding_length(EMBD), w.add_block_count(1)
    w.add_feed_forward_length(4 * EMBD), w.add_head_count(4), w.add_layer_norm_eps(1e-5)
    w.add_tensor("position_embd.weight", numpy.zeros((32, EMBD), numpy.float32))
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        w.add_tensor(name + ".weight", numpy.ones(EMBD, numpy.float32))
        w.add_tensor(name + ".bias", numpy.zeros(EMBD, numpy.float32))
    data = {}
    for name, (_, rows, columns) in MATRICES.items():
        data[name] = blocks(rows, columns, kind, drawn)
        w.add_tensor(name + ".weight", data[name], raw_dtype=kind)
        if name != "token_embd":
            w.add_tensor(name + ".bias", numpy.zeros(rows, numpy.float32))
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()
    return data


def turned(name, weights):
    """safetensors has linear layers [in, out], GGUF [out, in]."""
    return weights if name == "wte" else weights.T


@judge.claim("GGUF's types, as gguf writes them, are dequantized to the bit", by="gguf", least=575)
def _(claim):
    for kind in (Type[name] for name in READ):
        for drawn in [True] * 5 + [False] * 5:
            folder = judge.folder()
            try:
                data = written(folder / "x.gguf", kind, drawn)
            except NotImplementedError:
                claim.skip(kind.name, "types that gguf reads and does not make: drawn bytes alone")
                continue
            judge.run("convert", folder / "x.gguf", folder / "out", "--dtype", "f32")
            ours = safetensors.numpy.load_file(folder / "out/model.safetensors")
            ours = {name.removeprefix("transformer."): tensor for name, tensor in ours.items()}
            for name, (hf, _, _) in MATRICES.items():
                theirs = quants.dequantize(data[name], kind).astype(numpy.float32)
                got = turned(hf, ours[hf + ".weight"])
                size, length = gguf.GGML_QUANT_SIZES[kind]
                got, theirs = got.reshape(-1, size), theirs.reshape(-1, size)
                other = (got.view(numpy.uint32) != theirs.view(numpy.uint32)).any(1)
                at = int(other.argmax()) # the first block that differs
                block = data[name].reshape(-1, length)[at].tobytes().hex()
                every = slice(None) if not other.any() else at
                claim.same(f"{kind.name} {block}", got[every], theirs[every])


@judge.claim("types that are not read are refused by name", by="gguf", least=len(REFUSED))
def _(claim):
    for kind in (Type[name] for name in REFUSED):
        path = judge.folder() / "x.gguf"
        written(path, kind, True)
        code, _, err = judge.both("logits", "-m", path, "--tokens", "1")
        claim.same(f"{kind.name}: {err}", code != 0 and f"type {kind.name}," in err, True)


def small(**fields):
    """A random GPT-2 of those that GGUF can say."""
    return judge.checkpoint(activation_function="gelu_new", scale_attn_weights=True,
                            scale_attn_by_inverse_layer_idx=False, **fields)


@judge.claim("GGUF files of gpt convert hold the weights and tokens, rounded as said", by="gguf",
             least=500)
def _(claim):
    for _ in range(8):
        folder, model = small()
        names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GPT2, model.config.n_layer)
        by = {names.get_name(name, (".weight", ".bias")): tensor
              for name, tensor in model.transformer.state_dict().items()}
        for kind, rounded in zip(("F32", "F16", "BF16"), (torch.float, torch.half, torch.bfloat16)):
            path = judge.folder() / "x.gguf"
            judge.run("convert", folder, path, "--dtype", kind.lower())
            file = gguf.GGUFReader(path)
            claim.same(f"{kind}: names", sorted(t.name for t in file.tensors), sorted(by))
            for t in file.tensors:
                want = by[t.name].T if by[t.name].ndim == 2 and "embd" not in t.name else by[t.name]
                if t.tensor_type.name == kind:
                    want = want.to(rounded).float()
                what = f"{kind} {t.name} {list(want.shape)}"
                claim.same(what, quants.dequantize(t.data, t.tensor_type), want)
            vocab = json.loads((folder / "vocab.json").read_text())
            tokens = file.fields["tokenizer.ggml.tokens"].contents()
            claim.same(f"{kind}: tokens", tokens, sorted(vocab, key=vocab.get))


@judge.claim("transformers opens GGUF files of gpt convert, with the logits of gpt",
             by="transformers, torch", least=32)
def _(claim):
    for _ in range(8):
        # transformers reads neither the positions nor n_inner of a GGUF file.
        folder, model = small(n_positions=1024, n_inner=None)
        ids = [judge.random.randrange(64) for _ in range(judge.random.randint(1, 30))]
        for kind in ("f32", "f16", "bf16"):
            path = judge.folder() / "x.gguf"
            judge.run("convert", folder, path, "--dtype", kind)
            theirs = transformers.GPT2LMHeadModel.from_pretrained(path.parent, gguf_file="x.gguf")
            logits = lambda m: m(torch.tensor([ids])).logits[0]
            claim.near(f"{kind} {ids} {model.config.to_diff_dict()}", judge.logits(path, ids),
                       logits(theirs.eval()), 3e-6, lambda: logits(theirs.double()))
            if kind == "f32": # both could read a wrong epsilon of the file
                claim.near(f"as saved: {ids} {model.config.to_diff_dict()}",
                           judge.logits(path, ids), logits(model), 3e-6,
                           lambda: logits(model.double()))


judge.end()

"""llama.cpp's gguf judges GGUF files: its own open here, and those of gpt open there."""
import json
import gguf, numpy, safetensors.numpy, torch, transformers
from gguf import GGMLQuantizationType as Type, quants
from judge import Judge

judge = Judge("gguf", "transformers", "torch", near=3e-6)
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


with judge.claim("GGUF's types, as gguf writes them, are dequantized to the bit", by="gguf",
                 least=575) as claim:
    for kind, drawn in [(Type[name], drawn) for name in READ for drawn in [True, False] * 5]:
        folder, (size, length) = judge.folder(), gguf.GGML_QUANT_SIZES[kind]
        try:
            data = written(folder / "x.gguf", kind, drawn)
        except NotImplementedError:
            claim.skip("types that gguf reads and does not make: drawn bytes alone")
            continue
        judge.run("convert", folder / "x.gguf", folder / "out", "--dtype", "f32")
        ours = safetensors.numpy.load_file(folder / "out/model.safetensors")
        for name, (hf, _, _) in MATRICES.items():
            got = ours[f"{hf}.weight"]
            got = (got if hf == "wte" else got.T).reshape(-1, size) # linear layers are [in, out]
            theirs = quants.dequantize(data[name], kind).astype(numpy.float32).reshape(-1, size)
            other = (got.view(numpy.uint32) != theirs.view(numpy.uint32)).any(1)
            at = int(other.argmax()) # the first block that differs
            block = data[name].reshape(-1, length)[at].tobytes().hex()
            every = at if other.any() else slice(None)
            claim.same((kind.name, block), got[every], theirs[every])

with judge.claim("types that are not read are refused by name", by="gguf",
                 least=len(REFUSED)) as claim:
    for name in REFUSED:
        written(path := judge.folder() / "x.gguf", Type[name], True)
        claim.refused(name, judge.error("logits", "-m", path, "--tokens", "1"), f"type {name},")


def small(**fields):
    """A random GPT-2 of those that GGUF can say."""
    return judge.checkpoint(activation_function="gelu_new", scale_attn_weights=True,
                            scale_attn_by_inverse_layer_idx=False, **fields)


with judge.claim("GGUF files of gpt convert hold the weights and tokens, rounded as said",
                 by="gguf", least=500) as claim:
    for _ in range(10):
        folder, model = small()
        names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GPT2, model.config.n_layer)
        by = {names.get_name(name, (".weight", ".bias")): tensor
              for name, tensor in model.transformer.state_dict().items()}
        vocab = json.loads((folder / "vocab.json").read_text())
        for kind, rounded in zip(("F32", "F16", "BF16"), (torch.float, torch.half, torch.bfloat16)):
            judge.run("convert", folder, path := judge.folder() / "x.gguf", "--dtype", kind.lower())
            file = gguf.GGUFReader(path)
            claim.same(f"{kind}: names", sorted(t.name for t in file.tensors), sorted(by))
            for t in file.tensors:
                want = by[t.name].T if by[t.name].ndim == 2 and "embd" not in t.name else by[t.name]
                if t.tensor_type.name == kind:
                    want = want.to(rounded).float()
                what = (kind, t.name, [*want.shape])
                claim.same(what, quants.dequantize(t.data, t.tensor_type), want)
            tokens = file.fields["tokenizer.ggml.tokens"].contents()
            claim.same(f"{kind}: tokens", tokens, sorted(vocab, key=vocab.get))

with judge.claim("transformers opens GGUF files of gpt convert, with the logits of gpt",
                 by="transformers, torch", least=32) as claim:
    for _ in range(8):
        # transformers reads neither the positions nor n_inner of a GGUF file.
        folder, model = small(n_positions=1024, n_inner=None)
        for kind in ("f32", "f16", "bf16"):
            judge.run("convert", folder, path := judge.folder() / "x.gguf", "--dtype", kind)
            theirs = transformers.GPT2LMHeadModel.from_pretrained(path.parent, gguf_file="x.gguf")
            # both could read a wrong epsilon of the file
            for of in [theirs.eval(), model] if kind == "f32" else [theirs.eval()]:
                judge.agree(claim, kind, path, of)

judge.end()

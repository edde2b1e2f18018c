"""transformers, safetensors, PyTorch and accelerate judge checkpoints: the files that they leave
give the same logits here, and those of gpt convert open there."""
import collections, copy, functools, shutil
import accelerate, safetensors.torch, torch, transformers
from judge import Judge

judge = Judge("transformers", "torch", "safetensors", "accelerate", near=1e-5)
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def random():
    """A checkpoint in float32, whose weights each type of DTYPES holds, and its model."""
    folder, model = judge.checkpoint(tie_word_embeddings=judge.random.random() < .5,
                                     scale_attn_weights=True)
    for p in model.parameters():
        p.copy_((p * 64).round() / 64) # 8 bits
    model.save_pretrained(folder)
    return folder, model


def judged(claim, rounds, ways):
    """Saves models in each way: a function of a model and of a folder with its config."""
    for _ in range(rounds):
        folder, model = random()
        for what, save in ways.items():
            out, dtype = judge.folder(), judge.random.choice([*DTYPES])
            shutil.copy(folder / "config.json", out)
            path = save(copy.deepcopy(model).to(DTYPES[dtype]), out)
            judge.agree(claim, (what, dtype, path or ""), path or out, model)


with judge.claim("save_pretrained: types, shards, variants",
                 by="transformers, safetensors", least=96) as claim:
    judged(claim, 24, {
        (shard, variant): lambda m, out, shard=shard, variant=variant: m.save_pretrained(
            out, max_shard_size=shard, variant=variant)
        for shard, variant in [("5GB", None), ("5GB", "fp16"), ("9kB", None), ("9kB", "fp16")]})

with judge.claim("safetensors and accelerate: save_file, save_model, shards",
                 by="safetensors, accelerate", least=42) as claim:
    def save_file(m, out):
        tensors = {name: tensor.clone() for name, tensor in m.state_dict().items()}
        safetensors.torch.save_file(tensors, out / "x.safetensors", {"format": "pt", "by": "é"})
        return out / "x.safetensors"
    judged(claim, 7, {
        "save_model": lambda m, out: safetensors.torch.save_model(m, out / "model.safetensors"),
        "save_file": save_file,
        **{(shard, safe): lambda m, out, shard=shard, safe=safe: (
            accelerate.Accelerator().save_model(m, out, shard, safe_serialization=safe))
            for shard in ("10GB", "9kB") for safe in (True, False)}})


def views(model):
    """Tensors that are parts of one storage, in reverse and with gaps, some transposed."""
    tensors = model.state_dict()
    buffer = torch.zeros(sum(t.numel() + 3 for t in tensors.values()), dtype=model.dtype)
    at = len(buffer)
    for name, t in tensors.items():
        at -= t.numel() + 3
        turned = t.ndim == 2 and judge.random.random() < .5
        view = buffer[at:at + t.numel()].view(t.T.shape if turned else t.shape)
        tensors[name] = view.T if turned else view
        tensors[name].copy_(t)
    return tensors


def optimizer(model):
    """That of one step."""
    made = torch.optim.AdamW(copy.deepcopy(model).float().parameters())
    for p in made.param_groups[0]["params"]:
        p.grad = torch.ones_like(p)
    made.step()
    return made.state_dict()


def prefixed(prefix):
    return lambda m: {prefix + name: tensor for name, tensor in m.state_dict().items()}


FORMS = {
    **{f"{prefix}state dict": prefixed(prefix) for prefix in (
        "", "module.", "_orig_mod.", "model.", "module._orig_mod.")},
    "views": views, "whole module": lambda m: m, "plain dict": lambda m: dict(m.state_dict()),
    "parameters": lambda m: dict(m.named_parameters()),
    "clones": lambda m: {k: v.clone() for k, v in m.state_dict().items()},
    **{key: lambda m, key=key: {key: m.state_dict(), "optimizer": optimizer(m), "epoch": 3,
                                "loss": .5, "rng": torch.get_rng_state()}
       for key in ("model", "state_dict", "model_state_dict")},
    "Lightning": lambda m: {
        "pytorch-lightning_version": "2.5.0", "state_dict": prefixed("model.")(m), "callbacks": {},
        "loops": {"fit_loop": {"epoch_progress": {"total": {"ready": 1}}}}, "lr_schedulers": [],
        "optimizer_states": [optimizer(m)], "hyper_parameters": {"betas": (.9, .95)}},
    "DeepSpeed": lambda m: {
        "module": collections.OrderedDict(m.state_dict()), "buffer_names": [], "optimizer": None,
        "param_shapes": [{k: v.shape for k, v in m.state_dict().items()}], "ds_version": "0.17",
        "sparse_tensor_module_names": set(), "ds_config": {"zero_optimization": {"stage": 0}}}}

with judge.claim("torch.save in its forms", by="torch", least=5 * 2 * len(FORMS)) as claim:
    def save(form, zipped, model, out):
        path = out / judge.random.choice(["pytorch_model.bin", "model.pt", "x.pth", "x.ckpt"])
        torch.save(FORMS[form](model), path, _use_new_zipfile_serialization=zipped)
        return path
    judged(claim, 5, {(form, zipped): functools.partial(save, form, zipped)
                      for form in FORMS for zipped in (True, False)})

with judge.claim("gpt convert: transformers has the same weights, logits, ids and chat template",
                 by="transformers", least=216) as claim:
    r = judge.random
    for source, dtype in [(source, dtype) for source in DTYPES for dtype in DTYPES] * 8:
        (folder, model), out = random(), judge.folder() / "out"
        tokenizer = transformers.GPT2Tokenizer.from_pretrained(folder)
        tokenizer.chat_template = str(r.random()) + \
            "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
        tokenizer.save_pretrained(folder, save_jinja_files=r.random() < .5)
        copy.deepcopy(model).to(DTYPES[source]).save_pretrained(folder)
        judge.run("convert", folder, out, "--dtype", dtype)
        theirs = transformers.AutoModelForCausalLM.from_pretrained(out, dtype="auto")
        judge.agree(claim, (source, dtype), out, theirs)
        same = {k: torch.equal(v, theirs.state_dict()[k]) for k, v in model.state_dict().items()}
        opened = transformers.AutoTokenizer.from_pretrained(out)
        text = tokenizer.decode([r.randrange(63) for _ in range(20)])
        claim.same((source, dtype, text), [same, opened(text)["input_ids"]],
                   [dict.fromkeys(same, True), tokenizer(text)["input_ids"]])
        claim.same((source, dtype, "template"), opened.chat_template, tokenizer.chat_template)

judge.end()

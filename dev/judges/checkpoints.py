"""transformers, safetensors, PyTorch and accelerate judge checkpoints: the files that they leave give
the same logits here, and those of gpt convert open there."""
import collections, copy, json, shutil
import accelerate, safetensors.torch, torch, transformers
from judge import ROOT, Judge

judge = Judge("transformers", "torch", "safetensors", "accelerate")
torch.set_num_threads(1)
torch.set_grad_enabled(False)
TOLERANCE = 1e-5
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def random():
    """A checkpoint in float32, whose weights each type of DTYPES holds, and its model."""
    folder, model = judge.checkpoint(tie_word_embeddings=judge.random.random() < .5, scale_attn_weights=True)
    for p in model.parameters():
        p.copy_((p * 64).round() / 64) # 8 bits
    model.save_pretrained(folder)
    return folder, model


def some_ids(model):
    return [judge.random.randrange(64) for _ in range(judge.random.randint(1, model.config.n_positions))]


def logits(model, ids):
    return model(torch.tensor([ids])).logits[0]


def agree(claim, what, path, model):
    """Compares the logits of a path with those of the model that was saved."""
    ids = some_ids(model)
    code, _, err = judge.both("logits", "-m", path, "--tokens", "1")
    if code:
        claim.differs(what, err)
        return
    claim.near(f"{what} {ids} {model.config.to_diff_dict()}", judge.logits(path, ids), logits(model, ids),
               TOLERANCE, lambda: logits(copy.deepcopy(model).double(), ids))


def beside(folder):
    """A new folder that has the config alone."""
    out = judge.folder()
    shutil.copy(folder / "config.json", out)
    return out


@judge.claim("save_pretrained: types, shards, variants", by="transformers, safetensors", least=96)
def _(claim):
    for _ in range(8):
        _, model = random()
        for dtype in DTYPES:
            for shard in ("5GB", "9kB"):
                for variant in (None, "fp16"):
                    what = f"{dtype}, shards of {shard}, variant {variant}"
                    out = judge.folder()
                    saved = copy.deepcopy(model).to(DTYPES[dtype])
                    saved.save_pretrained(out, max_shard_size=shard, variant=variant)
                    agree(claim, what, out, model)


@judge.claim("safetensors and accelerate: save_file, save_model, shards",
             by="safetensors, accelerate", least=42)
def _(claim):
    for _ in range(7):
        folder, model = random()
        half = copy.deepcopy(model).to(DTYPES[judge.random.choice(list(DTYPES))])
        for shard in ("10GB", "9kB"):
            for safe in (True, False):
                out = beside(folder)
                accelerate.Accelerator().save_model(half, out, shard, safe_serialization=safe)
                agree(claim, f"accelerate, {half.dtype}, shards of {shard}, safetensors {safe}", out, model)
        out = beside(folder)
        safetensors.torch.save_model(half, out / "model.safetensors")
        agree(claim, f"save_model, {half.dtype}", out, model)
        out = beside(folder)
        safetensors.torch.save_file({k: v.clone() for k, v in half.state_dict().items()},
                                    out / "x.safetensors", metadata={"format": "pt", "by": "é"})
        agree(claim, f"save_file, {half.dtype}", out / "x.safetensors", model)


def prefixed(prefix):
    return lambda model: {prefix + name: tensor for name, tensor in model.state_dict().items()}


def views(model):
    """Tensors that are parts of one storage, in reverse and with gaps, some transposed."""
    tensors = model.state_dict()
    buffer = torch.zeros(sum(t.numel() + 3 for t in tensors.values()), dtype=model.dtype)
    at = len(buffer)
    for name, t in tensors.items():
        at -= t.numel() + 3
        view = buffer[at:at + t.numel()]
        view = view.view(t.T.shape).T if t.ndim == 2 and judge.random.random() < .5 else view.view(t.shape)
        view.copy_(t)
        tensors[name] = view
    return tensors


def trained(model):
    """A model with the optimizer of one step."""
    model = copy.deepcopy(model).float()
    optimizer = torch.optim.AdamW(model.parameters())
    with torch.enable_grad():
        model(torch.tensor([[1, 2, 3]])).logits.sum().backward()
    optimizer.zero_grad(set_to_none=False)
    return optimizer


WAYS = {
    "state dict": prefixed(""), "module.": prefixed("module."), "_orig_mod.": prefixed("_orig_mod."),
    "model.": prefixed("model."), "module._orig_mod.": prefixed("module._orig_mod."), "views": views,
    "plain dict": lambda m: dict(m.state_dict()),
    "parameters": lambda m: dict(m.named_parameters()),
    "clones": lambda m: {k: v.clone() for k, v in m.state_dict().items()},
    "whole module": lambda m: m,
    **{key: lambda m, key=key: {key: m.state_dict(), "optimizer": trained(m).state_dict(), "epoch": 3,
                                "loss": .5, "rng": torch.get_rng_state()}
       for key in ("model", "state_dict", "model_state_dict")},
    "Lightning": lambda m: {
        "epoch": 1, "global_step": 9, "pytorch-lightning_version": "2.5.0",
        "state_dict": prefixed("model.")(m), "callbacks": {},
        "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"total": {"ready": 1}}}},
        "optimizer_states": [trained(m).state_dict()], "lr_schedulers": [], "hparams_name": "kwargs",
        "hyper_parameters": {"lr": 1e-3, "betas": (.9, .95)}},
    "DeepSpeed": lambda m: {
        "module": collections.OrderedDict(m.state_dict()), "buffer_names": [], "optimizer": None,
        "param_shapes": [{k: v.shape for k, v in m.state_dict().items()}], "frozen_param_shapes": None,
        "lr_scheduler": None, "sparse_tensor_module_names": set(), "skipped_steps": 0,
        "global_steps": 9, "dp_world_size": 1, "mp_world_size": 1, "ds_version": "0.17",
        "ds_config": {"zero_optimization": {"stage": 0}}},
}


@judge.claim("torch.save in its forms", by="torch", least=5 * 2 * len(WAYS))
def _(claim):
    for _ in range(5):
        folder, model = random()
        for way, made in WAYS.items():
            for zipped in (True, False):
                dtype = judge.random.choice(list(DTYPES))
                name = judge.random.choice(["pytorch_model.bin", "model.pt", "x.pth", "x.ckpt"])
                path = beside(folder) / name
                torch.save(made(copy.deepcopy(model).to(DTYPES[dtype])), path,
                           _use_new_zipfile_serialization=zipped)
                agree(claim, f"{way}, {dtype}, zip {zipped}, {name}", path, model)


@judge.claim("gpt convert: transformers has the same weights, logits, ids and chat template",
             by="transformers", least=216)
def _(claim):
    r = judge.random
    for _ in range(8):
        folder, model = random()
        tokenizer = transformers.GPT2Tokenizer.from_pretrained(folder)
        tokenizer.chat_template = \
            "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}" + str(r.random())
        tokenizer.save_pretrained(folder, save_jinja_files=r.random() < .5)
        for source in DTYPES:
            copy.deepcopy(model).to(DTYPES[source]).save_pretrained(folder)
            for dtype in DTYPES:
                out = judge.folder() / "out"
                judge.run("convert", folder, out, "--dtype", dtype)
                what, ids = f"{source} to {dtype} {model.config.to_diff_dict()}", some_ids(model)
                theirs = transformers.AutoModelForCausalLM.from_pretrained(out, dtype="auto")
                claim.near(f"{what} {ids}", judge.logits(out, ids), logits(theirs.float(), ids), TOLERANCE,
                           lambda: logits(theirs.double(), ids))
                for name, tensor in theirs.float().state_dict().items():
                    if not torch.equal(tensor, model.state_dict()[name]):
                        claim.differs(f"{what} {name}", "other weights")
                opened = transformers.AutoTokenizer.from_pretrained(out)
                text = tokenizer.decode([r.randrange(63) for _ in range(20)])
                claim.same(f"{what} {text}", opened(text)["input_ids"], tokenizer(text)["input_ids"])
                talk = [{"role": r.choice(["user", "assistant"]), "content": text[i:]}
                        for i in range(r.randint(1, 4))]
                claim.same(f"{what} {talk}", opened.apply_chat_template(talk, tokenize=False),
                           tokenizer.apply_chat_template(talk, tokenize=False))


judge.end()

"""Makes dictionaries.tar.gz with SAELens: python3 make_dictionaries.py, with sae-lens 6.54 (which
wants transformer-lens 3, so that it is not in the environment of dev/judges/run).

One small GPT-2, and dictionaries of every architecture and convention with random numbers, a folder
each. manifest.json has what SAELens and TransformerLens make of them: features, sums, losses, logits
after changes, and direct effects on logits.
"""
import io, json, pathlib, shutil, tarfile, tempfile, warnings
import numpy, safetensors.torch, torch, transformers
import sae_lens, transformer_lens
from sae_lens import SAE, evals
from sae_lens.saes.sae import SAEMetadata
from sae_lens.training.activation_scaler import ActivationScaler
from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights
warnings.filterwarnings("ignore")
torch.set_grad_enabled(False)

IDS = [1, 10, 0, 7, 7, 5, 22, 1, 9, 14, 3]
SIZES = dict(vocab_size=23, n_positions=16, n_embd=8, n_layer=2, n_head=2)
WIDE = 40
CENTRED, FOLDED = {"center_writing_weights": True}, {"fold_ln": True, "fold_value_biases": True}
ALL = CENTRED | FOLDED | {"center_unembed": True}
# A case: its name, the architecture, the hook, fields of the config, of metadata, and of a cfg.json
# as SAELens wrote it before 6.
CASES = [
    ("standard", "standard", "blocks.1.hook_resid_pre", {}, {}),
    ("standard-plain", "standard", "blocks.0.hook_resid_mid", dict(apply_b_dec_to_input=False), {}),
    ("standard-centred", "standard", "blocks.1.hook_mlp_out", {},
     dict(model_from_pretrained_kwargs=CENTRED)),
    ("standard-bfloat16", "standard", "blocks.1.hook_resid_post", {}, {}),
    ("standard-norm", "standard", "blocks.1.mlp.hook_post",
     dict(normalize_activations="constant_norm_rescale"), {}),
    ("standard-z", "standard", "blocks.1.attn.hook_z", dict(reshape_activations="hook_z"), {}),
    ("standard-z-folded", "standard", "blocks.1.attn.hook_z", dict(reshape_activations="hook_z"),
     dict(model_from_pretrained_kwargs=FOLDED, prepend_bos=True)),
    ("jumprelu", "jumprelu", "blocks.1.hook_resid_post", {}, dict(model_from_pretrained_kwargs=ALL)),
    ("jumprelu-plain", "jumprelu", "blocks.0.hook_resid_post", dict(apply_b_dec_to_input=False), {}),
    ("topk", "topk", "blocks.1.hook_resid_post", dict(k=5), {}),
    ("topk-rescaled", "topk", "blocks.1.hook_attn_out", dict(k=7, rescale_acts_by_decoder_norm=True), {}),
    ("gated", "gated", "blocks.1.hook_resid_mid", {}, {}),
    ("gated-centred", "gated", "blocks.1.hook_attn_out", dict(apply_b_dec_to_input=False),
     dict(model_from_pretrained_kwargs=CENTRED)),
    ("transcoder", "transcoder", "blocks.1.ln2.hook_normalized", {}, {}),
    ("transcoder-folded", "transcoder", "blocks.0.ln2.hook_normalized", {},
     dict(model_from_pretrained_kwargs={"fold_ln": True})),
    ("transcoder-jumprelu", "jumprelu_transcoder", "blocks.1.ln2.hook_normalized", {},
     dict(model_from_pretrained_kwargs=ALL)),
    ("old-standard", "standard", "blocks.1.hook_resid_pre", {}, {},
     dict(hook_point="blocks.1.hook_resid_pre", hook_point_layer=1, hook_point_head_index=None,
          normalize_activations=False, l1_coefficient=.1)),
    ("old-topk", "topk", "blocks.1.hook_resid_post", dict(k=6, normalize_activations="layer_norm"), {},
     dict(hook_name="blocks.1.hook_resid_post", activation_fn_str="topk", activation_fn_kwargs={"k": 6},
          hook_layer=1, apply_b_dec_to_input=True, normalize_activations="layer_norm", prepend_bos=False)),
    ("old-gated", "gated", "blocks.0.hook_mlp_out", {}, {},
     dict(architecture="gated", hook_name="blocks.0.hook_mlp_out", activation_fn_str="relu",
          finetuning_scaling_factor=True, normalize_activations="expected_average_only_in")),
    ("old-z", "standard", "blocks.0.attn.hook_z", dict(reshape_activations="hook_z"), {},
     dict(hook_name="blocks.0.attn.hook_z", activation_fn_str="relu", hook_head_index=None)),
]


def rounded(*shape, by=.4):
    """Numbers that compress: bfloat16 in float32."""
    return (by * torch.randn(shape)).bfloat16().float()


def model_of(folder, **kwargs):
    hf = transformers.GPT2LMHeadModel.from_pretrained(folder)
    c = hf.config
    config = transformer_lens.HookedTransformerConfig(
        n_layers=c.n_layer, d_model=c.n_embd, n_ctx=c.n_positions, d_head=c.n_embd // c.n_head,
        n_heads=c.n_head, d_mlp=4 * c.n_embd, d_vocab=c.vocab_size, act_fn="gelu_new",
        normalization_type="LN", eps=c.layer_norm_epsilon)
    m = transformer_lens.HookedTransformer(config)
    none = dict.fromkeys(("fold_ln", "center_writing_weights", "center_unembed", "fold_value_biases"), False)
    m.load_and_process_state_dict(convert_gpt2_weights(hf, config), **none | kwargs)
    return m


def base(folder):
    torch.manual_seed(31)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**SIZES, bos_token_id=1, eos_token_id=2))
    for name, p in model.named_parameters():
        p.copy_((1. if "ln_" in name and name.endswith("weight") else 0.) + rounded(*p.shape))
    model.save_pretrained(folder)


def made(folder, name, architecture, hook, config, metadata, old=None):
    """Writes the folder of a dictionary."""
    torch.manual_seed(sum(map(ord, name)))
    width = 4 * SIZES["n_embd"] if hook.endswith("hook_post") else SIZES["n_embd"]
    config = dict(d_in=width, d_sae=WIDE, **config)
    metadata = dict(hook_name=hook, model_name="gpt2", neuronpedia_id=f"tiny/{name}", **metadata)
    if "transcoder" in architecture:
        config |= dict(d_out=SIZES["n_embd"], apply_b_dec_to_input=False)
        metadata["hook_name_out"] = hook.replace("ln2.hook_normalized", "hook_mlp_out")
    sae_class, config_class = sae_lens.registry.get_sae_class(architecture)
    sae = sae_class(config_class(**config, metadata=SAEMetadata(**metadata)))
    for key, p in sae.named_parameters():
        p.copy_(rounded(*p.shape, by=.3))
        if key == "threshold":
            p.copy_(p.abs())
    sae.save_model(folder)
    path = folder / "sae_weights.safetensors"
    weights = safetensors.torch.load_file(path)
    if name == "standard-bfloat16":
        weights = {key: w.bfloat16() for key, w in weights.items()}
    if name == "old-gated":
        weights["scaling_factor"] = torch.ones(WIDE)
    safetensors.torch.save_file(weights, path)
    if old:
        old = dict(d_in=width, d_sae=WIDE, dtype="torch.float32", model_name="gpt2-small") | old
        (folder / "cfg.json").write_text(json.dumps(old))


def judged(folder, base, name, architecture, hook, *_):
    """What SAELens and TransformerLens make of it."""
    sae = SAE.load_from_disk(folder) if "transcoder" not in architecture else \
        sae_lens.registry.get_sae_class(architecture)[0].load_from_disk(folder)
    kwargs = sae.cfg.metadata.model_from_pretrained_kwargs or {}
    if name == "old-standard": # as from_pretrained was called then
        kwargs = ALL
    model, ids = model_of(base, **kwargs), torch.tensor([IDS])
    out_hook = sae.cfg.metadata.hook_name_out or hook
    _, cache = model.run_with_cache(ids)
    x, y = cache[hook], cache[out_hook]
    acts = sae.encode(x)
    out = sae.decode(acts) # which uses up what encode has kept
    flat = lambda v: v.reshape(len(IDS), -1)
    variance = evals.ExplainedVarianceCalculator()
    variance.add_batch(flat(out), flat(y))
    scaler = ActivationScaler()
    if hook == out_hook:
        if sae.hook_z_reshaping_mode: # as run_evals does
            sae.turn_off_forward_pass_hook_z_reshaping()
        losses = evals.get_recons_loss(sae, model, scaler, ids, False, True)
        keys = "ce_loss_without_sae", "ce_loss_with_sae", "ce_loss_with_ablation"
        losses = [losses[key].mean().item() for key in keys]
        if sae.cfg.reshape_activations == "hook_z":
            sae.turn_on_forward_pass_hook_z_reshaping()
            sae.encode(x) # which learns the shape
    else:
        losses = [model.run_with_hooks(ids, return_type="loss", fwd_hooks=hooks).item() for hooks in (
            [], [(out_hook, lambda v, hook: out)], [(out_hook, lambda v, hook: torch.zeros_like(v))])]
    mean = acts[0].mean(0)
    order = mean.argsort(descending=True).tolist()
    a, b, c = order[0], order[1], order[-1]
    edits = []
    kinds = [] if sae.cfg.normalize_activations in ("layer_norm", "constant_norm_rescale") else \
        [[(a, True, 1.5), (c, True, -2.)]] if architecture == "topk" else \
        [[(a, False, 0.)], [(a, False, 3.5), (b, False, 0.), (c, False, 1.25)],
         [(b, False, 0.), (a, True, 2.)]]
    for changes in kinds:
        def changed(v, hook):
            new, at = (v if hook_in == hook.name else cache[hook_in]), v
            f = sae.encode(new)
            g = f.clone()
            for i, add, to in changes:
                g[..., i] = g[..., i] + to if add else to
            by = sae.decode(g) - sae.decode(f)
            return at + by.reshape(at.shape)
        hook_in = hook
        if architecture == "topk": # decode wants nothing of encode
            changed = lambda v, hook: v + (sae.decode(sum(
                to * torch.eye(WIDE)[i] for i, _, to in changes)) - sae.decode(torch.zeros(WIDE))).reshape(
                    v.shape[2:])
        logits = model.run_with_hooks(ids, fwd_hooks=[(out_hook, changed)])[0, -1]
        edits.append({"changes": changes, "logits": (logits - logits.mean()).tolist()})
    effect = None
    processed = model_of(base, **ALL)
    d = sae.W_dec[a] / (sae.W_dec[a].norm() if getattr(sae.cfg, "rescale_acts_by_decoder_norm", False) else 1)
    layer = int(out_hook.split(".")[1])
    if out_hook.endswith("hook_z"):
        d = d @ processed.W_O[layer].flatten(0, 1)
    if out_hook.endswith("hook_post"):
        d = d @ processed.W_out[layer]
    return {"hook": hook, "hook_out": out_hook, "processed": bool(kwargs), "acts": acts[0].tolist(),
            "out": flat(out).tolist(), "l0": (acts[0] > 0).sum(-1).float().mean().item(),
            "mse": (flat(y) - flat(out)).pow(2).sum(-1).mean().item(), "explained": variance.compute(),
            "losses": losses, "edits": edits, "feature": a, "effect": (d @ processed.W_U).tolist()}


def short(v):
    if isinstance(v, dict):
        return {key: short(x) for key, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [short(x) for x in v]
    return float(f"{v:.9g}") if isinstance(v, float) else v


def main():
    work = pathlib.Path(tempfile.mkdtemp())
    base(work / "model")
    manifest = {"ids": IDS, "cases": {}}
    for case in CASES:
        made(work / case[0], *case)
        manifest["cases"][case[0]] = short(judged(work / case[0], work / "model", *case))
    (work / "manifest.json").write_text(json.dumps(manifest))
    with tarfile.open(pathlib.Path(__file__).with_name("dictionaries.tar.gz"), "w:gz") as tar:
        for path in sorted(work.rglob("*")):
            if path.is_file() and path.name != "generation_config.json":
                info = tarfile.TarInfo(str(path.relative_to(work)))
                info.size = path.stat().st_size
                tar.addfile(info, io.BytesIO(path.read_bytes()))
    shutil.rmtree(work)


main()

"""TransformerLens judges what gpt shows and changes inside a model."""
import functools, math, re
import numpy, safetensors.numpy, torch
from transformer_lens import head_detector, patching
from transformer_lens.model_bridge import TransformerBridge
from transformer_lens.tools.analysis import direct_logit_attribution
from judge import Judge, apart

judge = Judge("transformer-lens")


@functools.cache
def bridge(folder, dtype, **processing):
    """The model as TransformerLens has it: raw, or processed."""
    b = TransformerBridge.boot_transformers(str(folder), device="cpu", dtype=dtype)
    b.set_use_attn_result(True)
    if processing:
        b.enable_compatibility_mode(disable_warnings=True, **processing)
    return b.eval()


def cached(folder, ids, **processing):
    """Its points of a text, of a type of torch."""
    def cache(dtype):
        return bridge(folder, dtype, **processing).run_with_cache(torch.tensor([ids]))[1]
    return functools.cache(cache)


with judge.claim("patching by head and position, of patterns, of single weights, and along paths",
                 by="transformer-lens", least=40) as claim:
    r = judge.random
    for folder, model, ids in judge.models(3):
        layers, heads = model.config.n_layer, model.config.n_head
        for turn in range(10):
            clean, noising = judge.ids(7, 3, ids), r.random() < .5
            other = r.sample(clean, len(clean) - 1) + [r.choice([i for i in ids if i != clean[-1]])]
            target, against, n = *r.sample(list(ids), 2), len(clean)
            flags = ["-m", folder, "--tokens", clean, "--tokens", other, "--json", "--target",
                     target, "--against", against, *["--noising"] * noising]

            def both(d):
                """The model, the text that is run, and the caches of the other and of this one."""
                b, sides = bridge(folder, d), (other, clean) if noising else (clean, other)
                source, run = (torch.tensor([side]) for side in sides)
                return b, run, b.run_with_cache(source)[1], b.run_with_cache(run)[1]

            def metric(logits):
                return logits[0, -1, target] - logits[0, -1, against]
            about = clean, other, target, against, noising
            place = ("z", "q", "k", "v", "pattern")[turn % 5]
            [ours] = judge.json("patch", *flags, "--at", place, "--by", "position")
            function = {"z": "get_act_patch_attn_head_out_by_pos",
                        "pattern": "get_act_patch_attn_head_pattern_by_pos"}.get(
                        place, f"get_act_patch_attn_head_{place}_by_pos")

            def positions(d): # [layer, position, head], but [layer, head, position] of patterns
                b, run, cache, _ = both(d)
                table = getattr(patching, function)(b, run, cache, metric)
                return (table if place == "pattern" else table.transpose(1, 2)).flatten(0, 1)
            claim.near((place, "position", *about), ours[f"attn.hook_{place}"], positions)

            [ours] = judge.json("patch", *flags, "--at", "pattern")
            claim.near(("pattern", *about), ours["attn.hook_pattern"], lambda d: patching.
                       get_act_patch_attn_head_pattern_all_pos(*both(d)[:3], metric))

            l, h = r.randrange(layers), r.randrange(heads)
            [ours] = judge.json("patch", *flags, "--at", "pattern", "--by", "edge", "--heads",
                                f"{l}.{h}")

            def edges(d):
                b, run, cache, _ = both(d)
                rows = torch.zeros(n, n, dtype=d)
                for to in range(n):
                    for key in range(n):
                        def hook(x, hook):
                            x[0, h, to, key] = cache[hook.name][0, h, to, key]
                            return x
                        rows[to, key] = metric(b.run_with_hooks(run, fwd_hooks=[
                            (f"blocks.{l}.attn.hook_pattern", hook)]))
                return rows
            claim.near(("edges", l, h, *about), ours["attn.hook_pattern"], edges)

            # path patching: the sender changes, all other heads and MLPs are frozen
            at, through = r.choice(["z", "mlp_out"]), r.random() < .5
            to = r.choice(["logits", f"{layers - 1}.{h}.{r.choice('qkv')}", f"{layers - 1}.{h}",
                           f"mlp.{layers - 1},{layers - 1}.{h}.q"])
            [ours] = judge.json("patch", *flags, "--at", at, "--to", to,
                                *["--through-mlps"] * through)

            def paths(d):
                b, run, cache, own = both(d)
                names, receivers = ["attn.hook_z"] + ["hook_mlp_out"] * (not through), []
                for name in to.split(","):
                    if name.startswith("mlp"):
                        receivers.append((f"blocks.{name[4:]}.mlp.hook_pre", slice(None)))
                    elif name != "logits":
                        layer, head, *part = name.split(".")
                        receivers += [(f"blocks.{layer}.attn.hook_{x}", int(head))
                                      for x in part or "qkv"]

                def value(layer, i):
                    sender = f"blocks.{layer}." + ("attn.hook_z" if at == "z" else "hook_mlp_out")
                    seen = {}

                    def change(x, hook, name): # the hook's own name may be another
                        if any(name.endswith(frozen) for frozen in names):
                            x = own[name].clone()
                        if name == sender:
                            where = (0, slice(None), i) if at == "z" else (0, i)
                            x[where] = cache[name][where]
                        if name in dict(receivers):
                            seen[name] = x.clone()
                        return x

                    def receive(x, hook, name):
                        for receiver, head in receivers:
                            if receiver == name:
                                where = (0, slice(None), head)
                                x[where] = seen[name][where]
                        return x

                    def hooks(names, f):
                        return [(name, functools.partial(f, name=name)) for name in names]
                    every = [f"blocks.{j}.{name}" for j in range(layers) for name in
                             ("attn.hook_z", "hook_mlp_out")] + [*dict(receivers)]
                    logits = b.run_with_hooks(run, fwd_hooks=hooks(every, change))
                    if receivers:
                        logits = b.run_with_hooks(run, fwd_hooks=hooks(dict(receivers), receive))
                    return metric(logits)
                return torch.stack([torch.stack([value(layer, i) for i in range(
                    heads if at == "z" else n)]) for layer in range(layers)])
            claim.near(("paths", at, to, through, *about),
                       ours["attn.hook_z" if at == "z" else "hook_mlp_out"], paths)

judge.end()

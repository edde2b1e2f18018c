"""TransformerLens judges what gpt shows and changes inside a model."""
import functools, itertools, json, math, re
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


with judge.claim("each point by name, raw and as TransformerLens processes models",
                 by="transformer-lens", least=200) as claim:
    for folder, model, ids in judge.models(3):
        ids = judge.ids(of=ids)
        for view, processing in ("raw", {}), ("transformerlens", {"fold_ln": True}):
            out = judge.folder() / "points.safetensors"
            judge.run("trace", "-m", folder, "--tokens", ids, "--points", "*", "--as", view,
                      "-o", out)
            ours, cache = safetensors.numpy.load_file(out), cached(folder, ids, **processing)
            claim.same(f"{view}: points", len(ours), 4 + 18 * model.config.n_layer)
            for name, values in ours.items():
                # the bridge's raw hook_normalized stands before gain and bias
                hook = name if processing else name.replace("hook_normalized", "hook_out")
                def theirs(d):
                    x = cache(d)[hook][0]
                    return x.masked_fill(x < -1e30, -math.inf) # scores of later tokens
                claim.near((view, name, ids), values, theirs)
            # the names that the bridge has beside these
            own = [f"blocks.0.{place}.hook_out" for place in ("attn.q", "attn.k", "attn.v",
                   "attn", "ln1", "ln2", "mlp.in", "mlp.out", "mlp")] + ["embed.hook_out",
                   "pos_embed.hook_out", "ln_final.hook_out", "blocks.0.hook_out",
                   *(f"blocks.0.{place}hook_in" for place in ("", "ln2.", "attn.o.", "mlp.out."))]
            judge.run("trace", "-m", folder, "--tokens", ids, "-o", out, "--force", "--points",
                      ",".join(own).replace("s.0.", f"s.-{model.config.n_layer}."))
            found = safetensors.numpy.load_file(out)
            for name in own:
                theirs = cached(folder, ids)(torch.float32)[name][0]
                claim.same((name, ids), any(x.shape == theirs.shape and apart(x, theirs) < 1e-4
                                            for x in found.values()), True)

with judge.claim("what heads look at: patterns, and the scores of head_detector's",
                 by="transformer-lens", least=20) as claim:
    for folder, _, ids in judge.models(3):
        ids = judge.ids(16, 12, ids)
        cache, flags = cached(folder, ids), ("-m", folder, "--tokens", ids, "--json")
        previous, duplicate, induction = (
            getattr(head_detector, f"get_{kind}_head_detection_pattern")(torch.tensor([ids]))
            for kind in ("previous_token", "duplicate_token", "induction"))
        twice = duplicate.sum(1) > 0
        for head in judge.json("attention", *flags)[0]["heads"]:
            def theirs(d):
                p = cache(d)[f"blocks.{head['layer']}.attn.hook_pattern"][0, head["head"]]
                rows = [(p * previous)[1:], p[1:, :1], p.diagonal()[1:, None],
                        (p * duplicate)[twice], (p * induction)[twice], torch.special.entr(p)[1:]]
                return p, torch.stack([row.sum(-1).mean() for row in rows])
            at = f"{head['layer']}.{head['head']}"
            names = "previous", "first", "self", "duplicate", "induction", "entropy"
            claim.near((at, ids), [head[name] for name in names], lambda d: theirs(d)[1])
            rows = judge.json("attention", *flags, "--head", at)[0]["pattern"]
            rows = [row + [0.] * (len(ids) - len(row)) for row in rows]
            claim.near(("pattern", at, ids), rows, lambda d: theirs(d)[0])

with judge.claim("what each part adds to a logit", by="transformer-lens", least=20) as claim:
    for folder, model, ids in judge.models(4):
        view = judge.random.choice(["raw", "transformerlens"])
        for against in None, judge.random.choice(ids):
            some, target = judge.ids(of=ids), judge.random.choice([i for i in ids if i != against])
            flags = ["--as", view, *([] if against is None else ["--against", against])]
            [ours] = judge.json("attribute", "-m", folder, "--tokens", some, "--json", "--target",
                                target, *flags)
            ours = ours["parts"]
            parts, heads = {"embed": ours["embed"], "pos_embed": ours["pos"]}, {}
            for l in range(model.config.n_layer):
                added = {f"L{l}H{h}": ours[f"head {l}.{h}"] for h in range(model.config.n_head)}
                parts[f"{l}_attn_out"] = ours[f"attn_bias {l}"] + sum(added.values())
                parts[f"{l}_mlp_out"] = ours[f"mlp {l}"]
                heads |= added
            for unit, values in ("head", heads), ("component", parts):
                def theirs(d): # raw: with the bias of values in each head
                    found = direct_logit_attribution(
                        bridge(folder, d, fold_value_biases=view != "raw"), torch.tensor([some]), target,
                        unit=unit, **{} if against is None else {"incorrect_tokens": against})
                    found = dict(zip(found.labels, found.attribution.flatten()))
                    return torch.stack([found[name] for name in values])
                claim.near((unit, target, against, some), [*values.values()], theirs)

with judge.claim("activation patching at each place", by="transformer-lens", least=32) as claim:
    r, heads = judge.random, {"z": "attn_head_out", **{x: f"attn_head_{x}" for x in "qkv"}}
    for folder, _, ids in judge.models(3):
        for place in ("resid_pre", "resid_mid", "attn_out", "mlp_out", *heads):
            clean, noising = judge.ids(7, 3, ids), r.random() < .5
            other = r.sample(clean, len(clean) - 1) + [r.choice([i for i in ids if i != clean[-1]])]
            target, against = r.sample(list(ids), 2)
            [ours] = judge.json("patch", "-m", folder, "--tokens", clean, "--tokens", other,
                                "--json", "--at", place, "--target", target, "--against", against,
                                *["--noising"] * noising)
            hook, function = f"hook_{place}", f"get_act_patch_{place}"
            if place in heads:
                hook, function = f"attn.{hook}", f"get_act_patch_{heads[place]}_all_pos"

            def theirs(d):
                model, sides = bridge(folder, d), (other, clean) if noising else (clean, other)
                source, run = (torch.tensor([side]) for side in sides)
                return getattr(patching, function)(
                    model, run, model.run_with_cache(source)[1],
                    lambda logits: logits[0, -1, target] - logits[0, -1, against])
            claim.near((place, clean, other, target, against, noising), ours[hook], theirs)

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

with judge.claim("heads and parts that are switched off, and tokens that are hidden",
                 by="transformer-lens", least=60) as claim:
    r, every = judge.random, slice(None)
    for folder, model, ids in judge.models(3):
        for i in range(20):
            some, flags, hooks = judge.ids(16, 4, ids), [], []
            processing = {"fold_ln": True} if i % 2 else {}
            for _ in range(r.choice([1, 1, 2])):
                l, h = r.randrange(model.config.n_layer), r.randrange(model.config.n_head)
                to = r.randrange(1, len(some))
                hidden, part = r.randrange(to), r.choice(["attn_out", "mlp_out", "resid_mid"])
                hook, at, flag = r.choice([
                    ("attn.hook_z", (every, every, h), ["--ablate", f"{l}.{h}"]),
                    ("attn.hook_attn_scores", (every, every, to, hidden),
                     ["--hide", f"{to}:{hidden}@{l}"]),
                    ("attn.hook_attn_scores", (every, h, to, hidden),
                     ["--hide", f"{to}:{hidden}@{l}.{h}"]),
                    (f"hook_{part}", every, ["--ablate", f"{part}.{l}"]),
                    ("mlp.hook_post", every, ["--ablate", f"mlp_post.{l}"])])

                def edit(x, hook, at=at, value=-math.inf if "scores" in hook else 0.):
                    x[at] = value # in place: a copy at hook_resid_mid would be the MLP's alone
                    return x
                hooks.append((f"blocks.{l}.{hook}", edit))
                flags += flag
            flags += ["--as", "transformerlens"] * bool(processing)
            plain = model(torch.tensor([some])).logits[0]
            if apart(plain - plain.mean(-1, keepdim=True), bridge(folder, torch.float32, **(
                    processing or {"fold_ln": True}))(torch.tensor([some]))[0]) > 1e-3:
                claim.skip("the bridge's processed model is another one")
                continue
            [ours] = judge.json("logits", "-m", folder, "--tokens", some, *flags)
            ours = numpy.array(ours["logits"])
            if processing: # its logits are centred
                ours -= ours.mean()
            claim.near((flags, some), ours, lambda d: bridge(folder, d, **processing)
                       .run_with_hooks(torch.tensor([some]), fwd_hooks=hooks)[0, -1])


def backward(model, ids, metric, names):
    """A metric of the logits after a text, and what the points have, with their gradients."""
    kept = {}

    def keep(x, hook, name):
        if not x.requires_grad:
            x.requires_grad_()
        x.retain_grad()
        kept[name] = x
        return x # where a hook reshapes, what it gets is apart

    with torch.enable_grad():
        logits = model.run_with_hooks(torch.tensor([ids]), fwd_hooks=[
            (n, functools.partial(keep, name=n)) for n in names])
        value = metric(logits[0, -1])
        value.backward()
    return value.item(), kept


def drawn(ids):
    """Flags of a metric, and the metric."""
    r = judge.random
    target, against = r.sample(list(ids), 2)
    return r.choice([
        (["--target", target], lambda x: x[target] - x.mean()),
        (["--target", target, "--against", against], lambda x: x[target] - x[against]),
        (["--target", target, "--logprob"], lambda x: x.log_softmax(-1)[target])])


with judge.claim("gradients by each point, and integrated ones", by="transformer-lens",
                 least=100) as claim:
    for folder, model, ids in judge.models(4):
        some, (flags, metric) = judge.ids(12, 4, ids), drawn(ids)
        out = judge.folder() / "gradients.safetensors"
        names = [f"blocks.{l}.{p}" for l in range(model.config.n_layer) for p in (
            "hook_resid_pre", "attn.hook_q", "attn.hook_k", "attn.hook_v", "attn.hook_pattern",
            "attn.hook_z", "hook_attn_out", "hook_resid_mid", "mlp.hook_pre", "mlp.hook_post",
            "hook_mlp_out", "hook_resid_post")] + ["hook_embed", "hook_pos_embed"]
        judge.run("trace", "-m", folder, "--tokens", some, "--points", ",".join(names), "-o", out,
                  "--gradient-of", *flags[1:])
        for name, ours in safetensors.numpy.load_file(out).items():
            def theirs(d):
                by = backward(bridge(folder, d), some, metric, [name])[1][name].grad[0]
                return by.tril() if "pattern" in name else by
            claim.near((name, flags, some), ours, theirs)
        steps = judge.random.randint(1, 4)
        [ours] = judge.json("saliency", "-m", folder, "--tokens", some, "--json", "--steps", steps,
                            *flags)

        def integrated(d):
            model, wte, total = bridge(folder, d), None, 0
            wte = model.run_with_cache(torch.tensor([some]))[1]["hook_embed"][0]
            for k in range(steps):
                kept = []

                def scale(x, hook):
                    kept.append((x.detach() * (k + .5) / steps).requires_grad_())
                    return kept[0]
                with torch.enable_grad():
                    metric(model.run_with_hooks(torch.tensor([some]), fwd_hooks=[
                        ("hook_embed", scale)])[0, -1]).backward()
                total = total + (kept[0].grad[0] * wte).sum(-1) / steps
            return total
        claim.near(("integrated", flags, some), ours["integrated"], integrated)

with judge.claim("attribution patching, and edges of heads and MLPs", by="transformer-lens",
                 least=8) as claim:
    for folder, model, ids in judge.models(4):
        (flags, metric), layers, heads = drawn(ids), model.config.n_layer, model.config.n_head
        clean, noising = judge.ids(9, 4, ids), judge.random.random() < .5
        other = judge.random.sample(clean, len(clean) - 1) + [
            judge.random.choice([i for i in ids if i != clean[-1]])]
        texts = ["-m", folder, "--tokens", clean, "--tokens", other, "--json", *flags,
                 *["--noising"] * noising]
        [ours] = judge.json("edges", *texts)
        ours = [row + [0.] * (1 + layers * (heads + 1) - len(row)) for row in ours["scores"]]

        def edges(d):
            b = TransformerBridge.boot_transformers(str(folder), device="cpu", dtype=d).eval()
            b.set_use_attn_result(True)
            b.set_use_split_qkv_input(True)
            base, source = (clean, other) if noising else (other, clean)
            one, two = (b.run_with_cache(torch.tensor([x]))[1] for x in (source, base))
            senders = [one["blocks.0.hook_resid_pre"][0] - two["blocks.0.hook_resid_pre"][0]]
            for l in range(layers):
                result = (one[f"blocks.{l}.attn.hook_result"] - two[f"blocks.{l}.attn.hook_result"])[0]
                senders += [*result.unbind(1), (one[f"blocks.{l}.hook_mlp_out"]
                                                - two[f"blocks.{l}.hook_mlp_out"])[0]]
            inputs = [f"blocks.{l}.hook_{x}" for l in range(layers)
                      for x in ("q_input", "k_input", "v_input", "resid_mid")]
            last = f"blocks.{layers - 1}.hook_resid_post"
            posts = [f"blocks.{l}.hook_resid_post" for l in range(layers)]
            by, rows = backward(b, base, metric, [*inputs, *posts])[1], []
            for i, name in enumerate([*inputs, last]):
                g = by[name].grad[0]
                if "mid" in name: # by the MLP's way alone
                    g = g - by[name.replace("mid", "post")].grad[0]
                g = g.unbind(1) if g.ndim == 3 else [g]
                before = 1 + i // 4 * (heads + 1) + heads * (i % 4 == 3) if name != last else None
                rows += [torch.stack([(s * x).sum() * (before is None or j < before)
                                      for j, s in enumerate(senders)]) for x in g]
            return torch.stack(rows)
        claim.near(("edges", flags, clean, other, noising), ours, edges)

        [ours] = judge.json("patch", *texts, "--gradient", "--at", "z")

        def patches(d):
            b, base, source = bridge(folder, d), *((clean, other) if noising else (other, clean))
            names = [f"blocks.{l}.attn.hook_z" for l in range(layers)]
            way, (value, by) = b.run_with_cache(torch.tensor([source]))[1], backward(b, base, metric, names)
            return torch.stack([((way[n] - by[n]) * by[n].grad)[0].sum((0, 2)) + value for n in names])
        claim.near(("z", flags, clean, other, noising), ours["attn.hook_z"], patches)

with judge.claim("weights of heads: singular values, eigenvalues, copying, tokens, composition",
                 by="transformer-lens", least=60) as claim:
    for folder, model, ids in judge.models(4):
        layers, heads = model.config.n_layer, model.config.n_head
        l, h = judge.random.randrange(layers), judge.random.randrange(heads)
        small = model.config.vocab_size < 1000
        [ours] = judge.json("circuit", "-m", folder, f"{l}.{h}", "--json", "--vectors", 3,
                            "--pairs", 20 if small else 0)
        b, at = bridge(folder, torch.float64, fold_ln=True), (f"{l}.{h}", model)
        matrices = {"ov": (b.OV[l, h], b.W_U), "qk": (b.QK[l, h], b.W_E.T)}
        for name, (matrix, right) in matrices.items():
            mine, (u, values, v) = ours[name], matrix.svd()
            claim.near((name, "singular values", *at), mine["singular"],
                       values[:model.config.n_embd // heads], 1e-5)
            for side, theirs in ("left", u), ("right", v): # up to the sign, where they are apart
                for i, vector in enumerate(mine["vectors"]):
                    apart_by = min(abs(values[i] - x) for j, x in enumerate(values) if j != i)
                    if apart_by > .02 * values[0]:
                        x = theirs[:, i]
                        sign = (u[:, i] @ torch.tensor(mine["vectors"][i]["left"]).double()).sign()
                        claim.near((name, side, i, *at), vector[side], x * sign, 1e-5)
            if small:
                full = b.W_E @ matrix.AB @ right
                found = [p["value"] for p in mine["pairs"]]
                claim.near((name, "the greatest", *at), found, full.flatten().topk(20)[0], 1e-5)
                claim.near((name, "pairs", *at), found, torch.stack(
                    [full[p["from"], p["to"]] for p in mine["pairs"]]), 1e-5)
        theirs = torch.linalg.eigvals(b.OV[l, h].B @ b.W_U @ b.W_E @ b.OV[l, h].A)
        mine = torch.tensor([complex(*v) for v in ours["eigenvalues"]], dtype=torch.complex128)
        claim.near(("eigenvalues", *at), mine.abs().sort()[0], theirs.abs().sort()[0], 1e-5)
        claim.near(("their squares", *at), *([(x ** 2).sum().real / (x.abs() ** 2).sum() + 1]
                                             for x in (mine, theirs)), 1e-5)
        claim.near(("copying", *at), [ours["copying"]],
                   [(theirs.sum() / theirs.abs().sum()).real], 1e-5)
        for mode in "QKV":
            scores = b.all_composition_scores(mode).scores
            theirs = torch.cat([scores[:l, :, l, h], scores[l, h, l + 1:]]).flatten()
            if len(theirs):
                claim.near(("composition", mode, *at), [
                    x[mode.lower()] for x in ours["composition"]], theirs, 1e-5)

with judge.claim("what neurons add to a logit, and the texts where one is strongest",
                 by="transformer-lens", least=8) as claim:
    for folder, model, ids in judge.models(4):
        some, (target, against) = judge.ids(of=ids), judge.random.sample(list(ids), 2)
        inner = model.config.n_inner or 4 * model.config.n_embd
        [ours] = judge.json("attribute", "-m", folder, "--tokens", some, "--json", "--target",
                            target, "--against", against, "--neurons", 1 << 30)
        l, i = judge.random.randrange(model.config.n_layer), judge.random.randrange(inner)

        def neurons(d):
            b = bridge(folder, d, fold_ln=True)
            cache = b.run_with_cache(torch.tensor([some]))[1]
            way = (b.W_U[:, target] - b.W_U[:, against]) / cache["ln_final.hook_scale"][0, -1]
            return cache[f"blocks.{l}.mlp.hook_post"][0, -1] * (b.W_out[l] @ way)
        claim.near(("neurons", l, target, against, some),
                   [ours["neurons"][f"neuron {l}.{j}"] for j in range(inner)], neurons, 1e-5)
        file, point = judge.folder() / "texts.jsonl", f"blocks.{l}.mlp.hook_post"
        texts = [judge.ids(of=ids) for _ in range(12)]
        file.write_text("".join(json.dumps({"tokens": t}) + "\n" for t in texts))
        [found] = judge.json("neuron", "-m", folder, f"{l}.{i}", "--json", file)
        largest = [bridge(folder, torch.float64).run_with_cache(torch.tensor([t]))[1][point]
                   [0, :, i].max() for t in texts]
        claim.near(("strongest", f"{l}.{i}", model), [s["value"] for s in found["strongest"]],
                   sorted(largest)[::-1][:10], 1e-5)

with judge.claim("heads that look as a pattern says", by="transformer-lens", least=40) as claim:
    for folder, model, ids in judge.models(3):
        ids = judge.ids(16, 12, ids)
        cache, own = cached(folder, ids), torch.rand(len(ids), len(ids)).tril()
        own /= own.sum(1, keepdim=True)
        file = judge.folder() / "own.json"
        file.write_text(json.dumps(own.tolist()))
        patterns = {file: own} | {name: getattr(
            head_detector, f"get_{name}{token}_head_detection_pattern")(torch.tensor([ids]))
            for name, token in (("previous", "_token"), ("duplicate", "_token"), ("induction", ""))}
        for (name, pattern), measure in itertools.product(patterns.items(), ("mul", "abs")):
            bos, current = judge.random.random() < .5, judge.random.random() < .5
            [ours] = judge.json("attention", "-m", folder, "--tokens", ids, "--json", "--pattern",
                                name, "--measure", measure, *["--exclude-bos"] * bos,
                                *["--exclude-current"] * current)

            def scores(d, whole=False):
                all = []
                for head in ours["heads"]:
                    p = cache(d)[f"blocks.{head['layer']}.attn.hook_pattern"][0, head["head"]]
                    if measure == "abs" and not whole: # which the original rounds
                        off = (p - pattern.to(d)).abs()
                        off[:, :bos] = 0
                        off = off - off.diag().diag() * current
                        all.append(1 - off.sum() / len(ids))
                    else:
                        all.append(head_detector.compute_head_attention_similarity_score(
                            p, pattern.to(d), exclude_bos=bos, exclude_current_token=current,
                            error_measure=measure))
                return all
            mine = [head["match"] for head in ours["heads"]]
            claim.near((name, measure, bos, current, ids), mine, scores, 1e-5)
            if measure == "abs":
                claim.near(("rounded", name, bos, current, ids), [x + 2 for x in mine],
                           lambda d: [x + 2 for x in scores(d, True)], 5e-4)

judge.end()

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


with judge.claim("circuits of heads from their weights: singular values and vectors, eigenvalues, "
                 "copying, pairs of tokens, composition", by="transformer-lens", least=60) as claim:
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
        claim.near(("their squares", *at), [(mine ** 2).sum().real], [(theirs ** 2).sum().real],
                   1e-5)
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

with judge.claim("heads that look as a pattern says", by="transformer-lens", least=60) as claim:
    for folder, model, ids in judge.models(3):
        ids = judge.ids(16, 12, ids)
        cache, own = cached(folder, ids), torch.rand(len(ids), len(ids)).tril()
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
            claim.near((name, measure, bos, current, ids), mine, scores)
            if measure == "abs":
                claim.near(("rounded", name, bos, current, ids), [x + 2 for x in mine],
                           lambda d: [x + 2 for x in scores(d, True)], 5e-4)

judge.end()

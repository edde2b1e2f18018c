"""tuned-lens, nnsight and repeng judge what gpt reads inside a model, and what it changes there."""
import json, urllib.request
import nnsight, numpy, torch, transformers, tuned_lens.model_surgery
from repeng import ControlModel, ControlVector, DatasetEntry, extract
from tuned_lens.nn.lenses import LogitLens, TunedLens
from judge import Judge

judge = Judge("nnsight", "tuned-lens", "repeng", "transformers")
tuned_lens.model_surgery._transformer_lens_available = False # it wants version 3

with judge.claim("what each layer would predict: logit lens and tuned lens",
                 by="tuned-lens, transformers", least=40) as claim:
    for folder, model, ids in judge.models(3):
        ids, target = judge.ids(9, of=ids), judge.random.choice(ids)
        tuned = TunedLens.from_model(model)
        for p in tuned.layer_translators.parameters():
            p.normal_(0, .2)
        tuned.save(saved := judge.folder() / "lens")
        for lens, flags in (LogitLens.from_model(model), []), (tuned, ["--tuned", saved]):
            [ours] = judge.json("lens", "-m", folder, "--tokens", ids, "--json", "--target", target,
                                "--top", 20, *flags)
            for l, layer in enumerate(ours["lens"]):
                for at, cell in enumerate(layer):
                    def theirs(d): # in order, and of the tokens named
                        out = model.to(d)(torch.tensor([ids]), output_hidden_states=True)
                        last = out.logits[0, at].log_softmax(-1)
                        q = last if l == model.config.n_layer else lens.to(d)(
                            out.hidden_states[l][0, at], l).log_softmax(-1)
                        p, kl = q.exp(), (last.exp() * (last - q)).sum()
                        return torch.cat([p.topk(20)[0], p[cell["top"] + [target]],
                                          torch.stack([torch.special.entr(p).sum(), kl])])
                    values = cell["p"] * 2 + [cell[k] for k in ("target_p", "entropy", "kl")]
                    claim.near((type(lens).__name__, l, at, ids), values, theirs)


MODULES = { # of transformers' blocks: where nnsight finds what a point has
    "hook_attn_out": lambda b: b.attn.c_proj.output, "mlp.hook_pre": lambda b: b.mlp.c_fc.output,
    "hook_mlp_out": lambda b: b.mlp.output, "mlp.hook_post": lambda b: b.mlp.act.output,
    "attn.hook_z": lambda b: b.attn.c_proj.input}


def change(x, edit, heads):
    """What an edit of the server does to what a module has, in place."""
    width = x.shape[-1] // heads
    at = slice(width * edit["head"], width * (edit["head"] + 1)) if "head" in edit else slice(None)
    part = x[:, edit.get("from", 0):edit.get("to"), at]
    values = torch.tensor(edit["values"], dtype=x.dtype).expand(part.shape)
    part.copy_({"set": values, "add": part + values, "scale": part * values}[edit["op"]])


with judge.claim("edits of a server's request, as interventions of nnsight",
                 by="nnsight", least=45) as claim:
    r = judge.random
    for folder, model, ids in judge.models(2):
        config = model.config
        with judge.server("-m", folder) as url:
            for _ in range(16):
                some, point = judge.ids(of=ids), r.choice([*MODULES])
                layer = r.randrange(config.n_layer)
                edit = {"at": f"blocks.{layer}.{point}", "op": r.choice(["set", "add", "scale"])}
                width = config.n_inner or 4 * config.n_embd
                if not point.startswith("mlp."):
                    width = config.n_embd
                if point == "attn.hook_z":
                    edit["head"], width = r.randrange(config.n_head), width // config.n_head
                number = 1 if edit["op"] == "scale" else r.choice([1, width])
                edit["values"] = [r.gauss(0, 1) for _ in range(number)]
                if r.random() < .5:
                    edit["from"] = r.randrange(len(some))
                    edit["to"] = r.randint(edit["from"] + 1, len(some))
                body = {"prompt": some, "max_tokens": 1, "temperature": 0, "logprobs": 5,
                        "edits": [edit], "return_tokens_as_token_ids": True}
                answer = urllib.request.urlopen(url + "/v1/completions", json.dumps(body).encode())
                [top] = json.load(answer)["choices"][0]["logprobs"]["top_logprobs"]

                def theirs(d):
                    seen = nnsight.NNsight(model.to(d))
                    with seen.trace(input_ids=torch.tensor([some])):
                        change(MODULES[point](seen.transformer.h[layer]), edit, config.n_head)
                        logits = seen.lm_head.output.save()
                    named = [int(name.removeprefix("token_id:")) for name in top]
                    return logits[0, -1].log_softmax(-1)[named]
                claim.near((edit, some), [*top.values()], theirs)

with judge.claim("control vectors that repeng writes change gpt's logits as its own",
                 by="repeng", least=30) as claim:
    r = judge.random
    for folder, model, ids in judge.models(3, n_layer=3):
        for _ in range(10):
            some, layers = judge.ids(of=ids), model.config.n_layer
            scale = r.choice([1, .5, -1, -.3, 2])
            drawn = lambda: numpy.array([r.gauss(0, .5) for _ in range(model.config.n_embd)], "f4")
            vector = ControlVector("gpt2", {l: drawn() for l in range(1, layers)})
            vector.export_gguf(path := judge.folder() / "vector.gguf")
            first = r.randrange(1, layers)
            chosen = range(first, r.randrange(first, layers) + 1)
            [ours] = judge.json("logits", "-m", folder, "--tokens", some, "--steer",
                                f"{path}:{scale}@{chosen[0]}-{chosen[-1]}")

            def theirs(d):
                steered = ControlModel(model.to(d), chosen)
                steered.set_control(vector, scale)
                logits = steered(torch.tensor([some])).logits[0, -1]
                steered.unwrap()
                return logits
            claim.near((some, scale, chosen), ours["logits"], theirs)

with judge.claim(
        "control vectors that gpt steer makes: repeng's pca_diff, and means of what it reads",
        by="repeng", least=10) as claim:
    def tokenizer(texts, **_):
        ids = torch.tensor([json.loads(t) for t in texts])
        return transformers.BatchEncoding({"input_ids": ids, "attention_mask": ids * 0 + 1})
    for folder, model, ids in judge.models(4, n_layer=3, n_embd=24, n_head=3):
        common = judge.random.choices(ids, k=4) # pairs have an odd number, so that most have a sign
        drawn = lambda: str(common + judge.random.choices(ids, k=2))
        more, less = ([drawn() for _ in range(9)] for _ in "+-")
        files = judge.folder()
        for side, texts in ("positive", more), ("negative", less):
            (files / side).write_text("\n".join('{"tokens": %s}' % text for text in texts))
        for method in "pca", "mean":
            judge.run("steer", "-m", folder, "--positive", files / "positive", "--negative",
                      files / "negative", "--input", "jsonl", "--method", method, "-o",
                      files / f"{method}.gguf")
            ours = ControlVector.import_gguf(files / f"{method}.gguf").directions
            inner = sorted(ours)[:-1] # of the last layer repeng reads what is after ln_f

            def theirs(d):
                model.to(d)
                if method == "pca":
                    pairs = [DatasetEntry(*pair) for pair in zip(more, less)]
                    found = ControlVector.train(model, tokenizer, pairs, hidden_layers=inner)
                    return numpy.stack([found.directions[l] for l in inner])
                a, b = (extract.batched_get_hiddens(model, tokenizer, side, inner, 32)
                        for side in (more, less))
                return numpy.stack([(a[l] - b[l]).mean(0) for l in inner])
            claim.near((method, more, less), numpy.stack([ours[l] for l in inner]), theirs)

judge.end()

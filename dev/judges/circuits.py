"""TransformerLens, nnsight, tuned-lens and repeng judge what gpt does inside a model."""
import functools, json, math, urllib.request, warnings
import nnsight, numpy, safetensors.numpy, torch, transformers, tuned_lens.model_surgery
from repeng import ControlModel, ControlVector, DatasetEntry, extract
from transformer_lens import head_detector, patching
from transformer_lens.model_bridge import TransformerBridge
from transformer_lens.tools.analysis import direct_logit_attribution
from tuned_lens.nn.lenses import LogitLens, TunedLens
from judge import Judge

judge = Judge("transformer-lens", "nnsight", "tuned-lens", "repeng", "transformers", "torch")
warnings.filterwarnings("ignore")
torch.set_grad_enabled(False)
tuned_lens.model_surgery._transformer_lens_available = False # it wants version 3
NEAR = 1e-4
# Of the demo these tokens alone: rows of wte that no text has trained are all the same.
DEMO = [7454, 2402, 257, 640, 11, 612, 373, 1310, 2576, 3706, 20037, 13, 5045, 2497, 607, 3290]


@functools.cache
def demo():
    folder = judge.folder() / "demo"
    judge.run("convert", "demo", folder, "--dtype", "f32")
    return folder


def folders(n, **fields):
    """The demo and n random checkpoints, with ids that a text may have."""
    yield demo(), DEMO
    # TransformerLens scales attention even where scale_attn_weights is false, so that its logits are
    # not transformers', and cannot process a model that is as wide as its vocabulary.
    fields = {"activation_function": "gelu_new", "vocab_size": 61, "tokenizer": None,
              "scale_attn_weights": True} | fields
    for _ in range(n):
        yield judge.checkpoint(**fields)[0], range(61)


def text(ids, least=2, most=16):
    """Ids of which some repeat, and how --tokens has them."""
    some = judge.random.choices(ids, k=8)
    drawn = judge.random.choices(some, k=judge.random.randint(least, most))
    return drawn, ",".join(map(str, drawn))


@functools.cache
def opened(folder, double=False):
    dtype = torch.float64 if double else torch.float32
    return transformers.GPT2LMHeadModel.from_pretrained(folder, dtype=dtype).eval()


@functools.cache
def bridge(folder, double=False, **processing):
    """The model as TransformerLens has it: raw, or processed."""
    dtype = torch.float64 if double else torch.float32
    b = TransformerBridge.boot_transformers(str(folder), device="cpu", dtype=dtype)
    if processing:
        b.enable_compatibility_mode(disable_warnings=True, **processing)
    return b.eval()


def cached(folder, ids, **processing):
    """Its caches of a text, in float32 and in float64."""
    return [bridge(folder, double, **processing).run_with_cache(torch.tensor([ids]))[1]
            for double in (False, True)]


def entropy(p):
    return torch.special.entr(p).sum(-1)


def near(claim, what, ours, theirs):
    """theirs gives the values of a model that opened or bridge makes, in float32 or float64."""
    claim.near(what, numpy.asarray(ours, numpy.float64), theirs(False), NEAR, lambda: theirs(True))


@judge.claim("each point by name, raw and as TransformerLens processes models",
             by="transformer-lens", least=200)
def _(claim):
    for folder, ids in folders(3):
        ids, tokens = text(ids)
        for view, processing in ("raw", {}), ("transformerlens", {"fold_ln": True}):
            out = judge.folder() / "points.safetensors"
            judge.run("trace", "-m", folder, "--tokens", tokens, "--points", "*", "--as", view,
                      "-o", out)
            ours = safetensors.numpy.load_file(out)
            caches = cached(folder, ids, **processing)
            layers = opened(folder).config.n_layer
            claim.same(f"{view}: points of {layers} layers", len(ours), 4 + 17 * layers)
            for name, array in ours.items():
                def theirs(double): # the bridge's raw hook_normalized stands before gain and bias
                    hook = name if processing else name.replace("hook_normalized", "hook_out")
                    x = caches[double][hook][0]
                    return x.masked_fill(x < -1e30, -math.inf) if "scores" in name else x
                near(claim, f"{view} {name} {tokens}", array, theirs)


@judge.claim("what heads look at: patterns, and the scores of head_detector's",
             by="transformer-lens", least=20)
def _(claim):
    for folder, ids in folders(3):
        ids, tokens = text(ids, 12)
        ours = json.loads(judge.run("attention", "-m", folder, "--tokens", tokens, "--json"))
        caches, kinds = cached(folder, ids), {}
        for kind in "previous_token", "duplicate_token", "induction":
            detect = getattr(head_detector, f"get_{kind}_head_detection_pattern")
            kinds[kind] = detect(torch.tensor([ids]))
        repeats = kinds["duplicate_token"].sum(1) > 0
        for head in ours["heads"]:
            def theirs(double):
                p = caches[double][f"blocks.{head['layer']}.attn.hook_pattern"][0, head["head"]]
                mean = lambda kind, rows: (p * kinds[kind]).sum(1)[rows].mean()
                return torch.stack([mean("previous_token", slice(1, None)), p[1:, 0].mean(),
                                    p.diagonal()[1:].mean(), mean("duplicate_token", repeats),
                                    mean("induction", repeats), entropy(p)[1:].mean()])
            near(claim, f"head {head['layer']}.{head['head']} {tokens}", [head[k] for k in (
                "previous", "first", "self", "duplicate", "induction", "entropy")], theirs)
        layer, h = [*judge.random.choice(ours["heads"]).values()][:2]
        ours = json.loads(judge.run("attention", "-m", folder, "--tokens", tokens, "--json",
                                    "--head", f"{layer}.{h}"))
        rows = [row + [0] * (len(ids) - len(row)) for row in ours["pattern"]]
        near(claim, f"pattern of {layer}.{h} {tokens}", rows,
             lambda double: caches[double][f"blocks.{layer}.attn.hook_pattern"][0, h])


@judge.claim("what each layer would predict: logit lens and tuned lens",
             by="tuned-lens, transformers", least=40)
def _(claim):
    for folder, ids in folders(3):
        ids, tokens = text(ids, 2, 9)
        target, model = judge.random.choice(ids), opened(folder)
        torch.manual_seed(judge.random.getrandbits(32))
        tuned = TunedLens.from_model(model)
        for p in tuned.layer_translators.parameters():
            p.normal_(0, .2)
        tuned.save(saved := judge.folder() / "lens")
        for lens, flags in (LogitLens.from_model(model), []), (tuned, ["--tuned", saved]):
            ours = json.loads(judge.run("lens", "-m", folder, "--tokens", tokens, "--json",
                                        "--target", target, "--top", 20, *flags))
            predictions = []
            for double in False, True:
                out = opened(folder, double)(torch.tensor([ids]), output_hidden_states=True)
                read = lens.double() if double else lens
                states = [read(h[0], i) for i, h in enumerate(out.hidden_states[:-1])]
                predictions.append(torch.stack(states + [out.logits[0]]).log_softmax(-1))
            for l, layer in enumerate(ours["lens"]):
                for at, cell in enumerate(layer):
                    def theirs(double): # in order, and of the tokens named
                        q, last = predictions[double][l, at], predictions[double][-1, at]
                        kl = (last.exp() * (last - q)).sum()
                        return torch.cat([q.topk(20)[0].exp(), q[cell["top"] + [target]].exp(),
                                          torch.stack([entropy(q.exp()), kl])])
                    values = cell["p"] * 2 + [cell[k] for k in ("target_p", "entropy", "kl")]
                    near(claim, f"{type(lens).__name__} layer {l} token {at} of {tokens}", values,
                         theirs)


@judge.claim("what each part adds to a logit", by="transformer-lens", least=20)
def _(claim):
    for folder, ids in folders(4):
        for against in None, judge.random.choice(ids):
            some, tokens = text(ids)
            target = judge.random.choice([i for i in ids if i != against])
            flags = [] if against is None else ["--against", against]
            ours = json.loads(judge.run("attribute", "-m", folder, "--tokens", tokens, "--json",
                                        "--target", target, *flags))["parts"]
            heads = {"L" + n[5:].replace(".", "H"): x for n, x in ours.items() if n[:5] == "head "}
            parts = {"embed": ours["embed"], "pos_embed": ours["pos"]}
            for l in range(sum(n.startswith("mlp ") for n in ours)):
                parts[f"{l}_mlp_out"] = ours[f"mlp {l}"]
                written = sum(x for n, x in heads.items() if n.startswith(f"L{l}H"))
                parts[f"{l}_attn_out"] = ours[f"attn_bias {l}"] + written
            for unit, values in ("head", heads), ("component", parts):
                def theirs(double): # with the bias of values in each head, as gpt has it
                    model = bridge(folder, double, fold_value_biases=False)
                    answers = {} if against is None else {"incorrect_tokens": against}
                    found = direct_logit_attribution(model, torch.tensor([some]), target, unit=unit,
                                                     **answers)
                    found = dict(zip(found.labels, found.attribution.flatten()))
                    return torch.stack([found[name] for name in values])
                near(claim, f"{unit} {target} {against} {tokens}", [*values.values()], theirs)


@judge.claim("activation patching at each place", by="transformer-lens", least=32)
def _(claim):
    places = {place: place for place in ("resid_pre", "resid_mid", "attn_out", "mlp_out")} | {
        "z": "attn_head_out_all_pos"} | {place: f"attn_head_{place}_all_pos" for place in "qkv"}
    for folder, ids in folders(3):
        for place, function in places.items():
            noising = judge.random.random() < .5
            clean = text(ids, 3, 7)[0]
            other = judge.random.sample(clean, len(clean) - 1)
            other.append(judge.random.choice([i for i in ids if i != clean[-1]]))
            target, against = judge.random.sample(list(ids), 2)
            both = [x for side in (clean, other) for x in ("--tokens", str(side))]
            ours = json.loads(judge.run("patch", "-m", folder, *both, "--json", "--at", place,
                                        "--target", target, "--against", against,
                                        *["--noising"] * noising))
            name = f"attn.hook_{place}" if place in "zqkv" else f"hook_{place}"

            def theirs(double):
                model = bridge(folder, double)
                sides = (other, clean) if noising else (clean, other)
                source, run = (torch.tensor([side]) for side in sides)
                patch = getattr(patching, "get_act_patch_" + function)
                return patch(model, run, model.run_with_cache(source)[1],
                             lambda logits: logits[0, -1, target] - logits[0, -1, against])
            near(claim, f"{place} {clean} {other} {target} {against} {noising}", ours[name],
                 theirs)


POINTS = {"z": "attn.hook_z", "scores": "attn.hook_attn_scores", "attn_out": "hook_attn_out",
          "mlp_out": "hook_mlp_out", "resid_mid": "hook_resid_mid", "mlp_post": "mlp.hook_post"}


@judge.claim("heads and parts that are switched off, and tokens that are hidden",
             by="transformer-lens", least=60)
def _(claim):
    r = judge.random
    for folder, ids in folders(3):
        config = opened(folder).config
        for _ in range(16):
            (ids_, tokens), flags, edits = text(ids, 4), [], []
            for _ in range(r.choice([1, 1, 2])):
                l, h = r.randrange(config.n_layer), r.randrange(config.n_head)
                to = r.randrange(1, len(ids_))
                point, at = r.choice([*POINTS]), slice(None)
                if point == "z":
                    at = (slice(None), slice(None), h)
                    flags += ["--ablate", f"{l}.{h}"]
                elif point == "scores":
                    where, every = r.choice([(f"@{l}", slice(None)), (f"@{l}.{h}", h)])
                    at = (slice(None), every, to, hidden := r.randrange(to))
                    flags += ["--hide", f"{to}:{hidden}{where}"]
                else:
                    flags += ["--ablate", f"{point}.{l}"]

                def edit(x, hook, at=at, value=-math.inf if point == "scores" else 0.):
                    x[at] = value # in place: a copy at hook_resid_mid would be the MLP's alone
                    return x
                edits.append((f"blocks.{l}.{POINTS[point]}", edit))
            ours = json.loads(judge.run("logits", "-m", folder, "--tokens", tokens, *flags))
            near(claim, f"{flags} {tokens}", ours["logits"], lambda double: bridge(
                folder, double).run_with_hooks(torch.tensor([ids_]), fwd_hooks=edits)[0, -1])


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


@judge.claim("edits of a server's request, as interventions of nnsight", by="nnsight", least=45)
def _(claim):
    r = judge.random
    for folder, ids in folders(2, vocab_size=64, tokenizer="small"):
        config = opened(folder).config
        with judge.server("-m", folder) as url:
            for _ in range(16):
                ids_, point, layer = text(ids)[0], r.choice([*MODULES]), r.randrange(config.n_layer)
                width = config.n_embd
                if point.startswith("mlp."):
                    width = config.n_inner or 4 * config.n_embd
                edit = {"at": f"blocks.{layer}.{point}", "op": r.choice(["set", "add", "scale"])}
                if point == "attn.hook_z":
                    edit["head"], width = r.randrange(config.n_head), width // config.n_head
                values = 1 if edit["op"] == "scale" else r.choice([1, width])
                edit["values"] = [r.gauss(0, 1) for _ in range(values)]
                if r.random() < .5:
                    edit["from"] = r.randrange(len(ids_))
                    edit["to"] = r.randint(edit["from"] + 1, len(ids_))
                body = {"prompt": ids_, "max_tokens": 1, "temperature": 0, "logprobs": 5,
                        "edits": [edit], "return_tokens_as_token_ids": True}
                request = urllib.request.Request(url + "/v1/completions", json.dumps(body).encode(),
                                                 {"Content-Type": "application/json"})
                answer = json.load(urllib.request.urlopen(request))["choices"][0]
                top = answer["logprobs"]["top_logprobs"][0]

                def theirs(double):
                    model = nnsight.NNsight(opened(folder, double))
                    with model.trace(input_ids=torch.tensor([ids_])):
                        change(MODULES[point](model.transformer.h[layer]), edit, config.n_head)
                        logits = model.lm_head.output.save()
                    ids = [int(name.removeprefix("token_id:")) for name in top]
                    return logits[0, -1].log_softmax(-1)[ids]
                near(claim, f"{edit} {ids_}", list(top.values()), theirs)


@judge.claim("control vectors that repeng writes change gpt's logits as its own",
             by="repeng", least=30)
def _(claim):
    r = judge.random
    for folder, ids in folders(3, n_layer=3):
        layers, width = opened(folder).config.n_layer, opened(folder).config.n_embd
        for _ in range(10):
            (ids_, tokens), scale = text(ids), r.choice([1, .5, -1, -.3, 2])
            drawn = numpy.random.default_rng(r.getrandbits(32)).normal(0, .5, (layers, width))
            vector = ControlVector("gpt2", dict(enumerate(drawn.astype(numpy.float32))))
            del vector.directions[0]
            path, first = judge.folder() / "vector.gguf", r.randrange(1, layers)
            vector.export_gguf(path)
            chosen = range(first, r.randrange(first, layers) + 1)
            flag = f"{path}:{scale}@{chosen[0]}-{chosen[-1]}"
            ours = json.loads(judge.run("logits", "-m", folder, "--tokens", tokens,
                                        "--steer", flag))["logits"]

            def theirs(double):
                model = ControlModel(opened(folder, double), chosen)
                model.set_control(vector, scale)
                logits = model(torch.tensor([ids_])).logits[0, -1]
                model.unwrap()
                return logits
            near(claim, f"{tokens} {scale} in {[*chosen]}", ours, theirs)


@judge.claim("control vectors that gpt steer makes: repeng's pca_diff, and means of what it reads",
             by="repeng", least=10)
def _(claim):
    def tokenizer(texts, **_):
        ids = torch.tensor([[*map(int, t.split())] for t in texts])
        mask = torch.ones_like(ids)
        return transformers.BatchEncoding({"input_ids": ids, "attention_mask": mask})
    for folder, ids in folders(4, n_layer=3, n_embd=24, n_head=3):
        common = judge.random.choices(ids, k=4) # pairs have an odd number, so that most have a sign
        prompt = lambda: " ".join(map(str, common + judge.random.choices(ids, k=2)))
        pairs = [DatasetEntry(prompt(), prompt()) for _ in range(9)]
        files = judge.folder()
        for side in "positive", "negative":
            lines = [json.dumps({"tokens": [*map(int, getattr(p, side).split())]}) for p in pairs]
            (files / side).write_text("\n".join(lines))
        for method in "pca", "mean":
            judge.run("steer", "-m", folder, "--positive", files / "positive", "--negative",
                      files / "negative", "--input", "jsonl", "--method", method, "-o",
                      files / f"{method}.gguf")
            ours = ControlVector.import_gguf(files / f"{method}.gguf").directions
            inner = sorted(ours)[:-1] # of the last layer repeng reads what is after ln_f

            def theirs(double):
                model = opened(folder, double)
                if method == "pca":
                    found = ControlVector.train(model, tokenizer, pairs, hidden_layers=inner)
                    return torch.tensor(numpy.stack([found.directions[l] for l in inner]))
                read = lambda texts: extract.batched_get_hiddens(model, tokenizer, texts, inner, 32)
                more, less = read([p.positive for p in pairs]), read([p.negative for p in pairs])
                return torch.tensor(numpy.stack([(more[l] - less[l]).mean(0) for l in inner]))
            near(claim, f"{method} of {pairs}", numpy.stack([ours[l] for l in inner]), theirs)


judge.end()

"""transformers judges what a model computes: logits, heads, hidden states, attention, perplexity."""
import copy, json
import safetensors.numpy, torch, transformers
from transformers.activations import ACT2FN
from judge import Judge

judge = Judge("transformers", "torch")
ACTIVATIONS = """gelu_new gelu_pytorch_tanh gelu_fast gelu_python_tanh gelu_accurate gelu gelu_python
quick_gelu relu silu swish tanh relu2 mish""".split()
TOLERANCE = 1e-4
torch.set_num_threads(1)


def random(**fields):
    """A checkpoint with what judge.checkpoint leaves out, its model, and the model in float64."""
    r = judge.random
    n_head, size = r.choice([1, 2, 3, 5]), r.choice([4, 8, 17, 20])
    folder, model = judge.checkpoint(**{
        "n_head": n_head, "n_embd": n_head * size,
        "n_layer": r.choice([1, 2, 3, 4]), "n_inner": r.choice([None, 1, 24, 51]),
        "activation_function": r.choice(ACTIVATIONS),
        "layer_norm_epsilon": r.choice([1e-12, 1e-5, 1e-3, .1, 2.]),
        "reorder_and_upcast_attn": r.random() < .5, "tie_word_embeddings": r.random() < .5,
        "scale_attn_weights": size > 8 or r.random() < .5, # else scores are so great that both round
        "scale_attn_by_inverse_layer_idx": r.random() < .5} | fields)
    return folder, model, copy.deepcopy(model).double()


def some_ids(most, least=1):
    return [judge.random.randrange(64) for _ in range(judge.random.randint(least, most))]


def answers(command, folder, texts, *flags):
    """The objects that gpt score and its like print for texts of ids."""
    lines = "".join(json.dumps({"tokens": ids}) + "\n" for ids in texts)
    out = judge.run(command, "-m", folder, *flags, input=lines)
    return [json.loads(line) for line in out.splitlines()]


def one_more(rows):
    return torch.cat([torch.ones_like(rows[:1]), rows])


def said(ids, config):
    """A case as it is printed: its ids and what of its config is not GPT-2's."""
    return f"{ids} {json.dumps(config.to_diff_dict())}"


@judge.claim("logits of random configs", by="transformers, torch", least=40)
@torch.no_grad()
def _(claim):
    for _ in range(40):
        folder, model, exact = random()
        ids = some_ids(model.config.n_positions)
        logits = lambda m: m(torch.tensor([ids])).logits[0]
        claim.near(said(ids, model.config), judge.logits(folder, ids), logits(model), TOLERANCE,
                   lambda: logits(exact))


@judge.claim("each activation of the library is computed, or refused by name",
             by="transformers, torch", least=20)
@torch.no_grad()
def _(claim):
    for name in ACT2FN:
        folder, model = judge.checkpoint(activation_function="relu")
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"activation_function": name}))
        if name in ACTIVATIONS:
            model = transformers.GPT2LMHeadModel.from_pretrained(folder)
            ids = some_ids(20)
            logits = lambda m: m(torch.tensor([ids])).logits[0]
            claim.near(said(ids, model.config), judge.logits(folder, ids), logits(model), TOLERANCE,
                       lambda: logits(model.double()))
        else:
            code, _, err = judge.both("logits", "-m", folder, "--tokens", "1")
            claim.same(f"{name}: {err}", code != 0 and "activation_function" in err and name in err, True)


@judge.claim("heads of classifiers: logits, scores and labels", by="transformers, torch", least=340)
@torch.no_grad()
def _(claim):
    r = judge.random
    for kind in ["SequenceClassification", "TokenClassification", "DoubleHeads"] * 10:
        fields, names = {}, [None]
        if kind != "DoubleHeads":
            names = [f"it is {i}" for i in range(r.choice([1, 2, 3, 7]))]
            problem = r.choice([None, "regression", "multi_label_classification"] +
                               ["single_label_classification"] * (len(names) > 1))
            fields = {"id2label": dict(enumerate(names)), "problem_type": problem}
        head = {"DoubleHeads": "GPT2DoubleHeadsModel"}.get(kind, "GPT2For" + kind)
        folder, model, exact = random(head=head, **fields)
        problem = fields.get("problem_type") if kind == "SequenceClassification" else None
        texts = [some_ids(model.config.n_positions) for _ in range(4)]
        for ids, got in zip(texts, answers("classify", folder, texts), strict=True):
            what = f"{kind} {said(ids, model.config)}"
            def logits(m): # [tokens or 1, labels]
                if kind == "DoubleHeads":
                    return m(torch.tensor([[ids]])).mc_logits
                return m(torch.tensor([ids])).logits.reshape(-1, len(names))
            right = logits(exact)
            rows = lambda x: x if kind == "TokenClassification" else [x]
            # A sum is as exact as what it is of: 1 at least.
            one = [1.] * len(names)
            claim.near(what, [one, *rows(got["logits"])], one_more(logits(model)), TOLERANCE,
                       lambda: one_more(right))
            if kind == "DoubleHeads":
                continue
            if problem == "regression": # the three as the library's pipelines have them
                want = right
            elif problem == "multi_label_classification" or kind[0] == "S" and len(names) == 1:
                want = right.sigmoid()
            else:
                want = right.softmax(-1)
            scores = [one] + [[s[n] for n in names] for s in rows(got["scores"])]
            claim.near(f"{what}: scores", scores, one_more(want), TOLERANCE)
            claim.same(f"{what}: labels", list(rows(got["label"])), [names[i] for i in right.argmax(-1)])
        code, _, err = judge.both("logits", "-m", folder, "--tokens", "1")
        headless = kind != "DoubleHeads" and not model.config.tie_word_embeddings
        claim.same(f"{kind}, tied {not headless}: {err}", code != 0 and "no output head" in err, headless)
        judge.run("convert", folder, folder / "converted")
        back = type(model).from_pretrained(folder / "converted").state_dict()
        claim.same(f"{kind}, tied {not headless}: gpt convert",
                   all(torch.equal(x, back[name]) for name, x in model.state_dict().items()), True)


@judge.claim("hidden states and attention: gpt trace and gpt embed",
             by="transformers, torch", least=130)
@torch.no_grad()
def _(claim):
    for _ in range(25):
        # In float64 the library refuses attention that is reordered and upcast.
        head = judge.random.choice(["GPT2LMHeadModel", "GPT2Model"])
        folder, model, exact = random(reorder_and_upcast_attn=False, head=head)
        ids = some_ids(model.config.n_positions)
        states = lambda m: m(torch.tensor([ids]), output_hidden_states=True).hidden_states
        patterns = lambda m: m(torch.tensor([ids]), output_attentions=True).attentions
        for m in (model, exact): # eager is the one that returns attention's weights
            m.set_attn_implementation("eager")
        theirs, right = states(model), states(exact)
        path = judge.folder() / "x.safetensors"
        judge.run("trace", "-m", folder, "--tokens", ",".join(map(str, ids)), "-o", path,
                  "--points", "resid_pre.*,pattern.*")
        ours = safetensors.numpy.load_file(path)
        for n, (a, b) in enumerate(zip(patterns(model), patterns(exact), strict=True)):
            what = f"layer {n}, {said(ids, model.config)}"
            stream, pattern = (ours[f"blocks.{n}.{point}"]
                               for point in ("hook_resid_pre", "attn.hook_pattern"))
            claim.near(what, stream, theirs[n][0], TOLERANCE, lambda: right[n][0])
            claim.near(f"{what}: pattern", pattern, a[0], TOLERANCE, lambda: b[0])
        for n in range(len(theirs)): # the last is after ln_f
            how = judge.random.choice(["mean", "weighted", "last"])
            [got] = answers("embed", folder, [ids], "--layer", n, "--pooling", how)
            weights = {"mean": torch.ones(len(ids)), "weighted": torch.arange(1., len(ids) + 1),
                       "last": torch.eye(len(ids))[-1]}[how].double()
            pooled = lambda states: weights @ states[n][0].double() / weights.sum()
            claim.near(f"{how}, layer {n}, {said(ids, model.config)}", got["embedding"],
                       pooled(theirs), TOLERANCE, lambda: pooled(right))


def strided(model, ids, window, stride):
    """The loop of transformers' page "Perplexity of fixed-length models"."""
    input_ids, nll_sum, n_tokens, prev_end_loc = torch.tensor([ids]), 0., 0, 0
    for begin_loc in range(0, len(ids), stride):
        end_loc = min(begin_loc + window, len(ids))
        trg_len = end_loc - prev_end_loc
        part = input_ids[:, begin_loc:end_loc]
        target_ids = part.clone()
        target_ids[:, :-trg_len] = -100
        num_loss_tokens = (target_ids != -100).sum().item() - target_ids.size(0)
        if num_loss_tokens: # else the mean of no tokens is NaN
            nll_sum += model(part, labels=target_ids).loss * num_loss_tokens
        n_tokens += num_loss_tokens
        prev_end_loc = end_loc
        if end_loc == len(ids):
            break
    return torch.exp(nll_sum / n_tokens)


@judge.claim("perplexity in strided windows, as the library's page has it",
             by="transformers, torch", least=80)
@torch.no_grad()
def _(claim):
    for _ in range(20):
        folder, model, exact = random()
        for _ in range(4):
            ids, window = some_ids(200, 4), judge.random.randint(3, model.config.n_positions)
            stride = judge.random.choice([window, judge.random.randint(2, window)])
            out = judge.run("perplexity", "-m", folder, "--json", "--window", window,
                            "--stride", stride, "--tokens", "-", input=json.dumps(ids))
            perplexity = lambda m: strided(m, ids, window, stride)
            claim.near(f"window {window}, stride {stride}, {said(ids, model.config)}",
                       json.loads(out)["perplexity"], perplexity(model), TOLERANCE, lambda: perplexity(exact))


@judge.claim("gpt score: log-probabilities, ranks and entropies", by="transformers, torch", least=240)
@torch.no_grad()
def _(claim):
    for _ in range(20):
        folder, model, exact = random()
        texts = [some_ids(model.config.n_positions, 2) for _ in range(4)]
        for ids, got in zip(texts, answers("score", folder, texts), strict=True):
            what, next_ids = said(ids, model.config), torch.tensor(ids[1:])[:, None]
            logits = lambda m: m(torch.tensor([ids])).logits[0, :-1] # [tokens - 1, vocab_size]
            size = logits(exact).abs().max()[None] # a log-probability is as exact as its logits
            right = logits(exact).log_softmax(-1)
            of = lambda rows: torch.cat([size, rows.gather(1, next_ids)[:, 0]])
            claim.near(what, [size.item(), *got["logprobs"][1:]], of(logits(model).log_softmax(-1)),
                       TOLERANCE, lambda: of(right))
            entropies = torch.cat([size, -(right.exp() * right).sum(-1)])
            claim.near(f"{what}: entropies", [size.item(), *got["entropies"][1:]], entropies, TOLERANCE)
            beyond = right - right.gather(1, next_ids)
            alone = (beyond.abs() < TOLERANCE * size).sum(-1) == 1 # no other is all but as likely
            ranks = torch.tensor(got["ranks"][1:])
            claim.same(f"{what}: ranks", ranks[alone], (beyond > 0).sum(-1)[alone])


judge.end()

"""transformers judges what a model computes: logits, heads, hidden states, perplexity, scores."""
import json
import numpy, safetensors.numpy, torch, transformers
from transformers.activations import ACT2FN
from judge import Judge

judge = Judge("transformers", "torch")
ACTIVATIONS = """gelu_new gelu_pytorch_tanh gelu_fast gelu_python_tanh gelu_accurate gelu
    gelu_python quick_gelu relu silu swish tanh relu2 mish""".split()


def random(**fields):
    """A checkpoint with what judge.checkpoint leaves out, its model, and what draws ids for it."""
    r, size = judge.random, judge.random.choice([4, 8, 17, 20])
    n_head = r.choice([1, 2, 3, 5])
    folder, model = judge.checkpoint(**{
        "n_head": n_head, "n_embd": n_head * size, "n_layer": r.choice([1, 2, 3, 4]),
        "n_inner": r.choice([None, 1, 24, 51]), "activation_function": r.choice(ACTIVATIONS),
        "layer_norm_epsilon": r.choice([1e-12, 1e-5, 1e-3, .1, 2.]),
        "reorder_and_upcast_attn": r.random() < .5, "tie_word_embeddings": r.random() < .5,
        # else scores are so great that both round
        "scale_attn_weights": size > 8 or r.random() < .5,
        "scale_attn_by_inverse_layer_idx": r.random() < .5} | fields)
    return folder, model, lambda least=1: r.choices(range(64), k=r.randint(
        least, model.config.n_positions))


def logits(model, ids):
    """A function of the type: [tokens, vocab_size]."""
    return lambda d: model.to(d)(torch.tensor([ids])).logits[0]


def answers(command, folder, texts, *flags):
    return judge.json(command, "-m", folder, *flags, input=[{"tokens": ids} for ids in texts])


with judge.claim("logits of random configs", by="transformers, torch", least=40) as claim:
    for _ in range(40):
        judge.agree(claim, "logits", *random()[:2])

with judge.claim("each activation of the library is computed, or refused by name",
                 by="transformers, torch", least=20) as claim:
    for name in ACT2FN:
        folder, _ = judge.checkpoint(activation_function="relu")
        config = json.loads((folder / "config.json").read_text()) | {"activation_function": name}
        (folder / "config.json").write_text(json.dumps(config))
        if name not in ACTIVATIONS:
            claim.refused(name, judge.logits(folder, [1]), f'activation_function: "{name}"')
        else:
            judge.agree(claim, name, folder, transformers.GPT2LMHeadModel.from_pretrained(folder))

with judge.claim("heads of classifiers: logits, scores and labels",
                 by="transformers, torch", least=340) as claim:
    r, double = judge.random, torch.float64
    for head in ["GPT2ForSequenceClassification", "GPT2ForTokenClassification",
                 "GPT2DoubleHeadsModel"] * 10:
        names, problem = [f"it is {i}" for i in range(r.choice([1, 2, 3, 7]))], None
        if head == "GPT2ForSequenceClassification":
            problem = r.choice([None, "regression", "multi_label_classification"] +
                               ["single_label_classification"] * (len(names) > 1))
        named = {"id2label": dict(enumerate(names)), "problem_type": problem}
        if head == "GPT2DoubleHeadsModel":
            names, named = [None], {}
        folder, model, some = random(head=head, **named)
        one = torch.ones(1, len(names)) # a sum is as exact as what it is of: 1 at least
        texts = [some() for _ in range(4)]
        for ids, got in zip(texts, answers("classify", folder, texts)):
            def theirs(d): # [tokens or 1, labels]
                out = model.to(d)(torch.tensor([ids] if named else [[ids]]))
                return (out.logits if named else out.mc_logits).reshape(-1, len(names))
            ours = numpy.reshape(got["logits"], (-1, len(names)))
            claim.near((head, ids, model), numpy.concatenate([one, ours]),
                       lambda d: torch.cat([one, theirs(d)]))
            if named: # scores as the library's pipelines have them
                right = theirs(double)
                each = problem == "multi_label_classification" or (
                    "Sequence" in head and len(names) == 1)
                want = right if problem == "regression" else (
                    right.sigmoid() if each else right.softmax(-1))
                scores, label = ([x] if isinstance(x, (dict, str)) else x for x in (
                    got["scores"], got["label"]))
                scores = [[s[n] for n in names] for s in scores]
                claim.near(("scores", head, ids, model), numpy.concatenate([one, scores]),
                           torch.cat([one, want]))
                claim.same(("labels", head, ids, model), label,
                           [names[i] for i in right.argmax(-1)])
        headless = bool(named) and not model.config.tie_word_embeddings
        error = judge.error("logits", "-m", folder, "--tokens", 1)
        claim.same((head, model, error), "no output head" in error, headless)
        judge.run("convert", folder, folder / "converted")
        back = type(model).from_pretrained(folder / "converted").state_dict()
        same = {k: torch.equal(x, back[k]) for k, x in model.to(torch.float32).state_dict().items()}
        claim.same(("convert", head, model), same, dict.fromkeys(same, True))

with judge.claim("hidden states and attention: gpt trace and gpt embed",
                 by="transformers, torch", least=130) as claim:
    for _ in range(25):
        # In float64 the library refuses attention that is reordered and upcast.
        head = judge.random.choice(["GPT2LMHeadModel", "GPT2Model"])
        folder, model, some = random(reorder_and_upcast_attn=False, head=head)
        model.set_attn_implementation("eager") # the one that returns attention's weights
        ids, path = some(), judge.folder() / "x.safetensors"
        states = lambda d: model.to(d)(torch.tensor([ids]), output_hidden_states=True).hidden_states
        patterns = lambda d: model.to(d)(torch.tensor([ids]), output_attentions=True).attentions
        judge.run("trace", "-m", folder, "--tokens", ids, "-o", path, "--points",
                  "resid_pre.*,pattern.*")
        ours = safetensors.numpy.load_file(path)
        for n in range(model.config.n_layer):
            claim.near((n, ids, model), ours[f"blocks.{n}.hook_resid_pre"],
                       lambda d: states(d)[n][0])
            claim.near(("pattern", n, ids, model), ours[f"blocks.{n}.attn.hook_pattern"],
                       lambda d: patterns(d)[n][0])
        for n in range(model.config.n_layer + 1): # the last is after ln_f
            how = judge.random.choice(["mean", "weighted", "last"])
            weights = {"mean": torch.ones(len(ids)), "weighted": torch.arange(1., len(ids) + 1),
                       "last": torch.eye(len(ids))[-1]}[how]
            [got] = answers("embed", folder, [ids], "--layer", n, "--pooling", how)
            claim.near((how, n, ids, model), got["embedding"],
                       lambda d: weights.to(d) @ states(d)[n][0] / weights.sum())


def strided(model, ids, window, stride):
    """The loop of transformers' page "Perplexity of fixed-length models"."""
    nll_sum, n_tokens, end_loc = 0., 0, 0
    for begin_loc in range(0, len(ids), stride):
        part = torch.tensor([ids[begin_loc:begin_loc + window]])
        trg_len = begin_loc + part.shape[1] - end_loc
        end_loc += trg_len
        target_ids = part.clone()
        target_ids[:, :-trg_len] = -100
        if trg_len > 1: # else the mean of no tokens is NaN
            nll_sum += model(part, labels=target_ids).loss * (trg_len - 1)
            n_tokens += trg_len - 1
        if end_loc == len(ids):
            return torch.exp(nll_sum / n_tokens)


with judge.claim("perplexity in strided windows, as the library's page has it",
                 by="transformers, torch", least=80) as claim:
    for _ in range(20):
        folder, model, _ = random()
        for _ in range(4):
            ids, window = judge.ids(200, 4), judge.random.randint(3, model.config.n_positions)
            stride = judge.random.choice([window, judge.random.randint(2, window)])
            [out] = judge.json("perplexity", "-m", folder, "--json", "--window", window, "--stride",
                               stride, "--tokens", "-", input=json.dumps(ids))
            claim.near((window, stride, ids, model), out["perplexity"],
                       lambda d: strided(model.to(d), ids, window, stride))

with judge.claim("gpt score: log-probabilities, ranks and entropies", by="transformers, torch",
                 least=240) as claim:
    for _ in range(20):
        folder, model, some = random()
        texts = [some(2) for _ in range(4)]
        for ids, got in zip(texts, answers("score", folder, texts)):
            right = logits(model, ids)(torch.float64)[:-1] # [tokens - 1, vocab_size]
            size = right.abs().max()[None] # a log-probability is as exact as its logits
            chosen = torch.tensor(ids[1:])[:, None]
            logprobs = lambda d: logits(model, ids)(d)[:-1].log_softmax(-1)
            claim.near((ids, model), [size.item(), *got["logprobs"][1:]],
                       lambda d: torch.cat([size, logprobs(d).gather(1, chosen)[:, 0]]))
            claim.near(("entropies", ids, model), [size.item(), *got["entropies"][1:]],
                       lambda d: torch.cat([size, torch.special.entr(logprobs(d).exp()).sum(-1)]))
            beyond = right - right.gather(1, chosen)
            alone = (beyond.abs() < judge.tolerance * size).sum(-1) == 1 # no other is as likely
            claim.same(("ranks", ids, model), torch.tensor(got["ranks"][1:])[alone],
                       (beyond > 0).sum(-1)[alone])

judge.end()

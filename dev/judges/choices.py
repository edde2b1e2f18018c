"""transformers judges how tokens are chosen: distributions, texts, beams, what ends a text."""
import copy, functools, json, pathlib
import numpy, torch, transformers
from transformers import GenerationConfig
from transformers.modeling_outputs import CausalLMOutputWithCrossAttentions
from gpt import rows
from judge import Judge, apart

judge = Judge("transformers", "torch")
VOCAB, END = 64, [63, 30, 52] # the ids that may end a text: <|endoftext|>, e, th
# Options of how a text is chosen: the chance of each, its field of GenerationConfig, gpt's flag and
# values; what of generation_config.json is taken, and what is told as not taken.
OPTIONS = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())


class Exact(transformers.GPT2LMHeadModel):
    """The judge where it does not round. Its logits are those of gpt, which must be near to its
    own, so that tokens that are all but equally likely are so for both."""

    def forward(self, input_ids=None, attention_mask=None, **_):
        logits = numpy.stack([judge.logits(self.checkpoint, ids) for ids in input_ids.tolist()])
        assert apart(logits, super().forward(input_ids).logits) < judge.tolerance
        return CausalLMOutputWithCrossAttentions(logits=torch.tensor(logits).double())


def random():
    """A checkpoint, its model, the same where it is exact, and the tokenizer."""
    ends = judge.random.sample(END, judge.random.choice([1, 1, 2, 3]))
    folder, model = judge.checkpoint(eos_token_id=ends if ends[1:] else ends[0], n_positions=64)
    exact = copy.deepcopy(model).double()
    exact.__class__, exact.checkpoint = Exact, folder
    return folder, model, exact, transformers.GPT2Tokenizer.from_pretrained(folder)


def drawn(tokenizer, how):
    """Random options: fields of a GenerationConfig, arguments of generate, and gpt's flags."""
    r, fields, others, flags = judge.random, {"top_k": 0, "do_sample": how == "drawn"}, {}, []
    for chance, field, flag, values in OPTIONS["all"] + OPTIONS[how]:
        if r.random() < chance:
            fields[field] = value = r.choice(values)
            flags += [f"--{flag}", value if isinstance(value, list) else str(value).lower()]
    texts = [tokenizer.decode(r.choices(range(63), k=r.randint(1, 3))) for _ in range(4)]
    bad, *biased = [(text, tokenizer(text)["input_ids"]) for text in texts]
    if r.random() < .3:
        fields["sequence_bias"] = {tuple(ids): r.randint(-20, 20) / 4 for _, ids in biased}
        flags += [f"--sequence-bias={text}={fields['sequence_bias'][tuple(ids)]}"
                  for text, ids in dict(biased).items()]
    if r.random() < .2 and (bad[1][1:] or bad[1][0] not in END): # it bans no token that ends a text
        fields["bad_words_ids"] = [bad[1]]
        flags.append(f"--sequence-bias={bad[0]}=-inf")
    some = r.sample(range(VOCAB), r.randint(3, 9))
    if r.random() < .2:
        fields["suppress_tokens"] = some
        flags += [f"--logit-bias={id}=-inf" for id in some]
    elif how == "drawn" and r.random() < .1:
        others["prefix_allowed_tokens_fn"] = lambda batch, ids: some
        flags += [f"--allow={id}" for id in some]
    if how != "beams" and r.random() < .2: # the library's fails with them
        fields["guidance_scale"] = r.choice([.5, 1.5, 3.])
        flags += ["--guidance", fields["guidance_scale"]]
        if r.random() < .7:
            others["negative_prompt_ids"] = torch.tensor([bad[1]])
            flags.append(f"--negative={bad[0]}")
    return fields, others, flags


def distribution(model, ids, new, fields, others):
    """What the library's processors make of the logits after ids, the last of which are new."""
    config, start = GenerationConfig(**fields, num_beams=1, num_return_sequences=1,
                                     eos_token_id=model.config.eos_token_id), len(ids) - new
    model._prepare_special_tokens(config)
    processors = model._get_logits_processor(config, start, torch.tensor([ids[:start]]),
                                             device="cpu", model_kwargs={}, **others)
    ids = torch.tensor([ids])
    return processors(ids, model(ids).logits[:, -1]).softmax(-1)[0]


with judge.claim("the whole distribution after random sets of processors", by="transformers, torch",
                 least=450) as claim:
    for _ in range(20):
        folder, model, exact, tokenizer = random()
        for _ in range(25):
            (fields, others, flags), ids = drawn(tokenizer, "drawn"), judge.ids(30)
            new = 0 if "guidance_scale" in fields else judge.random.randrange(len(ids))
            theirs = lambda d: distribution(model if d == torch.float32 else exact, ids, new,
                                            fields, others)
            code, out, err = judge.both("next", "-m", folder, "--json", "--top", 0, "--new", new,
                                        *flags, "--tokens", ids)
            if code and theirs(torch.float32).isnan().all():
                claim.skip("no token is left, an error here and NaN there")
                continue
            ours = numpy.zeros(VOCAB)
            for c in json.loads(out or "{}").get("candidates", []):
                ours[c["id"]] = c["prob"]
            claim.near((flags, new, ids, model, err), ours, theirs)


def generated(model, ids, **options):
    """The texts of generate: their new ids and whether each ended, and their scores."""
    ends = model.generation_config.eos_token_id
    ends = [] if ends is None else numpy.atleast_1d(ends).tolist()
    out = model.generate(
        torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), pad_token_id=0,
        output_scores=True, return_dict_in_generate=True, use_cache=not isinstance(model, Exact),
        **options)
    found = []
    for new in out.sequences[:, len(ids):].tolist():
        at = next((i for i, id in enumerate(new) if id in ends), None)
        found.append([new[:at], "length" if at is None else "end_of_text"])
    # A sum near 0 is as exact as its logits.
    return found, [1., *out.get("sequences_scores", torch.zeros(1)).tolist()]


def written(folder, ids, *flags):
    """What gpt generate prints, and what it tells."""
    _, out, err = judge.both("generate", "-m", folder, "--output", "json", "--tokens", ids, *flags)
    return rows(out), err


def judged(claim, how, *more):
    for _ in range(15):
        folder, model, exact, tokenizer = random()
        for _ in range(10):
            (fields, others, flags), ids = drawn(tokenizer, how), judge.ids(20)
            most = judge.random.randint(1, 20)
            found = functools.cache(lambda d: generated(
                model if d == torch.float32 else exact, ids, max_new_tokens=most, **fields,
                **others))
            out, err = written(folder, ids, "-n", most, *flags, *more)
            if claim.same((most, flags, ids, model, err), [[o["ids"], o["finish_reason"]] for o in
                                                           out], lambda d: found(d)[0]):
                claim.near(("scores", most, flags, ids, model),
                           [1., *(o.get("score", 0.) for o in out)], lambda d: found(d)[1], 1e-5)


with judge.claim("greedy texts under random processors", by="transformers, torch",
                 least=150) as claim:
    judged(claim, "greedy", "--temp", 0)

with judge.claim("beam search: texts, their order, their scores", by="transformers, torch",
                 least=200) as claim:
    claim.skip("searches that the library has no more: contrastive, diverse beams", 2)
    judged(claim, "beams")

def saved(most):
    """Random fields of a generation_config.json that gpt takes, and some that it names."""
    r = judge.random
    fields = {name: r.choice(values) for name, values in OPTIONS["saved"].items() if r.random() < .3}
    for name in ["suppress_tokens", "begin_suppress_tokens"]:
        if r.random() < .3:
            fields[name] = r.sample(range(VOCAB + 9), r.randint(0, 9)) # ids beyond do nothing
    if r.random() < .3:
        fields["bad_words_ids"] = [r.choices(range(VOCAB), k=k) for k in r.choices([1, 1, 2], k=9)]
    return fields, dict(r.sample([*OPTIONS["named"].items()], r.randint(0, most)))


with judge.claim("generation_config.json: what ends a text is honoured, the rest taken or named",
                 by="transformers", least=200) as claim:
    r = judge.random
    for _ in range(80):
        (folder, model, exact, _), ids, (fields, named) = random(), judge.ids(20), saved(5)
        ends = r.choice([None, r.randrange(VOCAB), r.sample(range(VOCAB), r.randint(2, 30))])
        fields |= {"max_new_tokens": r.randint(1, 20), "do_sample": False, "eos_token_id": ends}
        file = {name: value for name, value in fields.items() if value is not None} | named
        (folder / "generation_config.json").write_text(json.dumps(file))
        loaded = GenerationConfig.from_pretrained(folder)
        for m in model, exact:
            m.generation_config = GenerationConfig(
                **{name: getattr(loaded, name) for name in fields if name != "bad_words_ids"},
                bad_words_ids=fields.get("bad_words_ids"))
        out, err = written(folder, ids)
        claim.same((file, ids, model, err), out and out[0]["ids"],
                   lambda d: generated(model if d == torch.float32 else exact, ids)[0][0][0])
        for name in named:
            told = "generation_config.json: not taken" in err and name in err
            claim.same((name, file, err), told, True)

with judge.claim("generation_config.json: the distribution of what it says of sampling",
                 by="transformers, torch", least=60) as claim:
    for _ in range(80):
        (folder, model, exact, _), ids, (fields, _) = random(), judge.ids(20), saved(0)
        fields |= {"top_k": judge.random.choice([0, 5, 20]), "do_sample": True}
        (folder / "generation_config.json").write_text(json.dumps(
            fields | {"eos_token_id": model.config.eos_token_id}))
        code, _, err = judge.both("generate", "-m", folder, "--receipt", folder / "receipt",
                                  "-n", 1, "--tokens", ids)
        if code:
            claim.skip("no token is left, an error here and NaN there")
            continue
        flags = json.loads((folder / "receipt").read_text())["generation_config"]
        ours = numpy.zeros(VOCAB)
        for c in json.loads(judge.run("next", "-m", folder, "--json", "--top", 0, *flags,
                                      "--tokens", ids))["candidates"]:
            ours[c["id"]] = c["prob"]
        claim.near((fields, ids, model, err), ours, lambda d: distribution(
            model if d == torch.float32 else exact, ids, 0, fields, {}))

with judge.claim("stop strings end a text where the library has one", by="transformers",
                 least=100) as claim:
    r = judge.random
    for _ in range(20):
        folder, model, _, tokenizer = random()
        for _ in range(6):
            ids = judge.ids(30)
            theirs = lambda **more: tokenizer.decode(generated(
                model.double(), ids, max_new_tokens=25, tokenizer=tokenizer, **more)[0][0][0])
            whole = theirs()
            at = r.randrange(len(whole) + 1)
            stops = [whole[at:at + r.randint(1, 4)] or "?", tokenizer.decode([r.randrange(63)])]
            stopped = theirs(stop_strings=stops)
            first = min((i for i in map(stopped.find, stops) if i >= 0), default=None)
            if first is None and stopped != whole:
                claim.skip("the library takes a stop string that begins in the prompt")
                continue
            out, _ = written(folder, ids, "--temp", 0, "-n", 25, *(f"--stop={s}" for s in stops))
            claim.same((stops, ids, model), out[0]["text"], stopped[:first])

judge.end()

"""transformers judges how tokens are chosen: distributions, greedy texts, beams, what ends a text."""
import copy, inspect, json, sys
import numpy, torch, transformers
from transformers import GenerationConfig
from transformers.modeling_outputs import CausalLMOutputWithCrossAttentions
from judge import Judge, apart

judge = Judge("transformers", "torch")
torch.set_num_threads(1)
torch.set_grad_enabled(False)
VOCAB, END = 64, [63, 30, 52] # the ids that may end a text: <|endoftext|>, e, th
TOLERANCE = 1e-4


def in_float64(name):
    """A loop of the library, with its own code, where float32 is float64."""
    module = sys.modules[transformers.GenerationMixin.__module__]
    source = inspect.getsource(getattr(transformers.GenerationMixin, name))
    source = source.replace("torch.float32", "torch.float64").replace("torch.float,", "torch.float64,")
    exec("if True:\n" + source, vars(module), found := {})
    return found[name]


class Exact(transformers.GPT2LMHeadModel):
    """The judge where it does not round. Its logits are those of gpt, which must be near to its own, so
    that tokens that are all but equally likely are so for both."""
    _sample, _beam_search = in_float64("_sample"), in_float64("_beam_search")

    def forward(self, input_ids=None, attention_mask=None, **_):
        logits = numpy.stack([judge.logits(self.checkpoint, ids) for ids in input_ids.tolist()])
        assert apart(logits, super().forward(input_ids).logits.numpy()) < TOLERANCE
        return CausalLMOutputWithCrossAttentions(logits=torch.tensor(logits).double())


def random():
    """A checkpoint, its model, the same where it is exact, and the tokenizer."""
    ends = judge.random.sample(END, judge.random.choice([1, 1, 2, 3]))
    ends = ends[0] if len(ends) == 1 else ends
    folder, model = judge.checkpoint(eos_token_id=ends, n_positions=64)
    exact = copy.deepcopy(model).double()
    exact.__class__, exact.checkpoint = Exact, folder
    return folder, model, exact, transformers.GPT2Tokenizer.from_pretrained(folder)


def prompt(least=2, most=30):
    """Ids of a few different tokens or many, so that some occur twice."""
    r = judge.random
    return r.choices(r.sample(range(VOCAB), r.choice([2, 5, 64])), k=r.randint(least, most))


def text_of(tokenizer, least, most):
    """A text and its ids."""
    r = judge.random
    text = tokenizer.decode([r.randrange(63) for _ in range(r.randint(least, most))])
    return text, tokenizer(text)["input_ids"]


def options(tokenizer, how, most=9):
    """Random options: fields of a GenerationConfig, arguments of generate, and gpt's flags."""
    r, fields, others, flags = judge.random, {"top_k": 0, "do_sample": how == "drawn"}, {}, []
    def add(chance, field, flag, value):
        if r.random() < chance:
            fields[field] = value
            flags.append(f"--{flag}={','.join(map(str, value)) if isinstance(value, tuple) else value}")
    if how == "drawn":
        add(.5, "temperature", "temp", r.choice([.3, .7, 1.5, 3.]))
        add(.3, "top_k", "top-k", r.randint(1, VOCAB))
        add(.3, "top_p", "top-p", r.choice([.01, .5, .9, .99]))
        add(.3, "min_p", "min-p", r.choice([.001, .05, .5, 1.]))
        add(.2, "typical_p", "typical", r.choice([.1, .5, .9]))
        add(.2, "epsilon_cutoff", "epsilon", r.choice([.001, .02, .3]))
        add(.2, "eta_cutoff", "eta", r.choice([.001, .02, .3]))
        add(.2, "top_h", "top-h", r.choice([.1, .5, .9]))
    add(.3, "repetition_penalty", "repeat-penalty", r.choice([.7, 1.1, 1.5, 5.]))
    add(.2, "no_repeat_ngram_size", "no-repeat-ngram", r.randint(1, 4))
    add(.2, "min_new_tokens", "min-tokens", r.randint(1, most))
    add(.2, "exponential_decay_length_penalty", "length-decay", (r.randint(0, 6), r.choice([.8, 1.1, 1.5])))
    if r.random() < .3:
        bias = {}
        for _ in range(r.randint(1, 4)):
            text, ids = text_of(tokenizer, 1, 3)
            if tuple(ids) not in bias:
                bias[tuple(ids)] = r.randint(-20, 20) / 4
                flags.append(f"--sequence-bias={text}={bias[tuple(ids)]}")
        fields["sequence_bias"] = bias
    if r.random() < .2:
        text, ids = text_of(tokenizer, 1, 2)
        if ids[1:] or ids[0] not in END: # the library bans no token that ends a text
            fields["bad_words_ids"] = [ids]
            flags.append(f"--sequence-bias={text}=-inf")
    if r.random() < .2:
        fields["suppress_tokens"] = r.sample(range(VOCAB), r.randint(1, 5))
        flags += [f"--logit-bias={id}=-inf" for id in fields["suppress_tokens"]]
    if how == "drawn" and r.random() < .1:
        allowed = r.sample(range(VOCAB), r.randint(3, 30))
        others["prefix_allowed_tokens_fn"] = lambda batch, ids: allowed
        flags += [f"--allow={id}" for id in allowed]
    if how != "beams" and r.random() < .2: # the library's fails with them
        fields["guidance_scale"] = r.choice([.5, 1.5, 3.])
        flags.append(f"--guidance={fields['guidance_scale']}")
        if r.random() < .7:
            text, ids = text_of(tokenizer, 1, 9)
            others["negative_prompt_ids"] = torch.tensor([ids])
            flags.append(f"--negative={text}")
    return fields, others, flags


def distribution(model, ids, new, fields, others):
    """What the library's processors make of the logits after ids, the last of which are new."""
    config = GenerationConfig(**fields, num_beams=1, num_return_sequences=1,
                              eos_token_id=model.config.eos_token_id)
    model._prepare_special_tokens(config)
    start = len(ids) - new
    processors = model._get_logits_processor(config, start, torch.tensor([ids[:start]]), device="cpu",
                                             model_kwargs={}, **others)
    ids = torch.tensor([ids])
    return processors(ids, model(ids).logits[:, -1]).softmax(-1)[0]


@judge.claim("the whole distribution after random sets of processors", by="transformers, torch", least=450)
def _(claim):
    for _ in range(20):
        folder, model, exact, tokenizer = random()
        for _ in range(25):
            fields, others, flags = options(tokenizer, "drawn")
            ids = prompt()
            new = 0 if "guidance_scale" in fields else judge.random.randrange(len(ids))
            what = f"{flags} --new {new} --tokens {ids} {model.config.to_diff_dict()}"
            theirs = distribution(model, ids, new, fields, others)
            code, out, err = judge.both("next", "-m", folder, "--json", "--top", 0, "--new", new, *flags,
                                        "--tokens", ",".join(map(str, ids)))
            if code and theirs.isnan().all():
                claim.skip(what, "no token is left, an error here and NaN there")
                continue
            if code:
                claim.differs(what, err)
                continue
            ours = numpy.zeros(VOCAB)
            for c in json.loads(out)["candidates"]:
                ours[c["id"]] = c["prob"]
            claim.near(what, ours, theirs, TOLERANCE,
                       lambda: distribution(exact, ids, new, fields, others))


def texts(model, ids, most, fields, others):
    """The texts of generate: their new ids, whether each ended, and their scores."""
    ends = numpy.atleast_1d(model.config.eos_token_id).tolist()
    config = GenerationConfig(**fields, max_new_tokens=most, eos_token_id=ends, pad_token_id=ends[0],
                              output_scores=True, return_dict_in_generate=True,
                              use_cache=not isinstance(model, Exact))
    out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)),
                         generation_config=config, **others)
    found = []
    for sequence in out.sequences[:, len(ids):].tolist():
        at = next((i for i, id in enumerate(sequence) if id in ends), None)
        found.append([sequence[:at], "length" if at is None else "end_of_text"])
    return found, out.get("sequences_scores", torch.zeros(1))


def judged(claim, what, folder, flags, model, exact, ids, most, fields, others):
    """Compares the texts of gpt generate with those of the library, and their scores."""
    if len(claim.differences) == 10: # enough: where nothing is equal, all would be computed twice
        return
    out = judge.run("generate", "-m", folder, "--output", "json", "--tokens", ",".join(map(str, ids)),
                    "-n", most, *flags)
    got = [json.loads(line) for line in out.splitlines()]
    ours = [[g["ids"], g["finish_reason"]] for g in got]
    theirs, scores = texts(model, ids, most, fields, others)
    right = ours == theirs or texts(exact, ids, most, fields, others)
    if right is not True and ours == right[0]:
        claim.rounded += 1 # float32 chose another token
        theirs, scores = right
    if claim.same(what, ours, theirs):
        # A sum near 0 is as exact as its logits.
        one = torch.ones(1)
        claim.near(f"{what}: scores", [1, *(g.get("score", 0) for g in got)], torch.cat([one, scores]),
                   1e-5, lambda: torch.cat([one, texts(exact, ids, most, fields, others)[1]]))


@judge.claim("greedy texts under random processors", by="transformers, torch", least=150)
def _(claim):
    for _ in range(15):
        folder, model, exact, tokenizer = random()
        for _ in range(10):
            ids, most = prompt(), judge.random.randint(1, 20)
            fields, others, flags = options(tokenizer, "greedy", most)
            what = f"-n {most} {flags} --tokens {ids} {model.config.to_diff_dict()}"
            judged(claim, what, folder, ["--temp", 0, *flags], model, exact, ids, most, fields, others)


@judge.claim("beam search: texts, their order, their scores", by="transformers, torch", least=200)
def _(claim):
    r = judge.random
    for search in ("contrastive", "diverse beam"):
        claim.skip(search, "searches that the library has no more")
    for _ in range(15):
        folder, model, exact, tokenizer = random()
        for _ in range(8):
            ids, most = prompt(most=20), r.randint(1, 20)
            fields, others, flags = options(tokenizer, "beams", most) if r.random() < .4 else ({}, {}, [])
            fields |= {"num_beams": r.randint(2, 6), "length_penalty": r.choice([-1., 0., .5, 1., 1., 2.]),
                       "early_stopping": r.choice([True, False, "never"])}
            fields["num_return_sequences"] = r.randint(1, fields["num_beams"])
            flags = ["--beams", fields["num_beams"], "--return", fields["num_return_sequences"],
                     f"--length-penalty={fields['length_penalty']}", "--early-stopping",
                     str(fields["early_stopping"]).lower(), *flags]
            what = f"-n {most} {flags} --tokens {ids} {model.config.to_diff_dict()}"
            judged(claim, what, folder, flags, model, exact, ids, most, fields, others)


def new_ids(model, ids, most, **options):
    out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)),
                         max_new_tokens=most, **options)
    return out[0, len(ids):].tolist()


NAMED = {"max_length": 30, "min_length": 3, "early_stopping": True, "do_sample": True, "num_beams": 3,
         "temperature": .7, "top_k": 5, "top_p": .9, "min_p": .1, "typical_p": .5, "epsilon_cutoff": .01,
         "eta_cutoff": .01, "top_h": .5, "repetition_penalty": 1.2, "length_penalty": 2.,
         "no_repeat_ngram_size": 2, "bad_words_ids": [[3]], "suppress_tokens": [4, 5], "min_new_tokens": 2,
         "begin_suppress_tokens": [6], "forced_bos_token_id": 7, "forced_eos_token_id": 8,
         "exponential_decay_length_penalty": [3, 1.5], "sequence_bias": [[[1, 2], -1.5]], "max_time": 3.,
         "guidance_scale": 1.5, "stop_strings": ["a"], "max_new_tokens": 9,
         "encoder_repetition_penalty": 1.3, "encoder_no_repeat_ngram_size": 2, "renormalize_logits": True,
         "penalty_alpha": .6, "num_beam_groups": 2, "diversity_penalty": .5, "token_healing": True}


@judge.claim("generation_config.json: what ends a text is honoured, the rest is named",
             by="transformers", least=200)
def _(claim):
    r = judge.random
    for _ in range(60):
        folder, model, _, _ = random()
        fields = {name: NAMED[name] for name in r.sample(list(NAMED), r.randint(0, 8))}
        ends = r.choice([None, r.randrange(VOCAB), r.sample(range(VOCAB), r.randint(2, 30))])
        saved = fields | ({} if ends is None else {"eos_token_id": ends})
        (folder / "generation_config.json").write_text(json.dumps(saved))
        loaded, ids = transformers.GPT2LMHeadModel.from_pretrained(folder), prompt()
        theirs = loaded.generation_config.eos_token_id
        loaded.generation_config = GenerationConfig(eos_token_id=theirs)
        code, out, err = judge.both("generate", "-m", folder, "--output", "json", "--temp", 0, "-n", 20,
                                    "--tokens", ",".join(map(str, ids)))
        want = new_ids(loaded, ids, 20, pad_token_id=0)
        if theirs is not None and want[-1] in numpy.atleast_1d(theirs):
            want.pop()
        what = f"{saved} {ids} {model.config.to_diff_dict()} {err}"
        claim.same(what, json.loads(out or "{}").get("ids"), want)
        for name in fields:
            named = "generation_config.json: not taken" in err and name in err
            claim.same(f"{name} {fields}: {err}", named, True)


@judge.claim("stop strings end a text where the library has one", by="transformers", least=100)
def _(claim):
    r = judge.random
    for _ in range(20):
        folder, model, _, tokenizer = random()
        double, ends = copy.deepcopy(model).double(), numpy.atleast_1d(model.config.eos_token_id)
        for _ in range(6):
            ids = prompt()
            def text(**more):
                new = new_ids(double, ids, 25, tokenizer=tokenizer, **more)
                return tokenizer.decode(new[:-1] if new[-1] in ends else new)
            whole = text()
            at = r.randrange(len(whole) + 1)
            stops = [whole[at:at + r.randint(1, 4)] or "?"]
            stops += [text_of(tokenizer, 1, 2)[0]] * r.randrange(2)
            theirs = text(stop_strings=stops)
            first = min((i for i in map(theirs.find, stops) if i >= 0), default=None)
            if first is None and theirs != whole:
                claim.skip(stops, "the library takes a stop string that begins in the prompt")
                continue
            out = judge.run("generate", "-m", folder, "--output", "json", "--temp", 0, "-n", 25,
                            "--tokens", ",".join(map(str, ids)), *(f"--stop={s}" for s in stops))
            what = f"{stops} {ids} {model.config.to_diff_dict()}"
            claim.same(what, json.loads(out)["text"], theirs[:first])


judge.end()

"""PEFT judges adapters: each that it makes for GPT-2 gives its logits, or is refused by name.

adapters.json has the fields of LoRA's config with values, those that have none to train with here
(they want data, quantized weights or another library), and what other kinds want to be told.
"""
import copy, dataclasses, json, pathlib, typing
import numpy, peft, torch, transformers
from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING as CONFIGS
from peft.tuners.lora import LoraLayer
from judge import Judge

# Scales of -2 and ranks of 7 add larger numbers than a training does.
judge = Judge("peft", "transformers", "torch", near=2e-5)
CAUSAL = {"task_type": "CAUSAL_LM", "target_modules": ["c_attn", "c_proj", "c_fc"]}
DATA = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())
# Each field of LoraConfig with its values. Those after a null may be refused by the field's name.
FIELDS = DATA["fields"]


def small(head="GPT2LMHeadModel", **fields):
    return judge.checkpoint(head, n_layer=2, n_head=4, n_embd=16, n_inner=None, **fields)[0]


def opened(base, head):
    return getattr(transformers, head).from_pretrained(base).eval()


def trained(claim, base, settings, head="GPT2LMHeadModel", config=peft.LoraConfig, **how):
    """The folder of an adapter with random weights, as save_pretrained leaves it, and its settings:
    lm_head is for what PEFT makes of Linear alone. None if it makes none."""
    why = None
    for more in {}, {"target_modules": ["c_attn"]}, {"target_modules": ["lm_head"]}:
        torch.manual_seed(judge.random.getrandbits(32))
        try:
            model = peft.get_peft_model(opened(base, head), config(**settings | more))
        except Exception as e:
            why = why or e
            continue
        for name, p in model.named_parameters():
            if (p.requires_grad or ".lora_" in name) and p.is_floating_point():
                p.normal_(1. if "ln_" in name and name.endswith("weight") else 0.,
                          .1 if ".lora_" in name else .3) # products that are as large as weights
        model.save_pretrained(out := judge.folder(), **how)
        return out, settings | more | how
    claim.skip(f"PEFT: {str(why).splitlines()[0]:.90}")
    return None, settings


def loaded(base, adapters, head="GPT2LMHeadModel"):
    """The base with adapters and their scales, as PEFT opens them: their products add up."""
    model = peft.PeftModel.from_pretrained(opened(base, head), adapters[0][0], adapter_name="0")
    for i, (folder, _) in enumerate(adapters[1:], 1):
        model.load_adapter(folder, str(i))
    if len(adapters) > 1:
        model.base_model.set_adapter([str(i) for i in range(len(adapters))])
    for module in model.modules():
        for i, (_, scale) in enumerate(adapters):
            if isinstance(module, LoraLayer) and str(i) in module.scaling:
                module.scaling[str(i)] *= scale
    return model.eval()


def judged(claim, what, base, adapters, names=()):
    """gpt gives PEFT's logits or, where it may, says one of the names why not."""
    ids = judge.ids(12)
    flags = [x for a, scale in adapters for x in ("--adapter", a if scale == 1 else f"{a}:{scale}")]
    ours = judge.logits(base, ids, *flags)
    if isinstance(ours, str):
        return claim.refused(what, ours, *(name + end for name in names for end in ":,"))
    model = loaded(base, adapters)
    claim.near((what, ids), ours, lambda d: logits(model.to(d), ids))


def logits(model, ids):
    return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]


def refusable(field, value):
    values = FIELDS.get(field, [])
    return None in values and any(value is v for v in values[values.index(None):])


def drawn(fields=FIELDS, chance=.3):
    """Some of these fields, each with a value that must run: those that PEFT allows together."""
    drawn = {f: judge.random.choice(FIELDS[f]) for f in fields if judge.random.random() < chance}
    drawn = {f: v for f, v in drawn.items() if not refusable(f, v)}
    if isinstance(drawn.get("target_modules"), str):
        drawn.pop("layers_to_transform", 0)
    if "layers_to_transform" not in drawn:
        drawn.pop("layers_pattern", 0)
    return CAUSAL | drawn


def lora(claim, settings, **how):
    """A case of LoRA with these settings."""
    base = small(tie_word_embeddings=judge.random.random() < .7)
    adapter, settings = trained(claim, base, settings, **how)
    if adapter:
        judged(claim, settings, base, [(adapter, 1)],
               [k for k, v in settings.items() if refusable(k, v)])


with judge.claim("each field of LoRA's config: its logits, or a refusal that names the field",
                 by="peft, torch", least=68) as claim:
    fields = {f.name for f in dataclasses.fields(peft.LoraConfig)}
    claim.same("fields that are no case", fields ^ {*FIELDS, *DATA["unused"]}, set())
    lora(claim, {"target_modules": None, "task_type": "CAUSAL_LM"})
    for field, values in FIELDS.items():
        more = {"layers_to_transform": [1]} if field == "layers_pattern" else {}
        for value in values:
            if value is not None:
                lora(claim, CAUSAL | {field: value} | more)

with judge.claim("drawn fields of LoRA's config, in safetensors and .bin: its logits",
                 by="peft, torch", least=40) as claim:
    for _ in range(50):
        lora(claim, drawn(), safe_serialization=judge.random.random() < .7)

with judge.claim("two or three LoRA adapters with scales add up",
                 by="peft, torch", least=12) as claim:
    fields = "r", "lora_alpha", "use_rslora", "target_modules", "rank_pattern", "alpha_pattern"
    for number in [2, 2, 3] * 4:
        base = small()
        made = [trained(claim, base, drawn(fields, .5)) for _ in range(number)]
        scales = judge.random.choices([1, .5, -2, 0, .3], k=number)
        judged(claim, (made, scales), base, [(a, scale) for (a, _), scale in zip(made, scales)])

with judge.claim("gpt convert merges LoRA into what transformers opens, with PEFT's logits",
                 by="peft, transformers, torch", least=14) as claim:
    for _ in range(10):
        base, out, ids = small(), judge.folder() / "merged", judge.ids(12)
        adapter, settings = trained(claim, base, drawn())
        if adapter:
            judge.run("convert", base, out, "--adapter", adapter)
            merged, told = transformers.GPT2LMHeadModel.from_pretrained(
                out, output_loading_info=True)
            claim.same((settings, "keys"), told["missing_keys"] | told["unexpected_keys"], set())
            model = loaded(base, [(adapter, 1)])
            claim.near((settings, ids), logits(merged.eval(), ids),
                       lambda d: logits(model.to(d), ids))

with judge.claim("adapters of classifiers: the logits of their heads",
                 by="peft, transformers, torch", least=20) as claim:
    for head, task in [("GPT2ForSequenceClassification", "SEQ_CLS"), (
            "GPT2ForTokenClassification", "TOKEN_CLS"), ("GPT2DoubleHeadsModel", None)] * 8:
        labels = judge.random.choice([1, 2, 3, 5]) if task else 1
        base = small(judge.random.choice([head, "GPT2LMHeadModel"]), num_labels=labels)
        settings = drawn(("r", "lora_alpha", "use_rslora", "bias", "rank_pattern"), .4)
        settings |= {"task_type": task, "modules_to_save": None} if task else {
            "task_type": None, "modules_to_save": ["multiple_choice_head"]}
        adapter, settings = trained(claim, base, settings, head)
        ids, model = judge.ids(12), loaded(base, [(adapter, 1)], head)
        [ours] = judge.json("classify", "-m", base, "--adapter", adapter, "--input", "jsonl",
                            input=[{"tokens": ids}])

        def theirs(d):
            out = model.to(d)(input_ids=torch.tensor([ids] if task else [[ids]]))
            return (out.logits if task else out.mc_logits).flatten()
        claim.near((head, labels, settings, ids), numpy.ravel(ours["logits"]), theirs)

def random_(model, names=""):
    """Numbers in all that was trained, and in the names'."""
    for n, p in model.named_parameters():
        if p.is_floating_point() and "original" not in n and (
                p.requires_grad or any(name in n for name in names.split())):
            one = any(part in n for part in ("ln_", "ia3_l", "magnitude"))
            p.normal_(1. if one and not n.endswith("bias") else 0., .3)


def made(kind, base, settings, head="GPT2LMHeadModel"):
    """The folder of an adapter of a kind, and where PEFT attaches it: Conv1D, lm_head or nowhere."""
    prompts = issubclass(CONFIGS[kind], peft.PromptLearningConfig)
    for where, more in ("Conv1D", {}), ("lm_head", {"target_modules": ["lm_head"]}), (None, None):
        if where is None or prompts and more:
            CONFIGS[kind](**settings).save_pretrained(out := judge.folder()) # without weights
            return out, None
        torch.manual_seed(judge.random.getrandbits(32))
        try:
            model = peft.get_peft_model(opened(base, head),
                                        CONFIGS[kind](**copy.deepcopy(settings | more)))
        except Exception:
            continue
        random_(model, "prompt_encoder lora_E")
        model.save_pretrained(out := judge.folder())
        return out, where


with judge.claim("each kind of PeftType: its logits, at every position, or a refusal by its name",
                 by="peft, torch", least=len(peft.PeftType) + 15) as claim:
    attached = {}
    for kind in peft.PeftType:
        cases = DATA["kinds"].get(kind.value, [{}])
        for case in cases if isinstance(cases, list) else [cases]:
            base, ids = small(tie_word_embeddings=judge.random.random() < .7), judge.ids(12)
            prompts = issubclass(CONFIGS[kind], peft.PromptLearningConfig)
            settings = {"task_type": "CAUSAL_LM"} | (DATA["prompts"] if prompts else {}) | case
            adapter, where = made(kind, base, settings)
            attached.setdefault(where, []).append(kind.value)
            ours = judge.logits(base, ids, "--adapter", adapter)
            if isinstance(ours, str):
                claim.refused((kind.value, case), ours, *(
                    [f"peft_type: {kind.value}"] if kind.value in DATA["refused"] else []))
                continue
            model = peft.PeftModel.from_pretrained(opened(base, "GPT2LMHeadModel"), adapter).eval()
            claim.near((kind.value, case, ids), ours,
                       lambda d: logits(model.to(d), ids)[-len(ids):])
    told = {k: sorted({*v}) for k, v in attached.items()}
    claim.same("the kinds that PEFT attaches to Conv1D", told["Conv1D"], DATA["attached"])
    claim.same("and not to that but to nn.Linear", told["lm_head"], DATA["attached to Linear"])
    print("adapters: PEFT attaches to Conv1D " + ", ".join(told["Conv1D"]))

with judge.claim("kinds of nn.Linear: two after each other, and of the heads of classifiers",
                 by="peft, torch", least=30) as claim:
    for kind, case in DATA["linear"] + [["OFT", {"oft_block_size": 4, "target_modules": target}]
                                        for target in (["wte", "wpe"], ["wte", "lm_head"])]:
        base, ids = small(tie_word_embeddings=judge.random.random() < .7), judge.ids(12)
        settings = {"task_type": "CAUSAL_LM", "target_modules": ["lm_head"]} | case
        pair = [(made(peft.PeftType[kind], base, settings)[0], 1) for _ in range(2)]
        if kind not in ("C3A", "OSF"): # of which the second one gets what the first one made, or nothing
            judged(claim, (kind, case), base, pair)
        for head, target in ("GPT2ForSequenceClassification", "score"), (
                "GPT2ForTokenClassification", "classifier"):
            base = small(head, num_labels=4)
            if "target_modules" not in case:
                settings = case | {"target_modules": [target]}
                adapter, _ = made(peft.PeftType[kind], base, settings, head)
                [ours] = judge.json("classify", "-m", base, "--adapter", adapter, "--input", "jsonl",
                                    input=[{"tokens": ids}])
                model = loaded(base, [(adapter, 1)], head)
                claim.near((kind, target, ids), numpy.ravel(ours["logits"]),
                           lambda d: model.to(d)(input_ids=torch.tensor([ids])).logits.flatten())

with judge.claim("one field of a config of each kind is changed: PEFT's logits, or a refusal",
                 by="peft, torch", least=40) as claim:
    for kind, changes in DATA["changed"].items():
        for change in changes:
            base, ids = small(), judge.ids(12)
            case = DATA["kinds"].get(kind, [{}])
            settings = {"task_type": "CAUSAL_LM"} | (case[0] if isinstance(case, list) else case)
            if kind.startswith("P"):
                settings |= DATA["prompts"] if kind != "PVERA" else {}
            adapter, where = made(peft.PeftType[kind], base, settings)
            path = adapter / "adapter_config.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | change))
            ours = judge.logits(base, ids, "--adapter", adapter)
            try:
                model = peft.PeftModel.from_pretrained(opened(base, "GPT2LMHeadModel"), adapter).eval()
                logits(model, ids)
            except Exception:
                model = None
            if isinstance(ours, str) or model is None:
                claim.refused((kind, change), ours if isinstance(ours, str) else "", ":")
                continue
            claim.near((kind, change, ids), ours, lambda d: logits(model.to(d), ids)[-len(ids):])

def weighted(base, folders, scales, fields, seed, d):
    """The base with adapters as add_weighted_adapter adds them up. What is drawn depends on d, and so
    float32 is what these are added in."""
    model = loaded(base, [(folder, 1) for folder in folders])
    names = [str(i) for i in range(len(folders))]
    model = model if "dare" in fields["combination_type"] else model.to(d)
    torch.manual_seed(seed)
    model.add_weighted_adapter(names, scales, "all", **fields)
    model.set_adapter("all")
    return model.to(d)


with judge.claim("add_weighted_adapter: each of its ways, with densities, ranks, signs and seeds",
                 by="peft, torch", least=120) as claim:
    hints = typing.get_type_hints(peft.LoraModel.add_weighted_adapter)
    for how in typing.get_args(hints["combination_type"]) * 12:
        base, ids, number = small(), judge.ids(12), judge.random.choice([1, 2, 2, 2, 3])
        # With use_rslora PEFT multiplies a cat once more, by the root of the new rank.
        more = {"use_rslora": how != "cat" and judge.random.random() < .3}
        folders = [trained(claim, base, CAUSAL | more | {
            "r": judge.random.choice([2, 4, 7]) if "svd" in how else 4,
            "lora_alpha": judge.random.choice([3, 8]),
            "target_modules": judge.random.choice([["c_attn", "c_proj", "c_fc"], ["c_attn"],
                                                   ["c_attn", "wte"], ["c_fc", "lm_head", "wpe"]])},
            save_embedding_layers=False)[0]
                   for _ in range(number)]
        scales = judge.random.choices([.7, .3, -.5, 1., -2.], k=number)
        seed, fields, text = judge.random.getrandbits(40), {"combination_type": how}, how
        if "_" in how or how == "ties":
            fields["density"] = judge.random.choice([.2, .5, .9, 1.])
            text += f":{fields['density']}"
        if "svd" in how and judge.random.random() < .5:
            fields["svd_rank"] = judge.random.choice([1, 3, 9, 16])
            text += f",rank={fields['svd_rank']}"
        if "ties" in how:
            fields["majority_sign_method"] = judge.random.choice(["total", "frequency"])
            text += f",sign={fields['majority_sign_method']}"
        if "dare" in how:
            text += f",seed={seed}"
        flags = [x for f, s in zip(folders, scales) for x in ("--adapter", f"{f}:{s}")]
        ours = judge.logits(base, ids, *flags, "--combine", text)
        claim.near((text, scales, more), ours,
                   lambda d: logits(weighted(base, folders, scales, fields, seed, d), ids))

judge.end()

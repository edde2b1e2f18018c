"""PEFT judges adapters: each that it makes for GPT-2 gives its logits, or is refused by name."""
import dataclasses, json, warnings
import numpy, peft, torch, transformers
from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING as CONFIGS
from peft.tuners.lora import LoraLayer
from judge import Judge

judge = Judge("peft", "transformers", "torch")
warnings.filterwarnings("ignore")
NEAR = 2e-5 # scales of -2 and ranks of 7 add larger numbers than a training does
TRAINED = {"target_modules": ["c_attn", "c_proj", "c_fc"]} # of a case that says no others
# Each field of LoraConfig with its values. Those after a None may be refused by the field's name.
FIELDS = {
    "r": [1, 2, 7], "lora_alpha": [1, 3, 32], "use_rslora": [True], "lora_dropout": [.3],
    "fan_in_fan_out": [False, True], "bias": ["all", "lora_only"], "inference_mode": [True],
    "revision": ["main"], "qalora_group_size": [4], "megatron_core": ["megatron.core"],
    "target_modules": [["c_attn"], ["c_fc", "attn.c_proj"], ["transformer.h.0.mlp.c_fc"], ["wte"],
                       ["wpe"], ["lm_head"], ["wte", "lm_head", "c_attn"], "all-linear",
                       r".*\.h\.\d+\.(attn|mlp)\.c_proj", r"(?!.*c_fc)transformer\.h.*c_.*"],
    "exclude_modules": [["attn.c_proj"], ["transformer.h.0.attn.c_attn"], r".*h\.0\..*", ".*mlp.*"],
    "layers_to_transform": [0, [0], [0, 1]], "layers_pattern": ["h", ["h"], ["x", "h"]],
    "rank_pattern": [{"c_attn": 3}, {"mlp.c_fc": 5, "c_proj": 2}, {"attn": 2}, {r"h\.0\..*": 1},
                     {r"^transformer\.h\.0\.attn\.c_attn": 2, "c_attn": 5},
                     {"c_attn": 2, r"h\.\d\.attn\.c_attn": 5}],
    "alpha_pattern": [{"c_attn": 3}, {"mlp.c_fc": 50, "c_proj": 2},
                      {r"transformer\.h\.1\..*": 17, ".*c_attn": 40}],
    "modules_to_save": [["ln_f"], ["wte"], ["lm_head"], ["wte", "lm_head"], ["ln_1", "wpe"],
                        ["c_fc"]],
    "init_lora_weights": [True, False, "gaussian", "eva", "orthogonal", "mica", None, "pissa",
                          "pissa_niter_2", "olora"],
    "use_dora": [None, True], "lora_bias": [None, True], "alora_invocation_tokens": [None, [3, 4]],
    "trainable_token_indices": [None, [1, 5], {"wte": [0, 7]}], "velora_config": [None, {}],
    "layer_replication": [None, [(0, 1), (0, 1)]], "target_parameters": [None, ["c_fc.weight"]],
    "ensure_weight_tying": [None, True], "monteclora_config": [None, {}], "kasa_config": [None, {}],
    "use_bdlora": [None, {"target_modules_bd_a": ["lm_head"], "nblocks": 1}]}
# What has no value to train with here: they want data, quantized weights or another library.
UNUSED = """task_type peft_type auto_mapping peft_version base_model_name_or_path loftq_config
    eva_config corda_config lora_ga_config runtime_config megatron_config use_qalora arrow_config"""
# What kinds other than LoRA want to be told, for a model of width 16.
PROMPTS = {"num_virtual_tokens": 3, "num_layers": 2, "token_dim": 16, "num_attention_heads": 4}
WANTED = {"ADALORA": {"total_step": 9}, "VBLORA": {"vector_length": 4}, "C3A": {"block_size": 4},
          "CPT": {"cpt_token_ids": [1, 2], "cpt_mask": [1, 1], "cpt_tokens_type_mask": [1, 1]},
          "TRAINABLE_TOKENS": {"token_indices": [1, 5]}, "CARTRIDGE": {"num_virtual_tokens": 4},
          "ADAPTION_PROMPT": {"adapter_len": 2, "adapter_layers": 1}, "WAVEFT": {"n_frequency": 50},
          "XLORA": {"hidden_size": 16, "adapters": {}}, "FROD": {"progressbar": False},
          "MISS": {"r": 4}, "SHIRA": {"r": 4}, "PSOFT": {"r": 4}}
ERRORS = ValueError, TypeError, RuntimeError, NotImplementedError, AttributeError, ImportError


def reason(error):
    return f"PEFT: {str(error).splitlines()[0]:.90}"


def small(head="GPT2LMHeadModel", **fields):
    return judge.checkpoint(head, n_layer=2, n_head=4, n_embd=16, n_inner=None, **fields)[0]


def opened(folder, head="GPT2LMHeadModel"):
    return getattr(transformers, head).from_pretrained(folder).eval()


def trained(base, config, head="GPT2LMHeadModel", **how):
    """The folder of an adapter whose weights are random, as save_pretrained leaves it."""
    torch.manual_seed(judge.random.getrandbits(32))
    model = peft.get_peft_model(opened(base, head), config)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if (p.requires_grad or ".lora_" in name) and p.is_floating_point():
                p.normal_(1. if "ln_" in name and name.endswith("weight") else 0.,
                          .1 if ".lora_" in name else .3) # products that are as large as weights
    out = judge.folder()
    model.save_pretrained(out, **how)
    return out


def loaded(base, adapters, head="GPT2LMHeadModel"):
    """The base with adapters and their scales, as PEFT opens them: their products add up."""
    model = peft.PeftModel.from_pretrained(opened(base, head), adapters[0][0], adapter_name="0")
    for i, (folder, _) in enumerate(adapters[1:], 1):
        model.load_adapter(folder, str(i))
    if len(adapters) > 1:
        model.base_model.set_adapter([str(i) for i in range(len(adapters))])
    for module in model.modules():
        if isinstance(module, LoraLayer):
            for i, (_, scale) in enumerate(adapters):
                if str(i) in module.scaling:
                    module.scaling[str(i)] *= scale
    return model.eval()


def some_ids():
    return [judge.random.randrange(64) for _ in range(judge.random.randint(2, 12))]


def judged(claim, what, base, adapters, names=()):
    """gpt gives PEFT's logits or, where it may, says one of the names why not."""
    ids, out = some_ids(), judge.folder() / "logits.npy"
    flags = [x for a, scale in adapters for x in ("--adapter", a if scale == 1 else f"{a}:{scale}")]
    code, _, err = judge.both("logits", "-m", base, "--tokens", ",".join(map(str, ids)),
                              "--positions", "all", "-o", out, *flags)
    if code:
        named = any(name + end in err for name in names for end in ":,")
        return claim.same(f"{what}: {err}", named, True)
    model = loaded(base, adapters)
    logits = lambda m: m(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
    claim.near(f"{what} {ids}", numpy.load(out), logits(model), NEAR,
               lambda: logits(model.double()))


def refusable(field, value):
    values = FIELDS[field]
    return None in values and any(value is v for v in values[values.index(None):])


def lora(claim, settings, **how):
    """A case of LoRA with these settings."""
    base = small(tie_word_embeddings=judge.random.random() < .7)
    names = [k for k, v in settings.items() if refusable(k, v)]
    for more in {}, {"target_modules": ["lm_head"]}: # a Linear, for what PEFT cannot do with Conv1D
        try:
            config = peft.LoraConfig(task_type="CAUSAL_LM", **TRAINED | settings | more)
            adapter = trained(base, config, **how)
            return judged(claim, settings | more | how, base, [(adapter, 1)], names)
        except ERRORS as e:
            why = reason(e)
    claim.skip(settings, why)


def drawn(fields, chance):
    """Some of these fields, each with a value that must run: those that PEFT allows together."""
    drawn = {f: judge.random.choice(FIELDS[f]) for f in fields if judge.random.random() < chance}
    drawn = {f: v for f, v in drawn.items() if not refusable(f, v)}
    if isinstance(drawn.get("target_modules"), str):
        drawn.pop("layers_to_transform", 0)
    if "layers_to_transform" not in drawn:
        drawn.pop("layers_pattern", 0)
    return drawn


@judge.claim("each field of LoRA's config: its logits, or a refusal that names the field",
             by="peft, torch", least=68)
def _(claim):
    fields = {f.name for f in dataclasses.fields(peft.LoraConfig)}
    claim.same("fields that are no case", fields ^ {*FIELDS, *UNUSED.split()}, set())
    lora(claim, {"target_modules": None})
    for field, values in FIELDS.items():
        for value in values:
            more = {"layers_to_transform": [1]} if field == "layers_pattern" else {}
            if value is not None:
                lora(claim, {field: value} | more)


@judge.claim("drawn fields of LoRA's config, in safetensors and .bin: its logits",
             by="peft, torch", least=40)
def _(claim):
    for _ in range(50):
        lora(claim, drawn(FIELDS, .3), safe_serialization=judge.random.random() < .7)


@judge.claim("two or three LoRA adapters with scales add up", by="peft, torch", least=12)
def _(claim):
    fields = "r", "lora_alpha", "use_rslora", "target_modules", "rank_pattern", "alpha_pattern"
    for _ in range(12):
        base, adapters, said = small(), [], []
        for _ in range(judge.random.choice([2, 2, 3])):
            said.append((drawn(fields, .5), judge.random.choice([1, .5, -2, 0, .3])))
            config = peft.LoraConfig(task_type="CAUSAL_LM", **TRAINED | said[-1][0])
            adapters.append((trained(base, config), said[-1][1]))
        judged(claim, said, base, adapters)


@judge.claim("gpt convert merges LoRA into what transformers opens, with PEFT's logits",
             by="peft, transformers, torch", least=14)
def _(claim):
    for _ in range(10):
        base, settings, out = small(), drawn(FIELDS, .25), judge.folder() / "merged"
        try:
            config = peft.LoraConfig(task_type="CAUSAL_LM", **TRAINED | settings)
            adapter = trained(base, config)
        except ERRORS as e:
            claim.skip(settings, reason(e))
            continue
        judge.run("convert", base, out, "--adapter", adapter)
        merged, told = transformers.GPT2LMHeadModel.from_pretrained(out, output_loading_info=True)
        claim.same(f"{settings}: keys", told["missing_keys"] | told["unexpected_keys"], set())
        ids, model = torch.tensor([some_ids()]), loaded(base, [(adapter, 1)])
        claim.near(settings, merged.eval()(ids).logits, model(input_ids=ids).logits, NEAR,
                   lambda: model.double()(input_ids=ids).logits)


@judge.claim("adapters of classifiers: the logits of their heads",
             by="peft, transformers, torch", least=20)
def _(claim):
    tasks = {"GPT2ForSequenceClassification": "SEQ_CLS", "GPT2ForTokenClassification": "TOKEN_CLS",
             "GPT2DoubleHeadsModel": None}
    for head, task in [*tasks.items()] * 8:
        labels = judge.random.choice([1, 2, 3, 5]) if task else 1
        base = small(judge.random.choice([head, "GPT2LMHeadModel"]), num_labels=labels)
        settings = drawn(("r", "lora_alpha", "use_rslora", "bias", "rank_pattern"), .4)
        settings["modules_to_save"] = None if task else ["multiple_choice_head"]
        adapter = trained(base, peft.LoraConfig(task_type=task, **TRAINED | settings), head)
        texts, model = [some_ids() for _ in range(6)], loaded(base, [(adapter, 1)], head)
        lines = judge.run("classify", "-m", base, "--adapter", adapter, "--input", "jsonl",
                          input="\n".join(json.dumps({"tokens": ids}) for ids in texts))
        ours = [numpy.ravel(json.loads(line)["logits"]) for line in lines.splitlines()]

        def theirs():
            outs = [model(input_ids=torch.tensor([ids] if task else [[ids]])) for ids in texts]
            return torch.cat([(o.logits if task else o.mc_logits).flatten() for o in outs])
        claim.near(f"{head} {labels} {settings} {texts}", numpy.concatenate(ours), theirs(),
                   NEAR, lambda: model.double() and theirs())


@judge.claim("each other kind of PeftType is refused by its name", by="peft",
             least=len(peft.PeftType) - 1)
def _(claim):
    for kind in [k for k in peft.PeftType if k != peft.PeftType.LORA]:
        base, config, why = small(), CONFIGS[kind], None
        prompts = PROMPTS if issubclass(config, peft.PromptLearningConfig) else {}
        settings = {"task_type": "CAUSAL_LM"} | prompts | WANTED.get(kind.value, {})
        for more in {}, {"target_modules": ["c_attn"]}, {"target_modules": ["lm_head"]}:
            try:
                adapter = trained(base, config(**settings | more))
                break
            except ERRORS as e:
                why = why or e
        else: # a config without weights
            claim.skip(kind.value, f"of the weights of {kind.value}, {reason(why)}")
            adapter = judge.folder()
            config(**settings).save_pretrained(adapter)
        judged(claim, kind.value, base, [(adapter, 1)], ["peft_type: " + kind.value])


judge.end()

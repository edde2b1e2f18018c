"""Makes kinds.tar.gz with PEFT: python3 make_kinds.py, in the environment of dev/judges/run.

One small GPT-2 with every bias, and adapters of every kind that PEFT attaches to it, with random
numbers, a folder each; manifest.json has their logits by PEFT in float64 and, of the kinds that it
attaches to nn.Linear alone, that it does.
"""
import io, json, os, pathlib, shutil, subprocess, sys, tarfile, tempfile, warnings
import peft, torch, transformers
from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING as CONFIGS
warnings.filterwarnings("ignore")

IDS = [3, 10, 0, 7, 7, 5, 22, 1, 9]
ALL = ["c_attn", "c_proj", "c_fc"]
SIZES = dict(vocab_size=23, n_positions=16, n_embd=8, n_layer=2, n_head=2)
PROMPT = dict(num_virtual_tokens=4)
# A case: its name, PEFT's kind, the fields of the config, and the base's tie_word_embeddings, or its
# name: "even" has 24 ids.
CASES = [
    ("dora", "LORA", dict(r=3, use_dora=True, target_modules=ALL, use_rslora=True)),
    ("dora-others", "LORA", dict(r=2, use_dora=True, target_modules=["wte", "wpe", "lm_head"])),
    ("lora-bias", "LORA", dict(r=3, lora_bias=True, target_modules=ALL, lora_alpha=5)),
    ("tokens", "LORA", dict(r=2, trainable_token_indices=[1, 5, 7])),
    ("tokens-untied", "LORA", dict(r=2, trainable_token_indices=[1, 5, 7]), False),
    ("tokens-by-name", "LORA", dict(r=2, trainable_token_indices={"wte": [0, 7], "lm_head": [3, 7]})),
    ("tokens-of-head", "LORA", dict(r=2, trainable_token_indices={"lm_head": [3, 7]})),
    ("tied", "LORA", dict(r=2, ensure_weight_tying=True, target_modules=["wte", "c_attn"])),
    ("tied-head", "LORA", dict(r=2, ensure_weight_tying=True, target_modules=["lm_head", "c_attn"])),
    ("not-tied", "LORA", dict(r=2, target_modules=["wte", "c_attn"])),
    ("parameters", "LORA", dict(r=2, target_parameters=["c_fc.weight", "attn.c_proj.weight"],
                                target_modules=[])),
    ("parameters-others", "LORA", dict(r=2, target_parameters=["wte.weight", "c_attn.weight"],
                                       target_modules=["lm_head"])),
    ("one", "LORA", dict(r=3, target_modules=["c_attn", "wte"], lora_alpha=4)),
    ("two", "LORA", dict(r=3, target_modules=["c_attn", "c_fc", "wte"])),
    ("adalora", "ADALORA", dict(init_r=3, total_step=9, target_modules=ALL + ["lm_head"])),
    ("adalora-pruned", "ADALORA", dict(init_r=4, total_step=9, lora_alpha=3)),
    ("ia3", "IA3", {}),
    ("ia3-others", "IA3", dict(target_modules=ALL + ["lm_head"], feedforward_modules=["c_fc", "lm_head"])),
    ("ia3-head", "IA3", dict(target_modules=["lm_head"], feedforward_modules=[])),
    ("ln", "LN_TUNING", dict(modules_to_save=["wpe"])),
    ("trainable-tokens", "TRAINABLE_TOKENS", dict(token_indices=[1, 5])),
    ("trainable-tokens-untied", "TRAINABLE_TOKENS", dict(token_indices=[1, 5]), False),
    ("trainable-tokens-head", "TRAINABLE_TOKENS", dict(token_indices=[2], target_modules=["lm_head"])),
    ("vera", "VERA", dict(r=3, target_modules=ALL)),
    ("vera-drawn", "VERA", dict(r=5, target_modules=ALL, save_projection=False, projection_prng_key=7)),
    ("pvera", "PVERA", dict(r=3, target_modules=ALL, bias="all")),
    ("randlora", "RANDLORA", dict(r=3, target_modules=ALL, randlora_alpha=6)),
    ("vblora", "VBLORA", dict(r=2, vector_length=4, num_vectors=6, topk=3, target_modules=ALL)),
    ("gralora", "GRALORA", dict(r=4, gralora_k=2, target_modules=ALL, alpha=7)),
    ("gralora-hybrid", "GRALORA", dict(r=4, gralora_k=4, hybrid_r=2)),
    ("hira", "HIRA", dict(r=3, target_modules=ALL + ["wte"], rank_pattern={"c_fc": 2})), # which PEFT forgets
    ("fourierft", "FOURIERFT", dict(n_frequency=30, target_modules=ALL)),
    ("fourierft-more", "FOURIERFT", dict(n_frequency=64, random_loc_seed=5, scaling=40.,
                                         n_frequency_pattern={"c_attn": 3}, target_modules=["c_attn", "c_fc"])),
    ("waveft", "WAVEFT", dict(n_frequency=30, target_modules=ALL)),
    ("waveft-plain", "WAVEFT", dict(n_frequency=40, use_idwt=False, random_loc_seed=3)),
    ("waveft-shared", "WAVEFT", dict(n_frequency=20, proportional_parameters=True, target_modules=ALL)),
    ("deft", "DEFT", dict(r=3, target_modules=ALL, alpha=2)),
    ("deft-para", "DEFT", dict(r=2, para=True)),
    ("deft-qr", "DEFT", dict(r=3, target_modules=ALL, alpha=2, decomposition_method="qr")),
    ("tinylora", "TINYLORA", dict(r=3, u=4, target_modules=ALL + ["wte"])),
    ("tinylora-shared", "TINYLORA", dict(r=2, u=3, weight_tying=.6, target_modules=ALL + ["lm_head"])),
    ("unilora", "UNILORA", dict(r=3, theta_d_length=40, save_indices=True, target_modules=ALL)),
    ("frod", "FROD", dict(target_modules=ALL, sparse_rate=.2)),
    ("osf", "OSF", dict(effective_rank=3), "even"),
    ("lokr", "LOKR", dict(r=2, alpha=3), "even"),
    ("lokr-products", "LOKR", dict(r=1, decompose_both=True, decompose_factor=5), "even"),
    ("loha", "LOHA", dict(r=3, alpha=5), "even"),
    ("c3a", "C3A", dict(block_size=4), "even"),
    ("c3a-pattern", "C3A", dict(block_size=2, block_size_pattern={"lm_head": 8}), "even"),
    ("miss", "MISS", dict(r=3), "even"),
    ("miss-bat", "MISS", dict(r=4, init_weights="bat"), "even"),
    ("miss-mini", "MISS", dict(r=4, init_weights="mini", mini_r=6), "even"),
    ("shira", "SHIRA", dict(r=2), "even"),
    ("hra", "HRA", dict(r=3), "even"),
    ("hra-orthogonal", "HRA", dict(r=4, apply_GS=True), "even"),
    ("delora", "DELORA", dict(r=3), "even"),
    ("oft", "OFT", dict(oft_block_size=4), "even"),
    ("oft-nearest", "OFT", dict(oft_block_size=5, num_cayley_neumann_terms=7), "even"),
    ("oft-shared", "OFT", dict(r=4, oft_block_size=0, block_share=True, use_cayley_neumann=False), "even"),
    ("oft-cut", "OFT", dict(coft=True, eps=.7), "even"),
    ("oft-embeddings", "OFT", dict(oft_block_size=4, target_modules=["wte", "wpe", "lm_head"]), "even"),
    ("boft", "BOFT", dict(boft_block_size=4), "even"),
    ("road", "ROAD", dict(group_size=4), "even"),
    ("road-2", "ROAD", dict(group_size=8, variant="road_2"), "even"),
    ("road-4", "ROAD", dict(group_size=24, variant="road_4"), "even"),
    ("prompt", "PROMPT_TUNING", PROMPT),
    ("p-tuning", "P_TUNING", PROMPT | dict(encoder_hidden_size=5)),
    ("p-tuning-lstm", "P_TUNING", PROMPT | dict(encoder_hidden_size=5, encoder_reparameterization_type="LSTM")),
    ("prefix", "PREFIX_TUNING", PROMPT),
    ("prefix-projected", "PREFIX_TUNING", PROMPT | dict(prefix_projection=True, encoder_hidden_size=5)),
    ("cartridge", "CARTRIDGE", PROMPT),
    ("cpt", "CPT", dict(cpt_token_ids=[1, 2, 9], cpt_mask=[1, 1, 1], cpt_tokens_type_mask=[1, 2, 3])),
]

# Ways of add_weighted_adapter, as --combine has them.
COMBINED = ["cat", "linear", "svd", "svd,rank=2", "magnitude_prune:0.5", "magnitude_prune_svd:0.4", "ties:0.5",
            "ties_svd:0.6,rank=4,sign=frequency", "dare_linear:0.7", "dare_linear_svd:0.7,seed=5",
            "dare_ties:0.8,seed=9", "dare_ties_svd:0.9,rank=5"]


def rounded(p, by):
    """Numbers that compress: bfloat16 in float32."""
    return (by * torch.randn(p.shape)).bfloat16().float()


def base(folder, tied, **sizes):
    torch.manual_seed(29 + tied)
    config = transformers.GPT2Config(**SIZES | sizes, tie_word_embeddings=tied, bos_token_id=1, eos_token_id=2)
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_((1. if "ln_" in name and name.endswith("weight") else 0.) + rounded(p, .4))
    model.save_pretrained(folder)


def trained(folder, base, name, kind, fields):
    torch.manual_seed(sum(map(ord, name)))
    model = transformers.GPT2LMHeadModel.from_pretrained(base)
    model = peft.get_peft_model(model, CONFIGS[kind](task_type="CAUSAL_LM", **fields))
    with torch.no_grad():
        for n, p in model.named_parameters():
            drawn = any(part in n for part in (".lora_", "prompt", "_l.", "indices"))
            if (p.requires_grad or drawn) and p.is_floating_point() and "original" not in n:
                one = any(part in n for part in ("ln_", "ia3_l", "magnitude", "alpha", "boft_s"))
                p.copy_((1. if one else 0.) + rounded(p, .5))
    if name == "adalora-pruned":
        model.peft_config["default"].rank_pattern = {
            f"transformer.h.{i}.attn.c_attn.lora_E.default": [True, i == 0, True, False] for i in (0, 1)}
    model.save_pretrained(folder)


def logits(folder, base):
    model = transformers.GPT2LMHeadModel.from_pretrained(base, dtype=torch.float64)
    return computed(peft.PeftModel.from_pretrained(
        model, folder, autocast_adapter_dtype=False).eval().double())


def computed(model):
    with torch.no_grad():
        out = model(input_ids=torch.tensor([IDS]), use_cache=False).logits[0]
    return [[float(f"{x:.9g}") for x in row] for row in out[-len(IDS):].tolist()]


def combined(work, text):
    """The logits of one and two, added up. What is drawn depends on the type: it is drawn in float32."""
    how, *options = text.replace(":", ",density=").split(",")
    options = {"seed": "0", "density": None} | dict(option.split("=") for option in options)
    dtype = torch.float32 if "dare" in how else torch.float64
    model = transformers.GPT2LMHeadModel.from_pretrained(work / "tied", dtype=dtype)
    model = peft.PeftModel.from_pretrained(model, work / "one", "one", autocast_adapter_dtype=False)
    model.load_adapter(work / "two", "two", autocast_adapter_dtype=False)
    torch.manual_seed(int(options["seed"]))
    model.to(dtype).add_weighted_adapter(
        ["one", "two"], [.7, -.4], "all", how, svd_rank=int(options.get("rank", 0)) or None,
        density=options["density"] and float(options["density"]),
        majority_sign_method=options.get("sign", "total"))
    model.set_adapter("all")
    found = {"base": "tied", "combine": text, "logits": computed(model.eval().double())}
    (work / f"combined-{text}.json").write_text(json.dumps(found))


def case(work, name, kind, fields, tied=True):
    of = tied if isinstance(tied, str) else "tied" if tied else "untied"
    if of == "even": # of the kinds of nn.Linear
        fields = {"target_modules": ["lm_head"]} | fields
    trained(work / name, work / of, name, kind, fields)
    (work / name / "README.md").unlink()
    config = json.loads((work / name / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = of
    (work / name / "adapter_config.json").write_text(json.dumps(config, sort_keys=True))
    found = {"base": of, "logits": logits(work / name, work / of)}
    (work / f"{name}.json").write_text(json.dumps(found))


def main():
    """Each kind's cases in a process of their own: PEFT keeps things from one model to the next."""
    if len(sys.argv) == 3: # a process
        work = pathlib.Path(sys.argv[1])
        for c in CASES:
            if c[0] in sys.argv[2].split():
                case(work, *c)
        for how in sys.argv[2].split():
            if how in COMBINED:
                combined(work, how)
        os._exit(0) # torch may wait for ever for its threads
    work = pathlib.Path(tempfile.mkdtemp())
    base(work / "tied", True), base(work / "untied", False), base(work / "even", True, vocab_size=24)
    apart = [c[0] for c in CASES if "tied" in c[0]] # PEFT's own lists change
    groups = [[c[0] for c in CASES if c[1] == kind and c[0] not in apart] for kind in {c[1]: 0 for c in CASES}]
    for names in groups + [COMBINED] + [[name] for name in apart]: # one is saved beside the base
        subprocess.run([sys.executable, __file__, work, " ".join(names)], check=True)
    manifest = {"ids": IDS, "cases": {}}
    for name in [c[0] for c in CASES] + [f"combined-{how}" for how in COMBINED]:
        manifest["cases"][name] = json.loads((work / f"{name}.json").read_text())
        (work / f"{name}.json").unlink()
    (work / "manifest.json").write_text(json.dumps(manifest))
    with tarfile.open(pathlib.Path(__file__).with_name("kinds.tar.gz"), "w:gz") as tar:
        for path in sorted(work.rglob("*")):
            if path.is_file() and path.name != "generation_config.json":
                info = tarfile.TarInfo(str(path.relative_to(work)))
                info.size = path.stat().st_size
                tar.addfile(info, io.BytesIO(path.read_bytes()))
    shutil.rmtree(work)


main()

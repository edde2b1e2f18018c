"""llguidance and jsonschema judge gpt's forms: which JSON a schema lets through.

JSONSCHEMABENCH=FOLDER takes a sample of the files of MaskBench, else schemas are made up.
"""
import json, os, pathlib
import jsonschema, llguidance, torch
from transformers.convert_slow_tokenizer import bytes_to_unicode
from gpt import filled, rows
from judge import Judge

judge = Judge("llguidance", "jsonschema", "transformers")
BENCH = os.environ.get("JSONSCHEMABENCH")
EOS, MOST = 256, 900 if BENCH else 160 # a text has fewer bytes
TOKENIZER = llguidance.LLTokenizer("byte")
VOCAB = {c: b for b, c in bytes_to_unicode().items()} | {"<|endoftext|>": EOS}
BYTES = {"vocab_size": EOS + 1, "eos_token_id": EOS, "bos_token_id": EOS, "tokenizer": {
    "vocab.json": json.dumps(VOCAB).encode(), "merges.txt": b"#version: 0.2\n"}} # an id is the byte
# Schemas without others inside of them, and instances near each.
LEAVES = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())


def scribe(texts):
    """A GPT-2 whose likeliest next byte follows from the position alone, and prompts after which it
    writes each of the texts: what a form does not let through comes out other."""
    data, prompts = [], []
    for text in texts:
        data += [*text.encode(), EOS]
        prompts.append({"tokens": [0] * (len(data) - len(text.encode()))})
    folder, model = judge.checkpoint(n_positions=len(data) + MOST, n_embd=32, n_head=1, n_layer=1,
                                     n_inner=4, **BYTES)
    for name, p in model.named_parameters():
        p.fill_(1. if ".ln_" in name and name.endswith("weight") else 0.)
    wte, wpe = model.transformer.wte.weight, model.transformer.wpe.weight
    wte.copy_(torch.randint(2, wte.shape) * 2. - 1)
    wpe[:len(data)] = wte[data] * 100
    model.save_pretrained(folder)
    return folder, prompts


def schema(depth, root=False):
    """A schema of drawn keywords, and what draws instances near it: many at a bound or beyond."""
    r = judge.random
    low = r.randint(-12, 120)
    high = low + r.randint(0, 90)
    given = {"low": low, "high": high, "beyond": high + 1, "below": low - 1, "less": low % 4,
             "more": 3 + high % 4, "real": low / 4, "reals": high + .5,
             "short": "é" * (low % 4), "long": "\"\\" * (2 + high % 2), "text": "b\t\x7f"}
    some = lambda **keywords: {k: v for k, v in keywords.items() if r.random() < .6}
    kinds = [(made, lambda near=near: r.choice(near)) for made, near in filled(LEAVES, given)]
    if depth:
        parts = [schema(depth - 1) for _ in range(r.randint(1, 4))]
        schemas, draws = [part[0] for part in parts], [part[1] for part in parts]
        names = r.sample(["a", "b", "cc", "name", "ä\"", "x1"], len(parts))
        required, extra = r.sample(names, r.randint(0, len(parts))), ["z", "y", "longer"]
        values = [1, "a", None, [1]]
        listed = lambda: [draws[0]() for _ in range(r.randint(0, 4))]
        keywords = [{"minProperties": 2}, {"maxProperties": 2}, {"propertyNames": {"maxLength": 2}},
                    {"patternProperties": {"^y": {"type": "boolean"}}},
                    {"dependentRequired": {names[0]: names[-1:]}}, {}, {}]
        objects = [({"type": "object", "properties": dict(zip(names, schemas)), **some(
            required=required, additionalProperties=r.choice([False, {"maximum": 7}])), **keyword},
            lambda: {name: draw() for name, draw in zip(names, draws)
                     if r.random() < (.95 if name in required else .5)} | {
                name: r.choice([7, 8, True]) for name in extra if r.random() < .12})
            for keyword in keywords]
        more = [
            ({"type": "array", "items": schemas[0], **some(minItems=low % 3, maxItems=3)}, listed),
            ({"type": "array", "items": {"enum": values}, "uniqueItems": True},
             lambda: r.choices(values, k=r.randint(0, 3))),
            ({"type": "array", "prefixItems": schemas, "items": False, **some(minItems=2)},
             lambda: [draw() for draw in draws][:r.choice([1, 2, 4, 4])] + r.choice([[], [], [1]])),
            ({"anyOf": schemas}, lambda: r.choice(draws)()),
            ({"oneOf": schemas[:2]}, lambda: r.choice(draws[:2])()),
            r.choice(objects), r.choice(objects)]
        if root:
            items = {"$defs": {"d": schemas[0]}, "type": "array", "items": {"$ref": "#/$defs/d"}}
            more.append((items, listed))
        kinds = more if root else kinds + more
    made, drawn = r.choice(kinds)
    other = [0, -1, 1.5, "", "a", "\n", "é😀", None, True, [], [1, 1], {}, {"a": 1}]
    return made, lambda: r.choice(other) if r.random() < .06 else drawn()


def drawn(number):
    """Schemas, and texts for them."""
    written = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    files = sorted(pathlib.Path(BENCH).rglob("*.json")) if BENCH else []
    for path in judge.random.sample(files, min(number, len(files))):
        file = json.loads(path.read_text())
        yield file["schema"], [written(t["data"]) for t in file["tests"]]
    for _ in range(0 if BENCH else number):
        made, instance = schema(2, True)
        yield made, sorted({written(instance()) for _ in range(12)})


def valid(s, text):
    of = jsonschema.validators.validator_for(s, jsonschema.Draft202012Validator)
    return of(s, format_checker=of.FORMAT_CHECKER).is_valid(json.loads(text))


def theirs(s, text):
    """Whether llguidance takes a text; it may not follow the schema."""
    grammar, ids = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(s)), [*text.encode()]
    m = llguidance.LLMatcher(TOKENIZER, grammar, log_level=0)
    return not m.is_error() and m.try_consume_tokens(ids) == len(ids) and m.is_accepting()


def generated(claim, folder, s, prompts, *flags):
    """What gpt generate writes under a schema: its objects, none where it refuses the schema, or
    knows no text of so few tokens."""
    code, out, err = judge.both(
        "generate", "-m", folder, "--json-schema", json.dumps(s), "--json-open", "--json-any-order",
        "--output", "json", "--prompts", "-", "--input-format", "jsonl", *flags, input=prompts)
    if code and "tokens that --max-tokens allows" in err:
        claim.skip("schemas without a known text of so few tokens")
        return []
    if code:
        assert out == "" and "schema" in err, (s, err)
        claim.skip("schemas that gpt refuses by name")
    return rows(out)


with judge.claim("no invalid instance is taken, and none refused that llguidance takes",
                 by="llguidance, jsonschema", least=400 if BENCH else 1500) as claim:
    for s, texts in drawn(275):
        short = [t for t in texts if len(t.encode()) < MOST]
        folder, prompts = scribe(short)
        out = generated(claim, folder, s, prompts, "--temp", 0, "-n", MOST)
        for text, written in zip(short, out):
            taken = written["text"] == text and written["finish_reason"] != "length"
            if not valid(s, text):
                claim.same((json.dumps(s), text), taken, False)
            elif taken or theirs(s, text):
                claim.same((json.dumps(s), text), taken, True)
            else:
                claim.skip("valid instances that neither takes")

with judge.claim("texts of random weights under schemas are valid", by="jsonschema, transformers",
                 least=40 if BENCH else 100) as claim:
    for tokenizer in BYTES, {"vocab_size": 50257, "tokenizer": judge.demo()}:
        folder, _ = judge.checkpoint(n_positions=512, **tokenizer)
        for s, _ in drawn(80):
            seed = judge.random.randrange(1 << 31)
            for written in generated(claim, folder, s, [{"tokens": [64]}] * 2, "--temp", 1,
                                     "--top-k", 0, "-n", 300, "--seed", seed):
                if written["finish_reason"] == "length":
                    claim.skip("texts that do not end within 300 tokens")
                else:
                    text = written["text"]
                    claim.same((json.dumps(s), text), valid(s, text), True)

judge.end()

"""llguidance and jsonschema judge gpt's forms: which JSON a schema lets through, and what is written under it.

JSONSCHEMABENCH=FOLDER takes a sample of the files of MaskBench, else schemas are made up.
"""
import json, os, pathlib, urllib.error, urllib.request
import jsonschema, llguidance, numpy, safetensors.numpy, transformers
from judge import Judge

judge = Judge("llguidance", "jsonschema", "transformers")
BENCH = os.environ.get("JSONSCHEMABENCH")
EOS, MOST = 256, 900 if BENCH else 160 # a text has fewer bytes
BYTES = llguidance.LLTokenizer("byte")
PATTERNS = {"^[a-c]{2,4}$": "abca", "^[A-Z][a-z]*$": "Bye", "^[0-9]{3}-[0-9]$": "123-4", "x|yy": "ayyb",
            "^(ab|c)+$": "abcab", "^a": "ab"}
FORMATS = {"date": "2024-02-29", "ipv4": "10.0.255.1", "ipv6": "fe80::1",
           "uuid": "123e4567-e89b-12d3-a456-426614174000"}


def tokens(folder):
    """The files of a tokenizer of bytes: id is the byte."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode
    vocab = {c: b for b, c in bytes_to_unicode().items()} | {"<|endoftext|>": EOS}
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "merges.txt").write_text("#version: 0.2\n")


def scribe():
    """A GPT-2 that writes its prompt of MOST bytes again: each position has a code, and asks for the
    code of the position whose byte it has to write. What a form does not let through comes out other."""
    r, codes, byte = numpy.random.default_rng(1), 64, 32
    wide = 2 * codes + byte
    at = r.choice([-1., 1.], (2 * MOST, codes))
    zero = lambda *shape: numpy.zeros(shape, numpy.float32)
    wte, wpe = zero(EOS + 1, wide), zero(2 * MOST, wide)
    attend, out = zero(wide, 3 * wide), zero(wide, wide)
    wte[:, :byte] = r.choice([-1., 1.], (EOS + 1, byte))
    wpe[:, byte:byte + codes] = at
    wpe[MOST - 1:, byte + codes:] = at[:MOST + 1]
    for i in range(codes):
        attend[byte + codes + i, i] = 100 # of a query
        attend[byte + i, wide + i] = 1 # of a key
    for i in range(byte):
        attend[i, 2 * wide + i], out[i, i] = 1, 1000
    one = lambda: numpy.ones(wide, numpy.float32)
    folder = judge.folder()
    safetensors.numpy.save_file({
        "wte.weight": wte, "wpe.weight": wpe,
        "h.0.attn.c_attn.weight": attend, "h.0.attn.c_attn.bias": zero(3 * wide),
        "h.0.attn.c_proj.weight": out, "h.0.attn.c_proj.bias": zero(wide),
        "h.0.mlp.c_fc.weight": zero(wide, 4), "h.0.mlp.c_fc.bias": zero(4),
        "h.0.mlp.c_proj.weight": zero(4, wide), "h.0.mlp.c_proj.bias": zero(wide),
        **{f"{ln}.weight": one() for ln in ("h.0.ln_1", "h.0.ln_2", "ln_f")},
        **{f"{ln}.bias": zero(wide) for ln in ("h.0.ln_1", "h.0.ln_2", "ln_f")}}, folder / "model.safetensors")
    transformers.GPT2Config(
        vocab_size=EOS + 1, n_positions=2 * MOST, n_embd=wide, n_layer=1, n_head=1, n_inner=4, bos_token_id=EOS,
        eos_token_id=EOS, architectures=["GPT2LMHeadModel"]).save_pretrained(folder)
    tokens(folder)
    return folder


def asked(url, schema, **fields):
    """The choices of a completion under a schema, or the message of the error."""
    fields |= {"structured_outputs": {"json": schema}, "json_open": True}
    request = urllib.request.Request(url + "/v1/completions", json.dumps(fields).encode())
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)["choices"]
    except urllib.error.HTTPError as e:
        assert e.code == 400, (e.code, schema)
        return json.load(e)["error"]["message"]


def written(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def theirs(schema, text):
    """Whether llguidance takes a text; None if it does not follow the schema."""
    m = llguidance.LLMatcher(BYTES, llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema)), log_level=0)
    if m.is_error():
        return None
    ids = list(text.encode())
    return m.validate_tokens(ids) == len(ids) and m.try_consume_tokens(ids) == len(ids) and m.is_accepting()


def schema(depth):
    """A schema of drawn keywords."""
    r = judge.random
    low = r.randint(-12, 120)
    high = low + r.randint(0, 90)
    few = lambda most=3, of=None: [(of or schema)(depth - 1) for _ in range(r.randint(1, most))]
    some = lambda **keywords: {k: v for k, v in keywords.items() if r.random() < .6}
    leaves = {
        "integer": lambda: {"type": "integer", **some(minimum=low, maximum=high),
                            **r.choice([{}, {"multipleOf": 3}])},
        "number": lambda: {"type": "number", **some(exclusiveMinimum=low, exclusiveMaximum=high + .5)},
        "bounds": lambda: {"type": "number", "minimum": low / 4, "maximum": high},
        "string": lambda: {"type": "string", **some(minLength=low % 4, maxLength=3 + high % 4)},
        "pattern": lambda: {"type": "string", "pattern": r.choice(list(PATTERNS)), **some(maxLength=5)},
        "format": lambda: {"type": "string", "format": r.choice(list(FORMATS))},
        "enum": lambda: {"enum": r.sample([1, 2.5, "a", "b", None, True, [1], {"a": 1}, ""], r.randint(1, 4))},
        "const": lambda: {"const": r.choice([low, "it", [1, 2], None])},
        "types": lambda: {"type": r.sample(["null", "boolean", "integer", "string"], 2)}}
    more = {
        "object": lambda: an_object(depth, some),
        "object again": lambda: an_object(depth, some),
        "array": lambda: {"type": "array", "items": schema(depth - 1),
                          **some(minItems=r.randint(0, 2), maxItems=3)},
        "set": lambda: {"type": "array", "items": {"enum": [1, 2, "a", None]}, "uniqueItems": True},
        "tuple": lambda: {"type": "array", "prefixItems": few(), "items": r.choice([False, {"type": "null"}]),
                          **some(minItems=2)},
        "anyOf": lambda: {"anyOf": few()},
        "oneOf": lambda: {"oneOf": few(2)},
        "allOf": lambda: {"allOf": [leaves["integer"](), leaves["integer"]()]},
        "not": lambda: {"type": "integer", "minimum": 0, "maximum": 9, "not": {"enum": r.sample(range(9), 3)}},
        "if": lambda: {"type": ["integer", "null"], "if": {"type": "integer"}, "then": {"minimum": low}},
        "$ref": lambda: {"$defs": {"d": leaves[r.choice(list(leaves))]()}, "type": "array",
                         "items": {"$ref": "#/$defs/d"}, "maxItems": 3} if depth == 2 else {"type": "boolean"}}
    kinds = leaves | more if depth else leaves
    return kinds[r.choice(list(more if depth == 2 else kinds))]()


def an_object(depth, some):
    r = judge.random
    names = r.sample(["a", "b", "cc", "name", "ä\"", "x1"], r.randint(1, 4))
    return {"type": "object", "properties": {n: schema(depth - 1) for n in names},
            **some(required=r.sample(names, r.randint(0, len(names))), additionalProperties=r.choice(
                [False, False, {"type": "integer", "maximum": 7}])),
            **r.choice([{}, {}, {"minProperties": 2}, {"maxProperties": 2}, {"propertyNames": {"maxLength": 2}},
                        {"patternProperties": {"^y": {"type": "boolean"}}},
                        {"dependentRequired": {names[0]: names[-1:]}}])}


def instance(s, root):
    """A value near a schema: often valid, often at a bound or beyond it."""
    r = judge.random
    if isinstance(s, bool) or r.random() < .06:
        return r.choice([0, -1, 1.5, "", "a", "\n", "é😀", None, True, [], [1, 1], {}, {"a": 1}])
    if "$ref" in s:
        s = root["$defs"]["d"]
    for k in ("anyOf", "oneOf", "allOf"):
        s = r.choice(s[k]) if k in s else s
    if "enum" in s or "const" in s:
        return r.choice(s.get("enum") or [s.get("const")])
    kind = s.get("type", "null")
    kind = r.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        names = [n for n in s["properties"] if n in s.get("required", []) and r.random() < .95 or r.random() < .5]
        extra = [n for n in ("z", "y", "longer") if r.random() < .12]
        return {n: instance(s["properties"].get(n, {"type": "integer", "maximum": 7}), root) for n in names + extra}
    if kind == "array":
        n = r.randint(0, 3)
        of = (s.get("prefixItems", []) + [s["items"]] * 3)[:n] # the last one may be False
        return [instance(x, root) for x in of]
    if kind in ("integer", "number"):
        bounds = [s[k] for k in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if k in s] or [0]
        x = r.choice(bounds) + r.choice([-1, 0, 0, 1, 2] + [.5, -.25, .01] * (kind == "number"))
        x = round(x / s["multipleOf"]) * s["multipleOf"] if r.random() < .7 and "multipleOf" in s else x
        return int(x) if x == int(x) else x
    if kind == "string":
        if known := PATTERNS.get(s.get("pattern")) or FORMATS.get(s.get("format")):
            at = r.randrange(len(known))
            other = known[:at] + r.choice(["", "9", "b"]) + known[at + r.randint(0, 1):]
            return known if r.random() < .5 else other
        n = r.choice([s.get("minLength", 0), s.get("maxLength", 9)]) + r.choice([-1, 0, 0, 1])
        return "".join(r.choice("ab é😀\"\\/\t\x7f") for _ in range(n))
    return {"boolean": r.random() < .5, "null": None}[kind]


def drawn(schemas):
    """Schemas and texts for them."""
    if BENCH:
        for path in judge.random.sample(sorted(pathlib.Path(BENCH).rglob("*.json")), schemas):
            file = json.loads(path.read_text())
            yield file["schema"], [written(t["data"]) for t in file["tests"]]
    else:
        for _ in range(schemas):
            s = schema(2)
            yield s, sorted({written(instance(s, s)) for _ in range(12)})


def checked(s):
    of = jsonschema.validators.validator_for(s, jsonschema.Draft202012Validator)
    return of(s, format_checker=of.FORMAT_CHECKER)


@judge.claim("no invalid instance is taken, and none refused that llguidance takes", by="llguidance, jsonschema",
             least=400 if BENCH else 1500)
def _(claim):
    with judge.server("-m", scribe()) as url:
        for s, all_texts in drawn(250):
            texts = [t for t in all_texts if len(t.encode()) < MOST]
            for text in all_texts[len(texts):]:
                claim.skip(text, f"instances of {MOST} bytes and more")
            prompts = [list(t.encode()) + [EOS] * (MOST - len(t.encode())) for t in texts] or [[EOS] * MOST]
            got = asked(url, s, prompt=prompts, temperature=0, max_tokens=MOST)
            if isinstance(got, str):
                claim.skip(got, "schemas that gpt refuses by name")
                continue
            for text, choice in zip(texts, got):
                taken = choice["text"] == text and choice["finish_reason"] == "stop"
                what = f"{json.dumps(s)} {text}"
                if not checked(s).is_valid(json.loads(text)):
                    claim.same(what, taken, False)
                elif taken or theirs(s, text):
                    claim.same(what, taken, True)
                else:
                    claim.skip(what, "valid instances that neither takes")


@judge.claim("texts of random weights under schemas are valid", by="jsonschema, transformers",
             least=40 if BENCH else 100)
def _(claim):
    for tokenizer in ("bytes", "gpt2"):
        fields = {} if tokenizer == "gpt2" else {"vocab_size": EOS + 1, "bos_token_id": EOS, "eos_token_id": EOS}
        path, _ = judge.checkpoint(tokenizer="gpt2" if tokenizer == "gpt2" else None, n_positions=512, **fields)
        if tokenizer == "bytes":
            tokens(path)
        with judge.server("-m", path) as url:
            for s, _ in drawn(60):
                got = asked(url, s, prompt="a", max_tokens=300, n=2, seed=judge.random.randrange(1 << 31))
                if isinstance(got, str):
                    claim.skip(got, "schemas that gpt refuses by name")
                    continue
                for choice in got:
                    if choice["finish_reason"] == "stop":
                        valid = checked(s).is_valid(json.loads(choice["text"]))
                        claim.same(f"{json.dumps(s)} {choice['text']}", valid, True)
                    else:
                        claim.skip(s, "texts that do not end within 300 tokens")


judge.end()

"""tokenizers judges tokenizer.json: files with every part that the library has, trained here."""
import base64, io, json, os, pathlib, re
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers as P, trainers
from gpt import ROOT, rows
from judge import Judge

judge = Judge("tokenizers", "sentencepiece")
TEXTS = 150
PARTS = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())
KINDS, ADDED = PARTS.pop("kinds"), PARTS.pop("added")
AWAY = 'byte_fallback|prefix_space": true|"(always|first)"' # where offsets are not the text's


def on():
    return judge.random.random() < .5


def drawn(list):
    """Each of a list in a drawn order, and again."""
    while True:
        yield from judge.random.sample([*list], len(list))


def precompiled(corpus):
    """A normalizer with the rules of sentencepiece."""
    file, model = io.BytesIO(), sentencepiece_model_pb2.ModelProto()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_writer=file,
                                             vocab_size=300, hard_vocab_limit=False, minloglevel=3)
    model.ParseFromString(file.getvalue())
    rules = base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()
    return {"type": "Precompiled", "precompiled_charsmap": rules}


def trained(kind, corpus, parts):
    """A tokenizer of a kind with these parts, and of drawn options of its model and tokens."""
    r, options = judge.random, {"model": {}, "trainer": {}}
    for of, drawn in options.items():
        for name, values in KINDS[kind][of].items():
            drawn[name] = r.choice(values)
    model = options["model"]
    spelled = [f"<0x{b:02X}>" for b in range(256)] if model.get("byte_fallback") else []
    if kind == "Unigram" and r.random() < .2:
        model["unk_id"] = None
    elif kind == "bytes":
        options["trainer"]["initial_alphabet"] = P.ByteLevel.alphabet() if on() else []
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                 "use_regex": on()}
        # without a decoder such tokens are bytes here, and letters there
        parts["decoder"], splitter = parts["decoder"] or level, parts["pre_tokenizer"]
        if "ByteLevel" not in str(splitter):
            both = {"type": "Sequence", "pretokenizers": [splitter, level]}
            parts["pre_tokenizer"] = both if splitter else level
    name = "BPE" if kind == "bytes" else kind
    trainer = getattr(trainers, name.replace("BPE", "Bpe") + "Trainer")(
        vocab_size=r.choice([1_000, 1_500]), show_progress=False,
        special_tokens=["[UNK]", "[SEP]", "[CLS]", *spelled],
        **{name: value for name, value in options["trainer"].items() if value})
    file = json.loads(Tokenizer(getattr(models, name)()).to_str()) | parts
    tokenizer = Tokenizer.from_str(json.dumps(file))
    tokenizer.train_from_iterator(corpus, trainer)
    file = json.loads(tokenizer.to_str())
    file["added_tokens"] = [a for a in file["added_tokens"] if a["content"] not in spelled]
    file["model"] |= model
    tokenizer = Tokenizer.from_str(json.dumps(file))
    for content in r.sample(ADDED, r.randint(0, 6)):
        flags = {flag: r.random() < .4 for flag in (
            "single_word", "lstrip", "rstrip", "normalized", "special")}
        if content.isspace(): # of which Strip leaves nothing, and tokenizers finds that everywhere
            flags["normalized"] = False
        tokenizer.add_tokens([AddedToken(content, **flags)])
    return tokenizer


def described(value):
    """What is on in a tokenizer.json, but for the vocabulary."""
    if isinstance(value, dict):
        return {k: described(v) for k, v in value.items() if v and k not in ("vocab", "merges")}
    return [described(v) for v in value] if isinstance(value, list) else value


def asked(function, *args, **flags):
    """What the library answers; None where it fails, and "panic" where it breaks."""
    try:
        return function(*args, **flags)
    except BaseException as e:
        return "panic" if type(e).__name__ == "PanicException" else None


def alike(ours, theirs):
    """Whether texts are the same, but where theirs has U+FFFD: it writes that for all of a run of
    bytes that is no UTF-8, and for letters of added tokens after ByteLevel."""
    first, *parts = (re.escape(part) for part in re.split("\ufffd+", theirs))
    rule = first + "".join(f"(?>.+?{part})" for part in parts[:-1]) # each where it comes first
    return bool(re.fullmatch(rule + "".join(f".+{p}" for p in parts[-1:]), ours, re.DOTALL))


with judge.claim("ids, offsets and texts of kinds of tokenizer.json that are trained for it",
                 by="tokenizers, sentencepiece", least=60 * TEXTS * 7 // 4) as claim:
    with open(os.devnull, "w") as null:
        os.dup2(null.fileno(), 2) # where panics are told
    documents = "\n".join(p.read_text() for p in sorted(ROOT.glob("docs/*.md")))
    kinds, drawn_parts = drawn(KINDS), {name: drawn(parts) for name, parts in PARTS.items()}
    for _ in range(60):
        kind, parts = next(kinds), {name: next(some) for name, some in drawn_parts.items()}
        at = judge.random.randrange(len(documents) - 60_000)
        corpus = documents[at:at + 60_000].split("\n") + [judge.text() for _ in range(20)]
        if parts["normalizer"] == "Precompiled":
            parts["normalizer"] = precompiled(corpus)
        tokenizer = trained(kind, corpus, parts)
        file, vocab = json.loads(tokenizer.to_str()), tokenizer.get_vocab()
        what = json.dumps(described(file), ensure_ascii=False)
        if kind in ("BPE", "bytes") and on():
            file["model"]["dropout"] = .1 # of training, here; there of encoding, too
        folder = judge.vocabulary(tokenizer.get_vocab_size(),
                                  {"tokenizer.json": json.dumps(file).encode()})
        # where characters come, go or become bytes, its offsets shift; ours are those of the text
        whole = not parts["normalizer"] and not re.search(AWAY, what) and (
            "unk_token" in what or kind == "Unigram" or set(P.ByteLevel.alphabet()) <= {*vocab})
        texts = [judge.text([*vocab] + ADDED * 20) for _ in range(TEXTS)]

        def encoded(text):
            e = tokenizer.encode(text, add_special_tokens=False)
            return e.ids, [*map(list, e.offsets)]
        theirs = [asked(encoded, t) for t in texts]
        lists = [b[0] for b in theirs if b and b[0] and b != "panic"]
        inputs = [{"text": t} for t in texts] + [{"tokens": ids} for ids in lists]
        ours = rows(judge.both("score", "-m", folder, "--special", "--cjk-spaces", input=inputs)[1])
        for text, a, b in zip(texts, ours, theirs):
            if b == "panic":
                claim.skip("texts at which tokenizers panics")
                continue
            claim.same((repr(text), what, a.get("error", "")), a.get("tokens"), b and b[0])
            if b and b[0] and whole:
                claim.same(("offsets", repr(text), what), a.get("offsets"), b[1])
        for ids, a in zip(lists, ours[TEXTS:], strict=True):
            text, b = a.get("text"), asked(tokenizer.decode, ids, skip_special_tokens=False)
            if b == "panic":
                claim.skip("ids at which tokenizers panics")
            else:
                claim.count(text is not None and alike(text, b), (ids, what), text, b)

with judge.claim("parts of tokenizer.json that are not read are refused by name", by="tokenizers",
                 least=3) as claim:
    for name, part in [("pre_tokenizer", P.UnicodeScripts()), ("decoder", decoders.CTC()),
                       ("pre_tokenizer", P.FixedLength(5))]:
        tokenizer = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
        setattr(tokenizer, name, part)
        folder = judge.vocabulary(1, {"tokenizer.json": tokenizer.to_str().encode()})
        claim.refused(name, judge.error("tokenize", "-m", folder, "a"),
                      f"{name}: {type(part).__name__}: not supported")

judge.end()

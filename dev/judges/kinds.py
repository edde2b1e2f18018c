"""tokenizers judges tokenizer.json: files with every part that the library has, trained here."""
import io, json, os, re
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers import decoders as D, models as M, normalizers as N, pre_tokenizers as P
from tokenizers import processors as R, trainers as T
from judge import ROOT, Judge

judge = Judge("tokenizers", "sentencepiece")
KINDS, TEXTS = 60, 150
WAYS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
PATTERNS = [r"\s+", r"\d", r"\p{L}+", r"\w+|[^\w\s]+",
            r"'s|'t| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
            r"(?i:'s|'t|'re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"]
NORMALIZERS = [
    None, None, None, N.NFC(), N.NFD(), N.NFKC(), N.NFKD(), N.Lowercase(), N.StripAccents(),
    N.Nmt(), N.Strip(), N.Strip(True, False), N.Prepend("▁"), N.Replace("a", "bb"), N.ByteLevel(),
    N.Replace(Regex(r"\s+"), " "), N.Replace(Regex(r"[^\w\s]"), ""), N.BertNormalizer(),
    N.BertNormalizer(False, True, True, False),
    N.Sequence([N.NFD(), N.StripAccents(), N.Lowercase()]),
    N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), "Precompiled"]
SPLITTERS = [
    None, P.ByteLevel(), P.ByteLevel(False), P.ByteLevel(False, use_regex=False), P.Whitespace(),
    P.WhitespaceSplit(), P.BertPreTokenizer(), P.Digits(True), P.Digits(),
    P.CharDelimiterSplit("a"),
    *(P.Metaspace("▁", to, cut) for to in ("always", "first", "never") for cut in (True, False)),
    *(P.Punctuation(way) for way in WAYS), *(P.Split(" ", way) for way in WAYS),
    *(P.Split(Regex(p), way, invert=i) for i in (False, True)
      for way, p in zip(WAYS, PATTERNS[i:])),
    P.Sequence([P.Digits(True), P.ByteLevel(False)]),
    P.Sequence([P.Split(Regex(r"\d"), "isolated"), P.Metaspace()])]
DECODERS = [
    None, D.ByteLevel(), D.WordPiece(), D.WordPiece("", cleanup=False), D.Metaspace(),
    D.Metaspace("▁", "never"), D.BPEDecoder(), D.BPEDecoder("g"), D.Fuse(),
    D.Replace("▁", " "), D.ByteFallback(), D.Strip(" ", 1, 0), D.Strip("g", 0, 1),
    D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])]
PROCESSORS = [None, R.ByteLevel(trim_offsets=False), R.BertProcessing(("[SEP]", 1), ("[CLS]", 2)),
              R.RobertaProcessing(("[SEP]", 1), ("[CLS]", 2), trim_offsets=False),
              R.TemplateProcessing("[CLS] $A", special_tokens=[("[CLS]", 2)])]
ADDED = ["<m>", "[r]", "Qat", "QÉT", "\t\t", "<m><m>", "éÉ", "1Q", " of", "é"]
AWAY = 'byte_fallback|prefix_space": true|"(always|first)"' # where offsets are not the text's
FLAGS = ["single_word", "lstrip", "rstrip", "normalized", "special"]


def on():
    return judge.random.random() < .5


def drawn(list):
    """Each of a list in a drawn order, and again."""
    while True:
        yield from judge.random.sample(list, len(list))


def precompiled(corpus):
    """A normalizer with the rules of sentencepiece."""
    file, model = io.BytesIO(), sentencepiece_model_pb2.ModelProto()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_writer=file,
                                             vocab_size=300, hard_vocab_limit=False, minloglevel=3)
    model.ParseFromString(file.getvalue())
    return N.Precompiled(model.normalizer_spec.precompiled_charsmap)


def trained(kind, corpus, normalizer, splitter, decoder, processor):
    """A tokenizer of a kind with these parts, and of drawn options of its model and tokens."""
    r, unknown, fallback = judge.random, "[UNK]", kind in ("BPE", "Unigram") and on()
    spelled = [f"<0x{b:02X}>" for b in range(256)] if fallback else []
    options = dict(vocab_size=r.choice([1_000, 1_500]), show_progress=False,
                   special_tokens=[unknown, "[SEP]", "[CLS]", *spelled])
    if kind == "bytes":
        model = M.BPE()
        trainer = T.BpeTrainer(**options, initial_alphabet=P.ByteLevel.alphabet() if on() else [])
        if "ByteLevel" not in repr(splitter):
            level = P.ByteLevel(False, use_regex=on())
            splitter = P.Sequence([splitter, level]) if splitter else level
    elif kind == "BPE":
        affixes = {"continuing_subword_prefix": r.choice(["", "", "##"]),
                   "end_of_word_suffix": r.choice(["", "", "</w>"])}
        affixes = {name: text for name, text in affixes.items() if text}
        model = M.BPE(unk_token=r.choice([None, unknown]), fuse_unk=on(), ignore_merges=on(),
                      **affixes)
        trainer = T.BpeTrainer(**options, **affixes)
    elif kind == "Unigram":
        model = M.Unigram()
        trainer = T.UnigramTrainer(**options, unk_token=unknown, max_piece_length=r.choice([4, 16]))
    elif kind == "WordPiece":
        model = M.WordPiece(unk_token=unknown, max_input_chars_per_word=r.choice([4, 100]))
        trainer = T.WordPieceTrainer(**options)
    else:
        model, trainer = M.WordLevel(unk_token=unknown), T.WordLevelTrainer(**options)
    tokenizer = Tokenizer(model)
    for name, part in dict(normalizer=normalizer, pre_tokenizer=splitter, decoder=decoder,
                           post_processor=processor).items():
        if part:
            setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(corpus, trainer)
    file = json.loads(tokenizer.to_str())
    file["added_tokens"] = [a for a in file["added_tokens"] if a["content"] not in spelled]
    if fallback:
        file["model"]["byte_fallback"] = True
    if kind == "Unigram" and r.random() < .2:
        file["model"]["unk_id"] = None
    tokenizer = Tokenizer.from_str(json.dumps(file))
    for content in r.sample(ADDED, r.randint(0, 6)):
        flags = {flag: r.random() < .4 for flag in FLAGS}
        if content.isspace(): # of which Strip leaves nothing, and tokenizers finds that everywhere
            flags["normalized"] = False
        tokenizer.add_tokens([AddedToken(content, **flags)])
    return tokenizer


def described(value):
    """What is on in a tokenizer.json, but for the vocabulary."""
    if isinstance(value, dict):
        return {k: described(v) for k, v in value.items() if v and k not in ("vocab", "merges")}
    return [described(v) for v in value] if isinstance(value, list) else value


PANIC = "panic"


def asked(function, *args, **flags):
    """What the library answers; None where it fails, and PANIC where it breaks."""
    try:
        return function(*args, **flags)
    except Exception:
        return None
    except BaseException as e:
        if type(e).__name__ != "PanicException":
            raise
        return PANIC


def alike(ours, theirs):
    """Whether texts are the same, but where theirs has U+FFFD: it writes that for all of a run of
    bytes that is no UTF-8, and for letters of added tokens after ByteLevel."""
    first, *parts = re.split("\ufffd+", theirs)
    if not parts or not ours.startswith(first) or not ours.endswith(parts[-1]):
        return ours == theirs
    at = len(first)
    for part in parts[:-1]:
        at = ours.find(part, at + 1) + len(part)
        if at < len(part):
            return False
    return at + 1 + len(parts[-1]) <= len(ours)


@judge.claim("ids, offsets and texts of kinds of tokenizer.json that are trained for it",
             by="tokenizers, sentencepiece", least=KINDS * TEXTS * 7 // 4)
def _(claim):
    with open(os.devnull, "w") as null:
        os.dup2(null.fileno(), 2) # where panics are told
    documents = "\n".join(p.read_text() for p in sorted(ROOT.glob("docs/*.md")))
    parts = [drawn(list) for list in (["BPE", "bytes", "Unigram", "WordPiece", "WordLevel"],
                                      NORMALIZERS, SPLITTERS, DECODERS, PROCESSORS)]
    for _ in range(KINDS):
        kind, normalizer, splitter, decoder, processor = map(next, parts)
        at = judge.random.randrange(len(documents) - 60_000)
        corpus = documents[at:at + 60_000].split("\n") + [judge.text() for _ in range(20)]
        if normalizer == "Precompiled":
            normalizer = precompiled(corpus)
        if kind == "bytes": # without a decoder such tokens are bytes here, and letters there
            decoder = decoder or D.ByteLevel()
        tokenizer = trained(kind, corpus, normalizer, splitter, decoder, processor)
        file = json.loads(tokenizer.to_str())
        what = json.dumps(described(file), ensure_ascii=False)
        if kind in ("BPE", "bytes") and on():
            file["model"]["dropout"] = .1 # of training, here; there of encoding, too
        folder = judge.vocabulary(tokenizer.get_vocab_size(),
                                  **{"tokenizer.json": json.dumps(file).encode()})
        # where characters come, go or become bytes, its offsets shift; ours are those of the text
        vocab = tokenizer.get_vocab()
        whole = not normalizer and not re.search(AWAY, what) and (
            "unk_token" in what or kind == "Unigram" or set(P.ByteLevel.alphabet()) <= {*vocab})
        texts = [judge.text(list(vocab) + ADDED * 20) for _ in range(TEXTS)]
        theirs = [asked(tokenizer.encode, t, add_special_tokens=False) for t in texts]
        lists = [e.ids for e in theirs if e and e != PANIC] # one without ids is false
        inputs = [{"text": t} for t in texts] + [{"tokens": ids} for ids in lists]
        _, out, err = judge.both("score", "-m", folder, "--special", "--cjk-spaces",
                                 input="".join(json.dumps(i) + "\n" for i in inputs))
        ours = [json.loads(line) for line in out.split("\n")[:-1]]
        if len(ours) != len(inputs):
            claim.differs(what, err)
            continue
        for text, a, b in zip(texts, ours, theirs):
            if b == PANIC:
                claim.skip(text, "texts at which tokenizers panics")
                continue
            good = claim.same(f"{text!r} {what}", a.get("tokens"), None if b is None else b.ids)
            if good and b and whole:
                claim.same(f"offsets {text!r} {what}", a["offsets"], list(map(list, b.offsets)))
        for ids, a in zip(lists, ours[len(texts):]):
            text, b = a.get("text"), asked(tokenizer.decode, ids, skip_special_tokens=False)
            if b == PANIC:
                claim.skip(ids, "ids at which tokenizers panics")
            else:
                claim.count(text is not None and alike(text, b), f"{ids} {what}", text, b)


@judge.claim("parts of tokenizer.json that are not read are refused by name", by="tokenizers",
             least=3)
def _(claim):
    for name, part in dict(pre_tokenizer=P.UnicodeScripts(), decoder=D.CTC()).items() | {
            ("pre_tokenizer", P.FixedLength(5))}:
        tokenizer = Tokenizer(M.WordLevel({"a": 0}, unk_token="a"))
        setattr(tokenizer, name, part)
        folder = judge.vocabulary(1, **{"tokenizer.json": tokenizer.to_str().encode()})
        code, _, err = judge.both("tokenize", "-m", folder, "a")
        kind = type(part).__name__
        claim.same(f"{kind}: {err}", code != 0 and f"{name}: {kind}: not supported" in err, True)


judge.end()

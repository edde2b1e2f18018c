"""tiktoken, tokenizers and sentencepiece judge token ids, their texts and their spans."""
import io, itertools, json
import regex, sentencepiece, tiktoken, tokenizers
from tiktoken_ext.openai_public import r50k_pat_str
from judge import ROOT, WORDS, Judge

judge = Judge("tiktoken", "tokenizers", "sentencepiece")
END = 50256
# The SHA-256 of OpenAI's vocab.bpe: gpt convert writes the same bytes.
MERGES = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"


def gpt2():
    """A folder with GPT-2's vocabulary, as gpt convert writes it, and the two libraries with it."""
    demo = judge.folder()
    judge.run("convert", "demo", demo)
    ranks = tiktoken.load.data_gym_to_mergeable_bpe_ranks(
        str(demo / "merges.txt"), str(demo / "vocab.json"), MERGES)
    openai = tiktoken.Encoding("gpt2", pat_str=r50k_pat_str, mergeable_ranks=ranks,
                               special_tokens={"<|endoftext|>": END})
    theirs = tokenizers.Tokenizer.from_file(str(demo / "tokenizer.json"))
    theirs.encode_special_tokens = True # as ordinary text
    # a span has its space
    theirs.post_processor = tokenizers.processors.ByteLevel(trim_offsets=False)
    files = {name: (demo / name).read_bytes() for name in ("vocab.json", "merges.txt")}
    folder = judge.vocabulary(END + 1, **files)
    return folder, openai, theirs


def rows(command, folder, inputs, *flags):
    """What a command answers to each object."""
    lines = "".join(json.dumps(i) + "\n" for i in inputs)
    _, out, err = judge.both(command, "-m", folder, *flags, input=lines)
    answers = [json.loads(line) for line in out.split("\n")[:-1]]
    assert len(answers) == len(inputs), err
    return answers


@judge.claim("GPT-2's ids of texts, and the texts of ids", by="tiktoken, tokenizers", least=100_000)
def _(claim):
    folder, openai, theirs = gpt2()
    texts = [judge.text(["<|endoftext|>", "<|end", "Ċ"]) for _ in range(100_000)]
    ours = [a["tokens"] for a in rows("embed", folder, [{"text": t} for t in texts])]
    flat = ",".join(str(id) for ids in ours for id in [*ids, END])
    again, at = judge.run("tokenize", "-m", folder, "--decode", input=f"[{flat}]"), 0
    others = theirs.encode_batch_fast(texts, add_special_tokens=False)
    for text, ids, other in zip(texts, ours, others):
        end = at + len(text)
        claim.same(repr(text), [ids, ids, again[at:end]],
                   [openai.encode_ordinary(text), other.ids, text])
        at = end + len("<|endoftext|>")
    claim.same("all of them", len(again), at)


@judge.claim("GPT-2's spans of texts, in code points and in bytes", by="tiktoken, tokenizers",
             least=400)
def _(claim):
    folder, openai, theirs = gpt2()
    texts = [judge.text() for _ in range(400)]
    inputs = [{"text": t} for t in texts]
    spans = [rows("score", folder, inputs, "--fields", "offsets", "--offsets", unit)
             for unit in ("bytes", "chars")]
    others = theirs.encode_batch(texts, add_special_tokens=False)
    for text, in_bytes, in_chars, other in zip(texts, *spans, others):
        tokens = openai.decode_tokens_bytes(openai.encode_ordinary(text))
        ends = [0, *itertools.accumulate(map(len, tokens))]
        claim.same(repr(text), [in_bytes["offsets"], in_chars["offsets"]],
                   [list(map(list, itertools.pairwise(ends))), list(map(list, other.offsets))])


@judge.claim("GPT-2's ids of bytes that are no UTF-8, and the bytes of ids", by="tiktoken",
             least=10_000)
def _(claim):
    folder, openai, _ = gpt2()
    texts = []
    for _ in range(10_100):
        data = bytearray(judge.text().encode())
        for _ in range(judge.random.randint(1, 8)):
            at = judge.random.randrange(len(data) + 1)
            match judge.random.randrange(4):
                case 0: data[at:at + 1] = b"" # which may leave a part of a character
                case 1: data[at:at] = judge.random.randbytes(judge.random.randint(1, 4))
                case 2: data[at:at + 1] = judge.random.choice([b"\x80", b"\xc0", b"\xe2", b"\xff"])
                case 3: data[at:at] = judge.random.choice([b"\xed\xa0\x80", b"\xf0\x9f\x98"])
        texts.append(bytes(data) or b"\xff")
    joined = b"<|endoftext|>".join(texts)
    ours = json.loads(judge.run("tokenize", "-m", folder, "--special", input=joined))
    again = judge.run("tokenize", "-m", folder, "--decode", input=json.dumps(ours))
    claim.same("all of them", again.encode(errors="surrogateescape"), joined)
    ours = [list(ids) for end, ids in itertools.groupby(ours, lambda id: id == END) if not end]

    def pieces(text): # a byte by itself is a surrogate, and for regex that is a symbol
        found = (p.encode(errors="surrogateescape") for p in regex.findall(r50k_pat_str, text))
        return [id for piece in found for id in openai._encode_single_piece(piece)]

    for data, ids in zip(texts, ours, strict=True):
        valid = data.decode(errors="ignore")
        if pieces(valid) != openai.encode_ordinary(valid):
            claim.skip(data, "characters that are letters for regex, of a later Unicode")
            continue
        want = pieces(data.decode(errors="surrogateescape"))
        claim.same(repr(data), [ids, openai.decode_bytes(ids)], [want, data])


@judge.claim("GPT-2's ids of long runs", by="tiktoken, tokenizers", least=30)
def _(claim):
    folder, openai, theirs = gpt2()
    for _ in range(30):
        length = judge.random.choice([200, 2_000, 20_000])
        words = [judge.random.choice(WORDS) for _ in range(judge.random.choice([1, 1, 2, 5]))]
        text = "".join(judge.random.choice(words) for _ in range(length))
        ids = json.loads(judge.run("tokenize", "-m", folder, input=text))
        again = judge.run("tokenize", "-m", folder, "--decode", input=str(ids))
        claim.same(f"{length} of {words}", [ids, ids, again],
                   [openai.encode_ordinary(text), theirs.encode(text).ids, text])


RULES = ["identity", "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"]


@judge.claim("ids, spans and texts of sentencepiece's models that are trained for it",
             by="sentencepiece", least=9_000)
def _(claim):
    documents = "\n".join(p.read_text() for p in sorted(ROOT.glob("docs/*.md"))).split("\n")
    for n in range(40):
        on = lambda: judge.random.random() < .5
        symbols = judge.random.sample(["\n", "<|user|>", " of", "▁▁", "ab", "▁the"], 2)
        flags = dict(model_type=["bpe", "unigram"][n % 2], normalization_rule_name=RULES[n % 5],
                     byte_fallback=on(), add_dummy_prefix=on(), remove_extra_whitespaces=on(),
                     split_digits=on(), split_by_whitespace=on(), treat_whitespace_as_suffix=on(),
                     user_defined_symbols=symbols, control_symbols=["<c>"])
        at = judge.random.randrange(len(documents) - 400)
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(documents[at:at + 400]), model_writer=model, minloglevel=3,
            vocab_size=700, hard_vocab_limit=False, character_coverage=.99, **flags)
        theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        folder = judge.vocabulary(theirs.vocab_size(), **{"tokenizer.model": model.getvalue()})
        # else theirs are those of rules, of symbols with spaces or of characters that bytes spell
        exact = RULES[n % 5] == "identity" and not {"▁▁", " of"} & {*symbols} \
            and not flags["byte_fallback"] and not flags["remove_extra_whitespaces"]
        words = [theirs.id_to_piece(i) for i in range(theirs.vocab_size())]
        words += ["<|user|>", "<c>", "  "] * 20
        texts = [judge.text(words) for _ in range(120)]
        want = [theirs.encode(t, return_type="proto").pieces for t in texts]
        # an unknown id is decoded as its surface there, and as the token's text here
        lists = [[p.id for p in pieces if p.id != theirs.unk_id()] for pieces in want]
        inputs = [{"text": t} for t in texts] + [{"tokens": ids} for ids in lists]
        ours = rows("score", folder, inputs, "--offsets", "bytes")
        for text, a, pieces in zip(texts, ours, want):
            claim.same(f"{text!r} {flags}", a.get("tokens"), [p.id for p in pieces])
            if exact:
                spans = [[p.begin, p.end] for p in pieces]
                claim.same(f"spans {text!r} {flags}", a.get("offsets"), spans)
        for ids, a in zip(lists, ours[len(texts):]):
            claim.same(f"{ids} {flags}", a.get("text"), theirs.decode(ids))


judge.end()

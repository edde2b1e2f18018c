"""tiktoken, tokenizers and sentencepiece judge token ids, their texts and their spans."""
import functools, io, itertools, unicodedata
import regex, sentencepiece, tiktoken, tokenizers
from tiktoken_ext.openai_public import r50k_pat_str
from gpt import ROOT, WORDS
from judge import Judge

judge = Judge("tiktoken", "tokenizers", "sentencepiece")
END = 50256
# The SHA-256 of OpenAI's vocab.bpe: gpt convert writes the same bytes.
MERGES = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"


@functools.cache
def gpt2():
    """A folder with GPT-2's vocabulary, as gpt convert writes it, and the two libraries with it."""
    demo = judge.demo()
    ranks = tiktoken.load.data_gym_to_mergeable_bpe_ranks(
        str(demo / "merges.txt"), str(demo / "vocab.json"), MERGES)
    openai = tiktoken.Encoding("gpt2", pat_str=r50k_pat_str, mergeable_ranks=ranks,
                               special_tokens={"<|endoftext|>": END})
    theirs = tokenizers.Tokenizer.from_file(str(demo / "tokenizer.json"))
    theirs.encode_special_tokens = True # as ordinary text
    # a span has its space
    theirs.post_processor = tokenizers.processors.ByteLevel(trim_offsets=False)
    return judge.vocabulary(END + 1, demo), openai, theirs


def again(folder, ids):
    """The text that gpt writes for ids."""
    return judge.run("tokenize", "-m", folder, "--decode", input=str(ids))


with judge.claim("GPT-2's ids of texts, and the texts of ids", by="tiktoken, tokenizers",
                 least=100_000) as claim:
    folder, openai, theirs = gpt2()
    texts = [judge.text(["<|endoftext|>", "<|end", "Ċ"]) for _ in range(100_000)]
    rows = judge.json("embed", "-m", folder, input=[{"text": text} for text in texts])
    ours = [row["tokens"] for row in rows]
    decoded, at = again(folder, [id for ids in ours for id in [*ids, END]]), 0
    others = theirs.encode_batch_fast(texts, add_special_tokens=False)
    for text, ids, other in zip(texts, ours, others):
        end = at + len(text)
        claim.same(repr(text), [ids, ids, decoded[at:end]],
                   [openai.encode_ordinary(text), other.ids, text])
        at = end + len("<|endoftext|>")
    claim.same("all of them", len(decoded), at)

with judge.claim("GPT-2's spans of texts, in code points and in bytes", by="tiktoken, tokenizers",
                 least=400) as claim:
    folder, openai, theirs = gpt2()
    texts = [judge.text() for _ in range(400)]
    rows = [{"text": text} for text in texts]
    spans = [judge.json("score", "-m", folder, "--offsets", unit, input=rows)
             for unit in ("bytes", "chars")]
    others = theirs.encode_batch(texts, add_special_tokens=False)
    for text, in_bytes, in_chars, other in zip(texts, *spans, others):
        tokens = openai.decode_tokens_bytes(openai.encode_ordinary(text))
        ends = [0, *itertools.accumulate(map(len, tokens))]
        claim.same(repr(text), [in_bytes["offsets"], in_chars["offsets"]],
                   [[*map(list, itertools.pairwise(ends))], [*map(list, other.offsets)]])

with judge.claim("GPT-2's ids of bytes that are no UTF-8, and the bytes of ids", by="tiktoken",
                 least=10_000) as claim:
    folder, openai, _ = gpt2()
    r, texts = judge.random, []
    for _ in range(10_200):
        data = bytearray(judge.text().encode())
        for _ in range(r.randint(1, 8)):
            at = r.randrange(len(data) + 1) # what is left out may be a part of a character
            data[at:at + r.randrange(2)] = r.choice([
                b"", r.randbytes(r.randint(1, 4)), b"\x80", b"\xe2", b"\xff", b"\xed\xa0\x80"])
        texts.append(bytes(data) or b"\xff")
    joined = b"<|endoftext|>".join(texts)
    [ours] = judge.json("tokenize", "-m", folder, "--special", input=joined)
    claim.same("all of them", again(folder, ours).encode(errors="surrogateescape"), joined)
    ours = [[*ids] for end, ids in itertools.groupby(ours, lambda id: id == END) if not end]

    def pieces(text): # a byte by itself is a surrogate, and for regex that is a symbol
        found = (p.encode(errors="surrogateescape") for p in regex.findall(r50k_pat_str, text))
        return [id for piece in found for id in openai._encode_single_piece(piece)]
    for data, ids in zip(texts, ours, strict=True):
        valid = data.decode(errors="ignore")
        if pieces(valid) != openai.encode_ordinary(valid) or any(
                unicodedata.category(c) == "Cn" and regex.match(r"[\p{L}\p{N}]", c) for c in valid):
            claim.skip("characters that are letters for regex, of a later Unicode")
        else:
            want = [pieces(data.decode(errors="surrogateescape")), data]
            claim.same(repr(data), [ids, openai.decode_bytes(ids)], want)

with judge.claim("GPT-2's ids of long runs", by="tiktoken, tokenizers", least=30) as claim:
    folder, openai, theirs = gpt2()
    for length in [200, 2_000, 20_000] * 10:
        words = judge.random.choices(WORDS, k=judge.random.choice([1, 1, 2, 5]))
        text = "".join(judge.random.choices(words, k=length))
        [ids] = judge.json("tokenize", "-m", folder, input=text)
        claim.same((length, words), [ids, ids, again(folder, ids)],
                   [openai.encode_ordinary(text), theirs.encode(text).ids, text])

with judge.claim("ids, spans and texts of sentencepiece's models that are trained for it",
                 by="sentencepiece", least=9_000) as claim:
    rules = ["identity", "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"]
    documents = "\n".join(p.read_text() for p in sorted(ROOT.glob("docs/*.md"))).split("\n")
    for n in range(42):
        symbols = judge.random.sample(["\n", "<|user|>", " of", "▁▁", "ab", "▁the"], 2)
        flags = {name: judge.random.random() < .5 for name in (
            "byte_fallback", "add_dummy_prefix", "remove_extra_whitespaces", "split_digits",
            "split_by_whitespace", "treat_whitespace_as_suffix")}
        flags |= {"model_type": ["bpe", "unigram"][n % 2], "normalization_rule_name": rules[n % 5],
                  "user_defined_symbols": symbols, "control_symbols": ["<c>"]}
        at, model = judge.random.randrange(len(documents) - 400), io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(documents[at:at + 400]), model_writer=model, minloglevel=3,
            vocab_size=700, hard_vocab_limit=False, character_coverage=.99, **flags)
        theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        folder = judge.vocabulary(theirs.vocab_size(), {"tokenizer.model": model.getvalue()})
        # else theirs are those of rules, of symbols with spaces or of characters that bytes spell
        exact = n % 5 == 0 and not {"▁▁", " of"} & {*symbols} and not (
            flags["byte_fallback"] or flags["remove_extra_whitespaces"])
        words = [theirs.id_to_piece(i) for i in range(theirs.vocab_size())]
        texts = [judge.text(words + ["<|user|>", "<c>", "  "] * 20) for _ in range(120)]
        want = [theirs.encode(t, return_type="proto").pieces for t in texts]
        # an unknown id is decoded as its surface there, and as the token's text here
        lists = [[p.id for p in pieces if p.id != theirs.unk_id()] for pieces in want]
        inputs = [{"text": t} for t in texts] + [{"tokens": ids} for ids in lists]
        ours = judge.json("score", "-m", folder, "--offsets", "bytes", input=inputs)
        for text, a, pieces in zip(texts, ours, want):
            claim.same((repr(text), flags), a.get("tokens"), [p.id for p in pieces])
            if exact:
                claim.same(("spans", repr(text), flags), a.get("offsets"),
                           [[p.begin, p.end] for p in pieces])
        for ids, a in zip(lists, ours[len(texts):]):
            claim.same((ids, flags), a.get("text"), theirs.decode(ids))

judge.end()

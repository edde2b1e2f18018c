# Small models of sentencepiece on this project's own README, and what it makes of texts with them:
# tokenizer/testdata/sentencepiece. In the root: pip install sentencepiece, then
# python x/bench/tokenizers/pieces.py README.md tokenizer/testdata/sentencepiece
import io
import json
import random
import sys

import sentencepiece

readme, out = sys.argv[1], sys.argv[2]
random.seed(1)
corpus = [line for line in open(readme, encoding="utf-8").read().split("\n") if line.strip()]
common = dict(model_type="bpe", vocab_size=220, character_coverage=0.99, minloglevel=2,
              normalization_rule_name="identity")
models = {
    "bpe": {},
    "bytes": dict(byte_fallback=True, vocab_size=470, remove_extra_whitespaces=False, pad_id=0, unk_id=1,
                  bos_id=2, eos_id=3, user_defined_symbols=["\n", "<|user|>", " of"], split_digits=True),
    "suffix": dict(treat_whitespace_as_suffix=True),
    "plain": dict(add_dummy_prefix=False, control_symbols=["<c>"]),
    "unigram": dict(model_type="unigram", user_defined_symbols=["▁the", "ab"]),
    "user": dict(model_type="unigram", user_defined_symbols=["▁▁", "ab"], remove_extra_whitespaces=False),
}
texts = ["", "a", " ", "  ", "the model of <|user|> 12", " leading", "trailing ", "two  spaces", "a\nb",
         "日本語", "😀", "x😀😀y", "▁a", "a▁b", "<s>a</s>", "<c>", "ab the abthe", "a" * 40, "--------", "é\u0301", "T▁▁ ", " is  a"]
letters = list("aeinorst      \n.,-<12") + ["the ", "ing", " of", "<|user|>", "  ", "é", "漢"]
texts += ["".join(random.choice(letters) for _ in range(random.randint(1, 30))) for _ in range(25)]
with open(out + "/cases.jsonl", "w", encoding="utf-8") as cases:
    for name, changes in models.items():
        written = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_writer=written,
                                                 **{**common, **changes})
        with open(f"{out}/{name}.model", "wb") as f:
            f.write(written.getvalue())
        sp = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
        for text in texts:
            ids = sp.encode(text)
            # the unknown token is decoded as its surface there, and as its text here
            known = [id for id in ids if id != sp.unk_id()]
            cases.write(json.dumps({"model": name, "text": text, "ids": ids, "known": known,
                                    "decoded": sp.decode(known)}, ensure_ascii=False) + "\n")

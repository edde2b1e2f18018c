"""gpt as a user runs it, and random cases for it: texts, ids, small checkpoints."""
import contextlib, functools, json, os, pathlib, random, subprocess, tempfile
import numpy, torch, transformers

ROOT = pathlib.Path(__file__).parent.parent.parent
SMALL = ROOT / "checkpoint/testdata/formats/hf" # a tokenizer of 64 tokens
SEED = int(os.environ.get("SEED", "1"))
# Blocks of Unicode without surrogates, the first ones more often, and texts at which rules turn.
SCRIPTS, WORDS = json.loads((ROOT / "dev/judges/texts.json").read_text()).values()


class Gpt:
    """Runs gpt, and draws from random what it is given."""

    def __init__(self):
        self.random, self.folders = random.Random(SEED), tempfile.TemporaryDirectory()

    def both(self, *args, input=""):
        """Runs gpt, and returns its exit status, stdout and stderr. Of the arguments, lists are
        written with commas; of the input, dictionaries are lines of JSON."""
        if isinstance(input, list):
            input = "".join(json.dumps(row) + "\n" for row in input)
        args = [",".join(map(str, a)) if isinstance(a, list) else str(a) for a in args]
        p = subprocess.run([os.environ["GPT"], *args], capture_output=True, timeout=600,
                           input=input.encode() if isinstance(input, str) else input)
        return p.returncode, *(o.decode(errors="surrogateescape") for o in (p.stdout, p.stderr))

    def error(self, *args):
        """Runs gpt, and returns why it fails, or nothing."""
        code, _, err = self.both(*args)
        return err if code else ""

    def run(self, *args, input=""):
        """Runs gpt, which must not fail, and returns its stdout."""
        code, out, err = self.both(*args, input=input)
        assert code == 0, f"gpt {' '.join(map(str, args))}: exit status {code}: {err}"
        return out

    def json(self, *args, input=""):
        """Runs gpt, and returns the values that it prints: one a line, of each row of the input."""
        out = rows(self.run(*args, input=input))
        assert not isinstance(input, list) or len(out) == len(input), (len(out), args)
        return out

    def logits(self, model, ids, *flags):
        """The logits after each of the ids: float32 [tokens, vocab_size]; or the error."""
        out = self.folder() / "logits.npy"
        return self.error("logits", "-m", model, "--tokens", ids, "--positions", "all", "-o", out,
                          *flags) or numpy.load(out)

    @contextlib.contextmanager
    def server(self, *args):
        """A gpt serve with these flags: its address, to which clients add /v1."""
        p = subprocess.Popen([os.environ["GPT"], "serve", "--addr", "127.0.0.1:0", "--log", "off",
                              *map(str, args)], stderr=subprocess.PIPE, text=True)
        try:
            said = line = p.stderr.readline()
            while line and "listening on " not in line:
                said += (line := p.stderr.readline())
            assert line, f"gpt serve: {said}"
            yield line.split()[-1]
            p.terminate()
            err = p.communicate(timeout=60)[1]
            assert p.returncode == 0, f"gpt serve: exit status {p.returncode}: {err}"
        finally:
            p.kill()

    def folder(self):
        """A new folder, which goes when the program ends."""
        return pathlib.Path(tempfile.mkdtemp(dir=self.folders.name))

    @functools.cache
    def demo(self):
        """The demo, as transformers opens it."""
        folder = self.folder() / "demo"
        self.run("convert", "demo", folder, "--dtype", "f32")
        return folder

    def text(self, words=()):
        """A text of what tokenizers find hard: characters of many scripts, WORDS and words."""
        r, parts = self.random, []
        for _ in range(r.randint(1, 200 if r.random() < .01 else 20)):
            kind, part = r.random(), " "
            if kind < .4:
                part = chr(r.randint(*r.choice(SCRIPTS)))
            elif kind < .85:
                part = r.choice(words if words and kind > .6 else WORDS)
            parts.append(part * r.randint(2, 60) if r.random() < .03 else part)
        return "".join(parts)

    def ids(self, most=16, least=2, of=range(64)):
        """Ids of which some repeat."""
        return self.random.choices(self.random.choices(of, k=8), k=self.random.randint(least, most))

    def checkpoint(self, head="GPT2LMHeadModel", tokenizer=SMALL, **fields):
        """What save_pretrained leaves of a random GPT-2, and the model: of a random config, but for
        fields, and with the files of a tokenizer, or those of its folder."""
        r, out = self.random, self.folder()
        vocab, n_head = fields.get("vocab_size", 64), fields.get("n_head") or r.choice([1, 2, 3, 4])
        config = transformers.GPT2Config(**{
            "vocab_size": vocab, "n_positions": r.choice([32, 48, 64]),
            "n_layer": r.choice([1, 2, 3]), "n_head": n_head,
            "n_embd": n_head * r.choice([4, 8, 10, 12]),
            "n_inner": r.choice([None, 24, 50]), "layer_norm_epsilon": r.choice([1e-5, 1e-6, 1e-3]),
            "activation_function": r.choice(["gelu_new", "gelu_new", "gelu", "relu", "silu"]),
            "scale_attn_weights": r.random() < .8,
            "scale_attn_by_inverse_layer_idx": r.random() < .3,
            "bos_token_id": vocab - 1, "eos_token_id": vocab - 1} | fields)
        torch.manual_seed(r.getrandbits(32))
        model = getattr(transformers, head)(config).eval()
        for name, p in model.named_parameters(): # gains of 1 and biases of 0 would hide a fault
            p.normal_(1. if name.endswith("weight") and ".ln_" in name else 0., .3)
        model.save_pretrained(out)
        if isinstance(tokenizer, pathlib.Path):
            names = "vocab.json", "merges.txt"
            tokenizer = {name: (tokenizer / name).read_bytes() for name in names}
        for name, data in tokenizer.items():
            (out / name).write_bytes(data)
        return out, model

    def vocabulary(self, size, tokenizer):
        """A folder with a tokenizer, and a GPT-2 of so many ids that computes next to nothing."""
        return self.checkpoint(vocab_size=size, n_positions=4096, n_embd=2, n_head=1, n_layer=1,
                               tokenizer=tokenizer)[0]

    def models(self, n, **fields):
        """The demo and n random checkpoints with their models, and ids that a text may have. Of the
        demo these alone: rows of wte that no text has trained are all the same."""
        demo = transformers.GPT2LMHeadModel.from_pretrained(self.demo()).eval()
        yield self.demo(), demo, [7454, 2402, 257, 640, 11, 612, 373, 1310, 2576, 3706, 20037, 13]
        for _ in range(n): # TransformerLens scales attention even where scale_attn_weights is false
            fields = {"activation_function": "gelu_new", "scale_attn_weights": True} | fields
            yield *self.checkpoint(**fields), range(64)


def rows(out):
    """The values of lines of JSON."""
    return [json.loads(line) for line in out.split("\n")[:-1]]


def filled(value, given):
    """A value of JSON with what is given in place of $names."""
    if isinstance(value, dict):
        return {filled(k, given): filled(v, given) for k, v in value.items()}
    if isinstance(value, list):
        return [filled(v, given) for v in value]
    return given[value[1:]] if isinstance(value, str) and value.startswith("$") else value

"""What the judges share: cases that are counted, gpt as a user runs it, small random checkpoints.

    judge = Judge("gguf")

    @judge.claim("each quantization is dequantized to the bit", by="gguf", least=100)
    def _(claim):
        claim.same("Q4_0 of 32 weights", ours, theirs)

    judge.end()
"""
import collections, contextlib, importlib.metadata, json, os, pathlib, random, shutil, signal
import subprocess, sys, tempfile, time, traceback
import numpy

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
SEED = int(os.environ.get("SEED", "1"))

# Blocks of Unicode without surrogates, the first ones more often, and texts at which rules turn.
SCRIPTS = [(0x20, 0x7e)] * 4 + [(0x61, 0x7a)] * 4 + [
    (0, 0x1f), (0x7f, 0xff), (0x100, 0x24f), (0x250, 0x36f), (0x300, 0x36f), (0x370, 0x5ff),
    (0x600, 0x8ff), (0x900, 0xdff), (0xe00, 0x11ff), (0x1100, 0x1200), (0x1e00, 0x20cf),
    (0x2000, 0x206f), (0x20d0, 0x2fff), (0x3000, 0x30ff), (0x3400, 0x9fff), (0xac00, 0xd7ff),
    (0xe000, 0xffff), (0x10000, 0x1ffff), (0x1f300, 0x1faff), (0x20000, 0x2ffff),
    (0xe0000, 0xe01ff)]
WORDS = [
    "'s", "'ll", "'S", "'T", " I'm", "'re", "don't", "the", " of", "ing", "Hello", " World",
    " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\x85", "\u00a0", "\u3000", "\u200b", "\ufeff",
    "\u2028", "1234", "3.14", "٣٤", "x²", "\u0965", "你好", "世界", "日本語", "こんにちは", "안녕하세요",
    "Привет", "İstanbul", "ΣΟΦΟΣ", "straße", "café", "cafe\u0301", "ﬁ", "①", "㍿", "Å", "½\u0301",
    "e\u0301\u0323", "가", "\u1100\u1161\u11a8", "👍🏽", "❤️", "🇩🇪🇫", "👨\u200d👩\u200d👧", "\ud7ff",
    "\ue000", "\ufffd", "\U0010ffff", "▁", "▁▁", "Ġ", "##", "##ing", "<0x41>", "!", "?!",
    "...", "—", "“", "，", "。", "_", "-", "$", "|"]


class Claim:
    """The cases of one claim. In what, a case says its input: of many differences the one with the
    shortest is printed."""

    def __init__(self, name, by, least):
        self.name, self.by, self.least = name, by, least
        self.cases, self.rounded, self.worst, self.differences = 0, 0, None, []
        self.skipped = collections.Counter()

    def same(self, what, ours, theirs):
        """Nothing may differ: of arrays the type, the shape and each bit, but a NaN's."""
        if hasattr(ours, "dtype") or hasattr(theirs, "dtype"):
            a, b = array(ours), array(theirs)
            same = a.dtype == b.dtype and a.shape == b.shape
            if same and a.dtype.kind == "f":
                same = numpy.array_equal(a, b, equal_nan=True) and \
                    bool(((numpy.signbit(a) == numpy.signbit(b)) | numpy.isnan(a)).all())
            elif same:
                same = numpy.array_equal(a, b)
        else:
            same = type(ours) is type(theirs) and ours == theirs
        return self.count(same, what, ours, theirs)

    def near(self, what, ours, theirs, tolerance, exact=None):
        """At most tolerance apart, in parts of the greatest of theirs. Beyond that, exact() makes
        the values in float64: if ours are so near to them, it is the judge that rounds."""
        ours = array(ours).astype(float)
        off = apart(ours, array(theirs).astype(float))
        if off <= tolerance or exact is None:
            self.worst = max(off, self.worst or 0.0)
            return self.count(off <= tolerance, what, ours, theirs)
        right = array(exact()).astype(float)
        off = apart(ours, right)
        self.worst = max(off, self.worst or 0.0)
        self.rounded += off <= tolerance
        return self.count(off <= tolerance, what, ours, theirs)

    def count(self, good, what, ours, theirs):
        self.cases += 1
        if not good:
            self.differences.append((str(what), f"ours {ours!r:.300}, theirs {theirs!r:.300}"))
        return bool(good)

    def differs(self, what, why):
        """A case that differs in what no value says, such as a refusal."""
        self.cases += 1
        self.differences.append((str(what), why))

    def skip(self, what, why):
        """What is no case. The line counts each reason."""
        self.skipped[why] += 1

    def line(self):
        line = f"{self.cases:,} cases, {len(self.differences):,} differences"
        if self.worst is not None:
            line += f", the worst {self.worst:.1e} of the greatest"
        if self.rounded:
            line += f", {self.rounded:,} where the judge rounds"
        for why, n in self.skipped.items():
            line += f"; skipped {n:,}: {why}"
        if self.cases < self.least:
            line += f"; WANTED {self.least:,} CASES"
        for what, why in sorted(self.differences, key=lambda d: len(d[0]))[:1]:
            line += f"\n    DIFFERS {what}: {why}"
        return line


class Judge:
    """A program's claims, and the libraries that judge them: of Python, or of npm."""

    def __init__(self, *libraries):
        self.name = pathlib.Path(sys.argv[0]).stem
        self.versions = {library: version(library) for library in libraries}
        self.claims, self.random = [], random.Random(SEED)
        self.gpt = os.environ["GPT"]
        self.folders = tempfile.TemporaryDirectory()

    def claim(self, name, by, least):
        assert all(library in self.versions for library in by.split(", ")), by
        return lambda function: self.claims.append((Claim(name, by, least), function))

    def end(self):
        """Judges the claims, each with a random of its own, and ends the program."""
        libraries = ", ".join(" ".join(v) for v in self.versions.items())
        print(f"{self.name}: seed {SEED}; {libraries}", flush=True)
        failed = False
        for claim, function in self.claims:
            self.random = random.Random(f"{SEED} {claim.name}")
            try:
                function(claim)
            except Exception:
                claim.differs("the claim itself", traceback.format_exc())
            failed |= bool(claim.differences) or claim.cases < claim.least
            print(f"{self.name}: {claim.name} ({claim.by}): {claim.line()}", flush=True)
        if os.environ.get("RECORD") and not failed:
            found = {"seed": SEED, "date": time.strftime("%Y-%m-%d"), "claims": [{
                "claim": c.name, "by": {by: self.versions[by] for by in c.by.split(", ")},
                "cases": c.cases, "differences": len(c.differences), "rounded": c.rounded,
                "skipped": sum(c.skipped.values())} for c, _ in self.claims]}
            (HERE / "results").mkdir(exist_ok=True)
            (HERE / "results" / f"{self.name}.json").write_text(json.dumps(found, indent=1) + "\n")
        self.folders.cleanup()
        sys.exit(failed)

    def both(self, *args, input=None):
        """Runs gpt and returns its exit status, stdout and stderr."""
        data = input.encode() if isinstance(input, str) else input
        p = subprocess.run([self.gpt, *map(str, args)], input=data or b"", capture_output=True,
                           timeout=600)
        return p.returncode, *(o.decode(errors="surrogateescape") for o in (p.stdout, p.stderr))

    def run(self, *args, input=None):
        """Runs gpt, which must not fail, and returns its stdout."""
        code, out, err = self.both(*args, input=input)
        assert code == 0, f"gpt {' '.join(map(str, args))}: exit status {code}: {err}"
        return out

    def logits(self, model, ids, *flags):
        """The logits after each of the ids: float32 [tokens, vocab_size]."""
        out = self.folder() / "logits.npy"
        tokens = ",".join(map(str, ids))
        self.run("logits", "-m", model, "--tokens", tokens, "--positions", "all", "-o", out, *flags)
        return numpy.load(out)

    @contextlib.contextmanager
    def server(self, *args):
        """A gpt serve with these flags: its address, to which clients add /v1."""
        log = self.folder() / "stderr"
        with log.open("wb") as stderr:
            command = [self.gpt, "serve", "--addr", "127.0.0.1:0", "--log", "off", *map(str, args)]
            p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=stderr)
        try:
            for _ in range(600):
                _, listens, url = log.read_text().partition("gpt: listening on ")
                if listens and "\n" in url:
                    break
                assert p.poll() is None, f"gpt serve: {log.read_text()}"
                time.sleep(.1)
            else:
                raise AssertionError(f"gpt serve does not listen: {log.read_text()}")
            yield url.split("\n")[0]
            p.send_signal(signal.SIGTERM)
            assert p.wait(60) == 0, f"gpt serve: exit status {p.returncode}: {log.read_text()}"
        finally:
            p.kill()
            p.wait()

    def folder(self):
        """A new folder, which goes when the program ends."""
        return pathlib.Path(tempfile.mkdtemp(dir=self.folders.name))

    def vocabulary(self, size, **files):
        """A GPT-2 of so many ids that computes next to nothing, with the files of a tokenizer."""
        import safetensors.numpy
        folder, embd = self.folder(), 2
        shapes = {"wte": [size, embd], "wpe": [4096, embd], "ln_f": [embd],
                  "h.0.ln_1": [embd], "h.0.attn.c_attn": [embd, 3 * embd],
                  "h.0.attn.c_proj": [embd, embd], "h.0.ln_2": [embd],
                  "h.0.mlp.c_fc": [embd, 4 * embd], "h.0.mlp.c_proj": [4 * embd, embd]}
        tensors = {name + ".weight": numpy.ones(shape, "f4") for name, shape in shapes.items()}
        tensors |= {name + ".bias": numpy.zeros(shape[-1], "f4") for name, shape in shapes.items()
                    if name not in ("wte", "wpe")}
        safetensors.numpy.save_file(tensors, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps({
            "model_type": "gpt2", "vocab_size": size, "n_positions": 4096, "n_embd": embd,
            "n_layer": 1, "n_head": 1}))
        for name, data in files.items():
            (folder / name).write_bytes(data)
        return folder

    def text(self, words=()):
        """A text of what tokenizers find hard: characters of many scripts, WORDS and words."""
        r, parts = self.random, []
        for _ in range(r.randint(1, 200 if r.random() < .01 else 20)):
            kind = r.random()
            if kind < .4:
                first, last = r.choice(SCRIPTS)
                part = chr(r.randint(first, last))
            elif kind < .85:
                part = r.choice(words if words and kind > .6 else WORDS)
            else:
                part = " "
            parts.append(part * r.randint(2, 60) if r.random() < .03 else part)
        return "".join(parts)

    def checkpoint(self, head="GPT2LMHeadModel", tokenizer="small", **fields):
        """What save_pretrained leaves of a random GPT-2, and the model: of a random config, but for
        fields. The tokenizer is small (64 tokens of the repository), gpt2 (the demo's) or None."""
        import torch, transformers
        r, folder = self.random, self.folder()
        small = ROOT / "checkpoint/testdata/formats/hf"
        files = {"small": small, "gpt2": folder / "demo"}.get(tokenizer)
        if tokenizer == "gpt2":
            self.run("convert", "demo", files)
        vocab, n_head = 50257 if tokenizer == "gpt2" else 64, r.choice([1, 2, 3, 4])
        config = transformers.GPT2Config(**{
            "vocab_size": vocab, "n_positions": r.choice([32, 48, 64]),
            "n_layer": r.choice([1, 2, 3]), "n_head": n_head,
            "n_embd": n_head * r.choice([4, 8, 10, 16]),
            "n_inner": r.choice([None, 24, 50]), "layer_norm_epsilon": r.choice([1e-5, 1e-6, 1e-3]),
            "activation_function": r.choice(["gelu_new", "gelu_new", "gelu", "relu", "silu"]),
            "scale_attn_weights": r.random() < .8,
            "scale_attn_by_inverse_layer_idx": r.random() < .3,
            "bos_token_id": vocab - 1, "eos_token_id": vocab - 1} | fields)
        torch.manual_seed(r.getrandbits(32))
        model = getattr(transformers, head)(config).eval()
        with torch.no_grad(): # transformers' gains of 1 and biases of 0 would hide a fault
            for name, p in model.named_parameters():
                p.normal_(1. if name.endswith("weight") and ".ln_" in name else 0., .3)
        out = folder / "model"
        model.save_pretrained(out)
        for name in ("vocab.json", "merges.txt") if files else ():
            shutil.copy(files / name, out)
        return out, model


def version(library):
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        npm = pathlib.Path(os.environ["JUDGES_NPM"], "node_modules", library.removeprefix("npm "), "package.json")
        return json.loads(npm.read_text())["version"]


def array(x):
    return x.detach().numpy() if hasattr(x, "detach") else numpy.asarray(x)


def apart(a, b):
    """The greatest difference, in parts of the greatest of b; infinite if places of NaN differ."""
    finite = numpy.isfinite(b)
    if a.shape != b.shape or not numpy.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    off = float(numpy.abs(a - b)[finite].max(initial=0.))
    return off / (float(numpy.abs(b[finite]).max(initial=0.)) or 1.) if off == off else float("inf")


def smallest(items, differs):
    """The shortest part of a string or list that still differs, by leaving out pieces of it."""
    size = max(len(items) // 2, 1)
    while size:
        at = 0
        while at < len(items):
            less = items[:at] + items[at + size:]
            if less and differs(less):
                items = less
            else:
                at += size
        size //= 2
    return items

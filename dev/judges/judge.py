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
        the values in float64: if ours are so near to them and theirs are not, the judge rounds."""
        ours = array(ours).astype(float)
        off = apart(ours, array(theirs).astype(float))
        if off <= tolerance or exact is None:
            self.worst = max(off, self.worst or 0.0)
            return self.count(off <= tolerance, what, ours, theirs)
        right = array(exact()).astype(float)
        off = apart(ours, right)
        self.worst = max(off, self.worst or 0.0)
        rounds = off <= tolerance < apart(array(theirs).astype(float), right)
        self.rounded += rounds
        return self.count(rounds, what, ours, theirs)

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
        npm = pathlib.Path(os.environ["JUDGES_NPM"], "node_modules", library, "package.json")
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

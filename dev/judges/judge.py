"""What the judges share: claims, whose cases are counted.

    judge = Judge("gguf")

    with judge.claim("each quantization is dequantized to the bit", by="gguf", least=100) as claim:
        claim.same("Q4_0 of 32 weights", ours, theirs)

    judge.end()
"""
import collections, contextlib, importlib.metadata, json, logging, os, pathlib, random, sys, time
import traceback, warnings
import numpy, torch
from gpt import ROOT, SEED, Gpt

warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
torch.set_grad_enabled(False)
torch.set_num_threads(1) # of two, one waits where other programs run


class Enough(Exception):
    """A claim that differs so often needs no more cases."""


class Claim:
    """The cases of one claim. what says the input of a case, and of many differences the one with
    the shortest is printed: a value, or several, where a model stands for its config."""

    def __init__(self, by, least, near):
        self.by, self.least, self.tolerance = by, least, near
        self.cases, self.rounded, self.worst, self.differences = 0, 0, None, []
        self.skipped = collections.Counter()

    def count(self, good, what, ours, theirs):
        self.cases += 1
        if not good:
            whole = what if isinstance(what, tuple) else (what,)
            said = [str(w.config.to_diff_dict() if hasattr(w, "config") else w) for w in whole]
            self.differences.append(f"{' '.join(said)}: ours {ours!r:.300}, theirs {theirs!r:.300}")
            if len(self.differences) == 10:
                raise Enough

    def judged(self, what, ours, theirs, tolerance, apart):
        """How far ours are from theirs: a value or, of a type of torch, what makes it. Beyond the
        tolerance float64 decides, and if ours are near to that, it is the judge that rounds."""
        right = theirs(torch.float32) if callable(theirs) else theirs
        off = apart(ours, right)
        if off > tolerance and callable(theirs):
            right = theirs(torch.float64)
            off = apart(ours, right)
            self.rounded += off <= tolerance
        self.count(off <= tolerance, what, ours, right)
        return off

    def same(self, what, ours, theirs):
        """Nothing may differ: of arrays the type, the shape and each bit, but a NaN's."""
        return not self.judged(what, ours, theirs, 0, lambda a, b: not equal(a, b))

    def near(self, what, ours, theirs, tolerance=None):
        """At most tolerance apart, in parts of the greatest of theirs."""
        tolerance = self.tolerance if tolerance is None else tolerance
        self.worst = max(self.judged(what, ours, theirs, tolerance, apart), self.worst or 0.)

    def refused(self, what, error, *names):
        """gpt's error says one of the names; it is empty where gpt does not fail."""
        self.count(any(name in error for name in names), what, error, names)

    def skip(self, why, n=1):
        """What is no case. The line counts each reason."""
        self.skipped[why] += n

    def line(self):
        line = f"{self.cases:,} cases, {len(self.differences):,} differences"
        if self.worst is not None:
            line += f", the worst {self.worst:.1e} of the greatest"
        if self.rounded:
            line += f", {self.rounded:,} where the judge rounds"
        line += "".join(f"; skipped {n:,}: {why}" for why, n in self.skipped.items())
        if self.differences:
            line += f"\n    DIFFERS {min(self.differences, key=len)}"
        elif self.cases < self.least:
            line += f"; WANTED {self.least:,} CASES"
        return line


class Judge(Gpt):
    """A program's claims, and the libraries that judge them: of Python, or of npm."""

    def __init__(self, *libraries, near=1e-4):
        super().__init__()
        self.name = pathlib.Path(sys.argv[0]).stem
        self.versions = {library: version(library) for library in libraries}
        self.claims, self.tolerance = {}, near
        libraries = ", ".join(" ".join(v) for v in self.versions.items())
        print(f"{self.name}: seed {SEED}; {libraries}", flush=True)

    @contextlib.contextmanager
    def claim(self, name, by, least):
        """Judges the cases of a claim, with a random of its own."""
        claim = Claim({by: self.versions[by] for by in by.split(", ")}, least, self.tolerance)
        self.random = random.Random(f"{SEED} {name}")
        try:
            yield claim
        except Enough:
            pass
        except Exception:
            claim.differences.append(traceback.format_exc())
        print(f"{self.name}: {name} ({by}): {claim.line()}", flush=True)
        self.claims[name] = claim

    def end(self):
        """Ends the program, and records what was found where RECORD asks for it."""
        failed = any(c.differences or c.cases < c.least for c in self.claims.values())
        if os.environ.get("RECORD") and not failed:
            claims = [{"claim": name, "by": c.by, "cases": c.cases, "differences": 0, "rounded":
                       c.rounded, "skipped": c.skipped.total()} for name, c in self.claims.items()]
            found = {"seed": SEED, "date": time.strftime("%Y-%m-%d"), "claims": claims}
            record = ROOT / f"dev/judges/results/{self.name}.json"
            record.write_text(json.dumps(found, indent=1) + "\n")
        self.folders.cleanup()
        sys.exit(failed)

    def agree(self, claim, what, path, model):
        """A case of the logits of a text: gpt's of a path, and those of the library's model."""
        ids = self.ids(min(model.config.n_positions, 48), 1)
        claim.near((what, ids, model), self.logits(path, ids),
                   lambda d: model.to(d)(torch.tensor([ids])).logits[0])


def version(library):
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        npm = pathlib.Path(os.environ["JUDGES_NPM"], "node_modules", library.removeprefix("npm "))
        return json.loads((npm / "package.json").read_text())["version"]


def array(x):
    return x.detach().numpy() if hasattr(x, "detach") else numpy.asarray(x)


def equal(a, b):
    if not hasattr(a, "dtype") and not hasattr(b, "dtype"):
        return type(a) is type(b) and a == b
    a, b = array(a), array(b)
    return a.dtype == b.dtype and a.shape == b.shape and bool((numpy.isnan(a) & numpy.isnan(b) | (
        a == b) & (numpy.signbit(a) == numpy.signbit(b))).all())


def apart(a, b):
    """The greatest difference, in parts of the greatest of b; infinite if places of NaN differ, or
    a is an error."""
    try:
        a, b = array(a).astype(float), array(b).astype(float)
    except ValueError:
        return float("inf")
    finite = numpy.isfinite(b)
    if a.shape != b.shape or not numpy.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    off = float(numpy.abs(a - b)[finite].max(initial=0.))
    return off / (float(numpy.abs(b[finite]).max(initial=0.)) or 1.) if off == off else float("inf")

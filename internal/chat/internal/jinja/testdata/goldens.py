"""Makes families.jsonl.gz and expressions.jsonl.gz: what transformers says. pip install transformers."""
import copy, datetime, gzip, json, pathlib, random, sys
import jinja2, transformers
from transformers.utils import chat_template_utils as ctu

here = pathlib.Path(__file__).parent
NOW = datetime.datetime(2024, 7, 4, 15, 6, 7)


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


ctu.datetime = Clock  # strftime_now tells a time that does not pass
u = lambda c: {"role": "user", "content": c}
a = lambda c, **k: {"role": "assistant", "content": c, **k}
s = lambda c: {"role": "system", "content": c}
call = lambda name, args, id="abcdef123": {"id": id, "type": "function", "function": {"name": name, "arguments": args}}
tools = [{"type": "function", "function": {"name": "weather", "description": "Tells \"the\" weather <b>&</b> é.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": " a city "},
    "days": {"type": "array", "items": {"type": "integer"}}, "opt": {"type": ["string", "null"]},
    "map": {"type": "object", "additionalProperties": {"type": "number"}}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}}]
docs = [{"title": "Kiwis", "text": "They are birds.\nOr fruits."}, {"title": "T", "n": 3, "f": 1.50}]
conversations = [
    dict(messages=[u("Hello")]),
    dict(messages=[u("Hello")], add_generation_prompt=True),
    dict(messages=[s("Be brief."), u("Hi")], add_generation_prompt=True),
    dict(messages=[s("  Be\n brief. "), u("  Hi \n"), a("  Yes?\n"), u("More")], add_generation_prompt=True),
    dict(messages=[u("a"), a("b"), u("c"), a("d")]),
    dict(messages=[u("a"), a("b"), u("c"), a("d <"), u("e")], add_generation_prompt=True),
    dict(messages=[u("é 日本 \U0001f600 \u00a0 x"), a("‘quotes’ \"and\" 'such'"), u("\ttab\r\nline")]),
    dict(messages=[u("{{ 7 * 7 }} {% if x %} <|im_end|>"), a("<think>\nhm\n</think>\n\nforty"), u("ok")]),
    dict(messages=[u("a"), a("<think>why</think>b"), u("x"), a("c")]),
    dict(messages=[u("a"), u("b")]),
    dict(messages=[a("a"), u("b")]),
    dict(messages=[u(""), a(""), u("")], add_generation_prompt=True),
    dict(messages=[u("weather?")], tools=tools, add_generation_prompt=True),
    dict(messages=[s("sys"), u("weather?"), {"role": "assistant", "tool_calls": [call("weather", {"city": "Bern", "days": [1, 2], "x": None, "y": 1.0, "z": True})]},
        {"role": "tool", "content": "rain", "tool_call_id": "abcdef123"}, a("Rain."), u("thanks")], tools=tools, add_generation_prompt=True),
    dict(messages=[u("w"), {"role": "assistant", "content": "", "tool_calls": [call("a", {"k": "ü"}), call("b", {}, "xyzxyz123")]},
        {"role": "tool", "content": "1", "tool_call_id": "abcdef123"}, {"role": "tool", "content": "2", "tool_call_id": "xyzxyz123"}]),
    dict(messages=[u("what is a kiwi?")], documents=docs, add_generation_prompt=True),
    dict(messages=[u("x")], enable_thinking=False, add_generation_prompt=True),
    dict(messages=[s(""), u("x"), a("y " * 200), u("z")], date_string="1 May 2020"),
    dict(messages=[m for i in range(12) for m in (u(f"line {i}\n\n\nmore"), a(f"answer {i}."))] + [u("end")], add_generation_prompt=True),
    dict(messages=[u("x"), {"role": "observer", "content": "y"}, s("late"), a("z", reasoning_content="because")]),
]


def render(template, conversation):
    kw = dict(conversation)
    messages = ctu._normalize_chat_messages(kw.pop("messages"))
    try:
        rendered, _ = ctu.render_jinja_template([messages], chat_template=template, bos_token="<s>", eos_token="</s>", **kw)
        return {"want": rendered[0]}
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"[:200]}


def save(name, rows):
    with gzip.GzipFile(here / name, "wb", mtime=0) as f:
        for row in rows:
            f.write((json.dumps(row, ensure_ascii=False) + "\n").encode())


variables = {
    "s": "Hello, Wörld  it's \"so\"", "e": "", "n": 7, "z": 0, "neg": -3, "f": 2.5, "g": 1e16, "t": True, "no": False, "nil": None,
    "l": [3, 1, 2], "w": ["b", "A", "c", "a"], "el": [], "d": {"b": 1, "a": [1, {"x": None}], "C": "v", "items": 5}, "ed": {},
    "m": [{"role": "user", "content": "hi ", "n": 2}, {"role": "assistant", "content": "yo", "n": 1}, {"role": "user", "content": "", "n": 3.0}],
    "lines": "a\n  b\r\n\nc\n", "mixed": [1, "1", None, 1.0, True, [1], "é\n'"],
}


class Random:
    """Expressions and templates, at random."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, *of):
        return self.r.choice(of)

    def atom(self):
        return self.pick("s", "e", "n", "z", "neg", "f", "t", "no", "nil", "l", "w", "el", "d", "ed", "m", "xx", "lines", "mixed", "m[0]",
            "1", "0", "2.5", "'a'", "' b '", "''", "true", "none", "[1, 2]", "{'a': 1}", "d.a", "d['b']", "m[0].role", "m[1].n", "l[0]", "s[2:5]", "w[::-1]", "'A,b'")

    def expr(self, depth):
        if depth == 0:
            return self.atom()
        e = lambda: self.expr(depth - 1)
        k = self.r.randrange(12)
        if k < 2:
            return f"({e()} {self.pick('+', '-', '*', '/', '//', '~', '~', '~', '+')} {e()})"
        if k < 4:
            return f"({e()} {self.pick('==', '!=', '<', '>=', 'in', 'not in', 'and', 'or')} {e()})"
        if k == 4:
            return f"({e()} if {e()} else {e()})"
        if k == 5:
            return f"({self.pick('not', '-')} {e()})"
        if k < 9:
            return f"({e()}|" + self.pick("upper", "lower", "trim", "length", "list", "first", "last", "join", "join('-')", "tojson", "string", "int",
                "float", "default('q')", "default(1, true)", "sort", "reverse|list", "unique|list", "abs", "title", "capitalize", "replace('a', 'z')",
                "indent(1)", "round", "map('string')|list", "select|list", "map(attribute='role')|list", "dictsort", "items|list",
                "tojson(indent=1)", "tojson(sort_keys=true)", "reject('none')|list", "select('string')|list") + ")"
        if k == 9:
            return f"({e()} is {self.pick('', 'not ')}" + self.pick("defined", "none", "string", "number", "mapping", "iterable", "sequence", "boolean",
                "integer", "float", "true", "false", "odd", "even", "undefined", "eq 1", "ne 'a'", "in [1, 'a', none]", "lower", "upper") + ")"
        if k == 10:
            if self.r.randrange(4) == 0:
                return f"({self.pick('n', 'neg', 'f', '7', '-2.5', 't')} {self.pick('%', '//')} {self.pick('2', 'neg', 'f', '-4')})"
            of = self.pick("s", "e", "l", "w", "m", "lines", "mixed", "nil", "n", "d", "xx")  # constants have other rules
            return f"{of}[{self.pick('0', '-1', '1:', ':2', '::-1', '::2', chr(39) + 'a' + chr(39), '-2:', ':-1', '5')}]"
        return f"{e()}.{self.pick('strip()', 'upper()', 'split()', 'items()|list', 'get(1)', 'a', 'role', 'title()', 'x.y', 'lower()', 'find(1|string)', 'splitlines()', 'keys()|list')}"

    def space(self):
        return self.pick("", "", " ", "\n", "\n  ", "  \n\n ", "x", " y ")

    def template(self, depth):
        if depth == 0:
            return self.space() + self.pick("{{ ", "{{- ", "{{") + self.expr(1) + self.pick(" }}", " -}}", "}}") + self.space()
        t = lambda: self.space() + self.template(depth - 1) + self.space()
        b, e = self.pick("{% ", "{%- ", "{%+ "), self.pick(" %}", " -%}", " +%}")
        return self.pick(
            lambda: f"{b}if {self.expr(1)}{e}{t()}{b}else{e}{t()}{b}endif{e}",
            lambda: f"{b}for v in {self.pick('l', 'w', 'm', 'el', 'd', 's[:3]', 'range(3)')}{e}{t()}{{{{ loop.index }}}}{{{{ v }}}}{b}endfor{e}",
            lambda: f"{b}set q = {self.expr(2)}{e}{t()}{{{{ q }}}}",
            lambda: f"{{#{self.pick('', '-')} c {self.pick('', '-')}#}}{t()}",
            lambda: t() + t(),
            lambda: f"{b}macro mac(a, b=1){e}{t()}{{{{ a }}}}{b}endmacro{e}{{{{ mac({self.expr(1)}) }}}}",
        )()


def results(sources):
    rows = []
    for source in sources:
        try:
            rows.append({"source": source, "want": ctu._compile_jinja_template(source).render(**copy.deepcopy(variables))})
        except Exception as e:
            rows.append({"source": source, "error": f"{type(e).__name__}: {e}"[:120]})
    return [r for r in rows if "object at 0x" not in r.get("want", "") and " method" not in r.get("want", "") and "<Macro" not in r.get("want", "")]


def at_random(seed, n):
    r = Random(seed)
    return [("{{ " + r.expr(i % 4) + " }}") if i % 3 else r.template(i % 4) for i in range(n)]


head = {"made_by": f"transformers {transformers.__version__}, jinja2 {jinja2.__version__}"}
if __name__ == "__main__" and len(sys.argv) == 3:  # a seed and a number: to stdout
    for row in [head, {"variables": variables}] + results(at_random(int(sys.argv[1]), int(sys.argv[2]))):
        print(json.dumps(row))
elif __name__ == "__main__":
    rows = [head] + [{"conversation": c} for c in conversations]
    for f in sorted((here / "families").glob("*.jinja")):
        for i, c in enumerate(conversations):
            rows.append({"family": f.stem, "number": i, **render(f.read_text(), c)})
    save("families.jsonl.gz", rows)
    print(len(rows), "rows", sum("error" in r for r in rows), "errors")
    fixed = [line.replace("↵", "\n") for line in (here / "expressions.txt").read_text().split("\n")]
    rows = [head, {"variables": variables}] + results(fixed[:-1]) + results(at_random(1, 1500))
    save("expressions.jsonl.gz", rows)
    print(len(rows), "rows", sum("error" in r for r in rows), "errors")

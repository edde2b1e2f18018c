"""Other people's clients judge gpt serve: each gets the text that gpt writes, and errors it knows.

clients.json lists calls: whose they are (Python's openai, npm's, litellm), what, the resource, its
fields, where the answer has what is judged, and what that must be: a value, or gpt's flags.
"""
import asyncio, functools, inspect, json, os, pathlib, subprocess
from typing import Annotated
import instructor, langchain_openai, litellm, numpy, openai, pydantic, torch, transformers
from gpt import filled
from judge import Judge

judge = Judge("openai", "litellm", "langchain-openai", "instructor", "transformers", "torch",
              "npm openai", "ai", "@ai-sdk/openai", "@ai-sdk/openai-compatible",
              "@langchain/openai", near=1e-5)
HERE = pathlib.Path(__file__)
litellm.suppress_debug_info = True
tokenizer = transformers.AutoTokenizer.from_pretrained(judge.demo())
model = transformers.GPT2LMHeadModel.from_pretrained(judge.demo()).double().eval()
WORDS = sorted(w[1:] for w in tokenizer.get_vocab() if w[0] == "Ġ" and w.encode()[2:].isalpha())


class Pet(pydantic.BaseModel):
    model_config = {"extra": "forbid"}
    name: str = pydantic.Field(pattern="^[A-Z][a-z]{2,8}$")
    age: int = pydantic.Field(ge=1, le=30)
    friends: list[Annotated[str, pydantic.Field(max_length=9)]] = pydantic.Field(max_length=2)


class Drawn:
    """What the calls ask for, and what gpt's command line writes for it."""

    def __init__(self):
        r = judge.random
        while True:
            self.p, self.q = (" ".join(r.choices(WORDS, k=r.randint(3, 9))) for _ in "pq")
            self.asked = {"model": "demo", "max_tokens": 12, "seed": r.randrange(1 << 31),
                          "temperature": r.choice([.5, .8, 1., 1.3])}
            four, chat = self.all("--samples", 4), self.p + "<|endoftext|>"
            [said], [greedy] = self.all(prompt=chat), self.all("--temp", 0)
            # An end that the model writes is a token of the answer and none of the command's.
            if all(x["finish_reason"] == "length" and x["text"].isascii() for x in
                   four + [said, greedy]):
                break
        text, ids, new = four[0]["text"], four[0]["prompt_ids"], four[0]["ids"]
        schema, rule = Pet.model_json_schema(), judge.folder() / "grammar"
        rule.write_text('root ::= "a" [b-d]{2,4}')
        form = lambda schema: self.text("--json-schema", json.dumps(schema), prompt=chat, n=200)
        called = {"type": "structural_tag", "format": {
            "type": "tag", "begin": '{"name": "Pet", "arguments": ', "end": "}",
            "content": {"type": "json_schema", "json_schema": schema}}}
        tag = judge.folder() / "tag.json"
        tag.write_text(json.dumps(called))
        logits = lambda ids: model(torch.tensor([ids])).logits[0].log_softmax(-1)
        chosen = logits(ids + new)[range(len(ids + new) - 1), (ids + new)[1:]]
        vectors = [model.transformer(torch.tensor([tokenizer(text).input_ids])).last_hidden_state[
            0].mean(0) for text in (self.p, self.q)]
        vectors = torch.stack([v / v.norm() for v in vectors])
        turns = f"Be.\n{self.p}<|endoftext|>So.<|endoftext|>{self.q}<|endoftext|>"
        self.said, self.greedy, self.stop = said["text"], greedy["text"], text[len(text) // 2:][:3]
        self.given = {
            "p": self.p, "q": self.q, "text": text, "ids": ids, "id": str(new[0]),
            "twice": [text] * 2,
            "2of2": [self.text(prompt=p, more=i) for p in (self.p, self.q) for i in (0, 1)],
            "best": [x["text"] for x in sorted(four, key=lambda x: -numpy.mean(x["logprobs"]))[:2]],
            "sizes": [len(ids), 12], "48": [48], "12": [12], "1": [1], "stop": self.stop,
            "stopped": text.split(self.stop)[0], "bias": f"{new[0]}=-100", "grammar": str(rule),
            "logprobs": four[0]["logprobs"], "tokens": [tokenizer.decode([i]) for i in new],
            "likeliest": logits(ids + greedy["ids"])[len(ids) - 1:-1].max(-1).values,
            "whole": self.p + text, "chosen": chosen, "before": chosen[:len(ids) - 1],
            "offsets": [len(tokenizer.decode((ids + new)[:i])) for i in range(len(ids + new))],
            "said": self.said, "said's": said["logprobs"], "turns": self.text(prompt=turns),
            "schema": schema, "pet": form(schema), "called": self.text(
                "--structural-tag", str(tag), prompt=chat, n=200), "object": form({"type": "object"}),
            "vectors": vectors, "vector": vectors[:1], "great": "a" * 4_000_000}

    def all(self, *flags, prompt=None, more=0, n=12):
        return judge.json("--special", "--no-display-prompt", "--top-k", 0, "-n", n, "--output",
                          "json", "--temp", self.asked["temperature"], "--seed",
                          self.asked["seed"] + more, *flags, "--prompt", prompt or self.p)

    def text(self, *flags, **o):
        return self.all(*flags, **o)[0]["text"]

    def calls(self, who):
        """The calls of one client: what, the resource, all fields, the path, and what must come."""
        asked = {"completions": self.asked | {"prompt": self.p}, "chat.completions":
                 self.asked | {"messages": [{"role": "user", "content": self.p}]}, "responses":
                 {k if k != "max_tokens" else "max_output_tokens": v for k, v in self.asked.items()}
                 | {"input": self.p}}
        for whose, what, resource, fields, path, want in json.loads(
                HERE.with_suffix(".json").read_text()):
            if who in whose:
                common = {} if resource == "models" else asked.get(resource, {"model": "demo"})
                want = filled(want, self.given)
                if path and isinstance(want, list) and str(want[0]).startswith("--"):
                    want = self.text(*want)
                yield what, resource, common | filled(fields, self.given), path, want


def judged(claim, d, what, call, want, path=""):
    """A call, or what it gave: what stands at the path is what is wanted."""
    try:
        got = call() if callable(call) else call
        if hasattr(got, "model_dump"):
            got = got.model_dump()
        elif "stream" in what and path and callable(call):
            got = [part.model_dump() for part in got]
        got = part(got, path)
    except Exception as e:
        got = [type(e).__name__, *(getattr(e, k, None) for k in ("status_code", "code", "param"))]
    if isinstance(want, str) and isinstance(got, list):
        got = "".join(got)
    same = claim.near if isinstance(want, torch.Tensor) else claim.same
    same((what, repr(d.p), d.asked), got, want)


def part(value, path):
    """What stands at a path such as choices.*.text, of several with a space between them."""
    found = []
    for names in path.split():
        values = [value]
        for name in names.split("."):
            every = lambda v: v.values() if isinstance(v, dict) else v
            values = [x for v in values if v for x in (every(v) if name == "*" else [v[name]])]
        found += [v for v in values if v is not None]
    return found if path else value


def served():
    return judge.server("--template", "dialogpt", "--api-key", "a-key", "--max-n", 8)


with judge.claim("a list of calls through Python's openai",
                 by="openai, transformers, torch", least=45) as claim:
    with served() as url:
        d, at = Drawn(), {"base_url": url + "/v1", "api_key": "a-key", "max_retries": 0}
        client = openai.OpenAI(**at)
        for what, resource, fields, path, want in d.calls("o"):
            resource = functools.reduce(getattr, resource.split("."), client)
            create = resource.create if hasattr(resource, "create") else resource.list
            known = {k: v for k, v in fields.items() if k in inspect.signature(create).parameters}
            more = {"extra_body": {k: v for k, v in fields.items() if k not in known}}
            judged(claim, d, what, lambda: create(**known, **more), want, path)

        async def at_once():
            async with openai.AsyncOpenAI(**at) as many:
                asked = d.asked | {"prompt": d.p}
                asked = [many.completions.create(**asked) for _ in range(4)]
                return [a.choices[0].text for a in await asyncio.gather(*asked)]
        judged(claim, d, "at once", lambda: asyncio.run(at_once()), [d.given["text"]] * 4)
        judged(claim, d, "parse", lambda: client.chat.completions.parse(
            **d.asked | {"max_tokens": 200, "messages": [{"role": "user", "content": d.p}]},
            response_format=Pet), d.given["pet"], "choices.*.message.content")
        judged(claim, d, "no key", openai.OpenAI(**at | {"api_key": "no"}).models.list,
               ["AuthenticationError", 401, "invalid_api_key", None])
        raw = client.completions.with_raw_response.create(
            **d.asked | {"prompt": d.p, "seed": openai.omit})
        text = d.text(more=int(raw.headers["x-seed"]) - d.asked["seed"])
        judged(claim, d, "a drawn seed", raw.parse, text, "choices.*.text")

with judge.claim("a list of calls through litellm, langchain and instructor", least=20,
                 by="litellm, langchain-openai, instructor") as claim:
    with served() as url:
        d, at = Drawn(), {"api_key": "a-key", "max_retries": 0}
        lite = {"completions": (litellm.text_completion, "text-completion-openai/demo"),
                "chat.completions": (litellm.completion, "openai/demo"),
                "embeddings": (litellm.embedding, "openai/demo")}
        for what, resource, fields, path, want in d.calls("l"):
            function, name = lite[resource]
            judged(claim, d, f"litellm: {what}", lambda: function(
                **at | fields | {"model": name, "api_base": url + "/v1"}), want, path)
        at["base_url"], long = url + "/v1", d.asked | {"max_tokens": 200}
        chain, talk = langchain_openai.OpenAI(**d.asked, **at), langchain_openai.ChatOpenAI(
            **d.asked, **at)
        long_talk = langchain_openai.ChatOpenAI(**long, **at)
        form = long_talk.with_structured_output(Pet, method="json_schema")
        vectors = langchain_openai.OpenAIEmbeddings(
            model="demo", check_embedding_ctx_length=False, **at)
        teach = lambda mode: instructor.from_openai(
            openai.OpenAI(**at), mode=mode).chat.completions.create(
            **long, messages=[{"role": "user", "content": d.p}], response_model=Pet, max_retries=0)
        text, pet = d.given["text"], json.loads(d.given["pet"])
        for what, call, want, path in [
                ("text", lambda: chain.invoke(d.p), text, ""),
                ("parts", lambda: [*chain.stream(d.p)], text, ""),
                ("batch", lambda: chain.batch([d.p, d.p]), [text, text], ""),
                ("usage", lambda: chain.generate([d.p]), [12],
                 "llm_output.token_usage.completion_tokens"),
                ("chat", lambda: talk.invoke(d.p), d.said, "content"),
                ("chat's parts", lambda: [x.content for x in talk.stream(d.p)], d.said, ""),
                ("logprobs", lambda: talk.bind(logprobs=True).invoke(d.p), d.given["said's"],
                 "response_metadata.logprobs.content.*.logprob"),
                ("a schema", lambda: form.invoke(d.p), pet, ""),
                ("embeddings", lambda: vectors.embed_documents([d.p, d.q]), d.given["vectors"], ""),
                ("instructor's schema", lambda: teach(instructor.Mode.JSON_SCHEMA), pet, ""),
                ("instructor's tools", lambda: teach(instructor.Mode.TOOLS),
                 json.loads(d.given["called"])["arguments"], ""),
                ("a tool", lambda: long_talk.bind_tools([Pet], tool_choice="Pet").invoke(
                    d.p).tool_calls[0]["args"], json.loads(d.given["called"])["arguments"], "")]:
            judged(claim, d, f"langchain: {what}", call, want, path)

with judge.claim(
        "a list of calls through npm's openai, AI SDK and LangChain", least=28,
        by="npm openai, ai, @ai-sdk/openai, @ai-sdk/openai-compatible, @langchain/openai") as claim:
    with served() as url:
        d = Drawn()
        calls = [*d.calls("n")]
        given = {"url": url + "/v1", "key": "a-key", "p": d.p, "q": d.q, "asked": d.asked,
                 "schema": d.given["schema"], "calls": [call[1:3] for call in calls]}
        p = subprocess.run(
            ["node", "--input-type=module", "-"], cwd=os.environ["JUDGES_NPM"], check=True,
            input=HERE.with_suffix(".mjs").read_bytes(), timeout=300, stdout=subprocess.PIPE,
            env=os.environ | {"GIVEN": json.dumps(given)})
    got = json.loads(p.stdout)
    for (what, _, _, path, want), answer in zip(calls, got["calls"], strict=True):
        judged(claim, d, f"openai: {what}", answer, want, path)
    [sdk] = d.all("--stop", "\nuser:", prompt=f"user:\n{d.p}\n\nassistant:\n") # as it writes it
    tokens = len(sdk["ids"]) + (sdk["finish_reason"] == "end_of_text")
    for what, want in {
            "key": ["AuthenticationError", 401, "invalid_api_key", None],
            "compatible: text": sdk["text"], "compatible: stream": sdk["text"],
            "compatible: chat": d.said, "compatible: usage": [len(sdk["prompt_ids"]), tokens],
            "AI SDK: text": sdk["text"], "AI SDK: chat": d.said, "AI SDK: chat stream": d.said,
            "AI SDK: a response": True, "AI SDK: a response stream": True,
            "AI SDK: a tool": json.loads(d.given["called"])["arguments"],
            "AI SDK: an object": json.loads(d.given["pet"]), "LangChain: stream": d.greedy,
            "AI SDK: embedding": d.given["vectors"][0], "AI SDK: key": ["AI_APICallError", 401],
            "LangChain: texts": [d.greedy, d.text("--temp", 0, prompt=d.q)],
            "LangChain: embedding": d.given["vectors"][0]}.items():
        judged(claim, d, what, got[what], want)

judge.end()

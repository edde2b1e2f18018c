"""Other people's clients judge gpt serve: each gets the text that gpt writes, and the errors it knows."""
import asyncio, collections, json, os, subprocess, traceback
from typing import Annotated
import instructor, langchain_openai, litellm, numpy, openai, pydantic, torch, transformers
from openai.lib._pydantic import to_strict_json_schema
from judge import HERE, Judge

judge = Judge("openai", "litellm", "langchain-openai", "instructor", "transformers", "torch",
              "npm openai", "ai", "@ai-sdk/openai", "@ai-sdk/openai-compatible", "@langchain/openai")
KEY, N = "a-key", 12
demo = judge.folder()
judge.run("convert", "demo", demo / "demo", "--dtype", "f32")
tokenizer = transformers.AutoTokenizer.from_pretrained(demo / "demo")
model = transformers.GPT2LMHeadModel.from_pretrained(demo / "demo").double().eval()
WORDS = sorted(w[1:] for w in tokenizer.get_vocab() if w[0] == "Ġ" and w[1:].isascii() and w[1:].isalpha())


class Pet(pydantic.BaseModel):
    name: str = pydantic.Field(pattern="^[A-Z][a-z]{2,8}$")
    age: int = pydantic.Field(ge=1, le=30)
    friends: list[Annotated[str, pydantic.Field(max_length=9)]] = pydantic.Field(max_length=2)


class Drawn:
    """What the calls of a round ask for, and what gpt's command line writes for it."""

    def __init__(self):
        r = judge.random
        self.p, self.q = (" ".join(r.choices(WORDS, k=r.randint(3, 9))) for _ in "pq")
        self.s, self.t = r.randrange(1 << 31), r.choice([.5, .8, 1., 1.3])
        self.asked = {"model": "demo", "max_tokens": N, "seed": self.s, "temperature": self.t}
        self.said = {"messages": [{"role": "user", "content": self.p}]}

    def all(self, *flags, prompt=None, seed=None, n=N):
        out = judge.run("--special", "--no-display-prompt", "--top-k", 0, "-n", n, "--output", "json", "--temp", self.t,
                        "--seed", self.s if seed is None else seed, *flags, "--prompt", self.p if prompt is None else prompt)
        return [json.loads(line) for line in out.splitlines()]

    def text(self, *flags, **o):
        return self.all(*flags, **o)[0]["text"]

    def chat(self, *flags, said=None, **o):
        return self.text(*flags, prompt=(said or self.p) + "<|endoftext|>", **o)

    def schema(self, of):
        return self.chat("--json-schema", json.dumps(of), n=200)


def judged(claim, drawn, rows):
    """Each row: what, a call, and what must come of it, or what makes that."""
    for what, call, want in rows:
        case = f"{what}: {drawn.p!r} seed {drawn.s} temperature {drawn.t}"
        try:
            got, want = call(), want() if callable(want) else want
        except Exception:
            claim.differs(case, traceback.format_exc())
            continue
        if isinstance(want, torch.Tensor):
            claim.near(case, got, want, 1e-5)
        else:
            claim.same(case, got, want)


def fails(call):
    """The class of the error, its status, and what it is about."""
    try:
        return f"no error: {call()}"
    except Exception as e:
        return type(e).__name__, getattr(e, "status_code", None), getattr(e, "code", None), getattr(e, "param", None)


@torch.no_grad()
def logprobs(ids):
    return model(torch.tensor([ids])).logits[0].log_softmax(-1)


@torch.no_grad()
def vector(text):
    v = model.transformer(torch.tensor([tokenizer(text).input_ids])).last_hidden_state[0].mean(0)
    return v / v.norm()


def joined(stream):
    return "".join(part.choices[0].text for part in stream if part.choices)


def spoken(stream):
    return "".join(part.choices[0].delta.content or "" for part in stream if part.choices)


def streams(stream):
    texts = collections.Counter()
    for part in stream:
        for c in part.choices:
            texts[c.index] = (texts[c.index] or "") + c.text
    return dict(sorted(texts.items()))


def grammar(drawn, text):
    path = judge.folder() / "grammar"
    path.write_text(text)
    return drawn.text("--grammar", path)


def served():
    return judge.server("--template", "dialogpt", "--api-key", KEY, "--max-n", 8)


@judge.claim("a list of calls through Python's openai", by="openai, transformers, torch", least=100)
def _(claim):
    with served() as url:
        openai_calls(claim, openai.OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0), url, Drawn())


def openai_calls(claim, client, url, d):
    ids = tokenizer(d.p).input_ids
    ask = lambda **o: client.completions.create(**d.asked | {"prompt": d.p} | o)
    first = lambda **o: ask(**o).choices[0]
    chat = lambda **o: client.chat.completions.create(**d.asked | d.said | o)
    embed = lambda **o: client.embeddings.create(**{"model": "demo", "input": [d.p, d.q]} | o).data
    extra = lambda **o: first(extra_body=o).text
    form = lambda **o: extra(structured_outputs=o)
    shaped = lambda **o: chat(max_tokens=200, response_format=o).choices[0].message.content
    one = d.all()[0]
    four = d.all("--samples", 4)
    long = ids + one["ids"]
    after = logprobs(long)
    chosen = after[range(len(long) - 1), long[1:]]
    new = range(len(ids) - 1, len(long) - 1)
    best = sorted(four, key=lambda x: -numpy.mean(x["logprobs"]))[:2]
    # A stop string that ends the text where it first stands, as far as there is one.
    stop = one["text"][len(one["text"]) // 2:][:3] or "none"
    usage = {"prompt": len(ids), "completion": len(one["ids"]), "total": len(long)}
    used = lambda u: {k: getattr(u, k + "_tokens") for k in usage}
    top = lambda l: [[v for v in sorted(at.values())] for at in l.top_logprobs if at]
    schema = Pet.model_json_schema()
    nobody = openai.OpenAI(base_url=url + "/v1", api_key="no", max_retries=0)

    async def at_once():
        async with openai.AsyncOpenAI(base_url=url + "/v1", api_key=KEY) as many:
            asked = [many.completions.create(**d.asked | {"prompt": d.p, "seed": d.s + i}) for i in range(4)]
            return [a.choices[0].text for a in await asyncio.gather(*asked)]

    def drawn_seed():
        raw = client.completions.with_raw_response.create(model="demo", prompt=d.p, max_tokens=N, temperature=d.t)
        return raw.parse().choices[0].text == d.text(seed=raw.headers["x-seed"])

    judged(claim, d, [
        ("text", lambda: first().text, one["text"]),
        ("greedy", lambda: first(temperature=0).text, lambda: d.text("--temp", 0)),
        ("finish_reason", lambda: first().finish_reason, one["finish_reason"]),
        ("ids", lambda: first(prompt=ids).text, one["text"]),
        ("lists of ids", lambda: [c.text for c in ask(prompt=[ids, ids[:1]]).choices],
         lambda: [one["text"], d.text(prompt=tokenizer.decode(ids[:1]))]),
        ("16 tokens", lambda: first(max_tokens=None).text, lambda: d.text(n=16)),
        ("n", lambda: [(c.index, c.text) for c in ask(n=4).choices], list(enumerate(x["text"] for x in four))),
        ("n of prompts", lambda: [c.text for c in ask(prompt=[d.p, d.q], n=2).choices],
         lambda: [d.text(prompt=p, seed=d.s + i) for p in (d.p, d.q) for i in (0, 1)]),
        ("best_of", lambda: [c.text for c in ask(n=2, best_of=4).choices], [x["text"] for x in best]),
        ("a drawn seed", drawn_seed, True),
        ("at once", lambda: asyncio.run(at_once()), [x["text"] for x in four]),
        ("usage", lambda: used(ask().usage), usage),
        ("usage of n", lambda: ask(n=4).usage.completion_tokens, sum(len(x["ids"]) for x in four)),
        ("stop", lambda: first(stop=stop).text, one["text"].split(stop)[0]),
        ("stops", lambda: first(stop=["§", stop]).finish_reason, "stop" if stop in one["text"] else one["finish_reason"]),
        ("top_p", lambda: first(top_p=.7).text, lambda: d.text("--top-p", .7)),
        ("frequency_penalty", lambda: first(frequency_penalty=1.5).text, lambda: d.text("--frequency-penalty", 1.5)),
        ("presence_penalty", lambda: first(presence_penalty=-1).text, lambda: d.text("--presence-penalty", -1)),
        ("logit_bias", lambda: first(logit_bias={str(one["ids"][0]): -100}).text,
         lambda: d.text("--logit-bias", f"{one['ids'][0]}=-100")),
        ("top_k", lambda: extra(top_k=5), lambda: d.text("--top-k", 5)),
        ("min_p", lambda: extra(min_p=.1), lambda: d.text("--min-p", .1)),
        ("repetition_penalty", lambda: extra(repetition_penalty=1.3), lambda: d.text("--repeat-penalty", 1.3)),
        ("choice", lambda: form(choice=[" yes", " no"]), lambda: d.text("--choices", " yes, no")),
        ("regex", lambda: form(regex="[a-z]{3} [0-9]+;"), lambda: d.text("--regex", "[a-z]{3} [0-9]+;")),
        ("json", lambda: form(json={"enum": [1, "a"]}), lambda: d.text("--json-schema", '{"enum": [1, "a"]}')),
        ("grammar", lambda: form(grammar='root ::= ("a" [b-d]){2,4}'), # of a file: - is stdin
         lambda: grammar(d, 'root ::= ("a" [b-d]){2,4}')),
        ("token_logprobs", lambda: first(logprobs=0).logprobs.token_logprobs, one["logprobs"]),
        ("their values", lambda: first(logprobs=0).logprobs.token_logprobs, chosen[new.start:]),
        ("tokens", lambda: first(logprobs=0).logprobs.tokens, [tokenizer.decode([i]) for i in one["ids"]]),
        ("top_logprobs", lambda: [max(at.values()) for at in first(logprobs=3).logprobs.top_logprobs],
         after[new].max(-1).values),
        ("echo", lambda: first(echo=True).text, d.p + one["text"]),
        ("echo alone", lambda: first(echo=True, max_tokens=0, logprobs=0).logprobs.token_logprobs[1:], chosen[:new.start]),
        ("echo's log-probabilities", lambda: first(echo=True, logprobs=0).logprobs.token_logprobs[1:], chosen),
        ("echo's offsets", lambda: first(echo=True, logprobs=0).logprobs.text_offset,
         lambda: [len(tokenizer.decode(long[:i])) for i in range(len(long))]),
        ("echo's best", lambda: [max(at.values()) for at in first(echo=True, logprobs=1).logprobs.top_logprobs[1:]],
         after[:-1].max(-1).values),
        ("stream", lambda: joined(ask(stream=True)), one["text"]),
        ("stream's echo", lambda: joined(ask(stream=True, echo=True)), d.p + one["text"]),
        ("stream's usage", lambda: used(list(ask(stream=True, stream_options={"include_usage": True}))[-1].usage), usage),
        ("stream's log-probabilities", lambda: [x for part in ask(stream=True, logprobs=1) if part.choices[0].logprobs
                                                for x in part.choices[0].logprobs.token_logprobs], one["logprobs"]),
        ("stream of n", lambda: streams(ask(stream=True, n=4)), dict(enumerate(x["text"] for x in four))),
        ("chat", lambda: chat().choices[0].message.content, d.chat),
        ("chat stream", lambda: spoken(chat(stream=True)), d.chat),
        ("chat's turns", lambda: chat(messages=[{"role": "system", "content": "Be."}, *d.said["messages"], {
            "role": "assistant", "content": "So."}, {"role": "user", "content": d.q}]).choices[0].message.content,
         lambda: d.chat(said=f"Be.\n{d.p}<|endoftext|>So.<|endoftext|>{d.q}")),
        ("chat's log-probabilities", lambda: [x.logprob for x in chat(logprobs=True).choices[0].logprobs.content],
         lambda: d.all(prompt=d.p + "<|endoftext|>")[0]["logprobs"]),
        ("chat's prompt_tokens", lambda: chat().usage.prompt_tokens, len(ids) + 1),
        ("json_schema", lambda: shaped(type="json_schema", json_schema={"name": "pet", "schema": schema}),
         lambda: d.schema(schema)),
        ("json_object", lambda: shaped(type="json_object"), lambda: d.schema({"type": "object"})),
        ("parse", lambda: client.chat.completions.parse(**d.asked | d.said | {"max_tokens": 200}, response_format=Pet)
         .choices[0].message.parsed, lambda: Pet.model_validate_json(d.schema(to_strict_json_schema(Pet)))),
        ("embeddings", lambda: [e.embedding for e in embed()], torch.stack([vector(d.p), vector(d.q)])),
        ("embeddings as numbers", lambda: [numpy.float32(e.embedding).tolist() for e in embed(encoding_format="float")],
         lambda: [numpy.float32(e.embedding).tolist() for e in embed()]),
        ("embeddings of ids", lambda: embed(input=ids)[0].embedding, vector(d.p)),
        ("models", lambda: [m.id for m in client.models.list()], ["demo"]),
        ("a model", lambda: client.models.retrieve("demo").id, "demo"),
        ("no such model", lambda: fails(lambda: client.models.retrieve("no"))[:2], ("NotFoundError", 404)),
        ("another model", lambda: fails(lambda: ask(model="gpt-4")), ("NotFoundError", 404, "model_not_found", "model")),
        ("no such key", lambda: fails(nobody.models.list)[:3], ("AuthenticationError", 401, "invalid_api_key")),
        ("no such path", lambda: fails(lambda: client.responses.create(model="demo", input=d.p))[:2], ("NotFoundError", 404)),
        ("suffix", lambda: fails(lambda: ask(suffix="x")), ("BadRequestError", 400, None, "suffix")),
        ("too long", lambda: fails(lambda: ask(max_tokens=999)),
         ("BadRequestError", 400, "context_length_exceeded", "max_tokens")),
        ("too many", lambda: fails(lambda: ask(n=9)), ("BadRequestError", 400, None, "n")),
        ("a tool", lambda: fails(lambda: chat(tool_choice="required")),
         ("BadRequestError", 400, "unsupported_parameter", "tool_choice")),
        ("a wrong schema", lambda: fails(lambda: shaped(type="json_schema", json_schema={"name": "x", "schema": {"type": 1}}))[:2],
         ("BadRequestError", 400)),
        ("too great", lambda: fails(lambda: ask(prompt="a" * 4_000_000))[:2], ("APIStatusError", 413)),
    ])


@judge.claim("a list of calls through litellm, langchain and instructor", by="litellm, langchain-openai, instructor",
             least=25)
def _(claim):
    with served() as url:
        d = Drawn()
        at = {"api_base": url + "/v1", "api_key": KEY, "max_retries": 0}
        lite = lambda **o: litellm.text_completion(**d.asked | at | {"model": "text-completion-openai/demo", "prompt": d.p} | o)
        chat = lambda **o: litellm.completion(**d.asked | at | d.said | {"model": "openai/demo"} | o)
        embed = lambda: litellm.embedding(model="openai/demo", input=[d.p, d.q], api_base=url + "/v1", api_key=KEY).data
        shape = {"type": "json_schema", "json_schema": {"name": "pet", "schema": Pet.model_json_schema()}}
        chain = langchain_openai.OpenAI(**d.asked, base_url=url + "/v1", api_key=KEY, max_retries=0)
        talk = langchain_openai.ChatOpenAI(**d.asked, base_url=url + "/v1", api_key=KEY, max_retries=0)
        form = langchain_openai.ChatOpenAI(**d.asked | {"max_tokens": 200}, base_url=url + "/v1", api_key=KEY)
        vectors = langchain_openai.OpenAIEmbeddings(model="demo", base_url=url + "/v1", api_key=KEY,
                                                    check_embedding_ctx_length=False)
        def pet(mode):
            teacher = instructor.from_openai(openai.OpenAI(base_url=url + "/v1", api_key=KEY), mode=mode)
            return teacher.chat.completions.create(**d.asked | d.said | {"max_tokens": 150}, response_model=Pet, max_retries=0)

        one, said = d.all()[0], d.chat()
        both = torch.stack([vector(d.p), vector(d.q)])
        judged(claim, d, [
            ("litellm: text", lambda: lite().choices[0].text, one["text"]),
            ("litellm: n", lambda: [c.text for c in lite(n=2).choices], lambda: [d.text(seed=d.s + i) for i in (0, 1)]),
            ("litellm: usage", lambda: lite().usage.total_tokens, len(one["prompt_ids"] + one["ids"])),
            ("litellm: echo", lambda: lite(echo=True).choices[0].text, d.p + one["text"]),
            ("litellm: log-probabilities", lambda: lite(logprobs=1).choices[0].logprobs.token_logprobs, one["logprobs"]),
            ("litellm: stream", lambda: "".join(x.choices[0].text or "" for x in lite(stream=True)), one["text"]),
            ("litellm: chat", lambda: chat().choices[0].message.content, said),
            ("litellm: at once", lambda: asyncio.run(litellm.acompletion(**d.asked | at | d.said | {"model": "openai/demo"}))
             .choices[0].message.content, said),
            ("litellm: chat stream", lambda: spoken(chat(stream=True)), said),
            ("litellm: a schema", lambda: chat(max_tokens=200, response_format=shape).choices[0].message.content,
             lambda: d.schema(Pet.model_json_schema())),
            ("litellm: embeddings", lambda: [e["embedding"] for e in embed()], both),
            ("litellm: suffix", lambda: fails(lambda: lite(suffix="x"))[:2], ("BadRequestError", 400)),
            ("litellm: too long", lambda: fails(lambda: chat(max_tokens=999))[:2], ("ContextWindowExceededError", 400)),
            ("litellm: key", lambda: fails(lambda: chat(api_key="no"))[:2], ("AuthenticationError", 401)),
            ("litellm: model", lambda: fails(lambda: chat(model="openai/no"))[:2], ("NotFoundError", 404)),
            ("langchain: text", lambda: chain.invoke(d.p), one["text"]),
            ("langchain: stream", lambda: "".join(chain.stream(d.p)), one["text"]),
            ("langchain: batch", lambda: chain.batch([d.p, d.q]), lambda: [d.text(prompt=p) for p in (d.p, d.q)]),
            ("langchain: stop", lambda: chain.invoke(d.p, stop=["e"]), one["text"].split("e")[0]),
            ("langchain: usage", lambda: chain.generate([d.p]).llm_output["token_usage"]["completion_tokens"], len(one["ids"])),
            ("langchain: chat", lambda: talk.invoke(d.p).content, said),
            ("langchain: chat stream", lambda: "".join(x.content for x in talk.stream(d.p)), said),
            ("langchain: chat usage", lambda: talk.invoke(d.p).usage_metadata["input_tokens"], len(one["prompt_ids"]) + 1),
            ("langchain: log-probabilities", lambda: [x["logprob"] for x in talk.bind(logprobs=True).invoke(d.p)
                                                      .response_metadata["logprobs"]["content"]],
             lambda: d.all(prompt=d.p + "<|endoftext|>")[0]["logprobs"]),
            ("langchain: a schema", lambda: form.with_structured_output(Pet, method="json_schema").invoke(d.p),
             lambda: Pet.model_validate_json(d.schema(to_strict_json_schema(Pet)))),
            ("langchain: embeddings", lambda: vectors.embed_documents([d.p, d.q]), both),
            ("langchain: model", lambda: fails(lambda: talk.bind(model="no").invoke(d.p))[:2], ("OpenAIModelNotFoundError", 404)),
            ("instructor: a schema", lambda: pet(instructor.Mode.JSON_SCHEMA),
             lambda: Pet.model_validate_json(d.schema(Pet.model_json_schema()))),
            ("instructor: tools", lambda: fails(lambda: pet(instructor.Mode.TOOLS))[0], "InstructorRetryException"),
        ])


@judge.claim("a list of calls through npm's openai, AI SDK and LangChain", least=15,
             by="npm openai, ai, @ai-sdk/openai, @ai-sdk/openai-compatible, @langchain/openai")
def _(claim):
    with served() as url:
        d = Drawn()
        given = {"url": url + "/v1", "key": KEY, "p": d.p, "q": d.q, "seed": d.s, "temperature": d.t, "n": N,
                 "schema": Pet.model_json_schema()}
        p = subprocess.run(["node", "--input-type=module", "-"], input=(HERE / "clients.mjs").read_bytes(),
                           cwd=os.environ["JUDGES_NPM"], env=os.environ | {"GIVEN": json.dumps(given)},
                           stdout=subprocess.PIPE, timeout=300)
        assert p.returncode == 0, "clients.mjs fails"
        got = json.loads(p.stdout)
        one, said, greedy = d.all()[0], d.chat(), d.text("--temp", 0)
        two = [one["text"], d.text(seed=d.s + 1)]
        sdk = d.all("--stop", "\nuser:", prompt=f"user:\n{d.p}\n\nassistant:\n")[0] # what it makes of a prompt
        wants = {
            "openai: text": one["text"], "openai: n": two, "openai: stream": one["text"], "openai: chat": said,
            "openai: chat stream": said, "openai: usage": [len(one["prompt_ids"]), len(one["ids"])],
            "openai: stream's usage": [len(one["prompt_ids"]), len(one["ids"])],
            "openai: log-probabilities": one["logprobs"], "openai: echo": [d.p + one["text"], len(one["prompt_ids"])],
            "openai: a schema": d.schema(Pet.model_json_schema()), "openai: models": ["demo"],
            "openai: embeddings": torch.stack([vector(d.p), vector(d.q)]),
            "openai: too long": ["BadRequestError", 400, "context_length_exceeded", "max_tokens"],
            "openai: model": ["NotFoundError", 404, "model_not_found", "model"],
            "openai: key": ["AuthenticationError", 401, "invalid_api_key", None],
            "compatible: text": sdk["text"], "compatible: stream": sdk["text"], "compatible: chat": said,
            "compatible: usage": [len(sdk["prompt_ids"]), len(sdk["ids"])],
            "AI SDK: text": sdk["text"], "AI SDK: chat": said, "AI SDK: chat stream": said,
            "AI SDK: an object": json.loads(d.schema(Pet.model_json_schema())),
            "AI SDK: embedding": vector(d.p), "AI SDK: key": ["AI_APICallError", 401],
            "LangChain: texts": [greedy, d.text("--temp", 0, prompt=d.q)], "LangChain: stream": greedy,
            "LangChain: embedding": vector(d.p)}
        judged(claim, d, [(what, lambda what=what: got[what], want) for what, want in wants.items()])


judge.end()

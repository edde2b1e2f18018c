"""Other people's clients judge gpt serve: each gets the text that gpt writes, and the errors it knows."""
import asyncio, json, logging, os, subprocess, traceback
from typing import Annotated
import instructor, langchain_openai, litellm, numpy, openai, pydantic, torch, transformers
from openai.lib._pydantic import to_strict_json_schema
from judge import HERE, Judge

judge = Judge("openai", "litellm", "langchain-openai", "instructor", "transformers", "torch",
              "npm openai", "ai", "@ai-sdk/openai", "@ai-sdk/openai-compatible", "@langchain/openai")
KEY, N = "a-key", 12
litellm.suppress_debug_info = True
logging.disable(logging.CRITICAL) # what instructor says of errors
demo = judge.folder()
judge.run("convert", "demo", demo / "demo", "--dtype", "f32")
tokenizer = transformers.AutoTokenizer.from_pretrained(demo / "demo")
model = transformers.GPT2LMHeadModel.from_pretrained(demo / "demo").double().eval()
WORDS = sorted(w[1:] for w in tokenizer.get_vocab() if w[0] == "Ġ" and w[1:].isascii() and w[1:].isalpha())


class Pet(pydantic.BaseModel):
    name: str = pydantic.Field(pattern="^[A-Z][a-z]{2,8}$")
    age: int = pydantic.Field(ge=1, le=30)
    friends: list[Annotated[str, pydantic.Field(max_length=9)]] = pydantic.Field(max_length=2)


SHAPE = {"type": "json_schema", "json_schema": {"name": "pet", "schema": Pet.model_json_schema()}}


class Drawn:
    """What the calls ask for, and what gpt's command line writes for it."""

    def __init__(self):
        r = judge.random
        while True:
            self.p, self.q = (" ".join(r.choices(WORDS, k=r.randint(3, 9))) for _ in "pq")
            self.s, self.t = r.randrange(1 << 31), r.choice([.5, .8, 1., 1.3])
            self.four = self.all("--samples", 4)
            # An end that the model writes is a token of the answer and none of the command's.
            if all(x["finish_reason"] == "length" and x["text"].isascii() for x in self.four + [self.said()]):
                break
        self.one = self.four[0]
        self.sizes = [len(self.one["prompt_ids"]), N]
        self.asked = {"model": "demo", "max_tokens": N, "seed": self.s, "temperature": self.t}
        self.message = {"messages": [{"role": "user", "content": self.p}]}
        self.vectors = torch.stack([vector(self.p), vector(self.q)])

    def all(self, *flags, prompt=None, seed=None, n=N):
        out = judge.run("--special", "--no-display-prompt", "--top-k", 0, "-n", n, "--output", "json",
                        "--temp", self.t, "--seed", self.s if seed is None else seed, *flags,
                        "--prompt", self.p if prompt is None else prompt)
        return [json.loads(line) for line in out.splitlines()]

    def text(self, *flags, **o):
        return self.all(*flags, **o)[0]["text"]

    def said(self, *flags, **o):
        return self.all(*flags, prompt=self.p + "<|endoftext|>", **o)[0]

    def schema(self, of=Pet.model_json_schema()):
        return self.said("--json-schema", json.dumps(of), n=200)["text"]

    def pet(self, of=Pet.model_json_schema()):
        return Pet.model_validate_json(self.schema(of))


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
        return type(e).__name__, *(getattr(e, field, None) for field in ("status_code", "code", "param"))


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


def served():
    return judge.server("--template", "dialogpt", "--api-key", KEY, "--max-n", 8)


@judge.claim("a list of calls through Python's openai", by="openai, transformers, torch", least=45)
def _(claim):
    with served() as url:
        calls(claim, openai.OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0), Drawn())


def calls(claim, client, d):
    ask = lambda **o: client.completions.create(**d.asked | {"prompt": d.p} | o)
    first = lambda **o: ask(**o).choices[0]
    scores = lambda **o: first(logprobs=1, **o).logprobs
    chat = lambda **o: client.chat.completions.create(**d.asked | d.message | o)
    embed = lambda **o: client.embeddings.create(**{"model": "demo", "input": [d.p, d.q]} | o).data
    extra = lambda **o: first(extra_body=o).text
    form = lambda **o: extra(structured_outputs=o)
    shaped = lambda **o: chat(max_tokens=200, response_format=o).choices[0].message.content
    used = lambda answer: [answer.usage.prompt_tokens, answer.usage.completion_tokens]
    texts = [x["text"] for x in d.four]
    ids, new = d.one["prompt_ids"], d.one["ids"]
    after = logprobs(ids + new)
    chosen = after[range(len(ids + new) - 1), (ids + new)[1:]]
    stop = texts[0][len(texts[0]) // 2:][:3]
    keyless = client.with_options(api_key="no")
    rule = judge.folder() / "grammar"
    rule.write_text('root ::= ("a" [b-d]){2,4}')

    async def at_once():
        async with openai.AsyncOpenAI(base_url=client.base_url, api_key=KEY) as many:
            asked = [many.completions.create(**d.asked | {"prompt": d.p, "seed": d.s + i}) for i in range(4)]
            return [a.choices[0].text for a in await asyncio.gather(*asked)]

    def drawn_seed():
        raw = client.completions.with_raw_response.create(model="demo", prompt=d.p, temperature=d.t)
        return raw.parse().choices[0].text == d.text(seed=raw.headers["x-seed"], n=16)

    judged(claim, d, [
        ("text", lambda: first().text, texts[0]),
        ("greedy", lambda: first(temperature=0).text, lambda: d.text("--temp", 0)),
        ("lists of ids", lambda: [c.text for c in ask(prompt=[ids, ids[:1]]).choices],
         lambda: [texts[0], d.text(prompt=tokenizer.decode(ids[:1]))]),
        ("n of prompts", lambda: [c.text for c in ask(prompt=[d.p, d.q], n=2).choices],
         lambda: [d.text(prompt=p, seed=d.s + i) for p in (d.p, d.q) for i in (0, 1)]),
        ("best_of", lambda: [c.text for c in ask(n=2, best_of=4).choices],
         [x["text"] for x in sorted(d.four, key=lambda x: -numpy.mean(x["logprobs"]))[:2]]),
        ("a drawn seed, 16 tokens", drawn_seed, True),
        ("at once", lambda: asyncio.run(at_once()), texts),
        ("usage", lambda: used(ask()), d.sizes),
        ("usage of n", lambda: used(ask(n=4)), [len(ids), 4 * N]),
        ("an end is a token", lambda: used(ask(temperature=0, logit_bias={"50256": 100})), [len(ids), 1]),
        ("stop", lambda: first(stop=["§", stop]).text, texts[0].split(stop)[0]),
        ("finish_reason", lambda: [first(stop=s).finish_reason for s in (stop, None)], ["stop", "length"]),
        ("top_p", lambda: first(top_p=.7).text, lambda: d.text("--top-p", .7)),
        ("frequency_penalty", lambda: first(frequency_penalty=1.5).text,
         lambda: d.text("--frequency-penalty", 1.5)),
        ("logit_bias", lambda: first(logit_bias={str(new[0]): -100}).text,
         lambda: d.text("--logit-bias", f"{new[0]}=-100")),
        ("repetition_penalty", lambda: extra(repetition_penalty=1.3), lambda: d.text("--repeat-penalty", 1.3)),
        ("choice", lambda: form(choice=[" yes", " no"]), lambda: d.text("--choices", " yes, no")),
        ("regex", lambda: form(regex="[a-z]{3} [0-9]+;"), lambda: d.text("--regex", "[a-z]{3} [0-9]+;")),
        ("json", lambda: form(json={"enum": [1, "a"]}), lambda: d.text("--json-schema", '{"enum": [1, "a"]}')),
        ("grammar", lambda: form(grammar=rule.read_text()), lambda: d.text("--grammar", rule)),
        ("token_logprobs", lambda: scores().token_logprobs, d.one["logprobs"]),
        ("tokens", lambda: scores().tokens, [tokenizer.decode([i]) for i in new]),
        ("top_logprobs", lambda: [max(at.values()) for at in scores().top_logprobs],
         after[len(ids) - 1:-1].max(-1).values),
        ("echo", lambda: first(echo=True).text, d.p + texts[0]),
        ("echo's log-probabilities", lambda: scores(echo=True).token_logprobs[1:], chosen),
        ("echo alone", lambda: scores(echo=True, max_tokens=0).token_logprobs[1:], chosen[:len(ids) - 1]),
        ("text_offset", lambda: scores(echo=True).text_offset,
         lambda: [len(tokenizer.decode((ids + new)[:i])) for i in range(len(ids + new))]),
        ("stream", lambda: joined(ask(stream=True)), texts[0]),
        ("stream's echo", lambda: joined(ask(stream=True, echo=True)), d.p + texts[0]),
        ("stream's usage", lambda: used(list(ask(stream=True, stream_options={"include_usage": True}))[-1]),
         d.sizes),
        ("stream's log-probabilities", lambda: [
            x for part in ask(stream=True, logprobs=1) for x in part.choices[0].logprobs.token_logprobs],
         d.one["logprobs"]),
        ("chat", lambda: chat().choices[0].message.content, lambda: d.said()["text"]),
        ("chat stream", lambda: spoken(chat(stream=True)), lambda: d.said()["text"]),
        ("chat's turns", lambda: chat(messages=[
            {"role": "system", "content": "Be."}, *d.message["messages"], {"role": "assistant", "content": "So."},
            {"role": "user", "content": d.q}]).choices[0].message.content,
         lambda: d.text(prompt=f"Be.\n{d.p}<|endoftext|>So.<|endoftext|>{d.q}<|endoftext|>")),
        ("chat's log-probabilities", lambda: [x.logprob for x in chat(logprobs=True).choices[0].logprobs.content],
         lambda: d.said()["logprobs"]),
        ("chat's usage", lambda: used(chat()), [len(ids) + 1, N]),
        ("json_schema", lambda: shaped(**SHAPE), d.schema),
        ("json_object", lambda: shaped(type="json_object"), lambda: d.schema({"type": "object"})),
        ("parse", lambda: client.chat.completions.parse(**d.asked | d.message | {"max_tokens": 200},
                                                        response_format=Pet).choices[0].message.parsed,
         lambda: d.pet(to_strict_json_schema(Pet))),
        ("embeddings", lambda: [e.embedding for e in embed()], d.vectors),
        ("embeddings of ids", lambda: [embed(input=ids, encoding_format="float")[0].embedding], d.vectors[:1]),
        ("models", lambda: [m.id for m in client.models.list()], [client.models.retrieve("demo").id]),
        ("another model", lambda: fails(lambda: ask(model="no")),
         ("NotFoundError", 404, "model_not_found", "model")),
        ("no key", lambda: fails(keyless.models.list), ("AuthenticationError", 401, "invalid_api_key", None)),
        ("no path", lambda: fails(lambda: client.responses.create(model="demo", input=d.p))[:2],
         ("NotFoundError", 404)),
        ("suffix", lambda: fails(lambda: ask(suffix="x")), ("BadRequestError", 400, None, "suffix")),
        ("too long", lambda: fails(lambda: ask(max_tokens=999)),
         ("BadRequestError", 400, "context_length_exceeded", "max_tokens")),
        ("too many", lambda: fails(lambda: ask(n=9)), ("BadRequestError", 400, None, "n")),
        ("a tool", lambda: fails(lambda: chat(tool_choice="required")),
         ("BadRequestError", 400, "unsupported_parameter", "tool_choice")),
        ("too great", lambda: fails(lambda: ask(prompt="a" * 4_000_000))[:2], ("APIStatusError", 413)),
    ])


@judge.claim("a list of calls through litellm, langchain and instructor", least=20,
             by="litellm, langchain-openai, instructor")
def _(claim):
    with served() as url:
        d = Drawn()
        at = {"api_base": url + "/v1", "api_key": KEY, "max_retries": 0}
        lite = lambda **o: litellm.text_completion(
            **d.asked | at | {"model": "text-completion-openai/demo", "prompt": d.p} | o)
        chat = lambda **o: litellm.completion(**d.asked | at | d.message | {"model": "openai/demo"} | o)
        embed = lambda: litellm.embedding(model="openai/demo", input=[d.p, d.q], **at).data
        base = {"base_url": url + "/v1", "api_key": KEY, "max_retries": 0}
        chain = langchain_openai.OpenAI(**d.asked, **base)
        talk = langchain_openai.ChatOpenAI(**d.asked, **base)
        form = langchain_openai.ChatOpenAI(**d.asked | {"max_tokens": 200}, **base)
        vectors = langchain_openai.OpenAIEmbeddings(model="demo", check_embedding_ctx_length=False, **base)
        teacher = lambda mode: instructor.from_openai(openai.OpenAI(**base), mode=mode).chat.completions.create(
            **d.asked | d.message | {"max_tokens": 200}, response_model=Pet, max_retries=0)
        text, said = d.one["text"], d.said()
        judged(claim, d, [
            ("litellm: text", lambda: lite().choices[0].text, text),
            ("litellm: usage", lambda: lite().usage.total_tokens, sum(d.sizes)),
            ("litellm: echo", lambda: lite(echo=True).choices[0].text, d.p + text),
            ("litellm: logprobs", lambda: lite(logprobs=1).choices[0].logprobs.token_logprobs, d.one["logprobs"]),
            ("litellm: stream", lambda: "".join(x.choices[0].text or "" for x in lite(stream=True)), text),
            ("litellm: chat", lambda: chat().choices[0].message.content, said["text"]),
            ("litellm: chat stream", lambda: spoken(chat(stream=True)), said["text"]),
            ("litellm: a schema", lambda: chat(max_tokens=200, response_format=SHAPE).choices[0].message.content,
             d.schema),
            ("litellm: embeddings", lambda: [e["embedding"] for e in embed()], d.vectors),
            ("litellm: suffix", lambda: fails(lambda: lite(suffix="x"))[:2], ("BadRequestError", 400)),
            ("litellm: too long", lambda: fails(lambda: chat(max_tokens=999))[:2],
             ("ContextWindowExceededError", 400)),
            ("litellm: key", lambda: fails(lambda: chat(api_key="no"))[:2], ("AuthenticationError", 401)),
            ("langchain: text", lambda: chain.invoke(d.p), text),
            ("langchain: stream", lambda: "".join(chain.stream(d.p)), text),
            ("langchain: batch", lambda: chain.batch([d.p, d.q]), lambda: [text, d.text(prompt=d.q)]),
            ("langchain: usage", lambda: chain.generate([d.p]).llm_output["token_usage"]["completion_tokens"], N),
            ("langchain: chat", lambda: talk.invoke(d.p).content, said["text"]),
            ("langchain: chat stream", lambda: "".join(x.content for x in talk.stream(d.p)), said["text"]),
            ("langchain: logprobs", lambda: [x["logprob"] for x in talk.bind(logprobs=True).invoke(d.p)
                                             .response_metadata["logprobs"]["content"]], said["logprobs"]),
            ("langchain: a schema", lambda: form.with_structured_output(Pet, method="json_schema").invoke(d.p),
             lambda: d.pet(to_strict_json_schema(Pet))),
            ("langchain: embeddings", lambda: vectors.embed_documents([d.p, d.q]), d.vectors),
            ("instructor: a schema", lambda: teacher(instructor.Mode.JSON_SCHEMA).model_dump(),
             lambda: d.pet().model_dump()),
            ("instructor: tools", lambda: fails(lambda: teacher(instructor.Mode.TOOLS))[0],
             "InstructorRetryException"),
        ])


@judge.claim("a list of calls through npm's openai, AI SDK and LangChain", least=28,
             by="npm openai, ai, @ai-sdk/openai, @ai-sdk/openai-compatible, @langchain/openai")
def _(claim):
    with served() as url:
        d = Drawn()
        given = {"url": url + "/v1", "key": KEY, "p": d.p, "q": d.q, "seed": d.s, "temperature": d.t, "n": N,
                 "schema": Pet.model_json_schema()}
        p = subprocess.run(["node", "--input-type=module", "-"], input=(HERE / "clients.mjs").read_bytes(),
                           cwd=os.environ["JUDGES_NPM"], env=os.environ | {"GIVEN": json.dumps(given)},
                           stdout=subprocess.PIPE, timeout=300, check=True)
    got = json.loads(p.stdout)
    text, said, greedy, schema = d.one["text"], d.said()["text"], d.text("--temp", 0), d.schema()
    sdk = d.all("--stop", "\nuser:", prompt=f"user:\n{d.p}\n\nassistant:\n")[0] # as it writes a prompt
    wants = {
        "openai: text": text, "openai: n": [x["text"] for x in d.four[:2]], "openai: stream": text,
        "openai: chat": said, "openai: chat stream": said, "openai: usage": d.sizes,
        "openai: stream's usage": d.sizes, "openai: log-probabilities": d.one["logprobs"],
        "openai: echo": [d.p + text, d.sizes[0]], "openai: a schema": schema, "openai: models": ["demo"],
        "openai: embeddings": d.vectors,
        "openai: too long": ["BadRequestError", 400, "context_length_exceeded", "max_tokens"],
        "openai: model": ["NotFoundError", 404, "model_not_found", "model"],
        "openai: key": ["AuthenticationError", 401, "invalid_api_key", None],
        "compatible: text": sdk["text"], "compatible: stream": sdk["text"], "compatible: chat": said,
        "compatible: usage": [len(sdk["prompt_ids"]), len(sdk["ids"]) + (sdk["finish_reason"] == "end_of_text")],
        "AI SDK: text": sdk["text"], "AI SDK: chat": said, "AI SDK: chat stream": said,
        "AI SDK: an object": json.loads(schema), "AI SDK: embedding": d.vectors[0],
        "AI SDK: key": ["AI_APICallError", 401], "LangChain: stream": greedy,
        "LangChain: texts": [greedy, d.text("--temp", 0, prompt=d.q)], "LangChain: embedding": d.vectors[0]}
    judged(claim, d, [(what, lambda what=what: got[what], want) for what, want in wants.items()])


judge.end()

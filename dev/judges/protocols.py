"""lm-eval judges gpt serve: its hf model, in float64, beside its local-completions."""
import contextlib, io, json, logging
import lm_eval, lm_eval.tasks, torch, yaml
from lm_eval.models.huggingface import HFLM
from lm_eval.models.openai_completions import LocalCompletionsAPI
from judge import Judge

judge = Judge("lm-eval", "transformers", "torch")
BY = "lm-eval, transformers, torch"
logging.disable(logging.WARNING)
torch.set_num_threads(1) # of two, one waits where other programs run
TASKS = {
    "choices": {"output_type": "multiple_choice", "doc_to_text": "{{text}}", "doc_to_choice": "{{choices}}",
                "doc_to_target": "{{label}}", "num_fewshot": 2, "fewshot_split": "test",
                "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}]},
    "likelihood": {"output_type": "loglikelihood", "doc_to_text": "{{text}}", "doc_to_target": "{{next}}",
                   "metric_list": [{"metric": "acc"}, {"metric": "perplexity"}]},
    "rolling": {"output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{text}}",
                "metric_list": [{"metric": m} for m in ("word_perplexity", "byte_perplexity", "bits_per_byte")]},
    "until": {"output_type": "generate_until", "doc_to_text": "{{text}}", "doc_to_target": "{{next}}",
              "generation_kwargs": {"until": ["\n", "an", " t"], "max_gen_toks": 16, "do_sample": False},
              "metric_list": [{"metric": "exact_match"}]}}


def text(tokenizer, most):
    """Of drawn tokens of GPT-2: code, names, some of other scripts."""
    while True:
        t = tokenizer.decode([judge.random.randrange(50256) for _ in range(judge.random.randint(1, most))])
        if "\ufffd" not in t and t.strip():
            return t


def evaluated(kind, rounds, most, **checkpoint):
    """What lm-eval says of a task of drawn texts, for some checkpoints: by hf, and twice by gpt serve."""
    for _ in range(rounds):
        path, model = judge.checkpoint(tokenizer="gpt2", **checkpoint)
        length = model.config.n_positions
        # Over the API a text of the context's length lacks the token that is to be written, and
        # the first one: to hf the context is two shorter.
        hf = HFLM(str(path), device="cpu", dtype="float64", softmax_dtype="float64", max_length=length - 2)
        folder = judge.folder()
        docs = [{"text": text(hf.tokenizer, most), "next": text(hf.tokenizer, 4),
                 "choices": [" " + text(hf.tokenizer, 5) for _ in range(4)], "label": judge.random.randrange(4)}
                for _ in range(20)]
        (folder / "docs.jsonl").write_text("".join(json.dumps(d) + "\n" for d in docs))
        (folder / "task.yaml").write_text(yaml.safe_dump(TASKS[kind] | {
            "task": "drawn", "dataset_path": "json", "test_split": "test",
            "dataset_kwargs": {"data_files": {"test": str(folder / "docs.jsonl")}}}))
        manager = lm_eval.tasks.TaskManager(include_path=str(folder), include_defaults=False)

        def said(lm):
            with contextlib.redirect_stderr(io.StringIO()): # bars of progress
                return lm_eval.simple_evaluate(lm, tasks=["drawn"], task_manager=manager, bootstrap_iters=0)

        theirs = said(hf)
        with judge.server("-m", path) as url:
            for backend in ("huggingface", "remote"):
                api = LocalCompletionsAPI(model="model", tokenizer=str(path), base_url=url + "/v1/completions",
                                          tokenizer_backend=backend, max_length=length, batch_size=4, truncate=True)
                yield f"{kind}, the tokenizer {backend}", said(api), theirs


def numbers(results):
    """The metrics, without their errors and names."""
    return {k: v for k, v in results["results"]["drawn"].items() if isinstance(v, float)}


def answers(results):
    """What the model said to each document: log-probabilities and whether greedy, or texts."""
    samples = sorted(results["samples"]["drawn"], key=lambda s: s["doc_id"])
    return [(json.dumps(s["doc"]), [r[0] for r in s["resps"]]) for s in samples]


@judge.claim("multiple choice: log-probabilities of float64, and the same accuracies", by=BY, least=84)
def _(claim):
    for what, ours, theirs in evaluated("choices", 1, 8, n_positions=128):
        scored(claim, what, ours, theirs, True)


@judge.claim("loglikelihood: those of float64, the same greedy ones", by=BY, least=160)
def _(claim):
    for what, ours, theirs in evaluated("likelihood", 2, 60, n_positions=48):
        scored(claim, what, ours, theirs, True)


@judge.claim("loglikelihood_rolling: those of float64, and the perplexities", by=BY, least=80)
def _(claim):
    for what, ours, theirs in evaluated("rolling", 2, 150, n_positions=48):
        scored(claim, what, ours, theirs, False)


def scored(claim, what, ours, theirs, greedy):
    for (doc, a), (_, b) in zip(answers(ours), answers(theirs), strict=True):
        if greedy:
            claim.near(f"{what}: {doc}", [x[0] for x in a], [x[0] for x in b], 1e-5)
            claim.same(f"{what}: greedy: {doc}", [x[1] for x in a], [x[1] for x in b])
        else:
            claim.near(f"{what}: {doc}", a, b, 1e-5)
    for name, value in numbers(theirs).items():
        claim.near(f"{what}: {name}", numbers(ours)[name], value, 0 if "acc" in name else 1e-5)


@judge.claim("generate_until: the same texts", by=BY, least=42)
def _(claim):
    for what, ours, theirs in evaluated("until", 1, 20, n_positions=96):
        for (doc, a), (_, b) in zip(answers(ours), answers(theirs), strict=True):
            claim.same(f"{what}: {doc}", a, b)
        claim.same(f"{what}: metrics", numbers(ours), numbers(theirs))


judge.end()

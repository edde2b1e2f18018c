"""lm-eval judges gpt serve: its hf model, in float64, beside its local-completions."""
import contextlib, io, json
import lm_eval, lm_eval.tasks, yaml
from lm_eval.models.huggingface import HFLM
from lm_eval.models.openai_completions import LocalCompletionsAPI
from judge import Judge

judge = Judge("lm-eval", "transformers", "torch", near=1e-5)
BY = "lm-eval, transformers, torch"
TASKS = {
    "multiple_choice": {"doc_to_text": "{{text}}", "doc_to_choice": "{{choices}}", "doc_to_target":
                        "{{label}}", "num_fewshot": 2, "fewshot_split": "test"},
    "loglikelihood": {"doc_to_text": "{{text}}", "doc_to_target": "{{next}}"},
    "loglikelihood_rolling": {"doc_to_text": "", "doc_to_target": "{{text}}"},
    "generate_until": {
        "doc_to_text": "{{text}}", "doc_to_target": "{{next}}", "generation_kwargs": {
            "until": ["\n", "an", " t"], "max_gen_toks": 16, "do_sample": False}}}


def text(tokenizer, most):
    """Of drawn tokens of GPT-2: code, names, some of other scripts."""
    while True:
        ids = judge.random.choices(range(50256), k=judge.random.randint(1, most))
        if "\ufffd" not in (t := tokenizer.decode(ids)) and t.strip():
            return t


def evaluated(claim, kind, rounds, most, n_positions, *metrics):
    """Judges what lm-eval says of a task of drawn texts, for some checkpoints: by hf, and by gpt
    serve with the tokenizer of either side."""
    for _ in range(rounds):
        path, _ = judge.checkpoint(n_positions=n_positions, vocab_size=50257,
                                   tokenizer=judge.demo())
        # Over the API a text of the context's length lacks the token that is to be written, and
        # the first one: to hf the context is two shorter.
        hf = HFLM(str(path), device="cpu", dtype="float64", softmax_dtype="float64",
                  max_length=n_positions - 2)
        folder, drawn = judge.folder(), lambda most: text(hf.tokenizer, most)
        docs = [{"text": drawn(most), "next": drawn(4), "label": judge.random.randrange(4),
                 "choices": [" " + drawn(5) for _ in range(4)]} for _ in range(20)]
        (folder / "docs.jsonl").write_text("".join(json.dumps(d) + "\n" for d in docs))
        (folder / "task.yaml").write_text(yaml.safe_dump(TASKS[kind] | {
            "task": "drawn", "dataset_path": "json", "test_split": "test", "output_type": kind,
            "dataset_kwargs": {"data_files": {"test": str(folder / "docs.jsonl")}},
            "metric_list": [{"metric": metric} for metric in metrics]}))
        manager = lm_eval.tasks.TaskManager(include_path=str(folder), include_defaults=False)

        def said(lm):
            """The metrics, and what the model said to each document."""
            with contextlib.redirect_stderr(io.StringIO()): # bars of progress
                results = lm_eval.simple_evaluate(lm, tasks=["drawn"], task_manager=manager,
                                                  bootstrap_iters=0)
            samples = sorted(results["samples"]["drawn"], key=lambda s: s["doc_id"])
            numbers = results["results"]["drawn"].items()
            return ({k: v for k, v in numbers if isinstance(v, float)},
                    [(json.dumps(s["doc"]), [r[0] for r in s["resps"]]) for s in samples])
        numbers, theirs = said(hf)
        with judge.server("-m", path) as url:
            for backend in ("huggingface", "remote"):
                got, ours = said(LocalCompletionsAPI(
                    model=path.name, tokenizer=str(path), base_url=url + "/v1/completions",
                    tokenizer_backend=backend, max_length=n_positions, batch_size=4, truncate=True))
                for (doc, a), (_, b) in zip(ours, theirs, strict=True):
                    if kind == "generate_until":
                        claim.same((backend, doc), a, b)
                    elif kind == "loglikelihood_rolling":
                        claim.near((backend, doc), a, b)
                    else:
                        claim.near((backend, doc), [x[0] for x in a], [x[0] for x in b])
                        claim.same((backend, "greedy", doc), [x[1] for x in a], [x[1] for x in b])
                for name, value in numbers.items():
                    exact = name.startswith(("acc", "exact"))
                    claim.near((backend, name), got[name], value, 0 if exact else None)


with judge.claim("multiple choice: log-probabilities of float64, and the same accuracies", by=BY,
                 least=84) as claim:
    evaluated(claim, "multiple_choice", 1, 8, 128, "acc", "acc_norm")

with judge.claim("loglikelihood: those of float64, the same greedy ones",
                 by=BY, least=160) as claim:
    evaluated(claim, "loglikelihood", 2, 60, 48, "acc", "perplexity")

with judge.claim("loglikelihood_rolling: those of float64, and the perplexities",
                 by=BY, least=80) as claim:
    evaluated(claim, "loglikelihood_rolling", 2, 150, 48, "word_perplexity", "byte_perplexity",
              "bits_per_byte")

with judge.claim("generate_until: the same texts", by=BY, least=42) as claim:
    evaluated(claim, "generate_until", 1, 20, 96, "exact_match")

judge.end()

"""GPT-2 in CTranslate2. Command line and answer as in common.py. It gives no step by itself: the
time of one token of many is what they take, less the first, which is the prompt's."""

from common import config, epsilon, folder, form, job, print_answer, rounds, threads, weights
import os, sys, time, ctranslate2, numpy as np
from ctranslate2.specs import common_spec, transformer_spec

if config.get("activation_function") not in ("gelu_new", "gelu_pytorch_tanh") or epsilon != 1e-5:
    sys.exit("CTranslate2 has the epsilon 1e-5 and tanh GELU")
w = weights()


def convert(path):
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        job["layers"], job["heads"], activation=common_spec.Activation.GELUTanh)

    def norm(to, name):
        to.gamma, to.beta = w[name + ".weight"], w[name + ".bias"]

    def linear(to, name):
        to.weight = np.ascontiguousarray(w[name + ".weight"].T)
        to.bias = w[name + ".bias"]

    d = spec.decoder
    d.scale_embeddings = False
    d.embeddings.weight = w["wte.weight"]
    d.position_encodings.encodings = w["wpe.weight"]
    d.projection.weight = w.get("lm_head.weight", w["wte.weight"])
    norm(d.layer_norm, "ln_f")
    for i, layer in enumerate(d.layer):
        h = f"h.{i}."
        norm(layer.self_attention.layer_norm, h + "ln_1")
        linear(layer.self_attention.linear[0], h + "attn.c_attn")
        linear(layer.self_attention.linear[1], h + "attn.c_proj")
        norm(layer.ffn.layer_norm, h + "ln_2")
        linear(layer.ffn.linear_0, h + "mlp.c_fc")
        linear(layer.ffn.linear_1, h + "mlp.c_proj")
    spec.register_vocabulary([str(i) for i in range(len(w["wte.weight"]))])
    spec.config.bos_token = spec.config.eos_token = spec.config.unk_token = "0"
    spec.validate()
    if form == "q8":
        spec.optimize(quantization="int8")
    else:
        spec.optimize()
    spec.save(path)


path = os.path.join(folder, "ctranslate2-" + form)
os.makedirs(path, exist_ok=True)
convert(path)
generator = ctranslate2.Generator(path, "cpu", inter_threads=1, intra_threads=threads,
                                  compute_type={"f32": "float32", "q8": "int8_float32"}[form])


def generate(texts, n):
    """Returns n greedy tokens after each of some texts."""
    results = generator.generate_batch([[str(i) for i in text] for text in texts], max_length=n,
                                       min_length=n, include_prompt_in_result=False,
                                       disable_unk=False, end_token=[], max_batch_size=0)
    assert all(len(r.sequences_ids[0]) == n for r in results)
    return results[0].sequences_ids[0]


def took(texts, n):
    start = time.perf_counter()
    generate(texts, n)
    return (time.perf_counter() - start) * 1e3


def measured(texts):
    n, first = len(job["feed"]), took(texts, 1)
    return first, (took(texts, n + 1) - first) / n


first = job["greedy"]["prompt"]
ids = generate([first], len(job["greedy"]["ids"]))
logits = generator.forward_batch([[str(i) for i in first]], return_log_probs=False)
logits = np.array(logits)[0, -1]
difference = float(abs(logits - np.array(job["greedy"]["logits"])).max())
prefill, decode, together = [], [], {n: [] for n in job["together"]}
for i in range(rounds + 1 if rounds else 0):  # the first is not counted
    times = [*measured([job["prompt"]])] + [measured([job["feed"][:1]] * n)[1] for n in together]
    if i:
        for found, ms in zip([prefill, decode, *together.values()], times):
            found.append(ms)
print_answer("CTranslate2 " + ctranslate2.__version__, ids, difference, prefill, decode, together)

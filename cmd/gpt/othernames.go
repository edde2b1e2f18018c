package main

// What flags are called elsewhere: in transformers, llama.cpp, vLLM, Ollama, nanoGPT and OpenAI's
// API, and what people guess.

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// otherNames are flags that gpt does not have, by what they mean here: flags, of which the first
// that the command has is meant, with a value perhaps; a command; or a sentence.
var otherNames = [...]struct{ means, names string }{
	{"--max-tokens|--gen-tokens", "length max-length max-new-tokens max-completion-tokens max-len max " +
		"n-predict num-predict predict num-tokens n-tokens new-tokens output-length output-tokens " +
		"tokens-to-generate"},
	{"--min-tokens", "min-length min-new-tokens min-len"},
	{"--samples", "num-samples n-samples num-return-sequences best-of count completions"},
	{"--beams", "num-beams beam-size beam-width beam-search use-beam-search n-beams"},
	{"--beam-groups", "num-beam-groups"},
	{"--diversity", "diversity-penalty"},
	{"--contrastive", "penalty-alpha"},
	{"--repeat-penalty", "repetition-penalty repetition penalty repeat-penality rep-pen"},
	{"--repeat-last-n", "repetition-penalty-range rep-pen-range repetition-window"},
	{"--no-repeat-ngram", "no-repeat-ngram-size ngram"},
	{"--typical", "typical-p"},
	{"--epsilon", "epsilon-cutoff"},
	{"--eta", "eta-cutoff"},
	{"--top-p", "nucleus p"},
	{"--top-k", "k"},
	{"--top-n-sigma", "top-nsigma nsigma"},
	{"--guidance", "guidance-scale cfg-scale cfg"},
	{"--negative", "negative-prompt cfg-negative-prompt"},
	{"--length-decay", "exponential-decay-length-penalty"},
	{"--mirostat-eta", "mirostat-lr"},
	{"--mirostat-tau", "mirostat-ent"},
	{"--dynatemp-exponent", "dynatemp-exp"},
	{"--dry-last-n", "dry-penalty-last-n"},
	{"--dry-breaker", "dry-sequence-breaker dry-sequence-breakers"},
	{"--ban", "bad-words bad-words-ids banned-strings"},
	{"--eos", "eos-token-id eos-token stop-token stop-token-ids"},
	{"--eos none", "ignore-eos"},
	{"--stop", "stop-sequences stop-strings reverse-prompt r"},
	{"--temp 0", "greedy no-sample deterministic argmax"},
	{"--seed", "random-seed rng-seed s"},
	{"--heal", "token-healing"},
	{"--choice", "guided-choice"},
	{"--regex", "guided-regex pattern"},
	{"--json-schema", "guided-json schema json-schema-file response-format j"},
	{"--grammar", "guided-grammar grammar-file gbnf"},
	{"--draft", "draft-model model-draft assistant-model speculative-model"},
	{"--lookup", "prompt-lookup-num-tokens prompt-lookup lookup-ngram"},
	{"--logprobs", "top-logprobs probs n-probs log-probs"},
	{"--no-display-prompt", "no-prompt no-echo hide-prompt"},
	{"--special", "special-tokens parse-special"},
	{"--tokens", "ids token-ids input-ids"},
	{"--prompt", "text start t-prompt"},
	{"--file", "input input-file prompt-file text-file in"},
	{"--prompts", "batch-file prompts-file"},
	{"--out", "output-file out-file outfile save"},
	{"--model", "model-path model-name model-name-or-path model-file model-dir ckpt checkpoint " +
		"weights init-from hf-repo pretrained"},
	{"--threads", "num-threads n-threads num-thread cpus cores workers t"},
	{"--dtype f16", "fp16 half float16"},
	{"--dtype q8", "int8 8bit load-in-8bit"},
	{"--dtype q4", "int4 4bit load-in-4bit"},
	{"--dtype", "quantization quantize quant torch-dtype type precision"},
	{"--device auto", "gpu cuda use-gpu use-cuda n-gpu-layers gpu-layers ngl opencl"},
	{"--device cpu", "cpu no-gpu no-cuda"},
	{"--cache-dtype", "cache-type-k cache-type-v kv-cache-dtype ctk ctv cache-type"},
	{"--cache-bytes", "gpu-memory-utilization cache-size kv-cache-size max-memory"},
	{"--verbose", "debug log-level loglevel stats timings"},
	{"--addr HOST:PORT", "port host listen bind address"},
	{"--max-streams", "parallel np max-num-seqs concurrency"},
	{"--window", "ctx-size n-ctx context-size context-length max-position"},
	{"--random", "shape"},
	{"--batch", "batch-size"},
	{"gpt chat", "interactive conversation chat i cnv"},
	{"gpt serve", "serve server"},
	{"gpt models", "list-models"},
	{"gpt pull NAME", "pull download"},
	{"gpt inspect", "info inspect"},
	{"the context is the model's own; --overflow slide writes on past its end",
		"ctx-size n-ctx c context context-size context-length num-ctx max-model-len"},
	{"the tokenizer is that of -m: its files lie beside the weights",
		"tokenizer tokenizer-name tokenizer-path vocab vocab-file"},
	{"tokens are drawn, but for --temp 0, which takes the likeliest", "do-sample sampling"},
	{"a text is written while it comes", "stream streaming"},
	{"-v says more; without it only the text and what is wrong are written",
		"quiet q silent log-disable no-progress"},
}

// isOtherName reports whether a flag of that name, without hyphens before it, is one elsewhere.
func isOtherName(name string) bool {
	for _, other := range otherNames {
		if len(name) > 1 && slices.Contains(strings.Fields(other.names), name) {
			return true
		}
	}
	return false
}

// meaning says what a flag of other programs is here, for a command that has it, or "".
func meaning(node *kong.Node, name string) string {
	for _, other := range otherNames {
		if !slices.Contains(strings.Fields(other.names), name) {
			continue
		}
		if !strings.HasPrefix(other.means, "--") && !strings.HasPrefix(other.means, "gpt ") {
			return other.means
		}
		for means := range strings.SplitSeq(other.means, "|") {
			flag, _, _ := strings.Cut(strings.TrimPrefix(means, "--"), " ")
			if strings.HasPrefix(means, "gpt ") || hasFlag(node, flag) {
				return "did you mean " + means + "?"
			}
		}
	}
	return ""
}
